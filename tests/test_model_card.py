"""The model card: every figure is the manifest's, and no name can break out of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from prd_edge import Runtime
from prd_edge.encoders import UNTRAINED
from prd_edge.errors import InvalidInputError
from prd_edge.evaluated import Evaluated
from prd_edge.manifest import Manifest
from prd_edge.model_card import card_of, model_card
from prd_edge.store import Store

Call = Callable[..., tuple[int, str, str]]
EVALUATION = {
    "schema": 1,
    "version": "000003",
    "images": 500,
    "accuracy": 0.85,
    "balanced_accuracy": 0.8125,
    "unknown": 7,
    "something": {"new": True},
}


@pytest.fixture(scope="session")
def lineage(taught_once: Path) -> list[Manifest]:
    return [version.manifest for version in Store(taught_once).live().lineage()]


def section(card: str, title: str) -> str:
    (found,) = [part for part in card.split("\n## ") if part.startswith(title + "\n")]
    return found


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def having(lineage: list[Manifest], **changes: object) -> list[Manifest]:
    return [*lineage[:-1], replace(lineage[-1], **changes)]  # type: ignore[arg-type]


def test_what_it_is(lineage: list[Manifest]) -> None:
    card = card_of(lineage)
    assert card.startswith("# Model card: version 000003\n")
    assert "| classes | 3, from 24 images, 6 to 12 a class |" in card
    assert "efficientnet\\_lite0, 32 px, 2768 features, as it was before the sessions" in card
    assert "| licence of its weights | Apache-2.0 |" in card
    assert section(card, "Classes").endswith(
        "| class | images |\n| --- | --- |\n| blue | 6 |\n| green | 12 |\n| red | 6 |\n"
    )
    trained = lineage[-1].encoder._replace(adapted_from="block11")
    assert "its stages from block11 on trained further" in card_of(having(lineage, encoder=trained))


def test_each_session_and_its_own_hold_out(lineage: list[Manifest]) -> None:
    told = section(card_of(lineage), "Sessions")
    rows = [cells(line) for line in told.splitlines() if line.startswith("| 0")]
    metrics = lineage[-1].metrics
    error = f"{100 * metrics['calibration_error']:.1f} %"
    assert rows[0][2:] == ["init", "–", "–", "–", "–", "–", "–"]
    assert rows[1][2:8] == ["imprinted", "2", "0", "12", str(metrics["holdout_images"]),
                            "– → 100.0 %"]  # fmt: skip
    assert rows[2][2:] == ["imprinted", "1", "1", "12", str(metrics["holdout_images"]),
                           "50.0 → 100.0 %", error]  # fmt: skip
    assert "This is not accuracy on a test set" in told
    assert "no longer kept" not in told
    assert "What led to version 000002 is no longer kept." in card_of(lineage[1:])


def test_only_versions_that_led_to_it(taught: Path) -> None:
    runtime = Runtime.open(taught)
    runtime.rollback("2")
    runtime.rename("blue", "azul")
    lineage = [version.manifest for version in runtime.store.live().lineage()]
    assert [manifest.version for manifest in lineage] == ["000001", "000002", "000004"]
    told = section(card_of(lineage), "Sessions")
    assert "| rename 'blue' to 'azul' | – | – |" in told
    assert "000003" not in told


class TestEvaluation:
    def test_is_told_if_there_is_one(self, lineage: list[Manifest]) -> None:
        assert "No evaluation on other images" in section(card_of(lineage), "Measured accuracy")
        card = card_of(lineage, Evaluated(500, 0.85, 0.8125, 7))
        assert "No evaluation" not in card
        assert (
            "On 500 labelled images, by `prd-edge evaluate`: accuracy 85.0 %, balanced accuracy "
            "81.2 %; 7 called unknown." in section(card, "Measured accuracy")
        )

    def test_is_read_from_what_evaluate_writes(
        self, prd_edge: Call, taught: Path, session: Path, tmp_path: Path
    ) -> None:
        written = tmp_path / "evaluation.json"
        written.write_text(prd_edge("evaluate", session, "--store", taught, "--json")[1])
        code, out, err = prd_edge("info", "--card", "--evaluation", written, "--store", taught)
        assert (code, err) == (0, "")
        assert "On 18 labelled images, by `prd-edge evaluate`: accuracy 100.0 %" in out

    def test_may_say_more_or_less(self, tmp_path: Path) -> None:
        path = tmp_path / "evaluation.json"
        path.write_text(json.dumps(EVALUATION))
        assert Evaluated.read(path, "000003") == (500, 0.85, 0.8125, 7)
        path.write_text('{"version": "000003", "images": 1, "accuracy": 1}')
        assert Evaluated.read(path, "000003") == (1, 1.0, None, None)

    def test_is_of_the_classes_that_were_taught(self, tmp_path: Path) -> None:
        path = tmp_path / "evaluation.json"
        strangers = {"images": 40, "called_unknown": 0.75}
        path.write_text(json.dumps({**EVALUATION, "unknown": 37, "never_taught": strangers}))
        assert Evaluated.read(path, "000003") == (460, 0.85, 0.8125, 7)

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"version": "000002"}, "of version '000002', not of 000003; make one of that: prd-"),
            ({"version": None}, "it names no version"),
            ({"images": 0}, "its number of images is 0"),
            ({"images": True}, "its number of images is True"),
            ({"images": "many"}, "its number of images is 'many'"),
            ({"accuracy": None}, "it has no accuracy"),
            ({"accuracy": 85}, "its accuracy is 85"),
            ({"accuracy": float("nan")}, "its accuracy is nan"),
            ({"balanced_accuracy": "high"}, "its balanced_accuracy is 'high'"),
        ],
    )
    def test_of_another_version_or_kind_is_refused(
        self, tmp_path: Path, changes: dict[str, object], says: str
    ) -> None:
        path = tmp_path / "evaluation.json"
        path.write_text(json.dumps(EVALUATION | changes))
        with pytest.raises(InvalidInputError, match="make one") as refused:
            Evaluated.read(path, "000003")
        assert says in str(refused.value)

    @pytest.mark.parametrize("data", [b"", b"{", b"[]", b"3", b"\xff\xfe{", b"[" * 100_000])
    def test_that_is_none_is_refused(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "evaluation.json"
        path.write_bytes(data)
        with pytest.raises(InvalidInputError, match="is not an evaluation"):
            Evaluated.read(path, "000003")

    def test_that_is_no_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match="is not a file; make one"):
            Evaluated.read(tmp_path, "000003")
        with pytest.raises(InvalidInputError, match="No such file or directory; make one"):
            Evaluated.read(tmp_path / "missing", "000003")
        with pytest.raises(InvalidInputError, match="File name too long; make one"):
            Evaluated.read(tmp_path / ("n" * 300), "000003")


class TestLimits:
    def test_classes_of_few_images_are_named(self, lineage: list[Manifest]) -> None:
        assert "fewer than 5 images" not in card_of(lineage)
        limits = section(
            card_of(having(lineage, classes={"ant": 4, "bee": 5, "c_t": 1})), "Known limits"
        )
        assert "fewer than 5 images: ant, c\\_t.\n  Their prototypes say much" in limits

    def test_many_of_them_are_counted(self, lineage: list[Manifest]) -> None:
        card = card_of(having(lineage, classes={f"thing {n:03}": 2 for n in range(700)}))
        assert "thing 019 and 680 more.\n" in section(card, "Known limits")
        assert section(card, "Classes").count("\n| thing ") == 700

    def test_the_encoder(self, lineage: list[Manifest]) -> None:
        assert "pretrained on ImageNet" in card_of(lineage)
        untrained = lineage[-1].encoder._replace(name=UNTRAINED)
        card = card_of(having(lineage, encoder=untrained))
        assert "ImageNet" not in card
        assert "began untrained" in card

    def test_one_class_or_none(self, lineage: list[Manifest]) -> None:
        assert "Only one class is known" not in card_of(lineage)
        assert "Only one class is known" in card_of(having(lineage, classes={"ant": 9}))
        empty = card_of(lineage[:1])
        assert "| classes | 0, from 0 images |" in empty
        assert section(empty, "Classes") == "Classes\n\nNone yet.\n"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a|b", r"a\|b"),
        ("*bold*", r"\*bold\*"),
        ("_x_", r"\_x\_"),
        ("`code`", r"\`code\`"),
        ("<script>", r"\<script\>"),
        ("[a](b)", r"\[a\](b)"),
        ("~~gone~~", r"\~\~gone\~\~"),
        ("&amp;", r"\&amp;"),
        ("# 1", r"\# 1"),
        ("Tasse ☕", "Tasse ☕"),
        ("Semi-Skimmed-Milk 1.5%", "Semi-Skimmed-Milk 1.5%"),
    ],
)
def test_names_stay_names(lineage: list[Manifest], name: str, shown: str) -> None:
    manifests = having(lineage, classes={name: 3}, action=f"rename 'x' to '{name}'", metrics={})
    card = card_of(manifests)
    assert f"\n| {shown} | 3 |\n" in card
    assert f"fewer than 5 images: {shown}.\n" in card
    assert f"| rename 'x' to '{shown}' |" in card
    assert shown == name or f" {name} " not in card


class TestCommand:
    def test_prints_it(self, prd_edge: Call, taught: Path) -> None:
        code, out, err = prd_edge("info", "--card", "--store", taught)
        assert (code, err) == (0, "")
        assert out == model_card(Store(taught).live())

    @pytest.mark.parametrize(
        ("arguments", "says"),
        [
            (["--card", "--json"], "give either --card or --json"),
            (["--evaluation", "e.json"], "--evaluation is for the model card; give --card too"),
            (["--card", "--evaluation", "no.json"], "cannot read no.json: No such file"),
            (["--card", "--evaluation", ""], "the name is empty"),
        ],
    )
    def test_bad_calls_get_one_line(
        self, prd_edge: Call, taught: Path, arguments: list[str], says: str
    ) -> None:
        code, out, err = prd_edge("info", *arguments, "--store", taught)
        assert (code, out) == (2, "")
        assert says in err
        assert err.count("\n") == 1
