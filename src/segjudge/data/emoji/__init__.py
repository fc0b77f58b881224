"""Emoji on geometric grounds: one to four figures, drawn or from a font, and one mask of all of them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from segjudge.data.emoji.faces import ANIMALS, face
from segjudge.data.emoji.grounds import SHARED, ground
from segjudge.data.emoji.things import THINGS
from segjudge.data.paint import Canvas, Pen, Placement, Sprite
from segjudge.data.scene import Scene, eight_bits, finished

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from segjudge.data.emoji.glyphs import Glyphs
    from segjudge.data.paint import Painted

__all__ = ["KINDS", "SIZE", "emoji_scene", "glyph_scene", "kinds_of"]

SIZE = (192, 192)

#: What may be drawn: faces with many expressions, animals, things.
KINDS = (face, *ANIMALS, *THINGS)

_HELD_BACK = 6  # kinds of the part `test`

# How often there are one to four; more of a font's, which are thinner and would meet less often.
_SOME, _MANY = (0.3, 0.3, 0.25, 0.15), (0.2, 0.26, 0.28, 0.26)


def kinds_of(part: str) -> Sequence[Callable[[Pen, np.random.Generator], None]]:
    """The kinds of figures of a part; those of `train` and `test` are others, faces being of `train`."""
    if part == "all":
        return KINDS
    by_hash = sorted(KINDS[1:], key=lambda kind: hashlib.sha256(kind.__name__.encode()).digest())
    held_back = set(by_hash[:_HELD_BACK])
    return [kind for kind in KINDS if (kind in held_back) == (part == "test")]


def emoji_scene(
    rng: np.random.Generator,
    size: tuple[int, int] = SIZE,
    kinds: Sequence[Callable[[Pen, np.random.Generator], None]] = KINDS,
) -> Scene:
    """A picture (H, W, 3) with one to four drawn emoji; later ones hide earlier ones, some leave the image."""
    canvas = Canvas(ground(rng, size))
    for _ in range(_count(rng)):
        _add(canvas, rng, kinds)
    return _taken(canvas, rng)


def glyph_scene(rng: np.random.Generator, size: tuple[int, int], glyphs: Glyphs) -> Scene:
    """The same with a font's emoji, over shapes in colours of just these."""
    chosen = [glyphs.any(rng) for _ in range(_count(rng, _MANY))]
    colours = [colour for glyph in chosen for colour in glyph.colours(rng, 4)]
    canvas = Canvas(ground(rng, size, [*colours, *SHARED]))
    for glyph in chosen:
        placement = _placement(rng, canvas.shape)
        painted = glyph.painted(placement, canvas.shape)
        if painted is not None:
            _lay(canvas, rng, painted, placement)
    return _taken(canvas, rng)


def _count(rng: np.random.Generator, odds: Sequence[float] = _SOME) -> int:
    return int(rng.choice([1, 2, 3, 4], p=odds))


def _placement(rng: np.random.Generator, shape: tuple[int, int]) -> Placement:
    """Where an emoji lies; about a third may lie partly outside."""
    height, width = shape
    radius = min(height, width) * rng.uniform(0.09, 0.25)
    angle = rng.uniform(-0.8, 0.8) if rng.random() < 0.5 else 0.0
    squeeze = rng.choice([-1, 1]) * rng.uniform(0.9, 1.1)
    edge = radius * (0.2 if rng.random() < 0.3 else 1.15)
    x, y = rng.uniform(edge, [width - edge, height - edge])
    return Placement(x, y, radius, angle, squeeze)


def _add(
    canvas: Canvas, rng: np.random.Generator, kinds: Sequence[Callable[[Pen, np.random.Generator], None]]
) -> None:
    placement = _placement(rng, canvas.shape)
    x, y, radius = placement.x, placement.y, placement.size
    frame = np.array([(x - 1.3 * radius, y - 1.3 * radius), (x + 1.3 * radius, y + 1.3 * radius)])
    sprite = Sprite.around(frame, canvas.shape, 4)
    if sprite is None:
        return
    faces = kinds[0] is face
    kind = 0 if faces and rng.random() < 0.4 else int(rng.integers(faces, len(kinds)))
    kinds[kind](Pen(sprite, placement), rng)
    painted = sprite.done()
    rows = (np.arange(painted.box.top, painted.box.bottom) - y) / radius
    columns = (np.arange(painted.box.left, painted.box.right) - x) / radius
    light = 1.05 - 0.09 * rows[:, None] - 0.05 * columns[None, :]
    light -= 0.08 * np.clip(np.hypot(rows[:, None], columns[None, :]) - 0.4, 0, 1)
    _lay(canvas, rng, painted, placement, light)


def _lay(
    canvas: Canvas,
    rng: np.random.Generator,
    painted: Painted,
    placement: Placement,
    light: np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None = None,
) -> None:
    """Lay an emoji over those before it, now and then with a shadow."""
    if rng.random() < 0.3:
        radius = placement.size
        canvas.shade(painted, 0.35, radius * 0.08, (round(radius * 0.06), round(radius * 0.1)))
    canvas.place(painted if light is None else painted.lit(light), 0)


def _taken(canvas: Canvas, rng: np.random.Generator) -> Scene:
    picture = canvas.picture
    if rng.random() < 0.4:
        grain = rng.standard_normal(picture.shape, np.float32)
        picture = picture + grain * np.float32(rng.uniform(2, 9))
    return finished(canvas, eight_bits(picture))
