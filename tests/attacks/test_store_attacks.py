"""Attacks by store. It may come from somebody else, with every checksum good: reading it must not
hang or answer from it, and looking after it must not touch anything outside."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from prd_edge.manifest import FileRecord, Manifest

from ..fuzz import tiny
from ..fuzz.command import fingerprint, run

LIVE = "versions/000003"
FILES = ["CURRENT", f"{LIVE}/manifest.json", f"{LIVE}/encoder.onnx", f"{LIVE}/preprocess.onnx"]
FILES += [f"{LIVE}/prototypes.safetensors", f"{LIVE}/covariance.safetensors", "checkpoint"]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tiny.make_store(tmp_path / "store")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tiny.write_session(tmp_path / "data", "red", "blue")


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of somebody's, which no command was given."""
    folder = tmp_path / "precious"
    (folder / "photographs").mkdir(parents=True)
    (folder / "photographs/one.png").write_bytes(tiny.png("red", 1))
    (folder / "letter").write_text("dear reader")
    (folder / ".tmp-notes").write_text("not ours")
    return folder


def resign(store: Path, **changes: object) -> None:
    """Another manifest for version 3, with a good checksum."""
    path = store / LIVE / "manifest.json"
    path.write_bytes(replace(Manifest.from_bytes(path.read_bytes()), **changes).to_bytes())


def replace_signed(store: Path, file: str, data: bytes) -> None:
    (store / LIVE / file).write_bytes(data)
    manifest = Manifest.from_bytes((store / LIVE / "manifest.json").read_bytes())
    resign(store, files={**manifest.files, file: FileRecord.of(data)})


def ask_everything(store: Path, data: Path) -> list[int]:
    """The exit codes of all commands that read the live version."""
    picture = data / "red/0.png"
    return [
        run(*arguments, "--store", store).code
        for arguments in (
            ("predict", picture),
            ("evaluate", data),
            ("feedback", picture, "--is", "blue"),
            ("learn-session", data, "--mode", "imprint"),
            ("export", "-o", store.parent / "model.onnx"),
        )
    ]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("what", ["a pipe", "an endless device", "a link", "a folder"])
def test_something_else_in_the_place_of_a_file(
    store: Path, data: Path, file: str, what: str
) -> None:
    path = store / file
    if path.exists():
        path.rename(store.parent / "aside")
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero" if what == "an endless device" else store.parent / "aside")
    answer = run("predict", data / "red/0.png", "--store", store, "--quiet")
    if file in ("CURRENT", "checkpoint", f"{LIVE}/covariance.safetensors"):
        assert (answer.code, answer.out) == (0, "red\n")
    else:
        assert answer.code == 4
        assert str(path) in answer.err
    if file != "checkpoint":
        assert str(path) in run("verify", "--store", store).err
    learned = run("learn-session", data, "--mode", "imprint", "--store", store)
    is_replaced = file == "checkpoint" or (file == "CURRENT" and what != "a folder")
    assert learned.code == (0 if is_replaced else 4)


@pytest.mark.parametrize("name", [".tmp-000009", ".tmp-removed-000009", "000009", "000004"])
def test_a_link_to_a_folder_is_not_emptied(
    store: Path, data: Path, precious: Path, name: str
) -> None:
    """The next writer clears away unfinished versions: of a link, the link alone."""
    (store / "versions" / name).symlink_to(precious)
    before = fingerprint(precious)
    assert run("learn-session", data, "--mode", "imprint", "--store", store).code == 0
    assert fingerprint(precious) == before
    assert run("verify", "--store", store).code == 0


def test_gc_does_not_follow_a_link(store: Path, precious: Path) -> None:
    (store / "versions/000001").rename(store.parent / "aside")
    (store / "versions/000001").symlink_to(precious)
    before = fingerprint(precious)
    assert run("gc", "--keep", 1, "--store", store).code == 0
    assert not (store / "versions/000001").is_symlink()
    assert fingerprint(precious) == before


@pytest.mark.parametrize("name", ["LOCK", "LOCK.holder", ".tmp-CURRENT", ".tmp-checkpoint"])
def test_a_link_to_a_file_is_not_written_through(
    store: Path, data: Path, precious: Path, name: str
) -> None:
    for target in (precious / "letter", precious / "new"):
        (store / name).unlink(missing_ok=True)
        (store / name).symlink_to(target)
        before = fingerprint(precious)
        code = run("learn-session", data, "--mode", "imprint", "--store", store).code
        assert code == (4 if name == "LOCK" else 0)
        assert fingerprint(precious) == before


def test_a_pipe_for_the_holder_does_not_hang_a_writer(store: Path) -> None:
    os.mkfifo(store / "LOCK.holder")
    assert run("rollback", "--store", store).code == 0


@pytest.mark.parametrize("place", ["secret", "../secret", "{folder}/secret"])
def test_an_encoder_with_external_data_is_refused(
    store: Path, data: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would read any file that this user may read, as weights."""
    import onnx

    (store.parent / "secret").write_bytes(bytes(4))
    (store.parent / "here").mkdir()
    monkeypatch.chdir(store.parent if place == "secret" else store.parent / "here")
    model = onnx.load_from_string(tiny.graph())
    (middle,) = model.graph.initializer
    middle.ClearField("raw_data")
    middle.data_location = onnx.TensorProto.EXTERNAL
    for key, value in (("location", place.format(folder=store.parent)), ("length", "4")):
        middle.external_data.add(key=key, value=value)
    replace_signed(store, "encoder.onnx", model.SerializeToString())
    before = fingerprint(store)
    assert ask_everything(store, data) == [4] * 5
    assert fingerprint(store) == before
    assert not (store.parent / "model.onnx").exists()


def test_a_graph_in_a_format_of_onnxruntime_is_refused(store: Path, data: Path) -> None:
    replace_signed(store, "encoder.onnx", b"\x18\0\0\0ORTM" + bytes(100))
    assert ask_everything(store, data) == [4] * 5


def test_a_class_named_location_is_no_attack(store: Path, data: Path, tmp_path: Path) -> None:
    assert run("classes", "rename", "red", "location", "--store", store).code == 0
    assert run("export", "-o", tmp_path / "model.onnx", "--store", store).code == 0
    assert run("export", "--check", tmp_path / "model.onnx", "--store", store).code == 0


def test_an_encoder_of_other_dimensions(store: Path, data: Path) -> None:
    replace_signed(store, "encoder.onnx", tiny.graph(parts=4))
    assert ask_everything(store, data) == [4] * 5


def test_an_encoder_that_gives_no_numbers(store: Path, data: Path) -> None:
    graph = tiny.graph().replace(np.float32(120.5).tobytes(), np.float32("nan").tobytes())
    replace_signed(store, "encoder.onnx", graph)
    answer = run("predict", data / "red/0.png", "--store", store)
    assert (answer.code, answer.out) == (4, "")
    assert "not numbers" in answer.err
    assert ask_everything(store, data) == [4] * 5


def test_an_encoder_that_asks_for_something_else(store: Path, data: Path) -> None:
    replace_signed(store, "encoder.onnx", tiny.graph().replace(b"image", b"sound"))
    assert ask_everything(store, data) == [4] * 5


@pytest.mark.parametrize("trick", ["\x1b[2J", "\x9b31m", "\u202e", "\n", "\x07"])
@pytest.mark.parametrize("where", ["action", "created", "software", "classes"])
def test_words_of_a_manifest_cannot_trick_the_terminal(store: Path, trick: str, where: str) -> None:
    value: object = f"red{trick}"
    if where == "classes":
        value = {"blue": 7, "green": 13, f"red{trick}": 6}
    resign(store, **{where: value})
    for arguments in (
        ("info",),
        ("classes", "list"),
        ("info", "--card"),
        ("classes", "list", "--json"),
    ):
        assert run(*arguments, "--store", store).code == 4


def test_figures_of_a_manifest_that_are_none(store: Path) -> None:
    for metrics in (
        {"mode": 1, "seconds": 10**400},
        {"mode": 1, "drift": 5},
        {"mode": 0, "training": 7},
    ):
        resign(store, metrics=metrics)
        assert run("history", "--store", store).code == 4
        assert run("info", "--card", "--store", store).code == 4
        assert run("diff", "2", "3", "--store", store).code == 4


def test_a_manifest_that_would_take_hours_to_check(store: Path) -> None:
    """Writing JSON costs its size times its depth."""
    wide_and_deep = "[" * 900 + "0," * 500_000 + "0" + "]" * 900
    text = '{"checksum": "' + "0" * 64 + f'", "metrics": {wide_and_deep}}}'
    (store / LIVE / "manifest.json").write_text(text)
    outcome = run("info", "--store", store)
    assert outcome.code == 4
    assert "nested too deeply" in outcome.err


def test_dimensions_that_would_fill_the_memory(store: Path, data: Path) -> None:
    """Nothing times a thousand million is nothing in the file, and its square in memory."""
    tensors = load((store / LIVE / "prototypes.safetensors").read_bytes())
    empty = {**tensors, "sums": np.zeros((0, 10**9)), "counts": np.zeros(0, np.int64)}
    replace_signed(store, "prototypes.safetensors", save(empty))
    resign(store, classes={}, identities={})
    assert ask_everything(store, data) == [4] * 5


Change = Callable[[dict[str, np.ndarray]], object]
PROTOTYPES: dict[str, Change] = {
    "a missing tensor": lambda t: t.pop("readout.weights"),
    "no image": lambda t: t["counts"].__setitem__(0, 0),
    "other counts": lambda t: t["counts"].__setitem__(0, 8),
    "a negative count": lambda t: t["counts"].__setitem__(0, -7),
    "not a number": lambda t: t["readout.biases"].__setitem__(0, np.nan),
    "infinite sums": lambda t: t["sums"].__setitem__((0, 0), np.inf),
    "huge sums": lambda t: t["sums"].__setitem__((0, 0), 1e300),
    "no margin": lambda t: t["readout.margin"].__setitem__(0, 0.0),
    "a frozen temperature": lambda t: t["readout.temperature"].__setitem__(0, -1.0),
    "more classes": lambda t: t.update(sums=np.zeros((4, 12))),
    "another kind": lambda t: t.update(sums=t["sums"].astype(np.float32)),
    "more freedom": lambda t: t["inherited"].__setitem__(0, -(10**6)),
}  # fmt: skip


@pytest.mark.parametrize("change", PROTOTYPES.values(), ids=PROTOTYPES.keys())
def test_prototypes_that_cannot_be(store: Path, data: Path, change: Change) -> None:
    tensors = {
        k: v.copy() for k, v in load((store / LIVE / "prototypes.safetensors").read_bytes()).items()
    }
    change(tensors)
    replace_signed(store, "prototypes.safetensors", save(tensors))
    learned = run("learn-session", data, "--mode", "imprint", "--store", store)
    assert learned.code == 4
    assert "prototypes.safetensors" in learned.err
    assert run("rollback", "--store", store).code == 0
    assert run("predict", data / "blue/0.png", "--store", store, "--quiet").out == "blue\n"
