"""What `prd-edge evaluate --json` has written, read back."""

from __future__ import annotations

import json
from errno import EFBIG
from pathlib import Path
from typing import Any, NamedTuple

from prd_edge.errors import InvalidInputError
from prd_edge.plain_file import NotPlainError, read_plain_file

_LARGEST = 64 * 2**20
_LONGEST = 200  # of what a file says and a line repeats
_MAKE_ONE = "prd-edge evaluate FOLDER --json > evaluation.json"


class Evaluated(NamedTuple):
    images: int  # of classes that were taught
    accuracy: float
    balanced_accuracy: float | None
    unknown: int | None  # of these, called so

    @classmethod
    def read(cls, path: Path, version: str) -> Evaluated:
        """Of that version, or refused."""
        try:
            of, evaluated = _parts(json.loads(_text(path)))
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(
                f"{path} is not an evaluation ({str(error)[:_LONGEST]}); make one: {_MAKE_ONE}"
            ) from error
        if of != version:
            raise InvalidInputError(
                f"{path} is an evaluation of version {of[:_LONGEST]!a}, not of {version}; make one "
                f"of that: prd-edge evaluate FOLDER --version {version} --json > evaluation.json"
            )
        return evaluated


def _text(path: Path) -> str:
    try:
        return read_plain_file(path, most=_LARGEST, follow_link=True).decode()
    except NotPlainError as error:
        reason = "is too large" if error.errno == EFBIG else "is not a file"
        raise InvalidInputError(f"{path} {reason}; make one: {_MAKE_ONE}") from error
    except OSError as error:
        raise InvalidInputError(
            f"cannot read {path}: {error.strerror}; make one: {_MAKE_ONE}"
        ) from error


def _parts(document: Any) -> tuple[str, Evaluated]:
    """Only what is needed is looked at: the document may say more."""
    if not isinstance(document, dict):
        raise ValueError("it is no JSON object")
    version, images = document.get("version"), document.get("images")
    if not isinstance(version, str):
        raise ValueError("it names no version")
    if type(images) is not int or images < 1:
        raise ValueError(f"its number of images is {images!a}")
    accuracy, balanced = (_share(document, key) for key in ("accuracy", "balanced_accuracy"))
    if accuracy is None:
        raise ValueError("it has no accuracy")
    strangers, told = _never_taught(document)
    unknown: Any = document.get("unknown")
    taught = images - strangers
    is_counted = type(unknown) is int and 0 <= unknown - told <= taught
    return version, Evaluated(taught, accuracy, balanced, unknown - told if is_counted else None)


def _never_taught(document: dict[str, Any]) -> tuple[int, int]:
    """Images of classes that were, and how many were told: accuracy is not of them."""
    own = document.get("never_taught")
    if not isinstance(own, dict):
        return 0, 0
    count: Any = own.get("images")
    if type(count) is not int or not 0 <= count < document["images"]:
        return 0, 0
    return count, round((_share(own, "called_unknown") or 0) * count)


def _share(document: dict[str, Any], key: str) -> float | None:
    value = document.get(key)
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise ValueError(f"its {key} is {value!a}")
    return float(value)
