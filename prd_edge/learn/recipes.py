"""How a session is learned: named, frozen sets of choices."""

from __future__ import annotations

from dataclasses import dataclass

from prd_edge.errors import InvalidInputError
from prd_edge.learn.losses.relation import Axis, Direction, Reduction


@dataclass(frozen=True)
class Recipe:
    """The weights and options of L = L_sc + α L_p + β L_d, and how it is minimised."""

    name: str
    alpha: float = 2.0
    beta: float = 4.0
    temperature: float = 0.1
    axis: Axis = "samples"
    direction: Direction = "teacher_first"
    reduction: Reduction = "mean"
    epochs: int = 5
    batch_size: int = 128
    learning_rate: float = 0.01
    momentum: float = 0.9
    projection: tuple[int, int] = (512, 128)  # hidden and output width of the head g


RECIPES = {"paper": Recipe("paper")}


def recipe_named(name: str) -> Recipe:
    if name not in RECIPES:
        raise InvalidInputError(f"no recipe named {name!r}; choose one of {', '.join(RECIPES)}")
    return RECIPES[name]
