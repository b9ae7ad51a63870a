"""What a session costs: `learn-session` against training the whole network in eager torch.

    .venv/bin/python benchmarks/training_speed.py [--repeats 3]
    .venv/bin/python benchmarks/training_speed.py --small

Two sessions of five grocery classes each, all their training images, with the default encoder and
recipe. The rival trains every layer of the same network on the same number of random views, for as
many epochs, in batches of the same size, with the three losses of PRD: views made anew for every
step by the same augmentation, the teacher run in torch, default memory layout. Both are whole
processes, from start to end, side by side in one run; times are medians. With --small: two sessions
of five CIFAR-100 classes, 40 images each, at 128 px, ours alone. The data sets are found in
PRD_EDGE_DATA.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from incremental.data import DATA

CLASSES = 5


def whole_network(folder: Path, known: int, images: int, epochs: int) -> None:
    """The rival, in a process of its own, trained so many times on so many images."""
    import numpy as np
    import torch

    from prd_edge.encoders.wheel_weights import read_wheel_weights
    from prd_edge.images import decode
    from prd_edge.learn.encoders import load_module
    from prd_edge.learn.learner import Views, learn_session
    from prd_edge.learn.random_view import random_view
    from prd_edge.learn.recipes import EDGE
    from prd_edge.memory import peak_memory_mb
    from prd_edge.preprocess import Preprocessor, build_onnx

    class Session:
        def __init__(self) -> None:
            names = sorted(path.name for path in folder.iterdir())
            paths = [
                (file, names.index(name)) for name in names for file in folder.glob(f"{name}/*")
            ]
            self.images = [decode(path) for path, _ in paths]
            self.classes = known + torch.tensor([label for _, label in paths])
            self.preprocess = Preprocessor(build_onnx(224))
            keep = torch.randperm(len(paths), generator=torch.Generator().manual_seed(0))
            self.rows = keep[:images]  # the others are held out

        def __len__(self) -> int:
            return len(self.rows)

        def views(self, samples: torch.Tensor, generator: torch.Generator) -> Views:
            both = self.rows[torch.cat([samples, samples])]
            seeds = torch.randint(2**62, both.shape, generator=generator)
            views = [
                random_view(self.images[row], self.preprocess, np.random.default_rng(seed))
                for row, seed in zip(both.tolist(), seeds.tolist(), strict=True)
            ]
            return Views(torch.from_numpy(np.concatenate(views)), self.classes[both])

    encoder = load_module("efficientnet_lite0", read_wheel_weights())
    prototypes = torch.randn(known + CLASSES, 2768, generator=torch.Generator().manual_seed(0))
    recipe = replace(EDGE, epochs=epochs)
    learned = learn_session(encoder, prototypes, known, Session(), recipe, seed=0)
    print(json.dumps({"steps": learned.steps, "peak_memory_mb": peak_memory_mb()}))


def ours(folder: Path, store: Path) -> dict[str, object]:
    command = [sys.executable, "-m", "prd_edge", "learn-session", folder, "--store", store]
    done = subprocess.run([*command, "--json"], capture_output=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def rival(folder: Path, known: int, images: int, epochs: int) -> dict[str, object]:
    command = [sys.executable, __file__, "--whole-network", folder]
    command += ["--known", str(known), "--images", str(images), "--epochs", str(epochs)]
    done = subprocess.run(command, capture_output=True, check=True)
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def small_sessions(repeats: int) -> None:
    from PIL import Image

    print("| session of 5 × 40 images at 128 px | time | peak memory |")
    print("|---|---|---|")
    seconds: list[list[float]] = [[], []]
    memory = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        strips = sorted((DATA / "cifar100/train").glob("*.webp"))[: 2 * CLASSES]
        for number, strip in enumerate(strips):
            whole = Image.open(strip).convert("RGB")  # 32 px wide, one image below the other
            target = root / str(number // CLASSES) / strip.stem
            target.mkdir(parents=True)
            for row in range(40):
                whole.crop((0, 32 * row, 32, 32 * row + 32)).save(target / f"{row}.png")
        for repeat in range(repeats):
            store = root / f"store {repeat}"
            init = [sys.executable, "-m", "prd_edge", "init", "--image-size", "128"]
            subprocess.run([*init, "--store", store], check=True, capture_output=True)
            for session in range(2):
                started = time.perf_counter()
                report = ours(root / str(session), store)
                seconds[session].append(time.perf_counter() - started)
                memory[session] = max(memory[session], float(report["peak_memory_mb"]))
    for session, name in enumerate(("1, nothing known", "2, five classes known")):
        print(
            f"| {name} | {statistics.median(seconds[session]):.1f} s | {memory[session]:.0f} MB |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--whole-network", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--known", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--images", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--epochs", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--small", action="store_true", help="sessions of 5 × 40 images at 128 px")
    options = parser.parse_args()
    if options.whole_network:
        whole_network(options.whole_network, options.known, options.images, options.epochs)
        return
    if options.small:
        small_sessions(options.repeats)
        return
    labels = sorted(path.name for path in (DATA / "grocery/train").iterdir())
    seconds: dict[str, list[float]] = {}
    memory: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        for session in range(2):
            for label in labels[session * CLASSES :][:CLASSES]:
                source = DATA / "grocery/train" / label
                shutil.copytree(source, root / f"session {session + 1}" / label)
        for repeat in range(options.repeats):
            for session in range(2):
                folder = root / f"session {session + 1}"
                for name in ("prd-edge", "whole network"):
                    key = f"session {session + 1}, {name}"
                    started = time.perf_counter()
                    if name == "prd-edge":
                        report = ours(folder, root / f"store {repeat}")
                        trained = int(report["images_used"]) - int(report["holdout_images"])
                        epochs = int(report["training"]["epochs"])
                    else:
                        report = rival(folder, session * CLASSES, trained, epochs)
                    seconds.setdefault(key, []).append(time.perf_counter() - started)
                    peak = float(report["peak_memory_mb"])
                    memory[key] = max(peak, memory.get(key, 0.0))
                    print(f"{key}: {seconds[key][-1]:.1f} s, {peak:.0f} MB", file=sys.stderr)
    print("| session | prd-edge | whole network | ratio | peak memory |")
    print("|---|---|---|---|---|")
    for session in ("session 1", "session 2"):
        mine, other = f"{session}, prd-edge", f"{session}, whole network"
        ratio = statistics.median(b / a for a, b in zip(seconds[mine], seconds[other], strict=True))
        print(
            f"| {session} | {statistics.median(seconds[mine]):.1f} s "
            f"| {statistics.median(seconds[other]):.1f} s | {ratio:.1f} "
            f"| {memory[mine]:.0f} MB against {memory[other]:.0f} MB |"
        )


if __name__ == "__main__":
    main()
