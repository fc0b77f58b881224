"""Fruit, plants, weather and whatever else an emoji may show."""

from __future__ import annotations

import numpy as np

from segjudge.data.emoji.faces import heart_outline
from segjudge.data.paint import Colour, Pen, circle, smooth

__all__ = ["THINGS"]

WHITE: Colour = (255, 255, 255)
LEAF: Colour = (98, 172, 62)
STEM: Colour = (120, 78, 40)


def _darker(colour: Colour, share: float = 0.75) -> Colour:
    red, green, blue = (round(part * share) for part in colour)
    return red, green, blue


def heart(pen: Pen, rng: np.random.Generator) -> None:
    """A heart of any colour."""
    colours: list[Colour] = [
        (222, 38, 60),
        (222, 38, 60),
        (250, 130, 180),
        (64, 140, 226),
        (120, 186, 80),
        (160, 110, 210),
    ]
    colour = colours[rng.integers(len(colours))]
    pen.shape(heart_outline(), _darker(colour))
    pen.shape(heart_outline() * 0.94, colour)
    pen.gloss(circle(-0.5, -0.42, 0.24, 0.13, -0.7), WHITE, 130)


def star(pen: Pen, rng: np.random.Generator) -> None:
    """A star with rounded tips."""
    turn = np.arange(10) * np.pi / 5 - np.pi / 2
    reach = np.where(np.arange(10) % 2, 0.48 + 0.08 * rng.random(), 1.05)
    corners = np.column_stack([np.cos(turn) * reach, np.sin(turn) * reach])
    pen.shape(smooth(np.repeat(corners, 2, axis=0), steps=4), (230, 150, 24))
    pen.shape(smooth(np.repeat(corners * 0.92, 2, axis=0), steps=4), (255, 202, 50))
    pen.gloss(corners[[9, 0, 1]] * 0.7, WHITE, 90)


def sun(pen: Pen, rng: np.random.Generator) -> None:
    """A sun with rays."""
    rays = int(rng.integers(8, 13))
    for ray in range(rays):
        turn = ray * 2 * np.pi / rays
        tip = np.array([np.cos(turn), np.sin(turn)])
        side = np.array([-tip[1], tip[0]]) * 0.15
        pen.shape(np.array([tip * 0.66 + side, tip * 1.1, tip * 0.66 - side]), (250, 160, 30))
    pen.ellipse(0, 0, 0.72, 0.72, (250, 160, 30))
    pen.ellipse(0, 0, 0.66, 0.66, (255, 208, 60))


def moon(pen: Pen, _rng: np.random.Generator) -> None:
    """A crescent."""
    outer = np.linspace(0.6, 2 * np.pi - 0.6, 40)
    inner = outer[::-1]
    for grow, colour in ((1.0, (226, 150, 40)), (0.94, (255, 210, 80))):
        far = np.column_stack([np.cos(outer), np.sin(outer)]) * grow
        near = np.column_stack([np.cos(inner) * 0.72 * grow + 0.32, np.sin(inner) * 0.78 * grow])
        pen.shape(np.concatenate([far, near]), (colour[0], colour[1], colour[2]))


def cloud(pen: Pen, rng: np.random.Generator) -> None:
    """A cloud, perhaps with lightning or rain."""
    weather = rng.integers(3)
    if weather == 1:
        pen.shape(
            [(0.1, 0.2), (0.4, 0.2), (0.16, 0.56), (0.4, 0.56), (-0.12, 1.1), (0.02, 0.7), (-0.2, 0.7)],
            (255, 190, 30),
        )
    if weather == 2:
        for x in (-0.5, 0.0, 0.5):
            pen.blob([(x + 0.1, 0.55), (x + 0.13, 0.95), (x - 0.02, 1.02), (x - 0.1, 0.88)], (74, 150, 230))
    bumps = [
        (-0.58, 0.16, 0.42),
        (-0.18, -0.22, 0.52),
        (0.36, -0.12, 0.46),
        (0.66, 0.2, 0.38),
        (0.0, 0.22, 0.42),
    ]
    for grow, colour in ((0.06, (150, 178, 204)), (0.0, (232, 242, 250))):
        for x, y, radius in bumps:
            pen.ellipse(x, y, radius + grow, radius + grow, (colour[0], colour[1], colour[2]))


def apple(pen: Pen, rng: np.random.Generator) -> None:
    """An apple, red or green."""
    skins: list[Colour] = [(220, 44, 46), (136, 190, 60)]
    skin = skins[rng.integers(2)]
    outline = np.array(
        [
            (0, -0.5),
            (0.5, -0.66),
            (0.96, -0.2),
            (0.8, 0.6),
            (0.34, 0.98),
            (0, 0.86),
            (-0.34, 0.98),
            (-0.8, 0.6),
            (-0.96, -0.2),
            (-0.5, -0.66),
        ]
    )
    pen.stroke([(0, -0.45), (0.04, -0.8), (0.16, -1.05)], 0.11, STEM, body=True)
    pen.blob([(0.1, -0.72), (0.4, -1.06), (0.8, -1.0), (0.5, -0.72)], LEAF)
    pen.shape(smooth(outline), _darker(skin))
    pen.shape(smooth(outline * 0.94 + (0, 0.01)), skin)
    pen.gloss(circle(-0.5, -0.22, 0.16, 0.28, 0.4), WHITE, 110)


def cherries(pen: Pen, _rng: np.random.Generator) -> None:
    """Two cherries on their stems."""
    pen.stroke([(-0.45, 0.4), (-0.3, -0.3), (0.25, -0.95)], 0.09, (92, 130, 40), body=True)
    pen.stroke([(0.55, 0.3), (0.5, -0.4), (0.25, -0.95)], 0.09, (92, 130, 40), body=True)
    pen.blob([(0.22, -0.95), (-0.2, -1.1), (-0.72, -0.8), (-0.25, -0.66)], LEAF)
    for x, y in ((-0.48, 0.5), (0.52, 0.44)):
        pen.ellipse(x, y, 0.48, 0.46, (140, 14, 34))
        pen.ellipse(x, y, 0.43, 0.41, (212, 32, 54))
        pen.gloss(circle(x - 0.15, y - 0.15, 0.12, 0.08, -0.7), WHITE, 150)


def strawberry(pen: Pen, _rng: np.random.Generator) -> None:
    """A strawberry with its seeds."""
    outline = np.array(
        [
            (0, -0.62),
            (0.6, -0.68),
            (0.9, -0.24),
            (0.56, 0.56),
            (0, 1.04),
            (-0.56, 0.56),
            (-0.9, -0.24),
            (-0.6, -0.68),
        ]
    )
    pen.shape(smooth(outline), (170, 20, 40))
    pen.shape(smooth(outline * 0.94), (230, 50, 66))
    for x, y in ((-0.5, -0.2), (0, -0.22), (0.5, -0.2), (-0.28, 0.14), (0.28, 0.14), (0, 0.46), (-0.1, 0.76)):
        pen.ellipse(x, y, 0.05, 0.08, (255, 220, 120), body=False)
    for lean in (-0.75, -0.35, 0.0, 0.35, 0.75):
        pen.blob(
            [(lean * 0.3 - 0.12, -0.72), (lean * 0.3 + 0.12, -0.72), (lean, -0.4 - 0.12 * abs(lean))],
            (80, 156, 54),
        )
    pen.stroke([(0, -0.7), (0.05, -1.02)], 0.12, (80, 140, 50), body=True)


def orange(pen: Pen, _rng: np.random.Generator) -> None:
    """An orange with a leaf."""
    pen.ellipse(0, 0.06, 0.94, 0.9, (216, 112, 18))
    pen.ellipse(0, 0.05, 0.89, 0.85, (250, 152, 38))
    for x, y in ((0.3, 0.4), (0.5, 0.1), (0.12, 0.62), (-0.2, 0.5), (0.4, -0.2)):
        pen.ellipse(x, y, 0.03, 0.03, (216, 112, 18), body=False)
    pen.blob([(0, -0.72), (0.3, -1.08), (0.78, -0.96), (0.46, -0.68)], LEAF)
    pen.gloss(circle(-0.42, -0.34, 0.2, 0.13, -0.7), WHITE, 130)


def melon(pen: Pen, _rng: np.random.Generator) -> None:
    """A slice of watermelon."""
    turn = np.linspace(0, np.pi, 30)
    arc = np.column_stack([np.cos(turn), np.sin(turn)]) * 1.05 + (0, -0.42)
    pen.shape(arc, (46, 122, 52))
    pen.shape((arc - (0, -0.42)) * 0.9 + (0, -0.42), (206, 232, 160))
    pen.shape((arc - (0, -0.42)) * 0.82 + (0, -0.42), (236, 66, 76))
    for x, y in ((-0.45, -0.18), (0, -0.2), (0.45, -0.18), (-0.22, 0.08), (0.22, 0.08)):
        pen.ellipse(x, y, 0.05, 0.08, (50, 28, 28), body=False)


def mushroom(pen: Pen, _rng: np.random.Generator) -> None:
    """A toadstool."""
    pen.blob([(-0.34, 0.0), (0.34, 0.0), (0.42, 0.8), (0.2, 1.0), (-0.2, 1.0), (-0.42, 0.8)], (238, 222, 196))
    pen.blob([(-1.02, 0.1), (-0.8, -0.52), (0, -0.98), (0.8, -0.52), (1.02, 0.1), (0, 0.26)], (150, 22, 30))
    pen.blob(
        [(-0.96, 0.06), (-0.76, -0.48), (0, -0.92), (0.76, -0.48), (0.96, 0.06), (0, 0.2)], (222, 48, 48)
    )
    for x, y, radius in ((0, -0.5, 0.2), (-0.52, -0.2, 0.16), (0.52, -0.18, 0.17), (0.02, -0.02, 0.12)):
        pen.ellipse(x, y, radius, radius * 0.85, WHITE, body=False)


def flower(pen: Pen, rng: np.random.Generator) -> None:
    """A blossom of five to eight petals."""
    petals = int(rng.integers(5, 9))
    colours: list[Colour] = [(246, 132, 178), (250, 250, 250), (250, 200, 60), (150, 120, 220), (240, 96, 84)]
    colour = colours[rng.integers(len(colours))]
    for grow, tone in ((0.05, _darker(colour)), (0.0, colour)):
        for petal in range(petals):
            turn = petal * 2 * np.pi / petals
            pen.ellipse(0.6 * np.cos(turn), 0.6 * np.sin(turn), 0.42 + grow, 0.26 + grow, tone, angle=turn)
    pen.ellipse(0, 0, 0.34, 0.34, (220, 140, 30))
    pen.ellipse(0, 0, 0.29, 0.29, (252, 190, 50))


def fish(pen: Pen, rng: np.random.Generator) -> None:
    """A fish, swimming to the left."""
    skins: list[Colour] = [(70, 150, 222), (250, 140, 50), (120, 190, 170)]
    skin = skins[rng.integers(len(skins))]
    pen.blob([(0.55, 0.0), (1.1, -0.5), (0.98, 0.0), (1.1, 0.5)], _darker(skin, 0.85))
    pen.blob([(-0.1, -0.45), (0.25, -0.86), (0.5, -0.3)], _darker(skin, 0.85))
    pen.blob(
        [(-1.05, 0.05), (-0.55, -0.5), (0.1, -0.55), (0.72, 0.0), (0.1, 0.58), (-0.55, 0.52)], _darker(skin)
    )
    pen.blob([(-1.0, 0.05), (-0.53, -0.45), (0.1, -0.5), (0.66, 0.0), (0.1, 0.53), (-0.53, 0.47)], skin)
    pen.gloss(smooth(np.array([(-0.9, 0.2), (0.5, 0.12), (0.1, 0.5), (-0.5, 0.44)])), WHITE, 130)
    pen.ellipse(-0.6, -0.12, 0.15, 0.15, WHITE)
    pen.ellipse(-0.63, -0.11, 0.08, 0.08, (30, 30, 36))
    pen.stroke([(-0.28, -0.3), (-0.18, 0.05), (-0.28, 0.35)], 0.05, _darker(skin, 0.6))


def tree(pen: Pen, rng: np.random.Generator) -> None:
    """A fir, or a tree with a round crown."""
    pen.shape([(-0.14, 0.4), (0.14, 0.4), (0.18, 1.05), (-0.18, 1.05)], STEM)
    if rng.random() < 0.5:
        for top, low, half in ((-0.2, 0.72, 0.86), (-0.62, 0.3, 0.7), (-1.06, -0.2, 0.5)):
            pen.shape([(0, top), (half, low), (-half, low)], (36, 104, 56))
            pen.shape([(0, top + 0.08), (half * 0.88, low - 0.05), (-half * 0.88, low - 0.05)], (60, 146, 76))
    else:
        for grow, colour in ((0.05, (60, 124, 44)), (0.0, (112, 178, 72))):
            for x, y, radius in ((-0.44, 0.06, 0.46), (0.44, 0.06, 0.46), (0, -0.4, 0.58), (0, 0.16, 0.46)):
                pen.ellipse(x, y, radius + grow, radius + grow, (colour[0], colour[1], colour[2]))


def ball(pen: Pen, rng: np.random.Generator) -> None:
    """A football or a basketball."""
    if rng.random() < 0.5:
        pen.ellipse(0, 0, 1, 1, (60, 60, 68))
        pen.ellipse(0, 0, 0.95, 0.95, (244, 244, 246))
        for turn in np.arange(5) * 2 * np.pi / 5 - np.pi / 2:
            tip = np.array([np.cos(turn), np.sin(turn)])
            pen.stroke([tuple(tip * 0.3), tuple(tip * 0.7)], 0.05, (50, 50, 56))
            pen.ellipse(tip[0] * 0.82, tip[1] * 0.82, 0.13, 0.22, (50, 50, 56), angle=turn, body=False)
        pen.ellipse(0, 0, 0.33, 0.33, (50, 50, 56))
    else:
        pen.ellipse(0, 0, 1, 1, (150, 72, 20))
        pen.ellipse(0, 0, 0.95, 0.95, (240, 132, 52))
        for line in (
            [(-0.95, 0), (0.95, 0)],
            [(0, -0.95), (0, 0.95)],
            [(-0.6, -0.72), (-0.3, 0), (-0.6, 0.72)],
            [(0.6, -0.72), (0.3, 0), (0.6, 0.72)],
        ):
            pen.stroke(line, 0.06, (100, 46, 16))


def gift(pen: Pen, rng: np.random.Generator) -> None:
    """A wrapped box with a bow."""
    papers: list[tuple[Colour, Colour]] = [
        ((224, 60, 70), (252, 204, 70)),
        ((70, 130, 214), (250, 250, 250)),
        ((150, 96, 190), (250, 170, 200)),
    ]
    paper, ribbon = papers[rng.integers(len(papers))]
    pen.blob([(0, -0.55), (-0.55, -1.08), (-0.72, -0.62)], _darker(ribbon, 0.85))
    pen.blob([(0, -0.55), (0.55, -1.08), (0.72, -0.62)], _darker(ribbon, 0.85))
    pen.shape([(-0.86, -0.1), (0.86, -0.1), (0.86, 0.98), (-0.86, 0.98)], paper)
    pen.shape([(-0.98, -0.56), (0.98, -0.56), (0.98, -0.1), (-0.98, -0.1)], _darker(paper, 0.88))
    pen.shape([(-0.16, -0.56), (0.16, -0.56), (0.16, 0.98), (-0.16, 0.98)], ribbon)


THINGS = (
    heart, star, sun, moon, cloud, apple, cherries, strawberry, orange, melon, mushroom, flower, fish, tree, ball, gift,
)  # fmt: skip
