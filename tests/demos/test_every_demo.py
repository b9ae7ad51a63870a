"""What holds for all demos."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.demos.conftest import DEMOS, Run

PROGRAMS = sorted(path.name for path in DEMOS.glob("*.py"))


@pytest.mark.parametrize("name", [*PROGRAMS, "web_app"])
def test_help_says_how_to_run_it(name: str, run: Run) -> None:
    done = run(name, "--help")
    assert done.returncode == 0, done.stderr
    assert f"python demos/{name}" in done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_short_enough_to_copy(name: str) -> None:
    assert (DEMOS / name).read_text().count("\n") < 150


def test_the_readme_names_each() -> None:
    readme = (DEMOS / "README.md").read_text()
    for name in [*PROGRAMS, "web_app"]:
        assert f"python demos/{name}" in readme


def test_a_wrong_store_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    done = run("two_sessions.py", "--images", "1", "--store", "store")
    assert done.returncode == 4
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr
