"""A full disk and a read-only one: a session is refused in one line, everything else goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Outcome
from tests.crash.disks import Desk, full, full_at_a_change, full_at_the_first_version, read_only


@pytest.mark.parametrize("free_pages", [0, 1, 2, 3, 4])
def test_full(free_pages: int, tmp_path: Path) -> None:
    assert not full(tmp_path, free_pages, export=free_pages == 0)


def test_just_enough(tmp_path: Path) -> None:
    assert full(tmp_path, 12, export=False)


@pytest.mark.parametrize(("free_pages", "is_enough"), [(0, False), (3, False), (20, True)])
def test_full_at_the_first_version(free_pages: int, is_enough: bool, tmp_path: Path) -> None:
    assert full_at_the_first_version(tmp_path, free_pages) == is_enough


@pytest.mark.parametrize("change", [Desk.rename, Desk.forget])
@pytest.mark.parametrize("free_pages", [0, 2, 4, 6, 8, 10, 12, 16])
def test_full_at_a_change(
    free_pages: int, change: Callable[[Desk, Path], Outcome], tmp_path: Path
) -> None:
    is_enough = full_at_a_change(tmp_path, free_pages, change)
    assert not is_enough or free_pages > 2


@pytest.mark.parametrize("change", [Desk.rename, Desk.forget])
def test_enough_for_a_change(change: Callable[[Desk, Path], Outcome], tmp_path: Path) -> None:
    assert full_at_a_change(tmp_path, 40, change)


def test_read_only(tmp_path: Path) -> None:
    assert read_only(tmp_path, export=True) == 6
