"""Class names: any language is welcome, tricks are not."""

from __future__ import annotations

import unicodedata
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prd_edge.classes import MAX_NAME_BYTES, clean_class_name, refuse_clashes
from prd_edge.errors import InvalidInputError

E_ACUTE = "\u00e9"  # one code point
E_ACUTE_NFD = "e\u0301"  # letter and accent


@pytest.mark.parametrize(
    "name",
    [
        "cup",
        "coffee mug",
        "a.b",
        "0",
        "-",
        "--help",
        "con",
        "100%",
        'it\'s "quoted"',
        "$(reboot)",
        "湯呑み",
        "кружка",
        "كوب",
        "नमस्ते",
        "caf" + E_ACUTE,
        "👩\u200d🔬",  # joined emoji
        "می\u200cخواهم",  # Persian needs the non-joiner
        "\U0001f44d\U0001f3fd",
        "x" * MAX_NAME_BYTES,
        "é" * (MAX_NAME_BYTES // 2),
    ],
)
def test_allowed(name: str) -> None:
    assert clean_class_name(name) == name


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("\u3000\u00a0", "is empty"),
        (" cup", "begins or ends with a space"),
        ("cup ", "begins or ends with a space"),
        ("cup\u00a0", "begins or ends with a space"),
        ("unknown", "is what a picture is called that no class fits"),
        ("Unknown", "is what a picture is called that no class fits"),
        (".", "begins with a dot"),
        ("..", "begins with a dot"),
        (".hidden", "begins with a dot"),
        ("../../etc", "begins with a dot"),
        ("a/b", "U+002F"),
        ("/etc/passwd", "U+002F"),
        ("a\\b", "U+005C"),
        ("C:\\x", "U+005C"),
        ("a\0b", "U+0000"),
        ("a\nb", "U+000A"),
        ("a\rb", "U+000D"),
        ("a\tb", "U+0009"),
        ("a\x1b[31mb", "U+001B"),
        ("a\x7fb", "U+007F"),
        ("a\x9bb", "U+009B"),  # the one-character form of ESC [
        ("a\u202eb", "U+202E"),  # right-to-left override
        ("a\u2066b", "U+2066"),
        ("a\u200bb", "U+200B"),  # zero-width space
        ("a\ufeffb", "U+FEFF"),
        ("a\u00adb", "U+00AD"),  # soft hyphen
        ("a\u2028b", "U+2028"),
        ("a\udcffb", "U+DCFF"),  # a byte that is not UTF-8, as file names carry it
        ("a\ue000b", "U+E000"),
        ("a\uffffb", "U+FFFF"),
        ("x" * (MAX_NAME_BYTES + 1), "201 bytes"),
        ("é" * 101, "202 bytes"),
        ("x" * 10_000, "10000 bytes"),
    ],
)
def test_refused(name: str, complaint: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        clean_class_name(name)
    message = str(caught.value)
    assert complaint in message
    assert message.isascii() or "…" in message, "a trick must not reach the terminal"
    assert len(message) < 800
    assert "\n" not in message


@pytest.mark.parametrize("name", [None, 5, 1.5, b"cup", ["cup"], ("cup",), object()])
def test_what_is_no_string(name: object) -> None:
    with pytest.raises(InvalidInputError, match="not a string"):
        clean_class_name(name)  # type: ignore[arg-type]


def test_both_spellings_of_an_accent_are_one_name() -> None:
    assert clean_class_name("caf" + E_ACUTE_NFD) == "caf" + E_ACUTE


@pytest.mark.parametrize("name", ["\u200d", "\u200c", "\u200d\u200c"])
def test_a_name_of_joiners_alone_is_invisible(name: str) -> None:
    with pytest.raises(InvalidInputError):
        clean_class_name(name)


def test_the_limit_holds_for_the_form_that_is_kept() -> None:
    grows = "\U0001d15e" * 50  # a musical note of 4 bytes whose NFC form has 8
    assert len(grows.encode()) == MAX_NAME_BYTES
    with pytest.raises(InvalidInputError, match="400 bytes"):
        clean_class_name(grows)


def test_clash_of_two_spellings_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"both named 'café'.*merge"):
        refuse_clashes(["caf" + E_ACUTE, "tea", "caf" + E_ACUTE_NFD])


def test_different_names_do_not_clash() -> None:
    refuse_clashes(["cup", "Cup", "cups", "cup 2", "café", "cafe"])
    refuse_clashes([])


def test_a_bad_name_among_good_ones_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="begins with a dot"):
        refuse_clashes(["cup", "..", "mug"])


names = st.text(max_size=80) | st.text(
    alphabet=st.sampled_from("ae./\\ \n\0\u0301\u200d\u202e\u3000\udc80湯é"), max_size=12
)


@given(names)
@example("\u2126")  # the ohm sign: NFC makes it a Greek letter
@example("\u1fef")  # NFC makes it a backtick
@example("\u0340a")
@example("\u037e")  # the Greek question mark: NFC makes it a semicolon
def test_a_clean_name_is_safe_to_keep_and_to_print(name: str) -> None:
    clean = None
    with suppress(InvalidInputError):
        clean = clean_class_name(name)
    if clean is None:
        return
    assert unicodedata.is_normalized("NFC", clean)
    assert clean_class_name(clean) == clean
    assert clean == clean.strip() != ""
    assert not clean.startswith(".")
    assert not set(clean) & set("/\\")
    assert not {unicodedata.category(c) for c in clean} & {"Cc", "Cs", "Zl", "Zp"}
    assert len(clean.encode()) <= MAX_NAME_BYTES
