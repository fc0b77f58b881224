"""A picture of what a net says about some validation images, beside what is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from segjudge.models.grouping import Maps, group
from segjudge.models.pictures import looked_at, nearest
from segjudge.models.whole import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segjudge.datasets import Dataset
    from segjudge.models.judging import Said
    from segjudge.models.recipes import Recipe
    from segjudge.models.rules import Rules

__all__ = ["write_sheet"]

_ROWS, _SIDE, _GAP = 4, 288, 6
# Told apart by people who confuse red and green, too (Okabe and Ito's palette).
_COLOURS = np.array(
    [
        (230, 159, 0),
        (86, 180, 233),
        (0, 158, 115),
        (240, 228, 66),
        (0, 114, 178),
        (213, 94, 0),
        (204, 121, 167),
    ],
    np.float32,
)


def write_sheet(
    target: Path, dataset: Dataset, places: Sequence[int], said: Sequence[Said], rules: Rules, recipe: Recipe
) -> None:
    """Write a sheet: a row per image with the picture, the truth and the prediction."""
    rows = []
    for place, one in list(zip(places, said, strict=True))[:_ROWS]:
        picture = looked_at(dataset.picture(place), recipe)
        shape = picture.shape[:2]
        window = nearest(shape[0], one.shape[0])[:, None], nearest(shape[1], one.shape[1])[None, :]
        truth = dataset.truth(place)
        true = _of_planes(truth[window]) if isinstance(truth, np.ndarray) else truth.owner[window]
        cells = [picture, _overlaid(picture, true), _overlaid(picture, _predicted(one, rules, recipe))]
        rows.append([_cell(cell) for cell in cells])
    height = sum(row[0].shape[0] + _GAP for row in rows) + _GAP
    width = 3 * (max(cell.shape[1] for row in rows for cell in row) + _GAP) + _GAP
    sheet = np.full((height, width, 3), 255, np.uint8)
    top = _GAP
    for row in rows:
        left = _GAP
        for cell in row:
            sheet[top : top + cell.shape[0], left : left + cell.shape[1]] = cell
            left += cell.shape[1] + _GAP
        top += row[0].shape[0] + _GAP
    with replacing(target) as partial:
        Image.fromarray(sheet).save(partial, "PNG")


def _predicted(one: Said, rules: Rules, recipe: Recipe) -> NDArray[np.int32]:
    """(h, w) numbers of what is predicted, as `_overlaid` colours them."""
    outputs = one.outputs.astype(np.float32)
    if recipe.kind == "semantic":
        return _of_planes(
            (outputs > np.array(rules.thresholds, np.float32)[:, None, None]).transpose(1, 2, 0)
        )
    owner = np.zeros(outputs.shape[1:], np.int32)
    for found in group(Maps.of(outputs), rules.groupings):
        owner = np.where(found.owner > 0, found.owner + owner.max(initial=0), owner)
    return owner


def _of_planes(planes: NDArray[np.bool_]) -> NDArray[np.int32]:
    numbers: NDArray[np.int32] = (planes * np.arange(1, planes.shape[2] + 1)).max(axis=2).astype(np.int32)
    return numbers


def _overlaid(picture: NDArray[np.uint8], owner: NDArray[np.int32]) -> NDArray[np.uint8]:
    """The picture with each number in a colour of its own, outlines stronger than insides."""
    colour = _COLOURS[(owner - 1) % len(_COLOURS)]
    edge = np.zeros(owner.shape, np.bool_)
    edge[1:] |= owner[1:] != owner[:-1]
    edge[:, 1:] |= owner[:, 1:] != owner[:, :-1]
    share = np.where(owner > 0, 0.45, 0.0) + np.where(edge, 0.5, 0.0)
    mixed = picture + (colour - picture) * share[..., None].astype(np.float32)
    return np.clip(mixed, 0, 255).astype(np.uint8)


def _cell(picture: NDArray[np.uint8]) -> NDArray[np.uint8]:
    longer = max(picture.shape[:2])
    if longer <= _SIDE:
        return picture
    size = max(1, picture.shape[1] * _SIDE // longer), max(1, picture.shape[0] * _SIDE // longer)
    return np.asarray(Image.fromarray(picture).resize(size, Image.Resampling.BILINEAR))
