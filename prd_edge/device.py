"""What this device is, as a figure of its speed has to name it."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from prd_edge.inference import available_threads
from prd_edge.silent_onnxruntime import onnxruntime
from prd_edge.version import __version__

_CPUINFO = Path("/proc/cpuinfo")
# x86 has a model name, a Raspberry Pi a Model, other boards a Hardware.
_PROCESSOR_NAMES = ("model name", "Model", "Hardware")
_FEATURE_LISTS = ("flags", "Features")  # of x86 and of ARM
_DOT_PRODUCTS = {"avx512_vnni", "avx_vnni", "asimddp"}


@dataclass(frozen=True)
class Device:
    processor: str
    machine: str
    cores: int  # that this process may use
    load: float  # processes that were busy in the last minute
    has_8bit_dot_product: bool | None  # None where the system does not tell
    memory_mb: float
    system: str
    python: str
    onnxruntime: str
    prd_edge: str


def this_device() -> Device:
    try:
        cpuinfo = _CPUINFO.read_text(errors="replace")
    except OSError:
        cpuinfo = ""
    return Device(
        processor=processor_name(cpuinfo) or platform.processor() or platform.machine(),
        machine=platform.machine(),
        cores=available_threads(),
        load=os.getloadavg()[0],
        has_8bit_dot_product=has_8bit_dot_product(cpuinfo),
        memory_mb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20,
        system=_system(),
        python=platform.python_version(),
        onnxruntime=onnxruntime.__version__,
        prd_edge=__version__,
    )


def processor_name(cpuinfo: str) -> str | None:
    """
    >>> processor_name("processor: 0\\nmodel: 17\\nmodel name: AMD EPYC\\n")
    'AMD EPYC'
    """
    fields = _fields(cpuinfo)
    return next((fields[name] for name in _PROCESSOR_NAMES if fields.get(name)), None)


def has_8bit_dot_product(cpuinfo: str) -> bool | None:
    """Whether one instruction multiplies and adds bytes, which is what makes int8 quick."""
    fields = _fields(cpuinfo)
    features = {word for name in _FEATURE_LISTS for word in fields.get(name, "").split()}
    return bool(features & _DOT_PRODUCTS) if features else None


def _fields(cpuinfo: str) -> dict[str, str]:
    """Of the first core, which stands for all, and of the board."""
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    return fields


def _system() -> str:
    kernel = f"{platform.system()} {platform.release()}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except OSError:  # the file that says it is optional
        return kernel
