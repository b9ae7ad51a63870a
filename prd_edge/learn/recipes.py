"""How a session is learned: named, frozen sets of choices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from prd_edge.encoders import UNTRAINED
from prd_edge.errors import InvalidInputError
from prd_edge.learn.losses.relation import Axis, Direction, Reduction


@dataclass(frozen=True)
class Recipe:
    """The weights and options of L = L_sc + α L_p + β L_d, how it is minimised, and what becomes
    of the prototypes."""

    name: str
    alpha: float = 2.0
    beta: float = 4.0
    temperature: float = 0.1
    axis: Axis = "samples"
    direction: Direction = "teacher_first"
    reduction: Reduction = "mean"
    epochs: int = 5  # at most, where the following is given
    # How many images to learn from before the session is over, each counted as often as it is
    # seen: at least, and at most; between the two, three times each.
    images: tuple[int, int] | None = None
    batch_size: int = 128
    learning_rate: float = 0.01
    # Once there is something to forget, if another; times the cube of the session's share of all
    # classes.
    later_learning_rate: float | None = None
    momentum: float = 0.9
    projection: tuple[int, int] = (512, 128)  # hidden and output width of the head g
    views: int = 4  # random views of each image, where they are computed once
    # gradient: prototypes are what the losses made of them, compared by cosine.
    # closed_form: those of the session are class means, old ones follow by a linear map.
    prototypes: Literal["gradient", "closed_form"] = "gradient"
    anchored: bool = False  # train a copy of the tail, beside the frozen encoder

    def for_images(self, images: int) -> Recipe:
        """With the number of epochs that suits a session of so many images."""
        if self.images is None:
            return self
        least, most = self.images
        wanted = min(max(least, 3 * images), most)
        epochs = min(max(1, round(wanted / max(images, 1))), self.epochs)
        return replace(self, epochs=epochs, images=None)

    def for_session(self, classes: int, known: int, in_all: int) -> Recipe:
        """Gentler as the bank grows: the more classes there are, the less may one session move."""
        if not known or self.later_learning_rate is None:
            return self
        rate = self.later_learning_rate * (classes / in_all) ** 3
        return replace(self, learning_rate=rate)


# `edge` was chosen on grocery and CIFAR-100 (docs/results.md).
EDGE = Recipe(
    "edge",
    epochs=12,
    images=(2400, 7500),
    batch_size=24,
    later_learning_rate=2e-3,
    prototypes="closed_form",
    anchored=True,
)
PAPER = Recipe("paper")
RECIPES = {recipe.name: recipe for recipe in (EDGE, PAPER)}


def recipe_named(name: str) -> Recipe:
    if name not in RECIPES:
        raise InvalidInputError(f"no recipe named {name!r}; choose one of {', '.join(RECIPES)}")
    return RECIPES[name]


def default_recipe(encoder: str) -> Recipe:
    """An untrained encoder has everything to learn, and nothing to hold on to."""
    return RECIPES["paper" if encoder == UNTRAINED else "edge"]
