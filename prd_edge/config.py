"""Settings that a store keeps for life, as a frozen dataclass that refuses unknown keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from prd_edge.encoders import DEFAULT_ENCODER
from prd_edge.errors import InvalidInputError


@dataclass(frozen=True)
class StoreConfig:
    """What a store is made with, and keeps for life."""

    encoder: str = DEFAULT_ENCODER
    image_size: int = 224
    keep_versions: int = 5

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            expected = str if field.name == "encoder" else int
            if type(value) is not expected:
                raise InvalidInputError(
                    f"setting {field.name} is {value!r}; it must be of type {expected.__name__}"
                )
        if self.keep_versions < 1:
            raise InvalidInputError(f"keep_versions is {self.keep_versions}; it must be at least 1")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise InvalidInputError(f"unknown settings: {', '.join(unknown)}")
        return cls(**values)
