"""Readers never fail and never see a mixed version; no writer's update is lost."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tests.concurrency.race import race


def test_many_processes_on_one_store(tmp_path: Path) -> None:
    counts = race(tmp_path, 20, Random(0))
    assert counts["reads"] > 100
    assert counts["versions committed"] > 10
    assert counts["writers told to wait"] >= counts["of them told for whom"] > 0
    assert counts["rollbacks"] > 0
    assert counts["classes forgotten"] > 0
    assert counts["older versions read"] > 0
