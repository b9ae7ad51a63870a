"""The API as an app uses it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import numpy as np
import pytest
from PIL import Image

import prd_edge
from prd_edge import PrdEdgeError, Progress, Runtime, StoreConfig
from prd_edge.errors import Cancelled, ImageError, InvalidInputError, NoUsableDataError, StoreError
from prd_edge.evaluate import evaluate
from prd_edge.model import load_knowledge, load_predictor
from prd_edge.store import Store
from tests.conftest import COLOURS, TINY, picture, write_session


def test_the_store_is_made_on_first_use(tmp_path: Path, session: Path) -> None:
    runtime = Runtime.open(tmp_path / "store", config=TINY)
    report = runtime.learn_session(session)
    assert report.version == "000002"
    assert report.added == {"blue": 6, "green": 6, "red": 6}
    assert runtime.classes() == {"blue": 6, "green": 6, "red": 6}
    for label, colour in COLOURS.items():
        assert runtime.predict(picture(colour, 77)).label == label


def test_a_session_reports_what_it_did(taught: Path, tmp_path: Path) -> None:
    data = write_session(tmp_path / "more", start=50, images=10)
    (data / "red/broken.jpg").write_bytes(b"nothing")
    (data / "notes.txt").write_text("mine")
    (data / "blue/copy.png").write_bytes((data / "blue/50.png").read_bytes())
    steps: list[Progress] = []
    report = Runtime.open(taught).learn_session(data, on_progress=steps.append)
    assert report.added == {}
    assert report.updated == {"blue": 10, "green": 10, "red": 10}
    assert report.images_used == 30
    assert report.duplicates == 1
    assert {s.name for s in report.skipped} == {"notes.txt", "red/broken.jpg"}
    assert report.holdout_images == 6
    assert report.holdout_accuracy == 1.0
    assert report.holdout_accuracy_before == 1.0
    assert report.drift.keys() == {"blue", "green", "red"}
    assert [step.done for step in steps] == list(range(1, 33))
    assert steps[-1].total == 32
    kept = Runtime.open(taught).history()[-1].metrics
    assert kept["images_used"] == 30
    assert "broken" not in str(kept)  # figures only, no names of files


def test_sessions_in_any_order_end_in_the_same_bank(tmp_path: Path) -> None:
    parts = [
        write_session(tmp_path / "a", classes=("blue",)),
        write_session(tmp_path / "b", classes=("green", "red")),
        write_session(tmp_path / "c", classes=("blue", "red"), start=6),
    ]

    def bank(name: str, order: list[int]) -> dict[str, bytes]:
        runtime = Runtime.open(tmp_path / name, config=TINY)
        for index in order:
            runtime.learn_session(parts[index])
        known = load_knowledge(runtime.store.live())
        tensors = {**known.bank.prototype_tensors(), **known.bank.covariance_tensors()}
        del tensors["radii"]  # fitted on each session, as the temperature is
        return {
            **{key: tensor.tobytes() for key, tensor in tensors.items()},
            "weights": known.readout.weights.tobytes(),
        }

    assert bank("x", [0, 1, 2]) == bank("y", [2, 1, 0])


def test_every_kind_of_source_gives_the_same_answer(taught: Path, tmp_path: Path) -> None:
    runtime = Runtime.open(taught)
    array = picture(COLOURS["red"], 5)
    path = tmp_path / "picture.png"
    Image.fromarray(array).save(path)
    sources = [array, path, str(path), path.read_bytes(), Image.open(path)]
    answers = [runtime.predict(source) for source in sources]
    assert {answer.label for answer in answers} == {"red"}
    assert len({answer.top_k for answer in answers}) == 1
    many = list(runtime.predict_many(sources))
    np.testing.assert_allclose(
        [answer.confidence for answer in many], answers[0].confidence, atol=1e-5
    )


def test_many_answers_come_in_order_and_name_what_cannot_be_read(
    taught: Path, tmp_path: Path
) -> None:
    labels = [list(COLOURS)[i % 3] for i in range(40)]
    sources: list[object] = [picture(COLOURS[label], i) for i, label in enumerate(labels)]
    sources[7] = tmp_path / "missing.jpg"
    answers = list(Runtime.open(taught, threads=2).predict_many(iter(sources)))
    labels[7] = None  # type: ignore[call-overload]
    assert [answer.label for answer in answers] == labels
    assert answers[7].error == "No such file or directory"
    assert answers[7].unknown is False


def test_predict_many_looks_only_a_little_ahead(taught: Path) -> None:
    drawn = 0

    def endless():
        nonlocal drawn
        while True:
            drawn += 1
            yield picture(COLOURS["blue"], drawn)

    answers = Runtime.open(taught, threads=2).predict_many(endless())
    for _ in range(3):
        next(answers)
    assert drawn < 20


def test_below_the_threshold_the_answer_is_unknown(taught: Path) -> None:
    runtime = Runtime.open(taught)
    between = picture((120, 110, 120), 3)
    sure = runtime.predict(between)
    assert sure.label is not None
    unsure = runtime.predict(between, threshold=min(1.0, sure.confidence + 1e-4))
    assert (unsure.label, unsure.unknown) == (None, True)
    assert unsure.top_k[0].label == sure.label


def test_the_answer_can_be_restricted_to_some_classes(taught: Path) -> None:
    runtime = Runtime.open(taught)
    red = picture(COLOURS["red"], 9)
    answer = runtime.predict(red, among=["green", "blue"])
    assert answer.label in ("blue", "green")
    assert {ranked.label for ranked in answer.top_k} == {"blue", "green"}
    assert sum(ranked.confidence for ranked in answer.top_k) == pytest.approx(1.0)
    assert [a.label for a in runtime.predict_many([red, red], among=["red"])] == ["red", "red"]
    for nonsense in (["red", "pink"], []):
        with pytest.raises(InvalidInputError, match=r"cannot choose among ('pink'|no class)"):
            runtime.predict(red, among=nonsense)


def test_a_version_may_be_a_number(taught: Path, tmp_path: Path) -> None:
    runtime = Runtime.open(taught)
    assert runtime.rollback(2).version == "000002"
    runtime.export(tmp_path / "model.onnx", version=3)


def test_rename_and_remove(taught: Path) -> None:
    runtime = Runtime.open(taught)
    red = picture(COLOURS["red"], 9)
    assert runtime.predict(red).label == "red"
    runtime.rename("red", "rouge")
    assert runtime.predict(red).label == "rouge"
    runtime.remove("rouge")
    assert runtime.predict(red, always_answer=True).label in ("blue", "green")
    assert runtime.rollback().version == "000004"
    assert runtime.predict(red).label == "rouge"


def test_a_dry_run_changes_nothing(taught: Path, session: Path, tmp_path: Path) -> None:
    report = Runtime.open(taught).learn_session(session, dry_run=True)
    assert report.version is None
    assert report.updated == {"blue": 6, "green": 6, "red": 6}
    assert Runtime.open(taught).store.live().name == "000003"
    Runtime.open(tmp_path / "none", config=TINY).learn_session(session, dry_run=True)
    assert not (tmp_path / "none").exists()


def test_cancelling_leaves_the_old_version(taught: Path, session: Path) -> None:
    cancel = Event()
    runtime = Runtime.open(taught)
    with pytest.raises(Cancelled):
        runtime.learn_session(session, on_progress=lambda _: cancel.set(), cancel=cancel)
    assert runtime.store.live().name == "000003"


def test_cancelling_counts_until_the_commit(taught: Path, session: Path) -> None:
    cancel = Event()

    def cancel_at_the_last(now: Progress) -> None:
        if now.done == now.total:
            cancel.set()

    runtime = Runtime.open(taught)
    with pytest.raises(Cancelled):
        runtime.learn_session(session, on_progress=cancel_at_the_last, cancel=cancel)
    assert runtime.store.live().name == "000003"


def test_an_error_in_the_callback_leaves_the_old_version(taught: Path, session: Path) -> None:
    def explode(_: Progress) -> None:
        raise RuntimeError("app bug")

    runtime = Runtime.open(taught)
    with pytest.raises(RuntimeError, match="app bug"):
        runtime.learn_session(session, on_progress=explode)
    assert runtime.store.live().name == "000003"
    assert runtime.learn_session(session).version == "000004"


def test_few_images_and_a_single_class_are_warned_about(tmp_path: Path) -> None:
    data = write_session(tmp_path / "data", images=2, classes=("red",))
    report = Runtime.open(tmp_path / "store", config=TINY).learn_session(data)
    assert len(report.warnings) == 2
    assert "fewer than 5 images of red" in report.warnings[0]
    assert "only one class" in report.warnings[1]
    assert report.holdout_accuracy is None


def test_predicting_from_many_threads(taught: Path) -> None:
    runtime = Runtime.open(taught)
    labels = list(COLOURS) * 10
    with ThreadPoolExecutor(6) as pool:
        answers = pool.map(
            lambda pair: runtime.predict(picture(COLOURS[pair[1]], pair[0])).label,
            enumerate(labels),
        )
        assert list(answers) == labels


def test_the_store_does_not_grow_with_the_images(tmp_path: Path) -> None:
    sizes = []
    for images in (10, 40):
        data = write_session(tmp_path / f"data-{images}", images=images)
        runtime = Runtime.open(tmp_path / f"store-{images}", config=TINY)
        runtime.learn_session(data)
        files = runtime.store.live().manifest.files
        sizes.append({name: record.size for name, record in files.items()})
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda rt: rt.predict("no.jpg"), ImageError, "no.jpg: No such file"),
        (lambda rt: rt.predict(3.5), ImageError, "cannot read an image from float"),
        (lambda rt: rt.predict(np.zeros((4, 4))), ImageError, "array of float64"),
        (lambda rt: rt.predict("no.jpg", top_k=0), InvalidInputError, "top_k is 0"),
        (lambda rt: rt.predict("no.jpg", threshold=2), InvalidInputError, "threshold is 2"),
        (lambda rt: rt.predict("."), ImageError, "a folder, not a picture"),
        (lambda rt: rt.predict_many("a.jpg"), InvalidInputError, r"several; give \['a.jpg'\]"),
        (lambda rt: rt.learn_session([]), NoUsableDataError, "no usable image"),
        (lambda rt: rt.learn_session([1]), InvalidInputError, "item 0 is not a pair"),
        (lambda rt: rt.learn_session([], mode="magic"), InvalidInputError, "'magic'"),
        (lambda rt: rt.learn_session([], holdout=1.0), InvalidInputError, "holdout is 1.0"),
        (lambda rt: rt.rename("red", "../x"), InvalidInputError, "U\\+002F|begins with a dot"),
        (lambda rt: rt.init(), InvalidInputError, "already a store"),
    ],
)
def test_bad_calls_say_what_is_wrong(taught: Path, call, error, message: str) -> None:
    with pytest.raises(error, match=message):
        call(Runtime.open(taught))


def test_without_a_store_or_a_class_there_is_nothing_to_predict_with(tmp_path: Path) -> None:
    runtime = Runtime.open(tmp_path / "none", config=TINY)
    for call in (runtime.classes, runtime.rollback, lambda: runtime.remove("x")):
        with pytest.raises(StoreError, match="no store at"):
            call()
    assert not (tmp_path / "none").exists()
    runtime.init()
    with pytest.raises(NoUsableDataError, match="knows no class yet"):
        runtime.predict(picture((1, 2, 3), 0))
    with pytest.raises(InvalidInputError, match="threads is 0"):
        Runtime.open(tmp_path, threads=0)


def test_the_public_names_are_there() -> None:
    for name in prd_edge.__all__:
        assert getattr(prd_edge, name) is not None
    with pytest.raises(AttributeError):
        prd_edge.nonsense  # noqa: B018
    assert issubclass(Cancelled, PrdEdgeError)
    assert StoreConfig().encoder == "efficientnet_lite0"


def test_a_camera_may_fill_the_same_array_again(taught: Path) -> None:
    frame = np.zeros((40, 48, 3), np.uint8)
    labels = list(COLOURS) * 6

    def camera():
        for seed, label in enumerate(labels):
            frame[:] = picture(COLOURS[label], seed)
            yield frame

    runtime = Runtime.open(taught, threads=2)
    assert [answer.label for answer in runtime.predict_many(camera())] == labels


def test_an_encoder_that_failed_to_load_is_tried_again(
    taught: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Runtime.open(taught)
    red = picture(COLOURS["red"], 1)
    runtime.refresh()
    with monkeypatch.context() as broken:

        def fail(*_: object, **__: object) -> None:
            raise StoreError("no memory just now")

        broken.setattr("prd_edge.embedder.open_graph", fail)
        with pytest.raises(StoreError, match="no memory just now"):
            runtime.predict(red)
    assert runtime.predict(red).label == "red"


def test_evaluating_through_the_runtime(taught: Path, session: Path) -> None:
    runtime = Runtime.open(taught)
    found = runtime.evaluate(session)
    assert (found.version, found.images, found.accuracy) == ("000003", 18, 1.0)
    assert runtime.evaluate([(picture(COLOURS["red"], 5), "blue")]).accuracy == 0.0


def test_nothing_to_evaluate(taught: Path) -> None:
    with pytest.raises(NoUsableDataError, match="no image to evaluate"):
        evaluate(load_predictor(Store(taught).live()), [])
