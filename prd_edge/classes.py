"""Class names: any language, but nothing that could trick a path, a terminal or a reader.

A label is a string for ever, never a position. Names are kept in Unicode's NFC form, so that
the same word typed on two systems is the same class.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from prd_edge.errors import InvalidInputError

MAX_NAME_BYTES = 200

# Control codes, invisible formatting (text direction among it), surrogates, line separators.
_CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_FORBIDDEN_CATEGORIES = _CONTROLS | {"Co", "Cn"}
# Joiners are invisible too, but words of several scripts and emoji need them.
_JOINERS = {"\u200c", "\u200d"}


def clean_class_name(name: str) -> str:
    """The NFC form of a valid class name; `InvalidInputError` says what is wrong with others."""
    if not isinstance(name, str):
        raise InvalidInputError(f"class name {name!r} is not a string; give it in quotes")
    clean = unicodedata.normalize("NFC", name)
    problem = _problem(clean)
    if problem:
        shown = name if len(name) <= 60 else name[:60] + "…"
        raise InvalidInputError(f"class name {shown!a} {problem}; rename it")
    return clean


def _problem(name: str) -> str | None:
    size = len(name.encode(errors="replace"))
    forbidden = next((c for c in name if _is_forbidden(c)), None)
    if not name.strip() or set(name) <= _JOINERS:
        return "is empty"
    if name.casefold() == "unknown":
        return "is what a picture is called that no class fits"
    if name != name.strip():
        return "begins or ends with a space"
    if name.startswith("."):
        return "begins with a dot"
    if forbidden:
        return f"contains the forbidden character U+{ord(forbidden):04X}"
    if size > MAX_NAME_BYTES:
        return f"is {size} bytes long, over the limit of {MAX_NAME_BYTES}"
    return None


def _is_forbidden(character: str) -> bool:
    if character in "/\\":
        return True
    return unicodedata.category(character) in _FORBIDDEN_CATEGORIES and character not in _JOINERS


def has_control_codes(text: str) -> bool:
    """Whether it could trick a terminal. Unlike a class name it may have characters of a later
    Unicode than ours: what is kept must stay readable on older systems."""
    return not text.isprintable() and any(
        unicodedata.category(c) in _CONTROLS and c not in _JOINERS for c in text
    )


def can_be_shown(character: str) -> bool:
    """As part of a line: printable, a joiner or a space of any script."""
    return (
        character.isprintable() or character in _JOINERS or unicodedata.category(character) == "Zs"
    )


def refuse_clashes(names: Iterable[str]) -> None:
    """Refuse different spellings (NFC and NFD) that would be one class."""
    seen: dict[str, str] = {}
    for name in names:
        clean = clean_class_name(name)
        if seen.setdefault(clean, name) != name:
            raise InvalidInputError(
                f"two folders are both named {clean!r}, in different Unicode forms; "
                "merge them into one"
            )
