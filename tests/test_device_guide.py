"""What docs/device.md promises of copies, units and a read-only root."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from threading import Event, Thread

import pytest

from prd_edge import Runtime
from prd_edge.errors import StoreCorruptError, StoreLockedError
from prd_edge.store import Store

from .documented import blocks, commands, write_pictures

GUIDE = "docs/device.md"


@pytest.fixture
def place(taught: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the guide's commands are typed: the store is at ./prd_store."""
    taught.rename(tmp_path / "prd_store")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def shown(*words: str) -> list[str]:
    """The guide's shell commands that name all of `words`."""
    return [line for line in commands(GUIDE) if all(word in line for word in words)]


def without_lock() -> list[str]:
    return [line for line in shown("backup-2") if not line.startswith("prd-edge")]


def type_in(line: str) -> None:
    subprocess.run(["bash", "-c", line], check=True)


def changes(store: Path) -> Iterator[str]:
    """Commits one version after another."""
    for old, new in cycle((("red", "rouge"), ("rouge", "red"))):
        yield Runtime.open(store).rename(old, new)


def assert_is_whole(copy: Path) -> None:
    store = Store(copy)
    assert not any(store.problems().values())
    assert store.live().name in store.version_names()
    assert Runtime.open(copy).classes()


def test_a_backup_may_be_taken_between_any_two_commits(place: Path) -> None:
    change = changes(place / "prd_store")
    made = []
    for line in without_lock():
        type_in(line)
        made.append(next(change))
    assert_is_whole(place / "backup-2")
    assert Store("backup-2").live().name == made[0]  # live when CURRENT was copied
    assert (place / "backup-2/versions" / made[1]).exists()  # newer, and not seen
    Runtime.open("backup-2").rename("green", "vert")  # and learning goes on from there
    assert_is_whole(place / "backup-2")


def test_the_other_order_is_not_safe(place: Path) -> None:
    """Why the guide says CURRENT first."""
    make, current, versions = without_lock()
    change = changes(place / "prd_store")
    for line in (make, versions, current):
        type_in(line)
        next(change)
    with pytest.raises(StoreCorruptError, match="is missing"):
        Store("backup-2").live()


def test_backups_while_somebody_writes_without_end(place: Path) -> None:
    stop = Event()

    def write() -> None:
        for _ in changes(place / "prd_store"):
            if stop.is_set():
                return

    writer = Thread(target=write)
    writer.start()
    try:
        succeeded = 0
        for _ in range(20):
            shutil.rmtree("backup-2", ignore_errors=True)
            done = [subprocess.run(["bash", "-c", line], check=False) for line in without_lock()]
            if not any(step.returncode for step in done):  # else a version was removed meanwhile
                assert_is_whole(place / "backup-2")
                succeeded += 1
            if succeeded == 3:
                break
        assert succeeded
    finally:
        stop.set()
        writer.join()


def test_a_backup_under_the_lock_keeps_writers_out(place: Path) -> None:
    (line,) = shown("flock")
    held = line.replace(
        "cp -a prd_store backup", "sh -c 'echo held; read _; cp -a prd_store backup'"
    )
    with subprocess.Popen(
        shlex.split(held), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as copying:
        assert copying.stdout is not None
        assert copying.stdout.readline() == "held\n"
        with pytest.raises(StoreLockedError):
            Runtime.open("prd_store").rename("red", "rouge")
        copying.communicate("\n", timeout=60)
    assert copying.returncode == 0
    assert_is_whole(place / "backup")
    assert Runtime.open("prd_store").rename("red", "rouge") == "000004"


def test_a_reader_sees_the_old_store_or_the_new_one_while_it_is_updated(place: Path) -> None:
    shutil.copytree("prd_store", "device/prd_store")
    next(changes(place / "prd_store"))
    (backup,) = shown("flock")
    type_in(backup)
    runtime = Runtime.open("device/prd_store")
    seen = []
    for line in shown("device/prd_store"):
        if line.startswith("prd-edge"):
            continue
        type_in(line)
        runtime.refresh()
        seen.append(runtime.version)
    assert seen == ["000003", "000003", "000004"]
    assert_is_whole(place / "device/prd_store")
    assert "rouge" in runtime.classes()


def units() -> dict[str, str]:
    """File name to contents."""
    found = {}
    for block in blocks(GUIDE, "ini"):
        (name,) = re.findall(r"^# /etc/systemd/system/(\S+)$", block, re.MULTILINE)
        found[name] = block
    return found


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("there is no systemd-analyze")
    program = Path(sys.executable).with_name("prd-edge")
    for name, text in units().items():
        installed = text.replace("/opt/prd-edge/bin/prd-edge", str(program))
        (tmp_path / name).write_text(installed.replace("User=prd-edge", "User=root"))
    done = subprocess.run(
        [analyze, "verify", *(tmp_path / name for name in units())],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in done.stderr  # where a warning would name one of ours
    assert "prd-edge-" not in done.stderr


@pytest.mark.parametrize("name", ["prd-edge-predict.service", "prd-edge-learn.service"])
def test_what_the_units_start_works(
    name: str,
    place: Path,
    prd_edge: Callable[..., tuple[int, str, str]],
) -> None:
    write_pictures(place)
    lines = re.findall(r"^ExecStart=\S*/prd-edge (.*)$", units()[name], re.MULTILINE)
    (after,) = re.findall(r"^ExecStartPost=(.*)$", units()[name], re.MULTILINE)
    for line in lines:
        assert prd_edge(*shlex.split(line))[0] == 0
    type_in(after)
    (waited_for,) = re.findall(r"ConditionPathIsDirectory=/var/lib/prd-edge/(\S+)", units()[name])
    assert not (place / waited_for).exists()
