"""What a device is called, by what systems say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from prd_edge import device
from prd_edge.device import has_8bit_dot_product, processor_name, this_device

SERVER = """processor\t: 0
model\t\t: 17
model name\t: AMD EPYC
flags\t\t: fpu avx2 avx512_vnni

processor\t: 1
model name\t: another core
"""
OLD_LAPTOP = "processor\t: 0\nmodel name\t: Intel(R) Core(TM) i5-3210M\nflags\t\t: fpu avx\n"
RASPBERRY_PI_4 = """processor\t: 0
BogoMIPS\t: 108.00
Features\t: fp asimd evtstrm crc32 cpuid
CPU part\t: 0xd08

Model\t\t: Raspberry Pi 4 Model B Rev 1.4
"""
RASPBERRY_PI_5 = RASPBERRY_PI_4.replace("cpuid", "cpuid asimddp").replace("4", "5")


@pytest.mark.parametrize(
    ("cpuinfo", "name", "dot_product"),
    [
        (SERVER, "AMD EPYC", True),
        (OLD_LAPTOP, "Intel(R) Core(TM) i5-3210M", False),
        (RASPBERRY_PI_4, "Raspberry Pi 4 Model B Rev 1.4", False),
        (RASPBERRY_PI_5, "Raspberry Pi 5 Model B Rev 1.5", True),
        ("model name\t:\n", None, None),
        ("", None, None),
    ],
)
def test_cpuinfo(cpuinfo: str, name: str | None, dot_product: bool | None) -> None:
    assert processor_name(cpuinfo) == name
    assert has_8bit_dot_product(cpuinfo) is dot_product


def test_a_system_that_does_not_tell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(device, "_CPUINFO", tmp_path / "none")
    found = this_device()
    assert found.processor
    assert found.has_8bit_dot_product is None
    assert found.cores >= 1
    assert found.memory_mb > 100
