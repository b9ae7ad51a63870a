"""Ctrl-C, and SIGTERM by which systemd stops a service: both end a command the same way.

An interruption may come where Python cannot raise it: inside an import in C it comes out as another
error, inside a callback of the garbage collector it is dropped. So the signal is remembered, and
where it was dropped it is raised once more.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

_SECONDS_TO_NEXT_TRY = 0.02
_received: list[int] = []


def catch_interruptions() -> None:
    """Where they are ignored, as under nohup, they stay ignored."""
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is handler:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _raise_later


def exit_code_of_interruption() -> int | None:
    """None where there was none."""
    return 128 + _received[0] if _received else None


def _interrupt(number: int, _: FrameType | None) -> NoReturn:
    _received.append(number)
    raise KeyboardInterrupt


def _raise_later(dropped: sys.UnraisableHookArgs) -> None:
    if issubclass(dropped.exc_type, KeyboardInterrupt):
        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, _SECONDS_TO_NEXT_TRY)
    else:
        sys.__unraisablehook__(dropped)
