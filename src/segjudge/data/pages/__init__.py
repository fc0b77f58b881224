"""Scanned pages: paragraphs, text boxes, pictures and tables in columns, as polygons."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from segjudge.data.pages.bengali import shaped
from segjudge.data.pages.ink import cast
from segjudge.data.pages.layout import LAYOUTS
from segjudge.data.pages.sheet import Sheet
from segjudge.data.scene import Scene, blurred, clouds, eight_bits
from segjudge.polygons import polygon_masks
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segjudge.data.pages.ink import Type
    from segjudge.data.paint import Points

__all__ = ["CLASSES", "PageScene", "page_scene"]

CLASSES = (0, 1, 2, 3)

# Height and width of the scans, and how often they come.
_SIZES = ((995, 720), (880, 640), (1169, 827), (760, 560), (720, 980))
_SIZE_ODDS = (0.35, 0.25, 0.15, 0.15, 0.1)

_SHAPED = 0.8  # of drawn letters' size: signs reach farther above and below, and a page holds as many lines


@dataclass(frozen=True, slots=True)
class PageScene(Scene):
    """A scanned page with the outline of each of its objects."""

    rings: tuple[Points, ...]  # (P, 2) x, y in pixels


def page_scene(
    rng: np.random.Generator, size: tuple[int, int] | None = None, faces: Sequence[Path] = ()
) -> PageScene:
    """A picture (H, W, 3) of a page, slightly askew, with its outlines turned likewise.

    The script is invented, or Bengali in any of the faces, which are files of fonts.
    """
    height, width = size or _SIZES[rng.choice(len(_SIZES), p=_SIZE_ODDS)]
    sheet = Sheet(rng, height, width)
    body = max(8, round(width / rng.uniform(58, 84)))
    font, large = _types(rng, body, faces)
    LAYOUTS[rng.choice(len(LAYOUTS), p=[0.36, 0.2, 0.16, 0.14, 0.14])](sheet, font, large)
    angle = math.radians(rng.normal(0, 0.7))
    picture = _scanned(sheet, angle)
    rings = tuple(np.round(_turned(ring, angle, height, width), 2) for _, ring in sheet.rings)
    class_ids = np.array([class_id for class_id, _ in sheet.rings], np.int64)
    owner = np.zeros((height, width), np.int32)
    masks = polygon_masks([[ring.ravel().tolist()] for ring in rings], [(height, width)] * len(rings))
    for number, mask in enumerate(masks.dense(), start=1):
        owner[mask] = number
    return PageScene(picture, owner, class_ids, np.asarray(masks.areas, np.int64), rings)


def _types(rng: np.random.Generator, body: int, faces: Sequence[Path]) -> tuple[Type, Type]:
    """The type of a page's text, and that of its headings."""
    if not faces:
        font = cast(rng, body, weight=rng.uniform(0.09, 0.13))
        return font, cast(
            rng, round(body * rng.uniform(1.5, 2.4)), weight=rng.uniform(0.13, 0.18), letters=16
        )
    text, heading = (faces[int(rng.integers(len(faces)))] for _ in range(2))
    small = max(7, round(body * _SHAPED))
    return shaped(rng, text, small), shaped(rng, heading, round(small * rng.uniform(1.5, 2.4)), words=24)


def _turned(points: Points, angle: float, height: int, width: int) -> Points:
    """Points of the page where Pillow's rotation about the middle brings them, kept within the image."""
    middle = np.array([width / 2, height / 2])
    cos, sin = math.cos(angle), math.sin(angle)
    turned: Points = (points - middle) @ np.array([[cos, -sin], [sin, cos]]) + middle
    return np.minimum(np.maximum(turned, 0), np.array([width, height], np.float64))


def _scanned(sheet: Sheet, angle: float) -> NDArray[np.uint8]:
    """The page as a scanner sees it: paper's tone, ink that spreads and fades, shadow, specks, grain."""
    rng, shape = sheet.rng, (sheet.height, sheet.width)
    tones = ((246, 243, 234), (238, 228, 204), (226, 208, 172), (250, 250, 250), (222, 216, 204))
    paper = np.array(tones[rng.integers(len(tones))], np.float32)
    page = np.broadcast_to(paper, (*shape, 3)).copy()
    page += (
        clouds(rng, shape, 4, 3)[..., None]
        * np.float32(rng.uniform(0.8, 3.5))
        * np.array([0.8, 1.0, 1.5], np.float32)
    )
    if rng.random() < 0.35:
        through = blurred(sheet.ink[:, ::-1] * 255, 1.6) / 255
        page *= (1 - np.float32(rng.uniform(0.03, 0.1)) * through)[..., None]
    if sheet.colour is not None:
        page[sheet.printed] = sheet.colour[sheet.printed] * (paper / 255)
    ink = np.array((rng.uniform(18, 60), rng.uniform(16, 54), rng.uniform(18, 66)), np.float32)
    strength = sheet.ink * np.clip(0.9 + 0.06 * clouds(rng, shape, 9, 2), 0.5, 1)
    page += (ink - page) * strength[..., None]
    turned = _rotated(page, angle, paper)
    edge = np.linspace(0, 1, sheet.width, dtype=np.float32)
    if rng.random() < 0.4:
        gutter = np.exp(-(edge if rng.random() < 0.5 else 1 - edge) / 0.03) * np.float32(
            rng.uniform(0.2, 0.5)
        )
        turned *= (1 - gutter)[None, :, None]
    for _ in range(rng.poisson(9)):
        y, x = int(rng.integers(shape[0] - 3)), int(rng.integers(shape[1] - 3))
        turned[y : y + rng.integers(1, 4), x : x + rng.integers(1, 4)] *= rng.uniform(0.3, 0.8)
    soft = blurred(turned, float(rng.uniform(0.0, 0.6)))
    soft = soft + rng.standard_normal((*shape, 1), np.float32) * np.float32(rng.uniform(1.5, 6))
    return eight_bits(soft)


def _rotated(page: NDArray[np.float32], angle: float, paper: NDArray[np.float32]) -> NDArray[np.float32]:
    red, green, blue = (int(tone * 0.97) for tone in paper.tolist())
    image = Image.fromarray(eight_bits(page))
    image = image.rotate(math.degrees(angle), Image.Resampling.BICUBIC, fillcolor=(red, green, blue))
    return np.asarray(image, np.float32)
