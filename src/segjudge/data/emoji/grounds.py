"""Geometric grounds for emoji to lie on, and flat shapes of emoji's own colours to lead astray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from segjudge.data.paint import Box, Colour, Sprite, circle
from segjudge.data.scene import clouds

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SHARED", "ground"]

Palette = Sequence[Colour]

#: Colours that drawn emoji have, so that colour alone tells nothing.
SHARED: Palette = (
    (255, 204, 58), (222, 46, 62), (110, 186, 74), (92, 178, 240), (168, 108, 62), (250, 152, 38), (246, 132, 178),
)  # fmt: skip


def ground(rng: np.random.Generator, shape: tuple[int, int], shared: Palette = SHARED) -> NDArray[np.float32]:
    """A picture (H, W, 3) with no emoji in it; `shared` are colours of those that come."""
    height, width = shape
    sprite = Sprite(Box(0, 0, width, height), 3)
    reach = max(shape)
    sprite.fill(np.array([(-1, -1), (reach, -1), (reach, reach), (-1, reach)], float), _colour(rng, shared))
    (_plain, _stripes, _checkers, _rings, _polygons, _dots)[rng.integers(6)](sprite, rng, reach, shared)
    for _ in range(rng.integers(0, 9)):
        _distract(sprite, rng, reach, shared)
    picture = sprite.done().rgb.astype(np.float32)
    if rng.random() < 0.7:
        turn = rng.uniform(0, 2 * np.pi)
        slope = (
            np.cos(turn) * np.linspace(-1, 1, width)[None, :]
            + np.sin(turn) * np.linspace(-1, 1, height)[:, None]
        )
        tint = rng.uniform(-55, 55, 3)
        picture += slope.astype(np.float32)[..., None] * tint.astype(np.float32)
    if rng.random() < 0.3:
        picture += clouds(rng, shape, 6, 2)[..., None] * np.float32(rng.uniform(3, 12))
    return np.clip(picture, 0, 255)


def _colour(rng: np.random.Generator, shared: Palette) -> Colour:
    if rng.random() < 0.3:
        return shared[int(rng.integers(len(shared)))]
    level, spread = rng.uniform(60, 215), rng.uniform(-60, 60, 3)
    red, green, blue = np.clip(level + spread, 0, 255).astype(int).tolist()
    return red, green, blue


def _plain(sprite: Sprite, rng: np.random.Generator, reach: int, shared: Palette) -> None:
    if rng.random() < 0.5:
        cut = rng.uniform(0.2, 0.8) * reach
        lean = rng.uniform(-0.4, 0.4) * reach
        sprite.fill(
            np.array([(0, cut), (reach, cut + lean), (reach, reach), (0, reach)], float), _colour(rng, shared)
        )


def _stripes(sprite: Sprite, rng: np.random.Generator, reach: int, shared: Palette) -> None:
    colours = [_colour(rng, shared) for _ in range(rng.integers(1, 4))]
    turn, step = rng.uniform(0, np.pi), rng.uniform(0.06, 0.22) * reach
    along = np.array([np.cos(turn), np.sin(turn)])
    across = np.array([-along[1], along[0]])
    for number, place in enumerate(np.arange(-reach, reach, step)):
        middle = np.full(2, reach / 2) + across * place
        near, far = middle - along * reach, middle + along * reach
        half = across * step * 0.25
        sprite.fill(
            np.array([near - half, far - half, far + half, near + half]), colours[number % len(colours)]
        )


def _checkers(sprite: Sprite, rng: np.random.Generator, reach: int, shared: Palette) -> None:
    other, step = _colour(rng, shared), rng.uniform(0.07, 0.2) * reach
    turn = rng.uniform(0, np.pi / 2)
    spin = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    square = np.array([(0, 0), (1, 0), (1, 1), (0, 1)], float)
    count = int(reach / step) + 1
    for row in range(-count, count):
        for column in range(-count + (row & 1), count, 2):
            corners = (square + np.array([column, row])) * step @ spin + reach / 2
            if (corners.max(axis=0) > 0).all() and (corners.min(axis=0) < reach).all():
                sprite.fill(corners, other)


def _rings(sprite: Sprite, rng: np.random.Generator, reach: int, shared: Palette) -> None:
    colours = [_colour(rng, shared) for _ in range(rng.integers(2, 4))]
    x, y = rng.uniform(0, reach, 2)
    step = rng.uniform(0.06, 0.16) * reach
    for number, radius in enumerate(np.arange(1.5 * reach, step / 2, -step)):
        sprite.fill(circle(x, y, radius, corners=90), colours[number % len(colours)])


def _polygons(sprite: Sprite, rng: np.random.Generator, reach: int, shared: Palette) -> None:
    for _ in range(rng.integers(6, 24)):
        turn = np.sort(rng.uniform(0, 2 * np.pi, rng.integers(3, 8)))
        size = rng.uniform(0.06, 0.35) * reach
        middle = rng.uniform(0, reach, 2)
        sprite.fill(middle + size * np.column_stack([np.cos(turn), np.sin(turn)]), _colour(rng, shared))


def _dots(sprite: Sprite, rng: np.random.Generator, reach: int, shared: Palette) -> None:
    colour, step = _colour(rng, shared), rng.uniform(0.09, 0.2) * reach
    radius = step * rng.uniform(0.2, 0.4)
    for row, y in enumerate(np.arange(0, reach + step, step)):
        for x in np.arange(step / 2 * (row & 1), reach + step, step):
            sprite.fill(circle(x, y, radius, corners=24), colour)


def _distract(sprite: Sprite, rng: np.random.Generator, reach: int, shared: Palette) -> None:
    """A flat shape in a colour that emoji have."""
    colour = shared[int(rng.integers(len(shared)))]
    middle, size = rng.uniform(0, reach, 2), rng.uniform(0.05, 0.2) * reach
    kind = rng.integers(4)
    if kind == 0:
        sprite.fill(circle(middle[0], middle[1], size), colour)
    elif kind == 1:
        sprite.line(circle(middle[0], middle[1], size), size * 0.25, colour)
    elif kind == 2:
        turn = rng.uniform(0, 2 * np.pi) + np.arange(3 + rng.integers(3)) * 2 * np.pi / 3
        sprite.fill(middle + size * np.column_stack([np.cos(turn), np.sin(turn)]), colour)
    else:
        far = middle + rng.uniform(-2, 2, 2) * size
        sprite.line(np.array([middle, far]), size * 0.3, colour)
