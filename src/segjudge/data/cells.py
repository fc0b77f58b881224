"""Nuclei under the microscope: fluorescence, bright field and stained tissue, a mask for each nucleus."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from segjudge.data.paint import Box, Canvas, Painted, Points, Sprite
from segjudge.data.scene import Scene, blurred, clouds, eight_bits, finished
from segjudge.records import dataclass

__all__ = ["cells_scene"]

Floats = NDArray[np.float32]

# Sizes (height, width) and how often they come, as in the competition's training images below 1024 pixels.
_SIZES = ((256, 256), (256, 320), (360, 360), (520, 696))
_SIZE_ODDS = (0.52, 0.18, 0.15, 0.15)
_LEAST = 21  # pixels of the smallest nucleus that counts


@dataclass(frozen=True, slots=True)
class Style:
    """How a kind of picture looks: ground, nucleus and the spread of its brightness, as colours."""

    ground: tuple[float, float, float]
    nucleus: tuple[float, float, float]
    spread: float  # of the nuclei's strength
    tissue: float  # of the ground's texture
    grain: float
    focus: float  # blur in pixels


_FLUORESCENT = Style((12, 12, 12), (150, 150, 150), 0.35, 2.0, 3.0, 0.7)
_FAINT = Style((8, 8, 8), (48, 48, 48), 0.3, 1.5, 1.6, 0.9)
_BRIGHT_FIELD = Style((214, 214, 214), (92, 92, 92), 0.2, 7.0, 3.0, 0.6)
_STAINED = Style((232, 196, 220), (104, 58, 134), 0.18, 15.0, 4.0, 0.6)
_PURPLE = Style((244, 240, 246), (146, 104, 176), 0.18, 6.0, 3.0, 0.8)
_STYLES = (_FLUORESCENT, _FAINT, _BRIGHT_FIELD, _STAINED, _PURPLE)
_STYLE_ODDS = (0.6, 0.16, 0.06, 0.12, 0.06)


@dataclass(frozen=True, slots=True)
class Nucleus:
    """A star-shaped outline around a centre: reach by direction, in pixels."""

    x: float
    y: float
    reach: NDArray[np.float64]  # (K,) at K equal steps of direction

    def outline(self) -> Points:
        """The outline's corners."""
        turn = np.arange(len(self.reach)) * (2 * np.pi / len(self.reach))
        return np.column_stack([self.x + self.reach * np.cos(turn), self.y + self.reach * np.sin(turn)])

    def depth(self, box: Box) -> Floats:
        """(h, w) 0 at the centre, 1 on the outline, more outside."""
        across = np.arange(box.left, box.right, dtype=np.float32) + np.float32(0.5 - self.x)
        down = np.arange(box.top, box.bottom, dtype=np.float32) + np.float32(0.5 - self.y)
        turn = np.arctan2(down[:, None], across[None, :]) % np.float32(2 * np.pi)
        places = turn * np.float32(len(self.reach) / (2 * np.pi))
        reach = np.append(self.reach, self.reach[0]).astype(np.float32)
        low = np.minimum(places.astype(np.intp), len(self.reach) - 1)
        here = reach[low] + (reach[low + 1] - reach[low]) * (places - low)
        depth: Floats = np.hypot(down[:, None], across[None, :]) / here
        return depth


def cells_scene(rng: np.random.Generator, size: tuple[int, int] | None = None) -> Scene:
    """A picture (H, W, 4) of nuclei, opaque; no two of their masks share a pixel."""
    height, width = size or _SIZES[rng.choice(len(_SIZES), p=_SIZE_ODDS)]
    style = _STYLES[rng.choice(len(_STYLES), p=_STYLE_ODDS)]
    radius = _typical_radius(rng, height)
    canvas = Canvas(np.zeros((height, width, 3), np.float32))
    strength = np.zeros((height, width), np.float32)
    depth = np.full((height, width), np.inf, np.float32)
    for nucleus in _nuclei(rng, (height, width), radius):
        _add(canvas, nucleus, strength, depth, rng, style)
    scene = finished(canvas, np.zeros((0, 0, 4), np.uint8))
    owner, kept = _numbered(scene.owner, len(scene.whole))
    strength *= 0.4 + 0.6 * (owner > 0) if style.tissue < 3 else 1
    picture = _exposed(rng, style, strength, radius)
    opaque = np.full((height, width, 1), 255, np.uint8)
    return Scene(np.concatenate([picture, opaque], axis=2), owner, scene.class_ids[kept], scene.whole[kept])


def _typical_radius(rng: np.random.Generator, height: int) -> float:
    if height >= 500:
        return float(rng.uniform(10, 17))
    if height == 360:
        return float(rng.uniform(14, 26))
    return float(
        rng.choice([rng.uniform(4.5, 7), rng.uniform(7, 12), rng.uniform(12, 20)], p=[0.2, 0.5, 0.3])
    )


def _nuclei(rng: np.random.Generator, shape: tuple[int, int], radius: float) -> list[Nucleus]:
    """Nuclei alone, in clumps that touch, and cut by the border; none lies mostly under another."""
    share = rng.uniform(0.04, 0.2)
    wanted = int(np.clip(share * shape[0] * shape[1] / (math.pi * radius**2), 3, 160))
    wobble, stretch = rng.uniform(0.02, 0.09), rng.uniform(1.0, 1.6)
    clumped = rng.uniform(0.2, 0.8)
    placed: list[Nucleus] = []
    centres = np.zeros((wanted, 3))
    for _ in range(wanted * 4):
        if len(placed) == wanted:
            break
        own = radius * math.exp(rng.normal(0, 0.2))
        near = centres[: len(placed)]
        if placed and rng.random() < clumped:
            base, turn = near[rng.integers(len(placed))], rng.uniform(0, 2 * np.pi)
            gap = (base[2] + own) * rng.uniform(0.86, 1.06)
            x, y = base[0] + gap * math.cos(turn), base[1] + gap * math.sin(turn)
        else:
            x, y = rng.uniform(0, shape[1]), rng.uniform(0, shape[0])
        outside = not (-own * 0.4 < x < shape[1] + own * 0.4 and -own * 0.4 < y < shape[0] + own * 0.4)
        if outside or (np.hypot(near[:, 0] - x, near[:, 1] - y) < 0.82 * (near[:, 2] + own)).any():
            continue
        centres[len(placed)] = x, y, own
        placed.append(Nucleus(x, y, _reach(rng, own, wobble, 1 + (stretch - 1) * rng.random())))
    return placed


def _reach(rng: np.random.Generator, radius: float, wobble: float, stretch: float) -> NDArray[np.float64]:
    """An ellipse with a few waves on its outline."""
    turn = np.arange(48) * (2 * np.pi / 48)
    lean = turn - rng.uniform(0, np.pi)
    long, short = math.sqrt(stretch), 1 / math.sqrt(stretch)
    reach = radius / np.hypot(np.cos(lean) / long, np.sin(lean) / short)
    for wave in range(2, 6):
        reach *= 1 + rng.normal(0, wobble * 2 / wave) * np.cos(wave * turn + rng.uniform(0, 2 * np.pi))
    return np.asarray(reach, np.float64)


def _add(
    canvas: Canvas, nucleus: Nucleus, strength: Floats, depth: Floats, rng: np.random.Generator, style: Style
) -> None:
    """Draw a nucleus; where two meet, a pixel belongs to the one in which it lies deeper."""
    sprite = Sprite.around(nucleus.outline(), canvas.shape, 4)
    if sprite is None:
        return
    sprite.fill(nucleus.outline(), (0, 0, 0))
    painted = sprite.done()
    box = painted.box
    region = np.s_[box.top : box.bottom, box.left : box.right]
    own = nucleus.depth(box)
    first = own < depth[region]
    cover = np.where(first, painted.cover, 0).astype(np.uint8)
    claimed = Painted(box, painted.rgb, np.zeros_like(cover), cover)
    number = canvas.place(claimed, 0)
    canvas.whole[number - 1] = int(painted.mask.sum())
    inside = painted.mask & first
    depth[region][inside] = own[inside]
    body = (
        np.sqrt(np.clip(1.08 - own**2, 0.08, 1)) if style.tissue < 3 else np.clip(0.72 + 0.4 * own**2, 0, 1.1)
    )
    texture = 1 + 0.13 * clouds(rng, own.shape, max(3, max(own.shape) / 4), 2)
    tone = max(0.25, 1 + rng.normal(0, style.spread))
    part = body * texture * tone * (painted.alpha / np.float32(255))
    strength[region] = np.maximum(strength[region], part)


def _numbered(owner: NDArray[np.int32], objects: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The owners without those of too few pixels, and which objects are left."""
    areas = np.bincount(owner.ravel(), minlength=objects + 1)
    kept = np.flatnonzero(areas[1:] >= _LEAST)
    table = np.zeros(objects + 1, np.int32)
    table[kept + 1] = np.arange(1, len(kept) + 1)
    return table[owner], kept


def _exposed(rng: np.random.Generator, style: Style, strength: Floats, radius: float) -> NDArray[np.uint8]:
    """The picture that the microscope takes of these strengths: glow, debris, uneven light, grain."""
    shape = strength.shape
    dark = style.tissue < 3
    strength = strength + _debris(rng, shape, radius)
    if dark:
        strength = strength + blurred(strength * 100, radius * 0.8) * np.float32(rng.uniform(0.0005, 0.002))
    soft: Floats = blurred(strength * 180, style.focus * rng.uniform(0.6, 1.6)) / np.float32(180)
    ground, nucleus = np.array(style.ground, np.float32), np.array(style.nucleus, np.float32)
    tone = np.float32(rng.uniform(0.75, 1.2) if dark else 1.0)
    grey = bool(ground[0] == ground[1])
    tint = np.zeros(3, np.float32) if grey else rng.normal(0, 8, 3).astype(np.float32)
    picture = ground + soft[..., None] * (nucleus * tone + tint - ground)
    tissue = clouds(rng, shape, max(shape) / 28, 3)[..., None] * np.float32(style.tissue)
    picture += tissue * np.array([1.0, 1.0, 1.0] if grey else [0.6, 1.0, 0.7], np.float32)
    light = 1 + np.float32(rng.uniform(0.02, 0.14)) * clouds(rng, shape, 1.5)
    picture *= np.clip(light, 0.5, 1.5)[..., None]
    grain = rng.standard_normal((*shape, 1 if grey else 3), np.float32) * np.float32(style.grain)
    picture += grain * np.sqrt(np.clip(picture, 4, 255) / 90 + 0.3)
    return eight_bits(picture)


def _debris(rng: np.random.Generator, shape: tuple[int, ...], radius: float) -> Floats:
    """Specks that are no nuclei, and faint light from out of focus."""
    height, width = shape[0], shape[1]
    plane = np.zeros((height, width), np.float32)
    for _ in range(rng.poisson(height * width / 12000)):
        x, y = int(rng.integers(2, width - 2)), int(rng.integers(2, height - 2))
        plane[y : y + 1 + rng.integers(2), x : x + 1 + rng.integers(2)] += rng.uniform(0.2, 0.9)
    ghosts = np.zeros_like(plane)
    for _ in range(rng.integers(0, 5)):
        x, y = int(rng.integers(width)), int(rng.integers(height))
        reach = max(2, round(radius * rng.uniform(0.6, 1.2)))
        ghosts[max(0, y - reach) : y + reach, max(0, x - reach) : x + reach] = rng.uniform(0.04, 0.12)
    glow: Floats = blurred(ghosts * 1000, radius * 1.2) / np.float32(1000)
    return plane + glow
