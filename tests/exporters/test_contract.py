"""What holds for every exporter that is installed."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime
import pytest
from prd_edge.exporters import graph
from prd_edge.exporters.base import Answer, Exporter, Source
from prd_edge.exporters.certificate import Certificate
from prd_edge.exporters.pictures import pictures_to_check, pictures_to_fit

from prd_edge import Runtime, StoreConfig
from prd_edge import files as store_files
from prd_edge.errors import (
    GuardRefusedError,
    InvalidInputError,
    NoUsableDataError,
    StoreCorruptError,
    StoreError,
)
from prd_edge.export import certificate_of, exporter_named, formats
from prd_edge.model_card import model_card
from tests.conftest import needs_web_runtime, picture, write_session

SIZE = 64
DOCUMENT = Path(__file__).parents[2] / "docs/exporters.md"
DOCUMENTED = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
SHAPES = [(40, 48), (64, 64), (200, 31), (33, 170)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures") / "data"
    write_session(root, images=14)
    return root


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Runtime:
    config = StoreConfig(image_size=SIZE)
    made = Runtime.open(tmp_path_factory.mktemp("export") / "store", config=config, threads=1)
    made.learn_session(folder, mode="imprint")
    return made


class Exported(NamedTuple):
    format: str
    target: Path  # what was named
    model: Path  # what onnxruntime opens
    found: Certificate


@pytest.fixture(scope="module", params=formats())
def exported(
    request: pytest.FixtureRequest,
    runtime: Runtime,
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Exported:
    exporter = available(request.param)
    target = tmp_path_factory.mktemp("out") / f"model{exporter.suffix}"
    found = exported_to(target, request.param, runtime, folder)
    model = target / "model.onnx" if target.is_dir() else target
    return Exported(request.param, target, model, found)


def exported_to(target: Path, name: str, runtime: Runtime, folder: Path) -> Certificate:
    """Checked with one half of the pictures; the other half is fitted on, if any are."""
    exporter = available(name)
    given = {"calibrate": folder} if exporter.is_fitted else {"images": folder}
    found: Certificate = runtime.export(target, format=name, **given)
    return found


def available(name: str) -> Exporter:
    if name == "web":
        needs_web_runtime()
    exporter: Exporter = exporter_named(name)
    return exporter


def test_the_certificate_stands_inside_and_beside(exported: Exported, runtime: Runtime) -> None:
    place = exporter_named(exported.format).certificate_path(exported.target)
    beside = json.loads(place.read_text())
    assert beside.pop("sha256") == sha256(exported.model.read_bytes()).hexdigest()
    assert beside == exported.found.as_dict()
    assert beside == json.loads(metadata(exported.model)["certificate"])
    assert beside["format"] == exported.format
    assert beside["version"] == runtime.version
    assert beside["images"] == (21 if exported.format == "onnx-int8" else 42)
    assert beside["unknown_agreement"] == 1.0
    assert beside["top1_agreement"] == 1.0
    assert ("size_ratio" in beside) == ("speed_ratio" in beside) == (exported.format == "onnx-int8")


def test_the_model_card_comes_with_it(exported: Exported, runtime: Runtime) -> None:
    place = exporter_named(exported.format).card_path(exported.target)
    named = "model/MODEL_CARD.md" if exported.target.is_dir() else "model.onnx.card.md"
    assert place == exported.target.parent / named
    assert place.read_text() == model_card(runtime.store.live())


def test_the_card_has_the_evaluation_that_is_given(runtime: Runtime, tmp_path: Path) -> None:
    said = {"version": runtime.version, "images": 7, "accuracy": 0.5}
    (tmp_path / "evaluation.json").write_text(json.dumps(said))
    runtime.export(tmp_path / "model.onnx", evaluation=tmp_path / "evaluation.json")
    assert "On 7 labelled images" in (tmp_path / "model.onnx.card.md").read_text()


def asked(exported: Exported, images: np.ndarray) -> dict[str, np.ndarray]:
    """As a user would: bare onnxruntime, from bytes."""
    session = onnxruntime.InferenceSession(
        exported.model.read_bytes(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"image": images}), strict=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_pictures_of_any_size_get_the_answer_of_the_store(
    exported: Exported, runtime: Runtime, shape: tuple[int, int]
) -> None:
    for colour in ((30, 60, 200), (210, 40, 30)):
        image = picture(colour, seed=99, size=shape)
        expected = runtime.predict(image, top_k=1, always_answer=True)
        outputs = asked(exported, image[None])
        classes = json.loads(metadata(exported.model)["classes"])
        assert classes[int(outputs["answer"][0])] == expected.label
        assert outputs["confidence"].shape == (1, 3)
        assert outputs["confidence"].sum() == pytest.approx(1.0, abs=1e-5)
        assert outputs["unknown"].dtype == bool


def test_a_batch_is_answered_picture_by_picture(exported: Exported) -> None:
    images = np.stack([picture((40, 180, 60), seed) for seed in range(3)])
    together = asked(exported, images)
    for row, image in enumerate(images):
        alone = asked(exported, image[None])
        for name, values in alone.items():
            np.testing.assert_allclose(together[name][row], values[0], atol=1e-5)


def metadata(path: Path) -> dict[str, str]:
    model = onnx.load_from_string(path.read_bytes())
    return {entry.key: entry.value for entry in model.metadata_props}


def test_the_file_stands_alone_and_says_what_it_is(exported: Exported, runtime: Runtime) -> None:
    model = onnx.load_from_string(exported.model.read_bytes())
    onnx.checker.check_model(model, full_check=True)
    assert {entry.domain for entry in model.opset_import} <= {"", "ai.onnx"}
    assert {node.domain for node in model.graph.node} <= {"", "ai.onnx"}
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    said = metadata(exported.model)
    assert json.loads(said["classes"]) == ["blue", "green", "red"]
    assert said["version"] == runtime.version
    assert "Apache-2.0" in said["licence"]
    assert set(json.loads(said["thresholds"])) == {"blue", "green", "red"}


def test_it_can_be_checked_again(exported: Exported, runtime: Runtime, folder: Path) -> None:
    exporter = exporter_named(exported.format)
    found = exporter.check(runtime.store.live(), exported.target, images=folder)
    assert found.images == 42
    certificate = certificate_of(exported.target)
    assert certificate is not None
    assert certificate.format == exported.format


def test_a_changed_file_is_told(
    exported: Exported, runtime: Runtime, folder: Path, tmp_path: Path
) -> None:
    exporter = exporter_named(exported.format)
    copy = tmp_path / exported.target.name
    place = exporter.certificate_path(copy)
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(exporter.certificate_path(exported.target).read_bytes())
    model = copy / exported.model.name if exported.target.is_dir() else copy
    changed = bytearray(exported.model.read_bytes())
    changed[len(changed) // 2] ^= 1
    model.write_bytes(changed)
    with pytest.raises(GuardRefusedError, match="one of them was changed; export it anew"):
        exporter.check(runtime.store.live(), copy, images=folder)


@pytest.mark.parametrize("name", formats())
class TestRefusals:
    @pytest.mark.parametrize(
        ("otherwise", "says"),
        [
            (lambda own: own._replace(label="another"), r"of \d+ pictures 0\.0 % get the same"),
            (lambda own: own._replace(unknown=not own.unknown), r"on 0\.0 % both agree whether"),
            (lambda own: own._replace(confidences=dict.fromkeys(own.confidences, np.nan)),
             "not numbers"),
        ],
        ids=["label", "unknown", "nan"],
    )  # fmt: skip
    def test_nothing_is_written_where_the_two_disagree(
        self,
        name: str,
        otherwise: Callable[[Answer], Answer],
        says: str,
        runtime: Runtime,
        folder: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        answer = Source.answer
        monkeypatch.setattr(Source, "answer", lambda *asked: otherwise(answer(*asked)))
        with pytest.raises(GuardRefusedError, match=says):
            exported_to(tmp_path / f"model{available(name).suffix}", name, runtime, folder)
        assert not [*tmp_path.iterdir()]

    def test_a_file_that_names_its_classes_otherwise(
        self, name: str, runtime: Runtime, folder: Path, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        told = graph.metadata
        mixed = json.dumps(["green", "blue", "red"])
        monkeypatch.setattr(graph, "metadata", lambda source: {**told(source), "classes": mixed})
        with pytest.raises(GuardRefusedError, match="get the same answer"):
            exported_to(tmp_path / f"model{available(name).suffix}", name, runtime, folder)
        assert not [*tmp_path.iterdir()]

    def test_a_store_without_classes(self, name: str, tmp_path: Path, folder: Path) -> None:
        empty = Runtime.open(tmp_path / "store", config=StoreConfig(image_size=32), threads=1)
        empty.init()
        target = tmp_path / f"model{available(name).suffix}"
        with pytest.raises(NoUsableDataError, match="knows no class yet"):
            exported_to(target, name, empty, folder)
        assert not target.exists()

    def test_targets_that_make_no_sense(self, name: str, runtime: Runtime, tmp_path: Path) -> None:
        suffix = available(name).suffix
        (tmp_path / f"folder{suffix}").mkdir()
        (tmp_path / f"folder{suffix}" / "letter.txt").write_text("dear")
        (tmp_path / "file").write_text("dear")
        refused = {f"missing/model{suffix}": "no folder .*missing; make it first"}
        if suffix:
            refused |= {"model.txt": f"should end in {suffix}", f"folder{suffix}": "is a folder"}
        else:
            refused |= {"file": "is a file; name a folder", "folder": "not made by an export"}
        before = sorted(tmp_path.rglob("*"))
        for target, says in refused.items():
            with pytest.raises(InvalidInputError, match=says):
                runtime.export(tmp_path / target, format=name)
        assert sorted(tmp_path.rglob("*")) == before

    @pytest.mark.parametrize("kind", ["missing", "empty", "unreadable"])
    def test_calibration_pictures_that_are_none(
        self, name: str, kind: str, runtime: Runtime, tmp_path: Path
    ) -> None:
        place = tmp_path / "pictures"
        if kind != "missing":
            place.mkdir()
        if kind == "unreadable":
            (place / "a.jpg").write_bytes(b"no picture")
        target = tmp_path / f"model{available(name).suffix}"
        with pytest.raises(NoUsableDataError, match="pictures"):
            exported_to(target, name, runtime, place)
        assert not target.exists()

    def test_a_full_disk_leaves_nothing(
        self,
        name: str,
        runtime: Runtime,
        folder: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def full(operation: str, path: Path) -> None:
            if operation == "fsync":
                raise OSError(errno.ENOSPC, "No space left on device")

        target = tmp_path / f"model{available(name).suffix}"
        monkeypatch.setattr(store_files, "before_operation", full)
        with pytest.raises(StoreError, match="the disk is full"):
            exported_to(target, name, runtime, folder)
        assert not [*tmp_path.iterdir()]

    def test_an_evaluation_of_another_version(
        self, name: str, runtime: Runtime, tmp_path: Path
    ) -> None:
        evaluation = tmp_path / "evaluation.json"
        evaluation.write_text('{"version": "000099", "images": 7, "accuracy": 0.5}')
        target = tmp_path / f"model{available(name).suffix}"
        with pytest.raises(InvalidInputError, match="of version '000099', not of"):
            runtime.export(target, format=name, evaluation=evaluation)
        assert [*tmp_path.iterdir()] == [evaluation]

    @pytest.mark.parametrize("companion", ["certificate.json", "card.md"])
    def test_what_was_exported_before_is_replaced_or_stays(
        self, name: str, companion: str, runtime: Runtime, folder: Path, tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:  # fmt: skip
        target = tmp_path / f"model{available(name).suffix}"
        exported_to(target, name, runtime, folder)
        before = contents(tmp_path)
        exported_to(target, name, runtime, folder)
        assert contents(tmp_path).keys() == before.keys()

        before = contents(tmp_path)

        for fault in (OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()):

            def fails(operation: str, path: Path, fault: BaseException = fault) -> None:
                if operation == "write" and path.name.lower().endswith(companion):
                    raise fault

            monkeypatch.setattr(store_files, "before_operation", fails)
            with pytest.raises((StoreError, KeyboardInterrupt)):
                exported_to(target, name, runtime, folder)
            assert contents(tmp_path) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class TestEightBits:
    def test_they_need_pictures(self, runtime: Runtime, folder: Path, tmp_path: Path) -> None:
        target = tmp_path / "model.onnx"
        with pytest.raises(
            NoUsableDataError, match=r"fitted on at least 20 pictures, and there are 0"
        ):
            runtime.export(target, format="onnx-int8")
        few = tmp_path / "few"
        few.mkdir()
        for number, path in enumerate(sorted(folder.rglob("*.png"))[:22]):
            (few / f"{number}.png").write_bytes(path.read_bytes())
        with pytest.raises(
            NoUsableDataError, match=r"fitted on at least 20 pictures, and there are 11"
        ):
            runtime.export(target, format="onnx-int8", calibrate=few)
        assert runtime.export(target, format="onnx-int8", calibrate=few, images=folder).images == 42
        for path in sorted(few.iterdir())[:10]:
            path.unlink()
        with pytest.raises(
            NoUsableDataError, match=r"checked with at least 20 pictures, and there are 12"
        ):
            runtime.export(target, format="onnx-int8", calibrate=folder, images=few)

    def test_they_are_not_checked_with_foreign_pictures(
        self, runtime: Runtime, folder: Path, tmp_path: Path
    ) -> None:
        target = tmp_path / "model.onnx"
        exported_to(target, "onnx-int8", runtime, folder)
        with pytest.raises(
            InvalidInputError, match="some of that kind to check it with by --images"
        ):
            exporter_named("onnx-int8").check(runtime.store.live(), target)

    def test_a_moved_file_still_says_what_it_is(
        self, runtime: Runtime, folder: Path, tmp_path: Path
    ) -> None:
        exported_to(tmp_path / "model.onnx", "onnx-int8", runtime, folder)
        moved = (tmp_path / "model.onnx").rename(tmp_path / "moved.onnx")
        found = certificate_of(moved)
        assert found is not None
        assert (found.format, found.version) == ("onnx-int8", runtime.version)


@pytest.mark.parametrize("name", ["onnx", "web"])
def test_what_is_not_fitted_takes_no_pictures_to_fit(
    name: str, runtime: Runtime, folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=f"format {name} is not fitted on pictures"):
        runtime.export(tmp_path / "model.onnx", format=name, calibrate=folder)


def test_pictures_are_found_among_other_files(folder: Path, tmp_path: Path) -> None:
    (tmp_path / ".hidden").mkdir()
    for number in range(600):
        (tmp_path / f"{number}.xml").write_text("<annotation/>")
    for number, path in enumerate(sorted(folder.rglob("*.png"))[:5]):
        (tmp_path / f"{number}.png").write_bytes(path.read_bytes())
        (tmp_path / ".hidden" / f"{number}.png").write_bytes(path.read_bytes())
    assert len(list(pictures_to_check(tmp_path))) == 5
    halves = (
        pictures_to_fit(tmp_path, all_of_them=False),
        pictures_to_check(tmp_path, fitted_on=True),
    )
    assert sum(own.paths.count(tmp_path / "3.png") for own in halves) == 1
    assert {*halves[0].paths, *halves[1].paths} == {*tmp_path.glob("[0-9]*")}


def test_two_exports_to_one_place_do_not_mix(
    runtime: Runtime, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process begins to write there in the middle of ours."""
    target = tmp_path / "model.onnx"
    begun = []

    def another(operation: str, path: Path) -> None:
        if operation == "rename" and not begun:
            begun.append(path)
            with monkeypatch.context() as other:
                other.setattr(os, "getpid", lambda: 1)
                runtime.export(target, images=folder)

    monkeypatch.setattr(store_files, "before_operation", another)
    runtime.export(target, images=folder)
    assert begun
    assert exporter_named("onnx").check(runtime.store.live(), target, images=folder)
    assert len([*tmp_path.iterdir()]) == 3  # with certificate and card


def test_eight_bits_are_smaller(runtime: Runtime, folder: Path, tmp_path: Path) -> None:
    runtime.export(tmp_path / "whole.onnx")
    exported_to(tmp_path / "small.onnx", "onnx-int8", runtime, folder)
    whole, small = ((tmp_path / name).stat().st_size for name in ("whole.onnx", "small.onnx"))
    assert small < 0.35 * whole


def test_formats_that_are_not_there(runtime: Runtime, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no format named 'zip'; choose one of onnx, "):
        runtime.export(tmp_path / "model.zip", format="zip")


def test_files_that_are_no_export(runtime: Runtime, tmp_path: Path) -> None:
    check = exporter_named("onnx").check
    os.mkfifo(tmp_path / "pipe.onnx")
    with pytest.raises(InvalidInputError, match="is not a file"):
        check(runtime.store.live(), tmp_path / "pipe.onnx")
    (tmp_path / "other.onnx").write_bytes(runtime.store.live().read("encoder.onnx"))
    with pytest.raises(InvalidInputError, match="was not exported by prd-edge"):
        check(runtime.store.live(), tmp_path / "other.onnx")
    with pytest.raises(InvalidInputError, match="cannot read"):
        check(runtime.store.live(), tmp_path / "missing.onnx")
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x09junk")
    with pytest.raises(StoreCorruptError, match="cannot be loaded by onnxruntime"):
        check(runtime.store.live(), tmp_path / "broken.onnx")


def test_another_version_knows_other_classes(
    runtime: Runtime, folder: Path, tmp_path: Path
) -> None:
    first = runtime.version
    runtime.export(tmp_path / "model.onnx")
    runtime.learn_session(
        [(picture((250, 250, 250), s), "white") for s in range(6)], mode="imprint"
    )
    with pytest.raises(
        InvalidInputError, match=r"the file and version .* other classes, such as 'white': name"
    ):
        exporter_named("onnx").check(runtime.store.live(), tmp_path / "model.onnx")
    assert exporter_named("onnx").check(runtime.store.version(first), tmp_path / "model.onnx")
    runtime.rollback(first)


def test_the_ten_lines_of_the_documentation(
    runtime: Runtime, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: object
) -> None:
    runtime.export(tmp_path / "model.onnx")
    (tmp_path / "image.jpg").write_bytes((folder / "red" / "0.png").read_bytes())
    monkeypatch.chdir(tmp_path)
    exec(compile(DOCUMENTED[0], "docs/exporters.md", "exec"), {})
    assert capsys.readouterr().out.startswith("red ")  # type: ignore[attr-defined]


def test_the_documented_exporter(runtime: Runtime, tmp_path: Path) -> None:
    names: dict[str, type[Exporter]] = {}
    exec(compile(DOCUMENTED[1], "docs/exporters.md", "exec"), names)
    found = names["ZippedOnnx"]().export(runtime.store.live(), tmp_path / "model.gz")
    assert (found.images, found.top1_agreement) == (26, 1.0)
    whole = tmp_path / "model.onnx"
    runtime.export(whole)
    unzipped = gzip.decompress((tmp_path / "model.gz").read_bytes())
    assert onnx.load_from_string(unzipped).graph == onnx.load_from_string(whole.read_bytes()).graph


def test_a_page_is_not_written_over_another_certificate(runtime: Runtime, tmp_path: Path) -> None:
    available("web")
    target = tmp_path / "site"
    target.mkdir()
    (target / "certificate.json").write_text('{"mine": 1}')
    (target / "index.html").write_text("mine")
    with pytest.raises(InvalidInputError, match="was not made by an export"):
        runtime.export(target, format="web")
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    with pytest.raises(InvalidInputError, match="a link that leads nowhere"):
        runtime.export(tmp_path / "nowhere", format="web")
    assert (target / "index.html").read_text() == "mine"
