"""A command of prd-edge in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence

_PROGRAM = (
    "import sys; from prd_edge.cli.main import prd_edge;"
    "from prd_edge.memory import peak_memory_mb;"
    "prd_edge.main(sys.argv[1:], standalone_mode=False);"
    "print(peak_memory_mb(), file=sys.stderr)"
)


def measured(arguments: Sequence[object], given: str = "") -> tuple[float, float]:
    """Seconds and peak memory in MB; `given`: what it reads from standard input."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *map(str, arguments)],
        input=given,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=True,
    )
    return time.perf_counter() - started, float(done.stderr.splitlines()[-1])
