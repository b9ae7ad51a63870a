"""What the page can ask for: a few routes over a `Runtime`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

from guarded_http import Answer, GuardedHandler, LoopbackServer, Refused, as_json
from lessons import Lessons
from upload import parse_lesson

from prd_edge import Runtime
from prd_edge.errors import InvalidInputError
from prd_edge.manifest import Manifest
from prd_edge.training import torch_is_installed

MOST_OF_A_LESSON = 2**28
MOST_OF_A_PICTURE = 2**25
MOST_OF_A_WORD = 2**20
SHOWN = 5  # classes, in an answer

TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
# All that is served, by address: no path comes from the client.
PAGE = {f"/{path.name}": path for path in (Path(__file__).parent / "page").iterdir()}


class AppServer(LoopbackServer):
    def __init__(self, rt: Runtime, port: int) -> None:
        super().__init__(Handler, port)
        self.rt = rt
        self.lessons = Lessons(rt)
        self.predicting = Lock()  # a decoded picture may be large: one at a time

    def close(self) -> None:
        self.lessons.cancel()
        self.lessons.wait()
        self.server_close()


class Handler(GuardedHandler):
    server: AppServer

    def routes(self, method: str) -> Mapping[str, Callable[[], Answer]]:
        if method == "POST":
            return {
                "/api/learn": self.learn,
                "/api/cancel": self.cancel,
                "/api/predict": self.predict,
                "/api/rename": self.rename,
                "/api/remove": self.remove,
                "/api/undo": self.undo,
                "/api/export": self.export,
            }
        pages = {address: partial(self.file, path) for address, path in PAGE.items()}
        return {**pages, "/": pages["/index.html"], "/api/state": self.state}

    def file(self, path: Path) -> Answer:
        return Answer(path.read_bytes(), f"{TYPES[path.suffix]}; charset=utf-8")

    def state(self) -> Answer:
        store = self.server.rt.store
        live = store.live().manifest if store.exists() else None
        classes = live.classes if live else {}
        can_undo = live is not None and live.parent in store.version_names()
        return as_json(
            {
                "store": str(store.path),
                "version": live.version if live else None,
                "classes": [{"name": name, "pictures": n} for name, n in classes.items()],
                "trains": torch_is_installed(),
                "undo": _told(live) if live and can_undo else None,
                "lesson": self.server.lessons.told(),
            }
        )

    def learn(self) -> Answer:
        lessons = self.server.lessons
        self._begin_change()  # before the pictures are read: two lessons would take twice the room
        lessons.make_ready()
        try:
            lesson = parse_lesson(self.body(MOST_OF_A_LESSON))
            lessons.begin(lesson.pairs, quick=lesson.quick)
        except BaseException:
            lessons.changing.release()
            raise
        return as_json(lessons.told(), 202)

    def cancel(self) -> Answer:
        self.server.lessons.cancel()
        return as_json(self.server.lessons.told())

    def predict(self) -> Answer:
        rt = self.server.rt
        picture = self.body(MOST_OF_A_PICTURE)
        if not (rt.store.exists() and rt.classes()):
            raise Refused(409, "nothing is known yet; teach it a class first")
        with self.server.predicting:
            rt.refresh()  # another process may have taught it more
            return as_json(rt.predict(picture, top_k=SHOWN).as_dict())

    def rename(self) -> Answer:
        old, new = self._words("old", "new")
        with self._change() as rt:
            rt.rename(old, new.strip())
        return self.state()

    def remove(self) -> Answer:
        (name,) = self._words("name")
        with self._change() as rt:
            rt.remove(name)
        return self.state()

    def undo(self) -> Answer:
        with self._change() as rt:
            rt.rollback()
        return self.state()

    def export(self) -> Answer:
        with TemporaryDirectory() as folder:
            target = Path(folder) / "model.onnx"
            self.server.rt.export(target)
            return Answer(target.read_bytes(), "application/octet-stream")

    def _words(self, *names: str) -> list[str]:
        try:
            given = json.loads(self.body(MOST_OF_A_WORD))
            words = [given[name] for name in names]
        except (ValueError, KeyError, TypeError, RecursionError):
            words = [None]
        if not all(isinstance(word, str) for word in words):
            raise InvalidInputError("this is not what the page sends; load it anew")
        return words

    @contextmanager
    def _change(self) -> Iterator[Runtime]:
        self._begin_change()
        try:
            yield self.server.rt
        finally:
            self.server.lessons.changing.release()

    def _begin_change(self) -> None:
        if not self.server.lessons.changing.acquire(blocking=False):
            raise Refused(409, "it is learning already; wait until that has ended, or cancel it")


def _told(live: Manifest) -> dict[str, Any]:
    """What undoing would undo."""
    taught = [*live.metrics.get("added", ()), *live.metrics.get("updated", ())]
    return {"to": live.parent, "action": live.action, "taught": taught}
