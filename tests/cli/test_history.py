"""`prd-edge history` and `prd-edge diff`: what each session did, for people and for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from prd_edge import Runtime
from prd_edge.commit import writing
from prd_edge.model import load_knowledge
from prd_edge.store import Store
from prd_edge.succession import commit_next

Call = Callable[..., tuple[int, str, str]]
WIDEST = 110

TRAINED_IN_VAIN = {
    "mode": "imprint",
    "added": {f"class {number}": 20 for number in range(120)},
    "updated": {f"known {number}": 20 for number in range(12)},
    "images_used": 12345,
    "holdout_images": 3000,
    "holdout_accuracy_before": 1.0,
    "holdout_accuracy": 1.0,
    "calibration_error": 0.01,
    "drift": {
        "blue": {"distance": 0.0123, "nearest_before": "green", "nearest_after": "red"},
        "green": {"distance": 0.25, "nearest_before": "red", "nearest_after": "red"},
    },
    "training": {"kept": False},
    "seconds": 2345.6,
}


@pytest.fixture
def trained_in_vain(taught: Path) -> Path:
    """A fourth version, of a session that leaves room for nothing in its line."""
    store = Store(taught)
    with writing(store) as writer:
        live = store.live()
        commit_next(writer, live, load_knowledge(live), "learn-session", metrics=TRAINED_IN_VAIN)
    return taught


def columns(line: str) -> list[str]:
    return re.split(r"\s{2,}", line.strip())


class TestHistory:
    def test_what_each_session_did(self, prd_edge: Call, taught: Path) -> None:
        code, out, _ = prd_edge("history", "--store", taught)
        assert code == 0
        header, first, second, third = map(columns, out.splitlines())
        assert header == [
            "version", "created (UTC)", "what", "classes", "images", "hold-out", "drift", "time",
            "size",
        ]  # fmt: skip
        assert first[2:8] == ["init", "–", "–", "–", "–", "–"]
        assert (second[0], second[2:6]) == ("000002", ["imprinted", "+2 ~0", "12", "– → 100.0 %"])
        assert second[6] == "–", "nothing was known that could have moved"
        assert third[:2] == ["*", "000003"]
        assert third[3:7] == ["imprinted", "+1 ~1", "12", "50.0 → 100.0 %"]
        metrics = Store(taught).live().manifest.metrics
        assert third[7] == f"{metrics['drift']['green']['distance']:.4f}"
        assert third[8] == f"{metrics['seconds']:.1f} s"

    def test_a_session_that_was_trained_in_vain(
        self, prd_edge: Call, trained_in_vain: Path
    ) -> None:
        out = prd_edge("history", "--store", trained_in_vain)[1]
        assert columns(out.splitlines()[-1])[3:9] == [
            "trained but not kept", "+120 ~12", "12345", "100.0 → 100.0 %", "0.2500", "2346 s",
        ]  # fmt: skip

    def test_it_stays_narrow(self, prd_edge: Call, trained_in_vain: Path) -> None:
        Runtime.open(trained_in_vain).rename("red", "a name that is long " * 9 + "indeed")
        out = prd_edge("history", "--store", trained_in_vain)[1]
        assert max(map(len, out.splitlines())) <= WIDEST
        assert columns(out.splitlines()[-1])[3:5] == ["rename 'red' to 'a …", "–"]

    def test_a_version_after_a_rollback_says_where_it_comes_from(
        self, prd_edge: Call, taught: Path
    ) -> None:
        runtime = Runtime.open(taught)
        runtime.rollback("2")
        runtime.remove("blue")
        names = [
            columns(line)[:2] for line in prd_edge("history", "--store", taught)[1].split("\n")
        ]
        assert names[-2] == ["*", "000004 ← 000002"]
        assert names[-3][0] == "000003"

    def test_for_programs(self, prd_edge: Call, trained_in_vain: Path) -> None:
        versions = json.loads(prd_edge("history", "--store", trained_in_vain, "--json")[1])[
            "versions"
        ]
        assert [own["version"] for own in versions] == ["000001", "000002", "000003", "000004"]
        assert [own["learned_by"] for own in versions] == [
            None, "imprinted", "imprinted", "trained but not kept",
        ]  # fmt: skip
        assert [own["largest_drift"] for own in versions[::3]] == [None, 0.25]
        assert versions[-1]["metrics"] == TRAINED_IN_VAIN


class TestDiff:
    def test_a_session(self, prd_edge: Call, taught: Path) -> None:
        code, out, _ = prd_edge("diff", "2", "3", "--store", taught)
        assert code == 0
        lines = out.splitlines()
        assert columns(lines[0]) == ["000002", "000003"]
        assert columns(lines[1]) == ["classes", "2", "3"]
        assert columns(lines[2]) == ["images", "12", "24"]
        assert columns(lines[3]) == ["hold-out", "100.0 %", "100.0 %"]
        assert re.fullmatch(r"size +\d+\.\d MB  \d+\.\d MB", lines[4])
        assert re.fullmatch(
            r"000003 was made from 000002: imprinted, 12 images in \d+(\.\d)? s, "
            r"hold-out 50\.0 → 100\.0 %",
            lines[5],
        )
        assert "+ red (6 images)" in lines
        assert re.search(r"^~ green \(\+6 images, drift 0\.\d{4}[,)]", out, re.MULTILINE)
        assert "files that differ: covariance.safetensors, prototypes.safetensors" in lines

    def test_backwards_is_no_session(self, prd_edge: Call, taught: Path) -> None:
        out = prd_edge("diff", "3", "2", "--store", taught)[1]
        assert "- red (6 images)" in out
        assert "was made from" not in out
        found = json.loads(prd_edge("diff", "3", "2", "--store", taught, "--json")[1])
        assert found["removed"] == {"red": 6}
        assert found["session"] is None

    def test_for_programs(self, prd_edge: Call, taught: Path) -> None:
        found = json.loads(prd_edge("diff", "2", "3", "--store", taught, "--json")[1])
        metrics = Store(taught).live().manifest.metrics
        assert found["before"] | {"bytes": 0} == {
            "classes": 2, "images": 12, "holdout_accuracy": 1.0, "bytes": 0,
        }  # fmt: skip
        assert found["after"]["bytes"] == Store(taught).live().manifest.size()
        assert found["session"]["seconds"] == metrics["seconds"]
        assert found["session"]["learned_by"] == "imprinted"
        assert set(found["updated"]) == {"green"}
        assert set(found["updated"]["green"]) == {"images", "drift"}
        assert found["updated"]["green"]["drift"] == pytest.approx(
            metrics["drift"]["green"]["distance"], abs=1e-12
        )

    def test_another_nearest_class(self, prd_edge: Call, taught: Path) -> None:
        Runtime.open(taught).remove("blue")
        out = prd_edge("diff", "3", "4", "--store", taught)[1]
        assert "\n= green (nearest blue → red)\n" in out, "it stayed where it was"
        out = prd_edge("diff", "2", "4", "--store", taught)[1]
        assert re.search(r"\n~ green \(\+6 images, drift 0\.\d{4}, nearest blue → red\)\n", out)
        assert "= green" not in out
        found = json.loads(prd_edge("diff", "2", "4", "--store", taught, "--json")[1])
        assert found["neighbours"] == {"green": {"before": "blue", "after": "red"}}

    def test_a_version_that_no_session_made(self, prd_edge: Call, taught: Path) -> None:
        Runtime.open(taught).rename("red", "rouge")
        out = prd_edge("diff", "3", "4", "--store", taught)[1]
        assert "000004 was made from 000003: rename 'red' to 'rouge'\n" in out
        assert re.search(r"^hold-out +100\.0 % +–$", out, re.MULTILINE)
        assert "- red (6 images)\n" in out

    def test_of_a_version_with_itself(self, prd_edge: Call, taught: Path) -> None:
        assert prd_edge("diff", "3", "3", "--store", taught)[1] == "no difference\n"
        assert prd_edge("diff", "1", "1", "--store", taught)[1] == "no difference\n"
