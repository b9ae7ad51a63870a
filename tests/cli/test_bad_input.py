"""Whatever goes wrong is one clear line and its exit code, and the store stays as it was."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from prd_edge import Runtime
from prd_edge.bank import PrototypeBank
from prd_edge.errors import InvalidInputError
from prd_edge.store import Store

from ..conftest import COLOURS, picture, write_session
from .conftest import (
    Command,
    Outcome,
    assert_answers,
    assert_refused,
    fingerprint,
    flip_a_bit,
    mounted,
    process,
    rewrite,
    share_store,
    start_process,
    temporaries,
)

Refused = Callable[..., Outcome]

pytestmark = pytest.mark.filterwarnings("ignore:::PIL")

FILES = (
    "preprocess.onnx",
    "encoder.onnx",
    "encoder.safetensors",
    "snapshot.safetensors",
    "prototypes.safetensors",
    "covariance.safetensors",
)
NEEDED_TO_PREDICT = ("preprocess.onnx", "encoder.onnx", "prototypes.safetensors")


def save(path: Path, colour: str = "red", seed: int = 500) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture(COLOURS[colour], seed)).save(path, "PNG")
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A good session of two classes, to be spoiled."""
    for number in range(2):
        save(tmp_path / "data/red" / f"{number}.png", "red", 600 + number)
        save(tmp_path / "data/blue" / f"{number}.png", "blue", 700 + number)
    return tmp_path / "data"


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return save(tmp_path / "good.png")


def huge_png() -> bytes:
    header = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", zlib.compress(b"")), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


class TestSessionFolder:
    """`learn-session`: exit 3 where there is nothing to learn from, 2 where a name is wrong."""

    def test_missing(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        says = (str(tmp_path / "nothing"), "one sub-folder a class")
        refused("learn-session", tmp_path / "nothing", "--store", store, code=3, says=says)

    def test_a_file(self, refused: Refused, store: Path, good: Path) -> None:
        says = (str(good), "is a file", "one sub-folder a class")
        refused("learn-session", good, "--store", store, code=3, says=says)

    def test_empty(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        says = ("data holds nothing", "put the images of each class in a sub-folder")
        refused("learn-session", tmp_path / "data", "--store", store, code=3, says=says)

    def test_pictures_without_class_folders(
        self, refused: Refused, store: Path, tmp_path: Path
    ) -> None:
        save(tmp_path / "data/1.png")
        says = ("data holds only files", "put the images of each class in a sub-folder")
        refused("learn-session", tmp_path / "data", "--store", store, code=3, says=says)

    def test_one_class_is_empty(self, refused: Refused, store: Path, data: Path) -> None:
        (data / "mug").mkdir()
        says = ("no images for 'mug'", "remove the empty folder")
        refused("learn-session", data, "--store", store, code=3, says=says)

    def test_one_class_has_broken_pictures_alone(
        self, refused: Refused, store: Path, data: Path
    ) -> None:
        (data / "mug").mkdir()
        (data / "mug/1.jpg").write_bytes(b"\xff\xd8\xff\xe0 broken")
        says = ("class 'mug' has no usable image", "mug/1.jpg")
        refused("learn-session", data, "--store", store, code=3, says=says)

    def test_only_broken_pictures(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        for label in ("cup", "mug"):
            (tmp_path / "data" / label).mkdir(parents=True)
            (tmp_path / "data" / label / "1.png").write_text("text")
        says = ("'cup' has no usable image", "cup/1.png", "not an image")
        refused("learn-session", tmp_path / "data", "--store", store, code=3, says=says)

    def test_the_problem_told_belongs_to_the_class(
        self, refused: Refused, store: Path, data: Path
    ) -> None:
        (data / "readme.md").touch()
        (data / "mug").mkdir()
        (data / "mug/1.jpg").write_text("text")
        says = ("class 'mug'", "mug/1.jpg")
        refused("learn-session", data, "--store", store, code=3, says=says)

    def test_a_picture_of_50000_by_50000(
        self, refused: Refused, store: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "data/cup").mkdir(parents=True)
        (tmp_path / "data/cup/1.png").write_bytes(huge_png())
        says = ("cup/1.png", "over the limit of 64,000,000 pixels", "scale it down")
        refused("learn-session", tmp_path / "data", "--store", store, code=3, says=says)

    def test_the_same_picture_in_both_classes(
        self, refused: Refused, store: Path, tmp_path: Path
    ) -> None:
        for label in ("cup", "mug"):
            save(tmp_path / "data" / label / "1.png")
        says = ("no usable image", "the same picture is in cup and mug")
        refused("learn-session", tmp_path / "data", "--store", store, code=3, says=says)

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            ("a\\b", "U+005C"),
            ("..\\..\\x", "begins with a dot"),
            ("a\nb", "U+000A"),
            ("a\x1b[2Jb", "U+001B"),
            ("gpj\u202ephoto", "U+202E"),
            (" cup", "begins or ends with a space"),
            ("cup ", "begins or ends with a space"),
            ("x" * 201, "201 bytes"),
        ],
    )
    def test_a_class_name_with_a_trick(
        self, refused: Refused, store: Path, data: Path, name: str, shown: str
    ) -> None:
        if not name.startswith("."):  # hidden folders are not read at all
            (data / "blue").rename(data / name)
            refused(
                "learn-session",
                data,
                "--store",
                store,
                code=2,
                says=("class name", shown, "rename"),
            )
        refused("classes", "rename", "red", name, "--store", store, code=2, says=(shown, "rename"))

    def test_a_class_name_that_is_not_unicode(
        self, refused: Refused, store: Path, data: Path
    ) -> None:
        os.mkdir(os.fsencode(data) + b"/\xff")
        refused("learn-session", data, "--store", store, code=2, says=("U+DCFF", "rename"))

    def test_two_spellings_of_a_class(self, refused: Refused, store: Path, data: Path) -> None:
        save(data / "cafe\u0301/1.png")
        save(data / "caf\u00e9/1.png")
        says = ("both named 'café'", "merge")
        refused("learn-session", data, "--store", store, code=2, says=says)

    @pytest.mark.parametrize("length", [300, 5000])
    def test_a_name_too_long_for_the_system(
        self, refused: Refused, store: Path, length: int
    ) -> None:
        refused("learn-session", "x" * length, "--store", store, code=3)

    def test_an_empty_name_is_not_the_current_folder(
        self, refused: Refused, store: Path, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As from `prd-edge learn-session "$UNSET"`."""
        monkeypatch.chdir(data)
        refused("learn-session", "", "--store", store, code=2)

    def test_good_pictures_are_learned_beside_broken_ones(
        self, command: Command, store: Path, data: Path
    ) -> None:
        (data / "red/broken.jpg").write_bytes(b"\xff\xd8")
        (data / "red/huge.png").write_bytes(huge_png())
        (data / "notes.txt").touch()
        outcome = command("learn-session", data, "--store", store)
        assert outcome.code == 0
        warning, *skipped = outcome.complaints
        assert warning.startswith("warning: fewer than 5 new images of blue, red")
        assert len(skipped) == 3
        assert all(line.startswith("skipped ") for line in skipped)
        assert "images used      4" in outcome.out
        assert "images skipped   3" in outcome.out
        assert_answers(store)

    def test_a_file_name_cannot_trick_the_terminal(
        self, command: Command, store: Path, data: Path
    ) -> None:
        (data / "red/a\nprd-edge: all is well\n.png").write_text("no picture")
        (data / "red/a\u202eb.png").write_text("no picture")
        outcome = command("learn-session", data, "--store", store, "--dry-run")
        warning, *skipped = outcome.complaints
        assert warning.startswith("warning: fewer than 5 new images of blue, red")
        assert len(skipped) == 2
        assert all(line.isprintable() for line in outcome.complaints)


class TestFirstSession:
    """A first session that fails leaves the place as it was."""

    def test_no_store_is_made(self, command: Command, tmp_path: Path) -> None:
        (tmp_path / "data/cup").mkdir(parents=True)
        (tmp_path / "data/cup/1.jpg").write_text("text")
        outcome = command("learn-session", tmp_path / "data", "--store", tmp_path / "new/store")
        assert_refused(outcome, 3)
        assert not (tmp_path / "new/store").exists()

    def test_a_folder_that_was_there_stays(self, command: Command, tmp_path: Path) -> None:
        (tmp_path / "data/cup").mkdir(parents=True)
        (tmp_path / "data/cup/1.jpg").write_text("text")
        (tmp_path / "place").mkdir()
        outcome = command("learn-session", tmp_path / "data", "--store", tmp_path / "place")
        assert_refused(outcome, 3)
        assert (tmp_path / "place").is_dir()

    def test_a_file_named_lock_of_somebody_else_stays(
        self, command: Command, tmp_path: Path
    ) -> None:
        (tmp_path / "data/cup").mkdir(parents=True)
        (tmp_path / "data/cup/1.jpg").write_text("text")
        (tmp_path / "place").mkdir()
        (tmp_path / "place/LOCK").write_text("of another program")
        command("learn-session", tmp_path / "data", "--store", tmp_path / "place")
        assert (tmp_path / "place/LOCK").read_text() == "of another program"

    @pytest.mark.parametrize("arguments", [("rollback",), ("gc",), ("verify",), ("info",)])
    def test_commands_on_an_empty_folder_leave_it_alone(
        self, command: Command, tmp_path: Path, arguments: tuple[str, ...]
    ) -> None:
        (tmp_path / "place").mkdir()
        outcome = command(*arguments, "--store", tmp_path / "place")
        assert_refused(outcome, 4, ("there is no store at", "prd-edge init"))
        assert list((tmp_path / "place").iterdir()) == []

    def test_files_of_somebody_else_survive(
        self, command: Command, tmp_path: Path, data: Path
    ) -> None:
        """Whoever points --store at a folder in use must not lose what is in it."""
        place = tmp_path / "place"
        mine = {
            ".tmp-mine": "precious",
            ".tmp-folder/file": "precious",
            "versions/.tmp-mine": "precious",
            "versions/app/.tmp-cache": "precious",
        }
        for name, text in mine.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_text(text)
        command("init", "--image-size", 32, "--store", place)
        command("learn-session", data, "--store", place)
        lost = [name for name in mine if not (place / name).exists()]
        assert lost == []


class TestPictures:
    """`predict`: exit 3 where a picture cannot be read; the others are answered."""

    def test_missing_file(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        says = (str(tmp_path / "x.jpg"), "No such file")
        refused("predict", tmp_path / "x.jpg", "--store", store, code=3, says=says)

    def test_a_text(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        (tmp_path / "x.jpg").write_text("text")
        says = (str(tmp_path / "x.jpg"), "not an image", "PNG")
        refused("predict", tmp_path / "x.jpg", "--store", store, code=3, says=says)

    def test_an_empty_file(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        (tmp_path / "x.jpg").touch()
        refused("predict", tmp_path / "x.jpg", "--store", store, code=3, says=("x.jpg", "empty"))

    def test_half_a_picture(self, refused: Refused, store: Path, good: Path) -> None:
        rewrite(good, good.read_bytes()[:300])
        refused("predict", good, "--store", store, code=3, says=(str(good), "truncated"))

    def test_50000_by_50000(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        (tmp_path / "x.png").write_bytes(huge_png())
        says = ("x.png", "64,000,000 pixels", "scale it down")
        refused("predict", tmp_path / "x.png", "--store", store, code=3, says=says)

    def test_folder_without_pictures(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs/a.txt").touch()
        says = ("no pictures in", str(tmp_path / "docs"))
        refused("predict", tmp_path / "docs", "--store", store, code=3, says=says)

    def test_pattern_without_match(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        pattern = tmp_path / "*.jpg"
        refused("predict", pattern, "--store", store, code=3, says=("no pictures in", str(pattern)))

    def test_empty_list(self, refused: Refused, store: Path) -> None:
        outcome = refused("predict", "-", "--store", store, code=3, says=("no pictures",))
        assert "in -\n" not in outcome.err, "say 'standard input', not '-'"

    def test_a_pipe(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "x.png")
        says = ("x.png", "not a regular file")
        refused("predict", tmp_path / "x.png", "--store", store, code=3, says=says)

    @pytest.mark.parametrize("name", ["x" * 300, "x/" * 3000])
    def test_a_name_too_long_for_the_system(self, refused: Refused, store: Path, name: str) -> None:
        refused("predict", name, "--store", store, code=3, says=("too long",))

    def test_an_empty_name_is_not_the_current_folder(
        self, command: Command, store: Path, good: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(good.parent)
        outcome = command("predict", "", "--store", store)
        assert outcome.code != 0
        assert outcome.out == ""

    def test_broken_among_good(
        self, command: Command, store: Path, good: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "broken.png").write_text("text")
        before = fingerprint(store)
        outcome = command(
            *("predict", good, tmp_path / "broken.png", tmp_path / "gone.png", good),
            *("--store", store, "--quiet"),
        )
        assert (outcome.code, outcome.out) == (3, "red\n\n\nred\n")
        assert [line.split(": ")[1] for line in outcome.complaints] == [
            str(tmp_path / "broken.png"),
            str(tmp_path / "gone.png"),
        ]
        assert fingerprint(store) == before

    def test_standard_input_is_closed(self, store: Path) -> None:
        outcome = process_with_closed_input("predict", "-", "--store", store)
        assert_refused(outcome, 3, ("no pictures",))

    def test_no_store(self, command: Command, tmp_path: Path, good: Path) -> None:
        outcome = command("predict", good, "--store", tmp_path / "nowhere")
        assert_refused(outcome, 4, (str(tmp_path / "nowhere"), "learn-session", "--store"))
        assert not (tmp_path / "nowhere").exists()

    def test_a_store_without_classes(self, command: Command, empty_store: Path, good: Path) -> None:
        outcome = command("predict", good, "--store", empty_store)
        assert_refused(outcome, 3, ("knows no class yet", "learn-session"))

    @pytest.mark.parametrize("value", ["nan", "inf", "-0.1", "2"])
    def test_threshold_outside_of_its_range(
        self, refused: Refused, store: Path, good: Path, value: str
    ) -> None:
        arguments = ("predict", good, "--store", store, "--threshold", value)
        refused(*arguments, code=2, says=("threshold", value))


def process_with_closed_input(*arguments: object) -> Outcome:
    script = '"$@" <&-'
    done = subprocess.run(
        ["sh", "-c", script, "sh", sys.executable, "-m", "prd_edge", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


USAGE = {
    "no command": (),
    "unknown command": ("teach",),
    "unknown option": ("predict", "x.png", "--gpu"),
    "predict nothing": ("predict",),
    "learn nothing": ("learn-session",),
    "top-k 0": ("predict", "x.png", "--top-k", "0"),
    "top-k text": ("predict", "x.png", "--top-k", "many"),
    "threshold 2": ("predict", "x.png", "--threshold", "2"),
    "two output forms": ("predict", "x.png", "--json", "--jsonl"),
    "threads 0": ("predict", "x.png", "--threads", "0"),
    "holdout 1": ("learn-session", "data", "--holdout", "1"),
    "holdout below 0": ("learn-session", "data", "--holdout", "-0.5"),
    "unknown mode": ("learn-session", "data", "--mode", "magic"),
    "image size text": ("init", "--image-size", "big"),
    "rename without new name": ("classes", "rename", "red"),
    "unknown classes command": ("classes", "paint"),
    "keep 0": ("gc", "--keep", "0"),
    "option without value": ("predict", "x.png", "--store"),
}


@pytest.mark.parametrize("arguments", USAGE.values(), ids=USAGE.keys())
class TestUsage:
    """What the command line itself refuses."""

    def test_exit_code(self, command: Command, arguments: tuple[str, ...]) -> None:
        outcome = command(*arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert "Traceback" not in outcome.err

    def test_one_line_that_says_what_and_where_to_look(
        self, command: Command, arguments: tuple[str, ...]
    ) -> None:
        if not arguments:
            pytest.skip("without a command the help is shown")
        outcome = command(*arguments)
        assert_refused(outcome, 2, ("--help",))


class TestInit:
    def test_where_a_store_is(self, refused: Refused, store: Path) -> None:
        says = ("already a store at", str(store), "choose another place")
        refused("init", "--store", store, code=2, says=says)

    @pytest.mark.parametrize("size", ["100", "0", "-32", "31", "2048", "999999999999"])
    def test_image_size(self, command: Command, tmp_path: Path, size: str) -> None:
        outcome = command("init", "--store", tmp_path / "new", "--image-size", size)
        assert_refused(outcome, 2, (f"image size {size}", "multiple of 32 from 32 to 1024"))
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize("name", ["resnet9000", "", "../x", "efficientnet-lite0"])
    def test_unknown_encoder(self, command: Command, tmp_path: Path, name: str) -> None:
        outcome = command("init", "--store", tmp_path / "new", "--encoder", name)
        assert_refused(outcome, 2, (f"no encoder named {name!r}", "efficientnet_lite0"))
        assert not (tmp_path / "new").exists()

    def test_keep_no_versions(self, command: Command, tmp_path: Path) -> None:
        outcome = command("init", "--store", tmp_path / "new", "--keep-versions", 0)
        assert_refused(outcome, 2, ("0", "at least 1"))
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize("place", ["file", "file/store", "/dev/null", "/proc/store"])
    def test_impossible_place(self, command: Command, tmp_path: Path, place: str) -> None:
        (tmp_path / "file").write_text("mine")
        outcome = command("init", "--image-size", 32, "--store", tmp_path / place)
        assert_refused(outcome, 4, (str(tmp_path / place),))
        assert (tmp_path / "file").read_text() == "mine"

    def test_a_name_too_long_for_the_system(self, command: Command, tmp_path: Path) -> None:
        outcome = command("init", "--image-size", 32, "--store", tmp_path / ("x" * 300))
        assert_refused(outcome, 4, ("too long",))

    @pytest.mark.parametrize("name", ["w.pth", "w.safetensors", "w.bin"])
    def test_missing_weights(self, command: Command, tmp_path: Path, name: str) -> None:
        pytest.importorskip("torch")
        outcome = command("init", "--store", tmp_path / "new", "--weights", tmp_path / name)
        assert_refused(outcome, 2, (str(tmp_path / name),))
        assert not (tmp_path / "new").exists()

    @pytest.mark.parametrize("name", ["w.pth", "w.safetensors", "w.bin"])
    @pytest.mark.parametrize("content", [b"", b"garbage", b"\x80\x04cos\nsystem\n(S'id'\ntR."])
    def test_garbage_for_weights(
        self, command: Command, tmp_path: Path, name: str, content: bytes
    ) -> None:
        pytest.importorskip("torch")
        (tmp_path / name).write_bytes(content)
        outcome = command("init", "--store", tmp_path / "new", "--weights", tmp_path / name)
        assert_refused(outcome, 2, (str(tmp_path / name),))
        assert not (tmp_path / "new").exists()


class TestClasses:
    def test_rename_unknown(self, refused: Refused, store: Path) -> None:
        says = ("no class named 'mug'", "blue, green, red")
        refused("classes", "rename", "mug", "cup", "--store", store, code=2, says=says)

    def test_rename_to_one_that_exists(self, refused: Refused, store: Path) -> None:
        says = ("already a class named 'blue'", "choose another")
        refused("classes", "rename", "red", "blue", "--store", store, code=2, says=says)

    @pytest.mark.parametrize("name", ["", " ", "..", "a/b", "a\\b", "a\nb", "x" * 300])
    def test_rename_to_a_bad_name(self, refused: Refused, store: Path, name: str) -> None:
        says = ("class name",)
        refused("classes", "rename", "red", name, "--store", store, code=2, says=says)

    def test_remove_unknown(self, refused: Refused, store: Path) -> None:
        says = ("no class named 'mug'", "blue, green, red")
        refused("classes", "remove", "mug", "--store", store, code=2, says=says)

    def test_a_long_list_of_known_classes_is_cut(self) -> None:
        labels = [f"class {n:03}" for n in range(500)]
        bank = PrototypeBank.empty(4).add(np.ones((500, 4), np.float32), labels)
        with pytest.raises(InvalidInputError) as caught:
            bank.remove("mug")
        assert len(str(caught.value)) < 500

    def test_either_spelling_finds_the_class(self, command: Command, store: Path) -> None:
        Runtime.open(store).rename("red", "caf\u00e9")
        assert command("classes", "rename", "cafe\u0301", "th\u00e9", "--store", store).code == 0
        assert command("classes", "remove", "the\u0301", "--store", store).code == 0

    def test_no_store(self, command: Command, tmp_path: Path) -> None:
        for arguments in (("list",), ("remove", "red"), ("rename", "red", "mug")):
            outcome = command("classes", *arguments, "--store", tmp_path / "nowhere")
            assert_refused(outcome, 4, ("there is no store at", "prd-edge init"))
            assert not (tmp_path / "nowhere").exists()


class TestVersions:
    @pytest.mark.parametrize("name", ["x", "../..", "9", "000000", "1.0", "½", "manifest.json"])
    def test_unknown_version(self, refused: Refused, store: Path, name: str) -> None:
        says = (f"no version {name!r}", "000001, 000002, 000003")
        refused("rollback", name, "--store", store, code=2, says=says)
        refused("diff", name, "3", "--store", store, code=2, says=says)
        refused("diff", "3", name, "--store", store, code=2, says=says)
        refused("evaluate", "x", "--version", name, "--store", store, code=2, says=says)

    def test_an_empty_version_is_not_the_one_before(self, refused: Refused, store: Path) -> None:
        """As from `prd-edge rollback "$UNSET"`."""
        refused("rollback", "", "--store", store, code=2)

    def test_nothing_before_the_first(self, command: Command, store: Path) -> None:
        assert command("rollback", "1", "--store", store).code == 0
        before = fingerprint(store)
        outcome = command("rollback", "--store", store)
        assert_refused(outcome, 4, ("before 000001", "prd-edge history"))
        assert fingerprint(store) == before


class TestEvaluate:
    def test_missing_folder(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        says = ("nothing", "one sub-folder a class")
        refused("evaluate", tmp_path / "nothing", "--store", store, code=3, says=says)

    def test_only_broken_pictures(self, refused: Refused, store: Path, tmp_path: Path) -> None:
        (tmp_path / "test/red").mkdir(parents=True)
        (tmp_path / "test/red/1.jpg").write_text("text")
        says = ("no image could be read", "red/1.jpg")
        refused("evaluate", tmp_path / "test", "--store", store, code=3, says=says)

    def test_a_store_without_classes(self, command: Command, empty_store: Path, data: Path) -> None:
        outcome = command("evaluate", data, "--store", empty_store)
        assert_refused(outcome, 3, ("knows no class yet", "learn-session"))

    def test_no_store(self, command: Command, tmp_path: Path, data: Path) -> None:
        outcome = command("evaluate", data, "--store", tmp_path / "nowhere")
        assert_refused(outcome, 4, (str(tmp_path / "nowhere"), "learn-session"))


def in_version(store: Path, file: str, version: int = 3) -> Path:
    return store / "versions" / f"{version:06}" / file


class TestDamage:
    """Nothing damaged is ever used; `verify` names it, and there is a way back."""

    @pytest.mark.parametrize("file", FILES)
    def test_a_flipped_bit_of_each_file(
        self, command: Command, store: Path, data: Path, good: Path, file: str
    ) -> None:
        path = in_version(store, file)
        flip_a_bit(path)
        before = fingerprint(store)
        self.assert_named(command("verify", "--store", store), path)
        learned = command("learn-session", data, "--store", store)
        assert_refused(learned, 4, (str(path), "prd-edge rollback"))
        answer = command("predict", good, "--store", store)
        if file in NEEDED_TO_PREDICT:
            assert_refused(answer, 4, (str(path), "prd-edge rollback"))
        else:
            assert answer.code == 0
        assert fingerprint(store) == before
        assert temporaries(store) == []

    @pytest.mark.parametrize("file", NEEDED_TO_PREDICT)
    @pytest.mark.parametrize("how", ["truncated", "missing", "emptied", "swapped", "a folder"])
    def test_other_damage(
        self, command: Command, store: Path, good: Path, file: str, how: str
    ) -> None:
        path = in_version(store, file)
        if how == "truncated":
            rewrite(path, path.read_bytes()[:-1])
        elif how == "emptied":
            rewrite(path, b"")
        elif how == "swapped":
            rewrite(path, in_version(store, "covariance.safetensors", 2).read_bytes())
        else:
            path.unlink()
        if how == "a folder":
            path.mkdir()
        self.assert_named(command("verify", "--store", store), path)
        answer = command("predict", good, "--store", store)
        assert_refused(answer, 4, (str(path), "prd-edge rollback"))

    def test_prototypes_of_another_version(self, command: Command, store: Path, good: Path) -> None:
        """Good bytes in the wrong place."""
        old, new = (in_version(store, "prototypes.safetensors", n) for n in (2, 3))
        old_bytes, new_bytes = old.read_bytes(), new.read_bytes()
        rewrite(old, new_bytes)
        rewrite(new, old_bytes)
        assert_refused(command("predict", good, "--store", store), 4, (str(new),))
        found = command("verify", "--store", store)
        assert (found.code, len(found.complaints)) == (4, 2)
        assert str(old) in found.err
        assert str(new) in found.err

    def assert_named(self, found: Outcome, path: Path) -> None:
        assert found.code == 4
        assert len(found.complaints) == 1
        assert str(path) in found.err
        assert found.out == "2 of 3 versions are intact\n"

    def test_the_way_back(self, command: Command, store: Path, data: Path) -> None:
        flip_a_bit(in_version(store, "prototypes.safetensors"))
        assert command("rollback", "--store", store).code == 0
        assert_answers(store, "green")
        assert command("learn-session", data, "--store", store, "--holdout", 0).code == 0
        assert_answers(store)

    @pytest.mark.parametrize(("at", "bit"), [(0.0, 0), (0.3, 5), (0.7, 2), (1.0, 0)])
    def test_a_flipped_bit_of_the_manifest(
        self, command: Command, store: Path, data: Path, good: Path, at: float, bit: int
    ) -> None:
        path = in_version(store, "manifest.json")
        flip_a_bit(path, at, bit)
        for arguments in (("predict", good), ("learn-session", data), ("info",)):
            outcome = command(*arguments, "--store", store)
            assert_refused(outcome, 4, (str(path), "prd-edge rollback"))
        assert str(path) in command("verify", "--store", store).err
        assert command("rollback", "--store", store).code == 0
        assert_answers(store, "green")

    def test_a_flipped_bit_that_looks_like_a_newer_schema(
        self, command: Command, store: Path, good: Path
    ) -> None:
        path = in_version(store, "manifest.json")
        data = path.read_bytes()
        rewrite(path, data.replace(b'"schema": 4', b'"schema": 5'))
        outcome = command("predict", good, "--store", store)
        assert_refused(outcome, 4, (str(path), "damaged"))
        assert command("rollback", "--store", store).code == 0

    def test_a_newer_schema(self, command: Command, store: Path, data: Path, good: Path) -> None:
        from_the_future(in_version(store, "manifest.json"))
        before = fingerprint(store)
        for arguments in (("predict", good), ("learn-session", data), ("info",), ("history",)):
            outcome = command(*arguments, "--store", store)
            assert_refused(outcome, 4, ("newer prd-edge", "schema 7", "pip install --upgrade"))
        assert fingerprint(store) == before

    def test_missing_manifest(self, command: Command, store: Path, good: Path) -> None:
        in_version(store, "manifest.json").unlink()
        outcome = command("predict", good, "--store", store)
        assert_refused(outcome, 4, ("manifest.json is damaged: it is missing", "prd-edge rollback"))

    def test_missing_version(self, command: Command, store: Path, good: Path) -> None:
        in_version(store, "").rename(store.parent / "taken away")
        outcome = command("predict", good, "--store", store)
        assert_refused(outcome, 4, ("version 000003", "missing", "prd-edge rollback"))
        assert command("verify", "--store", store).code == 4
        assert command("rollback", "--store", store).code == 0
        assert_answers(store, "green")

    def test_swapped_versions(self, command: Command, store: Path, good: Path) -> None:
        versions = store / "versions"
        (versions / "000003").rename(versions / "aside")
        (versions / "000002").rename(versions / "000003")
        (versions / "aside").rename(versions / "000002")
        outcome = command("predict", good, "--store", store)
        assert_refused(outcome, 4, ("000003/manifest.json", "000002"))
        assert command("verify", "--store", store).code == 4

    def test_a_stranger_among_the_files(self, command: Command, store: Path) -> None:
        in_version(store, "notes.txt").write_text("mine")
        outcome = command("verify", "--store", store)
        assert (outcome.code, len(outcome.complaints)) == (4, 1)
        assert "notes.txt does not belong" in outcome.err

    def test_verify_as_json_names_the_file(self, command: Command, store: Path) -> None:
        path = in_version(store, "covariance.safetensors")
        flip_a_bit(path)
        outcome = command("verify", "--store", store, "--json")
        assert outcome.code == 4
        (problem,) = json.loads(outcome.out)["problems"]["000003"]
        assert str(path) in problem

    def test_an_encoder_that_all_versions_share(
        self, command: Command, store: Path, good: Path
    ) -> None:
        path = in_version(store, "encoder.onnx")
        flip_a_bit(path)
        for version in (1, 2):
            other = in_version(store, "encoder.onnx", version)
            other.unlink()
            os.link(path, other)
        assert_refused(command("predict", good, "--store", store), 4, (str(path), "--repair"))
        assert_refused(command("rollback", "--store", store), 4, ("no good version",))
        mended = command("verify", "--repair", "--store", store)
        assert mended.code == 0
        assert_answers(store)


def from_the_future(manifest: Path, schema: int = 7) -> None:
    """Rewrite a manifest as a later release might, with a good checksum."""

    def canonical(body: object) -> bytes:
        return json.dumps(body, ensure_ascii=False, indent=1, sort_keys=True).encode() + b"\n"

    body = json.loads(manifest.read_bytes())
    body.pop("checksum")
    body.update(schema=schema, colour="of a kind we do not know")
    rewrite(manifest, canonical({**body, "checksum": hashlib.sha256(canonical(body)).hexdigest()}))


class TestCurrent:
    @pytest.mark.parametrize(
        "content",
        [b"live 000009\n", None],
        ids=["cut short", "missing"],
    )
    def test_damage_is_survived_told_and_mended(
        self, command: Command, store: Path, data: Path, good: Path, content: bytes | None
    ) -> None:
        if content is None:
            (store / "CURRENT").unlink()
        else:
            (store / "CURRENT").write_bytes(content)
        assert command("predict", good, "--store", store, "--quiet").out == "red\n"
        found = command("verify", "--store", store)
        assert (found.code, len(found.complaints)) == (4, 1)
        assert str(store / "CURRENT") in found.err
        assert command("learn-session", data, "--store", store, "--holdout", 0).code == 0
        assert command("verify", "--store", store).code == 0
        assert assert_answers(store) == "000004"

    @pytest.mark.parametrize("at", [0.05, 0.2, 0.9])
    def test_a_flipped_bit(self, command: Command, store: Path, good: Path, at: float) -> None:
        flip_a_bit(store / "CURRENT", at)
        assert command("predict", good, "--store", store, "--quiet").out == "red\n"
        assert command("verify", "--store", store).code == 4


HOLD_THE_LOCK = """
import sys
from pathlib import Path
from prd_edge.commit import writing
from prd_edge.store import Store

with writing(Store(Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def another_writer(store: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_THE_LOCK, str(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stdout is not None
        assert running.stdin is not None
        assert running.stdout.readline() == "held\n"
        yield running
        running.stdin.close()
        running.wait(timeout=60)


class TestLock:
    @pytest.fixture
    def holder(self, store: Path) -> Iterator[subprocess.Popen[str]]:
        with another_writer(store) as running:
            yield running

    def test_a_second_writer_is_told_who_holds_it(
        self,
        command: Command,
        store: Path,
        data: Path,
        good: Path,
        holder: subprocess.Popen[str],
    ) -> None:
        versions = fingerprint(store / "versions")
        for arguments in (
            ("learn-session", data),
            ("classes", "remove", "red"),
            ("rollback",),
            ("gc", "--keep", "1"),
            ("verify", "--repair"),
        ):
            outcome = command(*arguments, "--store", store)  # which does not wait
            says = (str(store), f"process {holder.pid}", "try again")
            assert_refused(outcome, 4, says)
        assert fingerprint(store / "versions") == versions
        assert command("predict", good, "--store", store, "--quiet").out == "red\n"

    def test_whoever_is_refused_does_not_take_the_lock_away(
        self, command: Command, data: Path, tmp_path: Path
    ) -> None:
        """Two first sessions at once: nothing is committed yet, but the place is taken."""
        new = tmp_path / "new"
        with another_writer(new) as holder:
            for _ in range(2):
                outcome = command("learn-session", data, "--store", new)
                assert_refused(outcome, 4, (f"process {holder.pid}", "try again"))
            assert (new / "LOCK").exists()
            assert (new / "versions").is_dir()

    def test_the_lock_of_a_killed_process_is_no_obstacle(
        self, command: Command, store: Path, holder: subprocess.Popen[str]
    ) -> None:
        holder.kill()
        holder.wait(timeout=20)
        assert (store / "LOCK.holder").exists()
        assert command("classes", "rename", "red", "scarlet", "--store", store).code == 0
        assert temporaries(store) == []

    def test_leftovers_of_the_lock_are_no_obstacle(self, command: Command, store: Path) -> None:
        (store / "LOCK").write_text("stale")
        (store / "LOCK.holder").write_text("prd-edge, process 1 on elsewhere\n")
        assert command("classes", "rename", "red", "scarlet", "--store", store).code == 0
        assert temporaries(store) == []

    def test_a_holder_cannot_trick_the_terminal(
        self, command: Command, store: Path, holder: subprocess.Popen[str]
    ) -> None:
        assert holder.poll() is None
        (store / "LOCK.holder").write_text("x\n\x1b[2J\u202emany\nlines\n" * 20)
        outcome = command("rollback", "--store", store)
        assert outcome.code == 4
        assert len(outcome.complaints) == 1
        assert outcome.complaints[0].isprintable()


class TestDisk:
    def test_full_disk(self, command: Command, untouched: Path, data: Path, tmp_path: Path) -> None:
        """Version 1 alone needs 27 MB; what a session adds, 16 MB, does not fit any more."""
        with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=40m", "tmpfs") as disk:
            store = disk / "store"
            only_first_version(untouched, store)
            before = fingerprint(store)
            outcome = command("learn-session", data, "--store", store, "--holdout", 0)
            assert_refused(outcome, 4, (str(store), "disk is full", "free some space"))
            assert fingerprint(store) == before
            assert temporaries(store) == []
            assert Store(store).live().name == "000001"
            assert command("verify", "--store", store).code == 0

    def test_full_disk_at_the_first_session(
        self, command: Command, data: Path, tmp_path: Path
    ) -> None:
        with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=10m", "tmpfs") as disk:
            outcome = command("init", "--image-size", 32, "--store", disk / "store")
            assert_refused(outcome, 4, ("disk is full", "free some space"))
            assert list(disk.iterdir()) == []
            outcome = command("learn-session", data, "--store", disk / "store", "--holdout", 0)
            assert_refused(outcome, 4, ("disk is full",))
            assert list(disk.iterdir()) == []

    def test_full_disk_that_is_freed_again(
        self, command: Command, untouched: Path, data: Path, tmp_path: Path
    ) -> None:
        with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=60m", "tmpfs") as disk:
            only_first_version(untouched, disk / "store")
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(25 * 2**20))
            assert command("learn-session", data, "--store", disk / "store").code == 4
            ballast.unlink()
            assert command("learn-session", data, "--store", disk / "store").code == 0
            assert_answers(disk / "store")

    def test_read_only(
        self, command: Command, store: Path, data: Path, good: Path, tmp_path: Path
    ) -> None:
        with mounted(tmp_path / "frozen", "--bind", str(store)) as frozen:
            subprocess.run(["mount", "-o", "remount,ro,bind", str(frozen)], check=True)
            assert command("predict", good, "--store", frozen, "--quiet").out == "red\n"
            assert command("verify", "--store", frozen).code == 0
            assert command("history", "--store", frozen).code == 0
            assert command("learn-session", data, "--store", frozen, "--dry-run").code == 0
            for arguments in (
                ("learn-session", data),
                ("classes", "remove", "red"),
                ("rollback",),
                ("gc", "--keep", "1"),
            ):
                outcome = command(*arguments, "--store", frozen)
                assert_refused(outcome, 4, (str(frozen), "read-only", "--store"))
            outcome = command("init", "--image-size", 32, "--store", frozen / "new")
            assert_refused(outcome, 4, ("read-only",))

    def test_an_error_of_the_data_is_not_blamed_on_the_store(self, store: Path) -> None:
        def camera() -> object:
            yield picture(COLOURS["red"], 1), "red"
            raise OSError(errno.EIO, "camera unplugged")

        with pytest.raises(OSError, match="camera unplugged"):
            Runtime.open(store).learn_session(camera())  # type: ignore[arg-type]

    def test_an_error_of_the_progress_callback_is_not_either(self, store: Path, data: Path) -> None:
        def show(_: object) -> None:
            raise BrokenPipeError(errno.EPIPE, "display gone")

        with pytest.raises(BrokenPipeError):
            Runtime.open(store).learn_session(data, on_progress=show)


def only_first_version(source: Path, target: Path) -> None:
    """A store of version 1 alone on another disk, its two equal files linked as before."""
    (target / "versions/000001").mkdir(parents=True)
    first = target / "versions/000001"
    for path in (source / "versions/000001").iterdir():
        if path.name != "snapshot.safetensors":
            (first / path.name).write_bytes(path.read_bytes())
    os.link(first / "encoder.safetensors", first / "snapshot.safetensors")
    Runtime.open(target).rollback("1")  # writes CURRENT


def test_a_store_is_not_made_among_other_things(
    command: Command, data: Path, tmp_path: Path
) -> None:
    place = tmp_path / "holiday"
    (place / "beach").mkdir(parents=True)
    for arguments in (("learn-session", data), ("init",)):
        outcome = command(*arguments, "--store", place)
        assert_refused(outcome, 2, ("is no store and has other things in it, such as 'beach'",))
    assert [path.name for path in place.iterdir()] == ["beach"]
    for name in (".DS_Store", "lost+found"):  # of the system
        (place / name).mkdir()
    (place / "beach").rmdir()
    assert command("learn-session", data, "--store", place).code == 0


class TestProcess:
    """What only a real process can show."""

    @pytest.fixture
    def slow_data(self, tmp_path: Path) -> Path:
        """Seconds of work in a few bytes: one large picture under many names."""
        folder = tmp_path / "slow/cup"
        folder.mkdir(parents=True)
        Image.new("RGB", (4000, 4000), (9, 99, 200)).save(folder / "0.png")
        for number in range(1, 150):
            os.link(folder / "0.png", folder / f"{number}.png")
        return folder.parent

    def test_interrupted(self, store: Path, slow_data: Path) -> None:
        versions = fingerprint(store / "versions")
        with start_process("learn-session", slow_data, "--store", store) as running:
            deadline = time.monotonic() + 60
            while not (store / "LOCK.holder").exists():
                assert time.monotonic() < deadline
                assert running.poll() is None
                time.sleep(0.02)
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=60)
        outcome = Outcome(running.returncode, out.decode(), err.decode())
        assert_refused(outcome, 130, ("interrupted",))
        assert fingerprint(store / "versions") == versions
        assert temporaries(store) == []
        assert assert_answers(store) == "000003"

    def test_interrupted_at_the_first_session(self, tmp_path: Path, slow_data: Path) -> None:
        place = tmp_path / "new"
        with start_process("learn-session", slow_data, "--store", place) as running:
            deadline = time.monotonic() + 60
            while not (place / "LOCK.holder").exists():
                assert time.monotonic() < deadline
                time.sleep(0.02)
            time.sleep(0.5)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=60)
        assert_refused(Outcome(running.returncode, out.decode(), err.decode()), 130)
        assert not place.exists()

    def test_interrupted_in_the_middle_of_the_commit(
        self, command: Command, store: Path, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from prd_edge import files

        def interrupt(operation: str, path: Path) -> None:
            if operation == "write" and path.name == "covariance.safetensors":
                raise KeyboardInterrupt

        before = fingerprint(store)
        monkeypatch.setattr(files, "before_operation", interrupt)
        outcome = command("learn-session", data, "--store", store, "--holdout", 0)
        assert_refused(outcome, 130, ("interrupted",))
        assert temporaries(store) == []
        assert fingerprint(store) == before

    def test_interrupted_after_the_commit_is_not_called_undone(
        self, command: Command, store: Path, data: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """While old versions are being cleared away the new one is live already."""

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("prd_edge.commit.StoreWriter.gc", interrupt)
        outcome = command("learn-session", data, "--store", store, "--holdout", 0)
        assert Store(store).live().name == "000004"
        assert_refused(outcome, 130, ("'prd-edge history' shows which",))

    @pytest.mark.parametrize("form", [(), ("--jsonl",), ("--json",)])
    def test_the_reader_goes_away(self, store: Path, good: Path, form: tuple[str, ...]) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            with start_process(
                "predict", *[good] * 30, "--store", store, *form, stdout=writer
            ) as running:
                _, err = running.communicate(timeout=60)
        finally:
            os.close(writer)
        assert err == b""
        assert running.returncode == 141

    def test_head(self, store: Path, good: Path) -> None:
        script = 'set -o pipefail; "$@" | head -1'
        done = subprocess.run(
            ["bash", "-c", script, "bash", sys.executable, "-m", "prd_edge", "predict"]
            + [str(good)] * 60
            + ["--store", str(store), "--quiet"],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.stdout, done.stderr) == ("red\n", "")
        assert done.returncode in (0, 141)

    def test_an_error_keeps_its_code_where_nobody_reads_it(self, tmp_path: Path) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        try:
            with start_process("predict", "x.png", "--store", tmp_path, stderr=writer) as running:
                out, _ = running.communicate(timeout=60)
        finally:
            os.close(writer)
        assert (running.returncode, out) == (4, b"")

    def test_what_has_failed_is_no_success_because_nobody_reads_it(self, store: Path) -> None:
        flip_a_bit(store / "versions/000002/manifest.json")
        reader, writer = os.pipe()
        os.close(reader)
        try:
            with start_process("verify", "--store", store, stdout=writer) as running:
                running.communicate(timeout=60)
        finally:
            os.close(writer)
        assert running.returncode == 141

    @pytest.mark.parametrize("stream", ["stdout", "stderr"])
    @pytest.mark.parametrize("place", ["a closed pipe", "a full disk"])
    def test_a_session_that_nobody_hears_of_is_learned_all_the_same(
        self, store: Path, data: Path, stream: str, place: str
    ) -> None:
        if place == "a full disk":
            writer = os.open("/dev/full", os.O_WRONLY)
        else:
            reader, writer = os.pipe()
            os.close(reader)
        (data / "red/letter.jpg").write_text("no picture: it is said on standard error")
        try:
            arguments = ("learn-session", data, "--store", store)
            with start_process(*arguments, **{stream: writer}) as running:
                out, err = running.communicate(timeout=60)
        finally:
            os.close(writer)
        assert running.returncode == 0
        assert Store(store).live().name == "000004"
        told = out if stream == "stderr" else err
        assert (b"new version" if stream == "stderr" else b"could not be written") in told

    def test_output_to_a_full_disk(self, store: Path, good: Path) -> None:
        with (
            open("/dev/full", "wb") as full,
            start_process("predict", good, "--store", store, stdout=full) as running,
        ):
            _, err = running.communicate(timeout=60)
        assert running.returncode == 1
        assert b"Traceback" not in err
        assert b"No space left" in err

    @pytest.mark.parametrize(
        ("arguments", "code", "says"),
        [
            (("predict", "missing.png"), 3, "No such file"),
            (("learn-session", "missing"), 3, "one sub-folder a class"),
            (("rollback", "99"), 2, "no version '99'"),
            (("classes", "remove", "mug"), 2, "no class named 'mug'"),
            (("init",), 2, "already a store"),
        ],
    )
    def test_real_processes_give_the_same_codes(
        self, store: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, says: str
    ) -> None:
        before = fingerprint(store)
        outcome = process(*arguments, "--store", store, cwd=tmp_path)
        assert_refused(outcome, code, (says,))
        assert fingerprint(store) == before

    @pytest.mark.parametrize(
        ("kind", "options"), [("JPEG", {}), ("PNG", {}), ("TIFF", {"compression": "tiff_lzw"})]
    )
    def test_a_decoder_does_not_print_by_itself(
        self, untouched: Path, tmp_path: Path, kind: str, options: dict[str, str]
    ) -> None:
        stream = io.BytesIO()
        Image.fromarray(picture((9, 9, 9), 1)).save(stream, kind, **options)
        damaged = bytearray(stream.getvalue())
        middle = len(damaged) // 2
        damaged[middle : middle + 200] = bytes(200)
        (tmp_path / "x.png").write_bytes(damaged)
        outcome = process("predict", tmp_path / "x.png", "--store", untouched)
        assert len(outcome.complaints) + len(outcome.out.splitlines()) == 1, outcome.err

    def test_many_threads_do_not_hang_it(self, untouched: Path, good: Path) -> None:
        """A slip of the finger. Limited, so that a failure costs seconds and not the machine."""

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (4, 4))

        outcome = process(
            *("predict", good, "--store", untouched, "--threads", 2000), preexec_fn=limit
        )
        assert outcome.code in (0, 2), outcome


def test_the_store_of_a_failed_command_answers_as_before(
    command: Command, untouched: Path, tmp_path: Path
) -> None:
    store = share_store(untouched, tmp_path / "store")
    data = write_session(tmp_path / "data", images=2)
    (data / "mug").mkdir()
    for arguments in (
        ("learn-session", data),
        ("rollback", "9"),
        ("classes", "remove", "mug"),
        ("init",),
    ):
        assert command(*arguments, "--store", store).code in (2, 3)
    assert assert_answers(store) == "000003"
