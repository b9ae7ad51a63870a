"""The demos as a reader runs them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from app_server import AppServer

from prd_edge import Runtime
from tests.conftest import TINY
from tests.demos.web_client import Client, two_classes

DEMOS = Path(__file__).parents[2] / "demos"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a demo from another folder than its own."""

    def run(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(DEMOS / name), *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AppServer]:
    running = AppServer(Runtime.open(tmp_path / "store", config=TINY, threads=1), port=0)
    Thread(target=running.serve_forever, daemon=True).start()
    yield running
    running.shutdown()
    running.close()


@pytest.fixture
def client(server: AppServer) -> Client:
    return Client(server)


@pytest.fixture
def taught(client: Client) -> Client:
    assert client.post("/api/learn", two_classes())[0] == 202
    assert client.finished()["state"] == "learned"
    return client
