"""Emoji out of a font with coloured pictures: Google's Noto Color Emoji, as Debian installs it."""

from __future__ import annotations

import hashlib
import io
import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from segjudge.data.fonts import characters, installed, missing_font
from segjudge.data.paint import Box, Painted
from segjudge.errors import UsageError
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from segjudge.data.paint import Colour, Placement

__all__ = ["Glyph", "Glyphs", "emoji_of", "glyphs_of"]

_FONT, _PACKAGE = "NotoColorEmoji.ttf", "fonts-noto-color-emoji"
_STRIKE = 109  # the one size of its pictures, which have 136 x 128 pixels
_ROOM = 160
_LEAST = 400  # opaque pixels of a picture that counts

# Not pictures of their own: parts of flags and keycaps, skins' swatches, signs that join others.
_PARTS = (
    (0, 0x203B),
    (0x20E3, 0x20E3),
    (0xFE00, 0xFFFF),
    (0x1F1E6, 0x1F1FF),
    (0x1F3FB, 0x1F3FF),
    (0xE0000, 0x10FFFF),
)
# Flat squares, discs, diamonds and triangles, which nothing tells from those of the grounds.
_FLAT = ((0x25A0, 0x25FF), (0x26AA, 0x26AB), (0x2B1B, 0x2B1C), (0x1F534, 0x1F53B), (0x1F7E0, 0x1F7EB))

_NEIGHBOURS = 8  # code points that go to one part: clocks, hearts, phases of the moon
_TESTED = 0.25  # share of the glyphs in the part `test`


@dataclass(frozen=True, slots=True)
class Glyph:
    """A picture with alpha, cut to what is seen."""

    image: Image.Image  # RGBA

    def colours(self, rng: np.random.Generator, count: int) -> list[Colour]:
        """Colours of some of its pixels."""
        pixels = np.asarray(self.image).reshape(-1, 4)
        opaque = pixels[pixels[:, 3] == 255]
        if not len(opaque):
            return []
        some = opaque[rng.integers(len(opaque), size=count), :3]
        return [(int(red), int(green), int(blue)) for red, green, blue in some]

    def painted(self, placement: Placement, shape: tuple[int, int]) -> Painted | None:
        """The glyph as it lies in an image of this shape; None where that is outside."""
        wide, tall = self.image.size
        half = max(wide, tall) / 2
        corners = np.array([(-wide, -tall), (wide, -tall), (wide, tall), (-wide, tall)]) / (2 * half)
        points = placement.of(corners)
        low, high = np.floor(points.min(axis=0) - 1), np.ceil(points.max(axis=0) + 1)
        box = Box(
            max(0, int(low[0])), max(0, int(low[1])), min(shape[1], int(high[0])), min(shape[0], int(high[1]))
        )
        if box.right <= box.left or box.bottom <= box.top:
            return None
        scale = max(3, math.ceil(half / placement.size))
        # From a pixel of the box back to the drawing, and from there to the glyph's own pixels.
        step = (placement.of(np.array([(1.0, 0.0), (0.0, 1.0)])) - (placement.x, placement.y)).T
        back = np.linalg.inv(step) * half
        origin = back @ np.array([box.left - placement.x, box.top - placement.y]) + (wide / 2, tall / 2)
        matrix = (*(back[0] / scale), origin[0], *(back[1] / scale), origin[1])
        size = ((box.right - box.left) * scale, (box.bottom - box.top) * scale)
        large = self.image.transform(
            size, Image.Transform.AFFINE, tuple(map(float, matrix)), Image.Resampling.BICUBIC
        )
        pixels = np.asarray(large.reduce(scale))
        return Painted(box, pixels[..., :3], pixels[..., 3], pixels[..., 3])


class Glyphs:
    """A stock of glyphs, each cut out of the font when it is first chosen."""

    def __init__(self, font: ImageFont.FreeTypeFont, points: Sequence[int]) -> None:
        self.points = tuple(points)
        self._font = font
        self._cut: dict[int, Glyph | None] = {}

    def any(self, rng: np.random.Generator) -> Glyph:
        """One of the glyphs; a blank one gives its place to the next."""
        place = int(rng.integers(len(self.points)))
        for point in (*self.points[place:], *self.points[:place]):
            glyph = self._glyph(point)
            if glyph is not None:
                return glyph
        raise UsageError("The emoji font draws nothing.", f"Install Debian's {_PACKAGE} again.")

    def _glyph(self, point: int) -> Glyph | None:
        if point not in self._cut:
            image = Image.new("RGBA", (_ROOM, _ROOM))
            ImageDraw.Draw(image).text((8, 8), chr(point), font=self._font, embedded_color=True)
            alpha = np.asarray(image)[..., 3]
            seen = int((alpha >= 128).sum()) >= _LEAST
            self._cut[point] = Glyph(image.crop(image.getbbox())) if seen else None
        return self._cut[point]


@lru_cache(maxsize=3)
def glyphs_of(part: str) -> Glyphs:
    """The installed font's glyphs of a part; raises UsageError where there is no such font."""
    path = installed([_FONT]).get(_FONT)
    if path is None:
        raise missing_font(f"The font Noto Color Emoji ({_FONT})", [_PACKAGE])
    try:
        data = path.read_bytes()
        tables, points = characters(data)
        if "CBDT" not in tables:
            raise UsageError(
                f"{path} holds no pictures of pixels (CBDT), which are what can be drawn here.",
                f"Install Debian's {_PACKAGE}.",
            )
        font = ImageFont.truetype(io.BytesIO(data), _STRIKE)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {error}.", f"Install Debian's {_PACKAGE} again.") from error
    return Glyphs(font, emoji_of(points, part))


def emoji_of(points: Iterable[int], part: str) -> list[int]:
    """The code points of a part that are emoji by themselves, no flat shapes; `train` and `test` share none.

    A hash decides for eight neighbours together, because they look alike.

    >>> emoji_of([0x23, 0x1F1E6, 0x1F600, 0x1F7E5], "all") == [0x1F600]
    True
    """
    return [
        point
        for point in points
        if not any(first <= point <= last for first, last in (*_PARTS, *_FLAT))
        and part in {"all", _part_of(point)}
    ]


def _part_of(point: int) -> str:
    drawn = hashlib.sha256(b"emoji %d" % (point // _NEIGHBOURS)).digest()[0]
    return "test" if drawn < 256 * _TESTED else "train"
