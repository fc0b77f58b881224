"""A page while it is printed: ink, pictures, and the outlines of what was put where."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from segjudge.data.paint import Box, Points, Sprite, circle
from segjudge.data.scene import clouds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segjudge.data.pages.ink import Type

__all__ = ["IMAGE", "PARAGRAPH", "TABLE", "TEXT_BOX", "Sheet"]

PARAGRAPH, TEXT_BOX, IMAGE, TABLE = 0, 1, 2, 3


class Sheet:
    """A page before it was scanned: ink (H, W) from 0 to 1 over paper, and coloured pictures."""

    def __init__(self, rng: np.random.Generator, height: int, width: int) -> None:
        self.rng = rng
        self.height = height
        self.width = width
        self.ink = np.zeros((height, width), np.float32)
        self.colour: NDArray[np.float32] | None = None  # (H, W, 3), where a picture is printed
        self.printed = np.zeros((height, width), np.bool_)
        self.rings: list[tuple[int, Points]] = []  # class and outline

    def outline(self, class_id: int, points: Points) -> None:
        """Note an outline."""
        self.rings.append((class_id, points))

    def text(
        self,
        font: Type,
        left: int,
        top: int,
        width: int,
        lines: int,
        leading: int,
        *,
        indent: bool,
        last: float,
    ) -> int:
        """Print lines and note them as a paragraph; the row below them comes back."""
        row, end = top, width
        for number in range(lines):
            if row + font.tall > self.height:
                break
            shift = 2 * font.size if indent and number == 0 else 0
            ink, end = font.line(self.rng, width - shift, last if number == lines - 1 else 1.0)
            self._press(ink, left + shift, row)
            row += leading
        pad = 2.0
        low, bottom = top + font.rise - pad - 2, row - leading + font.tall - 1 + pad
        start = row - leading + font.rise - pad - 2
        right = left + width + pad
        if lines > 1 and end < width * 0.85:
            ring = [
                (left - pad, low),
                (right, low),
                (right, start),
                (left + end + pad, start),
                (left + end + pad, bottom),
                (left - pad, bottom),
            ]
        else:
            far = right if lines > 1 else left + end + pad
            ring = [(left - pad, low), (far, low), (far, bottom), (left - pad, bottom)]
        if indent and lines > 1:
            step = top + leading + font.rise - pad - 2
            ring = [
                (left + 2 * font.size - pad, low),
                *ring[1:],
                (left - pad, step),
                (left + 2 * font.size - pad, step),
            ]
        self.outline(PARAGRAPH, np.array(ring, np.float64))
        return row

    def heading(
        self,
        font: Type,
        left: int,
        top: int,
        width: int,
        share: float,
        *,
        centred: bool = True,
        lines: int = 1,
    ) -> int:
        """Print a few words by themselves and note them as a text box; the row below comes back."""
        first, widest, row = width, 0, top
        for _ in range(lines):
            if row + font.tall > self.height:
                break
            ink, end = font.line(self.rng, width, share)
            at = (width - end) // 2 if centred else 0
            self._press(ink[:, :end], left + at, row)
            first, widest = min(first, at), max(widest, at + end)
            row += round(font.tall * 1.02)
        if widest > first:
            x0, x1 = left + first - 2.0, left + widest + 2.0
            y0, y1 = top + max(0, font.rise - 5.0), row - font.tall * 0.02 + 1
            self.outline(TEXT_BOX, np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)]))
        return row + 2

    def words(self, font: Type, left: int, top: int, width: int) -> None:
        """Print a few words without noting them."""
        if top + font.tall < self.height and width > font.size:
            ink, end = font.line(self.rng, width, 0.96)
            self._press(ink[:, :end], left, top)

    def rule(self, x0: float, y0: float, x1: float, y1: float, thick: float = 1.0, tone: float = 0.8) -> None:
        """Print an upright or level line."""
        top, bottom = max(0, round(min(y0, y1) - thick / 2)), round(max(y0, y1) + thick / 2)
        left, right = max(0, round(min(x0, x1) - thick / 2)), round(max(x0, x1) + thick / 2)
        part = self.ink[top : max(bottom, top + 1), left : max(right, left + 1)]
        np.maximum(part, np.float32(tone), out=part)

    def table(self, font: Type, left: int, top: int, width: int, rows: int, columns: int) -> int:
        """Print a table with rules and note it; the row below comes back."""
        deep = round(font.tall * 1.35)
        bottom = top + rows * deep
        cuts = np.concatenate([[0], np.cumsum(self.rng.uniform(0.6, 1.6, columns))])
        edges = left + np.round(cuts / cuts[-1] * width).astype(int)
        every = self.rng.random() < 0.7
        for number in range(rows + 1):
            if every or number in (0, 1, rows):
                self.rule(
                    left,
                    top + number * deep,
                    left + width,
                    top + number * deep,
                    2 if number in (0, rows) else 1,
                )
        for edge in edges if every else edges[[0, -1]]:
            self.rule(edge, top, edge, bottom, 1)
        for number in range(rows):
            for place in range(columns):
                room = int(edges[place + 1] - edges[place]) - 8
                if self.rng.random() < 0.9 and room > font.size:
                    self.words(font, int(edges[place]) + 4, top + number * deep + 3, room)
        ring = np.array(
            [
                (left - 2.0, top - 2.0),
                (left + width + 2.0, top - 2.0),
                (left + width + 2.0, bottom + 2.0),
                (left - 2.0, bottom + 2.0),
            ]
        )
        self.outline(TABLE, ring)
        return bottom

    def picture(self, left: int, top: int, width: int, height: int, *, coloured: bool) -> int:
        """Print a photograph and note it; the row below comes back."""
        photo = _photograph(self.rng, height, width)
        if not coloured:
            photo = np.repeat(photo.mean(axis=2, keepdims=True), 3, axis=2)
            down, across = np.mgrid[:height, :width]
            photo += (9 * np.sin(across * 1.9 + down * 1.1) * np.sin(down * 1.9 - across * 1.1))[
                ..., None
            ].astype(np.float32)
        if self.colour is None:
            self.colour = np.zeros((self.height, self.width, 3), np.float32)
        self.colour[top : top + height, left : left + width] = photo
        self.printed[top : top + height, left : left + width] = True
        if self.rng.random() < 0.5:
            for x0, y0, x1, y1 in (
                (0, 0, width, 0),
                (0, height, width, height),
                (0, 0, 0, height),
                (width, 0, width, height),
            ):
                self.rule(left + x0, top + y0, left + x1, top + y1, 2)
        x, y = float(left), float(top)
        self.outline(IMAGE, np.array([(x, y), (x + width, y), (x + width, y + height), (x, y + height)]))
        return top + height

    def _press(self, ink: NDArray[np.uint8], left: int, top: int) -> None:
        part = self.ink[top : top + ink.shape[0], left : left + ink.shape[1]]
        np.maximum(part, ink[: part.shape[0], : part.shape[1]] * np.float32(1 / 255), out=part)


def _photograph(rng: np.random.Generator, height: int, width: int) -> NDArray[np.float32]:
    """A landscape with a river, or a person before a wall, (h, w, 3)."""
    down = np.linspace(0, 1, height, dtype=np.float32)[:, None, None]
    sky, land = rng.uniform(120, 240, 3).astype(np.float32), rng.uniform(30, 140, 3).astype(np.float32)
    photo = sky * (1 - down * 0.5) + land * down * 0.5
    photo = photo + clouds(rng, (height, width), 5, 3)[..., None] * 10
    sprite = Sprite(Box(0, 0, width, height), 2)
    tone = tuple(int(c) for c in rng.integers(30, 190, 3))
    cloth = (tone[0], tone[1], tone[2])
    if rng.random() < 0.5:
        for layer in range(3):
            ridge = np.linspace(0, width, 9)
            level = height * (0.5 + 0.16 * layer) - rng.uniform(0, 0.22 * height, 9)
            hill = np.concatenate([np.column_stack([ridge, level]), [(width, height), (0, height)]])
            shade = tuple(int(c * (1.2 - 0.3 * layer)) for c in land.tolist())
            sprite.fill(hill, (min(255, shade[0]), min(255, shade[1]), min(255, shade[2])))
    else:
        for _ in range(rng.integers(1, 4)):
            x, size = rng.uniform(0.2, 0.8) * width, min(width, height) * rng.uniform(0.14, 0.24)
            y = height - size * rng.uniform(2.0, 2.6)
            sprite.fill(circle(x, y + size * 2.6, size * 1.5, size * 1.5), cloth)
            sprite.fill(circle(x, y - size * 0.15, size * 0.75, size * 0.9), (40, 32, 28))
            sprite.fill(circle(x, y + 0.1 * size, size * 0.62, size * 0.82), (190, 146, 116))
    figure = sprite.done()
    photo += (figure.rgb - photo) * (figure.alpha[..., None] / np.float32(255))
    light = np.linspace(1.12, 0.85, width, dtype=np.float32)[None, :, None]
    return np.asarray(
        np.clip(photo * light + rng.standard_normal((height, width, 1), np.float32) * 6, 8, 246), np.float32
    )
