"""After a session nothing of a sample is left: no pixel, no embedding, no name of a file.

Looked for in the store, also while it is being trained; in temporary files; and in what is printed
or logged. Each kind of trace is first planted, to see that it would be found.
"""

from __future__ import annotations

import io
import logging
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load, save

from prd_edge import Progress, Runtime
from prd_edge.cli.main import _run
from prd_edge.learn import checkpointing
from tests.privacy.traces import SMALL, Samples, found_in, make_images, samples_of

TRAIN: dict[str, Any] = {"recipe": "edge", "train_from": "layer4.0", "epochs": 2, "seed": 0}


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
        assert samples.traces_in(said) == set()


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
    assert not any(samples.is_one(tensor) for tensor in tensors.values())


def encoded(picture: np.ndarray, form: str, **options: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, form, **options)
    return file.getvalue()


def planted(samples: Samples) -> dict[str, tuple[str, bytes]]:
    """By what it is: the kind of trace that must be seen, and the bytes."""
    file, picture, embedding = samples.files[2], samples.pixels[5], samples.embeddings[4]
    largest = int(np.abs(embedding).argmax())
    rest = np.delete(embedding, range(max(0, largest - 3), largest + 4))
    counts = np.rint(embedding.astype(float) * 65536)
    of_eight_bits = np.rint(embedding / np.abs(embedding).max() * 127).astype(np.int8)
    return {
        "name": ("file name", b'["' + samples.names[3] + b'.png"]'),
        "name in two bytes": ("file name", samples.names[3].decode().encode("utf-16-le")),
        "file": ("file", b"..." + file),
        "first half of a file": ("file", file[: len(file) // 2]),
        "end of a file": ("file", file[-len(file) // 3 :]),
        "encoded anew": ("file", encoded(picture, "PNG", compress_level=1)),
        "thumbnail": ("file", encoded(picture[::2, ::2], "JPEG")),
        "pixels": ("pixels", picture.tobytes()),
        "a few pixels": ("pixels", picture[7, 3:9].tobytes()),
        "cropped": ("pixels", np.ascontiguousarray(picture[:, 1:]).tobytes()),
        "planes": ("pixels", np.ascontiguousarray(picture.transpose(2, 0, 1)).tobytes()),
        "numbers": ("pixels", picture.astype(np.float32).tobytes()),
        "preprocessed": ("pixels", samples.squares[1].tobytes()),
        "normalised": ("pixels", ((samples.squares[1].astype(np.float32) - 127) / 128).tobytes()),
        "embedding": ("embedding", embedding.tobytes()),
        "embedding, halves": ("embedding", embedding.astype(np.float16).tobytes()),
        "embedding, doubles": ("embedding", embedding.astype(np.float64).tobytes()),
        "embedding, in part": ("embedding", rest.astype(np.float32).tobytes()),
        "embedding, counted": ("embedding", counts.tobytes()),
        "embedding, rounded": ("embedding", (counts / 65536).tobytes()),
        "embedding, eight bits": ("embedding", of_eight_bits.tobytes()),
    }


def test_what_is_planted_is_found(tmp_path: Path) -> None:
    runtime = Runtime.open(tmp_path / "store", config=SMALL, threads=1)
    folder = make_images(tmp_path / "one", ("cup", "pen"), 1)
    runtime.learn_session(folder, mode="imprint")
    samples = samples_of(folder, runtime.store)
    assert found_in(tmp_path / "store", samples) == set()
    for name, (kind, content) in planted(samples).items():
        assert kind in samples.traces_in(b"\x07ahead" + content + b"behind"), name
    some = samples.embeddings[4:8].astype(np.float64)
    for tensor in (65536 * some, some + 0.01, -3 * some.T.copy()):
        assert samples.is_one(tensor)
    assert not samples.is_one(some[::2].sum(axis=0))  # of two images
    nested = tmp_path / "store" / samples.names[0].decode()
    nested.mkdir()
    assert found_in(tmp_path / "store", samples) == {"file name"}
    nested.rename(tmp_path / "store/plain")
    (tmp_path / "store/plain/file").write_bytes(samples.files[0])
    (tmp_path / "store/plain/x.safetensors").write_bytes(save({"x": 3 * some[:1]}))
    assert found_in(tmp_path / "store", samples) == {"file", "embedding"}
