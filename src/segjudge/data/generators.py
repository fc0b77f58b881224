"""A task's scenes, one after another, each from the seed and its number alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segjudge.data.cells import cells_scene
from segjudge.data.emoji import SIZE as EMOJI_SIZE
from segjudge.data.emoji import emoji_scene
from segjudge.data.pages import page_scene
from segjudge.data.streets import FRAMES, street_clip, street_scene
from segjudge.data.streets import SIZE as STREET_SIZE
from segjudge.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segjudge.data.scene import Scene

__all__ = ["TASKS", "refuse_unknown", "scenes"]

#: The tasks that data can be generated for; the place of each is part of its seed.
TASKS = ("wad-2018", "badlad", "dsb-2018", "emoji")

_LEAST, _MOST = 64, 4096  # pixels a side


def scenes(task_id: str, *, images: int, seed: int, size: tuple[int, int] | None = None) -> Iterator[Scene]:
    """The scenes of a labelled set; more images leave the first ones as they were.

    `size` is (height, width) of every image; the task's own sizes otherwise. Raises UsageError for a task
    that has no generator, and for a number, seed or size that makes no sense.
    """
    refuse_unknown(task_id, images, seed, size)
    return _scenes(task_id, images, [seed, TASKS.index(task_id)], size)


def _scenes(task_id: str, images: int, seed: list[int], size: tuple[int, int] | None) -> Iterator[Scene]:
    if task_id == "wad-2018":
        for first in range(0, images, FRAMES):
            street = street_clip([*seed, first // FRAMES])
            for number in range(first, min(first + FRAMES, images)):
                yield street_scene(street, number - first, size or STREET_SIZE)
        return
    for number in range(images):
        rng = np.random.default_rng([*seed, number])
        if task_id == "badlad":
            yield page_scene(rng, size)
        elif task_id == "dsb-2018":
            yield cells_scene(rng, size)
        else:
            yield emoji_scene(rng, size or EMOJI_SIZE)


def refuse_unknown(task_id: str, images: int, seed: int, size: tuple[int, int] | None) -> None:
    """Raise UsageError for what no scene can be made from."""
    if task_id not in TASKS:
        raise UsageError(
            f"There is no generator for the task {task_id!r}.", f"There is one for {', '.join(TASKS)}."
        )
    if images < 1:
        raise UsageError(f"{images} images are no set.", "Ask for one image or more.")
    if seed < 0:
        raise UsageError(f"The seed is {seed}.", "A seed is a whole number from 0.")
    if size is not None and not all(_LEAST <= side <= _MOST for side in size):
        raise UsageError(
            f"No image of {size[0]} rows and {size[1]} columns is made.",
            f"Sides have {_LEAST} to {_MOST} pixels.",
        )
