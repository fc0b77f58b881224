"""Emoji on geometric grounds: one to four drawn figures, and one mask of all of them."""

from __future__ import annotations

import numpy as np

from segjudge.data.emoji.faces import ANIMALS, face
from segjudge.data.emoji.grounds import ground
from segjudge.data.emoji.things import THINGS
from segjudge.data.paint import Canvas, Pen, Placement, Sprite
from segjudge.data.scene import Scene, eight_bits, finished

__all__ = ["KINDS", "SIZE", "emoji_scene"]

SIZE = (192, 192)

#: What may be drawn: faces with many expressions, animals, things.
KINDS = (face, *ANIMALS, *THINGS)


def emoji_scene(rng: np.random.Generator, size: tuple[int, int] = SIZE) -> Scene:
    """A picture (H, W, 3) with one to four emoji; later ones hide earlier ones, some leave the image."""
    canvas = Canvas(ground(rng, size))
    for _ in range(rng.choice([1, 2, 3, 4], p=[0.3, 0.3, 0.25, 0.15])):
        _add(canvas, rng)
    picture = canvas.picture
    if rng.random() < 0.4:
        grain = rng.standard_normal(picture.shape, np.float32)
        picture = picture + grain * np.float32(rng.uniform(2, 9))
    return finished(canvas, eight_bits(picture))


def _add(canvas: Canvas, rng: np.random.Generator) -> None:
    height, width = canvas.shape
    radius = min(height, width) * rng.uniform(0.09, 0.25)
    angle = rng.uniform(-0.8, 0.8) if rng.random() < 0.5 else 0.0
    squeeze = rng.choice([-1, 1]) * rng.uniform(0.9, 1.1)
    edge = radius * (0.2 if rng.random() < 0.3 else 1.15)  # a third may lie partly outside
    x, y = rng.uniform(edge, [width - edge, height - edge])
    placement = Placement(x, y, radius, angle, squeeze)
    frame = np.array([(x - 1.3 * radius, y - 1.3 * radius), (x + 1.3 * radius, y + 1.3 * radius)])
    sprite = Sprite.around(frame, canvas.shape, 4)
    if sprite is None:
        return
    kind = 0 if rng.random() < 0.4 else int(rng.integers(1, len(KINDS)))
    KINDS[kind](Pen(sprite, placement), rng)
    painted = sprite.done()
    rows = (np.arange(painted.box.top, painted.box.bottom) - y) / radius
    columns = (np.arange(painted.box.left, painted.box.right) - x) / radius
    light = 1.05 - 0.09 * rows[:, None] - 0.05 * columns[None, :]
    light -= 0.08 * np.clip(np.hypot(rows[:, None], columns[None, :]) - 0.4, 0, 1)
    if rng.random() < 0.3:
        canvas.shade(painted, 0.35, radius * 0.08, (round(radius * 0.06), round(radius * 0.1)))
    canvas.place(painted.lit(light), 0)
