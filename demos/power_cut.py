"""Cut the power of a learning device again and again, and see that nothing is lost.

    python demos/power_cut.py

A process learns a session and is killed (SIGKILL, as sudden as a power cut) while it reads the
pictures, while it trains, while it writes, and an instant before the new version is live. After
each the store is looked at: the same version must be live, give the same answers, and verify. Then
the session is started once more, goes on from its checkpoint, and ends.

With torch this takes some minutes; without it there is no training to interrupt, and seconds do.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from prd_edge import PrdEdgeError, Runtime, SessionReport, StoreConfig, files
from prd_edge.demo_data import DemoData, write_demo_data
from prd_edge.progress import OnProgress
from prd_edge.training import torch_is_installed

# What happens, the how-manieth time, and in words. The names are those of `Progress.stage` and of
# the operations in prd_edge/files.py, each of which a test interrupts.
CUTS = (
    ("reading images", 5, "while it reads the pictures"),
    ("training", 4, "while it trains"),
    ("write .tmp-checkpoint", 1, "while it writes a checkpoint"),
    ("training", 4, "while it trains, and has come further"),
    ("create prototypes.safetensors", 1, "while it writes the new version"),
    ("rename CURRENT", 1, "an instant before the new version is live"),
)


def is_nothing_lost(data: DemoData, rt: Runtime, mode: str) -> bool:
    rt.learn_session(data.session_1, mode="imprint")
    print(f"It has learned {', '.join(rt.classes())}. Version {rt.version} is live.")
    to_learn = sorted(path.name for path in data.session_2.iterdir())
    print(f"Now it is to learn {', '.join(to_learn)}. The power goes …\n")
    before = state(rt, data.test)
    is_whole = True
    for what, time, words in CUTS:
        if mode == "imprint" and what in ("training", "write .tmp-checkpoint"):
            continue
        victim = [str(rt.store.path), str(data.session_2), what, str(time)]
        command = [sys.executable, __file__, "--mode", mode, "--victim", *victim]
        is_dead = subprocess.call(command) == -signal.SIGKILL  # noqa: S603  (ourselves)
        after = state(Runtime.open(rt.store.path), data.test)
        is_whole = is_whole and is_dead and after == before
        print(f"… {words}{'' if is_dead else ', BUT IT LIVED ON'}.")
        told(before, after)
        if rt.store.checkpoint.exists():
            print("    A checkpoint is there: weights, and nothing of a picture.")

    print("\nThe power is back for good. The same session, started once more:")
    report = learn(rt, data.session_2, mode)
    if report.training:
        done, planned = report.training.resumed_after, report.training.epochs
        print(f"    It went on from the checkpoint, with {done} of {planned} rounds done.")
        is_whole = is_whole and done > 0
    print(f"    Version {report.version} is live and knows {len(rt.classes())} kinds of things.")
    print("\nNothing was lost." if is_whole else "\nSOMETHING WAS LOST. Please report it.")
    return is_whole


State = tuple[str, list[object], list[str]]


def state(rt: Runtime, test: Path) -> State:
    """The live version, its answers, and what `prd-edge verify` has to complain of."""
    answers = rt.predict_many(sorted(test.rglob("*.jpg")))
    said: list[object] = [answer._replace(ms=0.0) for answer in answers]
    return rt.version, said, [line for found in rt.store.problems().values() for line in found]


def told(before: State, after: State) -> None:
    same = sum(a == b for a, b in zip(after[1], before[1], strict=True))
    print(f"    Version {after[0]} is live; {same} of {len(after[1])} answers are the same.")
    print(f"    {'; '.join(after[2]) or 'Every byte is as it was written.'}")


def learn(
    rt: Runtime, session: Path, mode: str, on_progress: OnProgress | None = None
) -> SessionReport:
    if mode == "imprint":
        return rt.learn_session(session, mode=mode, on_progress=on_progress)
    from prd_edge.learn import checkpointing

    checkpointing.SECONDS_BETWEEN = 0.0  # after every round; by itself it would be every 15 s
    return rt.learn_session(session, mode=mode, epochs=4, on_progress=on_progress)


def be_killed(mode: str, store: str, session: str, what: str, time: str) -> None:
    passed: Counter[str] = Counter()

    def die_at(happening: str) -> None:
        passed[happening] += 1
        if happening == what and passed[what] == int(time):
            os.kill(os.getpid(), signal.SIGKILL)

    files.before_operation = lambda operation, path: die_at(f"{operation} {path.name}")
    learn(Runtime.open(store), Path(session), mode, lambda now: die_at(now.stage))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mode", choices=("prd", "imprint"), help="(prd, where there is torch)")
    parser.add_argument("--images", type=int, default=8, help="pictures to draw a class (8)")
    parser.add_argument("--victim", nargs=4, help=argparse.SUPPRESS)  # the process that is killed
    options = parser.parse_args(arguments)
    mode = options.mode or ("prd" if torch_is_installed() else "imprint")
    try:
        if options.victim:
            be_killed(mode, *options.victim)
            return 0
        with TemporaryDirectory() as scratch:
            pictures = Path(scratch) / "pictures"
            data = write_demo_data(pictures, train_per_class=options.images, test_per_class=2)
            rt = Runtime.open(Path(scratch) / "store", config=StoreConfig(image_size=64))
            return 0 if is_nothing_lost(data, rt, mode) else 1
    except PrdEdgeError as error:
        print(f"power_cut: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
