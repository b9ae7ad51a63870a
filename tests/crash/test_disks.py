"""A full disk and a read-only one: a session is refused in one line, everything else goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.disks import full, full_at_the_first_version, read_only


@pytest.mark.parametrize("free_pages", [0, 1, 2, 3, 4])
def test_full(free_pages: int, tmp_path: Path) -> None:
    assert not full(tmp_path, free_pages, export=free_pages == 0)


def test_just_enough(tmp_path: Path) -> None:
    assert full(tmp_path, 12, export=False)


@pytest.mark.parametrize(("free_pages", "is_enough"), [(0, False), (3, False), (20, True)])
def test_full_at_the_first_version(free_pages: int, is_enough: bool, tmp_path: Path) -> None:
    assert full_at_the_first_version(tmp_path, free_pages) == is_enough


def test_read_only(tmp_path: Path) -> None:
    assert read_only(tmp_path, export=True) == 6
