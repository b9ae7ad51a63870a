"""How fast the lean half is, each time against the bare minimum, side by side in one run.

    .venv/bin/python benchmarks/speed.py [--images FOLDER] [--repeats 10]

FOLDER has one sub-folder a class (default: grocery of PRD_EDGE_DATA, else the demo data).
Every row is a ratio of medians; what is measured alternates, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from incremental.data import DATA
from whole_process import measured

from prd_edge import Runtime
from prd_edge.demo_data import write_demo_data
from prd_edge.images import decode
from prd_edge.inference import available_threads
from prd_edge.store import ENCODER_GRAPH, PREPROCESS_GRAPH, Store

PRD_EDGE = Path(sys.executable).with_name("prd-edge")

BARE_PREDICT = """
import sys
import numpy as np, onnxruntime
from PIL import Image
folder, picture = sys.argv[1:]
load = lambda name: onnxruntime.InferenceSession(f"{folder}/{name}")
image = np.asarray(Image.open(picture).convert("RGB"))
square = load("preprocess.onnx").run(None, {"image": image[None]})[0]
print(load("encoder.onnx").run(None, {"image": square})[0].argmax())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=Path)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        images = options.images or default_images(Path(scratch))
        session, pictures = ten_by_twenty(images)
        store = Path(scratch) / "store"
        Runtime.open(store).learn_session(session, mode="imprint")

        print(f"{available_threads()} threads, images from {images}\n")
        print("| what | ours | the bare minimum | ratio | bar |")
        print("|---|---|---|---|---|")
        help_time = median_of(options.repeats, lambda: run([PRD_EDGE, "--help"]))
        print(f"| `prd-edge --help` | {help_time:.3f} s | | | under 0.2 s |")
        row(
            "`prd-edge predict`, whole process", *cold_predict(store, pictures[0], options), "≤ 1.3"
        )
        row(
            "predict a folder, 1 / throughput",
            *folder_prediction(store, pictures, options),
            "≤ 1.18",
        )
        row("imprint 10 × 20 images", *imprinting(session, options), "≤ 1.5")
        small, large = peak_memory(store, pictures[:20]), peak_memory(store, pictures)
        print(
            f"| peak memory of predict | {small:.0f} MB for 20 images, "
            f"{large:.0f} MB for {len(pictures)} | | | under 300 MB |"
        )


def cold_predict(store: Path, picture: Path, options: argparse.Namespace) -> tuple[float, float]:
    version = Store(store).live().path
    return alternate(
        options.repeats,
        lambda: run([PRD_EDGE, "predict", "--store", store, picture]),
        lambda: run([sys.executable, "-c", BARE_PREDICT, version, picture]),
    )


def folder_prediction(
    store: Path, pictures: list[Path], options: argparse.Namespace
) -> tuple[float, float]:
    """Files in, answers out, against raw onnxruntime on arrays decoded beforehand."""
    runtime = Runtime.open(store)
    arrays = [decode(picture) for picture in pictures]
    preprocess, encode = raw_sessions(store)

    def raw() -> None:
        for array in arrays:
            encode(preprocess(array))

    repeats = max(3, options.repeats // 3)
    return alternate(repeats, lambda: list(runtime.predict_many(pictures)), raw)


def imprinting(session: list[tuple[Path, str]], options: argparse.Namespace) -> tuple[float, float]:
    """A whole `learn_session`, from files to a durable version, against raw embedding alone."""
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch) / "store"
        Runtime.open(store).init()
        preprocess, encode = raw_sessions(store)
        arrays = [decode(picture) for picture, _ in session]

        def raw() -> None:
            for array in arrays:
                encode(preprocess(array))

        def learn() -> None:
            Runtime.open(store).learn_session(session, mode="imprint")

        return alternate(max(3, options.repeats // 2), learn, raw)


def raw_sessions(store: Path) -> tuple[Callable[..., np.ndarray], Callable[..., np.ndarray]]:
    import onnxruntime

    version = Store(store).live()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = available_threads()
    one_thread = onnxruntime.SessionOptions()
    one_thread.intra_op_num_threads = 1  # two pools would fight for the cores
    preprocess = onnxruntime.InferenceSession(version.read(PREPROCESS_GRAPH), one_thread)
    encoder = onnxruntime.InferenceSession(version.read(ENCODER_GRAPH), options)
    return (
        lambda array: preprocess.run(None, {"image": array[None]})[0],
        lambda square: encoder.run(None, {"image": square})[0],
    )


def peak_memory(store: Path, pictures: list[Path]) -> float:
    """Of a process of its own, in MB."""
    given = "\n".join(map(str, pictures))
    return measured(["predict", "--quiet", "--store", store, "-"], given)[1]


def alternate(
    repeats: int, ours: Callable[[], object], bare: Callable[[], object]
) -> tuple[float, float]:
    ours(), bare()  # warm caches, for both
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for kept, action in zip(times, (ours, bare), strict=True):
            kept.append(timed(action))
    return statistics.median(times[0]), statistics.median(times[1])


def median_of(repeats: int, action: Callable[[], object]) -> float:
    return statistics.median(timed(action) for _ in range(repeats))


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def run(command: list[object]) -> None:
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)


def row(name: str, ours: float, bare: float, bar: str) -> None:
    print(f"| {name} | {ours:.3f} s | {bare:.3f} s | {ours / bare:.2f} | {bar} |", flush=True)


def default_images(scratch: Path) -> Path:
    if (DATA / "grocery").is_dir():
        return DATA / "grocery/train"
    return write_demo_data(scratch / "demo", train_per_class=30).session_1


def ten_by_twenty(images: Path) -> tuple[list[tuple[Path, str]], list[Path]]:
    """A session of ten classes with twenty images, and up to 500 pictures to predict."""
    folders = sorted(folder for folder in images.iterdir() if folder.is_dir())
    by_class = {folder.name: sorted(folder.iterdir()) for folder in folders}
    full = [name for name, files in by_class.items() if len(files) >= 20][:10]
    session = [(path, name) for name in full for path in by_class[name][:20]]
    pictures = [path for files in by_class.values() for path in files]
    return session, pictures[:500]


if __name__ == "__main__":
    main()
