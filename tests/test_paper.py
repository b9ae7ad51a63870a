"""The paper's suite: local copies, scenarios, methods, resume, tables."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import pickle
import signal
import sys
from collections.abc import Iterable
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("torch")

import paper
import torch
from incremental import local_copies, loop, methods
from incremental.jobs import PaperJob
from incremental.loop import cumulative_accuracy, finish
from incremental.methods import FROM_SCRATCH, icarl, random_filters, sdc
from incremental.methods.er_ace import ErAce
from incremental.paper_tables import TABLES, comparison, details, runs_of
from incremental.pixels import (
    InHalfPrecision,
    Pictures,
    PixelGround,
    RememberedViews,
    Scale,
    averaged_down,
)
from incremental.probes import linear_probe, nearest_means
from incremental.replay import Buffer, Replayed, new_and_replayed
from incremental.scenarios import SCENARIOS, local_copy, open_scenario
from incremental.streams import StreamKind, stream_of

from prd_edge.learn.learner import Views
from prd_edge.learn.torchvision_import import import_torchvision

TINY = Scale("tiny", 4, 8, 6, 1, 8, 0.05, (16, 16), bfloat16=False)
COLOURS = np.array(list(product((40, 220), repeat=3)))


def coloured(per_class: int, size: int = 8, seed: int = 0) -> Pictures:
    """Classes that differ in colour."""
    noise = np.random.default_rng(seed).integers(-20, 20, (8, per_class, size, size, 3))
    squares = np.clip(COLOURS[:, None, None, None] + noise, 0, 255).astype(np.uint8)
    labels = np.repeat([f"class {c}" for c in range(8)], per_class)
    return Pictures(labels, squares.reshape(-1, size, size, 3))


@pytest.fixture
def made_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A data set `made-up`, in four tasks of two classes, at a place that exists."""
    halves = coloured(8), coloured(4, seed=1)
    copy = local_copies.LocalCopy(lambda root, pixels: halves, 8, "made-up")
    monkeypatch.setitem(local_copies.LOCAL_COPIES, "made-up", copy)
    monkeypatch.setitem(SCENARIOS, "made-up", StreamKind("Made up", "made-up", 4))
    return tmp_path


def job(method: str, made_up: Path, scale: Scale = TINY, seed: int = 0) -> PaperJob:
    return PaperJob("made-up", method, seed, scale, made_up, None, made_up / "work")


class Killed(NamedTuple):
    """A run that takes too much memory."""

    file: Path

    def start(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class TestMethods:
    @pytest.mark.parametrize("method", FROM_SCRATCH)
    def test_each_learns_in_sessions_and_answers_for_all_classes(
        self, method: str, made_up: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(random_filters, "_FILTERS", 20)
        result = json.loads(finish(job(method, made_up)).file.read_text())
        assert result["classes"] == 8
        rows = [1, 2, 3, 4] if method != "iid" else [4]
        assert [len(row) for row in result["matrix"]] == rows
        assert [len(row) for row in result["within"]] == rows
        assert len(result["seconds"]) == 4
        assert result["state_bytes"] > 0
        assert result["method"] == method
        assert result["scale"]["epochs"] == 1

    @pytest.mark.parametrize("method", ["PRD", "ER, M = 5", "PRD, closed form"])
    def test_what_can_be_told_by_colour_is_learned(self, method: str, made_up: Path) -> None:
        scale = Scale("longer", 8, 8, None, 12, 4, 0.05, (64, 64), bfloat16=False)
        found = json.loads(finish(job(method, made_up, scale)).file.read_text())
        assert np.mean([row[-1] for row in found["within"]]) > 85

    @pytest.mark.parametrize(
        ("method", "kind"),
        [
            ("PRD, M = 5", methods.Prd),
            ("PRD, closed form", methods.ClosedForm),
            ("SDC", methods.Sdc),
            ("LwF", methods.Lwf),
            ("EWC", methods.Ewc),
            ("iCaRL, M = 5", methods.Icarl),
        ],
    )
    def test_a_killed_run_goes_on_after_its_last_task(
        self, method: str, kind: type, made_up: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        whole = json.loads(finish(job(method, made_up, seed=1)).file.read_text())
        killed = job(method, made_up, seed=1)
        killed.file.unlink()
        learn = kind.learn
        calls = []

        def dies(self: methods.Method, stream: object, session: object) -> None:
            calls.append(session)
            if len(calls) == 3:
                raise KeyboardInterrupt
            learn(self, stream, session)

        monkeypatch.setattr(kind, "learn", dies)
        with pytest.raises(KeyboardInterrupt):
            finish(killed)
        assert not killed.file.exists()
        state = killed.file.with_suffix(".state").read_bytes()
        squares = coloured(8).squares.tobytes()
        assert squares[: len(squares) // 2] not in state, "no pictures are in it"
        resumed = json.loads(finish(killed).file.read_text())
        assert len(calls) == 3 + 2, "two tasks were not learned again"
        assert resumed["matrix"] == whole["matrix"]
        assert resumed["probe"] == whole["probe"]
        assert not killed.file.with_suffix(".state").exists()

    def test_pictures_replayed_are_half_of_every_mini_batch(self) -> None:
        buffer = Buffer(2, seed=0)
        ground, part = PixelGround(TINY), coloured(8)
        rows = np.arange(16)
        plain = buffer.beside(ground, part, rows, np.repeat([0, 1], 8))
        assert not isinstance(plain, Replayed), "nothing is kept yet"
        buffer.add(part, rows, np.repeat([0, 1], 8))
        assert sorted(buffer.classes) == [0, 0, 1, 1]
        assert buffer.bytes == 4 * 8 * 8 * 3
        buffer.add(part, rows, np.repeat([0, 1], 8))
        assert len(buffer.rows) == 4, "a class that comes back keeps what it has"
        data = buffer.beside(ground, part, np.arange(16, 32), np.repeat([2, 3], 8))
        assert len(data) == 16
        views = data.views(torch.tensor([0, 15, 3]), torch.Generator().manual_seed(0))
        assert views.classes[:3].tolist() == [2, 3, 2]
        assert views.classes[6:9].tolist() == [2, 3, 2]
        assert set(views.classes[3:6].tolist()) <= {0, 1}
        new, replayed = new_and_replayed(Views(views.inputs[:6], views.classes[:6]))
        assert (new, replayed) == (slice(0, 3), slice(3, None))

    def test_new_pictures_push_no_old_class_away_in_er_ace(self) -> None:
        ground = PixelGround(TINY)
        method = ErAce(0, ground, 2)
        method.weights = torch.randn(4, ground.width, requires_grad=True)
        squares = torch.from_numpy(coloured(1).squares)
        replayed_away = squares[:4].clone()
        views = Views(replayed_away, torch.tensor([2, 3, 2, 3]))
        method.loss(views, 2).backward()
        both_halves = method.weights.grad
        assert both_halves is not None
        assert (both_halves[:2].abs().sum(dim=1) > 0).all(), "replayed ones are among all classes"
        method.weights.grad = None
        logits = method.logits(squares[:2])
        among = torch.tensor([-1e9, -1e9, 0.0, 0.0])
        torch.nn.functional.cross_entropy(logits + among, torch.tensor([2, 3])).backward()
        assert method.weights.grad[:2].abs().max() < 1e-9

    def test_targets_of_icarl_are_what_the_snapshot_said(self) -> None:
        ground = PixelGround(TINY)
        method = icarl.Icarl(0, ground, 2)
        method.weights = torch.randn(4, ground.width)
        method.session_classes = np.array([2, 3])
        method.begin(None, 2)  # type: ignore[arg-type]
        method.network.eval()
        views = Views(torch.from_numpy(coloured(1).squares[:2]), torch.tensor([2, 0]))

        def old_part(weights: torch.Tensor) -> torch.Tensor:
            method.weights = weights.clone().requires_grad_()
            method.loss(views, 2).backward()
            assert method.weights.grad is not None
            return method.weights.grad[:2].norm()

        agreed = method.weights
        assert old_part(agreed) < 1e-5, "nothing to learn while old classes answer as before"
        assert old_part(agreed + torch.randn(4, ground.width)) > 1e-3

    def test_drift_of_sdc_is_that_of_the_pictures_near_by(self) -> None:
        random = np.random.default_rng(0)
        means, before = random.normal(size=(3, 5)), random.normal(size=(7, 5))
        after = before + random.normal(size=(7, 5))
        expected = np.zeros_like(means)
        for c in range(3):
            weights = [
                np.exp(-np.square(before[i] - means[c]).sum() / (2 * 0.3**2)) for i in range(7)
            ]
            moved = sum(w * (after[i] - before[i]) for i, w in enumerate(weights))
            expected[c] = moved / sum(weights)
        assert sdc.drift(means, before, after) == pytest.approx(expected)

    def test_herding_keeps_the_mean(self) -> None:
        features = np.random.default_rng(0).normal(size=(30, 4))
        chosen = icarl._herded(features, 10)
        assert len(set(chosen)) == 10
        first = np.linalg.norm(features - features.mean(axis=0), axis=1).argmin()
        assert chosen[0] == first
        gap = np.linalg.norm(features[chosen].mean(axis=0) - features.mean(axis=0))
        assert gap < np.linalg.norm(features[:10].mean(axis=0) - features.mean(axis=0))


class TestGround:
    def test_what_the_snapshot_said_belongs_to_the_view(self) -> None:
        ground, part = PixelGround(TINY), coloured(2)
        network = ground.network(0)
        data = ground.session(part, np.arange(16), np.arange(16), network)
        assert isinstance(data, RememberedViews)
        views = data.views(torch.tensor([3, 0, 9]), torch.Generator().manual_seed(1))
        assert views.classes.tolist() == [3, 0, 9, 3, 0, 9]
        assert (views.inputs[:3] != views.inputs[3:]).any(), "two different views"
        with torch.inference_mode():
            said = network(views.inputs)
        assert views.snapshot is not None
        assert torch.allclose(views.snapshot, said, atol=1e-5)

    def test_views_that_do_not_fit_are_made_anew(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("incremental.pixels._MOST_BYTES", 1000)
        data = PixelGround(TINY).session(coloured(2), np.arange(16), np.arange(16))
        assert not isinstance(data, RememberedViews)
        assert len(data) == 16

    def test_half_precision_is_nearly_the_same_and_can_be_trained(self) -> None:
        network = PixelGround(TINY).network(0)
        squares = torch.from_numpy(coloured(2).squares)
        half = InHalfPrecision(deepcopy(network))
        said, expected = half(squares), network(squares)
        assert said.dtype == torch.float32
        assert torch.cosine_similarity(said, expected).min() > 0.99
        said.sum().backward()
        assert all(p.grad is not None for p in half.parameters())

    def test_pictures_are_averaged_down(self) -> None:
        pictures = coloured(1)
        small = averaged_down(pictures, 4).squares
        mean = pictures.squares[0, :2, :2].reshape(4, 3).mean(axis=0)
        assert small.shape == (8, 4, 4, 3)
        assert np.abs(small[0, 0, 0] - mean).max() <= 0.5
        assert averaged_down(pictures, None) is pictures

    def test_probes(self) -> None:
        class Embeds:
            network = None

            def features(self, part: Pictures, rows: np.ndarray) -> np.ndarray:
                directions = np.random.default_rng(0).normal(size=(3, 40))
                return np.cos(part.squares[rows].mean(axis=(1, 2)) @ directions / 100)

        train, test = coloured(8), coloured(4, seed=1)
        stream = stream_of("made-up", StreamKind("", "", 1), train, test, 8, 0)
        assert linear_probe(Embeds(), stream, stream.sessions[0]) > 95
        assert nearest_means(Embeds(), stream, stream.sessions[0]) > 95
        shuffled = test._replace(labels=np.roll(test.labels, 4))
        wrong = stream_of("made-up", StreamKind("", "", 1), train, shuffled, 8, 0)
        assert linear_probe(Embeds(), wrong, wrong.sessions[0]) < 30


class TestScenarios:
    def test_half_of_the_classes_first(self) -> None:
        kind = StreamKind("", "", 3, first=4)
        stream = stream_of("half", kind, coloured(4), coloured(2), 8, seed=0)
        assert [len(set(session.labels)) for session in stream.sessions] == [4, 2, 2]
        assert len({label for session in stream.sessions for label in session.labels}) == 8

    def test_too_few_classes(self, made_up: Path) -> None:
        with pytest.raises(SystemExit, match="8 classes, which cannot be 200 tasks"):
            open_scenario("made-up", TINY, made_up, 0, tasks=200)
        assert len(open_scenario("made-up", TINY, made_up, 0, tasks=8).sessions) == 8

    @pytest.mark.parametrize("tasks", [1, 6])
    def test_a_first_task_leaves_classes_for_the_others(
        self, tasks: int, made_up: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(SCENARIOS, "half", StreamKind("Half", "made-up", 3, first=4))
        with pytest.raises(SystemExit, match=f"cannot be {tasks} tasks"):
            open_scenario("half", TINY, made_up, 0, tasks)
        assert len(open_scenario("half", TINY, made_up, 0, 5).sessions) == 5

    def test_a_class_without_test_pictures(self) -> None:
        test = coloured(2)
        test = Pictures(test.labels[2:], test.squares[2:])
        with pytest.raises(ValueError, match="no test pictures of class 0"):
            stream_of("", StreamKind("", "", 8), coloured(4), test, 8, seed=0)

    def test_a_copy_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(SystemExit, match="name your copy of imagenet32 with --data"):
            local_copy("imagenet32-200", tmp_path / "none")
        with pytest.raises(SystemExit, match="name your copy of folder with --data"):
            local_copy("folder", None)
        (tmp_path / "clad-c").mkdir()
        assert local_copy("clad-c", tmp_path) == tmp_path / "clad-c"

    def test_cifar_is_downloaded_to_where_the_user_says(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked = []
        copy = local_copies.LOCAL_COPIES["cifar100"]._replace(
            read=lambda root, pixels: asked.append(root)
        )
        monkeypatch.setitem(local_copies.LOCAL_COPIES, "cifar100", copy)
        assert local_copy("cifar-20", tmp_path / "new") == tmp_path / "new"
        assert asked == [tmp_path / "new"]

    def test_another_copy_is_another_run(self, made_up: Path) -> None:
        other = made_up / "other"
        assert job("PRD", made_up).file != job("PRD", made_up)._replace(data=other).file

    def test_every_table_is_made_of_runs_that_exist(self) -> None:
        for table in TABLES.values():
            assert set(table.scenarios) <= set(SCENARIOS)
            assert set(table.methods) <= set(FROM_SCRATCH)
            assert all(len(own) == len(table.scenarios) for own in table.paper.values())
        assert {kind.data for kind in SCENARIOS.values()} <= set(local_copies.LOCAL_COPIES)


def picture(path: Path, colour: int, size: tuple[int, int] = (40, 30)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, tuple(map(int, COLOURS[colour]))).save(path)


class TestLocalCopies:
    def test_strips(self, tmp_path: Path) -> None:
        for half, count in (("train", 3), ("test", 2)):
            for c in range(2):
                path = tmp_path / half / f"{c:02}_class {c}.webp"
                path.parent.mkdir(exist_ok=True)
                squares = coloured(count, 32).squares[c * count : (c + 1) * count]
                Image.fromarray(squares.reshape(-1, 32, 3)).save(path, lossless=True)
        train, test = local_copies.cifar100(tmp_path, 32)
        assert train.labels.tolist() == ["class 0"] * 3 + ["class 1"] * 3
        assert (train.squares == coloured(3, 32).squares[:6]).all()
        assert len(test.labels) == 4

    def test_cifar_as_torchvision_has_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        data_set = import_torchvision().datasets.CIFAR100
        root = tmp_path / data_set.base_folder
        root.mkdir()
        names = [f"class {c}" for c in range(8)]
        for half in ("train", "test"):
            squares = coloured(2, 32).squares.transpose(0, 3, 1, 2).reshape(16, -1)
            labels = np.repeat(range(8), 2).tolist()
            (root / half).write_bytes(pickle.dumps({"data": squares, "fine_labels": labels}))
        (root / "meta").write_bytes(pickle.dumps({"fine_label_names": names}))

        def sum_of(name: str) -> str:
            return hashlib.md5((root / name).read_bytes()).hexdigest()

        monkeypatch.setattr(data_set, "train_list", [["train", sum_of("train")]])
        monkeypatch.setattr(data_set, "test_list", [["test", sum_of("test")]])
        meta = {"filename": "meta", "key": "fine_label_names", "md5": sum_of("meta")}
        monkeypatch.setattr(data_set, "meta", meta)
        train, test = local_copies.cifar100(tmp_path, 32)
        assert train.labels.tolist() == coloured(2).labels.tolist()
        assert (test.squares == coloured(2, 32).squares).all()

    @pytest.mark.parametrize("test", ["test", "val"])
    def test_folders_of_two_halves(self, test: str, tmp_path: Path) -> None:
        for c in range(2):
            for n in range(3):
                picture(tmp_path / "train" / f"class {c}" / f"{n}.png", c)
            picture(tmp_path / test / f"class {c}" / "0.PNG", c)
            (tmp_path / "train" / f"class {c}" / "notes.txt").touch()
        train, asked = local_copies.folder(tmp_path, 16)
        assert train.labels.tolist() == ["class 0"] * 3 + ["class 1"] * 3
        assert train.squares.shape == (6, 16, 16, 3)
        assert (train.squares[-1] == COLOURS[1]).all()
        assert len(asked.labels) == 2

    def test_folders_that_are_not_divided(self, tmp_path: Path) -> None:
        for c in range(2):
            for n in range(12):
                picture(tmp_path / f"class {c}" / f"{n}.png", c)
        train, test = local_copies.folder(tmp_path, 8)
        assert (len(train.labels), len(test.labels)) == (20, 4)
        assert sorted(test.labels) == ["class 0"] * 2 + ["class 1"] * 2

    def test_halves_with_classes_of_their_own_are_divided_anew(self, tmp_path: Path) -> None:
        for c, half in enumerate(("train", "val", "test")):
            for n in range(6):
                picture(tmp_path / half / f"class {c}" / f"{n}.png", c)
        train, test = local_copies.folder(tmp_path, 8)
        assert sorted(set(train.labels)) == sorted(set(test.labels))
        assert (len(train.labels), len(test.labels)) == (15, 3)

    def test_no_pictures(self, tmp_path: Path) -> None:
        with pytest.raises(SystemExit, match="one folder a class is expected"):
            local_copies.folder(tmp_path, 8)

    def test_mini_imagenet_by_its_tables(self, tmp_path: Path) -> None:
        for c, part in enumerate(("train", "val", "test")):
            with (tmp_path / f"{part}.csv").open("w", newline="") as lines:
                table = csv.writer(lines)
                table.writerow(["filename", "label"])
                for n in range(6):
                    picture(tmp_path / "images" / f"{c}{n}.jpg", c)
                    table.writerow([f"{c}{n}.jpg", f"n{c}"])
        train, test = local_copies.mini_imagenet(tmp_path, 8)
        assert sorted(set(train.labels)) == sorted(set(test.labels)) == ["n0", "n1", "n2"]
        assert (len(train.labels), len(test.labels)) == (15, 3)

    def test_imagenet32(self, tmp_path: Path) -> None:
        flat = coloured(2, 32).squares.transpose(0, 3, 1, 2).reshape(16, -1)
        labels = (1 + np.repeat(np.arange(8), 2)).tolist()
        for batch, rows in ((1, slice(0, 9)), (2, slice(9, 16))):
            np.savez(
                tmp_path / f"train_data_batch_{batch}.npz", data=flat[rows], labels=labels[rows]
            )
        np.savez(tmp_path / "val_data.npz", data=flat, labels=labels)
        train, test = local_copies.imagenet32(tmp_path, 32)
        assert (train.squares == coloured(2, 32).squares).all()
        assert train.labels.tolist() == test.labels.tolist()
        assert train.labels[0] == "0001"

    def test_clad_c_by_day_and_night(self, tmp_path: Path) -> None:
        root = tmp_path / "SSLAD-2D/labeled"

        def write(part: str, scenes: list[tuple[str, str]]) -> None:
            images, boxes = [], []
            for n, (date, period) in enumerate(scenes):
                picture(root / part / f"{n}.jpg", n % 8, (200, 100))
                name = {"file_name": f"{n}.jpg", "time": "120000"}
                images.append({"id": n, "date": date, "period": period, **name})
                for category, width, occluded in ((1, 40, 1), (2, 60, 1), (1, 20, 1), (1, 50, 0)):
                    box = {"bbox": [30, 20, width, 40], "area": 40 * width, "occluded": occluded}
                    boxes.append({"image_id": n, "category_id": category, **box})
            names = [{"id": 1, "name": "car"}, {"id": 2, "name": "tricycle"}]
            content = {"images": images, "annotations": boxes, "categories": names}
            (root / "annotations").mkdir(exist_ok=True)
            (root / "annotations" / f"instance_{part}.json").write_text(json.dumps(content))

        domains = local_copies._CLAD_DOMAINS
        write("val", [("20181015", "Daytime"), *domains[::-1], domains[0]])
        write("test", [("20191121", "Daytime"), ("20191111", "Night")])
        train, test = local_copies.clad_c(tmp_path, 16)
        assert train.domains is not None
        # The first has two scenes, the others one, each with two objects that are large enough.
        assert train.domains.tolist() == [0] * 4 + [d for d in range(1, 6) for _ in range(2)]
        assert train.labels.tolist() == ["car", "tricycle"] * 7
        assert np.abs(train.squares[-1].astype(int) - COLOURS[1]).max() < 8, "the last domain's"
        assert len(test.labels) == 4
        stream = open_scenario("clad-c", TINY, tmp_path, 0)
        assert stream.is_domains
        assert [len(session.rows) for session in stream.sessions] == [4, 2, 2, 2, 2, 2]
        asked = np.concatenate([session.test_rows for session in stream.sessions])
        assert sorted(asked) == [0, 1, 2, 3]
        with pytest.raises(SystemExit, match="leave --tasks out"):
            open_scenario("clad-c", TINY, tmp_path, 0, tasks=3)
        write("val", domains[1:])
        with pytest.raises(SystemExit, match="no objects of"):
            local_copies.clad_c(tmp_path, 16)

    def test_an_object_is_cut_out_with_a_square_around_it(self) -> None:
        assert local_copies._square((30, 20, 60, 40)) == (30, 10, 90, 70)

    def test_what_is_missing_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SystemExit, match=r"val_data\.npz"):
            local_copies.imagenet32(tmp_path, 32)
        with pytest.raises(SystemExit, match=r"instance_val\.json is missing"):
            local_copies.clad_c(tmp_path, 64)


class TestTables:
    def test_every_picture_counts_as_much(self) -> None:
        assert cumulative_accuracy([[80.0], [50.0, 90.0]], [300, 100]) == (80 + 60) / 2

    def test_the_command(
        self,
        made_up: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setitem(
            TABLES,
            "made-up",
            TABLES["half-pretrained"]._replace(scenarios=("made-up",), paper={"SPB": (60.9,)}),
        )

        def in_this_process(wanted: Iterable[PaperJob], _: int | None) -> int:
            for own in wanted:
                finish(own)
            return 0

        monkeypatch.setattr(paper, "finish_all", in_this_process)
        work = made_up / "work"
        line = f"made-up --seeds 0 1 --methods fine-tuning PRD --data {made_up} --work {work}"
        small = "--base-width 4 --pixels 8 --epochs 1 --per-class 4 --batch-size 8"
        monkeypatch.setattr(sys, "argv", ["paper.py", *line.split(), *small.split()])
        paper.main()
        printed = capsys.readouterr().out
        assert printed.count("## ") == 2
        rows = {row.split(" | ")[0][2:]: row for row in printed.splitlines() if " | " in row}
        assert rows["SPB"] == "| SPB |  | 60.9 |  |"
        assert "±" in rows["PRD"]
        target = work / "reduced-base-width-4-pixels-8-per-class-4-epochs-1-batch-size-8"
        assert (target / "table-made-up.md").read_text().strip() in printed
        assert len(list(target.glob("*.json"))) == 4
        assert (target / "made-up-task-incremental.png").stat().st_size > 10_000
        assert (target / "made-up-linear-probe.png").exists()

    def test_what_fails_does_not_stop_the_others(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        nowhere = PaperJob("folder", "PRD", 0, TINY, tmp_path, None, tmp_path)
        assert loop.finish_all([Killed(tmp_path / "killed.json"), nowhere], 1) == 2
        said = capfd.readouterr().err
        assert "failed with exit code -9: killed" in said
        assert "one folder a class is expected" in said

    def test_iid_learns_once_and_has_no_course(self, made_up: Path) -> None:
        found = {("made-up", "iid"): runs_of([finish(job("iid", made_up))])}
        row = details("made-up", found).splitlines()[-1].split(" | ")
        assert all(float(cell) >= 0 for cell in row[1:3])
        assert set(row[3:11]) == {""}

    def test_domains_are_measured_by_class(
        self, made_up: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        halves = coloured(8)._replace(domains=np.tile([0, 1], 32)), coloured(4, seed=1)
        copy = local_copies.LocalCopy(lambda root, pixels: halves, 8, "made-up")
        monkeypatch.setitem(local_copies.LOCAL_COPIES, "made-up", copy)
        own = finish(job("PRD", made_up))
        found = {("made-up", "PRD"): runs_of([own])}
        assert len(found["made-up", "PRD"][0]["balanced"]) == 2
        table = TABLES["domains"]._replace(scenarios=("made-up",))
        assert comparison(table, found).splitlines()[-1].startswith("| PRD | ")
        assert details("made-up", found).splitlines()[-1].endswith("| 1 |")
