"""A headless Chromium, and a static server for the pages it is shown."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

FLAGS = (
    "--no-sandbox",  # CI runs as root
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    names = (os.environ.get("PRD_EDGE_CHROMIUM"), "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        problem = "no Chromium found; install it, or name it in PRD_EDGE_CHROMIUM"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(problem)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=[*FLAGS])
        yield launched
        launched.close()


class _Silent(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Callable[[Path], str]]:
    """Serves a folder on this machine alone; gives its address."""
    servers = []

    def serve(folder: Path) -> str:
        handler = partial(_Silent, directory=str(folder))
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Any error on it, and any request to another place, fails the test."""
    opened = browser.new_page(viewport={"width": 1100, "height": 760})
    opened.set_default_timeout(60_000)
    expect.set_options(timeout=60_000)
    problems: list[str] = []
    opened.on("pageerror", lambda error: problems.append(str(error)))
    opened.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("http://127.0.0.1:", "blob:http://127.0.0.1:", "data:"))
            else problems.append(f"asked for {request.url}")
        ),
    )
    yield opened
    opened.close()
    assert problems == []
