"""Weights from files of every kind: what is accepted, and how the rest is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from prd_edge.encoders import build_encoder
from prd_edge.errors import InvalidInputError, MissingDependencyError
from prd_edge.learn.encoders import resnet18_scratch
from prd_edge.learn.encoders.torchvision_nets import download_weights
from prd_edge.learn.encoders.weights import read_weights_file
from prd_edge.learn.torchvision_import import import_torchvision

SCRATCH = "resnet18_scratch"
State = dict[str, torch.Tensor]


@pytest.fixture
def state() -> State:
    return dict(resnet18_scratch.untrained(seed=0, width=4).state_dict())


def _build_from(path: Path) -> Any:
    return build_encoder(SCRATCH, weights_file=path)


def _refusal(path: Path) -> str:
    with pytest.raises(InvalidInputError) as caught:
        _build_from(path)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


@pytest.mark.parametrize(
    "wrap",
    [
        lambda state: state,
        lambda state: {"state_dict": state, "epoch": 3},
        lambda state: {"model": {f"module.{k}": v for k, v in state.items()}},
        lambda state: {f"module._orig_mod.{k}": v for k, v in state.items()},
        lambda state: {**state, "fc.weight": torch.ones(2, 2), "classifier.0.bias": torch.ones(2)},
    ],
    ids=["plain", "checkpoint", "data parallel", "compiled", "classifier"],
)
@pytest.mark.parametrize("suffix", [".pth", ".PT"])
def test_torch_files_in_their_usual_wrappings(
    wrap: Any, suffix: str, state: State, tmp_path: Path
) -> None:
    path = tmp_path / f"weights{suffix}"
    torch.save(wrap(state), path)
    weights = read_weights_file(path)
    assert list(weights) == [k for k in state if not k.endswith("num_batches_tracked")]
    assert all(np.array_equal(array, state[k].numpy()) for k, array in weights.items())


def test_half_precision_becomes_float32(state: State, tmp_path: Path) -> None:
    path = tmp_path / "half.safetensors"
    save_file({k: v.half() for k, v in state.items()}, path)
    assert {a.dtype for a in read_weights_file(path).values()} == {np.dtype(np.float32)}


def test_the_base_width_is_that_of_the_file(state: State, tmp_path: Path) -> None:
    path = tmp_path / "narrow.safetensors"
    save_file(state, path)
    built = _build_from(path)
    assert built.spec.parts == (8 * 4,)
    assert built.spec.licence == "that of the weights file"


def test_missing_file(tmp_path: Path) -> None:
    assert "does not exist" in _refusal(tmp_path / "nothing.safetensors")


def test_folder_instead_of_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "folder.pth"
    folder.mkdir()
    assert "not a file" in _refusal(folder)


def test_unknown_kind_of_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.h5"
    path.write_bytes(b"anything")
    assert ".safetensors, .pth or .pt" in _refusal(path)


@pytest.mark.parametrize("suffix", [".safetensors", ".pth"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>sign in to the network</html>",
        b"\x80\x04",
        b"PK\x03\x04" + b"\0" * 60,
        bytes(range(256)) * 9,
    ],
    ids=["empty", "html", "pickle head", "zip head", "noise"],
)
def test_garbage(content: bytes, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"garbage{suffix}"
    path.write_bytes(content)
    assert "damaged" in _refusal(path)


@pytest.mark.parametrize("suffix", [".safetensors", ".pth"])
def test_truncated_file(suffix: str, state: State, tmp_path: Path) -> None:
    path = tmp_path / f"truncated{suffix}"
    if suffix == ".pth":
        torch.save(state, path)
    else:
        save_file(state, path)
    path.write_bytes(path.read_bytes()[:-1000])
    assert "damaged" in _refusal(path)


class _Attack:
    """Unpickled, it would create a file."""

    def __init__(self, proof: Path) -> None:
        self.proof = proof

    def __reduce__(self) -> Any:
        return Path.touch, (self.proof,)


@pytest.mark.parametrize("form", ["torch file", "bare pickle", "hidden in a checkpoint"])
def test_code_in_a_pickle_is_refused_and_never_run(form: str, state: State, tmp_path: Path) -> None:
    path, proof = tmp_path / "attack.pth", tmp_path / "proof"
    if form == "bare pickle":
        path.write_bytes(pickle.dumps(_Attack(proof)))
    elif form == "torch file":
        torch.save(_Attack(proof), path)
    else:
        torch.save({"state_dict": state, "arguments": _Attack(proof)}, path)
    message = _refusal(path)
    assert "more than plain tensors" in message
    assert not proof.exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ([torch.ones(2)], "no state dict"),
        ({}, "no state dict"),
        ({3: torch.ones(2)}, "no state dict"),
        ({"conv1.weight": "text"}, "not a tensor of real numbers"),
        ({"conv1.weight": torch.ones(2, dtype=torch.int64)}, "not a tensor of real numbers"),
        ({"conv1.weight": torch.tensor([1.0, float("nan")])}, "not finite"),
        ({"conv1.weight": torch.ones(3, 3).to_sparse()}, "more than plain tensors"),
    ],
)
def test_contents_that_are_no_weights(content: Any, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.pth"
    torch.save(content, path)
    assert reason in _refusal(path)


def test_a_checkpoint_that_contains_itself_ends(tmp_path: Path) -> None:
    loop: dict[str, Any] = {}
    loop["state_dict"] = loop
    torch.save(loop, tmp_path / "loop.pth")
    assert "not a tensor" in _refusal(tmp_path / "loop.pth")


def test_lacking_and_unknown_names_are_shown(state: State, tmp_path: Path) -> None:
    path = tmp_path / "renamed.safetensors"
    save_file({k: v for k, v in state.items() if not k.startswith("layer4")}, path)
    message = _refusal(path)
    assert f"does not fit {SCRATCH}" in message
    assert "lack layer4.0.conv1.weight" in message
    assert "and 22 more" in message
    save_file({**state, "extra.weight": torch.ones(2)}, path)
    assert "unknown extra.weight" in _refusal(path)


@pytest.mark.parametrize("shape", [(), (0, 3, 3, 3), (100_000, 3, 3, 3)])
def test_wrong_shapes_are_shown(shape: tuple[int, ...], state: State, tmp_path: Path) -> None:
    path = tmp_path / "shapes.safetensors"
    save_file({**state, "conv1.weight": torch.ones(shape)}, path)
    assert "wrong shape for" in _refusal(path)


def test_a_failed_download_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise URLError("Name or service not known")

    monkeypatch.setattr(import_torchvision().models._api, "load_state_dict_from_url", fail)
    with pytest.raises(MissingDependencyError) as caught:
        build_encoder("resnet18", image_size=64)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("cannot download the weights of resnet18 from https://")
    assert message.endswith("give a local file with --weights FILE")


def test_a_download_is_hash_checked_and_free_of_code(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def deliver(url: str, **options: Any) -> State:
        asked.update(options, url=url)
        return {"conv1.weight": torch.ones(1)}

    monkeypatch.setattr(import_torchvision().models._api, "load_state_dict_from_url", deliver)
    assert list(download_weights("resnet18")) == ["conv1.weight"]
    assert asked["check_hash"] is True
    assert asked["weights_only"] is True
    assert asked["url"].startswith("https://")
