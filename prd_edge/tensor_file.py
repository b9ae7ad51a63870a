"""What a file of tensors must hold. A checksum can be made by anybody, so names, kinds, shapes and
numbers are looked at before they are used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from prd_edge.errors import StoreCorruptError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

Tensors = Mapping[str, "NDArray[np.generic]"]


def tensor(tensors: Tensors, name: str, kind: DTypeLike, *shape: int) -> NDArray[np.generic]:
    """The one of this name, kind and shape, all of it numbers."""
    found = tensors.get(name)
    if found is None:
        raise StoreCorruptError(f"{name} is missing")
    if found.dtype != kind or found.shape != shape:
        wanted = f"{np.dtype(kind)} {shape}"
        raise StoreCorruptError(f"{name} is {found.dtype} {found.shape}, not {wanted}")
    if not np.isfinite(found).all():
        raise StoreCorruptError(f"{name} has values that are not numbers")
    return found


def refuse_unless(is_good: object, reason: str) -> None:
    if not is_good:
        raise StoreCorruptError(reason)
