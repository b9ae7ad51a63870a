"""Exported files against the store: the same answers? How large, how fast, how soon?

    .venv/bin/python benchmarks/exported.py [--store STORE] [--pictures 500]

The store knows the 81 classes of grocery (PRD_EDGE_DATA): the one given, or one that is imprinted
now. The photographs are asked about in other sizes, shapes and orientations than they come in; on
the file's side Pillow alone decodes them. Eight bits are calibrated on training pictures.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
from incremental.data import DATA
from PIL import Image, ImageOps

from prd_edge import Runtime

_ORIENTATION = 0x0112
FIRST_ANSWER = """
import json, sys
import numpy as np, onnxruntime
from PIL import Image, ImageOps
session = onnxruntime.InferenceSession(open(sys.argv[1], "rb").read())
classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
picture = ImageOps.exif_transpose(Image.open(sys.argv[2])).convert("RGB")
(answer,) = session.run(["answer"], {"image": np.asarray(picture)[None]})
print(classes[answer[0]])
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path)
    parser.add_argument("--pictures", type=int, default=500)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runtime = Runtime.open(options.store or folder / "store")
        if not options.store:
            runtime.learn_session(DATA / "grocery/train", mode="imprint")
        pictures = reshaped(options.pictures, folder / "pictures")
        print(
            "| format | same answer | same on unknown | largest difference | size | "
            "against single precision: size | speed | first answer of a process |"
        )
        print("|---|---|---|---|---|---|---|---|")
        for name in ("onnx", "onnx-int8"):
            target = folder / f"{name}.onnx"
            found = runtime.export(
                target,
                format=name,
                calibrate=DATA / "grocery/train" if name == "onnx-int8" else None,
                images=DATA / "grocery/test",
            )
            same, unknown, largest = compared(runtime, target, pictures)
            seconds = first_answer(target, pictures[0], options.repeats)
            print(
                f"| {name} | {same:.1%} | {unknown:.1%} | {largest:.1e} "
                f"| {target.stat().st_size / 1e6:.1f} MB | {found.size_ratio or 1} "
                f"| {found.speed_ratio or 1} | {seconds:.2f} s |",
                flush=True,
            )


def reshaped(count: int, folder: Path) -> list[Path]:
    """Photographs of the test half, as cameras and people leave them."""
    folder.mkdir()
    random = np.random.default_rng(0)
    paths = random.permutation(sorted((DATA / "grocery/test").rglob("*.jpg")))[:count]
    made = []
    for number, path in enumerate(paths):
        picture = Image.open(path)
        scale = random.uniform(0.5, 6.0)
        sides = (max(8, round(side * scale * random.uniform(0.8, 1.25))) for side in picture.size)
        tags = Image.Exif()
        tags[_ORIENTATION] = int(random.integers(1, 9))
        made.append(folder / f"{number}.jpg")
        picture.resize(tuple(sides)).save(made[-1], quality=90, exif=tags)
    return made


def compared(runtime: Runtime, model: Path, pictures: list[Path]) -> tuple[float, float, float]:
    session = onnxruntime.InferenceSession(model.read_bytes(), providers=["CPUExecutionProvider"])
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])
    same, both, largest = [], [], 0.0
    for path in pictures:
        picture = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
        confidence, unknown = session.run(
            ["confidence", "unknown"], {"image": np.asarray(picture)[None]}
        )
        ours = runtime.predict(path, top_k=len(classes))
        expected = {ranked.label: ranked.confidence for ranked in ours.top_k}
        said = dict(zip(classes, confidence[0], strict=True))
        same.append(max(said, key=said.__getitem__) == ours.top_k[0].label)
        both.append(bool(unknown[0]) == ours.unknown)
        largest = max(largest, *(abs(said[label] - expected[label]) for label in classes))
    return float(np.mean(same)), float(np.mean(both)), largest


def first_answer(model: Path, picture: Path, repeats: int) -> float:
    """Median seconds from the start of a process that has onnxruntime, numpy and Pillow."""
    seconds = []
    for _ in range(repeats):
        started = time.perf_counter()
        command = [sys.executable, "-c", FIRST_ANSWER, model, picture]
        subprocess.run(command, check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


if __name__ == "__main__":
    main()
