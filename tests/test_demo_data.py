"""The embedded demo pictures: what is written where, and that they are what they claim."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prd_edge.demo_data import (
    CLASSES,
    RETURNING,
    SESSION_1,
    SESSION_2,
    DemoData,
    sample_images,
    write_demo_data,
    write_session,
)
from prd_edge.demo_data.objects import OBJECTS
from prd_edge.errors import InvalidInputError


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoData:
    target = tmp_path_factory.mktemp("demo") / "data"
    return write_demo_data(target, train_per_class=2, test_per_class=1)


def jpegs(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*.jpg"))}


def class_names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_layout_has_one_folder_per_split_and_class(demo: DemoData) -> None:
    assert class_names(demo.session_1) == set(SESSION_1)
    assert class_names(demo.session_2) == set(SESSION_2)
    assert class_names(demo.test) == set(CLASSES) == set(OBJECTS)
    for folder, count in ((demo.session_1, 2), (demo.session_2, 2), (demo.test, 1)):
        assert all(len(jpegs(path)) == count for path in folder.iterdir())
    assert demo.images == len(jpegs(demo.test.parent)) == 2 * 14 + 13


def test_a_part_of_a_session_is_drawn_alone(demo: DemoData, tmp_path: Path) -> None:
    session = write_session(tmp_path, SESSION_1[1:3], 1)
    assert class_names(session) == set(SESSION_1[1:3])
    whole = jpegs(demo.session_1)
    assert jpegs(session) == {f"{n}/{n}-000.jpg": whole[f"{n}/{n}-000.jpg"] for n in SESSION_1[1:3]}


def test_session_2_brings_one_known_class_back_with_fresh_images(demo: DemoData) -> None:
    assert set(SESSION_1) & set(SESSION_2) == {RETURNING}
    before = set(jpegs(demo.session_1 / RETURNING).values())
    assert before.isdisjoint(jpegs(demo.session_2 / RETURNING).values())


def test_every_file_is_an_rgb_jpeg_with_a_picture_in_it(demo: DemoData) -> None:
    sizes = set()
    for path in demo.test.parent.rglob("*.*"):
        with Image.open(path) as image:
            assert (image.format, image.mode) == ("JPEG", "RGB")
            assert 180 <= min(image.size) <= max(image.size) <= 256
            assert np.asarray(image).std() > 4
            sizes.add(image.size)
    assert len(sizes) > 3


def test_no_test_image_is_a_training_image(demo: DemoData) -> None:
    everything = list(jpegs(demo.test.parent).values())
    assert len(set(everything)) == len(everything)


def test_same_seed_gives_the_same_pictures_however_many_are_drawn(
    demo: DemoData, tmp_path: Path
) -> None:
    steps: list[tuple[int, int]] = []
    fewer = write_demo_data(
        tmp_path, train_per_class=1, test_per_class=1, on_progress=lambda *step: steps.append(step)
    )
    assert steps == [(done, fewer.images) for done in range(1, fewer.images + 1)]
    first, again = jpegs(demo.test.parent), jpegs(tmp_path)
    assert len(again) == fewer.images
    assert all(first[name] == picture for name, picture in again.items())


def test_another_seed_gives_other_pictures(demo: DemoData, tmp_path: Path) -> None:
    write_demo_data(tmp_path, seed=1, train_per_class=1, test_per_class=1)
    assert set(jpegs(demo.test.parent).values()).isdisjoint(jpegs(tmp_path).values())


def test_refuses_a_folder_with_something_in_it(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(InvalidInputError, match="not an empty folder") as caught:
        write_demo_data(tmp_path)
    assert str(tmp_path) in str(caught.value)
    assert class_names(tmp_path) == {"mine.txt"}


def test_refuses_a_target_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("keep me")
    with pytest.raises(InvalidInputError, match="not an empty folder"):
        write_demo_data(tmp_path / "file")


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"train_per_class": 0}, {"test_per_class": 0}])
def test_refuses_numbers_that_make_no_data(tmp_path: Path, wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        write_demo_data(tmp_path / "data", **wrong)


def test_a_full_disk_is_a_clear_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", no_space)
    with pytest.raises(InvalidInputError, match="No space left on device") as caught:
        write_demo_data(tmp_path / "data")
    assert str(tmp_path / "data") in str(caught.value)


def test_samples_are_rgb_arrays_of_different_sizes() -> None:
    samples = sample_images(5)
    assert all(image.dtype == np.uint8 and image.shape[2] == 3 for image in samples)
    assert len({image.shape for image in samples}) == 5
    again = sample_images(5)
    assert all(np.array_equal(one, other) for one, other in zip(samples, again, strict=True))
    assert not np.array_equal(samples[0], sample_images(1, seed=1)[0])


def test_import_stays_light() -> None:
    code = "import sys, prd_edge.demo_data; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "onnx", "onnxruntime", "matplotlib"} & set(loaded)
