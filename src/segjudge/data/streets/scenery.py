"""What stands beside a road and is no object of the task: houses, trees, poles, signs, cones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segjudge.data.paint import Colour, circle
from segjudge.data.streets.camera import Ball, Face, Part, Stroke, box, extruded

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "BUILDING", "CONE", "FENCE", "GREEN", "LIGHT", "POLE", "SIGN",
    "cone", "fence", "house", "lamp", "lights", "sign", "tree",
]  # fmt: skip

# Values of the label map.
CONE, FENCE, LIGHT, POLE, SIGN, BUILDING, GREEN = 65, 67, 81, 82, 83, 97, 113

_WALLS: tuple[Colour, ...] = (
    (176, 162, 146),
    (150, 140, 136),
    (190, 184, 176),
    (134, 96, 80),
    (120, 128, 138),
    (204, 192, 168),
)


def house(rng: np.random.Generator, side: int, deep: float, tall: float) -> list[Part]:
    """A house with windows on the faces towards the road (`side` 1: the road is to its right) and the camera."""
    wall = _WALLS[rng.integers(len(_WALLS))]
    glass: Colour = (74, 88, 100) if rng.random() < 0.7 else (58, 62, 68)
    half = 6.0
    storey, bay = float(rng.uniform(3.0, 3.8)), float(rng.uniform(2.4, 3.6))
    flat, along = [], []
    for w in np.arange(4.2, tall - 1.2, storey).tolist():
        for u in np.arange(-deep / 2 + 0.8, deep / 2 - bay * 0.7, bay).tolist():
            corners = [(u, w), (u, w + storey * 0.5), (u + bay * 0.6, w + storey * 0.5), (u + bay * 0.6, w)]
            along.append((np.array([(a, side * half, b) for a, b in corners]), glass))
        for v in np.arange(-half + 0.8, half - bay * 0.7, bay).tolist():
            corners = [(v, w), (v, w + storey * 0.5), (v + bay * 0.6, w + storey * 0.5), (v + bay * 0.6, w)]
            flat.append((np.array([(-deep / 2, a, b) for a, b in corners]), glass))
    shop: Colour = tuple(int(c) for c in rng.integers(60, 200, 3))  # type: ignore[assignment]
    sill = [(-deep / 2 + 0.4, 0.2), (-deep / 2 + 0.4, 2.6), (deep / 2 - 0.4, 2.6), (deep / 2 - 0.4, 0.2)]
    along.append((np.array([(a, side * half, b) for a, b in sill]), (60, 64, 68)))
    board = [(-deep / 2 + 0.4, 2.7), (-deep / 2 + 0.4, 3.6), (deep / 2 - 0.4, 3.6), (deep / 2 - 0.4, 2.7)]
    along.append((np.array([(a, side * half, b) for a, b in board]), shop))
    profile = [(-deep / 2, 0.0, half), (-deep / 2, tall, half), (deep / 2, tall, half), (deep / 2, 0.0, half)]
    parts = extruded(profile, [wall, wall, wall, wall], wall)
    left, right, rear, *rest = (part for part in parts if isinstance(part, Face))
    facing = right if side > 0 else left
    other = left if side > 0 else right
    return [Face(facing.corners, wall, along), other, Face(rear.corners, wall, flat), *rest]


def tree(rng: np.random.Generator, tall: float) -> list[Part]:
    """A street tree: trunk, boughs, and a crown of many leaves' tones."""
    bark: Colour = (84, 68, 54)
    fork = tall * 0.4
    parts: list[Part] = [
        Stroke(np.array([(0.0, 0.0, 0.0), (0.03, 0.02, fork), (0.0, 0.05, tall * 0.7)]), 0.26, bark)
    ]
    base = np.array([(70, 104, 48), (86, 120, 56), (58, 92, 50), (120, 124, 52)][rng.integers(4)])
    wide = tall * float(rng.uniform(0.26, 0.36))
    for _ in range(110):
        u, v, w = rng.normal(0, 0.42, 3)
        middle = (
            float(np.clip(u, -0.9, 0.9)) * wide,
            float(np.clip(v, -0.9, 0.9)) * wide,
            tall * 0.68 + float(w) * tall * 0.2,
        )
        tone = base * (0.78 + 0.16 * float(w) + rng.uniform(0, 0.42))
        red, green, blue = np.clip(tone, 0, 255).astype(int).tolist()
        parts.append(Ball(middle, wide * float(rng.uniform(0.1, 0.26)), (red, green, blue)))
    return parts


def lamp(tall: float, side: int) -> list[Part]:
    """A street lamp whose arm hangs over the road, to its right where `side` is 1."""
    grey: Colour = (112, 116, 120)
    bend = [(0.0, side * 0.4, tall + 0.5), (0.0, side * 1.9, tall + 0.8)]
    return [
        Stroke(np.array([(0.0, 0.0, 0.0), (0.0, 0.0, 1.0)]), 0.24, grey),
        Stroke(np.array([(0.0, 0.0, 0.0), (0.0, 0.0, tall), *bend]), 0.15, grey),
        Stroke(
            np.array([(0.0, side * 1.7, tall + 0.76), (0.0, side * 2.4, tall + 0.85)]), 0.2, (190, 192, 190)
        ),
    ]


def sign(rng: np.random.Generator) -> list[Part]:
    """A traffic sign on its post: a blue board, a red ring or a warning triangle."""
    kind = rng.integers(3)
    if kind == 0:
        plate: Sequence[tuple[float, float]] = [(-0.55, 1.9), (-0.55, 2.7), (0.55, 2.7), (0.55, 1.9)]
        inner, rim, field = (
            [(v * 0.92, 2.3 + (w - 2.3) * 0.9) for v, w in plate],
            (236, 236, 236),
            (38, 84, 170),
        )
    elif kind == 1:
        plate = [(v, w) for v, w in circle(0, 2.4, 0.36, corners=24)[::-1].tolist()]
        inner, rim, field = (
            [(v * 0.78, 2.4 + (w - 2.4) * 0.78) for v, w in plate],
            (200, 36, 40),
            (240, 240, 238),
        )
    else:
        plate = [(-0.42, 2.1), (0.0, 2.8), (0.42, 2.1)]
        inner, rim, field = (
            [(v * 0.74, 2.33 + (w - 2.33) * 0.74) for v, w in plate],
            (30, 30, 30),
            (240, 200, 50),
        )
    on = (np.array([(-0.06, v, w) for v, w in inner]), (field[0], field[1], field[2]))
    back = (rim[0], rim[1], rim[2])
    return [
        Stroke(np.array([(0.0, 0.0, 0.0), (0.0, 0.0, 2.8)]), 0.08, (140, 142, 144)),
        Face(np.array([(-0.06, v, w) for v, w in plate]), back, [on], matt=False),
    ]


def lights(rng: np.random.Generator, side: int) -> list[Part]:
    """Traffic lights on an arm over the road."""
    grey: Colour = (96, 100, 104)
    parts: list[Part] = [
        Stroke(np.array([(0.0, 0.0, 0.0), (0.0, 0.0, 5.6), (0.0, side * 4.2, 5.9)]), 0.18, grey)
    ]
    shines = rng.integers(3)
    for v in (side * 2.6, side * 4.0):
        parts += box((-0.25, -0.05), (v - 0.22, v + 0.22), (5.2, 6.4), (34, 36, 38))
        for number, colour in enumerate(((236, 60, 50), (240, 190, 60), (70, 220, 130))):
            dim: Colour = (colour[0] // 4, colour[1] // 4, colour[2] // 4)
            parts.append(Ball((-0.3, v, 6.15 - 0.36 * number), 0.14, colour if number == shines else dim))
    return parts


def cone(_rng: np.random.Generator) -> list[Part]:
    """A traffic cone."""
    red: Colour = (226, 84, 40)
    rings: tuple[tuple[float, float, Colour], ...] = (
        (0.08, 0.26, red), (0.28, 0.19, (240, 240, 236)), (0.44, 0.13, red), (0.6, 0.08, red),
    )  # fmt: skip
    body = [
        Stroke(np.array([(0.0, 0.0, low), (0.0, 0.0, low + 0.1)]), wide, tone) for low, wide, tone in rings
    ]
    return [*box((-0.2, 0.2), (-0.2, 0.2), (0.0, 0.05), (60, 60, 60)), *body]


def fence(length: float) -> list[Part]:
    """A railing along the road."""
    white: Colour = (208, 210, 212)
    reach = length / 2
    parts: list[Part] = [
        Stroke(np.array([(u, 0.0, w), (u + 1.0, 0.0, w)]), 0.07, white)
        for w in (0.35, 1.0)
        for u in np.arange(-reach, reach, 1.0).tolist()
    ]
    parts += [
        Stroke(np.array([(u, 0.0, 0.0), (u, 0.0, 1.1)]), 0.07, white)
        for u in np.arange(-reach, reach, 1.0).tolist()
    ]
    parts += [
        Stroke(np.array([(u, 0.0, 0.35), (u, 0.0, 1.0)]), 0.03, white)
        for u in np.arange(-reach + 0.25, reach, 0.5).tolist()
    ]
    return parts
