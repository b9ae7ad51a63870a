"""Ask a camera, frame by frame, what is in front of it, and teach it new things on the way.

    python demos/camera_loop.py                          # the first camera
    python demos/camera_loop.py --source film.mp4        # a film, where there is no camera
    python demos/camera_loop.py --teach mug              # learn the first 20 frames as a mug

While it runs, type a name and press Enter: what is in front of the camera now is learned under that
name, from the next frames. Move it a little meanwhile. Frames are held in memory only, and dropped
once they are learned. Ctrl-C, or an empty line, ends it.

It needs OpenCV: pip install 'prd-edge[camera]'
"""

from __future__ import annotations

import argparse
import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prd_edge import PrdEdgeError, Runtime
from prd_edge.errors import InvalidInputError, MissingDependencyError


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    try:
        loop(Runtime.open(options.store), frames(options.source), options.teach, options.frames)
    except PrdEdgeError as error:
        print(f"camera_loop: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print()
    return 0


def frames(source: str) -> Iterator[Any]:
    """The frames (H, W, 3), RGB, of a camera or of a film."""
    os.environ.setdefault("OPENCV_LOG_LEVEL", "OFF")  # what fails is said below
    try:
        import cv2
    except ImportError:
        raise MissingDependencyError(
            "the camera is read by OpenCV; run: pip install 'prd-edge[camera]'"
        ) from None
    capture = cv2.VideoCapture(int(source) if source.isdigit() else source)
    if not capture.isOpened():
        what = f"camera {source}" if source.isdigit() else f"film {source}"
        raise InvalidInputError(f"{what} cannot be opened; name another with --source")
    capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)  # what is there now, not what was there a second ago
    try:
        while (read := capture.read())[0]:
            yield cv2.cvtColor(read[1], cv2.COLOR_BGR2RGB)
    finally:
        capture.release()


def loop(rt: Runtime, source: Iterator[Any], name: str | None, count: int) -> None:
    knows = rt.store.exists() and bool(rt.classes())
    if not knows and name is None:
        say("nothing is known yet: type a name and press Enter to teach what the camera sees")
    to_learn: list[Any] = []
    started, seen = time.perf_counter(), 0
    for frame in source:
        if name is not None:
            to_learn.append(frame)
            show(f"{name}: frame {len(to_learn)} of {count}")
            if len(to_learn) == count:
                knows = teach(rt, name, to_learn) or knows
                name, to_learn = None, []
                started, seen = time.perf_counter(), 0
        elif knows:
            answer = rt.predict(frame)
            seen += 1
            speed = seen / (time.perf_counter() - started)
            said = "unknown" if answer.label is None else f"{answer.label} {answer.confidence:.1%}"
            show(f"{said:28} {speed:5.1f} frames a second")
        typed = typed_line()
        if typed == "":
            return
        if typed:
            name, to_learn = typed, []
    if name is not None:
        say(f"the pictures ended after {len(to_learn)} of {count} frames; {name} was not learned")


def teach(rt: Runtime, name: str, pictures: list[Any]) -> bool:
    show(f"learning {name} …")
    try:
        report = rt.learn_session([(picture, name) for picture in pictures])
    except PrdEdgeError as error:  # a name that cannot be used, a store that is locked
        say(f"{name} was not learned: {error}")
        return False
    known = ", ".join(rt.classes())
    say(
        f"learned {name} from {report.images_used} frames in {report.seconds:.1f} s; known: {known}"
    )
    for warning in report.warnings:
        say(f"note: {warning}")
    return True


def typed_line() -> str | None:
    """What was typed since the last frame; "" to end, None for nothing."""
    if not sys.stdin.isatty() or not select.select([sys.stdin], [], [], 0)[0]:
        return None
    return sys.stdin.readline().strip()


def show(line: str) -> None:
    """In place on a terminal, line by line elsewhere."""
    print(f"\r\033[K{line}" if sys.stdout.isatty() else f"{line}\n", end="", flush=True)


def say(line: str) -> None:
    show(line)
    print(end="\n" if sys.stdout.isatty() else "", flush=True)


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--source", default="0", help="number of a camera, or a film (0)")
    parser.add_argument("--store", type=Path, default=Path("prd_store"), help="(prd_store)")
    parser.add_argument("--teach", metavar="NAME", help="learn what is seen first as this")
    parser.add_argument("--frames", type=int, default=20, help="that are learned at a time (20)")
    options = parser.parse_args(arguments)
    if options.frames < 1:
        parser.error(f"--frames {options.frames}: at least 1 must be learned")
    return options


if __name__ == "__main__":
    sys.exit(main())
