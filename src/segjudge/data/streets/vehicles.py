"""Cars, buses, trucks and tricycles as solid parts, each from a few random choices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segjudge.data.paint import Colour, circle
from segjudge.data.streets.camera import Part, box, extruded

if TYPE_CHECKING:
    from segjudge.data.streets.camera import Solid

__all__ = ["bus", "car", "tricycle", "truck"]

GLASS: Colour = (48, 58, 68)
TYRE: Colour = (26, 26, 28)
RIM: Colour = (150, 152, 156)
LAMP: Colour = (236, 236, 226)
TAIL: Colour = (190, 24, 28)
PLATE: Colour = (40, 84, 170)
_CAR_COLOURS: tuple[Colour, ...] = (
    (232, 234, 236), (228, 230, 232), (188, 192, 196), (36, 38, 42), (30, 30, 34), (96, 100, 106),
    (150, 26, 30), (28, 60, 128), (176, 160, 120), (210, 176, 40), (48, 96, 70),
)  # fmt: skip

# Profiles of (u, w) from the rear's foot forward, in metres, and which corners the glass starts at.
_SEDAN = (
    (-2.3, 0.3),
    (-2.3, 0.95),
    (-1.65, 1.02),
    (-1.05, 1.44),
    (0.45, 1.46),
    (1.2, 1.0),
    (2.2, 0.82),
    (2.3, 0.3),
)
_HATCH = (
    (-1.9, 0.3),
    (-1.95, 0.95),
    (-1.9, 1.0),
    (-1.55, 1.48),
    (0.4, 1.52),
    (1.15, 1.04),
    (1.85, 0.86),
    (1.95, 0.3),
)
_SUV = (
    (-2.2, 0.4),
    (-2.25, 1.05),
    (-2.2, 1.1),
    (-1.9, 1.7),
    (0.4, 1.74),
    (1.1, 1.15),
    (2.15, 1.02),
    (2.25, 0.4),
)
_VAN = (
    (-2.3, 0.35),
    (-2.35, 1.0),
    (-2.33, 1.1),
    (-2.25, 1.9),
    (1.1, 1.92),
    (1.85, 1.15),
    (2.3, 1.0),
    (2.35, 0.35),
)


def _wheels(places: tuple[float, ...], radius: float) -> list[tuple[list[tuple[float, float]], Colour]]:
    marks = []
    for u in places:
        for reach, colour in ((radius, TYRE), (radius * 0.62, RIM), (radius * 0.2, TYRE)):
            marks.append(([(x, y) for x, y in circle(u, radius, reach, corners=20).tolist()], colour))
    return marks


def _plane(u: float, v: tuple[float, float], w: tuple[float, float]) -> Solid:
    """A rectangle across the thing's length."""
    return np.array([(u, v[0], w[0]), (u, v[0], w[1]), (u, v[1], w[1]), (u, v[1], w[0])])


def _end(u: float, half: float, low: float, belt: float, lamp: Colour) -> list[tuple[Solid, Colour]]:
    """What is on a vehicle's front or rear: tyres below, bumper, plate, lamps."""
    marks = [
        (_plane(u, (side * half * 0.95, side * half * 0.66), (0.13, low + 0.1)), TYRE) for side in (-1, 1)
    ]
    marks.append((_plane(u, (-half, half), (low, low + 0.2)), (58, 58, 62)))
    marks.append((_plane(u, (-0.24, 0.24), (low + 0.22, low + 0.36)), PLATE))
    tall = (belt - low) * 0.3
    marks += [
        (_plane(u, (side * half, side * half * 0.58), (belt - tall - 0.06, belt - 0.06)), lamp)
        for side in (-1, 1)
    ]
    return marks


def car(rng: np.random.Generator) -> tuple[list[Part], float, float]:
    """A car's parts, its length and its width."""
    body = (_SEDAN, _SEDAN, _HATCH, _SUV, _SUV, _VAN)[rng.integers(6)]
    paint = _CAR_COLOURS[rng.integers(len(_CAR_COLOURS))]
    belt, roof, half = body[1][1], body[4][1], 0.84 + 0.06 * rng.random()
    profile = [(u, w, half - 0.16 * max(0.0, w - belt) / (roof - belt)) for u, w in body]
    colours = [paint, paint, GLASS, paint, GLASS, paint, paint, (20, 20, 22)]
    low = body[0][1]
    inset = 0.09
    middle = (body[3][0] + body[4][0]) / 2
    sill, brow = belt + inset, roof - inset
    windows = [
        [(body[2][0] + 0.3, sill), (body[3][0] + 0.1, brow), (middle - 0.05, brow), (middle - 0.05, sill)],
        [(middle + 0.05, sill), (middle + 0.05, brow), (body[4][0] - 0.05, brow), (body[5][0] - 0.3, sill)],
    ]
    marks: list[tuple[list[tuple[float, float]], Colour]] = [(window, GLASS) for window in windows]
    dark: Colour = (paint[0] * 3 // 5, paint[1] * 3 // 5, paint[2] * 3 // 5)
    marks += [
        ([(u, low), (u, belt), (u + 0.03, belt), (u + 0.03, low)], dark)
        for u in (middle - 0.02, body[4][0] + 0.25)
    ]
    marks += _wheels((body[0][0] + 0.8, body[-1][0] - 0.8), 0.32)
    ends = {0: _end(body[0][0], half, low, belt, TAIL), 6: _end(body[-1][0], half, low, body[6][1], LAMP)}
    grille = _plane(body[-1][0], (-half * 0.5, half * 0.5), (body[6][1] - 0.28, body[6][1] - 0.1))
    ends[6] = [*ends[6], (grille, (30, 30, 32))]
    return extruded(profile, colours, paint, marks, ends), body[-1][0] - body[0][0], 2 * half


def bus(rng: np.random.Generator) -> tuple[list[Part], float, float]:
    """A bus of one or two colours."""
    paints: tuple[Colour, ...] = (
        (200, 40, 40),
        (40, 120, 190),
        (60, 150, 80),
        (230, 230, 226),
        (236, 150, 40),
    )
    paint, lower = paints[rng.integers(5)], paints[rng.integers(5)]
    length, tall, half = float(rng.uniform(8.5, 12)), 3.05, 1.25
    rear, front = -length / 2, length / 2
    profile = [(rear, 0.35, half), (rear, tall, half), (front - 0.1, tall, half), (front, 0.35, half)]
    count = int(length / 1.35)
    step = (length - 0.8) / count
    marks: list[tuple[list[tuple[float, float]], Colour]] = [
        ([(rear, 0.35), (rear, 1.0), (front, 1.0), (front, 0.35)], lower)
    ]
    for number in range(count):
        u = rear + 0.4 + number * step
        marks.append(
            ([(u + 0.05, 1.35), (u + 0.05, 2.45), (u + step - 0.05, 2.45), (u + step - 0.05, 1.35)], GLASS)
        )
    marks += _wheels((rear + 2.4, front - 2.3), 0.5)
    back = [*_end(rear, half, 0.35, 1.3, TAIL), (_plane(rear, (-0.95, 0.95), (1.6, 2.5)), GLASS)]
    face = [
        *_end(front, half, 0.35, 1.15, LAMP),
        (_plane(front, (-1.15, 1.15), (1.25, 2.5)), GLASS),
        (_plane(front, (-0.8, 0.8), (2.62, 2.9)), (36, 34, 20)),
    ]
    return extruded(profile, [paint, paint, paint, TYRE], paint, marks, {0: back, 2: face}), length, 2 * half


def truck(rng: np.random.Generator) -> tuple[list[Part], float, float]:
    """A lorry: a cab, and behind it a closed box or a bed with a load."""
    cabs: tuple[Colour, ...] = ((50, 96, 170), (196, 50, 44), (226, 226, 222), (230, 170, 50))
    loads: tuple[Colour, ...] = (
        (206, 206, 200),
        (160, 164, 170),
        (120, 90, 62),
        (70, 110, 150),
        (236, 236, 232),
    )
    cab, load = cabs[rng.integers(4)], loads[rng.integers(5)]
    length, half = float(rng.uniform(5.5, 9)), float(rng.uniform(0.98, 1.22))
    rear, front = -length / 2, length / 2
    parts: list[Part] = []
    tall = float(rng.uniform(2.5, 3.5)) if rng.random() < 0.7 else float(rng.uniform(1.4, 1.9))
    back = [
        *_end(rear, half, 0.5, 1.05, TAIL),
        (_plane(rear, (-0.03, 0.03), (1.0, tall)), (90, 90, 92)),
    ]
    bed = front - 1.9
    profile = [(rear, 0.8, half), (rear, tall, half), (bed, tall, half), (bed, 0.8, half)]
    dark: Colour = (load[0] * 4 // 5, load[1] * 4 // 5, load[2] * 4 // 5)
    ribs = [
        ([(u, 0.9), (u, tall), (u + 0.06, tall), (u + 0.06, 0.9)], dark)
        for u in np.arange(rear + 0.5, bed, 0.7).tolist()
    ]
    parts += extruded(
        profile, [load, load, load, TYRE], load, [*ribs, *_wheels((rear + 1.1, rear + 2.1), 0.48)], {0: back}
    )
    parts += box((rear, front - 0.2), (-half * 0.8, half * 0.8), (0.45, 0.8), (50, 50, 54))
    cap = float(rng.uniform(2.1, 2.6))
    profile = [
        (bed + 0.1, 0.45, half),
        (bed + 0.1, cap, half),
        (front - 0.25, cap, half),
        (front - 0.05, 1.35, half),
        (front, 0.45, half),
    ]
    window = [(bed + 0.6, 1.35), (bed + 0.6, cap - 0.2), (front - 0.35, cap - 0.2), (front - 0.15, 1.35)]
    face = [*_end(front, half, 0.45, 1.1, LAMP)]
    parts += extruded(
        profile,
        [cab, cab, GLASS, cab, TYRE],
        cab,
        [(window, GLASS), *_wheels((front - 0.9,), 0.48)],
        {3: face},
    )
    return parts, length, 2 * half


def tricycle(rng: np.random.Generator) -> tuple[list[Part], float, float]:
    """A three-wheeler: a closed cabin, or a driver's seat before an open bed."""
    paints: tuple[Colour, ...] = (
        (190, 46, 42),
        (52, 110, 170),
        (74, 140, 84),
        (214, 190, 60),
        (130, 134, 140),
    )
    paint = paints[rng.integers(5)]
    half = 0.58
    if rng.random() < 0.5:
        profile = [
            (-1.35, 0.3, half),
            (-1.35, 1.5, half),
            (-1.2, 1.66, half),
            (0.5, 1.66, half),
            (1.0, 0.95, half * 0.8),
            (1.25, 0.35, half * 0.6),
        ]
        window = [(-1.1, 0.95), (-1.1, 1.5), (0.4, 1.5), (0.75, 0.95)]
        back = [*_end(-1.35, half, 0.3, 0.85, TAIL), (_plane(-1.35, (-0.45, 0.45), (0.95, 1.4)), GLASS)]
        colours = [paint, paint, paint, GLASS, paint, TYRE]
        marks = [(window, GLASS), *_wheels((-0.85, 0.95), 0.26)]
        return extruded(profile, colours, paint, marks, {0: back}), 2.6, 2 * half
    bed = [(-1.45, 0.5, half), (-1.45, 0.95, half), (0.15, 0.95, half), (0.15, 0.5, half)]
    load: Colour = (150, 120, 84) if rng.random() < 0.5 else (96, 120, 100)
    parts = extruded(
        bed,
        [paint, load, paint, TYRE],
        paint,
        _wheels((-0.85,), 0.28),
        {0: _end(-1.45, half, 0.4, 0.9, TAIL)},
    )
    if rng.random() < 0.6:
        parts += box((-1.3, 0.0), (-0.5, 0.5), (0.95, float(rng.uniform(1.2, 1.7))), load)
    wheel = [(u, w, 0.05) for u, w in circle(1.1, 0.28, 0.28, corners=14)[::-1].tolist()]
    parts += extruded(wheel, [TYRE] * 14, RIM)
    parts += box((0.15, 0.75), (-0.18, 0.18), (0.35, 0.75), paint)
    parts += box((0.85, 1.15), (-0.12, 0.12), (0.35, 1.05), paint)
    return parts, 2.8, 2 * half
