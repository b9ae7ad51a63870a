"""What the server of the web app refuses, and that it goes on afterwards."""

from __future__ import annotations

import http.client
import json

import app_server
import pytest

from tests.demos.conftest import DEMOS
from tests.demos.web_client import Client, encoded, lesson, two_classes

HOSTS = ["evil.example", "evil.example:{port}", "127.0.0.1", "0.0.0.0:{port}", "", None]


@pytest.mark.parametrize("host", HOSTS, ids=str)
def test_another_host_is_refused(host: str | None, client: Client) -> None:
    """A name that an attacker's DNS points here gets nothing, not even the page."""
    named = host and host.format(port=client.server.server_port)
    for method, path in (("GET", "/"), ("GET", "/api/state"), ("POST", "/api/predict")):
        status, said = client.ask(method, path, Host=named, Origin=f"http://{named}")
        assert status in (400, 421)
        assert str(client.server.rt.store.path) not in json.dumps(said, default=str)


def test_its_other_name_is_its_own(client: Client) -> None:
    own = f"localhost:{client.server.server_port}"
    assert client.get("/", Host=own)[0] == 200
    assert client.post("/api/cancel", Host=own, Origin=f"http://{own}")[0] == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1", None], ids=str
)
@pytest.mark.parametrize(
    "path", ["learn", "cancel", "predict", "rename", "remove", "undo", "export"]
)
def test_nothing_is_changed_for_another_origin(
    path: str, origin: str | None, client: Client
) -> None:
    status, said = client.post(f"/api/{path}", two_classes(), Origin=origin)
    assert status == 403
    assert "only the page" in said["problem"]
    assert client.state()["lesson"] == {"state": "idle"}


def test_other_sites_learn_nothing(client: Client) -> None:
    for path in ("/", "/api/state"):
        assert client.get(path, Sec_Fetch_Site="cross-site")[0] == 403


def test_every_answer_is_guarded(client: Client) -> None:
    for path in ("/", "/main.js", "/api/state", "/no"):
        client.get(path)
        assert "default-src 'none'" in client.headers["Content-Security-Policy"]
        assert client.headers["X-Content-Type-Options"] == "nosniff"
        assert client.headers["Cache-Control"] == "no-store"
        assert "Python" not in client.headers["Server"]


@pytest.mark.parametrize(
    "path", ["/../app_server.py", "/%2e%2e/upload.py", "//etc/passwd", "/page", "/api/state?x", "*"]
)
def test_nothing_but_the_page_is_served(path: str, client: Client) -> None:
    assert client.get(path)[0] == 404


def test_the_page_asks_for_nothing_that_is_not_here(client: Client) -> None:
    for path in (DEMOS / "web_app/page").iterdir():
        status, content = client.get(f"/{path.name}")
        assert status == 200
        assert content == path.read_bytes()
        assert b"http" not in content, path.name
        assert content.count(b"\n") <= 300, "short enough to read"


@pytest.mark.parametrize(("path", "limit"), [
    ("learn", app_server.MOST_OF_A_LESSON),
    ("predict", app_server.MOST_OF_A_PICTURE),
    ("rename", app_server.MOST_OF_A_WORD),
])  # fmt: skip
def test_too_much_is_refused_before_it_is_read(path: str, limit: int, client: Client) -> None:
    most = app_server.MOST_OF_A_LESSON
    status, said = client.post(f"/api/{path}", b"", Content_Length=str(max(limit, most) + 1))
    assert status == 413
    assert f"{limit // 2**20} MB is the limit" in said["problem"]
    assert client.post("/api/learn", two_classes())[0] == 202, "and the next is served"


@pytest.mark.parametrize("length", ["-1", "x", "١٢"])
def test_a_length_that_is_none_is_refused(length: str, client: Client) -> None:
    client.ask("GET", "/")
    connection = http.client.HTTPConnection(client.own, timeout=60)
    connection.putrequest("POST", "/api/undo")
    connection.putheader("Content-Length", length.encode())
    connection.endheaders()
    assert connection.getresponse().status == 411
    connection.close()


GARBAGE = {
    "nothing": b"",
    "no JSON": b"hello\n",
    "no object": b"[1]\n",
    "nested": b"[" * 100_000,
    "no size": b'{"quick": true, "classes": [{"name": "a", "sizes": ["1"]}]}\n',
    "negative": b'{"quick": true, "classes": [{"name": "a", "sizes": [-1, 2]}]}\nx',
    "too short": b'{"quick": true, "classes": [{"name": "a", "sizes": [9]}]}\nx',
    "too long": b'{"quick": true, "classes": [{"name": "a", "sizes": [1]}]}\nxxx',
    "no pictures": b'{"quick": true, "classes": []}\n',
    "a path": lesson({"../../etc": [b"x"]}),
    "a list": b'{"quick": true, "classes": [{"name": ["a"], "sizes": [1]}]}\nx',
}


def test_garbage_is_refused_with_a_word(taught: Client) -> None:
    for name, garbage in GARBAGE.items():
        status, said = taught.post("/api/learn", garbage)
        assert status == 400, name
        assert said["problem"]
        assert taught.post("/api/rename", garbage)[0] == 400, name
        assert taught.post("/api/predict", garbage)[0] == 422, name
    assert taught.state()["version"] == "000002"
    assert taught.post("/api/learn", two_classes())[0] == 202, "and it goes on"


def test_a_class_of_garbage_is_not_learned_and_says_why(client: Client) -> None:
    client.post("/api/learn", lesson({"good": [encoded("red", 1)], "bad": [b"dear"]}))
    told = client.finished()
    assert told["state"] == "failed"
    assert "class 'bad' has no usable image" in told["problem"]
    assert not client.server.rt.store.exists()
