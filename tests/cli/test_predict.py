"""`prd-edge predict`: what it takes, what it prints, in which order."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from PIL import Image

from prd_edge import Runtime

from ..conftest import COLOURS, picture
from .conftest import Command, Outcome, process

FIELDS = {
    "schema",
    "source",
    "label",
    "confidence",
    "likeness",
    "unknown",
    "top_k",
    "version",
    "ms",
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """blue.png, green.png, red.png, and beside them what is no picture."""
    folder = tmp_path_factory.mktemp("pictures")
    for label, colour in COLOURS.items():
        Image.fromarray(picture(colour, 77)).save(folder / f"{label}.png")
    (folder / "notes.txt").write_text("not a picture")
    return folder


def labels(outcome: Outcome) -> list[str]:
    return [json.loads(line)["label"] for line in outcome.out.splitlines()]


def sources(outcome: Outcome) -> list[str]:
    return [json.loads(line)["source"] for line in outcome.out.splitlines()]


class TestWhatItTakes:
    def test_a_file(self, command: Command, untouched: Path, pictures: Path) -> None:
        outcome = command("predict", pictures / "red.png", "--store", untouched)
        assert (outcome.code, outcome.err) == (0, "")
        assert outcome.out.startswith(f"{pictures / 'red.png'}: red  ")
        assert len(outcome.out.splitlines()) == 1

    def test_a_folder_and_what_lies_below(
        self, command: Command, untouched: Path, pictures: Path, tmp_path: Path
    ) -> None:
        root = tmp_path / "mixed"
        shutil.copytree(pictures, root / "b" / "deep")
        shutil.copy(pictures / "red.png", root / "a.PNG")
        shutil.copy(pictures / "red.png", root / ".hidden.png")
        shutil.copytree(pictures, root / ".trash")
        outcome = command("predict", root, "--store", untouched, "--jsonl")
        assert outcome.code == 0
        assert labels(outcome) == ["red", "blue", "green", "red"]
        assert sources(outcome)[:2] == [str(root / "a.PNG"), str(root / "b/deep/blue.png")]

    def test_a_pattern(self, command: Command, untouched: Path, pictures: Path) -> None:
        outcome = command("predict", pictures / "*e*.png", "--store", untouched, "--jsonl")
        assert labels(outcome) == ["blue", "green", "red"]

    def test_a_recursive_pattern(self, command: Command, untouched: Path, pictures: Path) -> None:
        pattern = pictures / "**" / "gr*.png"
        outcome = command("predict", pattern, "--store", untouched, "--jsonl")
        assert set(labels(outcome)) == {"green"}

    def test_a_pattern_that_matches_folders_takes_what_is_in_them(
        self, command: Command, untouched: Path, pictures: Path
    ) -> None:
        """As when the shell expands it."""
        pattern = pictures.parent / f"{pictures.name[:-1]}[{pictures.name[-1]}]"
        outcome = command("predict", pattern, "--store", untouched, "--jsonl")
        assert (outcome.code, labels(outcome)) == (0, ["blue", "green", "red"])

    def test_a_file_whose_name_looks_like_a_pattern(
        self, command: Command, untouched: Path, pictures: Path, tmp_path: Path
    ) -> None:
        odd = tmp_path / "[1]*?.png"
        shutil.copy(pictures / "blue.png", odd)
        assert labels(command("predict", odd, "--store", untouched, "--jsonl")) == ["blue"]

    def test_a_list_on_standard_input(
        self, command: Command, untouched: Path, pictures: Path
    ) -> None:
        given = "\n".join(str(pictures / f"{label}.png") for label in ("red", "blue")) + "\n\n"
        outcome = command("predict", "-", "--store", untouched, "--jsonl", stdin=given)
        assert labels(outcome) == ["red", "blue"]

    def test_a_list_from_windows(self, untouched: Path, pictures: Path) -> None:
        given = f"{pictures / 'red.png'}\r\n{pictures / 'blue.png'}\r\n".encode()
        outcome = process("predict", "-", "--store", untouched, "--quiet", stdin=given)
        assert outcome == Outcome(0, "red\nblue\n", "")

    def test_all_of_them_together_in_the_order_given(
        self, command: Command, untouched: Path, pictures: Path
    ) -> None:
        outcome = command(
            *("predict", pictures / "red.png", "-", pictures, pictures / "r*.png"),
            *("--store", untouched, "--jsonl"),
            stdin=f"{pictures / 'green.png'}\n",
        )
        assert labels(outcome) == ["red", "green", "blue", "green", "red", "red"]

    def test_the_store_of_the_environment(
        self,
        command: Command,
        untouched: Path,
        pictures: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("PRD_EDGE_STORE", str(untouched))
        assert command("predict", pictures / "red.png", "--quiet").out == "red\n"

    def test_a_name_that_begins_with_a_dash(
        self,
        command: Command,
        untouched: Path,
        pictures: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        shutil.copy(pictures / "red.png", tmp_path / "-x.png")
        monkeypatch.chdir(tmp_path)
        assert command("predict", "--quiet", "--store", untouched, "--", "-x.png").out == "red\n"


class TestOrder:
    @pytest.mark.parametrize("threads", [1, 2])
    def test_many_files_come_out_as_they_went_in(
        self, command: Command, untouched: Path, tmp_path: Path, threads: int
    ) -> None:
        """Large and small pictures in turn, so that threads overtake each other."""
        given = []
        for number in range(40):
            label = list(COLOURS)[number * 7 % 3]
            size = (300, 400) if number % 5 == 0 else (20, 24)
            path = tmp_path / f"{number * 37 % 40:02}-{label}.png"
            Image.fromarray(picture(COLOURS[label], number, size)).save(path)
            given.append(path)
        outcome = command("predict", *given, "--store", untouched, "--jsonl", "--threads", threads)
        assert sources(outcome) == [str(path) for path in given]
        assert labels(outcome) == [path.stem.split("-")[1] for path in given]


class TestJson:
    def test_the_fields_of_an_answer(
        self, command: Command, untouched: Path, pictures: Path
    ) -> None:
        outcome = command("predict", pictures / "red.png", "--store", untouched, "--json")
        answer = json.loads(outcome.out)
        assert set(answer) == FIELDS
        assert answer["schema"] == 1
        assert answer["source"] == str(pictures / "red.png")
        assert (answer["label"], answer["unknown"], answer["version"]) == ("red", False, "000003")
        assert isinstance(answer["confidence"], float)
        assert answer["ms"] > 0
        assert all(set(entry) == {"label", "confidence"} for entry in answer["top_k"])

    def test_lines_have_the_same_fields(
        self, command: Command, untouched: Path, pictures: Path
    ) -> None:
        outcome = command("predict", pictures, "--store", untouched, "--jsonl")
        answers = [json.loads(line) for line in outcome.out.splitlines()]
        assert len(answers) == 3
        assert all(set(answer) == FIELDS for answer in answers)

    def test_many_make_one_list(self, command: Command, untouched: Path, pictures: Path) -> None:
        outcome = command("predict", pictures, "--store", untouched, "--json")
        assert [answer["label"] for answer in json.loads(outcome.out)] == ["blue", "green", "red"]

    @pytest.mark.parametrize("form", ["--json", "--jsonl"])
    def test_a_broken_picture_among_others_has_an_error(
        self, command: Command, untouched: Path, pictures: Path, form: str
    ) -> None:
        outcome = command(
            "predict", pictures / "notes.txt", pictures / "red.png", "--store", untouched, form
        )
        assert outcome.code == 3
        parsed = (
            json.loads(outcome.out)
            if form == "--json"
            else [json.loads(line) for line in outcome.out.splitlines()]
        )
        broken, good = parsed
        assert set(broken) == FIELDS | {"error"}
        assert (broken["label"], broken["top_k"]) == (None, [])
        assert "not an image" in broken["error"]
        assert good["label"] == "red"

    @pytest.mark.parametrize("name", ["notes.txt", "missing.png"])
    @pytest.mark.parametrize("form", ["--json", "--jsonl"])
    def test_a_broken_picture_alone_has_one_too(
        self, command: Command, untouched: Path, pictures: Path, form: str, name: str
    ) -> None:
        """One file gives one document, readable or not: a program need not guess the shape."""
        outcome = command("predict", pictures / name, "--store", untouched, form)
        assert outcome.code == 3
        answer = json.loads(outcome.out)
        assert isinstance(answer, dict)
        assert set(answer) == FIELDS | {"error"}


class TestTopK:
    @pytest.mark.parametrize(("k", "expected"), [(1, 1), (2, 2), (3, 3), (50, 3)])
    def test_as_many_as_asked_or_known(
        self, command: Command, untouched: Path, pictures: Path, k: int, expected: int
    ) -> None:
        outcome = command(
            "predict", pictures / "red.png", "--store", untouched, "--json", "--top-k", k
        )
        answer = json.loads(outcome.out)
        assert len(answer["top_k"]) == expected
        assert answer["top_k"][0] == {"label": "red", "confidence": answer["confidence"]}

    def test_confidences_are_sorted_shares(
        self, command: Command, untouched: Path, pictures: Path
    ) -> None:
        outcome = command("predict", pictures, "--store", untouched, "--jsonl")
        for line in outcome.out.splitlines():
            confidences = [entry["confidence"] for entry in json.loads(line)["top_k"]]
            assert confidences == sorted(confidences, reverse=True)
            assert all(0 <= confidence <= 1 for confidence in confidences)
            assert sum(confidences) == pytest.approx(1, abs=1e-5)


class TestThreshold:
    def test_below_it_the_answer_is_unknown(
        self, command: Command, untouched: Path, pictures: Path
    ) -> None:
        outcome = command(
            "predict", pictures / "red.png", "--store", untouched, "--json", "--threshold", 1
        )
        answer = json.loads(outcome.out)
        assert outcome.code == 0
        assert (answer["label"], answer["unknown"]) == (None, True)
        assert answer["top_k"][0]["label"] == "red"

    def test_at_zero_nothing_is(self, command: Command, untouched: Path, pictures: Path) -> None:
        outcome = command(
            "predict", pictures / "red.png", "--store", untouched, "--json", "--threshold", 0
        )
        assert json.loads(outcome.out)["unknown"] is False

    def test_people_read_unknown_and_the_best_guesses(
        self, command: Command, untouched: Path, pictures: Path
    ) -> None:
        outcome = command("predict", pictures / "red.png", "--store", untouched, "--threshold", 1)
        assert ": unknown  " in outcome.out
        assert "(nearest: red " in outcome.out
        assert "unknown  (nearest: red " in outcome.out  # no figure that could be taken for its own


class TestQuiet:
    def test_labels_only(self, command: Command, untouched: Path, pictures: Path) -> None:
        outcome = command("predict", pictures, "--store", untouched, "--quiet")
        assert outcome == Outcome(0, "blue\ngreen\nred\n", "")

    def test_unknown(self, command: Command, untouched: Path, pictures: Path) -> None:
        outcome = command(
            "predict", pictures / "red.png", "--store", untouched, "--quiet", "--threshold", 1
        )
        assert outcome.out == "unknown\n"


class TestUnicode:
    @pytest.mark.parametrize("name", ["写真 1.png", "фото.png", "👩\u200d🔬.png", "cafe\u0301.png"])
    def test_file_names(
        self, command: Command, untouched: Path, pictures: Path, tmp_path: Path, name: str
    ) -> None:
        shutil.copy(pictures / "red.png", tmp_path / name)
        outcome = command("predict", tmp_path / name, "--store", untouched, "--jsonl")
        assert (sources(outcome), labels(outcome)) == ([str(tmp_path / name)], ["red"])
        assert name in outcome.out, "readable as it is, not as escapes"

    def test_class_names(self, command: Command, store: Path, pictures: Path) -> None:
        Runtime.open(store).rename("red", "赤い 🟥")
        for form in ((), ("--quiet",), ("--json",)):
            outcome = command("predict", pictures / "red.png", "--store", store, *form)
            assert "赤い 🟥" in outcome.out

    @pytest.mark.parametrize("form", [(), ("--jsonl",), ("--json",)])
    def test_a_file_name_that_is_not_unicode(
        self, untouched: Path, pictures: Path, tmp_path: Path, form: tuple[str, ...]
    ) -> None:
        shutil.copy(pictures / "red.png", bytes(tmp_path) + b"/\xff.png")
        strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
        outcome = process("predict", tmp_path, "--store", untouched, *form, env=strict)
        assert (outcome.code, outcome.err) == (0, "")
        assert "red" in outcome.out

    def test_a_list_with_names_that_are_not_unicode(
        self, untouched: Path, pictures: Path, tmp_path: Path
    ) -> None:
        odd = bytes(tmp_path) + b"/\xff.png"
        shutil.copy(pictures / "red.png", odd)
        strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
        outcome = process(
            "predict", "-", "--store", untouched, "--quiet", stdin=odd + b"\n", env=strict
        )
        assert outcome == Outcome(0, "red\n", "")

    def test_a_terminal_of_another_alphabet(self, store: Path, pictures: Path) -> None:
        Runtime.open(store).rename("red", "赤い")
        latin = {**os.environ, "PYTHONIOENCODING": "latin-1"}
        outcome = process("predict", pictures / "red.png", "--store", store, env=latin)
        assert (outcome.code, outcome.err) == (0, "")


class TestLineByLine:
    @pytest.mark.parametrize("name", ["a\nb.png", "a\x1b[31mb.png", "a\rb.png", "a\u202eb.png"])
    def test_a_file_name_cannot_trick_the_terminal(
        self, command: Command, untouched: Path, pictures: Path, tmp_path: Path, name: str
    ) -> None:
        shutil.copy(pictures / "red.png", tmp_path / name)
        good = command("predict", tmp_path, "--store", untouched)
        (tmp_path / name).write_text("no picture")
        broken = command("predict", tmp_path, "--store", untouched)
        for text in (good.out, broken.err):
            assert len(text.splitlines()) == 1
            assert text.rstrip("\n").isprintable()
