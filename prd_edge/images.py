"""The one guarded decode: whatever is given becomes uint8 RGB (H, W, 3), or an `ImageError`.

The header is checked before any pixel is allocated. The orientation tag is applied, the first
frame stands for an animation, transparency is laid over white, 16 bits are scaled to 8.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from PIL import Image, UnidentifiedImageError

from prd_edge.errors import ImageError
from prd_edge.jpeg_bombs import refuse_jpeg_bomb

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
MAX_PIXELS = 64_000_000
MAX_FILE_BYTES = 512 * 2**20

_WHITE = (255, 255, 255)
_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_DEEP_MODES = ("I", "I;16", "I;16B", "I;16L", "I;16N")


def decode(source: object) -> NDArray[np.uint8]:
    """Decode a path, bytes, a PIL image or an array. The error says why, the caller knows what."""
    if isinstance(source, np.ndarray):
        return _check_array(source)
    if isinstance(source, Image.Image):
        return _explained(lambda: _guarded(source))
    if isinstance(source, bytes | bytearray | memoryview):
        return _open(io.BytesIO(source))
    if isinstance(source, str | os.PathLike):
        return _decode_file(Path(source))
    raise ImageError(
        f"cannot read an image from {type(source).__name__}; "
        "give a path, bytes, a PIL image or a uint8 array"
    )


def decode_named(source: object) -> NDArray[np.uint8]:
    """The same, and the error names the file where there is one."""
    try:
        return decode(source)
    except ImageError as error:
        name = name_of(source)
        raise ImageError(f"{name}: {error}" if name else str(error)) from error


def name_of(source: object) -> str | None:
    return os.fspath(source) if isinstance(source, str | os.PathLike) else None


def owned(source: object) -> object:
    """A source that will not change before it is decoded: a camera may fill its array anew."""
    return source.copy() if isinstance(source, np.ndarray) else source


def _decode_file(path: Path) -> NDArray[np.uint8]:
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise ImageError("a folder, not a picture")
        if not stat.S_ISREG(status.st_mode):  # a pipe or device could block for ever
            raise ImageError("not a regular file")
        if status.st_size > MAX_FILE_BYTES:
            raise ImageError(f"{status.st_size:,} bytes, over the limit of {MAX_FILE_BYTES:,}")
        with path.open("rb") as stream:
            return _open(stream)
    except (OSError, ValueError) as error:
        raise ImageError(getattr(error, "strerror", None) or str(error)) from error


def _open(stream: IO[bytes]) -> NDArray[np.uint8]:
    def read() -> NDArray[np.uint8]:
        refuse_jpeg_bomb(stream)
        with Image.open(stream, formats=FORMATS) as image:
            return _guarded(image)

    try:
        return _explained(read)
    except UnidentifiedImageError:
        if stream.seek(0, io.SEEK_END) == 0:
            raise ImageError("the file is empty") from None
        raise ImageError(f"not an image of a kind we read ({', '.join(FORMATS)})") from None


def _explained(read: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
    try:
        return read()
    except (ImageError, UnidentifiedImageError):
        raise
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ImageError(f"over the limit of {MAX_PIXELS:,} pixels; scale it down") from None
    except MemoryError:
        raise ImageError("not enough memory to decode it; scale it down") from None
    except Exception as error:  # decoders raise many kinds on damaged data
        raise ImageError(f"damaged or truncated ({error})") from error


def _guarded(image: Image.Image) -> NDArray[np.uint8]:
    _check_size(*image.size)
    image.load()
    return np.asarray(_upright(_to_rgb(image), image))


def _check_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise ImageError(
            f"{width} × {height} pixels, over the limit of {MAX_PIXELS:,}; scale it down"
        )
    if width * height == 0:
        raise ImageError("the image has no pixels")


def _upright(pixels: Image.Image, original: Image.Image) -> Image.Image:
    try:
        turn = _TURNS.get(original.getexif().get(_ORIENTATION, 1))
    except Exception:  # damaged metadata must not cost a good picture
        turn = None
    return pixels if turn is None else pixels.transpose(turn)


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode in _DEEP_MODES:
        deep = np.asarray(image)
        return Image.fromarray((np.clip(deep, 0, 65535) // 257).astype(np.uint8)).convert("RGB")
    if image.mode == "F":
        raise ImageError("floating-point pixels have no fixed range; save it as 8 bits")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        canvas = Image.new("RGB", layer.size, _WHITE)
        canvas.paste(layer, mask=layer)
        return canvas
    return image if image.mode == "RGB" else image.convert("RGB")


def _check_array(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if array.dtype != np.uint8:
        raise ImageError(f"array of {array.dtype}; give uint8 with values from 0 to 255")
    if array.ndim not in (2, 3) or array.shape[2:] not in ((), (3,), (4,)):
        raise ImageError(f"array of shape {array.shape}; give (H, W, 3), RGB")
    _check_size(array.shape[1], array.shape[0])
    if array.ndim == 2:
        return np.repeat(array[:, :, None], 3, axis=2)
    if array.shape[2] == 4:
        return np.asarray(_to_rgb(Image.fromarray(array)))
    return np.ascontiguousarray(array)
