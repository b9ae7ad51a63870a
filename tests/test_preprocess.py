"""The one preprocessing: any picture becomes two looks at it, the way Pillow would make them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
import pytest
from PIL import Image

from prd_edge.inference import open_graph
from prd_edge.preprocess import Preprocessor, build_onnx

# (height, width)
SHAPES = [
    (1, 1),
    (1, 500),
    (500, 1),
    (2, 3),
    (7, 3000),
    (3000, 7),
    (8, 8),
    (31, 33),
    (32, 32),
    (36, 37),
    (37, 36),
    (224, 224),
    (255, 257),
    (480, 640),
    (641, 481),
    (1000, 40),
]


@pytest.fixture(scope="module")
def to_32() -> Preprocessor:
    return Preprocessor(build_onnx(32))


@pytest.fixture(scope="module")
def to_224() -> Preprocessor:
    return Preprocessor(build_onnx(224))


def noise(height: int, width: int, seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)


def scene(height: int, width: int) -> np.ndarray:
    """Smooth slopes with hard edges and saturated corners, where filters differ most."""
    y, x = np.mgrid[0:height, 0:width]
    red = 255 * x / max(width - 1, 1)
    green = 127.5 + 127.5 * np.sin(y / 9.0 + x / 17.0)
    blue = 255 * ((x // 13 + y // 11) % 2)
    return np.stack([red, green, blue], axis=2).astype(np.uint8)


def by_pillow(image: np.ndarray, size: int) -> np.ndarray:
    """The slow reference: the central square and its mirrored middle, scaled by Pillow."""
    whole, near = square_of(image, 8, size), square_of(image, 5, size)
    return np.stack([whole, near[:, ::-1]])


def square_of(image: np.ndarray, eighths: int, size: int) -> np.ndarray:
    height, width, _ = image.shape
    side = -(-eighths * min(height, width) // 8)  # rounded up
    top, left = (height - side) // 2, (width - side) // 2
    crop = Image.fromarray(image[top : top + side, left : left + side])
    return np.asarray(crop.resize((size, size), Image.Resampling.BICUBIC))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_becomes_two_squares(to_32: Preprocessor, shape: tuple[int, int]) -> None:
    looks = to_32(noise(*shape))
    assert (looks.shape, looks.dtype) == ((2, 32, 32, 3), np.uint8)


@pytest.mark.parametrize("short", range(1, 40))
def test_the_side_is_never_zero_and_never_beyond_the_picture(
    to_32: Preprocessor, short: int
) -> None:
    assert to_32(np.full((short, short + 1, 3), 90, np.uint8)).shape == (2, 32, 32, 3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("make", [noise, scene])
def test_it_agrees_with_pillow(
    to_32: Preprocessor, make: Callable[[int, int], np.ndarray], shape: tuple[int, int]
) -> None:
    image = make(*shape)
    difference = np.abs(to_32(image).astype(int) - by_pillow(image, 32))
    assert difference.max() <= 3


@pytest.mark.parametrize("shape", [(480, 640), (100, 90), (256, 256), (641, 481)])
def test_it_agrees_with_pillow_at_full_size(to_224: Preprocessor, shape: tuple[int, int]) -> None:
    image = scene(*shape)
    difference = np.abs(to_224(image).astype(int) - by_pillow(image, 224))
    assert difference.max() <= 3


@pytest.mark.parametrize("value", [0, 1, 127, 254, 255])
def test_flat_pictures_stay_flat(to_32: Preprocessor, value: int) -> None:
    assert set(to_32(np.full((100, 70, 3), value, np.uint8)).ravel().tolist()) == {value}


def test_colours_do_not_change_places(to_32: Preprocessor) -> None:
    assert to_32(np.full((50, 60, 3), (250, 100, 5), np.uint8))[0, 7, 9].tolist() == [250, 100, 5]


@pytest.mark.parametrize(
    ("look", "rows", "columns"),
    [(0, slice(0, 64), slice(32, 96)), (1, slice(12, 52), slice(44, 84))],
)
def test_only_the_centre_counts(
    to_32: Preprocessor, look: int, rows: slice, columns: slice
) -> None:
    """Of 64 × 128 the central square has 64 pixels a side, its middle 40."""
    image = noise(64, 128)
    framed = np.zeros_like(image)
    framed[rows, columns] = image[rows, columns]
    np.testing.assert_array_equal(to_32(image)[look], to_32(framed)[look])
    framed[rows.start, columns.start] ^= 255
    assert (to_32(image)[look] != to_32(framed)[look]).any()


@pytest.mark.parametrize("shape", [(1, 1), (48, 40), (300, 200)])
def test_a_batch_changes_nothing(to_32: Preprocessor, shape: tuple[int, int]) -> None:
    images = np.stack([noise(*shape, seed=seed) for seed in range(3)])
    graph = open_graph(build_onnx(32), "preprocess.onnx", threads=2)
    (together,) = graph.run(["square"], {"image": images})
    alone = np.concatenate([to_32(image) for image in images])
    np.testing.assert_array_equal(together, alone)


def test_the_caller_keeps_the_picture(to_32: Preprocessor) -> None:
    image = noise(40, 40)
    image.flags.writeable = False
    before = image.copy()
    to_32(image)
    np.testing.assert_array_equal(image, before)


@pytest.mark.parametrize("size", [32, 224])
def test_the_graph_is_the_same_bytes_each_time(size: int) -> None:
    assert build_onnx(size) == build_onnx(size)


def test_the_graph_is_a_valid_small_model_without_outside_data() -> None:
    data = build_onnx(96)
    model = onnx.load_from_string(data)
    onnx.checker.check_model(model, full_check=True)
    assert len(data) < 4000
    assert build_onnx(96) != build_onnx(128)
    assert not any(tensor.external_data for tensor in model.graph.initializer)
