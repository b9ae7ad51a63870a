"""Attacks by picture. Each is a file somebody could send; each must end in an error or an array."""

from __future__ import annotations

import hashlib
import io
import os
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from prd_edge import Runtime
from prd_edge.errors import ImageError
from prd_edge.images import decode

from ..conftest import TINY, write_session

pytestmark = pytest.mark.filterwarnings("ignore:::PIL")

SECONDS = 2  # the most that one picture may cost
MEGABYTES = 100  # the most that a refused one may cost


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, *chunks: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + chunk(b"IEND", b"")


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def tiff(*tags: tuple[int, int, int, int]) -> bytes:
    """A 16 × 16 grey TIFF with some (tag, type, count, value) of its own."""
    usual = {
        256: (256, 4, 1, 16),
        257: (257, 4, 1, 16),
        258: (258, 4, 1, 8),
        259: (259, 4, 1, 1),
        262: (262, 4, 1, 1),
        273: (273, 4, 1, 300),
        278: (278, 4, 1, 16),
        279: (279, 4, 1, 256),
    }
    entries = sorted({**usual, **{tag[0]: tag for tag in tags}}.values())
    body = b"".join(struct.pack("<HHII", *entry) for entry in entries)
    head = b"II*\0" + struct.pack("<IH", 8, len(entries)) + body + bytes(4)
    return head.ljust(300, b"\0") + bytes(256)


@cache
def zeros(size: int) -> bytes:
    """Many zeros, compressed as well as zlib can."""
    packer = zlib.compressobj(9)
    block = bytes(2**20)
    return b"".join(packer.compress(block) for _ in range(size >> 20)) + packer.flush()


def gif_of_many_frames() -> bytes:
    small = encoded(Image.new("P", (8, 8)), "GIF")
    frame = small[small.index(b"\x2c") : -1]
    return small[:-1] + frame * 200_000 + b";"


def png_of_many_frames() -> bytes:
    control = struct.pack(">IIIIIHHBB", 0, 2, 2, 0, 0, 1, 1, 0, 0)
    animation = chunk(b"acTL", struct.pack(">II", 2**31 - 1, 0)) + chunk(b"fcTL", control)
    return png(2, 2, animation, chunk(b"IDAT", zlib.compress(bytes(14))))


def webp_of_a_huge_canvas() -> bytes:
    small = encoded(Image.new("RGB", (16, 16)), "WEBP", lossless=True)
    frame = bytes(6) + (15).to_bytes(3, "little") * 2 + bytes(4) + small[12:]
    parts = (
        (b"VP8X", b"\x02\0\0\0" + (16_382).to_bytes(3, "little") * 2),
        (b"ANIM", bytes(6)),
        (b"ANMF", frame),
    )
    body = b"WEBP" + b"".join(kind + struct.pack("<I", len(d)) + d for kind, d in parts)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def jpeg_of_huge_metadata() -> bytes:
    small = encoded(Image.new("RGB", (16, 16)), "JPEG")
    segment = b"\xff\xe1" + struct.pack(">H", 65_535) + b"Exif\0\0II*\0" + bytes(65_523)
    return small[:2] + segment * 600 + small[2:]


def jpeg_of_65_535_a_side() -> bytes:
    small = bytearray(encoded(Image.new("RGB", (16, 16)), "JPEG"))
    frame = small.index(b"\xff\xc0")  # its length and precision, then height and width
    small[frame + 5 : frame + 9] = b"\xff" * 4
    return bytes(small)


BOMBS: dict[str, Callable[[], bytes]] = {
    "PNG of 100,000 × 100,000": lambda: png(100_000, 100_000, chunk(b"IDAT", zeros(128 << 20))),
    "PNG of 2³¹ − 1 a side": lambda: png(2**31 - 1, 2**31 - 1, chunk(b"IDAT", zeros(1 << 20))),
    "PNG whose pixels go on": lambda: png(4, 4, chunk(b"IDAT", zeros(128 << 20))),
    "PNG with a packed text": lambda: png(1, 1, chunk(b"zTXt", b"k\0\0" + zeros(128 << 20))),
    "PNG with a packed international text": lambda: png(
        1, 1, chunk(b"iTXt", b"k\0\1\0\0\0" + zeros(128 << 20))
    ),
    "PNG with many packed texts": lambda: png(
        1, 1, *[chunk(b"zTXt", b"k\0\0" + zeros(1 << 20))] * 300
    ),
    "PNG with a packed profile": lambda: png(1, 1, chunk(b"iCCP", b"k\0\0" + zeros(128 << 20))),
    "PNG with a chunk of 2 GB": lambda: png(1, 1) + struct.pack(">I", 2**31 - 1) + b"tEXt",
    "PNG of two thousand million frames": png_of_many_frames,
    "GIF of 200,000 frames": gif_of_many_frames,
    "GIF frame beyond its screen": lambda: (
        b"GIF89a\1\0\1\0\x80\0\0" + bytes(6) + b"\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\1\0;"
    ),
    "WebP of a huge canvas": webp_of_a_huge_canvas,
    "BMP of 2³¹ − 1 a side": lambda: (
        b"BM" + struct.pack("<IIIIiiHHIIiiII", 54, 0, 54, 40, *[2**31 - 1] * 2, 1, 24, *[0] * 6)
    ),
    "TIFF with a tag of 4 GB": lambda: tiff((270, 2, 0xFFFFFFF0, 10)),
    "TIFF with 2³⁰ strips": lambda: tiff((273, 4, 0x3FFFFFFF, 10)),
    "TIFF with a strip of 2 GB": lambda: tiff((279, 4, 1, 0x7FFFFFFF), (259, 4, 1, 5)),
    "TIFF with rows of 2³²": lambda: tiff((278, 4, 1, 0xFFFFFFFF), (259, 4, 1, 8)),
    "TIFF with tiles of 60,000": lambda: tiff(
        (259, 4, 1, 5),
        *((322, 4, 1, 60_000), (323, 4, 1, 60_000), (324, 4, 1, 300), (325, 4, 1, 256)),
    ),
    "TIFF of 65,535 samples a pixel": lambda: tiff((277, 4, 1, 65_535)),
    "TIFF whose directory is its own next": lambda: (
        tiff()[: 8 + 2 + 12 * 8] + struct.pack("<I", 8) + tiff()[8 + 2 + 12 * 8 + 4 :]
    ),
    "TIFF whose camera data are its own directory": lambda: tiff((34665, 4, 1, 8)),
    "TIFF whose sub-directory is itself": lambda: tiff((330, 4, 1, 8)),
    "TIFF of 4 × 10⁹ rows": lambda: tiff((257, 4, 1, 0xFFFFFFFF)),
    "PNG whose camera data are a loop": lambda: png(
        1,
        1,
        chunk(b"eXIf", b"II*\0\x08\0\0\0\x01\0" + struct.pack("<HHII", 34665, 4, 1, 8) + bytes(4)),
        chunk(b"IDAT", zlib.compress(bytes(4))),
    ),
    "GIF of 65,535 a side": lambda: (
        b"GIF89a\xff\xff\xff\xff\x80\0\0"
        + bytes(6)
        + b"\x2c"
        + bytes(4)
        + b"\xff" * 4
        + b"\0\x02\x02\x44\1\0;"
    ),
    "JPEG of 65,535 a side": jpeg_of_65_535_a_side,
    "JPEG with 37 MB of metadata": jpeg_of_huge_metadata,
}

MEASURE = """
import sys, time, warnings
from pathlib import Path
from prd_edge.errors import ImageError
from prd_edge.images import decode

warnings.filterwarnings("ignore", module="PIL")

def peak_mb():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) // 1024

for path in sorted(Path(sys.argv[1]).iterdir(), key=lambda path: int(path.name)):
    before, started = peak_mb(), time.process_time()
    try:
        ending = f"array {decode(path).shape}"
    except ImageError as error:
        ending = f"refused: {error}"
    except BaseException as error:
        ending = f"ESCAPED {error!r}"
    print(path.name, f"{time.process_time() - started:.2f}", peak_mb() - before, ending, sep="\\t")
"""


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Every bomb decoded in one process of its own: seconds, megabytes, ending."""
    folder = tmp_path_factory.mktemp("bombs")
    for number, make in enumerate(BOMBS.values()):
        (folder / str(number)).write_bytes(make())
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(folder)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return {name: rows[number][1:] for number, name in enumerate(BOMBS)}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_costs_little(measured: dict[str, list[str]], name: str) -> None:
    seconds, megabytes, ending = measured[name]
    assert "ESCAPED" not in ending
    assert float(seconds) < SECONDS
    assert int(megabytes) < MEGABYTES, ending


@pytest.fixture(scope="module")
def progressive() -> tuple[bytes, bytes]:
    """A progressive JPEG of 9 million pixels without its end, and the last of its scans."""
    data = encoded(Image.new("L", (3000, 3000), 90), "JPEG", progressive=True, optimize=True)
    return data[:-2], data[data.rindex(b"\xff\xda") : -2]


@pytest.mark.parametrize(
    ("before", "between"),
    [
        pytest.param(b"", b"", id="plain"),
        pytest.param(b"\xff", b"", id="behind a fill byte"),
        pytest.param(b"\xff" * 1000, b"\xff\xff", id="behind many fill bytes"),
        pytest.param(b"\xff\xfe\0\6\xff\xd9\xff\xda", b"", id="behind an end in a comment"),
        pytest.param(b"", b"\xff\xfe\0\4\xff\xd9", id="ends in comments between the scans"),
    ],
)
def test_a_jpeg_of_endless_scans(
    progressive: tuple[bytes, bytes], before: bytes, between: bytes
) -> None:
    """A progressive JPEG may refine the same pixels again and again, for a few bytes a time."""
    start, scan = progressive
    bomb = start[:2] + before + start[2:] + (between + scan) * 600 + b"\xff\xd9"
    assert len(bomb) < 100_000
    started = time.process_time()
    with pytest.raises(ImageError, match="scans"):
        decode(bomb)
    assert time.process_time() - started < SECONDS, "of the processor"


def test_a_photograph_with_a_film_behind_it_is_no_bomb() -> None:
    """Telephones append seconds of video, in which any two bytes come up again and again."""
    photograph = encoded(Image.new("RGB", (64, 48), (9, 99, 200)), "JPEG", progressive=True)
    film = np.random.default_rng(0).bytes(20_000_000)
    assert film.count(b"\xff\xda") > 200
    assert decode(photograph + film).shape == (48, 64, 3)


def test_a_photograph_with_thumbnails_in_its_metadata_is_no_bomb() -> None:
    thumbnail = encoded(Image.new("RGB", (64, 48)), "JPEG", progressive=True)
    segment = b"\xff\xe2" + struct.pack(">H", len(thumbnail) + 2) + thumbnail
    photograph = encoded(Image.new("RGB", (64, 48)), "JPEG")
    assert decode(photograph[:2] + segment * 50 + photograph[2:]).shape == (48, 64, 3)


def samples() -> Iterator[bytes]:
    pixels = np.random.default_rng(5).integers(0, 256, (24, 20, 3), dtype=np.uint8)
    picture = Image.fromarray(pixels)
    flat = Image.new("RGB", (24, 20), (200, 90, 10))
    exif = Image.Exif()
    exif[0x0112] = 6
    yield encoded(picture, "JPEG", exif=exif)
    yield encoded(flat, "JPEG", progressive=True)
    yield encoded(flat.convert("CMYK"), "JPEG")
    yield encoded(picture, "PNG", exif=exif)
    yield encoded(flat.quantize(4), "PNG", transparency=0)
    yield encoded(flat, "WEBP", exif=exif)
    yield encoded(flat, "WEBP", lossless=True)
    yield encoded(flat, "GIF", save_all=True, append_images=[picture])
    yield encoded(picture, "BMP")
    yield encoded(flat.quantize(16), "BMP")
    yield encoded(flat, "TIFF", compression="tiff_lzw")


SAMPLES = tuple(samples())
INTERESTING = (0, 1, 2, 0x7F, 0x80, 0xC0, 0xDA, 0xFE, 0xFF)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A good file with some bytes changed, cut out, repeated or taken from another file."""
    data = bytearray(draw(st.sampled_from(SAMPLES)))
    header = draw(st.booleans())  # where a change does most
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, max(min(len(data), 64) if header else len(data), 1) - 1))
        length = draw(st.integers(1, 12))
        kind = draw(st.sampled_from(("set", "random", "cut", "repeat", "splice", "truncate")))
        if kind == "set":
            data[at : at + 1] = bytes([draw(st.sampled_from(INTERESTING))])
        elif kind == "random":
            data[at : at + length] = draw(st.binary(min_size=1, max_size=12))
        elif kind == "cut":
            del data[at : at + length]
        elif kind == "repeat":
            data[at:at] = data[at : at + length] * draw(st.integers(1, 40))
        elif kind == "splice":
            data[at:] = draw(st.sampled_from(SAMPLES))[at:]
        else:
            del data[at:]
    return bytes(data)


@settings(max_examples=300)
@given(mutated())
def test_mutated_files_give_an_array_or_an_image_error(data: bytes) -> None:
    result = None
    with suppress(ImageError):
        result = decode(data)
    if result is not None:
        assert (result.ndim, result.shape[2], result.dtype) == (3, 3, np.uint8)
        assert result.size > 0


@settings(max_examples=100)
@given(
    st.sampled_from((b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"II*\0"))
    | st.just(b"RIFF\xff\xff\0\0WEBPVP8 "),
    st.binary(max_size=300),
)
def test_noise_behind_a_good_beginning(magic: bytes, noise: bytes) -> None:
    with suppress(ImageError):
        decode(magic + noise)


class TestSessionFolder:
    """What somebody may leave in a folder that will be learned."""

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        return write_session(tmp_path / "data", images=2, classes=("red", "blue"))

    @pytest.fixture
    def runtime(self, taught_once: Path) -> Runtime:
        """Only for dry runs: the store is shared."""
        return Runtime.open(taught_once, config=TINY)

    def test_a_link_to_a_secret_is_skipped_and_told_without_its_content(
        self, tmp_path: Path, place: Path, taught: Path
    ) -> None:
        secret = tmp_path / "secret"
        secret.write_text("root:x:0:0:canary-7f3a9c:/root:/bin/sh\n")
        (place / "red/a.png").symlink_to("/etc/passwd")
        (place / "red/b.png").symlink_to(secret)
        before = names_of(taught)
        report = Runtime.open(taught).learn_session(place)
        assert {s.name: s.reason[:12] for s in report.skipped} == {
            "red/a.png": "not an image",
            "red/b.png": "not an image",
        }
        written = [path for path in taught.rglob("*") if path.is_file()]
        assert names_of(taught) != before
        for content in (secret.read_bytes(), Path("/etc/passwd").read_bytes()):
            digest = hashlib.sha256(content).hexdigest().encode()
            for path in written:
                data = path.read_bytes()
                assert content[:16] not in data
                assert digest not in data
        assert "canary" not in str(report)

    def test_pipes_and_devices_do_not_hang(self, place: Path, runtime: Runtime) -> None:
        os.mkfifo(place / "red/pipe.png")
        os.mkfifo(place / "pipe")
        (place / "red/zero.png").symlink_to("/dev/zero")
        (place / "red/tty.png").symlink_to("/dev/tty")
        if os.geteuid() == 0:
            with suppress(PermissionError):
                os.mknod(place / "red/random.png", 0o020666, os.makedev(1, 8))
        report = runtime.learn_session(place, dry_run=True)
        named = {skipped.name for skipped in report.skipped}
        assert {"red/pipe.png", "pipe", "red/zero.png", "red/tty.png"} <= named
        assert report.images_used == 4

    def test_a_socket(self, place: Path, runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
        import socket

        monkeypatch.chdir(place / "red")  # the path of a socket must be short
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("s.png")
            report = runtime.learn_session(place, dry_run=True)
        assert [skipped.name for skipped in report.skipped] == ["red/s.png"]

    def test_bombs_among_pictures_are_skipped(self, place: Path, runtime: Runtime) -> None:
        for number, make in enumerate((BOMBS["WebP of a huge canvas"], gif_of_many_frames)):
            (place / f"red/bomb{number}.png").write_bytes(make())
        report = runtime.learn_session(place, dry_run=True)
        assert [skipped.name for skipped in report.skipped] == ["red/bomb0.png"]
        assert report.images_used == 5, "the first frame of an animation is a picture"

    def test_a_very_deep_folder(self, place: Path, runtime: Runtime) -> None:
        deep = place / "red"
        for _ in range(400):
            deep = deep / "d"
        deep.mkdir(parents=True)
        (deep / "x.png").write_bytes((place / "blue/0.png").read_bytes()[:100])
        assert len(runtime.learn_session(place, dry_run=True).skipped) == 1


def names_of(store: Path) -> set[str]:
    return {str(path.relative_to(store)) for path in store.rglob("*")}
