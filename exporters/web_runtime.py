"""onnxruntime-web: two files of its npm package, known by their sha256.

They are looked for where `PRD_EDGE_ONNXRUNTIME_WEB` says, in ./node_modules, and among what was
fetched before; otherwise npm fetches the package, once. A device without a network is given the
folder of the unpacked package.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from pathlib import Path

from prd_edge.errors import MissingDependencyError
from prd_edge.files import make_directory, replace_files

VERSION = "1.30.0"
VARIABLE = "PRD_EDGE_ONNXRUNTIME_WEB"
# What each is called in the package, and what it is.
_FILES = {
    "ort.js": (
        "ort.wasm.bundle.min.mjs",
        "11e64bd8ffe11bd1a2a2f0d6275fdfbbba7262f0b76b99b53d228a8a22ef3d90",
    ),
    "ort.wasm": (
        "ort-wasm-simd-threaded.wasm",
        "3398c10d07d229bd91b364548e130e0e51a8e5704b88c7c083ebbeb78842dee2",
    ),
}
_SECONDS = 300
LICENCE = f"""onnxruntime-web {VERSION}

MIT License

Copyright (c) Microsoft Corporation

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
"""


@cache
def runtime_files() -> dict[str, bytes]:
    """By the name that the page knows each under."""
    if named := os.environ.get(VARIABLE):
        for folder in (Path(named), Path(named) / "dist"):
            if (found := _known(partial(_below, folder))) is not None:
                return found
        raise MissingDependencyError(
            f"{VARIABLE} is {named}, which is not the unpacked npm package onnxruntime-web "
            f"{VERSION}; name the folder of that version, or unset it"
        )
    kept = _kept()
    for folder in (Path("node_modules/onnxruntime-web/dist"), *kept):
        if (found := _known(partial(_below, folder))) is not None:
            return found
    found = _fetched()
    for folder in kept:
        with suppress(OSError):  # then it is fetched again
            make_directory(folder)
            replace_files({folder / _FILES[name][0]: data for name, data in found.items()})
    return found


def _kept() -> list[Path]:
    """Where it is kept; nowhere for a user without a home."""
    try:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    except RuntimeError:
        return []
    return [cache / "prd-edge" / f"onnxruntime-web-{VERSION}"]


def _known(read: Callable[[str], bytes]) -> dict[str, bytes] | None:
    """None where a file is missing, or another than is known."""
    found = {}
    for name, (packaged, digest) in _FILES.items():
        try:
            found[name] = read(packaged)
        except (OSError, KeyError):
            return None
        if sha256(found[name]).hexdigest() != digest:
            return None
    return found


def _fetched() -> dict[str, bytes]:
    npm = shutil.which("npm")
    if npm is None:
        raise _missing("npm, which would fetch it, is not installed")
    with tempfile.TemporaryDirectory(prefix="prd-edge-npm-") as scratch:
        try:
            subprocess.run(  # noqa: S603  (nothing of it is the user's)
                [npm, "pack", f"onnxruntime-web@{VERSION}", "--silent"],
                cwd=scratch,
                check=True,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=_SECONDS,
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise _missing("npm could not fetch it") from error
        for archive in Path(scratch).glob("*.tgz"):
            with suppress(tarfile.TarError, EOFError, zlib.error), tarfile.open(archive) as package:
                if (found := _known(partial(_member, package))) is not None:
                    return found
    raise _missing("what npm fetched is not the package that is known")


def _below(folder: Path, name: str) -> bytes:
    return (folder / name).read_bytes()


def _member(package: tarfile.TarFile, name: str) -> bytes:
    member = package.extractfile(f"package/dist/{name}")
    return member.read() if member else b""


def _missing(why: str) -> MissingDependencyError:
    return MissingDependencyError(
        f"a page needs onnxruntime-web {VERSION}, and {why}; unpack its npm package on another "
        f"machine and name the folder in {VARIABLE}"
    )
