"""Images become embeddings once each: what is skipped, what counts twice, what is held out."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prd_edge.embedder import Embedder
from prd_edge.encoders import build_encoder
from prd_edge.errors import Cancelled, InvalidInputError, NoUsableDataError
from prd_edge.harvest import Harvest, Progress, harvest
from prd_edge.preprocess import build_onnx
from prd_edge.session import Session


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    built = build_encoder(image_size=32)
    return Embedder(build_onnx(32), lambda: built.graph, threads=2)


def picture(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (24, 30, 3), dtype=np.uint8)


def folder(root: Path, **classes: list[int]) -> Path:
    """Pictures by seed: the same seed is the same picture."""
    for label, seeds in classes.items():
        (root / label).mkdir(parents=True)
        for number, seed in enumerate(seeds):
            Image.fromarray(picture(seed)).save(root / label / f"{number}.png")
    return root


def reasons(found: Harvest) -> dict[str, str]:
    return {entry.name: entry.reason for entry in found.skipped}


def test_each_image_has_its_embedding_and_label(embedder: Embedder, tmp_path: Path) -> None:
    root = folder(tmp_path / "data", cup=[1, 2], mug=[3])
    found = harvest(Session.open(root), embedder)
    assert found.labels == ("cup", "cup", "mug")
    assert found.counts() == {"cup": 2, "mug": 1}
    assert (found.embeddings.shape, found.embeddings.dtype) == ((3, 2768), np.float32)
    assert (found.skipped, found.duplicates) == ((), 0)
    for row, seed in enumerate((1, 2, 3)):
        np.testing.assert_array_equal(
            found.embeddings[row], embedder.embed_among_many(picture(seed))
        )


class TestSkipped:
    def test_unreadable_files_are_named_with_the_reason(
        self, embedder: Embedder, tmp_path: Path
    ) -> None:
        root = folder(tmp_path / "data", cup=[1], mug=[2])
        (root / "cup/notes.txt").write_text("a text")
        (root / "cup/empty.jpg").touch()
        (root / "mug/gone.jpg").symlink_to("nowhere")
        found = harvest(Session.open(root), embedder)
        assert found.labels == ("cup", "mug")
        assert "not an image" in reasons(found)["cup/notes.txt"]
        assert "empty" in reasons(found)["cup/empty.jpg"]
        assert "No such file" in reasons(found)["mug/gone.jpg"]

    def test_what_the_session_skipped_is_named_too(
        self, embedder: Embedder, tmp_path: Path
    ) -> None:
        root = folder(tmp_path / "data", cup=[1])
        (root / "readme.txt").touch()
        assert [*reasons(harvest(Session.open(root), embedder))] == ["readme.txt"]

    def test_a_broken_pil_image_is_skipped_like_any_other(self, embedder: Embedder) -> None:
        stream = io.BytesIO()
        Image.fromarray(picture(1)).save(stream, "JPEG")
        broken = Image.open(io.BytesIO(stream.getvalue()[:-60]))
        found = harvest(Session.open([(broken, "cup"), (picture(2), "cup")]), embedder)
        assert found.counts() == {"cup": 1}
        assert [*reasons(found)] == ["item 0"]


class TestDuplicates:
    def test_the_same_picture_counts_once(self, embedder: Embedder, tmp_path: Path) -> None:
        root = folder(tmp_path / "data", cup=[1, 2, 1, 1])
        found = harvest(Session.open(root), embedder)
        assert (found.counts(), found.duplicates) == ({"cup": 2}, 2)

    def test_the_same_pixels_in_another_file_format_are_the_same(self, embedder: Embedder) -> None:
        files = []
        for kind in ("PNG", "BMP", "TIFF"):
            stream = io.BytesIO()
            Image.fromarray(picture(1)).save(stream, kind)
            files.append(stream.getvalue())
        found = harvest(Session.open([(data, "cup") for data in files]), embedder)
        assert (found.counts(), found.duplicates) == ({"cup": 1}, 2)

    def test_the_same_bytes_in_another_shape_are_not(self, embedder: Embedder) -> None:
        wide = picture(1)
        tall = wide.reshape(wide.shape[1], wide.shape[0], 3)
        found = harvest(Session.open([(wide, "cup"), (tall, "cup")]), embedder)
        assert (found.counts(), found.duplicates) == ({"cup": 2}, 0)

    def test_a_picture_under_two_classes_is_skipped_in_both_and_named(
        self, embedder: Embedder, tmp_path: Path
    ) -> None:
        root = folder(tmp_path / "data", cup=[1, 9], mug=[9, 2])
        found = harvest(Session.open(root), embedder)
        assert found.counts() == {"cup": 1, "mug": 1}
        reason = "the same picture is in cup and mug"
        assert reasons(found) == {"cup/1.png": reason, "mug/0.png": reason}

    def test_every_file_is_accounted_for(self, embedder: Embedder, tmp_path: Path) -> None:
        root = folder(tmp_path / "data", a=[1, 9, 9], b=[2, 9], c=[3, 9, 3])
        (root / "c/broken.png").write_text("no")
        found = harvest(Session.open(root), embedder)
        assert found.counts() == {"a": 1, "b": 1, "c": 1}
        assert len(found.labels) + len(found.skipped) + found.duplicates == 9
        assert "a and b and c" in reasons(found)["a/1.png"]


class TestRefused:
    def test_a_class_without_usable_image_is_named(
        self, embedder: Embedder, tmp_path: Path
    ) -> None:
        root = folder(tmp_path / "data", cup=[1], mug=[])
        (root / "mug/a.jpg").write_text("no picture")
        with pytest.raises(NoUsableDataError, match=r"class 'mug' has no usable image.*mug/a\.jpg"):
            harvest(Session.open(root), embedder)

    def test_the_problem_told_is_one_of_that_class(
        self, embedder: Embedder, tmp_path: Path
    ) -> None:
        root = folder(tmp_path / "data", cup=[1], mug=[])
        (root / "about.txt").touch()
        (root / "cup/odd.jpg").write_text("no picture")
        (root / "mug/a.jpg").write_text("no picture")
        with pytest.raises(NoUsableDataError, match=r"mug/a\.jpg"):
            harvest(Session.open(root), embedder)

    def test_a_class_of_shared_pictures_alone(self, embedder: Embedder, tmp_path: Path) -> None:
        root = folder(tmp_path / "data", cup=[1, 2], mug=[2])
        with pytest.raises(NoUsableDataError, match=r"class 'mug'.*same picture is in cup and mug"):
            harvest(Session.open(root), embedder)

    def test_a_class_without_usable_image_in_an_iterable(self, embedder: Embedder) -> None:
        pairs = [(picture(1), "cup"), (b"no picture", "mug")]
        with pytest.raises(NoUsableDataError, match="class 'mug'"):
            harvest(Session.open(pairs), embedder)

    @pytest.mark.parametrize("pairs", [[], [(b"no picture", "cup")]])
    def test_nothing_usable_at_all(
        self, embedder: Embedder, pairs: list[tuple[object, str]]
    ) -> None:
        with pytest.raises(NoUsableDataError, match="no usable image"):
            harvest(Session.open(pairs), embedder)

    def test_a_malformed_pair_stops_with_its_position(self, embedder: Embedder) -> None:
        pairs = [(picture(1), "cup"), (picture(2),)]
        with pytest.raises(InvalidInputError, match="item 1"):
            harvest(Session.open(pairs), embedder)  # type: ignore[arg-type]

    def test_an_error_of_the_callers_own_iterable_comes_through(self, embedder: Embedder) -> None:
        def pairs() -> Iterator[tuple[object, str]]:
            yield picture(1), "cup"
            raise FileNotFoundError("camera unplugged")

        with pytest.raises(FileNotFoundError, match="camera unplugged"):
            harvest(Session.open(pairs()), embedder)


def harvested(labels: list[str], digests: list[int], series: list[int] | None = None) -> Harvest:
    return Harvest(
        embeddings=np.zeros((len(labels), 2), np.float32),
        labels=tuple(labels),
        digests=tuple(digest.to_bytes(4, "big") for digest in digests),
        skipped=(),
        duplicates=0,
        rows=np.arange(len(labels)),
        series=np.array(series if series else range(len(labels))),
    )


class TestHoldout:
    def test_a_series_goes_whole(self) -> None:
        series = [0, 0, 0, *range(3, 10)]
        held = harvested(["cup"] * 10, [*range(10)], series).holdout(0.1)
        assert np.flatnonzero(held).tolist() == [0, 1, 2]

    def test_most_of_a_class_is_left_to_learn_from(self) -> None:
        held = harvested(["cup"] * 10, [*range(10)], [0] * 10).holdout(0.2)
        assert held.sum() == 4

    @pytest.mark.parametrize("count", [1, 2, 3, 4])
    @pytest.mark.parametrize("fraction", [0.2, 0.99])
    def test_small_classes_give_none_away(self, count: int, fraction: float) -> None:
        assert not harvested(["cup"] * count, [*range(count)]).holdout(fraction).any()

    @pytest.mark.parametrize(
        ("count", "fraction", "expected"),
        [(5, 0.2, 1), (9, 0.2, 1), (10, 0.2, 2), (10, 0.5, 5), (100, 0.3, 30), (5, 0.99, 4)],
    )
    def test_the_share(self, count: int, fraction: float, expected: int) -> None:
        held = harvested(["cup"] * count, [*range(count)]).holdout(fraction)
        assert held.sum() == expected

    def test_nothing_is_held_out_by_zero(self) -> None:
        assert not harvested(["cup"] * 50, [*range(50)]).holdout(0.0).any()

    def test_each_class_gives_its_own_share(self) -> None:
        labels = ["a"] * 10 + ["b"] * 20 + ["c"] * 3
        held = harvested(labels, [*range(33)]).holdout(0.2)
        assert [int(held[s].sum()) for s in (slice(10), slice(10, 30), slice(30, 33))] == [2, 4, 0]

    def test_content_decides_and_not_the_order(self) -> None:
        digests = [*np.random.default_rng(0).permutation(1000)[:40].tolist()]
        found = harvested(["cup"] * 40, digests)
        turned = harvested(["cup"] * 40, digests[::-1])
        np.testing.assert_array_equal(found.holdout(0.3), turned.holdout(0.3)[::-1])

    def test_file_names_do_not_matter(self, embedder: Embedder, tmp_path: Path) -> None:
        one = folder(tmp_path / "one", cup=[1, 2, 3, 4, 5, 6], mug=[11, 12, 13, 14, 15])
        other = folder(tmp_path / "two", mug=[13, 15, 11, 12, 14], cup=[6, 4, 1, 3, 5, 2])
        held = []
        for root in (one, other):
            found = harvest(Session.open(root), embedder)
            held.append({found.digests[i] for i in np.flatnonzero(found.holdout(0.4))})
        assert held[0] == held[1]
        assert len(held[0]) == 4


class TestProgress:
    def test_every_image_is_reported(self, embedder: Embedder, tmp_path: Path) -> None:
        root = folder(tmp_path / "data", cup=[1, 2, 1])
        (root / "cup/broken.png").touch()
        steps: list[Progress] = []
        harvest(Session.open(root), embedder, on_progress=steps.append)
        assert [step.done for step in steps] == [1, 2, 3, 4]
        assert {(step.stage, step.total) for step in steps} == {("reading images", 4)}

    def test_the_total_is_unknown_for_a_generator(self, embedder: Embedder) -> None:
        steps: list[Progress] = []
        pairs = ((picture(n), "cup") for n in range(2))
        harvest(Session.open(pairs), embedder, on_progress=steps.append)
        assert [(step.done, step.total) for step in steps] == [(1, None), (2, None)]

    def test_cancel_stops_early(self, embedder: Embedder) -> None:
        cancel = threading.Event()
        read = []

        def pairs() -> Iterator[tuple[np.ndarray, str]]:
            for n in range(1000):
                read.append(n)
                yield picture(n), "cup"

        def stop_after_three(step: Progress) -> None:
            if step.done == 3:
                cancel.set()

        with pytest.raises(Cancelled, match="nothing was changed"):
            harvest(Session.open(pairs()), embedder, on_progress=stop_after_three, cancel=cancel)
        assert len(read) < 50

    def test_an_iterable_is_read_as_it_is_needed(self, embedder: Embedder) -> None:
        ahead = []
        read = 0

        def pairs() -> Iterator[tuple[np.ndarray, str]]:
            nonlocal read
            for n in range(60):
                read += 1
                yield picture(n), "cup"

        harvest(
            Session.open(pairs()),
            embedder,
            on_progress=lambda step: ahead.append(read - step.done),
        )
        assert max(ahead) < 20, "memory must not grow with the session"
        assert ahead[-1] == 0

    def test_no_thread_is_left_behind(self, embedder: Embedder) -> None:
        with pytest.raises(InvalidInputError):
            harvest(Session.open([(picture(1), "cup")] * 30 + [None]), embedder)  # type: ignore[list-item]
        names = [thread.name for thread in threading.enumerate()]
        assert not [name for name in names if name.startswith("prd-edge")]
