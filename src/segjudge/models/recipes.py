"""What a task's baseline is made of: its net, its crops, its steps and its rules, as plain numbers."""

from __future__ import annotations

from typing import Literal

from segjudge.errors import UsageError
from segjudge.records import dataclass

__all__ = ["NETS", "RECIPES", "Recipe", "recipe_for"]

#: Names that `--net` takes: ours, and MONAI's for those who have a GPU and time.
NETS = ("small", "basic-unet", "segresnet", "resnet34-unet")

Reading = Literal["fixed", "percentiles"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """The numbers behind `train` and `predict` for one task.

    `side` is the longer side, in pixels, at which a picture is looked at: larger ones are reduced to it and
    what the net says is enlarged again. 0 keeps every picture as it is.
    """

    kind: Literal["semantic", "instances"]
    side: int
    crop: int  # pixels a side of a training crop
    batch: int  # crops a step
    steps: int  # of a run that says neither steps nor minutes
    cold_steps: int  # of such a run that begins from scratch
    rate: float  # peak learning rate
    stem: bool  # whether the net keeps a path at full resolution
    reduce: int  # by which the rest of the net works
    widths: tuple[int, ...]  # channels of each level
    reading: Reading  # how values become the net's input: fixed range, or stretched to the picture's own
    flips: tuple[Literal["left-right", "up-down", "transpose"], ...]  # that leave the task what it is
    zoom: float  # crops are enlarged or reduced by up to this factor
    tile: int  # pixels a side of a tile when predicting
    views: bool  # whether predictions are averaged over the flips unless one says otherwise
    validation: int  # images that the metric is taken on after each epoch, at most
    rare: tuple[tuple[int, float], ...] = ()  # class id, and how eagerly crops show it where it is present
    weights: tuple[tuple[int, float], ...] = ()  # class id, and what its pixels weigh; 1 of others


_SMALL = (24, 48, 96, 128)

RECIPES: dict[str, Recipe] = {
    "emoji": Recipe(
        kind="semantic", side=256, crop=112, batch=8, steps=1500, cold_steps=4000, rate=3e-3,
        stem=True, reduce=2, widths=_SMALL, reading="fixed", flips=("left-right", "up-down", "transpose"),
        zoom=1.3, tile=256, views=True, validation=48,
    ),
    "badlad": Recipe(
        kind="semantic", side=640, crop=384, batch=4, steps=900, cold_steps=1800, rate=3e-3,
        stem=False, reduce=4, widths=_SMALL, reading="fixed", flips=("left-right",),
        zoom=1.25, tile=640, views=True, validation=24,
    ),
    "dsb-2018": Recipe(
        kind="instances", side=0, crop=160, batch=6, steps=1200, cold_steps=2400, rate=2e-3,
        stem=True, reduce=2, widths=_SMALL, reading="percentiles",
        flips=("left-right", "up-down", "transpose"), zoom=1.4, tile=384, views=True, validation=24,
    ),
    "wad-2018": Recipe(
        kind="instances", side=846, crop=160, batch=6, steps=1500, cold_steps=4000, rate=4e-3,
        stem=True, reduce=2, widths=(24, 48, 96, 128, 160), reading="fixed", flips=("left-right",),
        zoom=1.3, tile=512, views=True, validation=16,
        rare=((33, 1.5), (34, 1.5), (35, 1.2), (36, 1.2), (38, 1.5), (39, 1.5), (40, 1.5)),
        # What each class lacks to the pixels of cars, in crops chosen as above.
        weights=((34, 12.0), (35, 11.0), (36, 12.0), (38, 2.9), (39, 2.3), (40, 12.0)),
    ),
}  # fmt: skip


def recipe_for(task_id: str) -> Recipe:
    """The recipe of a task; raises UsageError where there is none.

    >>> recipe_for("emoji").kind
    'semantic'
    """
    if task_id not in RECIPES:
        raise UsageError(
            f"There is no baseline for the task {task_id!r}.",
            f"There is one for {', '.join(sorted(RECIPES))}.",
        )
    return RECIPES[task_id]
