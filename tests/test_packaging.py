"""What is shipped: all that is needed, nothing else, and it runs where nothing else is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
NOT_SHIPPED = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "build", "dist", "site", "demo", "work", "prd_store"
)
METADATA = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "top_level.txt", "licenses/LICENSE"}
BESIDE_THE_CODE = {
    "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "MANIFEST.in", "README.md", "SECURITY.md",
    "constraints.txt", "mkdocs.yml", "pyproject.toml",
}  # fmt: skip
MADE_BY_SETUPTOOLS = {"PKG-INFO", "setup.cfg"}
ROOMS = ("benchmarks", "demos", "docs", "exporters", "prd_edge", "scripts", "tests")


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy to build in, since that leaves things behind."""
    copy = tmp_path_factory.mktemp("source") / "prd-edge"
    shutil.copytree(ROOT, copy, ignore=NOT_SHIPPED)
    return copy


@pytest.fixture(scope="module")
def shipped(source: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sdist, and the wheel that is built from it."""
    target = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", target, source]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "is absent from the `packages`" not in done.stderr
    return target


@pytest.fixture(scope="module")
def wheel(shipped: Path) -> Path:
    (found,) = shipped.glob("*.whl")
    return found


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path, source: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    information = {name for name in names if ".dist-info/" in name}
    assert {name.partition("/")[2] for name in information} == METADATA
    core, exporters = files_below(source / "prd_edge"), files_below(source / "exporters")
    assert names - information == {f"prd_edge/{name}" for name in core} | {
        f"prd_edge/exporters/{name}" for name in exporters
    }


def test_the_sdist_has_what_builds_and_tests_it(shipped: Path, source: Path) -> None:
    (sdist,) = shipped.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = {member.name.partition("/")[2]: member for member in archive if member.isfile()}
    rooms = {room for room in ROOMS if (source / room).is_dir()}
    expected = {f"{room}/{name}" for room in rooms for name in files_below(source / room)}
    found = {name for name in members if not name.startswith("prd_edge.egg-info/")}
    assert found == expected | BESIDE_THE_CODE | MADE_BY_SETUPTOOLS
    assert members["scripts/test"].mode & 0o111


def test_the_metadata_promise_what_is_tested(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        told = Parser().parsestr(archive.read(name).decode())
    assert told["Requires-Python"] == ">=3.11"
    versions = [c for c in told.get_all("Classifier") or () if "Python :: 3." in c]
    assert versions == ["Programming Language :: Python :: 3.11"]
    assert told["License-Expression"] == "Apache-2.0"
    lean = [line for line in told.get_all("Requires-Dist") or () if "extra ==" not in line]
    assert not any(line.startswith("torch") for line in lean)


def test_constraints_are_sorted_and_pin_all_that_is_asked_for() -> None:
    _, *pins = (ROOT / "constraints.txt").read_text().splitlines()
    names = [pin.split("==")[0].lower() for pin in pins]
    assert names == sorted(set(names))
    assert needed("prd-edge", {"learn", "report", "dev", ""}) <= {*map(canonicalize_name, names)}


def needed(package: str, extras: set[str], seen: set[str] | None = None) -> set[str]:
    """All that a package asks for, and what that asks for in its turn."""
    seen = set() if seen is None else seen
    for line in metadata.requires(package) or ():
        asked = Requirement(line)
        name = canonicalize_name(asked.name)
        is_asked = not asked.marker or any(asked.marker.evaluate({"extra": e}) for e in extras)
        if is_asked and name not in seen:
            seen.add(name)
            needed(name, {*asked.extras, ""}, seen)
    return seen


@pytest.fixture(scope="module")
def device(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment into which nothing but the wheel and what it asks for was installed."""
    place = tmp_path_factory.mktemp("device") / "venv"
    venv.create(place, with_pip=False)
    install = [sys.executable, "-m", "pip", "--python", place / "bin/python", "install", "--quiet"]
    pins = ["--constraint", ROOT / "constraints.txt"]
    done = subprocess.run([*install, *pins, wheel], capture_output=True, text=True, check=False)
    if done.returncode:
        if os.environ.get("CI"):
            pytest.fail(done.stderr)
        pytest.skip(f"the packages cannot be had here: {done.stderr.splitlines()[-1]}")
    return place


def on_device(device: Path, folder: Path, *command: str) -> str:
    home = {"HOME": str(folder), "TMPDIR": str(folder)}
    environment = {"PATH": f"{device / 'bin'}:/usr/bin:/bin", **home}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_lean_install_learns_and_predicts(device: Path, tmp_path: Path) -> None:
    def run(*command: str) -> str:
        return on_device(device, tmp_path, *command)

    assert run("prd-edge", "--version") == run("python", "-m", "prd_edge", "--version")
    assert "not installed (torch, torchvision)" in run("prd-edge", "doctor")
    run("prd-edge", "demo-data", "data", "--train", "6", "--test", "1")
    assert "imprinting" in run("prd-edge", "learn-session", "data/session-1")
    assert run("prd-edge", "predict", "data/test/mug", "--always-answer", "--quiet").strip()
    assert {path.name for path in tmp_path.iterdir()} == {"data", "prd_store"}  # nothing else


def test_a_lean_install_says_what_training_needs(device: Path, tmp_path: Path) -> None:
    on_device(device, tmp_path, "prd-edge", "demo-data", "data", "--train", "6", "--test", "1")
    done = subprocess.run(
        [device / "bin/prd-edge", "learn-session", "data/session-1", "--mode", "prd"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "prd-edge[learn]" in done.stderr
    assert not (tmp_path / "prd_store").exists()
