"""Guarded decode: every format and mode gives the same uint8 RGB, and nothing else gets through."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from prd_edge import images
from prd_edge.errors import ImageError
from prd_edge.images import FORMATS, MAX_PIXELS, decode

# As the command line sets it: what Pillow has to say about odd metadata is for nobody.
pytestmark = pytest.mark.filterwarnings("ignore:::PIL")

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)
LOSSLESS = {"PNG": {}, "BMP": {}, "TIFF": {}, "WEBP": {"lossless": True}}


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def noise(height: int = 21, width: int = 34) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (height, width, 3), dtype=np.uint8)


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, depth: int, colour: int, rows: bytes, *extra: bytes) -> bytes:
    """A PNG by hand, for what Pillow cannot write. No `rows` gives a header without pixels."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    pixels = png_chunk(b"IDAT", zlib.compress(rows)) if rows else b""
    return b"".join(
        (b"\x89PNG\r\n\x1a\n", png_chunk(b"IHDR", header), *extra, pixels, png_chunk(b"IEND", b""))
    )


def exif(*entries: tuple[int, int, int, bytes]) -> bytes:
    """EXIF from raw (tag, type, count, value) entries, however wrong."""
    body = b"".join(struct.pack("<HHI", *entry[:3]) + entry[3] for entry in entries)
    return b"Exif\0\0II*\0" + struct.pack("<IH", 8, len(entries)) + body + bytes(4)


def orientation(value: int) -> tuple[int, int, int, bytes]:
    return (0x0112, 3, 1, struct.pack("<HH", value, 0))


class TestFormats:
    @pytest.mark.parametrize("kind", LOSSLESS)
    def test_lossless_formats_give_the_very_pixels(self, kind: str) -> None:
        pixels = noise()
        result = decode(encoded(Image.fromarray(pixels), kind, **LOSSLESS[kind]))
        np.testing.assert_array_equal(result, pixels)

    @pytest.mark.parametrize("progressive", [False, True])
    def test_jpeg_is_near(self, progressive: bool) -> None:
        picture = Image.new("RGB", (40, 24), (200, 30, 90))
        result = decode(encoded(picture, "JPEG", quality=95, progressive=progressive))
        assert result.shape == (24, 40, 3)
        assert np.abs(result.astype(int) - (200, 30, 90)).max() <= 3

    def test_gif(self) -> None:
        assert decode(encoded(Image.new("RGB", (9, 5), BLUE), "GIF"))[4, 8].tolist() == [0, 0, 255]

    @pytest.mark.parametrize("kind", ["GIF", "TIFF", "WEBP", "PNG", "MPO"])
    def test_the_first_frame_stands_for_all(self, kind: str) -> None:
        frames = [Image.new("RGB", (12, 12), colour) for colour in (RED, BLUE)]
        result = decode(encoded(frames[0], kind, save_all=True, append_images=frames[1:]))
        assert np.abs(result.astype(int) - RED).max() <= 2

    @pytest.mark.parametrize("compression", ["tiff_lzw", "tiff_deflate", "packbits"])
    def test_compressed_tiff(self, compression: str) -> None:
        pixels = noise()
        result = decode(encoded(Image.fromarray(pixels), "TIFF", compression=compression))
        np.testing.assert_array_equal(result, pixels)

    @pytest.mark.parametrize("kind", ["PPM", "ICO", "TGA", "EPS", "PDF"])
    def test_formats_beyond_the_list_are_refused(self, kind: str) -> None:
        assert kind not in FORMATS
        with pytest.raises(ImageError, match="not an image of a kind we read"):
            decode(encoded(Image.new("RGB", (16, 16)), kind))


class TestModes:
    def test_palette(self) -> None:
        picture = Image.new("P", (2, 1))
        picture.putpalette([*RED, *BLUE])
        picture.putpixel((1, 0), 1)
        assert decode(encoded(picture, "PNG")).tolist() == [[[255, 0, 0], [0, 0, 255]]]

    @pytest.mark.parametrize("kind", ["PNG", "GIF"])
    def test_transparent_palette_entry_becomes_white(self, kind: str) -> None:
        picture = Image.new("P", (2, 1))
        picture.putpalette([*RED, *BLUE])
        picture.putpixel((1, 0), 1)
        result = decode(encoded(picture, kind, transparency=0))
        assert result.tolist() == [[[255, 255, 255], [0, 0, 255]]]

    def test_palette_with_an_alpha_for_each_entry(self) -> None:
        picture = Image.new("P", (2, 1))
        picture.putpalette([*RED, *BLUE])
        picture.putpixel((1, 0), 1)
        result = decode(encoded(picture, "PNG", transparency=b"\x80\xff"))
        assert result.tolist() == [[[255, 127, 127], [0, 0, 255]]]

    @pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
    def test_rgba_lies_over_white(self, kind: str) -> None:
        pixels = np.array([[[255, 0, 0, 0], [0, 0, 255, 255], [0, 0, 0, 51]]], np.uint8)
        options = {"lossless": True, "exact": True} if kind == "WEBP" else {}
        result = decode(encoded(Image.fromarray(pixels), kind, **options))
        assert result.tolist() == [[[255, 255, 255], [0, 0, 255], [204, 204, 204]]]

    def test_grey_with_alpha_lies_over_white(self) -> None:
        pixels = Image.fromarray(np.array([[[0, 0], [0, 255], [100, 0]]], np.uint8), "LA")
        assert decode(encoded(pixels, "PNG"))[0, :, 0].tolist() == [255, 0, 255]

    def test_grey_with_a_transparent_value(self) -> None:
        key = png_chunk(b"tRNS", struct.pack(">H", 9))
        assert decode(png(2, 1, 8, 0, b"\0\x09\x0a", key))[0, :, 0].tolist() == [255, 10]

    def test_rgb_with_a_transparent_colour(self) -> None:
        key = png_chunk(b"tRNS", struct.pack(">HHH", *RED))
        result = decode(png(2, 1, 8, 2, bytes((0, *RED, *BLUE)), key))
        assert result.tolist() == [[[255, 255, 255], [0, 0, 255]]]

    @pytest.mark.parametrize("kind", ["PNG", "TIFF", "BMP"])
    def test_one_bit(self, kind: str) -> None:
        picture = Image.new("1", (9, 2))
        picture.putpixel((8, 1), 1)
        result = decode(encoded(picture, kind))
        assert (result[0, 0].tolist(), result[1, 8].tolist()) == ([0, 0, 0], [255, 255, 255])

    @pytest.mark.parametrize("kind", ["JPEG", "TIFF"])
    def test_cmyk(self, kind: str) -> None:
        result = decode(encoded(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), kind))
        assert np.abs(result.astype(int) - RED).max() <= 2

    def test_sixteen_bit_grey_is_scaled_and_not_clipped(self) -> None:
        rows = b"\0" + struct.pack(">4H", 65535, 32768, 256, 0)
        result = decode(png(4, 1, 16, 0, rows))
        assert result[0, :, 0].tolist() == [255, 127, 0, 0]
        np.testing.assert_array_equal(result[..., 0], result[..., 2])

    @pytest.mark.parametrize("order", ["<u2", ">u2"])
    def test_sixteen_bit_tiff_of_both_byte_orders(self, order: str) -> None:
        values = np.array([[65535, 32768, 0]], order)
        mode = "I;16" if order == "<u2" else "I;16B"
        picture = Image.frombytes(mode, (3, 1), values.tobytes())
        assert decode(encoded(picture, "TIFF"))[0, :, 0].tolist() == [255, 127, 0]

    def test_sixteen_bit_rgb_png(self) -> None:
        result = decode(png(1, 1, 16, 2, b"\0" + struct.pack(">3H", 65535, 32768, 0)))
        assert result[0, 0].tolist() == [255, 128, 0]

    def test_float_tiff_is_refused_with_the_reason(self) -> None:
        with pytest.raises(ImageError, match="floating-point"):
            decode(encoded(Image.new("F", (3, 3)), "TIFF"))


# The stored picture is ABC over DEF; a viewer shows it so for each orientation tag.
UPRIGHT = {
    1: "ABC DEF",
    2: "CBA FED",
    3: "FED CBA",
    4: "DEF ABC",
    5: "AD BE CF",
    6: "DA EB FC",
    7: "FC EB DA",
    8: "CF BE AD",
}
COLOURS = {
    "A": (210, 10, 10),
    "B": (10, 210, 10),
    "C": (10, 10, 210),
    "D": (50, 250, 250),
    "E": (250, 50, 250),
    "F": (250, 250, 50),
}


def letters(layout: str) -> np.ndarray:
    return np.array([[COLOURS[letter] for letter in row] for row in layout.split()], np.uint8)


class TestExif:
    @pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
    @pytest.mark.parametrize(("tag", "layout"), UPRIGHT.items())
    def test_orientation(self, kind: str, tag: int, layout: str) -> None:
        picture = Image.fromarray(letters("ABC DEF"))
        metadata = Image.Exif()
        metadata[0x0112] = tag
        result = decode(encoded(picture, kind, exif=metadata, **LOSSLESS[kind]))
        np.testing.assert_array_equal(result, letters(layout))

    def test_orientation_of_a_jpeg(self) -> None:
        picture = Image.new("RGB", (64, 32), RED)
        picture.paste(BLUE, (0, 0, 32, 32))  # left half; tag 6 turns it to the top
        result = decode(encoded(picture, "JPEG", exif=exif(orientation(6))))
        assert result.shape == (64, 32, 3)
        assert np.abs(result[8, 16].astype(int) - BLUE).max() < 10

    def test_orientation_of_a_pil_image(self) -> None:
        data = encoded(Image.fromarray(letters("ABC DEF")), "PNG", exif=exif(orientation(6)))
        np.testing.assert_array_equal(decode(Image.open(io.BytesIO(data))), letters("DA EB FC"))

    @pytest.mark.parametrize(
        "metadata",
        [
            pytest.param(b"Exif\0\0", id="empty"),
            pytest.param(b"Exif\0\0garbage!", id="garbage"),
            pytest.param(b"Exif\0\0II*\0", id="cut short"),
            pytest.param(exif(orientation(9)), id="orientation 9"),
            pytest.param(exif((0x0112, 2, 2, b"6\0\0\0")), id="orientation is text"),
            pytest.param(exif((0x8769, 4, 1, struct.pack("<I", 99999))), id="points outside"),
            pytest.param(exif((0x8769, 4, 1, struct.pack("<I", 8))), id="points at itself"),
            pytest.param(exif((0x010F, 2, 0xFFFFFFFF, struct.pack("<I", 26))), id="4 GB tag"),
        ],
    )
    @pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
    def test_damaged_exif_does_not_cost_the_picture(self, kind: str, metadata: bytes) -> None:
        assert decode(encoded(Image.new("RGB", (6, 4)), kind, exif=metadata)).shape == (4, 6, 3)

    @pytest.mark.parametrize(
        "damaged",
        [
            pytest.param((0x0100, 2, 4, b"abc\0"), id="width is text"),
            pytest.param((0x0100, 1, 1, b"a\0\0\0"), id="width is a byte"),
            pytest.param((0x011A, 2, 4, b"abc\0"), id="resolution is text"),
            pytest.param((0x010F, 2, 5000, struct.pack("<I", 90000)), id="maker is outside"),
        ],
    )
    def test_another_damaged_tag_does_not_cost_the_orientation(
        self, damaged: tuple[int, int, int, bytes]
    ) -> None:
        metadata = exif(damaged, orientation(6))
        result = decode(encoded(Image.fromarray(letters("ABC DEF")), "PNG", exif=metadata))
        np.testing.assert_array_equal(result, letters("DA EB FC"))


class TestDamage:
    @pytest.mark.parametrize("kind", FORMATS)
    @pytest.mark.parametrize("share", [0.01, 0.5, 0.9])
    def test_truncated(self, kind: str, share: float) -> None:
        data = encoded(Image.fromarray(noise(60, 60)), kind)
        with pytest.raises(ImageError):
            decode(data[: int(len(data) * share)])

    @pytest.mark.parametrize("kind", ["JPEG", "PNG"])
    def test_half_a_picture_is_called_truncated(self, kind: str) -> None:
        data = encoded(Image.fromarray(noise(60, 60)), kind)
        with pytest.raises(ImageError, match="truncated"):
            decode(data[: len(data) // 2])

    @pytest.mark.parametrize("data", [b"hello\n", b"\x00" * 1000, b"<svg/>", b"%PDF-1.7\n"])
    def test_what_is_no_picture(self, data: bytes, tmp_path: Path) -> None:
        (tmp_path / "picture.jpg").write_bytes(data)
        for source in (data, tmp_path / "picture.jpg"):
            with pytest.raises(ImageError, match="not an image of a kind we read"):
                decode(source)

    def test_empty_file_is_called_empty(self, tmp_path: Path) -> None:
        (tmp_path / "picture.jpg").touch()
        with pytest.raises(ImageError, match="empty"):
            decode(tmp_path / "picture.jpg")
        with pytest.raises(ImageError, match="empty"):
            decode(b"")

    def test_running_out_of_memory_is_not_called_damage(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def exhausted(*_: object, **__: object) -> None:
            raise MemoryError

        data = encoded(Image.new("RGB", (4, 4)), "PNG")
        monkeypatch.setattr(Image.Image, "convert", exhausted)
        monkeypatch.setattr("PIL.ImageFile.ImageFile.load", exhausted)
        with pytest.raises((ImageError, MemoryError)) as caught:
            decode(data)
        assert "damaged" not in str(caught.value)


def header_only(kind: str) -> bytes:
    """A file of some bytes that claims to be 50,000 pixels wide and high."""
    small = encoded(Image.new("RGB", (16, 16)), kind)
    side = 50_000
    if kind == "PNG":
        return png(side, side, 8, 2, b"")
    if kind == "JPEG":
        start = small.index(b"\xff\xc0") + 5
        return small[:start] + struct.pack(">HH", side, side) + small[start + 4 :]
    if kind == "GIF":
        return small[:6] + struct.pack("<HH", side, side) + small[10:]
    if kind == "BMP":
        return small[:18] + struct.pack("<ii", side, side) + small[26:]
    if kind == "TIFF":
        tags = ((256, side), (257, side), (258, 8), (259, 1), (262, 1), (273, 8), (278, side))
        body = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in tags)
        return b"II*\0" + struct.pack("<IH", 8, len(tags)) + body + bytes(4)
    canvas = (16_383 - 1).to_bytes(3, "little")  # the most that WebP can say
    frame = bytes(6) + (15).to_bytes(3, "little") * 2 + bytes(4) + small[12:]
    chunks = b"".join(
        name + struct.pack("<I", len(data)) + data
        for name, data in (
            (b"VP8X", b"\x02\0\0\0" + canvas * 2),
            (b"ANIM", bytes(6)),
            (b"ANMF", frame),
        )
    )
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WEBP" + chunks


MEASURE = """
import sys
from pathlib import Path
from prd_edge.errors import ImageError
from prd_edge.images import decode

def peak_kb():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

for name in sys.argv[1:]:
    before = peak_kb()
    try:
        decode(name)
    except ImageError as error:
        print(Path(name).name, peak_kb() - before, error)
"""


class TestSizeLimits:
    @pytest.mark.parametrize("kind", FORMATS)
    def test_huge_header_is_refused(self, kind: str) -> None:
        with pytest.raises(ImageError, match=r"over the limit of 64,000,000"):
            decode(header_only(kind))

    def test_huge_header_is_refused_before_pixels_are_allocated(self, tmp_path: Path) -> None:
        paths = [tmp_path / kind for kind in FORMATS]
        for path in paths:
            path.write_bytes(header_only(path.name))
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", MEASURE, *map(str, paths)],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
        assert [name for name, *_ in lines] == list(FORMATS)
        assert all(int(grown) < 30_000 for _, grown, _ in lines), done.stdout
        assert all("over the limit" in reason for *_, reason in lines), done.stdout

    @pytest.mark.filterwarnings("error:::PIL")
    @pytest.mark.parametrize("side", [9_100, 12_000], ids=["below the warning", "above it"])
    def test_between_the_limits_of_pillow(self, side: int) -> None:
        assert MAX_PIXELS < side**2 < 2 * Image.MAX_IMAGE_PIXELS
        with pytest.raises(ImageError, match="over the limit"):
            decode(png(side, side, 8, 2, b""))

    def test_pil_image_over_the_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(images, "MAX_PIXELS", 99)
        with pytest.raises(ImageError, match="10 × 10 pixels, over the limit of 99"):
            decode(Image.new("RGB", (10, 10)))

    @pytest.mark.parametrize("shape", [(2000, 2000), (2000, 2000, 3), (2000, 2000, 4)])
    def test_array_over_the_limit_is_refused_before_it_is_copied(
        self, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(images, "MAX_PIXELS", 1_000_000)
        array = np.broadcast_to(np.uint8(0), shape)
        tracemalloc.start()
        try:
            with pytest.raises(ImageError, match="over the limit"):
                decode(array)
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()

    def test_file_over_the_limit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "picture.png"
        path.write_bytes(encoded(Image.new("RGB", (4, 4)), "PNG"))
        monkeypatch.setattr(images, "MAX_FILE_BYTES", 20)
        with pytest.raises(ImageError, match="over the limit of 20"):
            decode(path)

    def test_sparse_file_is_refused_unread(self, tmp_path: Path) -> None:
        path = tmp_path / "picture.png"
        path.touch()
        os.truncate(path, images.MAX_FILE_BYTES + 1)
        with pytest.raises(ImageError, match="over the limit"):
            decode(path)


class TestSources:
    def test_all_sources_agree(self, tmp_path: Path) -> None:
        pixels = noise()
        path = tmp_path / "picture.png"
        Image.fromarray(pixels).save(path)
        data = path.read_bytes()
        picture = Image.fromarray(pixels)
        sources = (path, str(path), data, bytearray(data), memoryview(data), picture, pixels)
        for source in sources:
            result = decode(source)
            assert (result.dtype, result.flags.c_contiguous) == (np.uint8, True)
            np.testing.assert_array_equal(result, pixels)

    def test_grey_and_rgba_arrays(self) -> None:
        assert decode(np.full((2, 3), 7, np.uint8)).tolist() == [[[7, 7, 7]] * 3] * 2
        assert decode(np.array([[[0, 0, 0, 0]]], np.uint8)).tolist() == [[[255, 255, 255]]]

    def test_strided_array(self) -> None:
        pixels = noise()
        flipped = pixels[::-1, ::-2, ::-1]
        result = decode(flipped)
        assert result.flags.c_contiguous
        np.testing.assert_array_equal(result, flipped)

    @pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint16, bool])
    def test_array_of_another_type(self, dtype: type) -> None:
        with pytest.raises(ImageError, match="give uint8"):
            decode(np.zeros((4, 4, 3), dtype))

    @pytest.mark.parametrize("shape", [(), (4,), (4, 4, 2), (3, 9, 9), (1, 4, 4, 3)])
    def test_array_of_another_shape(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(ImageError, match="shape"):
            decode(np.zeros(shape, np.uint8))

    @pytest.mark.parametrize("shape", [(0, 4, 3), (4, 0, 3), (0, 0), (0, 0, 4)])
    def test_array_without_pixels(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(ImageError, match="no pixels"):
            decode(np.zeros(shape, np.uint8))

    def test_pil_image_without_pixels(self) -> None:
        with pytest.raises(ImageError, match="no pixels"):
            decode(Image.new("RGB", (0, 5)))

    def test_truncated_pil_image_is_an_image_error_too(self) -> None:
        data = encoded(Image.fromarray(noise(60, 60)), "JPEG")
        with pytest.raises(ImageError, match="truncated"):
            decode(Image.open(io.BytesIO(data[: len(data) - 200])))

    def test_closed_pil_image(self) -> None:
        picture = Image.new("RGB", (4, 4))
        picture.close()
        with pytest.raises(ImageError):
            decode(picture)

    def test_pil_image_of_a_mode_without_conversion(self) -> None:
        with pytest.raises(ImageError):
            decode(Image.new("La", (4, 4)))

    def test_the_callers_pil_image_is_left_as_it_was(self) -> None:
        picture = Image.new("RGBA", (4, 4), (1, 2, 3, 4))
        decode(picture)
        assert (picture.mode, picture.getpixel((0, 0))) == ("RGBA", (1, 2, 3, 4))

    @pytest.mark.parametrize("source", [None, 5, 1.5, [[1]], {}, object()])
    def test_what_is_no_source(self, source: object) -> None:
        with pytest.raises(ImageError, match=f"from {type(source).__name__}; give a path"):
            decode(source)


class TestFilesThatAreNone:
    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match="No such file"):
            decode(tmp_path / "nothing.jpg")

    @pytest.mark.parametrize("name", ["", "a\0b", "x" * 300, "x/" * 3000])
    def test_impossible_names(self, name: str) -> None:
        with pytest.raises(ImageError):
            decode(name)

    def test_folder(self, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match="a folder, not a picture"):
            decode(tmp_path)

    def test_pipe_does_not_hang(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "picture.png")
        with pytest.raises(ImageError, match="not a regular file"):
            decode(tmp_path / "picture.png")

    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty"])
    def test_device_does_not_hang(self, device: str) -> None:
        with pytest.raises(ImageError):
            decode(device)

    def test_link_to_itself(self, tmp_path: Path) -> None:
        (tmp_path / "picture.png").symlink_to("picture.png")
        with pytest.raises(ImageError):
            decode(tmp_path / "picture.png")
