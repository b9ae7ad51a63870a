"""What holds for every exporter that is installed."""

from __future__ import annotations

import errno
import gzip
import json
import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from prd_edge.exporters.base import Answer, Exporter, Source

from prd_edge import Runtime, StoreConfig
from prd_edge import files as store_files
from prd_edge.errors import (
    GuardRefusedError,
    InvalidInputError,
    NoUsableDataError,
    StoreCorruptError,
    StoreError,
)
from prd_edge.export import exporter_named, formats
from tests.conftest import picture, write_session

SIZE = 64
DOCUMENT = Path(__file__).parents[2] / "docs/exporters.md"
DOCUMENTED = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
SHAPES = [(40, 48), (64, 64), (200, 31), (33, 170)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures") / "data"
    write_session(root, images=8)
    return root


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> Runtime:
    config = StoreConfig(image_size=SIZE)
    made = Runtime.open(tmp_path_factory.mktemp("export") / "store", config=config, threads=1)
    made.learn_session(folder, mode="imprint")
    return made


@pytest.fixture(scope="module", params=formats())
def exported(
    request: pytest.FixtureRequest,
    runtime: Runtime,
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    target = tmp_path_factory.mktemp("out") / f"model{exporter_named(request.param).suffix}"
    found = runtime.export(target, format=request.param, calibrate=folder)
    assert json.loads(target.with_name(target.name + ".certificate.json").read_text()) == {
        "images": 24,
        "top1_agreement": found.top1_agreement,
        "unknown_agreement": found.unknown_agreement,
        "largest_difference": found.largest_difference,
        "version": runtime.version,
    }
    assert found.top1_agreement == 1.0
    return target


def asked(path: Path, images: np.ndarray) -> dict[str, np.ndarray]:
    """As a user would: bare onnxruntime, from bytes."""
    session = onnxruntime.InferenceSession(path.read_bytes(), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"image": images}), strict=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_pictures_of_any_size_get_the_answer_of_the_store(
    exported: Path, runtime: Runtime, shape: tuple[int, int]
) -> None:
    for colour in ((30, 60, 200), (210, 40, 30)):
        image = picture(colour, seed=99, size=shape)
        expected = runtime.predict(image, top_k=1, always_answer=True)
        outputs = asked(exported, image[None])
        classes = json.loads(metadata(exported)["classes"])
        assert classes[int(outputs["answer"][0])] == expected.label
        assert outputs["confidence"].shape == (1, 3)
        assert outputs["confidence"].sum() == pytest.approx(1.0, abs=1e-5)
        assert outputs["unknown"].dtype == bool


def test_a_batch_is_answered_picture_by_picture(exported: Path) -> None:
    images = np.stack([picture((40, 180, 60), seed) for seed in range(3)])
    together = asked(exported, images)
    for row, image in enumerate(images):
        alone = asked(exported, image[None])
        for name, values in alone.items():
            np.testing.assert_allclose(together[name][row], values[0], atol=1e-5)


def metadata(path: Path) -> dict[str, str]:
    model = onnx.load_from_string(path.read_bytes())
    return {entry.key: entry.value for entry in model.metadata_props}


def test_the_file_stands_alone_and_says_what_it_is(exported: Path, runtime: Runtime) -> None:
    model = onnx.load_from_string(exported.read_bytes())
    onnx.checker.check_model(model, full_check=True)
    assert {entry.domain for entry in model.opset_import} <= {"", "ai.onnx"}
    assert {node.domain for node in model.graph.node} <= {"", "ai.onnx"}
    assert not any(tensor.external_data for tensor in model.graph.initializer)
    said = metadata(exported)
    assert json.loads(said["classes"]) == ["blue", "green", "red"]
    assert said["version"] == runtime.version
    assert "Apache-2.0" in said["licence"]
    assert set(json.loads(said["thresholds"])) == {"blue", "green", "red"}


def test_it_can_be_checked_again(exported: Path, runtime: Runtime, folder: Path) -> None:
    # What is held to the strictest bar of all formats is at least held to its own.
    found = exporter_named("onnx-int8").check(runtime.store.live(), exported, images=folder)
    assert found.images == 24


@pytest.mark.parametrize("name", formats())
class TestRefusals:
    def test_nothing_is_written_where_the_two_disagree(
        self,
        name: str,
        runtime: Runtime,
        folder: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        answer = Source.answer

        def another(source: Source, image: np.ndarray) -> Answer:
            own = answer(source, image)
            return own._replace(confidences=np.roll(own.confidences, 1))

        monkeypatch.setattr(Source, "answer", another)
        with pytest.raises(GuardRefusedError, match=r"of 24 pictures 0\.0 % get the same answer"):
            runtime.export(tmp_path / "model.onnx", format=name, calibrate=folder)
        assert not [*tmp_path.iterdir()]

    def test_a_store_without_classes(self, name: str, tmp_path: Path, folder: Path) -> None:
        empty = Runtime.open(tmp_path / "store", config=StoreConfig(image_size=32), threads=1)
        empty.init()
        with pytest.raises(NoUsableDataError, match="knows no class yet"):
            empty.export(tmp_path / "model.onnx", format=name, calibrate=folder)
        assert not (tmp_path / "model.onnx").exists()

    @pytest.mark.parametrize(
        ("target", "says"),
        [
            ("model.txt", "should end in .onnx"),
            ("missing/model.onnx", "no folder .*missing; make it first"),
        ],
    )
    def test_targets_that_make_no_sense(
        self, name: str, target: str, says: str, runtime: Runtime, tmp_path: Path
    ) -> None:
        with pytest.raises(InvalidInputError, match=says):
            runtime.export(tmp_path / target, format=name)

    def test_a_target_that_is_a_folder(self, name: str, runtime: Runtime, tmp_path: Path) -> None:
        (tmp_path / "model.onnx").mkdir()
        with pytest.raises(InvalidInputError, match="is a folder"):
            runtime.export(tmp_path / "model.onnx", format=name)

    @pytest.mark.parametrize("kind", ["missing", "empty", "unreadable"])
    def test_calibration_pictures_that_are_none(
        self, name: str, kind: str, runtime: Runtime, tmp_path: Path
    ) -> None:
        place = tmp_path / "pictures"
        if kind != "missing":
            place.mkdir()
        if kind == "unreadable":
            (place / "a.jpg").write_bytes(b"no picture")
        with pytest.raises(NoUsableDataError, match="pictures"):
            runtime.export(tmp_path / "model.onnx", format=name, calibrate=place)
        assert not (tmp_path / "model.onnx").exists()

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

        monkeypatch.setattr(store_files, "before_operation", full)
        with pytest.raises(StoreError, match="the disk is full"):
            runtime.export(tmp_path / "model.onnx", format=name, calibrate=folder)
        assert not [*tmp_path.iterdir()]


def test_eight_bits_need_pictures(runtime: Runtime, tmp_path: Path) -> None:
    with pytest.raises(NoUsableDataError, match="give a folder of some with --calibrate"):
        runtime.export(tmp_path / "model.onnx", format="onnx-int8")


def test_eight_bits_are_smaller(runtime: Runtime, folder: Path, tmp_path: Path) -> None:
    runtime.export(tmp_path / "whole.onnx")
    runtime.export(tmp_path / "small.onnx", format="onnx-int8", calibrate=folder)
    whole, small = ((tmp_path / name).stat().st_size for name in ("whole.onnx", "small.onnx"))
    assert small < 0.35 * whole


def test_formats_that_are_not_there(runtime: Runtime, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no format named 'zip'; choose one of onnx, "):
        runtime.export(tmp_path / "model.zip", format="zip")


def test_files_that_are_no_export(runtime: Runtime, tmp_path: Path) -> None:
    check = exporter_named("onnx").check
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
        InvalidInputError, match=r"the file knows 3 classes, version .* 4; name the"
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
    assert gzip.decompress((tmp_path / "model.gz").read_bytes()) == whole.read_bytes()
