"""HTTP for a page of this machine alone, as strict as that allows.

Any site that is open in the same browser can send requests here as well. So the Host must be this
server's own (against DNS rebinding), and a POST must come from its own page (against forged ones).
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from prd_edge import PrdEdgeError

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; media-src 'self' blob:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
STATUS = {2: 400, 3: 422, 4: 503, 5: 409}  # for the exit codes of errors
MOST_TO_DISCARD = 2**28
MOST_DIGITS = 15  # of the length of a request
PIECE = 2**16


class Refused(Exception):  # noqa: N818  (an answer, not a fault)
    def __init__(self, status: int, problem: str) -> None:
        super().__init__(problem)
        self.status = status


class Answer(NamedTuple):
    content: bytes
    kind: str
    status: int = 200


def as_json(content: object, status: int = 200) -> Answer:
    return Answer(json.dumps(content).encode(), "application/json", status)


class LoopbackServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler: type[GuardedHandler], port: int) -> None:
        super().__init__(("127.0.0.1", port), handler)
        self.address = f"http://127.0.0.1:{self.server_port}/"
        self.hosts = {f"{name}:{self.server_port}" for name in ("127.0.0.1", "localhost")}


class GuardedHandler(BaseHTTPRequestHandler):
    server: LoopbackServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "prd-edge", ""
    timeout = 60  # seconds, for a client that stops sending
    _unread = 0  # bytes of the body

    def routes(self, method: str) -> Mapping[str, Callable[[], Answer]]:
        raise NotImplementedError

    def do_GET(self) -> None:
        self._respond("GET")

    def do_POST(self) -> None:
        self._respond("POST")

    def body(self, limit: int) -> bytes:
        if self._unread > limit:
            size = f"{self._unread / 2**20:.1f} MB"
            raise Refused(413, f"{size} are too much at once; {limit // 2**20} MB is the limit")
        content = self.rfile.read(self._unread)
        if len(content) < self._unread:
            raise ConnectionError("the client went away")
        self._unread = 0
        return content

    def _respond(self, method: str) -> None:
        try:
            self._send(self._answer(method))
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _answer(self, method: str) -> Answer:
        try:
            self._guard(method)
            route = self.routes(method).get(self.path)
            if route is None:
                raise Refused(404, f"there is nothing at {method} {self.path[:80]}")
            return route()
        except Refused as refused:
            return as_json({"problem": str(refused)}, refused.status)
        except PrdEdgeError as error:
            return as_json({"problem": str(error)}, STATUS.get(error.exit_code, 500))
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            traceback.print_exc()
            return as_json({"problem": "something unexpected happened; see the terminal"}, 500)

    def _guard(self, method: str) -> None:
        length = self.headers.get("Content-Length", "0")
        is_number = length.isascii() and length.isdigit() and len(length) <= MOST_DIGITS
        if "Transfer-Encoding" in self.headers or not is_number:
            self.close_connection = True
            raise Refused(411, "the length of the request must be given")
        self._unread = int(length)
        host = self.headers.get("Host", "")
        if host not in self.server.hosts:
            raise Refused(421, f"this server is {self.server.address} and goes by no other name")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            raise Refused(403, "only the page of this server may ask")
        if method == "POST" and self.headers.get("Origin") != f"http://{host}":
            raise Refused(403, "only the page of this server may change anything")

    def _send(self, answer: Answer) -> None:
        self._discard_body()
        self.send_response(answer.status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(answer.content)

    def _discard_body(self) -> None:
        """Of a refused request: a browser reads the answer only when it has sent everything."""
        if self._unread > MOST_TO_DISCARD:
            self.close_connection = True
            return
        while self._unread:
            piece = self.rfile.read(min(self._unread, PIECE))
            if not piece:
                raise ConnectionError("the client went away")
            self._unread -= len(piece)

    def log_message(self, *_: Any) -> None:
        """The terminal is for what a person should know."""
