"""Attacks by name. A class name is text in the store, for ever; it never becomes a path."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prd_edge import Runtime
from prd_edge.bank import PrototypeBank
from prd_edge.classes import clean_class_name
from prd_edge.errors import InvalidInputError, PrdEdgeError
from prd_edge.manifest import Manifest

from ..cli.conftest import share_store
from ..conftest import TINY, picture

HOSTILE = [
    "../../escaped",
    "/tmp/escaped",
    "..",
    ".",
    "a/../../escaped",
    "..\\..\\escaped",
    "C:\\escaped",
    "//server/share",
    "file:///etc/passwd",
    "escaped\0.png",
    "escaped\n",
    "\x1b]0;escaped\x07",
    "\u202egpj.exe",
    "~/escaped",
    "$(touch escaped)",
    "`touch escaped`",
    "; touch escaped",
    "| touch escaped",
    "%2e%2e%2fescaped",
    "%s%s%s%n",
    "{0.__class__}",
    "${HOME}",
    "--store=/tmp/escaped",
    "-rf",
    "CURRENT",
    "LOCK",
    "versions",
    "manifest.json",
    "000042",
    ".tmp-000009",
    "__proto__",
    '"},"schema":9,"x":{"',
    "\ud800",
    "x" * 10_000,
    "\u0301",
    "A\u030a" * 60,
]


def short(name: str) -> str:
    return ascii(name[:20])


def listing(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def yard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to watch: the store is in it, and it is the home and the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def assert_only_a_store(store: Path) -> None:
    """Nothing but the files that every store has, whatever its classes are called."""
    files = {path.name for path in store.rglob("*") if path.is_file()}
    assert files <= {
        "CURRENT",
        "CURRENT.copy",
        "LOCK",
        "manifest.json",
        "preprocess.onnx",
        "encoder.onnx",
        "encoder.safetensors",
        "snapshot.safetensors",
        "prototypes.safetensors",
        "covariance.safetensors",
    }
    folders = {path.name for path in store.rglob("*") if path.is_dir()} - {"versions"}
    assert all(name.isdecimal() and len(name) == 6 for name in folders)


def test_names_given_by_an_iterable(yard: Path) -> None:
    """All at once: those that are text become classes, the others are refused, one by one."""
    store = yard / "store"
    allowed = []
    for name in HOSTILE:
        with suppress(InvalidInputError):
            allowed.append(clean_class_name(name))
    refused = [name for name in HOSTILE if not is_allowed(name)]
    assert 10 < len(refused) < len(HOSTILE) - 10
    before = listing(yard)
    runtime = Runtime.open(store, config=TINY)
    for name in refused:
        with pytest.raises(InvalidInputError):
            runtime.learn_session([(picture((9, 9, 9), 1), name)])
    assert listing(yard) == before

    runtime.learn_session([(picture((9, 9, 9), n), name) for n, name in enumerate(allowed)])
    assert {path.name for path in yard.iterdir()} == {"store"}
    assert_only_a_store(store)
    assert runtime.classes() == dict.fromkeys(sorted(allowed), 1)
    assert runtime.predict(picture((9, 9, 9), 0)).label in allowed
    assert not runtime.store.problems()["000002"]


def is_allowed(name: str) -> bool:
    try:
        clean_class_name(name)
    except InvalidInputError:
        return False
    return True


@pytest.fixture(scope="module")
def renamed_once(
    taught_once: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Runtime]:
    yard = tmp_path_factory.mktemp("yard")
    return yard, Runtime.open(share_store(taught_once, yard / "store"))


@pytest.fixture
def store(taught_once: Path, tmp_path: Path) -> Path:
    return share_store(taught_once, tmp_path / "store")


@pytest.mark.parametrize("name", HOSTILE[::3], ids=short)
def test_names_that_are_asked_for(renamed_once: tuple[Path, Runtime], name: str) -> None:
    """A class, a version or a store may be asked for by any name; none is found, none is made."""
    yard, runtime = renamed_once
    before = listing(yard)
    for ask in (runtime.remove, runtime.rollback, lambda text: runtime.rename(text, "x")):
        with pytest.raises(PrdEdgeError) as caught:
            ask(name)
        assert caught.value.exit_code == 2
    assert listing(yard) == before


@pytest.mark.parametrize("name", [n for n in HOSTILE if not is_allowed(n)], ids=short)
def test_new_names_that_are_refused(renamed_once: tuple[Path, Runtime], name: str) -> None:
    yard, runtime = renamed_once
    before = listing(yard)
    with pytest.raises(InvalidInputError):
        runtime.rename("red", name)
    assert listing(yard) == before
    assert "red" in runtime.classes()


@pytest.mark.parametrize("name", [n for n in HOSTILE if is_allowed(n)], ids=short)
def test_new_names_that_are_only_text(manifest: Manifest, name: str) -> None:
    """They come back from a manifest as they went in, and can never add a key to it."""
    clean = clean_class_name(name)
    bank = PrototypeBank.empty(3).add(np.ones((1, 3), np.float32), [clean])
    assert bank.labels == (clean,)
    back = Manifest.from_bytes(called(manifest, clean).to_bytes())
    assert back.classes == {clean: 5}


def called(manifest: Manifest, name: str) -> Manifest:
    identities = {name: "0123456789abcdef"}
    action = f"rename to {name!r}"
    return replace(manifest, classes={name: 5}, identities=identities, action=action)


@pytest.fixture(scope="module")
def manifest(taught_once: Path) -> Manifest:
    return Runtime.open(taught_once).store.live().manifest


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(name=st.text(max_size=40))
def test_any_name_survives_the_manifest(manifest: Manifest, name: str) -> None:
    try:
        clean = clean_class_name(name)
    except InvalidInputError:
        return
    changed = called(manifest, clean)
    back = Manifest.from_bytes(changed.to_bytes())
    assert back == changed
    assert unicodedata.is_normalized("NFC", clean)


@pytest.mark.parametrize("name", ["{yard}/escaped", "../../../escaped", "../../escaped", "a/../b"])
def test_a_manifest_cannot_name_files_outside_of_its_version(
    store: Path, name: str, prd_edge: Callable[..., tuple[int, str, str]]
) -> None:
    """A store may come from somebody else, every checksum in it good: looking after it must not
    write where its manifest says."""
    yard = store.parent
    name = name.format(yard=yard)
    (yard / "escaped").write_text("precious")
    path = store / "versions/000003/manifest.json"
    good = Manifest.from_bytes(path.read_bytes())
    files = {**good.files, name: good.files["preprocess.onnx"]}
    path.write_bytes(replace(good, files=files).to_bytes())
    before = listing(yard)
    for arguments in (("verify",), ("verify", "--repair"), ("info",), ("rollback",)):
        code, _, err = prd_edge(*arguments, "--store", store)
        assert "Traceback" not in err
        assert code == 4 or arguments == ("rollback",)
    assert listing(yard) == before
    assert (yard / "escaped").read_text() == "precious"
    assert not (yard / "escaped").is_symlink()
