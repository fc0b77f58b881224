"""People on foot and on two wheels, and what they ride."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from segjudge.data.paint import Colour, circle
from segjudge.data.streets.camera import Ball, Outline, Part, Stroke, box, extruded

if TYPE_CHECKING:
    from segjudge.data.streets.camera import Solid

__all__ = ["Clothes", "bicycle", "dressed", "motorcycle", "rider", "walker"]

Clothes = tuple[Colour, Colour, Colour, Colour]  # coat, trousers, skin, hair

_COATS: tuple[Colour, ...] = (
    (44, 48, 60), (30, 30, 34), (150, 40, 46), (60, 90, 140), (226, 222, 214), (120, 130, 110), (210, 150, 60),
    (110, 70, 120),
)  # fmt: skip
_TROUSERS: tuple[Colour, ...] = ((38, 42, 58), (30, 30, 32), (70, 74, 84), (110, 96, 78))


def dressed(rng: np.random.Generator) -> Clothes:
    """What a person wears."""
    coat, trousers = _COATS[rng.integers(len(_COATS))], _TROUSERS[rng.integers(len(_TROUSERS))]
    skin: Colour = (214, 170, 140) if rng.random() < 0.7 else (180, 132, 104)
    return coat, trousers, skin, (34, 28, 26)


def _limb(width: float, colour: Colour, *points: tuple[float, float, float]) -> Stroke:
    return Stroke(np.array(points, np.float64), width, colour)


def walker(clothes: Clothes, phase: float, tall: float = 1.7, *, bag: bool = False) -> list[Part]:
    """A person in mid-step; a whole step is 2 pi of phase."""
    coat, trousers, skin, hair = clothes
    swing = 0.26 * math.sin(phase)
    unit = tall / 1.7
    parts: list[Part] = []
    for side, lean in ((-1, swing), (1, -swing)):
        hip, foot = side * 0.09, (lean * 1.1, side * 0.1, 0.06)
        parts.append(_limb(0.15, trousers, (0, hip, 0.84), (lean * 0.5 + 0.04, hip, 0.46), foot))
        parts.append(_limb(0.1, (30, 28, 28), foot, (foot[0] + 0.14, foot[1], 0.05)))
        parts.append(
            _limb(
                0.1,
                coat,
                (0, side * 0.22, 1.36),
                (-lean * 0.6, side * 0.27, 1.08),
                (-lean + 0.06, side * 0.25, 0.86),
            )
        )
        parts.append(Ball((-lean + 0.06, side * 0.25, 0.82), 0.05, skin))
        parts.append(_limb(0.25, coat, (0, side * 0.09, 0.92), (0, side * 0.1, 1.34)))
    parts.append(_limb(0.12, skin, (0, 0, 1.38), (0, 0, 1.5)))
    parts.append(Ball((0.01, 0, 1.58), 0.11, skin))
    parts.append(Ball((-0.03, 0, 1.61), 0.115, hair))
    if bag:
        parts += box((-0.28, -0.12), (-0.15, 0.15), (0.98, 1.34), (90, 60, 50))
    return [_scaled(part, unit) for part in parts]


def _scaled(part: Part, unit: float) -> Part:
    if isinstance(part, Stroke):
        return Stroke(part.points * unit, part.width * unit, part.colour)
    if isinstance(part, Ball):
        u, v, w = part.middle
        return Ball((u * unit, v * unit, w * unit), part.radius * unit, part.colour)
    return part


def rider(clothes: Clothes, seat: float, *, helmet: bool) -> list[Part]:
    """A person who sits on two wheels, hands forward."""
    coat, trousers, skin, hair = clothes
    parts: list[Part] = []
    for side in (-1, 1):
        foot = (0.28, side * 0.13, 0.3)
        parts.append(_limb(0.14, trousers, (-0.22, side * 0.1, seat), (0.2, side * 0.16, seat - 0.05), foot))
        parts.append(_limb(0.09, (30, 28, 28), foot, (0.42, side * 0.13, 0.28)))
        parts.append(
            _limb(
                0.1,
                coat,
                (-0.06, side * 0.2, seat + 0.5),
                (0.2, side * 0.27, seat + 0.3),
                (0.42, side * 0.25, seat + 0.22),
            )
        )
        parts.append(_limb(0.23, coat, (-0.22, side * 0.08, seat + 0.08), (-0.06, side * 0.1, seat + 0.48)))
    parts.append(_limb(0.11, skin, (-0.04, 0, seat + 0.52), (0.0, 0, seat + 0.66)))
    parts.append(Ball((0.03, 0, seat + 0.74), 0.105, skin))
    parts.append(Ball((-0.01, 0, seat + 0.78), 0.13 if helmet else 0.11, (190, 60, 50) if helmet else hair))
    return parts


def _wheel(u: float, radius: float, corners: int = 24) -> Solid:
    ring = circle(u, radius, radius, corners=corners)
    return np.column_stack([ring[:, 0], np.zeros(len(ring)), ring[:, 1]])


def bicycle(rng: np.random.Generator) -> tuple[list[Part], float, float]:
    """A bicycle; its outline holds the wheels with their spokes."""
    paints: tuple[Colour, ...] = ((230, 120, 30), (236, 196, 40), (60, 140, 200), (40, 42, 46), (190, 40, 40))
    paint = paints[rng.integers(5)]
    parts: list[Part] = []
    for u in (-0.52, 0.52):
        ring = _wheel(u, 0.33)
        parts.append(Outline(ring * (1, 1, 1)))
        parts.append(Stroke(np.concatenate([ring, ring[:1]]), 0.05, (32, 32, 34)))
        parts += [
            Stroke(np.array([ring[spoke], ring[spoke + 12]]), 0.008, (150, 150, 150))
            for spoke in range(0, 12, 3)
        ]
        side = np.array([(u, -0.03, 0.02), (u, -0.03, 0.64), (u, 0.03, 0.64), (u, 0.03, 0.02)])
        parts.append(Outline(side))
    frame = [(-0.52, 0.33), (-0.12, 0.3), (0.34, 0.78), (-0.2, 0.74), (-0.12, 0.3)]
    parts.append(Stroke(np.array([(u, 0.0, w) for u, w in frame]), 0.05, paint))
    parts.append(Stroke(np.array([(-0.52, 0.0, 0.33), (-0.2, 0.0, 0.74), (-0.23, 0.0, 0.9)]), 0.04, paint))
    parts.append(Stroke(np.array([(0.52, 0.0, 0.33), (0.36, 0.0, 0.86), (0.34, 0.0, 1.0)]), 0.04, paint))
    parts.append(
        Stroke(np.array([(0.34, -0.27, 1.02), (0.36, 0.0, 1.0), (0.34, 0.27, 1.02)]), 0.035, (40, 40, 42))
    )
    parts.append(Stroke(np.array([(-0.34, 0.0, 0.93), (-0.1, 0.0, 0.93)]), 0.11, (30, 30, 32)))
    parts.append(Stroke(np.array([(-0.12, -0.16, 0.3), (-0.12, 0.16, 0.3)]), 0.04, (60, 60, 62)))
    if rng.random() < 0.6:
        parts += box((0.44, 0.7), (-0.16, 0.16), (0.74, 0.95), (70, 70, 74))
    return parts, 1.75, 0.55


def motorcycle(rng: np.random.Generator) -> tuple[list[Part], float, float]:
    """A scooter or a light motorcycle."""
    paints: tuple[Colour, ...] = ((176, 36, 40), (40, 84, 160), (34, 36, 40), (220, 220, 216), (216, 140, 40))
    paint = paints[rng.integers(5)]
    parts: list[Part] = []
    for u in (-0.62, 0.62):
        wheel = [(x, y, 0.06) for x, y in circle(u, 0.27, 0.27, corners=16)[::-1].tolist()]
        parts += extruded(wheel, [(28, 28, 30)] * 16, (70, 70, 74))
    parts += box((-0.8, 0.1), (-0.15, 0.15), (0.34, 0.74), paint)
    parts += box((-0.75, 0.15), (-0.14, 0.14), (0.74, 0.84), (28, 28, 30))
    parts += box((0.05, 0.5), (-0.15, 0.15), (0.24, 0.34), (60, 60, 64))
    parts += box((0.42, 0.58), (-0.19, 0.19), (0.3, 0.98), paint)
    parts.append(
        Stroke(np.array([(0.44, -0.33, 1.04), (0.46, 0.0, 1.0), (0.44, 0.33, 1.04)]), 0.06, (36, 36, 38))
    )
    parts.append(Ball((-0.82, 0.0, 0.62), 0.06, (196, 28, 30)))
    parts.append(Ball((0.6, 0.0, 0.86), 0.09, (236, 236, 226)))
    for side in (-1, 1):
        parts.append(Ball((0.46, side * 0.28, 1.14), 0.05, (50, 50, 54)))
    if rng.random() < 0.35:
        parts += box((-1.05, -0.62), (-0.2, 0.2), (0.8, 1.15), (60, 120, 180))
    return parts, 1.85, 0.66
