"""torchvision's networks as encoders: their stages, their weights, no classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prd_edge.errors import MissingDependencyError
from prd_edge.learn.encoders.staged import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    PixelScale,
    StagedEncoder,
)
from prd_edge.learn.torchvision_import import import_torchvision

# name -> stages whose pooled outputs are the embedding: the last of each width at stride 16 and
# below, and the final features. Counterparts of EfficientNet-Lite0's choice.
EMBEDDED_STAGES: dict[str, tuple[str, ...]] = {
    "mobilenet_v3_small": ("features.6", "features.8", "features.11", "features.12"),
    "mobilenet_v3_large": ("features.10", "features.12", "features.15", "features.16"),
    "resnet18": ("layer3.1", "layer4.0", "layer4.1"),
    "efficientnet_b0": ("features.4", "features.5", "features.6", "features.7", "features.8"),
}
# name -> the first stage at stride 32, where features are small and most weights are.
TRAIN_FROM = {
    "mobilenet_v3_small": "features.9",
    "mobilenet_v3_large": "features.13",
    "resnet18": "layer4.0",
    "efficientnet_b0": "features.6",
}
WEIGHTS_LICENCE = "BSD-3-Clause"


class TorchvisionEncoder(StagedEncoder):
    """Stages `stem`, `layer1.0` … of a ResNet; `features.0` … of the others."""

    def __init__(self, name: str) -> None:
        network = import_torchvision().models.get_model(name, weights=None)
        stages = _resnet_stages(network) if name.startswith("resnet") else _stages(network)
        super().__init__(
            PixelScale(IMAGENET_MEAN, IMAGENET_STD),
            stages,
            embedded_stages=EMBEDDED_STAGES[name],
            train_from=TRAIN_FROM[name],
        )
        # Direct children under their own names, so that the published weights fit.
        for child in {path.partition(".")[0]: None for paths in stages.values() for path in paths}:
            self.add_module(child, network.get_submodule(child))


def _stages(network: Any) -> dict[str, tuple[str, ...]]:
    return {f"features.{i}": (f"features.{i}",) for i in range(len(network.features))}


def _resnet_stages(network: Any) -> dict[str, tuple[str, ...]]:
    blocks = [
        f"layer{i}.{j}" for i in range(1, 5) for j in range(len(getattr(network, f"layer{i}")))
    ]
    return {"stem": ("conv1", "bn1", "relu", "maxpool"), **{block: (block,) for block in blocks}}


def download_weights(name: str) -> Mapping[str, Any]:
    """torchvision's own ImageNet weights, by its cache; the state dict as it is published."""
    weights = import_torchvision().models.get_model_weights(name).DEFAULT
    try:
        state: Mapping[str, Any] = weights.get_state_dict(
            progress=False, check_hash=True, weights_only=True
        )
    except Exception as error:  # network, disk, proxy page instead of a file, damaged cache
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise MissingDependencyError(
            f"cannot download the weights of {name} from {weights.url} ({reason}); "
            "give a local file with --weights FILE"
        ) from error
    return state
