"""Sprites drawn at several times their size and reduced, and the canvas that takes them.

A sprite has two coverages: `alpha`, with which it hides what lies behind, and `cover`, from which truth is
made. They differ where an annotator's outline holds more than paint, as with the spokes of a wheel. A pixel
belongs to a mask when at least half of it is covered.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Canvas", "Colour", "Painted", "Pen", "Placement", "Points", "Sprite", "circle", "smooth"]

Points = NDArray[np.float64]  # (N, 2) x, y
Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]
Colour = tuple[int, int, int]

_HALF = 128  # of 255


class Box(NamedTuple):
    """Whole pixels of an image, right and bottom excluded."""

    left: int
    top: int
    right: int
    bottom: int


@dataclass(frozen=True, slots=True)
class Painted:
    """A sprite at the image's own size."""

    box: Box
    rgb: Bytes  # (h, w, 3)
    alpha: Bytes  # (h, w) how much of each pixel is hidden
    cover: Bytes  # (h, w) how much of each pixel belongs to the object

    @property
    def mask(self) -> NDArray[np.bool_]:
        """(h, w) the pixels that belong to the object where nothing hides it."""
        return self.cover >= _HALF

    def lit(self, gain: NDArray[np.floating]) -> Painted:
        """The sprite with its colours multiplied by a gain (h, w) or (h, w, 1 or 3)."""
        factor = gain[..., None] if gain.ndim == 2 else gain
        rgb = np.clip(self.rgb * factor, 0, 255).astype(np.uint8)
        return Painted(self.box, rgb, self.alpha, self.cover)

    def hazed(self, colour: Colour, share: float) -> Painted:
        """The sprite behind haze: this share of the colour over its own."""
        rgb = self.rgb * (1 - share) + np.array(colour) * share
        return Painted(self.box, rgb.astype(np.uint8), self.alpha, self.cover)


class Sprite:
    """Shapes drawn into a box of an image, several sub-pixels to a pixel."""

    def __init__(self, box: Box, scale: int = 4, ground: Colour = (128, 128, 128)) -> None:
        self.box = box
        self.scale = scale
        size = ((box.right - box.left) * scale, (box.bottom - box.top) * scale)
        self._rgb = Image.new("RGB", size, ground)
        self._alpha = Image.new("L", size, 0)
        self._hull: Image.Image | None = None
        self._ink = ImageDraw.Draw(self._rgb, "RGBA")
        self._solid = ImageDraw.Draw(self._alpha)

    @classmethod
    def around(
        cls, points: Points, shape: tuple[int, int], scale: int = 4, margin: float = 2
    ) -> Sprite | None:
        """A sprite for what lies between these points; None where that is outside the image."""
        low, high = points.min(axis=0) - margin, points.max(axis=0) + margin
        box = Box(
            max(0, math.floor(low[0])),
            max(0, math.floor(low[1])),
            min(shape[1], math.ceil(high[0])),
            min(shape[0], math.ceil(high[1])),
        )
        return cls(box, scale) if box.right > box.left and box.bottom > box.top else None

    def fill(self, points: Points, colour: Colour, *, strength: int = 255, body: bool = True) -> None:
        """Fill a polygon; without `body` only the paint that is already there changes its colour."""
        corners = self._corners(points)
        self._ink.polygon(corners, fill=(*colour, strength))
        if body:
            self._solid.polygon(corners, fill=255)

    def line(self, points: Points, width: float, colour: Colour, *, body: bool = True) -> None:
        """Draw a polyline with round ends and joints; the width is in pixels of the image."""
        corners = self._corners(points)
        thick = max(1, round(width * self.scale))
        joint = "curve" if thick > 4 else None
        self._ink.line(corners, fill=(*colour, 255), width=thick, joint=joint)
        if body:
            self._solid.line(corners, fill=255, width=thick, joint=joint)
        radius = thick / 2
        if radius > 1.5:
            for x, y in (corners[0], corners[-1]):
                ends = (x - radius, y - radius, x + radius, y + radius)
                self._ink.ellipse(ends, fill=(*colour, 255))
                if body:
                    self._solid.ellipse(ends, fill=255)

    def disc(self, x: float, y: float, radius: float, colour: Colour) -> None:
        """Fill a circle."""
        middle_x, middle_y = (x - self.box.left) * self.scale - 0.5, (y - self.box.top) * self.scale - 0.5
        reach = radius * self.scale
        ends = (middle_x - reach, middle_y - reach, middle_x + reach, middle_y + reach)
        self._ink.ellipse(ends, fill=(*colour, 255))
        self._solid.ellipse(ends, fill=255)

    def claim(self, points: Points) -> None:
        """Make a polygon part of the object's outline without painting it."""
        if self._hull is None:
            self._hull = Image.new("L", self._alpha.size, 0)
        ImageDraw.Draw(self._hull).polygon(self._corners(points), fill=255)

    def done(self) -> Painted:
        """The sprite, reduced."""
        picture = self._rgb.copy()
        picture.putalpha(self._alpha)
        reduced = np.asarray(picture.reduce(self.scale))
        alpha = reduced[..., 3]
        cover = alpha
        if self._hull is not None:
            self._hull.paste(255, mask=self._alpha)
            cover = np.asarray(self._hull.reduce(self.scale))
        return Painted(self.box, reduced[..., :3], alpha, cover)

    def _corners(self, points: Points) -> list[tuple[float, float]]:
        moved = (points - (self.box.left, self.box.top)) * self.scale - 0.5
        return [(x, y) for x, y in moved.tolist()]


class Canvas:
    """A picture that grows back to front, and whose pixels know their object.

    `owner` is 0 where no object is seen; objects count from 1. `whole` holds each object's area before
    anything hid it.
    """

    def __init__(self, ground: Floats | Bytes) -> None:
        self.picture: Floats = ground.astype(np.float32)
        self.owner = np.zeros(ground.shape[:2], np.int32)
        self.class_ids: list[int] = []
        self.whole: list[int] = []

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.picture.shape[0], self.picture.shape[1]

    def place(self, painted: Painted, class_id: int | None = None) -> int:
        """Lay a sprite over all before; with a class it is a new object, whose number comes back."""
        box = painted.box
        region = np.s_[box.top : box.bottom, box.left : box.right]
        under = self.picture[region]
        under += (painted.rgb - under) * (painted.alpha[..., None] / np.float32(255))
        mask = painted.mask
        if class_id is None:
            self.owner[region][mask] = 0
            return 0
        self.class_ids.append(class_id)
        self.whole.append(int(mask.sum()))
        self.owner[region][mask] = len(self.whole)
        return len(self.whole)

    def shade(self, painted: Painted, strength: float, blur: float, shift: tuple[int, int] = (0, 0)) -> None:
        """Darken the picture under a sprite's blurred outline: its shadow."""
        pad = math.ceil(2 * blur)
        alpha = Image.fromarray(np.pad(painted.alpha, pad)).filter(ImageFilter.BoxBlur(blur))
        soft = np.asarray(alpha, np.float32) * np.float32(strength / 255)
        top, left = painted.box.top - pad + shift[1], painted.box.left - pad + shift[0]
        rows = slice(max(0, top), max(0, min(self.shape[0], top + soft.shape[0])))
        columns = slice(max(0, left), max(0, min(self.shape[1], left + soft.shape[1])))
        part = soft[rows.start - top : rows.stop - top, columns.start - left : columns.stop - left]
        self.picture[rows, columns] *= 1 - part[..., None]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a drawing of about -1 to 1 comes to lie: centre and size in pixels, angle in radians."""

    x: float
    y: float
    size: float
    angle: float = 0.0
    squeeze: float = 1.0  # width for height; negative mirrors

    def of(self, points: Points) -> Points:
        """The points of the drawing in pixels."""
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        turn = np.array([[cos * self.squeeze, sin * self.squeeze], [-sin, cos]])
        placed: Points = points @ turn * self.size + np.array([self.x, self.y])
        return placed


class Pen:
    """Draws figures of about -1 to 1 into a sprite."""

    def __init__(self, sprite: Sprite, placement: Placement) -> None:
        self.sprite = sprite
        self.placement = placement

    def shape(
        self, points: Points | Sequence[tuple[float, float]], colour: Colour, *, body: bool = True
    ) -> None:
        """Fill a polygon."""
        self.sprite.fill(self.placement.of(np.asarray(points, np.float64)), colour, body=body)

    def gloss(self, points: Points, colour: Colour, strength: int) -> None:
        """Tint what is already painted."""
        self.sprite.fill(self.placement.of(points), colour, strength=strength, body=False)

    def ellipse(
        self,
        x: float,
        y: float,
        rx: float,
        ry: float,
        colour: Colour,
        *,
        angle: float = 0.0,
        body: bool = True,
    ) -> None:
        """Fill an ellipse."""
        self.shape(circle(x, y, rx, ry, angle), colour, body=body)

    def stroke(
        self, points: Sequence[tuple[float, float]], width: float, colour: Colour, *, body: bool = False
    ) -> None:
        """Draw a smooth line through points; the width counts in the drawing's own unit."""
        line = (
            smooth(np.array(points, np.float64), closed=False) if len(points) > 2 else np.array(points, float)
        )
        self.sprite.line(self.placement.of(line), width * self.placement.size, colour, body=body)

    def blob(self, points: Sequence[tuple[float, float]], colour: Colour, *, body: bool = True) -> None:
        """Fill a smooth closed curve through points."""
        self.shape(smooth(np.array(points, np.float64)), colour, body=body)


def circle(
    x: float, y: float, rx: float, ry: float | None = None, angle: float = 0.0, corners: int = 40
) -> Points:
    """The corners of an ellipse."""
    turn = np.arange(corners) * (2 * np.pi / corners)
    across, down = np.cos(turn) * rx, np.sin(turn) * (rx if ry is None else ry)
    cos, sin = math.cos(angle), math.sin(angle)
    return np.column_stack([x + across * cos - down * sin, y + across * sin + down * cos])


def smooth(points: Points, *, closed: bool = True, steps: int = 8) -> Points:
    """A Catmull-Rom curve through the points, as a polygon or a line."""
    if closed:
        padded = np.concatenate([points[-1:], points, points[:2]])
    else:
        padded = np.concatenate([points[:1], points, points[-1:]])
    p0, p1, p2, p3 = padded[:-3, None], padded[1:-2, None], padded[2:-1, None], padded[3:, None]
    t = (np.arange(steps) / steps)[None, :, None]
    curve = 0.5 * (
        2 * p1 + (p2 - p0) * t + (2 * p0 - 5 * p1 + 4 * p2 - p3) * t**2 + (3 * p1 - p0 - 3 * p2 + p3) * t**3
    )
    flat: Points = curve.reshape(-1, 2)
    return flat if closed else np.concatenate([flat, points[-1:]])
