"""What cannot be read is told from what is damaged, and one damaged file loses nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from prd_edge import Runtime, files
from prd_edge.commit import writing
from prd_edge.difference import difference
from prd_edge.errors import InvalidInputError, StoreCorruptError, StoreError
from prd_edge.kept_version import doomed_of, draft_of
from prd_edge.model import load_knowledge, load_prototypes
from prd_edge.pointer import Pointer
from prd_edge.repair import repair
from prd_edge.store import Store
from tests import tiny_store
from tests.crash.faults import hooked
from tests.crash.scenarios import kept

UNREADABLE = (errno.EACCES, errno.EMFILE, errno.EIO)
FILES = ("manifest.json", "prototypes.safetensors")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return tiny_store.teach(tmp_path / "store").store


@contextmanager
def unreadable(code: int, *ends: str) -> Iterator[None]:
    """These cannot be opened for reading."""
    opened = os.open

    def refuse(path: str, flags: int, *rest: int, **named: int) -> int:
        if str(path).endswith(ends) and not flags & (os.O_WRONLY | os.O_RDWR):
            raise OSError(code, os.strerror(code), str(path))
        return opened(path, flags, *rest, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "open", refuse)
        yield


@pytest.mark.parametrize("code", UNREADABLE, ids=os.strerror)
@pytest.mark.parametrize("file", FILES)
class TestUnreadable:
    def test_it_is_named_and_not_called_damaged(self, store: Store, file: str, code: int) -> None:
        with unreadable(code, f"000002/{file}"):
            (problem,) = store.problems()["000002"]
            with pytest.raises(StoreError, match="cannot read") as raised:
                load_prototypes(store.version("2"))
        assert problem.startswith(f"cannot read {store.versions / '000002' / file}: ")
        assert not isinstance(raised.value, StoreCorruptError)

    def test_forgetting_removes_nothing(self, store: Store, file: str, code: int) -> None:
        before = store.version_names()
        with unreadable(code, f"000002/{file}"), pytest.raises(StoreError, match="cannot read"):
            Runtime.open(store.path).forget("green")
        assert set(before) <= set(store.version_names())
        assert not any(store.problems().values())

    def test_rollback_takes_another(self, store: Store, file: str, code: int) -> None:
        with unreadable(code, f"000002/{file}"):
            assert Runtime.open(store.path).rollback().version == "000001"
            with pytest.raises(StoreError, match="cannot read"):
                Runtime.open(store.path).rollback("2")
        assert Runtime.open(store.path).rollback("2").version == "000002"

    def test_only_what_the_disk_has_lost_is_replaced(
        self, store: Store, file: str, code: int
    ) -> None:
        """Without CURRENT, another version stands in where the hardware failed, and only there."""
        store.current.unlink()
        store.copy.unlink()
        with unreadable(code, f"000003/{file}"):
            if code == errno.EIO:
                assert store.live().name == "000002"
            else:
                with pytest.raises(StoreError, match="cannot read"):
                    store.live()
        assert store.live().name == "000003"


def test_repair_mends_what_the_disk_cannot_read(store: Store) -> None:
    path = store.versions / "000002/encoder.onnx"
    with unreadable(errno.EIO, "000002/encoder.onnx"):
        assert repair(store) == [path]
    with unreadable(errno.EACCES, "000002/encoder.onnx"), pytest.raises(StoreError, match="denied"):
        repair(store)


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"live 00\r\n")])
@pytest.mark.parametrize("name", ["CURRENT", "CURRENT.copy"])
def test_a_rollback_survives_one_damaged_file(
    store: Store, name: str, spoil: Callable[[Path], object]
) -> None:
    Runtime.open(store.path).rollback("2")
    good = store.current.read_bytes()
    spoil(store.path / name)
    assert store.live().name == "000002"
    told = store.problems().get(str(store.path), [])
    assert [str(store.path / name) in line for line in told] == (
        [] if name == "CURRENT.copy" and not store.copy.exists() else [True]
    )
    with writing(store):
        pass
    assert store.current.read_bytes() == store.copy.read_bytes() == good
    assert not any(store.problems().values())


def test_a_current_that_the_disk_cannot_read(store: Store) -> None:
    Runtime.open(store.path).rollback("2")
    with unreadable(errno.EIO, "/CURRENT"):
        assert store.live().name == "000002"
        store.copy.unlink()
        with pytest.raises(StoreError, match="hardware"):
            store.live()
    with unreadable(errno.EACCES, "/CURRENT"), pytest.raises(StoreError, match="denied"):
        store.live()


def test_a_stale_copy_does_not_win(store: Store) -> None:
    store.copy.write_bytes(Pointer("000002", "000002").to_bytes())
    assert store.live().name == "000003"
    with writing(store):
        pass
    assert store.copy.read_bytes() == store.current.read_bytes()
    assert store.version_names() == ["000001", "000002", "000003"]
    store.copy.write_bytes(Pointer("000009", "000009").to_bytes())  # of a newer store, replaced
    store.current.unlink()
    assert store.live().name == "000003"


def test_a_rewriting_that_failed_twice_is_not_finished_with_half_a_version(store: Store) -> None:
    before = kept(store)["000002"]
    unlinked = 0

    def fail(operation: str, path: Path) -> None:
        nonlocal unlinked
        unlinked += operation == "unlink" and ".tmp-000002" in str(path)
        if (operation, path.name) == ("rename", "000002") or unlinked == 3:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))

    with hooked(fail), pytest.raises(StoreError, match="cannot write"):
        Runtime.open(store.path).forget("green")
    with writing(store):
        pass
    assert not any(store.problems().values())
    assert "green" not in store.version("2").manifest.classes or kept(store)["000002"] == before


@pytest.mark.parametrize("spoilt", ["manifest.json", "prototypes.safetensors", None])
def test_recovery_takes_the_whole_one_of_two(store: Store, spoilt: str | None) -> None:
    path = store.versions / "000002"
    before = kept(store)["000002"]
    (draft_of(path)).mkdir()
    for file in path.iterdir():
        if file.name != spoilt:
            os.link(file, draft_of(path) / file.name)
    (path / "here").touch()
    path.rename(doomed_of(path))
    with writing(store):
        pass
    assert (path / "here").exists() == (spoilt is not None)
    (path / "here").unlink(missing_ok=True)
    assert kept(store)["000002"] == before


@pytest.mark.parametrize("load", [load_prototypes, load_knowledge])
def test_a_version_rewritten_since_it_was_opened_is_read_anew(
    store: Store, load: Callable[..., object]
) -> None:
    old, same = store.version("2"), store.version("3")
    Runtime.open(store.path).forget("green")
    assert load(old)
    assert old.read("encoder.onnx")  # the same bytes
    assert "green" not in difference(old, same)["updated"]
    assert "green" not in load_prototypes(old)


def test_a_version_that_is_away_for_a_moment_is_waited_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.versions / "000002"
    draft_of(path).mkdir()
    path.rename(doomed_of(path))
    monkeypatch.setattr("time.sleep", lambda _: doomed_of(path).rename(path))
    assert store.version("2").name == "000002"


def test_a_version_that_stays_away_is_not_waited_for_without_end(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = store.versions / "000002"
    draft_of(path).mkdir()
    path.rename(doomed_of(path))
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(InvalidInputError, match="no version '2'"):
        store.version("2")


def test_digits_of_other_scripts_are_somebody_elses(store: Store) -> None:
    for name in ("٠٠٠٠٠٩", ".tmp-٠٠٠٠٠٩"):
        (store.versions / name).mkdir()
        (store.versions / name / "letter").touch()
    Runtime.open(store.path).remove("red")
    assert (store.versions / "٠٠٠٠٠٩/letter").exists()
    assert (store.versions / ".tmp-٠٠٠٠٠٩/letter").exists()
    assert store.version_names() == ["000001", "000002", "000003", "000004"]


def test_a_name_that_no_folder_can_have() -> None:
    with pytest.raises(InvalidInputError, match="cannot be the name of a store"):
        Runtime.open("a\0b")


def test_a_file_system_that_cannot_sync_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, code = os.fsync, errno.EINVAL

    def refuse(descriptor: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):
            raise OSError(code, os.strerror(code))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    assert tiny_store.teach(tmp_path / "network").version == "000003"
    code = errno.EIO
    with pytest.raises(OSError, match="error"):
        files.sync_directory(tmp_path)
