"""Weights in and out: files of unknown origin, torch modules, and the arrays a store keeps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor, nn

from prd_edge.errors import InvalidInputError

Weights = Mapping[str, np.ndarray]

_CLASSIFIERS = ("classifier.", "fc.", "_fc.")
_COUNTER = "num_batches_tracked"  # of batch normalisation; unused with a fixed momentum
_WRAPPING_KEYS = ("state_dict", "model_state_dict", "model")  # of training checkpoints
_WRAPPING_PREFIXES = ("module.", "_orig_mod.")  # of DataParallel and torch.compile
_NAMES_SHOWN = 3


def read_weights_file(path: Path) -> dict[str, np.ndarray]:
    """Weights from a `.safetensors`, `.pth` or `.pt` file. No code in the file is ever run."""
    if path.suffix.lower() not in (".safetensors", ".pth", ".pt"):
        raise InvalidInputError(
            f"weights file {path} cannot be used; give a .safetensors, .pth or .pt file"
        )
    if not path.is_file():
        raise InvalidInputError(f"weights file {path} does not exist or is not a file")
    try:
        if path.suffix.lower() == ".safetensors":
            loaded: Any = safetensors.torch.load_file(path)
        else:
            loaded = torch.load(path, map_location="cpu", weights_only=True)
        return encoder_weights(loaded)
    except InvalidInputError as error:
        raise InvalidInputError(f"weights file {path} cannot be used: {error}") from error
    except OSError as error:
        raise InvalidInputError(f"weights file {path} cannot be read: {error}") from error
    except Exception as error:  # what a parser makes of foreign bytes has no common type
        raise InvalidInputError(
            f"weights file {path} cannot be read ({type(error).__name__}): it is damaged or holds "
            "more than plain tensors; save the model's state dict again, best as .safetensors"
        ) from error


def encoder_weights(loaded: Any) -> dict[str, np.ndarray]:
    """The encoder's float32 arrays in a state dict, out of the wrappings checkpoints have."""
    state = loaded
    if isinstance(loaded, Mapping):
        wrapped = (loaded[key] for key in _WRAPPING_KEYS if isinstance(loaded.get(key), Mapping))
        state = next(wrapped, loaded)
    if not isinstance(state, Mapping) or not state or not all(isinstance(k, str) for k in state):
        raise InvalidInputError("it holds no state dict, no tensors by name")
    while prefix := next(
        (p for p in _WRAPPING_PREFIXES if all(k.startswith(p) for k in state)), ""
    ):
        state = {name.removeprefix(prefix): tensor for name, tensor in state.items()}
    return {
        name: _array(name, tensor)
        for name, tensor in state.items()
        if not name.startswith(_CLASSIFIERS) and not name.endswith(_COUNTER)
    }


def _array(name: str, tensor: Any) -> np.ndarray:
    if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
        raise InvalidInputError(f"{name!r} is not a tensor of real numbers")
    array: np.ndarray = tensor.detach().to(torch.float32).contiguous().numpy().copy()
    if not np.isfinite(array).all():
        raise InvalidInputError(f"{name!r} has values that are not finite")
    return array


def module_weights(module: nn.Module) -> dict[str, np.ndarray]:
    """A module's parameters and running statistics as float32 arrays of their own memory."""
    return encoder_weights(module.state_dict())


def fill_module(module: nn.Module, weights: Weights) -> None:
    """Put weights into a module, which may be without memory (device `meta`) before.

    Names and shapes must fit exactly.
    """
    wanted = module.state_dict()
    shapes = {n: tuple(t.shape) for n, t in wanted.items() if not n.endswith(_COUNTER)}
    _refuse("lack", [name for name in shapes if name not in weights])
    _refuse("have the unknown", [name for name in weights if name not in shapes])
    _refuse(
        "have the wrong shape for",
        [
            f"{name} {weights[name].shape} instead of {shape}"
            for name, shape in shapes.items()
            if weights[name].shape != shape
        ],
    )
    state = {
        # A copy: training must not reach into the caller's arrays.
        name: torch.tensor(weights[name], dtype=torch.float32)
        if name in shapes
        else torch.zeros_like(tensor, device="cpu")
        for name, tensor in wanted.items()
    }
    module.load_state_dict(state, assign=True)


def _refuse(fault: str, names: list[str]) -> None:
    if names:
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        raise InvalidInputError(
            f"the weights {fault} {', '.join(names[:_NAMES_SHOWN])}{more}; "
            "they belong to another encoder"
        )
