"""What a session could leave of its images, in all forms we could think of, and how to find it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from PIL import Image
from safetensors.numpy import load

from prd_edge import StoreConfig
from prd_edge.images import decode
from prd_edge.model import load_embedder
from prd_edge.store import Store

SMALL = StoreConfig(encoder="resnet18_scratch", image_size=32)
WINDOW = 16  # bytes in a row that are no coincidence, if they differ among each other
_DIFFERENT = 6  # of them
_FILTER_BITS = 24
_FLOATS = ("float16", "float32", "float64")
_UNIT = 65536  # the bank counts in this part of one
_IMAGE_FILES = {
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff\xe0\x00\x10JFIF\x00",
    b"GIF89a",
    b"\x00WEBPVP8",
}


@dataclass
class Samples:
    folder: Path
    names: list[bytes]
    files: list[bytes]
    pixels: list[np.ndarray]  # uint8 (H, W, 3), decoded
    squares: list[np.ndarray]  # uint8 (L, S, S, 3), preprocessed
    embeddings: np.ndarray  # (N, D), by the encoder before and after the session

    def _forms(self) -> Iterator[tuple[str, bytes, int]]:
        """Kind, bytes, and how many of them are one number."""
        for file in self.files:
            yield "file", file, 1
        for image in (*self.pixels, *self.squares):
            planes = np.moveaxis(image, -1, 0)
            for order in (image, planes):
                yield "pixels", order.tobytes(), 1
                for scaled in (order, order / 255, (order - 127.0) / 128):
                    yield "pixels", scaled.astype(np.float32).tobytes(), 4
        for embedding in self.embeddings.astype(np.float64):
            counts = np.rint(embedding * _UNIT)
            for scaled in (embedding, embedding * _UNIT, counts, counts / _UNIT):
                for kind in _FLOATS:
                    with np.errstate(over="ignore"):
                        numbers = scaled.astype(kind)
                    yield "embedding", numbers.tobytes(), numbers.itemsize
            of_eight_bits = np.rint(embedding / np.abs(embedding).max() * 127).astype(np.int8)
            yield "embedding", of_eight_bits.tobytes(), 1

    @cached_property
    def windows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All of them: their first halves in order, their second halves, and the kind of each."""
        firsts, seconds, kinds = [], [], []
        for kind, data, step in self._forms():
            first, second = _telling(data, step)
            firsts.append(first)
            seconds.append(second)
            kinds.append(np.full(len(first), kind))
        first, second, kind = (np.concatenate(own) for own in (firsts, seconds, kinds))
        order = np.argsort(first, kind="stable")
        return first[order], second[order], kind[order]

    def traces_in(self, content: bytes) -> set[str]:
        found = {"file" for start in _IMAGE_FILES if start in content}
        for name in self.names:
            if name in content or name.decode().encode("utf-16-le") in content:
                found.add("file name")
        known_first, known_second, kinds = self.windows
        for start in range(8):
            halves = np.frombuffer(content[start : start + (len(content) - start) // 8 * 8], "<u8")
            for place in np.flatnonzero(self._may_begin_one[_hashed(halves[:-1])]):
                own = slice(*(np.searchsorted(known_first, halves[place], s) for s in _BOTH_SIDES))
                found |= set(kinds[own][known_second[own] == halves[place + 1]].tolist())
        return found

    @cached_property
    def _may_begin_one(self) -> np.ndarray:
        """By a hash of eight bytes: most are told at once to begin none of the windows."""
        may = np.zeros(2**_FILTER_BITS, bool)
        may[_hashed(self.windows[0])] = True
        return may

    def is_one(self, tensor: np.ndarray) -> bool:
        """Is some row or column the embedding of one sample, at whatever scale, moved or not?"""
        width = self.embeddings.shape[1]
        for numbers in (tensor, tensor.T):
            if numbers.ndim and numbers.shape[-1] == width and numbers.dtype.kind == "f":
                rows = _directions(numbers.reshape(-1, width))
                if (np.abs(rows @ _directions(self.embeddings).T) > 1 - 1e-7).any():
                    return True
        return False


_BOTH_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


def _hashed(halves: np.ndarray) -> np.ndarray:
    return (halves * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - _FILTER_BITS)


def _telling(data: bytes, step: int) -> tuple[np.ndarray, np.ndarray]:
    """The halves of every window that is more than a few bytes again and again."""
    numbers = np.frombuffer(data, np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(numbers, WINDOW)[::step]
    different = 1 + (np.diff(np.sort(windows, axis=1), axis=1) != 0).sum(axis=1)
    told = np.ascontiguousarray(windows[different >= _DIFFERENT]).view(np.uint64)
    return told[:, 0], told[:, 1]


def _directions(rows: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float64)
    rows = rows - rows.mean(axis=1, keepdims=True)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def found_in(root: Path, samples: Samples) -> set[str]:
    """Kinds of traces below a folder: as bytes anywhere, or as a direction in a tensor."""
    paths = sorted(root.rglob("*"))
    found = samples.traces_in("\n".join(str(path.relative_to(root)) for path in paths).encode())
    # Versions share files.
    for path in {own.stat().st_ino: own for own in paths if own.is_file()}.values():
        data = path.read_bytes()
        found |= samples.traces_in(data)
        if path.suffix == ".safetensors":
            found |= {"embedding" for t in load(data).values() if samples.is_one(t)}
    return found


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
