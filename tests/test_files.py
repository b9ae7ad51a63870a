from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prd_edge import files
from prd_edge.errors import StoreError, StoreLockedError


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    files.write_file(tmp_path / "a", b"one")
    with pytest.raises(FileExistsError):
        files.write_file(tmp_path / "a", b"two")
    assert (tmp_path / "a").read_bytes() == b"one"


def test_bytes_are_synced_before_a_name_points_at_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[tuple[str, str]] = []
    monkeypatch.setattr(
        files, "before_operation", lambda operation, path: log.append((operation, path.name))
    )
    files.replace_file(tmp_path / "CURRENT", b"x")
    assert log == [
        ("create", ".tmp-CURRENT"),
        ("write", ".tmp-CURRENT"),
        ("fsync", ".tmp-CURRENT"),
        ("rename", "CURRENT"),
        ("fsync", tmp_path.name),
    ]


@pytest.mark.parametrize("code", [errno.EPERM, errno.EACCES, errno.EINVAL], ids=os.strerror)
def test_where_links_are_not_supported_bytes_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def unsupported(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    (tmp_path / "a").write_bytes(b"bytes")
    monkeypatch.setattr(os, "link", unsupported)
    files.link_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"bytes"
    assert not (tmp_path / "a").samefile(tmp_path / "b")


def test_remove_tree_does_not_follow_links(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/file").touch()
    (tmp_path / "doomed/inner").mkdir(parents=True)
    (tmp_path / "doomed/link").symlink_to(tmp_path / "precious")
    files.remove_tree(tmp_path / "doomed")
    assert (tmp_path / "precious/file").exists()
    assert not (tmp_path / "doomed").exists()


def test_errors_of_the_system_are_explained(tmp_path: Path) -> None:
    with (
        pytest.raises(StoreError, match=r"cannot write to .*: the disk is full"),
        files.explained(tmp_path, "write to"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_second_writer_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    program = (
        "import sys, time; from pathlib import Path; from prd_edge.files import writer_lock\n"
        "with writer_lock(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    lock = tmp_path / "LOCK"
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(lock)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with (
            pytest.raises(StoreLockedError, match=rf"process {holder.pid} on .*wait"),
            files.writer_lock(lock),
        ):
            pass
    finally:
        holder.kill()
        holder.communicate()
    for _ in range(100):  # the operating system drops the dead one's lock
        try:
            with files.writer_lock(lock):
                return
        except StoreLockedError:
            time.sleep(0.05)
    pytest.fail("the lock of a dead process was never dropped")


def test_a_forked_child_does_not_keep_the_lock(tmp_path: Path) -> None:
    with files.writer_lock(tmp_path / "LOCK"):
        child = os.fork()
        if child == 0:
            time.sleep(30)
            os._exit(0)
    try:
        with files.writer_lock(tmp_path / "LOCK"):
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("arguments", [["l\udce9rn.py"], [], ["x\nevil\x1b[2J"]], ids=ascii)
def test_whatever_the_program_is_called_it_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setattr(sys, "argv", arguments)
    with files.writer_lock(tmp_path / "LOCK"):
        told = (tmp_path / "LOCK.holder").read_text()
        assert f", process {os.getpid()} on " in told
        assert told.isprintable()


def test_a_lock_that_is_never_what_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os.path, "samestat", lambda *_: False)
    with pytest.raises(StoreError, match="cannot lock"), files.writer_lock(tmp_path / "LOCK"):
        pass
