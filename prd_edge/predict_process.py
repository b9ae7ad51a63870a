"""`prd-edge predict` in a process of its own, to be timed and to be asked for its memory."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from prd_edge.errors import PrdEdgeError

# The command itself ends its process too abruptly to tell anything afterwards.
_PREDICT_AND_TELL_MEMORY = """
import sys
from prd_edge.cli.main import prd_edge
from prd_edge.memory import peak_memory_mb
code = prd_edge.main(sys.argv[1:], standalone_mode=False)
print(peak_memory_mb())
sys.exit(code)
"""


@dataclass(frozen=True)
class PredictProcess:
    store: Path
    threads: int | None = None

    def run(self, pictures: Path) -> None:
        self._output(pictures, "-m", "prd_edge")

    def peak_memory_mb(self, pictures: Path) -> float:
        return float(self._output(pictures, "-c", _PREDICT_AND_TELL_MEMORY).split()[-1])

    def _output(self, pictures: Path, *program: str) -> str:
        threads = [] if self.threads is None else [f"--threads={self.threads}"]
        predict = ["predict", str(pictures), "--quiet", f"--store={self.store}", *threads]
        done = subprocess.run(  # noqa: S603  (our own command)
            [sys.executable, "-P", *program, *predict],  # -P: no module of the current folder
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            complaint = (done.stderr.strip() or "it said nothing").splitlines()[-1]
            raise PrdEdgeError(
                f"a process of 'prd-edge predict' ended with {done.returncode}: {complaint}; "
                "'prd-edge doctor' checks the installation"
            )
        return done.stdout
