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

from prd_edge.config import StoreConfig
from prd_edge.encoders import EncoderSpec
from prd_edge.errors import InvalidInputError, StoreCorruptError, StoreError

SCHEMA = 3
_FILE_NAME = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)?")  # never a path


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
            raise StoreCorruptError(f"not a valid manifest ({error})") from error
        except InvalidInputError as error:
            raise StoreCorruptError(str(error)) from error

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
        return cls(**values)


def _canonical(body: Mapping[str, Any]) -> bytes:
    text = json.dumps(body, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    return text.encode() + b"\n"


def _checksum(body: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(body)).hexdigest()
