"""How much memory this process takes up, and giving some of it back."""

from __future__ import annotations

import ctypes
import resource
import sys
from contextlib import suppress
from pathlib import Path


def memory_mb() -> float:
    """What this process takes up now."""
    return _from_status("VmRSS")


def peak_memory_mb() -> float:
    """The most it has taken up since it began."""
    return _from_status("VmHWM")


def release_memory() -> None:
    """Give memory that is free within this process back to the system, where that is possible."""
    with suppress(OSError, AttributeError):  # only the GNU C library has it
        ctypes.CDLL(None).malloc_trim(0)


def _from_status(field: str) -> float:
    try:
        # Unlike getrusage this does not count the memory of the process that started us.
        status = Path("/proc/self/status").read_text()
        return int(status.split(f"{field}:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
