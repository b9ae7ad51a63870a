"""The one guarded decode: whatever is given becomes uint8 RGB (H, W, 3), or an `ImageError`.

The header is checked before any pixel is allocated. The orientation tag is applied, the first
frame stands for an animation, transparency is laid over white, 16 bits are scaled to 8.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from prd_edge.errors import ImageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF")
MAX_PIXELS = 80_000_000
MAX_FILE_BYTES = 512 * 2**20

_WHITE = (255, 255, 255, 255)
_DEEP_MODES = ("I", "I;16", "I;16B", "I;16L", "I;16N")


def decode(source: object) -> NDArray[np.uint8]:
    """Decode a path, bytes, a PIL image or an array. The error says why, the caller knows what."""
    if isinstance(source, np.ndarray):
        return _check_array(source)
    if isinstance(source, Image.Image):
        return _guarded(source)
    if isinstance(source, bytes | bytearray | memoryview):
        return _open(io.BytesIO(source))
    if isinstance(source, str | os.PathLike):
        return _decode_file(Path(source))
    raise ImageError(
        f"cannot read an image from {type(source).__name__}; "
        "give a path, bytes, a PIL image or a uint8 array"
    )


def _decode_file(path: Path) -> NDArray[np.uint8]:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # a pipe or device could block for ever
            raise ImageError("not a regular file")
        if status.st_size > MAX_FILE_BYTES:
            raise ImageError(f"{status.st_size:,} bytes, over the limit of {MAX_FILE_BYTES:,}")
        with path.open("rb") as stream:
            return _open(stream)
    except (OSError, ValueError) as error:
        raise ImageError(getattr(error, "strerror", None) or str(error)) from error


def _open(stream: IO[bytes]) -> NDArray[np.uint8]:
    try:
        with Image.open(stream, formats=FORMATS) as image:
            return _guarded(image)
    except ImageError:
        raise
    except UnidentifiedImageError:
        if stream.seek(0, io.SEEK_END) == 0:
            raise ImageError("the file is empty") from None
        raise ImageError(f"not an image of a kind we read ({', '.join(FORMATS)})") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise ImageError(f"over the limit of {MAX_PIXELS:,} pixels; scale it down") from None
    except Exception as error:  # decoders raise many kinds on damaged data
        raise ImageError(f"damaged or truncated ({error})") from error


def _guarded(image: Image.Image) -> NDArray[np.uint8]:
    width, height = image.size
    if width * height > MAX_PIXELS:
        raise ImageError(
            f"{width} × {height} pixels, over the limit of {MAX_PIXELS:,}; scale it down"
        )
    if width == 0 or height == 0:
        raise ImageError("the image has no pixels")
    image.load()
    return np.asarray(_to_rgb(_upright(image)))


def _upright(image: Image.Image) -> Image.Image:
    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # damaged metadata must not cost a good picture
        return image


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    if image.mode in _DEEP_MODES:
        deep = np.asarray(image)
        return Image.fromarray((np.clip(deep, 0, 65535) // 257).astype(np.uint8)).convert("RGB")
    if image.mode == "F":
        raise ImageError("floating-point pixels have no fixed range; save it as 8 bits")
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        canvas = Image.new("RGBA", layer.size, _WHITE)
        return Image.alpha_composite(canvas, layer).convert("RGB")
    return image.convert("RGB")


def _check_array(array: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if array.dtype != np.uint8:
        raise ImageError(f"array of {array.dtype}; give uint8 with values from 0 to 255")
    if array.ndim == 2:
        array = np.repeat(array[:, :, None], 3, axis=2)
    if array.ndim != 3 or array.shape[2] not in (3, 4):
        raise ImageError(f"array of shape {array.shape}; give (H, W, 3), RGB")
    height, width, channels = array.shape
    if height * width > MAX_PIXELS:
        raise ImageError(f"{width} × {height} pixels, over the limit of {MAX_PIXELS:,}")
    if height * width == 0:
        raise ImageError("the image has no pixels")
    if channels == 4:
        return np.asarray(_to_rgb(Image.fromarray(array)))
    return np.ascontiguousarray(array)
