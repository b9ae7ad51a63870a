"""One session of learning at a time, on a thread of its own, watched from the page."""

from __future__ import annotations

import traceback
from threading import Event, Lock, Thread
from typing import Any

from prd_edge import PrdEdgeError, Progress, Runtime, SessionReport
from prd_edge.errors import Cancelled

Pairs = list[tuple[object, str]]
_SKIPPED_SHOWN = 5


class Lessons:
    def __init__(self, rt: Runtime) -> None:
        self._rt = rt
        self._cancel = Event()
        self._thread: Thread | None = None
        self._told: dict[str, Any] = {"state": "idle"}
        self.changing = Lock()  # held by whatever changes the store

    def make_ready(self) -> None:
        """Before the pictures arrive: it may be cancelled from then on."""
        self._cancel.clear()

    def begin(self, pairs: Pairs, *, quick: bool) -> None:
        """The caller holds `changing`; the end of the lesson releases it."""
        self._told = {"state": "learning", "stage": "preparing", "done": 0, "total": None}
        self._thread = Thread(target=self._learn, args=(pairs, "imprint" if quick else None))
        self._thread.start()

    def cancel(self) -> None:
        self._cancel.set()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def told(self) -> dict[str, Any]:
        """For the page: what is going on, or what came of it the last time."""
        told = self._told
        is_ending = told["state"] == "learning" and self._cancel.is_set()
        return {**told, "state": "cancelling"} if is_ending else told

    def _learn(self, pairs: Pairs, mode: str | None) -> None:
        try:
            report = self._rt.learn_session(
                pairs, mode=mode, on_progress=self._on_progress, cancel=self._cancel
            )
            told = {"state": "learned", "report": _told(report)}
        except Cancelled:
            told = {"state": "cancelled"}
        except PrdEdgeError as error:
            told = {"state": "failed", "problem": str(error)}
        except Exception:
            traceback.print_exc()
            told = {"state": "failed", "problem": "something unexpected; see the terminal"}
        finally:
            pairs.clear()  # the pictures, before anybody is told that it has ended
        self._told = told
        self.changing.release()

    def _on_progress(self, now: Progress) -> None:
        told = {**self._told, "stage": now.stage, "done": now.done, "total": now.total}
        if now.estimate is not None:
            told["seconds"] = now.estimate.seconds
        self._told = told


def _told(report: SessionReport) -> dict[str, Any]:
    return {
        "mode": report.mode,
        "added": list(report.added),
        "updated": list(report.updated),
        "pictures": report.images_used,
        "duplicates": report.duplicates,
        "held_out": report.holdout_images,
        "right": report.holdout_accuracy,
        "seconds": report.seconds,
        "warnings": list(report.warnings),
        "skipped": [f"{own.label}: {own.reason}" for own in report.skipped[:_SKIPPED_SHOWN]],
        "skipped_count": len(report.skipped),
    }
