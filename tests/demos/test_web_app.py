"""The web app, asked without a browser."""

from __future__ import annotations

import http.client
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pytest
from app_server import AppServer

from tests.demos.conftest import DEMOS
from tests.demos.web_client import Client, encoded, two_classes


def test_learn_ask_change_and_undo(taught: Client) -> None:
    report = taught.state()["lesson"]["report"]
    assert (report["added"], report["pictures"]) == (["blue", "red"], 12)
    assert taught.state()["classes"] == [
        {"name": "blue", "pictures": 6},
        {"name": "red", "pictures": 6},
    ]
    status, said = taught.post("/api/predict", encoded("red", 77))
    assert (status, said["label"]) == (200, "red")
    status, state = taught.post("/api/rename", b'{"old": "red", "new": " rouge "}')
    assert [own["name"] for own in state["classes"]] == ["blue", "rouge"]
    assert taught.post("/api/remove", b'{"name": "blue"}')[1]["classes"][0]["name"] == "rouge"
    for left in (["blue", "rouge"], ["blue", "red"], []):
        state = taught.post("/api/undo")[1]
        assert [own["name"] for own in state["classes"]] == left
    assert state["undo"] is None
    status, said = taught.post("/api/undo")
    assert status == 503
    assert "no good version before" in said["problem"]


def test_nothing_is_known_yet(client: Client) -> None:
    status, said = client.post("/api/predict", encoded("red", 1))
    assert (status, said) == (409, {"problem": "nothing is known yet; teach it a class first"})


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Event]:
    """A lesson stands still at its first picture until this is set."""
    from lessons import Lessons

    go_on = Event()
    on_progress = Lessons._on_progress

    def hold(self: Lessons, now: Any) -> None:
        on_progress(self, now)
        go_on.wait(60)

    monkeypatch.setattr(Lessons, "_on_progress", hold)
    yield go_on
    go_on.set()


def test_two_lessons_at_once(client: Client, held: Event) -> None:
    assert client.post("/api/learn", two_classes())[0] == 202
    for path, body in (("learn", two_classes()), ("undo", b"{}"), ("remove", b'{"name": "red"}')):
        status, said = client.post(f"/api/{path}", body)
        assert status == 409
        assert "learning already" in said["problem"]
    held.set()
    assert client.finished()["report"]["pictures"] == 12
    assert client.post("/api/learn", two_classes())[0] == 202


def test_progress_and_cancel(client: Client, held: Event) -> None:
    client.post("/api/learn", two_classes())
    while (told := client.state()["lesson"])["done"] == 0:
        sleep(0.02)
    assert told == {"state": "learning", "stage": "reading images", "done": 1, "total": 12}
    assert client.post("/api/cancel")[1]["state"] == "cancelling"
    held.set()
    assert client.finished() == {"state": "cancelled"}
    assert client.state()["version"] is None


def test_a_cancel_before_does_not_cost_the_next_lesson(client: Client) -> None:
    client.post("/api/cancel")
    client.post("/api/learn", two_classes())
    assert client.finished()["state"] == "learned"


WRITTEN: list[str] = []
WATCHING = Event()


def note_writing(event: str, given: tuple[Any, ...]) -> None:
    """Not what Python keeps of modules that it imports for the first time."""
    if event != "open" or not WATCHING.is_set() or isinstance(given[0], int):
        return
    if given[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) and "__pycache__" not in str(given[0]):
        WRITTEN.append(str(given[0]))


def test_of_pictures_nothing_is_written(client: Client, tmp_path: Path) -> None:
    """Every file that Python opens to write, from the first lesson to the last answer."""
    sys.addaudithook(note_writing)
    WATCHING.set()
    client.post("/api/learn", two_classes())
    client.finished()
    client.post("/api/predict", encoded("red", 5))
    client.post("/api/predict", b"dear")
    WATCHING.clear()
    store = str(tmp_path / "store")
    assert WRITTEN, "the hook sees what is written"
    assert [path for path in WRITTEN if not path.startswith(store)] == []
    for path in Path(store).rglob("*"):
        if path.is_file():
            assert encoded("red", 3)[100:200] not in path.read_bytes()


def test_the_command_prints_where_it_is_and_ends_on_a_signal(tmp_path: Path) -> None:
    command = [sys.executable, str(DEMOS / "web_app"), "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        found = re.search(r"http://(127\.0\.0\.1:\d+)/", process.stdout.readline())
        assert found is not None
        connection = http.client.HTTPConnection(found[1], timeout=60)
        connection.request("GET", "/")
        assert b"No picture is kept" in connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGINT)
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == [], "nothing was learned, nothing is left"


def test_a_port_in_use_is_one_line(server: AppServer) -> None:
    command = [sys.executable, str(DEMOS / "web_app"), "--port", str(server.server_port)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "name another with --port" in done.stderr
    assert done.stderr.count("\n") == 1
