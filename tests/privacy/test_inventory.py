"""`verify --privacy` knows everything that a store keeps, and notices whatever else is there."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from safetensors.numpy import load, save

from prd_edge import Runtime
from prd_edge.inventory import take_inventory
from prd_edge.learn import checkpointing
from prd_edge.manifest import FileRecord, Manifest
from prd_edge.report import METRICS
from prd_edge.store import Store
from tests import tiny_store
from tests.conftest import COLOURS, picture, write_session
from tests.crash.faults import LONGEST, hooked
from tests.privacy.test_no_trace import TRAIN
from tests.privacy.traces import SMALL
from tests.tiny_store import pairs

LIVE = "versions/000003"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose encoder was trained, twice, and imprinted upon."""
    folder = tmp_path_factory.mktemp("trained")
    runtime = Runtime.open(folder / "store", config=SMALL, threads=1)
    first = write_session(folder / "one", classes=("blue", "green"))
    runtime.learn_session(first, mode="prd", **TRAIN)
    second = write_session(folder / "two", classes=("green", "red"), start=50)
    runtime.learn_session(second, mode="prd", **TRAIN)
    third = write_session(folder / "three", classes=("red",), start=90)
    runtime.learn_session(third, mode="imprint")
    return folder / "store"


def test_everything_is_known(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rename("red", "scarlet")
    runtime.feedback(picture(COLOURS["green"], 3), not_label="green")
    runtime.remove("blue")
    runtime.forget("green")
    found = take_inventory(runtime.store)
    assert found.unknown == []
    assert {own.version for own in found.kept} == {None, *runtime.store.version_names()}


def test_everything_is_known_of_a_trained_store(trained: Path) -> None:
    found = take_inventory(Store(trained))
    assert found.unknown == []
    behind = {own.version: own.images for own in found.kept if own.file == "encoder.onnx"}
    assert list(behind.values()) == [(0,), (12,), (24,), (30,)]


def test_all_tensors_of_the_live_version_are_listed(taught: Path) -> None:
    listed = {
        (o.file, o.tensor): o for o in take_inventory(Store(taught)).kept if o.version == "000003"
    }
    for file in ("prototypes.safetensors", "covariance.safetensors"):
        for name, tensor in load((taught / LIVE / file).read_bytes()).items():
            assert listed[file, name].shape == tensor.shape
    assert listed["prototypes.safetensors", "sums"].images == (6, 12, 6)
    assert listed["covariance.safetensors", "second_moment"].images == (24,)


def test_the_metrics_of_every_report_are_known(taught: Path) -> None:
    kept = Store(taught).live().manifest.metrics
    assert set(kept) | {"renamed"} == METRICS


def put(store: Path, file: str, data: bytes) -> None:
    """Other bytes, in a version whose manifest vouches for them."""
    path = store / LIVE / file
    path.unlink()
    path.write_bytes(data)
    vouch(store, lambda m: replace(m, files={**m.files, file: FileRecord.of(data)}))


def vouch(store: Path, change: Callable[[Manifest], Manifest]) -> None:
    path = store / LIVE / "manifest.json"
    data = change(Manifest.from_bytes(path.read_bytes())).to_bytes()
    path.unlink()
    path.write_bytes(data)


def add_tensor(file: str) -> Callable[[Path], None]:
    def plant(store: Path) -> None:
        tensors = load((store / LIVE / file).read_bytes())
        put(store, file, save({**tensors, "samples": np.zeros((24, 8), np.float32)}))

    return plant


def grow_tensor(store: Path) -> None:
    tensors = load((store / LIVE / "prototypes.safetensors").read_bytes())
    tensors["sums"] = np.concatenate([tensors["sums"], tensors["sums"]])
    put(store, "prototypes.safetensors", save(tensors))


def change_graph(change: Callable[[onnx.ModelProto], object]) -> Callable[[Path], None]:
    def plant(store: Path) -> None:
        model = onnx.load_from_string((store / LIVE / "encoder.onnx").read_bytes())
        change(model)
        put(store, "encoder.onnx", model.SerializeToString(deterministic=True))

    return plant


def add_remark(model: onnx.ModelProto) -> None:
    model.metadata_props.add(key="samples", value="0123456789")


def add_initializer(model: onnx.ModelProto) -> None:
    array = np.zeros((24, 8), np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(array, "samples"))


def add_name(model: onnx.ModelProto) -> None:
    model.graph.node[0].name = "sample" * 20_000


def add_note(store: Path) -> None:
    file = "covariance.safetensors"
    tensors = load((store / LIVE / file).read_bytes())
    put(store, file, save(tensors, metadata={"samples": "0123456789"}))


def change_metrics(**strange: object) -> Callable[[Path], None]:
    def plant(store: Path) -> None:
        vouch(store, lambda m: replace(m, metrics={**m.metrics, **strange}))

    return plant


def add_bytes(store: Path) -> None:
    field_of_no_schema = b"\xa2\x06\x05hello"  # number 100
    put(store, "encoder.onnx", (store / LIVE / "encoder.onnx").read_bytes() + field_of_no_schema)


def change_kind(store: Path) -> None:
    """A wider number has room for a picture in its lower half."""
    tensors = load((store / LIVE / "prototypes.safetensors").read_bytes())
    tensors["readout.weights"] = tensors["readout.weights"].astype(np.float64)
    put(store, "prototypes.safetensors", save(tensors))


def change_manifest(**strange: object) -> Callable[[Path], None]:
    return lambda store: vouch(store, lambda m: replace(m, **strange))  # type: ignore[arg-type]


def change_licence(store: Path) -> None:
    strange = "sample" * 50
    vouch(store, lambda m: replace(m, encoder=m.encoder._replace(licence=strange)))


def list_files(store: Path) -> None:
    more = {f"sample{number}": FileRecord.of(b"") for number in range(9)}
    vouch(store, lambda m: replace(m, files={**m.files, **more}))


def write(place: str, data: bytes) -> Callable[[Path], None]:
    def plant(store: Path) -> None:
        (store / place).write_bytes(data)

    return plant


def link(place: str) -> Callable[[Path], None]:
    """To a picture outside, or to a folder of them."""

    def plant(store: Path) -> None:
        outside = store.parent / "outside"
        if (store / place).is_dir():
            shutil.move(store / place, outside)
        else:
            outside.write_bytes((store / place).read_bytes() if (store / place).exists() else b"")
            (store / place).unlink(missing_ok=True)
        (store / place).symlink_to(outside)

    return plant


def add_file(place: str) -> Callable[[Path], None]:
    def plant(store: Path) -> None:
        (store / place).write_bytes(b"samples")

    return plant


PLANTS: dict[str, Callable[[Path], None]] = {
    "a tensor among the prototypes": add_tensor("prototypes.safetensors"),
    "a tensor beside the covariance": add_tensor("covariance.safetensors"),
    "a tensor among the weights": add_tensor("encoder.safetensors"),
    "a tensor in the snapshot": add_tensor("snapshot.safetensors"),
    "more rows than classes": grow_tensor,
    "metadata in the graph": change_graph(add_remark),
    "an unused tensor in the graph": change_graph(add_initializer),
    "a long name in the graph": change_graph(add_name),
    "bytes behind the graph": add_bytes,
    "remarks beside tensors": add_note,
    "a figure in the manifest": change_metrics(samples=1.0),
    "a figure of another name in a drift": change_metrics(drift={"red": {"samples": 1.0}}),
    "many figures in one of a drift": change_metrics(drift={"red": {"distance": [1.0, 2.0]}}),
    "a drift of no class": change_metrics(drift=[1.0, 2.0]),
    "many figures for the images of a class": change_metrics(added={"red": [1.0, 2.0]}),
    "more names than a renaming has": change_metrics(renamed=["red", "blue", "green"]),
    "many figures among the losses": change_metrics(training={"losses": [1.0, 2.0, 3.0]}),
    "many figures of a training": change_metrics(training={"steps": [1.0, 2.0]}),
    "a long note": change_metrics(training={"note": "sample" * 1000}),
    "a long number": change_metrics(seconds=10**1000),
    "a figure of no class": change_metrics(added={"sample": 1}),
    "a tensor of another kind": change_kind,
    "something done that we do not do": change_manifest(action="sample"),
    "a long action": change_manifest(action=f"remove '{'sample' * 100}'"),
    "other software": change_manifest(software="prd-edge 1" + "0" * 100),
    "another time": change_manifest(created="sample"),
    "a long licence": change_licence,
    "files that are not there": list_files,
    "a picture for a lock": write("LOCK", b"sample"),
    "a picture for a writer": write("LOCK.holder", b"\x89PNG\r\n\x1a\n" + bytes(80)),
    "lines for a writer": write("LOCK.holder", b"one\ntwo\n"),
    "much for a writer": write("LOCK.holder", b"sample" * 100),
    "a link for a lock": link("LOCK"),
    "a link for a writer": link("LOCK.holder"),
    "what is left of a commit": add_file("versions/.tmp-000004"),
    "what is left of a checkpoint": add_file(".tmp-checkpoint"),
    "what is left of a repair": add_file(f"{LIVE}/.tmp-encoder.onnx"),
    "a link among the files": link(f"{LIVE}/covariance.safetensors"),
    "a link to a version": link("versions/000002"),
    "a link to all versions": link("versions"),
    "a file in the version": add_file(f"{LIVE}/samples"),
    "a file in the store": add_file("samples"),
    "a file beside the versions": add_file("versions/samples"),
    "something in place of a checkpoint": add_file("checkpoint"),
}


@pytest.mark.parametrize("plant", PLANTS.values(), ids=PLANTS)
def test_what_is_planted_is_noticed(taught: Path, plant: Callable[[Path], None], prd_edge) -> None:
    plant(taught)
    assert len(take_inventory(Store(taught)).unknown) == 1
    code, _, err = prd_edge("verify", "--privacy", "--store", taught)
    assert code == 4
    assert "not known to the inventory" in err


def test_a_checkpoint_is_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpointing, "SECONDS_BETWEEN", 0.0)
    runtime = Runtime.open(tmp_path / "store", config=SMALL, threads=1)
    runtime.init()

    def power_cut(step) -> None:
        if step.stage == "training" and step.done == step.total:
            raise KeyboardInterrupt

    folder = write_session(tmp_path / "one")
    with pytest.raises(KeyboardInterrupt):
        runtime.learn_session(folder, mode="prd", on_progress=power_cut, **TRAIN)
    found = take_inventory(runtime.store)
    assert found.unknown == []
    assert [own.file for own in found.kept if "cut off" in own.derived_from] == ["checkpoint"]


def test_where_single_images_show_through(taught: Path, prd_edge) -> None:
    runtime = Runtime.open(taught)
    report = runtime.learn_session([(picture(COLOURS["red"], 77), "red")])
    assert "fewer than 5 new images of red" in report.warnings[0]
    runtime.learn_session([(picture((90, 90, 90), 78), "grey")])
    assert take_inventory(runtime.store).few == [
        "grey: a sum of 1, in version 000005",
        "red: versions 000003 and 000004 differ by 1",
    ]
    code, out, err = prd_edge("verify", "--privacy", "--store", taught)
    assert code == 0
    assert "few images stand behind grey: a sum of 1, in version 000005" in err
    assert "sum of the embeddings of all images of a class" in out


def test_a_single_image_in_an_older_version_shows_through(tmp_path: Path) -> None:
    runtime = tiny_store.create(tmp_path / "store")
    runtime.learn_session(pairs("red", images=1), mode="imprint")
    runtime.learn_session(pairs("red", images=9, start=5), mode="imprint")
    assert take_inventory(runtime.store).few == ["red: a sum of 1, in version 000002"]
    runtime.rollback("2")
    runtime.learn_session(pairs("red", images=10, start=20), mode="imprint")
    assert "red: versions 000003 and 000004 differ by 1" in take_inventory(runtime.store).few


def test_a_difference_of_one_image_is_noticed_under_another_name(tmp_path: Path) -> None:
    runtime = tiny_store.create(tmp_path / "store")
    runtime.learn_session(pairs("blue", "green"), mode="imprint")
    runtime.rename("blue", "azure")
    runtime.learn_session([(picture(COLOURS["blue"], 77), "azure")], mode="imprint")
    shutil.rmtree(tmp_path / "store/versions/000003")
    assert take_inventory(runtime.store).few == ["azure: versions 000002 and 000004 differ by 1"]


def test_a_difference_of_one_image_is_noticed_where_a_class_is_taught_anew(tmp_path: Path) -> None:
    runtime = tiny_store.create(tmp_path / "store")
    runtime.learn_session(pairs("blue"), mode="imprint")
    runtime.rollback("1")
    runtime.learn_session(pairs("blue", images=7), mode="imprint")
    assert take_inventory(runtime.store).few == ["blue: versions 000002 and 000003 differ by 1"]


def test_a_damaged_pointer_is_unknown(taught: Path) -> None:
    for name in ("CURRENT", "CURRENT.copy"):
        good = (taught / name).read_bytes()
        (taught / name).write_bytes(b"sample")
        assert take_inventory(Store(taught)).unknown == [str(taught / name)]
        (taught / name).write_bytes(good)


def test_nothing_is_unknown_where_somebody_writes(tmp_path: Path) -> None:
    """At any of its operations, and however long that takes."""
    store = tiny_store.teach(tmp_path / "store").store
    seen = []

    def look(operation: str, path: Path) -> None:
        if operation in ("write", "fsync", "rename", "rmdir") and "holder" not in path.name:
            seen.extend(own for own in take_inventory(store).unknown if "tiny" not in own)

    with hooked(look):
        Runtime.open(store.path, threads=1).forget("green")
    assert seen == []


def test_nothing_is_unknown_in_a_race(tmp_path: Path) -> None:
    store = tiny_store.teach(tmp_path / "store").store
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST)
        runtime = Runtime.open(store.path, threads=1)
        for start in range(100, 10_000):
            runtime.rename(*(("red", "scarlet") if start % 2 == 0 else ("scarlet", "red")))
        os._exit(0)
    try:
        looks = [take_inventory(store).unknown for _ in range(40)]
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert [own for unknown in looks for own in unknown if "tiny" not in own] == []


def test_as_json(taught: Path, prd_edge) -> None:
    code, out, _ = prd_edge("verify", "--privacy", "--json", "--store", taught)
    document = json.loads(out)
    assert code == 0
    assert (document["schema"], document["live"], document["unknown"]) == (1, "000003", [])
    assert {own["version"] for own in document["kept"]} == {None, "000001", "000002", "000003"}
