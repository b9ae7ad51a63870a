"""A forgotten class is in no kept version, under none of its names; the others are as they were."""

from __future__ import annotations

import errno
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from prd_edge import Runtime, files
from prd_edge.errors import InvalidInputError, StoreError
from prd_edge.model import load_knowledge
from prd_edge.session_record import SessionRecord
from prd_edge.store import Store, Version
from tests import tiny_store
from tests.crash.scenarios import recorded
from tests.test_store import flip_a_bit
from tests.tiny_store import COLOURS, pairs, picture


@pytest.fixture
def taught(tmp_path: Path) -> Path:
    """Versions 1 (no class), 2 (blue, green) and 3 (and red)."""
    return tiny_store.teach(tmp_path / "store").store.path


def versions(store: Path) -> list[Version]:
    return list(Store(store).readable_versions())


def mentions(store: Path, name: str) -> list[str]:
    """Files of the store in which a name stands, in quotation marks of either kind."""
    quoted = [f'"{name}"'.encode(), f"'{name}'".encode()]
    contents = {p: p.read_bytes() for p in sorted(store.rglob("*")) if p.is_file()}
    return [str(p) for p, content in contents.items() if any(q in content for q in quoted)]


def test_it_is_taken_out_of_every_kept_version(taught: Path) -> None:
    assert len(mentions(taught, "green")) == 2
    result = Runtime.open(taught).forget("green")
    assert result.version == "000004"
    assert result.rewritten == ("000002", "000003")
    assert (result.removed, result.names, result.images) == ((), ("green",), 12)
    assert {v.name: sorted(v.manifest.classes) for v in versions(taught)} == {
        "000001": [],
        "000002": ["blue"],
        "000003": ["blue", "red"],
        "000004": ["blue", "red"],
    }
    assert mentions(taught, "green") == []
    assert not any(Store(taught).problems().values())


def test_what_is_kept_of_the_others_is_what_it_was(taught: Path) -> None:
    before = load_knowledge(Store(taught).version("3"))
    Runtime.open(taught).forget("green")
    for name in ("3", "4"):
        after = load_knowledge(Store(taught).version(name))
        rows = [before.bank.index(label) for label in after.bank.labels]
        assert np.array_equal(after.bank.sums, before.bank.sums[rows])
        assert np.array_equal(after.bank.radii, before.bank.radii[rows])
        assert after.readout.weights.shape == (2, before.bank.dimensions)


def test_every_version_answers_and_can_be_returned_to(taught: Path) -> None:
    runtime = Runtime.open(taught)
    assert runtime.predict(picture(COLOURS["green"], 999)).label == "green"
    runtime.forget("green")
    for version in ("000004", "000003"):
        runtime.rollback(version)
        assert runtime.predict(picture(COLOURS["red"], 999)).label == "red"
        top = runtime.predict(picture(COLOURS["green"], 999), top_k=9).top_k
        assert {own.label for own in top} == {"blue", "red"}


def test_it_is_followed_through_its_names(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rename("green", "lime")
    runtime.feedback(picture(COLOURS["red"], 7), label="lime")
    runtime.learn_session(pairs("green", start=80))  # another class that now has the old name
    result = runtime.forget("lime")
    assert result.names == ("green", "lime")
    assert mentions(taught, "lime") == []
    known = {v.name: sorted(v.manifest.classes) for v in versions(taught)}
    assert known["000002"] == ["blue"]
    assert known[result.version] == ["blue", "green", "red"], "the newer class keeps its name"
    actions = [v.manifest.action for v in versions(taught)]
    assert actions[-4:] == ["rename", "feedback", "learn-session", "forget a class"]


def test_another_class_that_bore_the_name_before_is_not_meant(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rename("green", "lime")
    with pytest.raises(InvalidInputError, match="'green' is called 'lime' now; forget that"):
        runtime.forget("green")
    runtime.learn_session(pairs("green", start=80))
    result = runtime.forget("green")
    assert result.names == ("green",)
    assert sorted(runtime.classes()) == ["blue", "lime", "red"]
    assert sorted(Store(taught).version("3").manifest.classes) == ["blue", "green", "red"]


def test_a_class_may_be_called_like_a_figure(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rename("green", "distance")
    runtime.learn_session(pairs("red", start=80))
    runtime.forget("distance")
    records = [SessionRecord.of(manifest) for manifest in runtime.history()]
    assert records[-2] is not None
    assert records[-2].largest_drift is not None
    assert mentions(taught, "green") == []


def test_an_old_name_goes_too_where_its_version_has_gone(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rename("green", "lime")
    for name in ("000002", "000003"):
        shutil.rmtree(taught / "versions" / name)
    assert runtime.forget("lime").names == ("green", "lime")
    assert mentions(taught, "green") == []


def test_it_is_known_again_where_the_versions_between_have_gone(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rename("green", "lime")
    runtime.remove("blue")
    runtime.rollback("3")
    shutil.rmtree(taught / "versions/000004")
    assert runtime.forget("green").names == ("green", "lime")
    assert mentions(taught, "green") + mentions(taught, "lime") == []


def test_swapped_names(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rename("blue", "sea")
    runtime.rename("green", "blue")
    assert runtime.forget("blue").names == ("blue", "green")
    known = {v.name: sorted(v.manifest.classes) for v in versions(taught)}
    assert known["000003"] == ["blue", "red"], "the one that is called sea now"
    assert known["000005"] == known["000006"] == ["red", "sea"]
    assert runtime.forget("sea").names == ("blue", "sea")
    assert {label for v in versions(taught) for label in v.manifest.classes} == {"red"}
    assert [own for name in ("blue", "sea", "green") for own in mentions(taught, name)] == []


def test_a_class_that_was_taught_anew_on_another_branch_goes_as_well(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rollback("2")
    runtime.learn_session(pairs("red", start=80), mode="imprint")
    identities = [own.manifest.identities["red"] for own in versions(taught)[2:]]
    assert len(set(identities)) == 2
    runtime.forget("red")
    assert mentions(taught, "red") == []


def test_a_name_that_no_version_knows_any_more(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.remove("red")
    shutil.rmtree(taught / "versions/000003")
    result = runtime.forget("red")
    assert (result.images, result.rewritten) == (0, ("000004",))
    assert mentions(taught, "red") == []
    with pytest.raises(InvalidInputError, match="no kept version knows"):
        runtime.forget("red")


@pytest.mark.parametrize("name", ["blue", "pink"])
def test_what_a_cut_off_session_left_goes_even_if_no_version_knows_the_class(
    taught: Path, name: str
) -> None:
    (taught / "checkpoint").write_bytes(b"weights")
    if name == "pink":
        with pytest.raises(InvalidInputError, match=r"'pink'.*cut off.* were removed"):
            Runtime.open(taught).forget(name)
    else:
        Runtime.open(taught).forget(name)
    assert not (taught / "checkpoint").exists()


@pytest.mark.parametrize("failing", ["fsync", "rename"])
def test_a_failing_disk_loses_no_version(
    taught: Path, tmp_path: Path, failing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations = recorded(lambda: forget_green(shutil.copytree(taught, tmp_path / "whole")))
    for at, (operation, _) in enumerate(operations):
        if operation != failing:
            continue
        victim = shutil.copytree(taught, tmp_path / "victim")
        seen = iter(range(len(operations) + 1000))

        def fail(operation: str, path: Path, at: int = at, seen=seen) -> None:
            if next(seen) == at:
                raise OSError(errno.EIO, "broken", str(path))

        monkeypatch.setattr(files, "before_operation", fail)
        with suppress(StoreError):
            forget_green(victim)
        monkeypatch.undo()
        forget_green(victim)
        assert [v.name for v in versions(victim)][:3] == ["000001", "000002", "000003"], at
        assert mentions(victim, "green") == [], at
        shutil.rmtree(victim)


def test_a_class_that_only_older_versions_know(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.remove("red")
    result = runtime.forget("red")
    assert result.version == "000005", "the fourth says that red was removed"
    assert result.rewritten == ("000003", "000004")
    assert mentions(taught, "red") == []


def test_damaged_versions_that_may_know_it_are_removed(taught: Path) -> None:
    flip_a_bit(taught / "versions/000002/prototypes.safetensors")
    flip_a_bit(taught / "versions/000001/manifest.json")
    result = Runtime.open(taught).forget("green")
    assert result.removed == ("000001", "000002")
    assert [v.name for v in versions(taught)] == ["000003", "000004"]
    assert mentions(taught, "green") == []


def test_unknown_classes_are_refused_and_nothing_changes(taught: Path) -> None:
    with pytest.raises(InvalidInputError, match="no kept version knows a class named 'pink'"):
        Runtime.open(taught).forget("pink")
    assert len(versions(taught)) == 3


def test_the_last_class_can_be_forgotten_too(taught: Path) -> None:
    runtime = Runtime.open(taught)
    for label in COLOURS:
        runtime.forget(label)
    assert runtime.classes() == {}
    assert not any(Store(taught).problems().values())


def test_what_remains_is_said(taught: Path, prd_edge) -> None:
    code, out, err = prd_edge("forget", "green", "--store", taught)
    assert code == 0
    assert "forgot green: 12 images stood behind it" in out
    assert "taken out of 000002, 000003" in out
    assert "share in the common covariance" in err
    assert "trained weights" not in err, "nothing was trained"


def forget_green(store: Path) -> None:
    with suppress(InvalidInputError):  # already done
        Runtime.open(store, threads=1).forget("green")


def test_another_process_that_has_it_loaded_loads_anew(taught: Path) -> None:
    service = Runtime.open(taught, threads=1)
    assert service.predict(picture(COLOURS["green"], 999)).label == "green"
    elsewhere = Runtime.open(taught, threads=1)
    elsewhere.forget("green")
    elsewhere.rollback("3")
    assert service.refresh(), "version 3 is not the one that was loaded"
    answer = service.predict(picture(COLOURS["green"], 999), top_k=9)
    assert {own.label for own in answer.top_k} == {"blue", "red"}
    assert not service.refresh()
