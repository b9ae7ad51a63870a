"""A folder or an iterable becomes a session: what is taken, what is named as skipped, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from prd_edge import Runtime
from prd_edge.errors import InvalidInputError, NoUsableDataError
from prd_edge.session import Item, Session, Skipped
from tests.conftest import TINY


def make(root: Path, *names: str) -> Path:
    """Files by name; a name that ends in a slash is an empty folder. Content does not matter."""
    root.mkdir(exist_ok=True)
    for name in names:
        path = root / name
        if name.endswith("/"):
            path.mkdir(parents=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(name.encode())
    return root


def taken(session: Session) -> dict[str, str]:
    return {item.name: item.label for item in session.items}


def skipped(session: Session) -> dict[str, str]:
    return {entry.name: entry.reason for entry in session.skipped}


class TestFolder:
    def test_one_sub_folder_a_class(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "mug/1.jpg", "cup/b.png", "cup/a.png")
        session = Session.open(root)
        assert taken(session) == {"cup/a.png": "cup", "cup/b.png": "cup", "mug/1.jpg": "mug"}
        assert (session.count, session.labels, session.skipped) == (3, ("cup", "mug"), [])
        assert [item.source for item in session.items] == [root / name for name in taken(session)]

    def test_text_and_path_are_the_same(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "cup/a.png")
        assert taken(Session.open(root)) == taken(Session.open(str(root)))

    def test_the_order_is_fixed_whatever_the_file_system_says(self, tmp_path: Path) -> None:
        names = [f"{label}/{n}/{n}.png" for label in ("z", "a", "m") for n in (3, 1, 20, 2)]
        one = make(tmp_path / "one", *names)
        other = make(tmp_path / "other", *reversed(names))
        assert [*taken(Session.open(one))] == [*taken(Session.open(other))] == sorted(names)

    def test_nested_folders_belong_to_their_class(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "cup/0.png", "cup/red/small/1.png", "cup/mug/2.png")
        assert set(taken(Session.open(root)).values()) == {"cup"}
        assert Session.open(root).count == 3

    def test_every_visible_file_is_tried_whatever_its_suffix(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "cup/a.PNG", "cup/notes.txt", "cup/noext")
        assert len(taken(Session.open(root))) == 3

    def test_files_beside_the_classes_are_named(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "cup/a.png", "readme.txt", "stray.jpg")
        reason = "not in the folder of a class"
        assert skipped(Session.open(root)) == {"readme.txt": reason, "stray.jpg": reason}

    def test_hidden_things_are_ignored_silently(self, tmp_path: Path) -> None:
        hidden = (".git/x.png", ".DS_Store", "cup/.DS_Store", "cup/.thumbs/a.png")
        root = make(tmp_path / "data", "cup/a.png", *hidden)
        session = Session.open(root)
        assert (taken(session), session.skipped) == ({"cup/a.png": "cup"}, [])

    def test_names_are_kept_in_their_composed_form(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "cafe\u0301/a.png")
        assert Session.open(root).labels == ("caf\u00e9",)

    def test_a_store_among_the_classes_is_named(self, tmp_path: Path) -> None:
        Runtime.open(tmp_path / "session/prd_store", config=TINY).init()
        session = Session.open(make(tmp_path / "session", "cup/a.jpg"))
        assert session.labels == ("cup",)
        assert session.skipped == [Skipped("prd_store", "a store, not a class")]

    def test_a_folder_of_sessions_is_warned_about(self, tmp_path: Path) -> None:
        names = ("monday/cup/a.jpg", "monday/mug/b.jpg", "friday/key/c.jpg")
        (warning,) = Session.open(make(tmp_path / "days", *names)).warnings
        assert "'monday' are in sub-folders of it ('cup', 'mug')" in warning
        assert f"learn {tmp_path / 'days/monday'} instead" in warning
        ordered = ("cup/left/a.jpg", "cup/right/b.jpg", "cup/c.jpg", "mug/box/d.jpg")
        assert Session.open(make(tmp_path / "ordered", *ordered)).warnings == ()


class TestLinks:
    def test_file_links_are_followed(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "cup/")
        make(tmp_path / "elsewhere", "a.png")
        (root / "cup/link.png").symlink_to(tmp_path / "elsewhere/a.png")
        (item,) = Session.open(root).items
        assert isinstance(item.source, Path)
        assert item.source.read_bytes() == b"a.png"

    def test_a_class_folder_may_be_a_link(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "mug/a.png")
        make(tmp_path / "elsewhere", "b.png", "deep/c.png")
        (root / "cup").symlink_to(tmp_path / "elsewhere")
        assert taken(Session.open(root)) == {
            "cup/b.png": "cup",
            "cup/deep/c.png": "cup",
            "mug/a.png": "mug",
        }

    def test_folder_links_below_a_class_are_skipped_and_named(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "cup/a.png")
        make(tmp_path / "elsewhere", "b.png")
        (root / "cup/more").symlink_to(tmp_path / "elsewhere")
        session = Session.open(root)
        assert taken(session) == {"cup/a.png": "cup"}
        assert skipped(session) == {"cup/more": "a link to a folder"}

    def test_hidden_folder_links_are_ignored_silently(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "cup/a.png")
        make(tmp_path / "elsewhere", "b.png")
        (root / "cup/.more").symlink_to(tmp_path / "elsewhere")
        assert Session.open(root).skipped == []

    @pytest.mark.parametrize("target", [".", "..", "../cup", "../.."])
    def test_loops_end(self, tmp_path: Path, target: str) -> None:
        root = make(tmp_path / "data", "cup/a.png")
        (root / "cup/loop").symlink_to(target)
        session = Session.open(root)
        assert (taken(session), list(skipped(session))) == ({"cup/a.png": "cup"}, ["cup/loop"])

    def test_a_class_that_links_to_the_session_ends(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "cup/a.png")
        (root / "all").symlink_to(root)
        assert Session.open(root).count == 2

    def test_broken_links_are_left_to_the_decoder_or_named(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "cup/a.png")
        (root / "gone").symlink_to("nowhere")
        (root / "self").symlink_to("self")
        (root / "cup/gone.png").symlink_to("nowhere")
        session = Session.open(root)
        assert [*skipped(session)] == ["gone", "self"]
        assert session.count == 2


class TestRefused:
    def test_a_store(self, tmp_path: Path) -> None:
        Runtime.open(tmp_path / "store", config=TINY).init()
        with pytest.raises(NoUsableDataError, match=r"is a store, not a folder of pictures"):
            Session.open(tmp_path / "store")

    def test_missing(self, tmp_path: Path) -> None:
        with pytest.raises(NoUsableDataError, match=r"no folder .*nothing; give a folder"):
            Session.open(tmp_path / "nothing")

    def test_broken_link(self, tmp_path: Path) -> None:
        (tmp_path / "data").symlink_to("nowhere")
        with pytest.raises(NoUsableDataError, match="no folder"):
            Session.open(tmp_path / "data")

    def test_name_too_long_for_the_system(self) -> None:
        with pytest.raises(NoUsableDataError):
            Session.open("x" * 300)

    def test_name_with_nul(self) -> None:
        with pytest.raises(NoUsableDataError):
            Session.open("a\0b")

    def test_a_file(self, tmp_path: Path) -> None:
        make(tmp_path, "a.png")
        with pytest.raises(NoUsableDataError, match=r"a\.png is a file; give a folder"):
            Session.open(tmp_path / "a.png")

    def test_a_pipe(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(NoUsableDataError):
            Session.open(tmp_path / "pipe")

    @pytest.mark.parametrize("names", [(), (".git/a.png",), (".DS_Store",)])
    def test_nothing_in_it(self, tmp_path: Path, names: tuple[str, ...]) -> None:
        with pytest.raises(NoUsableDataError, match=r"holds nothing; put the images of each class"):
            Session.open(make(tmp_path / "data", *names))

    def test_files_only(self, tmp_path: Path) -> None:
        with pytest.raises(NoUsableDataError, match="holds only files; put the images"):
            Session.open(make(tmp_path / "data", "a.png", "b.png"))

    @pytest.mark.parametrize("inside", ["cup/", "cup/.hidden.png", "cup/a/b/c/"])
    def test_an_empty_class_is_named(self, tmp_path: Path, inside: str) -> None:
        with pytest.raises(NoUsableDataError, match="no images for 'cup'; add some or remove"):
            Session.open(make(tmp_path / "data", "mug/a.png", inside))

    def test_many_empty_classes_make_a_short_message(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", *(f"class {n:02}/" for n in range(30)))
        with pytest.raises(NoUsableDataError) as caught:
            Session.open(root)
        assert "'class 00', 'class 01'" in str(caught.value)
        assert "and 25 more" in str(caught.value)

    @pytest.mark.parametrize("name", [" cup", "cup ", "a\\b", "a\nb", "a\u202eb", "x" * 201])
    def test_a_bad_name_is_refused_before_an_image_is_opened(
        self, tmp_path: Path, name: str
    ) -> None:
        with pytest.raises(InvalidInputError, match="class name"):
            Session.open(make(tmp_path / "data", "mug/a.png", f"{name}/a.png"))

    def test_a_name_that_is_not_unicode(self, tmp_path: Path) -> None:
        root = make(tmp_path / "data", "mug/a.png")
        os.mkdir(os.fsencode(root) + b"/\xff")
        with pytest.raises(InvalidInputError, match=r"U\+DCFF"):
            Session.open(root)

    def test_two_spellings_of_one_name(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInputError, match="both named 'café'"):
            Session.open(make(tmp_path / "data", "cafe\u0301/a.png", "caf\u00e9/b.png"))


class TestPairs:
    def test_a_list_tells_its_length(self) -> None:
        session = Session.open([(b"1", "cup"), (b"2", "mug")])
        assert session.count == 2
        assert list(session.items) == [Item("item 0", "cup", b"1"), Item("item 1", "mug", b"2")]

    def test_a_generator_does_not_and_is_read_lazily(self) -> None:
        read = []

        def pairs() -> Iterator[tuple[bytes, str]]:
            for n in range(3):
                read.append(n)
                yield (b"", "cup")

        session = Session.open(pairs())
        assert (session.count, read) == (None, [])
        next(iter(session.items))
        assert read == [0]

    def test_labels_are_told_as_they_are_learned(self) -> None:
        session = Session.open([(b"", "cafe\u0301"), (b"", "caf\u00e9")])
        assert session.labels == ("caf\u00e9",)

    def test_labels_are_cleaned(self) -> None:
        (item,) = Session.open([(b"", "cafe\u0301")]).items
        assert item.label == "caf\u00e9"

    @pytest.mark.parametrize("pair", [5, None, (), (b"",), (b"", "cup", 1), "cup"])
    def test_malformed_pair_is_told_by_its_position(self, pair: object) -> None:
        session = Session.open([(b"", "cup"), pair])  # type: ignore[list-item]
        with pytest.raises(InvalidInputError, match=r"item 1 is not a pair"):
            list(session.items)

    @pytest.mark.parametrize("label", [None, 3, b"cup", "", "..", "a/b"])
    def test_bad_label(self, label: object) -> None:
        with pytest.raises(InvalidInputError, match="class name"):
            list(Session.open([(b"", label)]).items)  # type: ignore[list-item]

    @pytest.mark.parametrize("data", [None, 5, object()])
    def test_what_is_no_data(self, data: object) -> None:
        with pytest.raises(InvalidInputError):
            list(Session.open(data).items)  # type: ignore[arg-type]
