"""A task's scenes, one after another, each from the seed and its number alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segjudge.data.cells import cells_scene
from segjudge.data.emoji import SIZE as EMOJI_SIZE
from segjudge.data.emoji import emoji_scene, glyph_scene, kinds_of
from segjudge.data.emoji.glyphs import glyphs_of
from segjudge.data.pages import page_scene
from segjudge.data.pages.bengali import faces_of
from segjudge.data.streets import FRAMES, street_clip, street_scene
from segjudge.data.streets import SIZE as STREET_SIZE
from segjudge.errors import UsageError
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from segjudge.data.scene import Scene

    #: Makes a scene.
    Drawer = Callable[[np.random.Generator], Scene]

__all__ = ["ARTS", "PARTS", "SET_IN_FONTS", "TASKS", "scenes"]

#: The tasks that data can be generated for; the place of each is part of its seed.
TASKS = ("wad-2018", "badlad", "dsb-2018", "emoji")

#: The tasks that have the art `fonts`, and all arts and parts; their places are part of a scene's seed.
SET_IN_FONTS = ("badlad", "emoji")
ARTS = ("drawn", "fonts")
PARTS = ("all", "train", "test")

_LEAST, _MOST = 64, 4096  # pixels a side


def scenes(
    task_id: str,
    *,
    images: int,
    seed: int,
    size: tuple[int, int] | None = None,
    art: str = "drawn",
    part: str = "all",
) -> Iterator[Scene]:
    """The scenes of a labelled set; more images leave the first ones as they were.

    `size` is (height, width) of every image; the task's own sizes otherwise. With the art `fonts` emoji are
    those of Noto Color Emoji and pages are set in Bengali, both from installed fonts; else everything is
    drawn. The parts `train` and `test` share no picture, nor a glyph, kind of emoji or face of type.

    Raises UsageError for a task that has no generator, a font that is not installed, and for a number, seed
    or size that makes no sense.
    """
    _refuse_unknown(task_id, images, seed, size)
    draw = _drawer(task_id, size, art, part)
    code = PARTS.index(part) + len(PARTS) * ARTS.index(art)
    return _scenes(draw, images, [seed, TASKS.index(task_id)], [code] if code else [])


def _scenes(draw: Drawer | Filmer, images: int, seed: list[int], code: list[int]) -> Iterator[Scene]:
    """Scene after scene; the frames of a clip come from one seed. A `code` sets parts and arts apart."""
    if isinstance(draw, Filmer):
        for first in range(0, images, FRAMES):
            street = street_clip([*seed, first // FRAMES, *code])
            for number in range(first, min(first + FRAMES, images)):
                yield street_scene(street, number - first, draw.size)
        return
    for number in range(images):
        yield draw(np.random.default_rng([*seed, number, *code]))


@dataclass(frozen=True, slots=True)
class Filmer:
    """Takes clips of frames of this size."""

    size: tuple[int, int]


def _drawer(task_id: str, size: tuple[int, int] | None, art: str, part: str) -> Drawer | Filmer:
    """What makes a scene of a random generator; raises UsageError for what cannot be drawn."""
    _refuse_art(task_id, art, part)
    if task_id == "wad-2018":
        return Filmer(size or STREET_SIZE)
    if task_id == "dsb-2018":
        return lambda rng: cells_scene(rng, size)
    if task_id == "badlad":
        faces = faces_of(part) if art == "fonts" else ()
        return lambda rng: page_scene(rng, size, faces)
    if art == "fonts":
        glyphs = glyphs_of(part)
        return lambda rng: glyph_scene(rng, size or EMOJI_SIZE, glyphs)
    kinds = kinds_of(part)
    return lambda rng: emoji_scene(rng, size or EMOJI_SIZE, kinds)


def _refuse_art(task_id: str, art: str, part: str) -> None:
    if art not in ARTS or part not in PARTS:
        raise UsageError(
            f"There is no art {art!r} with a part {part!r}.",
            f"The art is one of {', '.join(ARTS)}, the part one of {', '.join(PARTS)}.",
        )
    if art == "fonts" and task_id not in SET_IN_FONTS:
        raise UsageError(
            f"Nothing in the images of {task_id} is set in a font.",
            f"The art `fonts` is one of {', '.join(SET_IN_FONTS)}.",
        )


def _refuse_unknown(task_id: str, images: int, seed: int, size: tuple[int, int] | None) -> None:
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
