"""After a session nothing of a sample is left: no pixel, no embedding, no name of a file.

Looked for in the store, also while it is being trained; in temporary files; and in what is printed
or logged. Each kind of trace is first planted, to see that it would be found.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load, save

from prd_edge import Progress, Runtime, StoreConfig
from prd_edge.cli.main import _run
from prd_edge.images import decode
from prd_edge.learn import checkpointing
from prd_edge.model import load_embedder
from prd_edge.store import Store

SMALL = StoreConfig(encoder="resnet18_scratch", image_size=32)
TRAIN: dict[str, Any] = {"recipe": "edge", "train_from": "layer4.0", "epochs": 2, "seed": 0}
RUN = 24  # bytes in a row that are no coincidence
KINDS = ("float16", "float32", "float64")


class Samples(NamedTuple):
    """All that a session could leave of its images."""

    folder: Path
    names: list[bytes]
    files: list[bytes]
    pixels: list[np.ndarray]  # uint8, decoded
    squares: list[np.ndarray]  # uint8, preprocessed
    embeddings: np.ndarray  # (N, D), by the encoder before and after the session

    def byte_traces(self) -> Iterator[tuple[str, bytes]]:
        for name in self.names:
            yield "file name", name
            yield "file name", name.decode().encode("utf-16-le")
        for file in self.files:
            yield "file", file[len(file) // 2 :][:RUN]
        for image in (*self.pixels, *self.squares):
            for row in image.reshape(image.shape[-3], -1)[:: max(1, image.shape[-3] // 8)]:
                yield "pixels", row.tobytes()[:RUN]
        for embedding in self.embeddings:
            start = int(np.abs(embedding).argmax())
            part = embedding[start : start + 4] if start + 4 < len(embedding) else embedding[-4:]
            for kind in KINDS:
                yield "embedding", part.astype(kind).tobytes()


def found_in(root: Path, samples: Samples) -> set[str]:
    """Kinds of traces below a folder: as bytes anywhere, or as a direction in a tensor."""
    found = set()
    traces = list(samples.byte_traces())
    for path in sorted(root.rglob("*")):
        content = str(path.relative_to(root)).encode()
        if path.is_file():
            content += b"\n" + path.read_bytes()
        found |= {kind for kind, trace in traces if trace in content}
        if path.suffix == ".safetensors":
            found |= {"embedding" for t in load(path.read_bytes()).values() if _is_one(t, samples)}
    return found


def _is_one(tensor: np.ndarray, samples: Samples) -> bool:
    """Is some row of the tensor the embedding of one sample, at whatever scale?"""
    width = samples.embeddings.shape[1]
    if tensor.ndim == 0 or tensor.shape[-1] != width:
        return False
    rows = tensor.reshape(-1, width).astype(np.float64)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    unit = samples.embeddings / np.linalg.norm(samples.embeddings, axis=1, keepdims=True)
    return bool((rows @ unit.T > 1 - 1e-7).any())


def make_images(folder: Path, classes: tuple[str, ...], seed: int) -> Path:
    random = np.random.default_rng(seed)
    for label in classes:
        base = random.integers(40, 200, 3)
        (folder / label).mkdir(parents=True)
        for number in range(8):
            noise = random.integers(-40, 41, (40, 44, 3))
            image = np.clip(base + noise, 0, 255).astype(np.uint8)
            Image.fromarray(image).save(folder / label / f"canary-{label}-{number}-Zq7.png")
    return folder


def samples_of(folder: Path, store: Store) -> Samples:
    files = sorted(folder.glob("*/*.png"))
    pixels = [decode(path) for path in files]
    embedders = [load_embedder(v, 1) for v in store.readable_versions()]
    width = store.live().manifest.encoder.dimensions
    embeddings = [
        own
        for image in pixels
        for embedder in embedders
        if len(own := embedder.embed_alone(image)) == width
    ]
    return Samples(
        folder=folder,
        names=[path.stem.encode() for path in files],
        files=[path.read_bytes() for path in files],
        pixels=pixels,
        squares=[embedders[0].preprocess(image) for image in pixels],
        embeddings=np.stack(embeddings),
    )


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files would go."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("mode", ["prd", "imprint"])
def test_nothing_of_a_sample_is_left(
    mode: str,
    tmp_path: Path,
    scratch: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(checkpointing, "SECONDS_BETWEEN", 0.0)
    runtime = Runtime.open(tmp_path / "store", config=SMALL, threads=1)
    runtime.init()
    chosen = TRAIN if mode == "prd" else {}
    options = [f"--{name.replace('_', '-')}={value}" for name, value in chosen.items()]
    folders = [
        make_images(tmp_path / "one", ("cup", "pen"), 1),
        make_images(tmp_path / "two", ("pen", "lid"), 2),
    ]
    for folder in folders:
        store = tmp_path / "store"
        code = _run(["learn-session", str(folder), "--store", str(store), "--mode", mode, *options])
        assert code == 0
    assert runtime.history()[-1].metrics["mode"] == mode
    printed = capfd.readouterr()
    said = (printed.out + printed.err + caplog.text).encode()
    for folder in folders:
        samples = samples_of(folder, runtime.store)
        assert found_in(tmp_path / "store", samples) == set()
        assert found_in(scratch, samples) == set()
        assert not [kind for kind, trace in samples.byte_traces() if trace in said]


def test_a_training_that_was_cut_off_leaves_weights_alone(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpointing, "SECONDS_BETWEEN", 0.0)
    runtime = Runtime.open(tmp_path / "store", config=SMALL, threads=1)
    runtime.init()
    folder = make_images(tmp_path / "one", ("cup", "pen"), 1)

    def power_cut(step: Progress) -> None:
        if step.stage == "training" and step.done == step.total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runtime.learn_session(folder, mode="prd", on_progress=power_cut, **TRAIN)
    assert runtime.store.checkpoint.exists()
    samples = samples_of(folder, runtime.store)
    assert found_in(tmp_path / "store", samples) == set()
    assert found_in(scratch, samples) == set()
    tensors = load(runtime.store.checkpoint.read_bytes().split(b"\n", 2)[2])
    assert not any(_is_one(tensor, samples) for tensor in tensors.values())


def test_what_is_planted_is_found(tmp_path: Path) -> None:
    runtime = Runtime.open(tmp_path / "store", config=SMALL, threads=1)
    folder = make_images(tmp_path / "one", ("cup", "pen"), 1)
    runtime.learn_session(folder, mode="imprint")
    samples = samples_of(folder, runtime.store)
    assert found_in(tmp_path / "store", samples) == set()
    plants = {
        "names.json": (b'["' + samples.names[3] + b'.png"]', {"file name"}),
        "copy.bin": (b"..." + samples.files[2], {"file"}),
        "raw.bin": (samples.pixels[5].tobytes(), {"pixels"}),
        "square.bin": (samples.squares[1].tobytes(), {"pixels"}),
        "half.bin": (samples.embeddings[4].astype(np.float16).tobytes(), {"embedding"}),
        "sum.safetensors": (save({"x": 65536.0 * samples.embeddings[:1]}), {"embedding"}),
    }
    for name, (content, expected) in plants.items():
        plant = tmp_path / "store" / name
        plant.write_bytes(content)
        assert found_in(tmp_path / "store", samples) == expected, name
        plant.unlink()
    nested = tmp_path / "store" / samples.names[0].decode()
    nested.mkdir()
    assert found_in(tmp_path / "store", samples) == {"file name"}
