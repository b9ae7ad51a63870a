"""Learn two sessions, see that the first is not forgotten, and undo the second.

    python demos/two_sessions.py                 # pictures are drawn for it
    python demos/two_sessions.py my_pictures     # or yours: my_pictures/session-1/mug/*.jpg, …

A folder of yours holds `session-1`, `session-2` and `test`, each with one sub-folder a class. With
torch the sessions train, in a minute or two; without it they are imprinted, in seconds. The store
is a temporary one, unless `--store` names a place for it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory

from prd_edge import PrdEdgeError, Runtime
from prd_edge.demo_data import write_demo_data


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    with TemporaryDirectory() as scratch:
        try:
            data = options.folder
            if data is None:
                data = Path(scratch) / "pictures"
                write_demo_data(data, train_per_class=options.images)
            two_sessions(data, options.store or Path(scratch) / "store")
        except PrdEdgeError as error:
            print(f"two_sessions: {error}", file=sys.stderr)
            return error.exit_code
    return 0


def two_sessions(data: Path, store: Path) -> None:
    rt = Runtime.open(store)

    print("The first session.")
    learn(rt, data / "session-1")
    first = rt.classes()
    right_before = share_right(rt, data / "test", first)
    print(f"  {right_before:.1%} of the test pictures of these classes are answered right.")

    print("The second session. The pictures of the first are not needed again.")
    learn(rt, data / "session-2")
    new = sorted(set(rt.classes()) - set(first))
    right_after = share_right(rt, data / "test", first)
    print(f"  Of the first classes {right_after:.1%} are right now; it was {right_before:.1%}.")
    print(f"  Of all {len(rt.classes())} it is {share_right(rt, data / 'test', rt.classes()):.1%}.")
    if not new:
        print("  It brought no new class, so there is nothing to see in undoing it.")
        return

    shown = ((path, label) for label in new for path in sorted((data / "test" / label).rglob("*")))
    right = ((path, label) for path, label in shown if path.is_file() and names(rt, path, label))
    example, label = next(right, (None, ""))
    if example is None:
        print("  It has none of its new classes right, so there is nothing to see in undoing it.")
        return
    print(f"The first picture that it gets right of {label}, a class of the second session:")
    print(f"  {answer(rt, example)}")

    manifest = rt.rollback()
    print(f"Undone: version {manifest.version} is live again. The same picture now:")
    print(f"  {answer(rt, example)}")


def learn(rt: Runtime, session: Path) -> None:
    report = rt.learn_session(session)
    how = "trained" if report.mode == "prd" else "imprinted"
    print(f"  {report.images_used} pictures {how} in {report.seconds:.0f} s.")
    for what, classes in (("new", report.added), ("known already", report.updated)):
        if classes:
            print(f"  {what}: {', '.join(classes)}")


def share_right(rt: Runtime, test: Path, labels: Collection[str]) -> float:
    pairs = [
        (path, label)
        for label in sorted(labels)
        for path in sorted((test / label).rglob("*"))
        if path.is_file()
    ]
    return rt.evaluate(pairs).accuracy or 0.0


def names(rt: Runtime, picture: Path, label: str) -> bool:
    return rt.predict(picture).label == label


def answer(rt: Runtime, picture: Path) -> str:
    said = rt.predict(picture)
    others = ", ".join(f"{label} {confidence:.1%}" for label, confidence in said.top_k)
    return f"{picture.name}: {said.label or 'unknown'}  ({others})"


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, help="your own pictures")
    parser.add_argument("--store", type=Path, help="where to keep what was learned")
    parser.add_argument(
        "--images", type=int, default=20, help="pictures to draw a class (default: 20)"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
