"""The soak counts, goes on after a failure, says how to repeat it, and ends with 1 then."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests import soak

Run = Callable[..., int]


def good_campaign(random: Random, folder: Path) -> Counter[str]:
    (folder / "file").touch()
    return Counter({"reads": 2})


def bad_campaign(random: Random, folder: Path) -> Counter[str]:
    assert random.random() < 0.5, "the store is neither old nor new"
    return Counter({"kills": 1})


def skipped_campaign(random: Random, folder: Path) -> Counter[str]:
    pytest.skip("mounting is not permitted")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    names = ("good", "bad", "skipped")
    monkeypatch.setattr(soak, "CAMPAIGNS", {n: f"tests.test_soak:{n}_campaign" for n in names})
    monkeypatch.setattr(soak, "REPORT", tmp_path / "work/soak.json")

    def call(*arguments: str) -> int:
        monkeypatch.setattr(sys, "argv", ["soak", *arguments])
        return soak.main()

    return call


def test_rounds_are_counted_and_failures_told(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run("--minutes", "0.01", "--seed", "1") == 1
    out = capsys.readouterr().out
    found = json.loads((tmp_path / "work/soak.json").read_text())["campaigns"]
    good, bad = found["good"]["counts"], found["bad"]
    assert good["reads"] == 2 * good["rounds"] > 2
    assert bad["counts"]["rounds"] == bad["counts"]["kills"] + len(bad["failed rounds"])
    assert found["skipped"]["counts"]["skipped"] == found["skipped"]["counts"]["rounds"]
    seed = bad["failed rounds"][0]
    assert f"scripts/soak --only bad --round {seed}" in out
    assert "neither old nor new" in out
    assert "| good | 0.0 |" in out
    assert run("--only", "bad", "--round", str(seed)) == 1


def test_no_failure_is_0(run: Run) -> None:
    assert run("--only", "good", "--minutes", "0.001") == 0


# A killed training is slow; tests/crash/test_training_killed.py has it in fixed places.
@pytest.mark.parametrize("name", sorted({*soak.CAMPAIGNS} - {"kill-training"}))
def test_a_round_of_each_campaign(name: str) -> None:
    (campaign,) = soak.load([name])
    campaign.round(seed=1)
    assert campaign.failures == []
    assert {*campaign.counts} - {"rounds", "skipped"}
