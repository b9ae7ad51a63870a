"""`learn_session` in mode prd, from images to a committed version, on small pictures."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
import torch

from prd_edge import Progress, Runtime, StoreConfig, files
from prd_edge.difference import difference
from prd_edge.encoders.efficientnet_lite0 import EMBEDDING_PARTS
from prd_edge.errors import Cancelled, GuardRefusedError, InvalidInputError, StoreError
from prd_edge.learn import adapt, checkpointing, plan, reading
from prd_edge.learn.plan import Plan
from prd_edge.learn.recipes import RECIPES
from prd_edge.model import ENCODER, SNAPSHOT, load_knowledge
from prd_edge.store import ENCODER_GRAPH
from tests.conftest import COLOURS, TINY, picture, write_session

Pairs = list[tuple[object, str]]
MORE = {**COLOURS, "white": (230, 230, 230), "grey": (120, 120, 120), "black": (20, 20, 20)}
# A small encoder with a trunk of untrained filters: what matters here is the same with any.
SMALL = StoreConfig(encoder="resnet18_scratch", image_size=32)
TRAIN: dict[str, Any] = {"mode": "prd", "recipe": "edge", "train_from": "layer4.0", "seed": 0}
QUICK: dict[str, Any] = {**TRAIN, "epochs": 2}


def pairs(*labels: str, images: int = 8, start: int = 0) -> Pairs:
    return [
        (picture(MORE[label], 1000 * i + number), label)
        for i, label in enumerate(labels)
        for number in range(start, start + images)
    ]


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    return Runtime.open(tmp_path / "store", config=SMALL, threads=1)


def learned_files(runtime: Runtime) -> dict[str, str]:
    return {name: record.sha256 for name, record in runtime.store.live().manifest.files.items()}


def accuracy(runtime: Runtime, *labels: str) -> float:
    asked = pairs(*labels, start=100)
    answers = runtime.predict_many(image for image, _ in asked)
    return float(np.mean([a.label == label for a, (_, label) in zip(answers, asked, strict=True)]))


class TestSessions:
    def test_classes_are_added_session_by_session(self, runtime: Runtime) -> None:
        first = runtime.learn_session(pairs("blue", "green"), **QUICK)
        second = runtime.learn_session(pairs("red", "white"), **QUICK)
        for report in (first, second):
            assert (report.mode, report.holdout_accuracy) == ("prd", 1.0)
            assert report.training is not None
            assert report.training.kept
            assert report.training.steps == report.training.steps_planned > 0
            assert report.training.note is None
        assert second.training is not None
        assert second.training.losses is not None
        assert second.training.losses.relation != 0.0
        assert accuracy(runtime, "blue", "green", "red", "white") == 1.0
        assert runtime.predict(picture(MORE["red"], 7), among=["blue", "green"]).label != "red"

    def test_every_old_prototype_is_accounted_for(self, runtime: Runtime) -> None:
        runtime.learn_session(pairs("blue", "green"), **QUICK)
        report = runtime.learn_session(pairs("red", "white"), **QUICK)
        assert set(report.drift) == {"blue", "green"}
        assert all(0.0 < own.distance < 1.0 for own in report.drift.values())
        assert report.drift["blue"].nearest_before == "green"
        assert report.drift["blue"].nearest_after in ("green", "red", "white")
        assert runtime.history()[-1].metrics["drift"]["blue"]["distance"] > 0.0

    def test_a_class_that_comes_back_is_updated_beside_new_ones(self, runtime: Runtime) -> None:
        runtime.learn_session(pairs("blue", "green"), **QUICK)
        report = runtime.learn_session(pairs("green", "red", start=50), **QUICK)
        assert (dict(report.added), dict(report.updated)) == ({"red": 8}, {"green": 8})
        assert report.mode == "prd"
        assert runtime.classes() == {"blue": 8, "green": 16, "red": 8}
        assert accuracy(runtime, "blue", "green", "red") == 1.0

    def test_known_classes_alone_come_back_from_another_world(self, runtime: Runtime) -> None:
        runtime.learn_session(pairs("blue", "green"), **QUICK)
        darker = [(np.asarray(image) // 3, label) for image, label in pairs("blue", "green")]
        report = runtime.learn_session(darker, **QUICK)
        assert (dict(report.added), set(report.updated)) == ({}, {"blue", "green"})
        assert runtime.predict(picture((10, 20, 66), 5)).label == "blue"

    def test_training_goes_on_from_an_imprinted_bank(self, runtime: Runtime) -> None:
        runtime.learn_session(pairs("blue", "green"), mode="imprint")
        report = runtime.learn_session(pairs("red", "white"), **QUICK)
        assert report.mode == "prd"
        assert accuracy(runtime, "blue", "green", "red", "white") == 1.0
        runtime.learn_session(pairs("grey", "black"), mode="imprint")
        assert accuracy(runtime, *MORE) > 0.9
        first, last = runtime.store.version("2"), runtime.store.live()
        assert set(difference(first, last)["updated"]) == {"blue", "green"}, "widths differ"
        runtime.rename("grey", "gray")
        runtime.remove("black")
        assert accuracy(runtime, "blue", "green", "red", "white") == 1.0

    def test_the_store_does_not_grow_with_the_number_of_images(self, tmp_path: Path) -> None:
        """Ten sessions of 10 images a class, and of 200: the same files, tensors and sizes."""
        sizes = []
        for images in (10, 200):
            runtime = Runtime.open(tmp_path / str(images), config=SMALL, threads=1)
            for session in range(10):
                label = f"class {session}"
                colour = tuple(np.random.default_rng(session).integers(20, 230, 3))
                some = [(picture(colour, 1000 * session + n), label) for n in range(images)]
                other = [(image, f"other {label}") for image, _ in pairs("red", images=5)]
                runtime.learn_session(some + other, epochs=1, **TRAIN)
            live = runtime.store.live()
            sizes.append({name: record.size for name, record in live.manifest.files.items()})
        assert sizes[0] == sizes[1]


class TestTheVersion:
    def test_it_holds_encoder_snapshot_and_the_graph_that_predicts(self, runtime: Runtime) -> None:
        runtime.learn_session(pairs("blue", "green"), **QUICK)
        first = runtime.store.live()
        runtime.learn_session(pairs("red", "white"), **QUICK)
        second = runtime.store.live()
        assert second.read(SNAPSHOT) == first.read(ENCODER)
        assert (second.path / SNAPSHOT).samefile(first.path / ENCODER), "linked, not copied"
        assert second.read(ENCODER) != first.read(ENCODER)
        assert second.read(ENCODER_GRAPH) != first.read(ENCODER_GRAPH)
        assert second.manifest.encoder.adapted_from == "layer4.0"

    def test_one_seed_gives_the_same_bytes(self, tmp_path: Path) -> None:
        found = []
        for place, seed in (("a", 3), ("b", 3), ("c", 4)):
            runtime = Runtime.open(tmp_path / place, config=SMALL, threads=1)
            for labels in (("blue", "green"), ("red", "white")):
                runtime.learn_session(pairs(*labels), **{**QUICK, "seed": seed})
            found.append(learned_files(runtime))
        assert found[0] == found[1]
        assert found[0] != found[2]

    def test_a_graph_that_differs_from_torch_is_not_committed(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        images: list[int] = []

        def differs(_module: object, _graph: bytes, squares: np.ndarray) -> None:
            images.append(len(squares))
            raise GuardRefusedError("the ONNX graph differs")

        monkeypatch.setattr(adapt, "check_parity", differs)
        report = runtime.learn_session(pairs("blue", "green", images=10), **QUICK)
        assert images == [8], "two looks at each of the two of ten of each class that were held out"
        assert report.mode == "imprint"
        assert report.training is not None
        assert report.training.note is not None
        assert "the ONNX graph differs; the session was imprinted" in report.training.note

    def test_a_rollback_brings_back_the_encoder_too(self, runtime: Runtime) -> None:
        runtime.learn_session(pairs("blue", "green"), **QUICK)
        before = learned_files(runtime)
        runtime.learn_session(pairs("red", "white"), **QUICK)
        runtime.rollback()
        assert learned_files(runtime) == before
        assert runtime.predict(picture(MORE["blue"], 3)).label == "blue"


class TestRecipesAndEncoders:
    def test_the_default_encoder_and_recipe(self, tmp_path: Path) -> None:
        runtime = Runtime.open(tmp_path / "store", config=TINY, threads=1)
        for labels in (("blue", "green"), ("red", "white")):
            report = runtime.learn_session(pairs(*labels), mode="prd", epochs=1)
            assert report.mode == "prd"
            assert report.training is not None
            assert (report.training.recipe, report.training.train_from) == ("edge", "block11")
        live = runtime.store.live()
        assert live.manifest.encoder.parts == EMBEDDING_PARTS
        assert accuracy(runtime, "blue", "green", "red", "white") == 1.0

    def test_the_paper_recipe_compares_by_cosine(self, runtime: Runtime) -> None:
        options = {**QUICK, "recipe": "paper", "epochs": 40}
        runtime.learn_session(pairs("blue", "green"), **options)
        report = runtime.learn_session(pairs("red", "white"), **options)
        assert report.mode == "prd"
        assert report.training is not None
        assert report.training.recipe == "paper"
        version = runtime.store.live()
        assert version.manifest.encoder.adapted_from is None
        bank, readout = load_knowledge(version)
        lengths = np.linalg.norm(bank.prototypes(), axis=1)
        np.testing.assert_allclose(lengths, 1.0, rtol=1e-3)
        middle = bank.prototypes().mean(axis=0)  # what is common to all classes decides nothing
        np.testing.assert_allclose(
            readout.weights, bank.prototypes() - middle, rtol=1e-4, atol=1e-7
        )

    def test_an_encoder_from_scratch_is_trained_whole_and_as_in_the_paper(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # So short a training need not beat imprinting; whether it does depends on the processor.
        monkeypatch.setattr(adapt.Adaptation, "_worse", lambda *_: None)
        reports = [
            runtime.learn_session(pairs(*labels), mode="prd", epochs=12, seed=0)
            for labels in (("blue", "green"), ("red", "white"))
        ]
        assert [report.mode for report in reports] == ["prd", "prd"]
        assert reports[0].training is not None
        assert (reports[0].training.recipe, reports[0].training.train_from) == ("paper", "stem")
        live = runtime.store.live()
        assert live.manifest.encoder.dimensions == 160
        assert live.read(ENCODER) != live.read(SNAPSHOT)

    def test_train_from(self, runtime: Runtime) -> None:
        report = runtime.learn_session(pairs("blue", "green"), **QUICK)
        assert report.training is not None
        assert report.training.train_from == "layer4.0"
        other = {**QUICK, "train_from": "layer4.1"}
        with pytest.raises(InvalidInputError, match=r"has been trained from 'layer4\.0'"):
            runtime.learn_session(pairs("red", "white"), **other)

    @pytest.mark.parametrize(
        ("option", "value", "says"),
        [
            ("recipe", "magic", "no recipe named 'magic'"),
            ("train_from", "nowhere", "no stage named 'nowhere'"),
            ("epochs", 0, "epochs is 0"),
            ("seed", -1, "seed is -1"),
            ("max_seconds", 0.0, "max_seconds is 0.0"),
            ("max_memory", 1.0, "max_memory is 1.0"),
            ("max_seconds", float("nan"), "max_seconds is nan"),
        ],
    )
    def test_what_makes_no_sense_is_refused(
        self, runtime: Runtime, option: str, value: object, says: str
    ) -> None:
        with pytest.raises(InvalidInputError, match=says):
            runtime.learn_session(pairs("blue", "green"), **{"mode": "prd", option: value})
        assert not runtime.store.path.exists()


class TestGuards:
    def test_what_is_worse_than_imprinting_is_not_kept(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runtime.learn_session(pairs("blue", "green"), mode="imprint")
        before = runtime.store.live()
        trained = adapt.Adaptation._trained

        def worse(*arguments: object) -> object:
            result = trained(*arguments)
            right = result.learned.judgement.right
            judgement = result.learned.judgement._replace(right=np.zeros_like(right))
            return result._replace(learned=replace(result.learned, judgement=judgement))

        monkeypatch.setattr(adapt.Adaptation, "_trained", worse)
        report = runtime.learn_session(pairs("red", "white"), **QUICK)
        assert report.mode == "imprint"
        assert report.training is not None
        assert not report.training.kept
        assert report.training.note == (
            "training reached 0.0 % of the hold-out, imprinting 100.0 %; "
            "the session was imprinted instead"
        )
        assert runtime.store.live().read(ENCODER) == before.read(ENCODER)
        assert accuracy(runtime, "blue", "green", "red", "white") == 1.0

    @pytest.mark.parametrize(
        ("lost", "won", "is_kept"),
        [(0, 0, True), (1, 0, True), (2, 0, False), (3, 1, True), (4, 1, False), (0, 5, True)],
    )
    def test_chance_is_not_held_against_it(self, lost: int, won: int, is_kept: bool) -> None:
        """A few answers more or less on a hold-out say nothing of which is better."""
        floor, trained = np.ones(20, bool), np.ones(20, bool)
        trained[:lost] = False
        floor[20 - won :] = False
        assert adapt.is_worse(trained, floor) == (not is_kept)

    def test_without_a_hold_out_a_disaster_is_still_noticed(self, runtime: Runtime) -> None:
        """One step from random prototypes is no better than chance."""
        options = {**QUICK, "recipe": "paper", "epochs": 1, "holdout": 0.0}
        report = runtime.learn_session(pairs("blue", "green", "red"), **options)
        assert report.mode == "imprint"
        assert report.training is not None
        assert "% of the images themselves, imprinting 100.0 %" in str(report.training.note)

    def test_a_loss_that_is_not_a_number(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(RECIPES, "edge", replace(RECIPES["edge"], learning_rate=1e30))
        report = runtime.learn_session(pairs("blue", "green"), **QUICK)
        assert report.mode == "imprint"
        assert report.training is not None
        assert "nan" in str(report.training.note)
        assert accuracy(runtime, "blue", "green") == 1.0

    def test_too_few_images_to_check_a_training(self, runtime: Runtime) -> None:
        report = runtime.learn_session(pairs("blue", "green", images=4), **QUICK)
        assert report.mode == "imprint"
        assert report.training is not None
        assert "no class has the 5 images" in str(report.training.note)
        expected = Runtime.open(runtime.store.path.parent / "other", config=SMALL, threads=1)
        expected.learn_session(pairs("blue", "green", images=4), mode="imprint")
        assert learned_files(runtime) == learned_files(expected)


class TestBudgets:
    def test_an_estimate_comes_first_and_then_the_losses(self, runtime: Runtime) -> None:
        seen: list[Progress] = []
        runtime.learn_session(pairs("blue", "green"), on_progress=seen.append, **QUICK)
        assert seen[0].estimate is not None
        assert seen[0].estimate.images == 16
        assert seen[0].estimate.seconds > 0
        assert seen[0].estimate.memory_mb > 100
        assert {step.stage for step in seen[1:]} == {
            "reading images",
            "training",
            "finishing",
        }
        training = [step for step in seen if step.stage == "training"]
        assert [step.done for step in training] == list(range(1, len(training) + 1))
        assert all(step.losses is not None for step in training)

    def test_time_runs_out_while_training(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left = iter([100.0, 100.0, 0.0])
        monkeypatch.setattr(adapt.Adaptation, "_seconds_left", lambda _: next(left))
        report = runtime.learn_session(pairs("blue", "green"), epochs=9, max_seconds=60.0, **TRAIN)
        assert report.mode == "prd"
        assert report.training is not None
        assert (report.training.steps, report.training.steps_planned) == (2, 9)
        assert report.training.note == ("training was ended after 2 of 9 steps to keep within 60 s")

    def test_no_time_at_all(self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(adapt.Adaptation, "_seconds_left", lambda _: -0.5)
        report = runtime.learn_session(pairs("blue", "green"), max_seconds=1, **QUICK)
        assert report.mode == "imprint"
        assert report.training is not None
        assert "no time was left to train within 1 s" in str(report.training.note)
        assert accuracy(runtime, "blue", "green") == 1.0

    def test_time_runs_out_while_pictures_in_memory_are_read(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """They cannot be read again, but without time to train they need not be."""
        asked = iter(range(10**6))
        monkeypatch.setattr(reading._Trunked, "_is_late", lambda _: next(asked) > 8)
        monkeypatch.setattr(adapt.Adaptation, "_seconds_left", lambda _: -0.5)
        report = runtime.learn_session(pairs("blue", "green"), max_seconds=1, **QUICK)
        assert report.mode == "imprint"
        assert accuracy(runtime, "blue", "green") == 1.0

    def test_memory_that_cannot_be_enough(self, runtime: Runtime) -> None:
        with pytest.raises(InvalidInputError, match="100 MB of memory are too little to train"):
            runtime.learn_session(pairs("blue", "green"), max_memory=100, **QUICK)
        assert not runtime.store.path.exists()

    def test_an_app_that_is_large_itself_trains_as_well(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(plan, "memory_mb", lambda: 5000.0)
        report = runtime.learn_session(pairs("blue", "green"), **QUICK)
        assert report.mode == "prd"
        with pytest.raises(InvalidInputError, match="2000 MB of memory are too little to train"):
            runtime.learn_session(pairs("red", "white"), max_memory=2000, **QUICK)

    @pytest.fixture
    def little_room(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make_plan = reading.make_plan

        def tight(*arguments: object, **options: object) -> Plan:
            return make_plan(*arguments, **options)._replace(views_budget=5000)

        monkeypatch.setattr(reading, "make_plan", tight)

    @pytest.mark.usefixtures("little_room")
    def test_views_that_do_not_fit_are_made_anew(self, runtime: Runtime, tmp_path: Path) -> None:
        folder = write_session(tmp_path / "data", images=8)
        runs = [runtime.learn_session(folder, dry_run=True, **QUICK) for _ in range(2)]
        assert [report.mode for report in runs] == ["prd", "prd"]
        assert runs[0].training is not None
        assert runs[0].training.views == 0
        assert runs[0].training == runs[1].training, "and are the same each time"

    @pytest.mark.usefixtures("little_room")
    def test_a_file_that_is_gone_when_it_is_needed_again(
        self, runtime: Runtime, tmp_path: Path
    ) -> None:
        folder = write_session(tmp_path / "data", images=8)

        def remove_one(step: Progress) -> None:
            if step.stage == "training":
                for path in folder.glob("red/*.png"):
                    path.unlink()

        report = runtime.learn_session(folder, on_progress=remove_one, **QUICK)
        assert report.mode == "imprint"
        assert report.training is not None
        assert re.search(r"red/\d\.png cannot be read any more", str(report.training.note))

    def test_a_stream_is_not_kept_while_it_is_read(
        self, runtime: Runtime, decoded_alive: Callable[[], int]
    ) -> None:
        most = 0

        def count(step: Progress) -> None:
            nonlocal most
            most = max(most, decoded_alive())

        stream = iter(pairs("blue", "green", images=20))
        runtime.learn_session(stream, on_progress=count, mode="imprint")
        assert 0 < most < 15

    @pytest.mark.usefixtures("little_room")
    def test_a_stream_that_does_not_fit_cannot_be_read_again(self, runtime: Runtime) -> None:
        with pytest.raises(InvalidInputError, match="or give a folder"):
            runtime.learn_session(iter(pairs("blue", "green")), **QUICK)

    def test_the_number_of_threads_of_the_app_is_left_alone(self, runtime: Runtime) -> None:
        before = torch.get_num_threads()
        runtime.learn_session(pairs("blue", "green"), **QUICK)
        assert torch.get_num_threads() == before


class Stopped(Exception):  # noqa: N818
    """A power cut, as far as the store can tell."""


class TestInterruptions:
    def stop_after(self, epoch: int, epochs: int = 4) -> object:
        def on_progress(step: Progress) -> None:
            if step.stage == "training" and step.done > epoch * (step.total or 0) // epochs:
                raise Stopped

        return on_progress

    @pytest.mark.parametrize("stage", ["training", "finishing"])
    def test_cancelling_leaves_the_old_version_live(self, stage: str, runtime: Runtime) -> None:
        runtime.learn_session(pairs("blue", "green"), mode="imprint")
        before = learned_files(runtime)
        cancel = Event()

        def on_progress(step: Progress) -> None:
            if step.stage == stage:
                cancel.set()

        with pytest.raises(Cancelled):
            runtime.learn_session(
                pairs("red", "white"), cancel=cancel, on_progress=on_progress, **QUICK
            )
        assert learned_files(runtime) == before
        assert runtime.classes() == {"blue": 8, "green": 8}

    def test_the_same_data_given_again_goes_on_from_the_checkpoint(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(checkpointing, "SECONDS_BETWEEN", 0.0)
        options = {**TRAIN, "epochs": 4}
        whole, stopped = (
            Runtime.open(tmp_path / name, config=SMALL, threads=1) for name in ("whole", "stopped")
        )
        for first in (whole, stopped):
            first.learn_session(pairs("blue", "green"), **options)
        whole.learn_session(pairs("red", "white"), **options)

        with pytest.raises(Stopped):
            stopped.learn_session(pairs("red", "white"), on_progress=self.stop_after(2), **options)
        assert stopped.store.checkpoint.exists()
        assert stopped.classes() == {"blue": 8, "green": 8}
        report = stopped.learn_session(pairs("red", "white"), **options)
        assert report.training is not None
        assert report.training.resumed_after == 2
        assert not stopped.store.checkpoint.exists()
        assert learned_files(stopped) == learned_files(whole)

    def test_a_new_store_keeps_its_checkpoint_until_the_session_is_committed(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(checkpointing, "SECONDS_BETWEEN", 0.0)

        def full_disk(operation: str, path: Path) -> None:
            if operation == "write" and path.parent.name.endswith("000002"):
                raise OSError(errno.ENOSPC, "no space left on device")

        with monkeypatch.context() as patched:
            patched.setattr(files, "before_operation", full_disk)
            with pytest.raises(StoreError, match="the disk is full"):
                runtime.learn_session(pairs("blue", "green"), **QUICK)
        report = runtime.learn_session(pairs("blue", "green"), **QUICK)
        assert report.training is not None
        assert report.training.resumed_after == 2

    def test_a_checkpoint_upon_other_classes_is_not_used(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The same sums under other names: rolled back from a version with a renamed class."""
        monkeypatch.setattr(checkpointing, "SECONDS_BETWEEN", 0.0)
        options = {**TRAIN, "epochs": 4}
        runtime.learn_session(pairs("blue", "green"), mode="imprint")
        runtime.rename("green", "grun")
        data = pairs("green", "red", start=40)
        with pytest.raises(Stopped):
            runtime.learn_session(data, on_progress=self.stop_after(2), **options)
        runtime.rollback("2")
        report = runtime.learn_session(data, **options)
        assert report.training is not None
        assert report.training.resumed_after == 0

    @pytest.mark.parametrize("change", ["other data", "other seed", "flipped bit", "cut off"])
    def test_a_checkpoint_of_something_else_is_not_used(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch, change: str
    ) -> None:
        monkeypatch.setattr(checkpointing, "SECONDS_BETWEEN", 0.0)
        options = {**TRAIN, "epochs": 4}
        data = pairs("red", "white")
        with pytest.raises(Stopped):
            runtime.learn_session(data, on_progress=self.stop_after(2), **options)
        file = runtime.store.checkpoint
        if change == "other data":
            data = pairs("red", "white", start=1)
        elif change == "other seed":
            options["seed"] = 1
        else:
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(content if change == "flipped bit" else content[:-100])
        report = runtime.learn_session(data, **options)
        assert report.training is not None
        assert report.training.resumed_after == 0
        assert not file.exists()

    def test_a_dry_run_leaves_nothing(
        self, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(checkpointing, "SECONDS_BETWEEN", 0.0)
        report = runtime.learn_session(pairs("blue", "green"), dry_run=True, **QUICK)
        assert (report.mode, report.version) == ("prd", None)
        assert not runtime.store.path.exists()
