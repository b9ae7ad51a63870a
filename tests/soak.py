"""Campaigns of random faults, for as long as one likes: `scripts/soak --help`.

A campaign is a function `(random, folder) -> Counter[str]`: one small round of random choices that
asserts what must hold and counts what it did. The folder is its own and is removed after it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from random import Random, SystemRandom

import pytest

# name -> "module:function"
CAMPAIGNS = {
    "kill": "tests.crash.rounds:kill_campaign",
    "io-errors": "tests.crash.rounds:io_error_campaign",
    "power-loss": "tests.crash.cuts:campaign",
    "disks": "tests.crash.disks:campaign",
    "kill-learn-session": "tests.crash.whole_process:imprint_campaign",
    "kill-training": "tests.crash.whole_process:training_campaign",
    "race": "tests.concurrency.race:campaign",
    "damage": "tests.fuzz.test_damage:campaign",
    "manifests": "tests.fuzz.test_manifests:campaign",
    "tensors": "tests.fuzz.test_tensors:campaign",
    "images": "tests.fuzz.test_images:campaign",
    "class-names": "tests.fuzz.test_names:campaign",
    "command-lines": "tests.fuzz.test_command_lines:campaign",
    "exports": "tests.fuzz.test_exports:campaign",
    "side-files": "tests.fuzz.test_side_files:campaign",
    "bad-updates": "tests.fuzz.test_bad_updates:campaign",
}
REPORT = Path("work/soak.json")
SECONDS_BETWEEN_LINES = 60
LONGEST_COMPLAINT = 2000  # characters
Function = Callable[[Random, Path], Counter[str]]


@dataclass
class Campaign:
    name: str
    run: Function
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[int] = field(default_factory=list)  # the seeds of the rounds that failed

    def round(self, seed: int) -> None:
        started = time.monotonic()
        memory = Path("/dev/shm")
        folder = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        self.counts["rounds"] += 1
        try:
            self.counts += self.run(Random(seed), folder)
        except pytest.skip.Exception as skip:
            self.counts["skipped"] += 1
            print(f"{self.name}: skipped: {skip}", flush=True)
        except KeyboardInterrupt:
            raise
        except BaseException:  # a hang is told by one that is no `Exception`
            self.failures.append(seed)
            again = f"scripts/soak --only {self.name} --round {seed}"
            print(f"{self.name} FAILED, round {seed}; again: {again}", flush=True)
            print(traceback.format_exc()[-LONGEST_COMPLAINT:], flush=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            self.seconds += time.monotonic() - started


def load(names: list[str] | None) -> list[Campaign]:
    campaigns = []
    for name in names or CAMPAIGNS:
        module, function = CAMPAIGNS[name].split(":")
        campaigns.append(Campaign(name, getattr(import_module(module), function)))
    return campaigns


def soak(campaigns: list[Campaign], seconds: float, seed: int) -> None:
    """Whoever has had the least time is next."""
    seeds = Random(seed)
    end = time.monotonic() + seconds
    line_due = time.monotonic() + SECONDS_BETWEEN_LINES
    while (now := time.monotonic()) < end:
        if now > line_due:
            print(status(campaigns, end - now), flush=True)
            line_due = now + SECONDS_BETWEEN_LINES
        min(campaigns, key=lambda campaign: campaign.seconds).round(seeds.getrandbits(32))


def status(campaigns: list[Campaign], left: float) -> str:
    done = ", ".join(f"{own.name} {own.counts['rounds']}" for own in campaigns)
    failures = sum(len(own.failures) for own in campaigns)
    return f"{left / 60:.0f} min left; rounds: {done}; {failures} failed"


def table(campaigns: list[Campaign]) -> str:
    """Markdown: a line a campaign, and one for all."""
    lines = ["| campaign | minutes | rounds | counts | failed |", "|---|---|---|---|---|"]
    total = Campaign("total", lambda *_: Counter())
    for own in campaigns:
        total.seconds += own.seconds
        total.counts += own.counts
        total.failures += own.failures
    for own in [*campaigns, total]:
        counts = ", ".join(f"{n:,} {what}" for what, n in own.counts.items() if what != "rounds")
        lines.append(
            f"| {own.name} | {own.seconds / 60:.1f} | {own.counts['rounds']:,} | {counts} "
            f"| {len(own.failures)} |"
        )
    return "\n".join(lines)


def write_report(campaigns: list[Campaign], seed: int) -> None:
    REPORT.parent.mkdir(exist_ok=True)
    found = {
        own.name: {
            "seconds": round(own.seconds, 1),
            "counts": dict(own.counts),
            "failed rounds": own.failures,
        }
        for own in campaigns
    }
    REPORT.write_text(json.dumps({"seed": seed, "campaigns": found}, indent=1) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--only", nargs="+", choices=CAMPAIGNS, metavar="NAME")
    parser.add_argument("--seed", type=int, default=SystemRandom().getrandbits(32))
    parser.add_argument("--round", type=int, metavar="SEED", help="repeat this one round")
    options = parser.parse_args()
    campaigns = load(options.only)
    if options.round is not None:
        for campaign in campaigns:
            campaign.round(options.round)
    else:
        print(f"{options.minutes:g} minutes, seed {options.seed}", flush=True)
        try:
            soak(campaigns, 60 * options.minutes, options.seed)
        except KeyboardInterrupt:
            print("stopped", flush=True)
        write_report(campaigns, options.seed)
    print(table(campaigns))
    return 1 if any(own.failures for own in campaigns) else 0


if __name__ == "__main__":
    sys.exit(main())
