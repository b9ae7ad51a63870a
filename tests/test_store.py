"""What readers see: whole versions, damage told by name, and a way back."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from prd_edge import Runtime, files
from prd_edge.commit import writing
from prd_edge.errors import InvalidInputError, StoreCorruptError, StoreError
from prd_edge.pointer import Pointer
from prd_edge.repair import repair
from prd_edge.store import Store
from tests.conftest import TINY


def flip_a_bit(path: Path, at: float = 0.5) -> None:
    data = bytearray(path.read_bytes())
    data[int(at * (len(data) - 1))] ^= 1
    path.unlink()  # not in place: other versions may share the bytes
    path.write_bytes(data)


def names_of_live_files(store: Path) -> list[str]:
    return sorted(path.name for path in (store / "versions/000003").iterdir())


def test_the_layout_is_the_contract(taught: Path) -> None:
    found = sorted(path.name for path in taught.iterdir())
    assert found == ["CURRENT", "CURRENT.copy", "LOCK", "versions"]
    assert sorted(os.listdir(taught / "versions")) == ["000001", "000002", "000003"]
    assert names_of_live_files(taught) == [
        "covariance.safetensors",
        "encoder.onnx",
        "encoder.safetensors",
        "manifest.json",
        "preprocess.onnx",
        "prototypes.safetensors",
        "snapshot.safetensors",
    ]


def test_unchanged_bytes_are_shared_between_versions(tmp_path: Path, session: Path) -> None:
    runtime = Runtime.open(tmp_path / "store")
    runtime.learn_session(session)
    first, second = (tmp_path / "store/versions" / name for name in ("000001", "000002"))
    for name in ("encoder.onnx", "encoder.safetensors", "snapshot.safetensors", "preprocess.onnx"):
        assert (first / name).stat().st_ino == (second / name).stat().st_ino
    assert not (first / "prototypes.safetensors").samefile(second / "prototypes.safetensors")
    assert runtime.store.bytes_on_disk() < 1.1 * sum(
        record.size for record in runtime.store.live().manifest.files.values()
    )


@pytest.mark.parametrize("at", [0.0, 0.3, 0.7, 1.0])
def test_a_flipped_bit_anywhere_is_noticed_and_named(taught: Path, at: float) -> None:
    for name in names_of_live_files(taught):
        path = taught / "versions/000003" / name
        whole = path.read_bytes()
        flip_a_bit(path, at)
        problems = Store(taught).problems()["000003"]
        assert len(problems) == 1
        assert name in problems[0]
        path.write_bytes(whole)
    assert Store(taught).problems()["000003"] == []


@pytest.mark.parametrize("damage", ["missing", "truncated", "longer", "swapped", "stranger"])
def test_other_damage_is_noticed_too(taught: Path, damage: str) -> None:
    path = taught / "versions/000003/prototypes.safetensors"
    if damage == "missing":
        path.unlink()
    elif damage == "truncated":
        path.write_bytes(path.read_bytes()[:-1])
    elif damage == "longer":
        path.write_bytes(path.read_bytes() + b"x")
    elif damage == "swapped":
        other = taught / "versions/000002/prototypes.safetensors"
        path.write_bytes(other.read_bytes())
    else:
        path.with_name("extra").write_bytes(b"")
    assert len(Store(taught).problems()["000003"]) == 1


def test_rollback_returns_to_the_last_good_version(taught: Path) -> None:
    flip_a_bit(taught / "versions/000003/manifest.json")
    runtime = Runtime.open(taught)
    with pytest.raises(StoreCorruptError, match="prd-edge rollback"):
        runtime.classes()
    assert runtime.rollback().version == "000002"
    assert set(runtime.classes()) == {"blue", "green"}


def test_rollback_skips_damaged_ancestors(taught: Path) -> None:
    flip_a_bit(taught / "versions/000002/prototypes.safetensors")
    assert Runtime.open(taught).rollback().version == "000001"


def test_rollback_refuses_a_damaged_target(taught: Path) -> None:
    flip_a_bit(taught / "versions/000002/covariance.safetensors")
    runtime = Runtime.open(taught)
    with pytest.raises(StoreCorruptError, match=r"000002.*covariance"):
        runtime.rollback("2")
    assert runtime.store.live().name == "000003"


def test_rolling_forward_again_is_possible(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rollback("1")
    assert runtime.store.live().name == "000001"
    assert runtime.rollback("3").version == "000003"


def test_learning_after_a_rollback_takes_a_new_number(taught: Path, session: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rollback("000002")
    report = runtime.learn_session(session)
    assert (report.parent, report.version) == ("000002", "000004")


def test_nothing_before_the_first_version(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rollback("1")
    with pytest.raises(StoreError, match="no good version before 000001"):
        runtime.rollback()


@pytest.mark.parametrize("content", [b"", b"live 000002\n", b"\xff" * 20, None])
def test_a_damaged_current_is_survived_and_mended(taught: Path, content: bytes | None) -> None:
    current = taught / "CURRENT"
    current.unlink()
    if content is not None:
        current.write_bytes(content)
    store = Store(taught)
    assert store.live().name == "000003"
    assert str(taught) in store.problems()
    Runtime.open(taught).remove("red")
    assert store.live().name == "000004"
    assert not any(store.problems().values())


def test_every_flipped_bit_of_current_is_noticed(taught: Path) -> None:
    whole = (taught / "CURRENT").read_bytes()
    for position in range(len(whole) * 8):
        data = bytearray(whole)
        data[position // 8] ^= 1 << position % 8
        assert Pointer.from_bytes(bytes(data)) is None


def test_gc_keeps_the_newest_the_live_one_and_its_parent(taught: Path) -> None:
    runtime = Runtime.open(taught)
    for label in ("red", "blue"):
        runtime.remove(label)
    store = runtime.store
    with writing(store) as writer:
        assert writer.gc(3) == ["000001", "000002"]
        writer.rollback("3")
        assert writer.gc(1) == ["000004"]  # 5 is the newest, 3 is live
    assert store.version_names() == ["000003", "000005"]
    assert store.live().name == "000003"


def test_learning_prunes_old_versions(taught: Path, session: Path) -> None:
    runtime = Runtime.open(taught)
    for _ in range(3):
        report = runtime.learn_session(session)
    assert report.removed_versions == ("000001",)
    assert runtime.store.version_names() == ["000002", "000003", "000004", "000005", "000006"]


def test_a_reader_keeps_its_version_while_others_write(taught: Path, session: Path) -> None:
    reader, writer = Runtime.open(taught), Runtime.open(taught)
    image = next(session.glob("red/*.png"))
    assert reader.predict(image).version == "000003"
    writer.learn_session(session)
    assert reader.predict(image).version == "000003"
    assert reader.refresh() is True
    assert reader.predict(image).version == "000004"
    assert reader.refresh() is False


def test_a_version_removed_while_it_is_being_read_is_not_called_damaged(
    taught: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(taught)
    overtaken = [store.version("2")]
    shutil.rmtree(overtaken[0].path)
    live = Store.live
    monkeypatch.setattr(Store, "live", lambda self: overtaken.pop() if overtaken else live(self))
    assert Runtime.open(taught).version == "000003"


def test_unknown_versions_are_refused(taught: Path) -> None:
    for name in ("4", "../..", "x", ""):
        with pytest.raises(InvalidInputError, match="there are: 000001, 000002, 000003"):
            Store(taught).version(name)


def test_a_new_version_is_not_built_on_bad_bytes(taught: Path, session: Path) -> None:
    flip_a_bit(taught / "versions/000003/snapshot.safetensors")
    with pytest.raises(StoreCorruptError, match="snapshot"):
        Runtime.open(taught).learn_session(session)
    assert Store(taught).live().name == "000003"


def test_a_failed_first_session_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "data/cup").mkdir(parents=True)
    (tmp_path / "data/cup/broken.jpg").write_bytes(b"no image")
    with pytest.raises(Exception, match="no usable image"):
        Runtime.open(tmp_path / "deep/store").learn_session(tmp_path / "data")
    assert not (tmp_path / "deep/store").exists()


def spoil_in_place(path: Path) -> None:
    """As a bad sector does: every version that shares the bytes is hit."""
    with path.open("r+b") as stream:
        stream.seek(path.stat().st_size // 2)
        byte = stream.read(1)[0]
        stream.seek(-1, os.SEEK_CUR)
        stream.write(bytes([byte ^ 1]))


def test_repair_mends_an_encoder_that_all_versions_share(tmp_path: Path, session: Path) -> None:
    runtime = Runtime.open(tmp_path / "store", config=TINY)
    runtime.learn_session(session)
    live = runtime.store.live()
    for name in ("encoder.onnx", "snapshot.safetensors", "preprocess.onnx"):
        spoil_in_place(live.path / name)
    with pytest.raises(StoreError, match="no good version before"):
        runtime.rollback()
    before = runtime.store.problems()
    assert len(before["000001"]) == len(before["000002"]) == 4  # the snapshot is the encoder
    mended = repair(runtime.store)
    assert len(mended) == 8
    assert not any(runtime.store.problems().values())
    first, second = (runtime.store.version(name).path for name in ("1", "2"))
    assert (first / "encoder.onnx").samefile(second / "encoder.onnx")


def test_repair_takes_bytes_from_another_version(taught: Path) -> None:
    copy = taught / "versions/000002/covariance.safetensors"
    flip_a_bit(copy)
    assert repair(Store(taught)) == []  # no other file has those bytes
    assert "verify --repair" in Store(taught).problems()["000002"][0]
    flip_a_bit(taught / "versions/000003/encoder.onnx")
    assert [path.name for path in repair(Store(taught))] == ["encoder.onnx"]


def test_repair_works_when_current_is_lost_too(tmp_path: Path, session: Path) -> None:
    runtime = Runtime.open(tmp_path / "store", config=TINY)
    runtime.learn_session(session)
    spoil_in_place(runtime.store.live().path / "encoder.onnx")
    (tmp_path / "store/CURRENT").write_bytes(b"")
    assert len(repair(runtime.store)) == 2
    assert not any(runtime.store.problems().values())
    assert runtime.store.live().name == "000002"


def test_a_strangers_file_is_told_but_makes_no_version_unusable(taught: Path) -> None:
    (taught / "versions/000002/.DS_Store").touch()
    assert "does not belong" in Store(taught).problems()["000002"][0]
    assert Runtime.open(taught).rollback("2").version == "000002"


def test_a_session_is_learned_even_if_old_versions_cannot_be_removed(
    taught: Path, session: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Runtime.open(taught)
    for _ in range(2):
        runtime.learn_session(session)

    def fail(operation: str, path: Path) -> None:
        if "removed" in path.name:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(files, "before_operation", fail)
    report = runtime.learn_session(session)
    assert (report.version, report.removed_versions) == ("000006", ())
    assert runtime.store.live().name == "000006"


def test_version_numbers_end(taught: Path, session: Path) -> None:
    (taught / "CURRENT").write_bytes(Pointer("000003", "999999").to_bytes())
    with pytest.raises(StoreError, match="used up its version numbers"):
        Runtime.open(taught).learn_session(session)
    assert Store(taught).live().name == "000003"


def test_an_empty_current_alone_is_no_store(tmp_path: Path, session: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/CURRENT").touch()
    assert Runtime.open(tmp_path / "store", config=TINY).learn_session(session).version == "000002"
