"""Asks the server of the web app, as its page would or as others might."""

from __future__ import annotations

import http.client
import io
import json
from time import monotonic, sleep
from typing import Any

from app_server import AppServer
from PIL import Image

from tests.conftest import COLOURS, picture


class Client:
    def __init__(self, server: AppServer) -> None:
        self.server = server
        self.own = f"127.0.0.1:{server.server_port}"

    def ask(
        self, method: str, path: str, body: bytes = b"", **headers: str | None
    ) -> tuple[int, Any]:
        """As the page would, unless headers say otherwise; None leaves one out."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        given = {"Host": self.own, "Origin": f"http://{self.own}", **named}
        connection = http.client.HTTPConnection(self.own, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        for name, value in {"Content-Length": str(len(body)), **given}.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(body)
        answer = connection.getresponse()
        self.headers = answer.headers
        content = answer.read()
        connection.close()
        is_json = answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(content) if is_json else content

    def get(self, path: str, **headers: str | None) -> tuple[int, Any]:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: bytes = b"{}", **headers: str | None) -> tuple[int, Any]:
        return self.ask("POST", path, body, **headers)

    def state(self) -> Any:
        return self.get("/api/state")[1]

    def finished(self) -> Any:
        end = monotonic() + 60
        while (lesson := self.state()["lesson"])["state"] in ("learning", "cancelling"):
            assert monotonic() < end
            sleep(0.02)
        return lesson


def encoded(colour: str, seed: int) -> bytes:
    made = io.BytesIO()
    Image.fromarray(picture(COLOURS[colour], seed)).save(made, "PNG")
    return made.getvalue()


def lesson(classes: dict[str, list[bytes]], *, quick: bool = True) -> bytes:
    sizes = [{"name": name, "sizes": [len(p) for p in own]} for name, own in classes.items()]
    line = json.dumps({"quick": quick, "classes": sizes}).encode() + b"\n"
    return line + b"".join(picture for own in classes.values() for picture in own)


def two_classes() -> bytes:
    return lesson({c: [encoded(c, seed) for seed in range(6)] for c in ("blue", "red")})
