"""What a person asks for is never written into a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from prd_edge.errors import InvalidInputError
from prd_edge.targets import refuse_parent, refuse_target


@pytest.mark.parametrize(
    "place",
    ["CURRENT", "model.onnx", "versions/000002/encoder.onnx", "versions/000002/../../page.html"],
)
def test_within_a_store(taught: Path, place: str) -> None:
    with pytest.raises(InvalidInputError, match=r"is within the store .*; choose another"):
        refuse_target(taught / place)


@pytest.mark.parametrize("place", ["page", "versions/page", "versions/000007"])
def test_a_folder_within_a_store(taught: Path, place: str) -> None:
    with pytest.raises(InvalidInputError, match="is within the store"):
        refuse_parent(taught / place)


def test_by_way_of_a_link(taught: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").symlink_to(taught / "CURRENT")
    (tmp_path / "elsewhere").symlink_to(taught / "versions")
    for place in ("page.html", "elsewhere/model.onnx"):
        with pytest.raises(InvalidInputError, match="is within the store"):
            refuse_target(tmp_path / place)


def test_a_link_to_itself_is_for_the_writing_to_refuse(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    refuse_target(tmp_path / "loop")


def test_beside_a_store(taught: Path) -> None:
    refuse_target(taught.with_name("model.onnx"))
    refuse_parent(taught.with_name("page"))


def test_where_no_file_can_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place, says in (
        (tmp_path, "is a folder; name a file"),
        (tmp_path / "missing/model.onnx", "no folder .*missing; make it first"),
        (tmp_path / "file/model.onnx", "is a file, not a folder"),
    ):
        with pytest.raises(InvalidInputError, match=says):
            refuse_target(place)
