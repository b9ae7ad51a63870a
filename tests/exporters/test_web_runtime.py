"""Where onnxruntime-web is looked for, and that nothing else is taken for it."""

from __future__ import annotations

import io
import stat
import tarfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest
from prd_edge.exporters import web_runtime

from prd_edge.errors import MissingDependencyError

CONTENTS = {"a.mjs": b"code", "a.wasm": b"more code"}


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Two small files stand for the real ones, and nothing is there yet."""
    known = {
        name: (packaged, sha256(CONTENTS[packaged]).hexdigest())
        for name, packaged in (("ort.js", "a.mjs"), ("ort.wasm", "a.wasm"))
    }
    monkeypatch.setattr(web_runtime, "_FILES", known)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(web_runtime.VARIABLE, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(tmp_path)
    web_runtime.runtime_files.cache_clear()
    yield
    web_runtime.runtime_files.cache_clear()


def write(folder: Path, contents: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, data in contents.items():
        (folder / name).write_bytes(data)


def npm_that_packs(contents: dict[str, bytes]) -> None:
    """A command `npm` that leaves such a package in the folder it is called in."""
    package = io.BytesIO()
    with tarfile.open(fileobj=package, mode="w:gz") as archive:
        for name, data in contents.items():
            entry = tarfile.TarInfo(f"package/dist/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    bin_ = Path("bin").resolve()
    write(bin_, {"package.tgz": package.getvalue()})
    npm = bin_ / "npm"
    npm.write_text(f'#!/bin/sh\n/bin/cp {bin_}/package.tgz .\n/bin/echo "$@" >> {bin_}/called\n')
    npm.chmod(npm.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("place", ["given", "given/dist", "node_modules/onnxruntime-web/dist"])
def test_it_is_found_in_folders(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path(place), CONTENTS)
    if place.startswith("given"):
        monkeypatch.setenv(web_runtime.VARIABLE, "given")
    assert web_runtime.runtime_files() == {"ort.js": b"code", "ort.wasm": b"more code"}


def test_npm_fetches_it_once() -> None:
    npm_that_packs(CONTENTS)
    first = web_runtime.runtime_files()
    web_runtime.runtime_files.cache_clear()
    assert web_runtime.runtime_files() == first == {"ort.js": b"code", "ort.wasm": b"more code"}
    called = Path("bin/called").read_text().splitlines()
    assert called == [f"pack onnxruntime-web@{web_runtime.VERSION} --silent"]


@pytest.mark.parametrize("contents", [{"a.mjs": b"code"}, {**CONTENTS, "a.wasm": b"evil"}, {}])
def test_another_package_is_refused(contents: dict[str, bytes]) -> None:
    write(Path("node_modules/onnxruntime-web/dist"), contents)
    npm_that_packs(contents)
    with pytest.raises(MissingDependencyError, match="not the package that is known"):
        web_runtime.runtime_files()
    assert not Path("cache").exists()


def test_without_npm_it_says_what_to_do() -> None:
    with pytest.raises(MissingDependencyError, match=r"npm, which would .* unpack its npm"):
        web_runtime.runtime_files()


def test_npm_without_a_network() -> None:
    npm_that_packs(CONTENTS)
    Path("bin/npm").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(MissingDependencyError, match="npm could not fetch it"):
        web_runtime.runtime_files()


def test_a_folder_that_is_named_and_is_not_it(monkeypatch: pytest.MonkeyPatch) -> None:
    write(Path("given"), {**CONTENTS, "a.mjs": b"of another version"})
    npm_that_packs(CONTENTS)
    monkeypatch.setenv(web_runtime.VARIABLE, "given")
    with pytest.raises(MissingDependencyError, match="is given, which is not the unpacked npm"):
        web_runtime.runtime_files()
    assert not Path("bin/called").exists()


@pytest.mark.parametrize("keep", [0.0, 0.7])
def test_a_package_that_arrived_damaged(keep: float) -> None:
    npm_that_packs(CONTENTS)
    package = Path("bin/package.tgz")
    data = package.read_bytes()
    package.write_bytes(data[: int(keep * len(data))] if keep else b"junk")
    with pytest.raises(MissingDependencyError, match="not the package that is known"):
        web_runtime.runtime_files()
