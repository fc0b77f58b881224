"""Round faces with expressions, and animals' heads."""

from __future__ import annotations

import numpy as np

from segjudge.data.paint import Colour, Pen, circle, smooth

__all__ = ["ANIMALS", "face"]

YELLOW: Colour = (255, 204, 58)
RIM: Colour = (224, 150, 30)
DARK: Colour = (82, 50, 24)
WHITE: Colour = (255, 255, 255)
RED: Colour = (222, 46, 62)
BLUE: Colour = (92, 178, 240)
BLACK: Colour = (34, 32, 38)


def face(pen: Pen, rng: np.random.Generator) -> None:
    """A yellow (rarely another) face: eyes and a mouth drawn from all that go together."""
    skins = [
        (YELLOW, RIM),
        (YELLOW, RIM),
        (YELLOW, RIM),
        ((240, 92, 70), (180, 44, 40)),
        ((126, 196, 92), (70, 140, 50)),
    ]
    skin, rim = skins[rng.integers(len(skins))]
    pen.ellipse(0, 0, 1, 1, rim)
    pen.ellipse(0, -0.01, 0.95, 0.95, skin)
    if rng.random() < 0.4:
        for side in (-1, 1):
            pen.gloss(circle(side * 0.62, 0.22, 0.2, 0.13), (255, 90, 90), 110)
    _eyes(pen, rng)
    _mouth(pen, rng)
    if rng.random() < 0.12:
        pen.blob([(-0.62, -0.1), (-0.5, 0.12), (-0.55, 0.42), (-0.7, 0.42), (-0.74, 0.12)], BLUE)


def _eyes(pen: Pen, rng: np.random.Generator) -> None:
    kind = rng.integers(7)
    for side in (-1, 1):
        x = 0.36 * side
        if kind == 0 or (kind == 1 and side < 0):
            pen.ellipse(x, -0.2, 0.11, 0.17, DARK)
        elif kind == 1:
            pen.stroke([(x - 0.17, -0.2), (x, -0.27), (x + 0.17, -0.17)], 0.08, DARK)
        elif kind == 2:
            pen.stroke([(x - 0.18, -0.12), (x, -0.3), (x + 0.18, -0.12)], 0.08, DARK)
        elif kind == 3:
            pen.shape(heart_outline() * 0.27 + (x, -0.2), RED)
        elif kind == 4:
            pen.ellipse(x, -0.2, 0.25, 0.27, WHITE)
            pen.ellipse(x + 0.05, -0.16, 0.1, 0.12, DARK)
        elif kind == 5:
            pen.blob([(x - 0.3, -0.32), (x + 0.3, -0.32), (x + 0.24, -0.02), (x - 0.22, -0.02)], BLACK)
            pen.gloss(circle(x - 0.08, -0.22, 0.12, 0.05, -0.6), WHITE, 110)
        else:
            pen.ellipse(x, -0.17, 0.1, 0.13, DARK)
            pen.stroke([(x - 0.2 * side, -0.36), (x + 0.16 * side, -0.48)], 0.08, DARK)
    if kind == 5:
        pen.stroke([(-0.85, -0.3), (0.85, -0.3)], 0.08, BLACK)


def _mouth(pen: Pen, rng: np.random.Generator) -> None:
    kind = rng.integers(7)
    if kind == 0:
        pen.stroke([(-0.45, 0.26), (-0.2, 0.48), (0.2, 0.48), (0.45, 0.26)], 0.09, DARK)
    elif kind == 1:
        pen.stroke([(-0.36, 0.56), (0, 0.36), (0.36, 0.56)], 0.09, DARK)
    elif kind == 2:
        pen.ellipse(0, 0.48, 0.17, 0.22, DARK)
    elif kind == 3:
        pen.stroke([(-0.34, 0.44), (0.34, 0.44)], 0.09, DARK)
    else:
        outline = smooth(
            np.array([(-0.56, 0.16), (0.0, 0.22), (0.56, 0.16), (0.4, 0.58), (0.0, 0.72), (-0.4, 0.58)])
        )
        pen.shape(outline, (112, 30, 24))
        pen.shape([(-0.46, 0.19), (0.46, 0.19), (0.4, 0.3), (-0.4, 0.3)], WHITE)
        if kind == 5:
            pen.blob([(-0.2, 0.5), (0.2, 0.5), (0.22, 0.8), (0.0, 0.94), (-0.22, 0.8)], (240, 96, 116))
        else:
            pen.ellipse(0, 0.6, 0.26, 0.1, (240, 96, 116), body=False)


def heart_outline() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The corners of a heart."""
    turn = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    x = 16 * np.sin(turn) ** 3
    y = -(13 * np.cos(turn) - 5 * np.cos(2 * turn) - 2 * np.cos(3 * turn) - np.cos(4 * turn))
    return np.column_stack([x, y + 2.5]) / 16


def _looking(pen: Pen, y: float, gap: float, size: float) -> None:
    for side in (-1, 1):
        pen.ellipse(side * gap, y, size, size * 1.25, BLACK)
        pen.ellipse(side * gap + size * 0.3, y - size * 0.4, size * 0.35, size * 0.35, WHITE, body=False)


def cat(pen: Pen, rng: np.random.Generator) -> None:
    """A cat, or with rounder ears and another coat a fox."""
    coats: list[tuple[Colour, Colour]] = [
        ((247, 176, 62), (206, 128, 28)), ((150, 152, 160), (104, 106, 116)), ((226, 112, 46), (170, 74, 24)),
    ]  # fmt: skip
    coat, rim = coats[rng.integers(len(coats))]
    for side in (-1, 1):
        pen.blob([(side * 0.9, -0.98), (side * 0.92, -0.1), (side * 0.2, -0.6)], rim)
        pen.blob([(side * 0.8, -0.78), (side * 0.8, -0.2), (side * 0.38, -0.56)], (244, 168, 168))
    pen.ellipse(0, 0.08, 1, 0.84, rim)
    pen.ellipse(0, 0.07, 0.95, 0.79, coat)
    pen.gloss(circle(0, 0.5, 0.5, 0.34), WHITE, 190)
    _looking(pen, -0.05, 0.4, 0.13)
    pen.blob([(-0.12, 0.25), (0.12, 0.25), (0, 0.4)], (226, 92, 108))
    pen.stroke([(-0.24, 0.5), (-0.1, 0.56), (0, 0.42), (0.1, 0.56), (0.24, 0.5)], 0.05, DARK)
    for side in (-1, 1):
        for rise in (-0.02, 0.14):
            pen.stroke([(side * 0.5, 0.4 + rise / 2), (side * 1.12, 0.3 + rise * 2)], 0.04, rim, body=True)


def bear(pen: Pen, rng: np.random.Generator) -> None:
    """A bear, or a panda."""
    panda = rng.random() < 0.5
    coat: Colour = (240, 240, 242) if panda else (168, 108, 62)
    rim: Colour = (178, 180, 188) if panda else (124, 74, 38)
    ear: Colour = (44, 42, 48) if panda else rim
    for side in (-1, 1):
        pen.ellipse(side * 0.7, -0.68, 0.34, 0.34, ear)
        pen.ellipse(side * 0.68, -0.66, 0.18, 0.18, (96, 80, 80) if panda else (220, 160, 110))
    pen.ellipse(0, 0.08, 0.98, 0.88, rim)
    pen.ellipse(0, 0.07, 0.93, 0.83, coat)
    for side in (-1, 1):
        if panda:
            pen.ellipse(side * 0.4, -0.02, 0.22, 0.27, (44, 42, 48), angle=side * 0.5)
    pen.ellipse(0, 0.44, 0.4, 0.32, (255, 255, 255) if panda else (232, 190, 140))
    for side in (-1, 1):
        pen.ellipse(side * 0.37, -0.04, 0.09, 0.11, WHITE if panda else BLACK)
    pen.ellipse(0, 0.3, 0.17, 0.12, BLACK)
    pen.stroke([(-0.16, 0.54), (0, 0.6), (0.16, 0.54)], 0.06, BLACK)


def frog(pen: Pen, _rng: np.random.Generator) -> None:
    """A frog."""
    rim, skin = (62, 128, 46), (110, 186, 74)
    for side in (-1, 1):
        pen.ellipse(side * 0.56, -0.58, 0.36, 0.36, rim)
        pen.ellipse(side * 0.56, -0.58, 0.24, 0.24, WHITE)
        pen.ellipse(side * 0.56, -0.56, 0.13, 0.15, BLACK)
    pen.ellipse(0, 0.16, 1.02, 0.76, rim)
    pen.ellipse(0, 0.15, 0.97, 0.71, skin)
    pen.stroke([(-0.72, 0.14), (-0.3, 0.44), (0.3, 0.44), (0.72, 0.14)], 0.08, (40, 84, 30))
    for side in (-1, 1):
        pen.ellipse(side * 0.1, 0.02, 0.04, 0.04, rim)


def pig(pen: Pen, _rng: np.random.Generator) -> None:
    """A pig."""
    rim, skin = (222, 122, 142), (250, 172, 186)
    for side in (-1, 1):
        pen.blob([(side * 0.95, -0.82), (side * 0.86, -0.2), (side * 0.3, -0.66)], rim)
    pen.ellipse(0, 0.05, 0.98, 0.9, rim)
    pen.ellipse(0, 0.04, 0.93, 0.85, skin)
    _looking(pen, -0.14, 0.4, 0.1)
    pen.ellipse(0, 0.28, 0.38, 0.28, rim)
    for side in (-1, 1):
        pen.ellipse(side * 0.14, 0.28, 0.08, 0.13, (150, 62, 84))
    pen.stroke([(-0.3, 0.66), (0, 0.74), (0.3, 0.66)], 0.06, (150, 62, 84))


def chick(pen: Pen, _rng: np.random.Generator) -> None:
    """A chick, seen from the front."""
    for lean in (-0.2, 0.0, 0.2):
        pen.stroke([(0, -0.8), (lean, -1.08)], 0.1, (250, 176, 40), body=True)
    pen.blob(
        [
            (0, -0.95),
            (0.62, -0.62),
            (0.92, 0.2),
            (0.6, 0.86),
            (0, 1),
            (-0.6, 0.86),
            (-0.92, 0.2),
            (-0.62, -0.62),
        ],
        RIM,
    )
    pen.blob(
        [
            (0, -0.9),
            (0.58, -0.58),
            (0.87, 0.2),
            (0.56, 0.82),
            (0, 0.95),
            (-0.56, 0.82),
            (-0.87, 0.2),
            (-0.58, -0.58),
        ],
        (255, 222, 92),
    )
    for side in (-1, 1):
        pen.blob([(side * 0.66, 0.12), (side * 0.98, 0.5), (side * 0.62, 0.66)], (248, 190, 50))
    _looking(pen, -0.26, 0.34, 0.11)
    pen.blob([(-0.2, -0.02), (0, -0.14), (0.2, -0.02), (0, 0.2)], (242, 128, 32))


ANIMALS = (cat, bear, frog, pig, chick)
