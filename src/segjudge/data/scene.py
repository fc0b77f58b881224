"""What every generator makes: a picture, and whose each pixel is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from segjudge.records import dataclass

if TYPE_CHECKING:
    from segjudge.data.paint import Canvas

__all__ = ["Scene", "blurred", "clouds", "eight_bits", "finished"]

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Scene:
    """A generated picture with its truth; objects count from 1."""

    picture: Bytes  # (H, W, 3 or 4)
    owner: NDArray[np.int32]  # (H, W) the object seen in each pixel, 0 where there is none
    class_ids: NDArray[np.int64]  # (N,) class of each object
    whole: NDArray[np.int64]  # (N,) area of each object inside the image before others hid it

    @property
    def shape(self) -> tuple[int, int]:
        """Height and width."""
        return self.owner.shape[0], self.owner.shape[1]

    def masks(self) -> list[tuple[NDArray[np.bool_], int]]:
        """The mask (H, W) and the class of every object that is seen."""
        seen = np.bincount(self.owner.ravel(), minlength=len(self.class_ids) + 1)[1:]
        return [
            (self.owner == number + 1, int(self.class_ids[number]))
            for number in np.flatnonzero(seen).tolist()
        ]


def finished(canvas: Canvas, picture: Bytes) -> Scene:
    """The scene of a canvas whose picture went through the camera."""
    return Scene(
        picture, canvas.owner, np.array(canvas.class_ids, np.int64), np.array(canvas.whole, np.int64)
    )


def eight_bits(picture: NDArray[np.floating]) -> Bytes:
    """The picture with whole values from 0 to 255."""
    whole: Bytes = np.clip(picture + 0.5, 0, 255).astype(np.uint8)
    return whole


def clouds(rng: np.random.Generator, shape: tuple[int, int], cells: float, octaves: int = 1) -> Floats:
    """Smooth noise (H, W) of mean 0 and about unit spread; `cells` bumps along the longer side."""
    total = np.zeros(shape, np.float32)
    for octave in range(octaves):
        step = max(shape) / (cells * 2**octave)
        grid = rng.standard_normal([max(2, round(side / step) + 1) for side in shape]).astype(np.float32)
        bumps = Image.fromarray(grid).resize((shape[1], shape[0]), Image.Resampling.BICUBIC)
        total += np.asarray(bumps) * np.float32(0.5**octave)
    return total


def blurred(picture: Floats, radius: float) -> Floats:
    """A plane (H, W) of values from 0 to 255, or a picture (H, W, 3), out of focus by this many pixels."""
    if radius <= 0:
        return picture
    image = Image.fromarray(eight_bits(picture))
    return np.asarray(image.filter(ImageFilter.GaussianBlur(radius)), np.float32)
