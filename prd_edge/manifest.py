"""The manifest of a version: what it is, where it comes from, and a sha256 of every file.

It is written in one canonical form that ends in its own checksum, so that a flipped bit anywhere
in it is noticed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple, Self

from prd_edge.classes import has_control_codes
from prd_edge.config import StoreConfig
from prd_edge.encoders import IMAGE_SIZE_RANGE, EncoderSpec
from prd_edge.errors import InvalidInputError, StoreCorruptError, StoreError

SCHEMA = 4
_FILE_NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)?")  # never a path
_VERSION = re.compile(r"[0-9]{6}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_IDENTITY = re.compile(r"[0-9a-f]{16}")
_LARGEST_FILE = 2 * 2**30  # no graph can be larger
_MOST_IMAGES = 2**40
_MOST_DIMENSIONS = 2**14  # a covariance has their square
_DEEPEST = 10
_LONGEST_REASON = 200


class FileRecord(NamedTuple):
    size: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> FileRecord:
        return cls(len(data), hashlib.sha256(data).hexdigest())


@dataclass(frozen=True)
class Manifest:
    version: str
    parent: str | None
    created: str  # UTC, ISO 8601
    action: str  # what made this version, for people: "learn-session", "remove cup", …
    software: str
    config: StoreConfig
    encoder: EncoderSpec
    classes: Mapping[str, int]  # label -> images behind its prototype
    identities: Mapping[str, str]  # label -> random digits that a class keeps under every name
    metrics: Mapping[str, Any]
    files: Mapping[str, FileRecord]
    schema: int = field(default=SCHEMA)

    def size(self) -> int:
        """Bytes of the files, shared with other versions or not."""
        return sum(record.size for record in self.files.values())

    def to_bytes(self) -> bytes:
        body = {
            **asdict(self),
            "encoder": self.encoder._asdict(),
            "files": {name: record._asdict() for name, record in self.files.items()},
        }
        return _canonical({**body, "checksum": _checksum(body)})

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        try:
            body = json.loads(data)
            if _is_deep(body, _DEEPEST):  # to write it anew, as below, might take hours
                raise StoreCorruptError("it is nested too deeply")
            if data != _canonical(body) or body.pop("checksum") != _checksum(body):
                raise StoreCorruptError("the checksum does not match")
            # The form of the file and its checksum are the same in every schema.
            if isinstance(body["schema"], int) and body["schema"] > SCHEMA:
                raise StoreError(
                    f"the store was written by a newer prd-edge (schema {body['schema']}, this one "
                    f"reads up to {SCHEMA}); upgrade: pip install --upgrade prd-edge"
                )
            if isinstance(body["schema"], int) and body["schema"] < SCHEMA:
                raise StoreError(
                    f"the store was written by a prd-edge from before the first release (schema "
                    f"{body['schema']}, this one reads {SCHEMA}); begin a new store"
                )
            return cls._from_body(body)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise StoreCorruptError(f"not a valid manifest ({_short(error)})") from error
        except InvalidInputError as error:
            raise StoreCorruptError(_short(error)) from error

    @classmethod
    def _from_body(cls, body: dict[str, Any]) -> Self:
        if set(body) != {f.name for f in fields(cls)}:
            raise ValueError("unexpected or missing keys")
        if not all(_FILE_NAME.fullmatch(name) for name in body["files"]):
            raise ValueError("a file name that is none of ours")
        encoder = body["encoder"]
        values = {
            **body,
            "config": StoreConfig.from_dict(body["config"]),
            "encoder": EncoderSpec(**{**encoder, "parts": tuple(encoder["parts"])}),
            "files": {name: FileRecord(**record) for name, record in body["files"].items()},
        }
        manifest = cls(**values)
        manifest._refuse_foreign_values()
        return manifest

    def _refuse_foreign_values(self) -> None:
        """A checksum can be made by anybody: what is used later must be what it is taken for."""
        encoder = self.encoder
        texts = {
            "created": self.created,
            "action": self.action,
            "software": self.software,
            "name of the encoder": encoder.name,
            "licence": encoder.licence,
            "first stage that was trained": ""
            if encoder.adapted_from is None
            else encoder.adapted_from,
            **{f"class {label!a}": label for label in self.classes},
        }
        for name, text in texts.items():
            if not isinstance(text, str) or has_control_codes(text):
                raise ValueError(f"its {name} is not a text")
        for version in (self.version, self.parent):
            if version is not None and not _VERSION.fullmatch(version):
                raise ValueError("a version that is no number")
        _refuse_number("schema", self.schema, SCHEMA, SCHEMA)
        _refuse_number("image size", encoder.image_size, 1, IMAGE_SIZE_RANGE[1])
        for width in encoder.parts:
            _refuse_number("width of a part", width, 1, _MOST_DIMENSIONS)
        _refuse_number("number of dimensions", encoder.dimensions, 0, _MOST_DIMENSIONS)
        for count in self.classes.values():
            _refuse_number("number of images", count, 1, _MOST_IMAGES)
        identities = list(self.identities.values())
        if set(self.identities) != set(self.classes) or len(set(identities)) != len(identities):
            raise ValueError("identities that are not one for each class")
        if not all(_IDENTITY.fullmatch(identity) for identity in identities):
            raise ValueError("an identity that is none")
        for record in self.files.values():
            _refuse_number("size of a file", record.size, 0, _LARGEST_FILE)
            if not _SHA256.fullmatch(record.sha256):
                raise ValueError("a sha256 that is none")
        if not isinstance(self.metrics, dict):
            raise ValueError("metrics that are none")


def _refuse_number(name: str, value: object, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"its {name} is not from {low} to {high}")


def _is_deep(value: object, most: int) -> bool:
    """Whether there are more than so many things within each other."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return most < 0 or any(_is_deep(own, most - 1) for own in inner)


def _short(error: Exception) -> str:
    return str(error)[:_LONGEST_REASON]


def _canonical(body: Mapping[str, Any]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    return text.encode() + b"\n"


def _checksum(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(body)).hexdigest()
