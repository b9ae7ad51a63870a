"""Every command does its job and says so; what goes wrong is in test_bad_input.py."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
import pytest
from PIL import Image

from prd_edge.cli.main import COMMANDS
from prd_edge.cli.main import prd_edge as group
from prd_edge.encoders import ENCODERS
from prd_edge.version import __version__

from ..conftest import write_session

Call = Callable[..., tuple[int, str, str]]


def test_learning_from_nothing(prd_edge: Call, session: Path, tmp_path: Path) -> None:
    code, out, err = prd_edge("learn-session", session, "--store", tmp_path / "store")
    assert (code, err) == (0, "")
    assert "classes added" in out
    assert "blue (6), green (6), red (6)" in out
    assert "new version" in out


def test_imprinting_moves_nothing_but_may_bring_a_neighbour(prd_edge: Call, tmp_path: Path) -> None:
    for name, classes in (("one", ("red", "green")), ("two", ("blue",))):
        folder = write_session(tmp_path / name, classes=classes)
        code, out, _ = prd_edge("learn-session", folder, "--store", tmp_path / "store")
        assert code == 0
    assert re.search(r"^known class +nearest class$", out, re.MULTILINE)
    assert re.search(r"^(green +red|red +green) → blue$", out, re.MULTILINE)


def test_learning_prints_json(prd_edge: Call, session: Path, taught: Path) -> None:
    (session / "red/broken.jpg").write_bytes(b"")
    code, out, _ = prd_edge("learn-session", session, "--store", taught, "--json")
    report = json.loads(out)
    assert code == 0
    assert report["version"] == "000004"
    assert report["skipped"] == [
        {"name": "red/broken.jpg", "reason": "the file is empty", "label": "red"}
    ]


def test_skipped_images_and_warnings_go_to_standard_error(
    prd_edge: Call, session: Path, taught: Path, tmp_path: Path
) -> None:
    (session / "pink").mkdir()
    (session / "pink/1.png").write_bytes((session / "red/20.png").read_bytes())
    (session / "pink/2.png").write_bytes((session / "red/21.png").read_bytes()[:-30])
    (session / "red/20.png").unlink()
    code, out, err = prd_edge("learn-session", session, "--store", taught)
    assert code == 0
    assert "warning: fewer than 5 images of pink" in err
    assert "skipped pink/2.png: damaged or truncated" in err
    assert "skipped" not in out.replace("images skipped", "")


def test_evaluate(prd_edge: Call, session: Path, taught: Path) -> None:
    code, out, _ = prd_edge("evaluate", session, "--store", taught)
    assert code == 0
    assert "accuracy           100.0 % of 18 images" in out
    code, out, _ = prd_edge("evaluate", session, "--store", taught, "--version", "2", "--json")
    result = json.loads(out)
    assert result["version"] == "000002"
    assert result["accuracy"] == 1.0  # of what version 2 was taught; red counts apart
    assert result["never_taught"]["images"] == 6
    assert result["classes"]["red"]["recall"] is None


def test_evaluate_all_versions(prd_edge: Call, session: Path, taught: Path) -> None:
    code, out, _ = prd_edge("evaluate", session, "--store", taught, "--all-versions")
    assert code == 0
    assert "000002   2        100.0 %     100.0 %    –" in out
    assert "forgetting                    0.0 %" in out
    code, out, _ = prd_edge("evaluate", session, "--store", taught, "--all-versions", "--json")
    result = json.loads(out)
    assert [own["version"] for own in result["versions"]] == ["000002", "000003"]
    assert result["accuracy_by_group"] == [[1.0, 0.0], [1.0, 1.0]]
    code, _, err = prd_edge(
        "evaluate", session, "--store", taught, "--all-versions", "--version", "2"
    )
    assert (code, err.count("\n")) == (2, 1)


def test_a_page_of_the_evaluation(
    prd_edge: Call, session: Path, taught: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    arguments = ("evaluate", session, "--store", taught, "--report")
    code, _, err = prd_edge(*arguments, page)
    assert code == 0
    assert f"written to {page}" in err
    text = page.read_text()
    assert "100.0 %" in text
    assert "From version to version" not in text
    assert prd_edge(*arguments, page, "--all-versions")[0] == 0
    assert "From version to version" in page.read_text()
    for target, says in ((tmp_path, "is a folder"), (tmp_path / "no/page.html", "make it first")):
        code, _, err = prd_edge(*arguments, target)
        assert (code, err.count("\n")) == (2, 1)
        assert says in err


def test_a_picture_of_nothing_known_is_unknown(
    prd_edge: Call, session: Path, taught: Path, tmp_path: Path
) -> None:
    (tmp_path / "strange/stripes").mkdir(parents=True)
    picture = tmp_path / "strange/stripes/1.png"
    stripes = np.arange(48) // 4 % 2 * np.uint8(255)
    Image.fromarray(np.broadcast_to(stripes[:, None], (48, 48, 3)).astype(np.uint8)).save(picture)
    _, out, _ = prd_edge("predict", picture, "--store", taught, "--json")
    answer = json.loads(out)
    assert (answer["label"], answer["unknown"]) == (None, True)
    _, out, _ = prd_edge("predict", picture, "--store", taught, "--always-answer", "--quiet")
    assert out.strip() in ("blue", "green", "red")
    _, out, _ = prd_edge("evaluate", tmp_path / "strange", "--store", taught)
    assert "called unknown     1 of 1 images" in out
    _, out, _ = prd_edge("evaluate", session, "--store", taught)
    assert "called unknown" not in out


class TestFeedback:
    def test_what_it_says(self, prd_edge: Call, session: Path, taught: Path) -> None:
        picture = session / "red/20.png"
        code, out, _ = prd_edge("feedback", picture, "--is", "red", "--store", taught)
        assert code == 0
        assert out == f"{picture}: red, nothing had to change\n"
        code, out, _ = prd_edge("feedback", picture, "--not", "red", "--store", taught)
        assert code == 0
        assert f"{picture}: " in out
        assert "new version  000004; 'prd-edge rollback' undoes it" in out
        _, out, _ = prd_edge("feedback", picture, "--is", "blue", "--store", taught, "--json")
        assert set(json.loads(out)) == {"schema", "before", "after", "is_settled", "version"}

    @pytest.mark.parametrize("said", [(), ("--is", "red", "--not", "blue")])
    def test_one_of_the_two(
        self, prd_edge: Call, session: Path, taught: Path, said: tuple[str, ...]
    ) -> None:
        code, _, err = prd_edge("feedback", session / "red/20.png", *said, "--store", taught)
        assert code == 2
        assert "give either --is CLASS or --not CLASS" in err

    def test_bad_calls_change_nothing(self, prd_edge: Call, session: Path, taught: Path) -> None:
        for picture, label, code_, why in (
            (
                session / "red/20.png",
                "pink",
                2,
                "no class named 'pink'; known classes: blue, green",
            ),
            (session / "gone.png", "red", 3, "gone.png"),
        ):
            code, _, err = prd_edge("feedback", picture, "--is", label, "--store", taught)
            assert (code, err.count("\n")) == (code_, 1)
            assert why in err
        _, out, _ = prd_edge("history", "--store", taught)
        assert "000004" not in out


def test_predict_among_some_classes(prd_edge: Call, session: Path, taught: Path) -> None:
    picture = session / "red/20.png"
    _, out, _ = prd_edge("predict", picture, "--store", taught, "--among", "blue,green", "--json")
    assert {ranked["label"] for ranked in json.loads(out)["top_k"]} == {"blue", "green"}
    code, _, err = prd_edge("predict", picture, "--store", taught, "--among", "blue,pink")
    assert code == 2
    assert "'pink'" in err


def test_what_goes_for_a_change_is_told(prd_edge: Call, taught: Path) -> None:
    names = ("red", "scarlet", "crimson", "ruby")
    told = [
        prd_edge("classes", "rename", old, new, "--store", taught)[2]
        for old, new in pairwise(names)
    ]
    assert told == ["", "", "old versions removed: 000001\n"]


def test_classes(prd_edge: Call, taught: Path) -> None:
    code, out, _ = prd_edge("classes", "list", "--store", taught)
    assert (code, out) == (0, "class  images\nblue   6\ngreen  12\nred    6\n")
    assert prd_edge("classes", "rename", "red", "赤", "--store", taught)[0] == 0
    assert prd_edge("classes", "remove", "blue", "--store", taught)[0] == 0
    _, out, _ = prd_edge("classes", "list", "--store", taught, "--json")
    assert json.loads(out)["classes"] == {"green": 12, "赤": 6}


def test_rollback(prd_edge: Call, taught: Path) -> None:
    assert prd_edge("rollback", "--store", taught)[1] == "version 000002 is live: 2 classes\n"
    assert json.loads(prd_edge("history", "--store", taught, "--json")[1])["live"] == "000002"


def test_info_verify_gc_and_doctor(prd_edge: Call, taught: Path) -> None:
    code, out, _ = prd_edge("info", "--store", taught)
    assert code == 0
    assert "efficientnet_lite0 at 32 px, 2768 features" in out
    assert json.loads(prd_edge("info", "--store", taught, "--json")[1])["classes"] == 3
    assert prd_edge("verify", "--store", taught)[:2] == (0, "3 of 3 versions are intact\n")
    assert prd_edge("gc", "--keep", "1", "--store", taught)[:2] == (0, "removed 000001\n")
    code, out, _ = prd_edge("doctor", "--store", taught, "--json")
    assert code == 0
    assert json.loads(out)["healthy"] is True


def test_verify_repairs(prd_edge: Call, taught: Path) -> None:
    damaged = taught / "versions/000003/encoder.onnx"
    damaged.write_bytes(b"nothing")
    assert prd_edge("verify", "--store", taught)[0] == 4
    code, out, err = prd_edge("verify", "--repair", "--store", taught)
    assert (code, out) == (0, "3 of 3 versions are intact\n")
    assert f"mended {damaged}" in err


def test_init_and_the_environment_variable(
    prd_edge: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRD_EDGE_STORE", str(tmp_path / "here"))
    code, out, _ = prd_edge("init", "--image-size", "64", "--keep-versions", "2")
    assert code == 0
    assert "efficientnet_lite0 at 64 px" in out
    assert (tmp_path / "here/CURRENT").exists()


def test_demo_data(prd_edge: Call, tmp_path: Path) -> None:
    code, out, _ = prd_edge("demo-data", tmp_path / "data", "--train", "1", "--test", "1")
    assert code == 0
    assert out.startswith("wrote 27 images\n")


def test_version_and_module(prd_edge: Call) -> None:
    assert prd_edge("--version")[1] == f"prd-edge, version {__version__}\n"
    done = subprocess.run(
        [sys.executable, "-m", "prd_edge", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"prd-edge, version {__version__}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_that_agrees_with_the_list(name: str) -> None:
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.name == name
    assert command.help
    first = COMMANDS[name][1].rstrip(".").split()[0]
    assert command.help.split()[0] == first


def test_a_program_that_waits_for_each_answer_gets_it(session: Path, taught: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-m", "prd_edge", "predict", "-", "--quiet", "--store", str(taught)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    for label in ("red", "blue"):
        child.stdin.write(f"{session / label / '20.png'}\n")
        assert child.stdout.readline() == f"{label}\n"
    child.stdin.close()
    assert child.wait() == 0
    child.stdout.close()


def test_a_recursive_pattern_names_each_picture_once(
    prd_edge: Call, session: Path, taught: Path
) -> None:
    code, out, _ = prd_edge("predict", f"{session}/**", "--quiet", "--store", taught)
    assert (code, len(out.splitlines())) == (0, 18)


def test_a_pattern_without_match_beside_a_picture_is_told(
    prd_edge: Call, session: Path, taught: Path
) -> None:
    picture = session / "red/20.png"
    code, out, err = prd_edge("predict", picture, session / "no*.png", "--store", taught)
    assert code == 3
    assert "red/20.png: red" in out
    assert "no*.png: No such file" in err


def test_with_closed_standard_streams(session: Path, taught: Path) -> None:
    command = f'"$@" >&- 2>&- <&-; echo $? > {taught}/../code'
    arguments = ["-m", "prd_edge", "learn-session", session, "--dry-run", "--store", taught]
    subprocess.run(["sh", "-c", command, "sh", sys.executable, *map(str, arguments)], check=True)
    assert (taught / "../code").read_text() == "0\n"


def test_init_says_which_encoders_there_are(prd_edge: Call) -> None:
    _, out, _ = prd_edge("init", "--help")
    assert all(name in out for name in ENCODERS)
