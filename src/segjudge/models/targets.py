"""What a net has to say about each pixel of an instance task: class, centre, way to the centre, depth.

A net can't name instances, for their numbers mean nothing; it can say for each pixel how far inside its
instance it lies and where that instance's centre is. `grouping` turns such maps back into instances.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from segjudge.models.samples import Sample

__all__ = ["OFFSET_UNIT", "InstanceTargets", "centres", "depth", "instance_targets"]

Floats = NDArray[np.float32]

#: Pixels to which an offset of 1 comes; keeps the numbers that the net has to say near 1.
OFFSET_UNIT = 16.0


@dataclass(frozen=True, slots=True)
class InstanceTargets:
    """The maps of a crop, all (h, w) or (2, h, w)."""

    class_index: NDArray[np.int64]  # 0 background, k + 1 the k-th class, -1 not to be learnt from
    heat: Floats  # 1 at an instance's centre, less around it
    offset: Floats  # (2, h, w) rows and columns to the centre, by OFFSET_UNIT
    depth: Floats  # 0 on an instance's outline, 1 where it is deepest
    weight: Floats  # 1 of the background, more of classes that have few pixels


def centres(owner: NDArray[np.int32], count: int) -> Floats:
    """(count, 2) row and column of each instance's pixel that lies nearest to its middle; nan where it has none.

    A member pixel, because the middle of a crescent lies outside of it.

    >>> centres(np.array([[1, 1, 1, 0], [0, 0, 0, 2]], np.int32), 2).tolist()
    [[0.0, 1.0], [1.0, 3.0]]
    """
    found = np.full((count, 2), np.nan, np.float32)
    rows, columns = np.nonzero(owner)
    number = owner[rows, columns] - 1
    area = np.bincount(number, minlength=count)
    with np.errstate(invalid="ignore", divide="ignore"):
        row = np.bincount(number, rows, count) / area
        column = np.bincount(number, columns, count) / area
    away = (rows - row[number]) ** 2 + (columns - column[number]) ** 2
    order = np.lexsort((away, number))
    first = order[np.concatenate([[True], np.diff(number[order]) > 0])] if len(order) else order
    found[number[first], 0] = rows[first]
    found[number[first], 1] = columns[first]
    return found


def depth(owner: NDArray[np.int32], count: int) -> NDArray[np.uint8]:
    """(h, w) how deep each pixel lies in its instance: 0 outside, 255 where the instance is deepest.

    Pixels that touch another instance lie half a pixel deep, so that there is a valley between the two. An
    instance of nothing but such pixels has no inside: it gets 128 all over, half of what one pixel alone
    on background gets.

    >>> depth(np.array([[0, 0, 0, 0, 0], [0, 1, 0, 2, 3], [0, 0, 0, 0, 0]], np.int32), 3)[1].tolist()
    [0, 255, 0, 128, 128]
    """
    from scipy import ndimage  # noqa: PLC0415 - the core install has none

    inside = owner > 0
    for here, there in ((np.s_[1:], np.s_[:-1]), (np.s_[:, 1:], np.s_[:, :-1])):
        meet = (owner[here] != owner[there]) & (owner[here] > 0) & (owner[there] > 0)
        inside[here] &= ~meet
        inside[there] &= ~meet
    if inside.all():  # an instance that fills the picture has no outline to be away from
        return np.full(owner.shape, 255, np.uint8)
    away = ndimage.distance_transform_edt(np.pad(inside, 1, mode="edge"))[1:-1, 1:-1].astype(np.float32)
    away[(owner > 0) & (away == 0)] = 0.5
    deepest = np.ones(count + 1, np.float32)
    if count:
        deepest[1:] = np.maximum(1.0, ndimage.maximum(away, owner, np.arange(1, count + 1)))
    scaled: NDArray[np.uint8] = np.rint(away * (owner > 0) / deepest[owner] * 255).astype(np.uint8)
    return scaled


def instance_targets(
    sample: Sample, classes: tuple[int, ...], weights: Mapping[int, float] | None = None
) -> InstanceTargets:
    """The maps of a sample, whose centres may lie outside of its crop.

    `weights` say, by class id, what a pixel of an instance weighs where the background's weigh 1.
    """
    table = weights or {}
    weight = np.array([1.0, *(table.get(value, 1.0) for value in sample.class_ids.tolist())], np.float32)
    owner = sample.owner
    number = np.concatenate([[0], np.searchsorted(classes, sample.class_ids) + 1])
    number[1:][sample.ignored] = -1
    class_index = number[owner]
    rows = np.arange(owner.shape[0], dtype=np.float32)[:, None]
    columns = np.arange(owner.shape[1], dtype=np.float32)[None, :]
    middle = np.concatenate([np.zeros((1, 2), np.float32), sample.centres])
    down = (middle[owner, 0] - rows) * (owner > 0)
    across = (middle[owner, 1] - columns) * (owner > 0)
    spread = np.concatenate([[1.0], np.clip(0.16 * np.sqrt(sample.areas), 1.2, 8.0)]).astype(np.float32)
    heat = np.exp(-(down**2 + across**2) / (2 * spread[owner] ** 2)) * (owner > 0)
    known = class_index >= 0
    offset = np.stack([down, across]) / np.float32(OFFSET_UNIT)
    return InstanceTargets(
        class_index.astype(np.int64),
        (heat * known).astype(np.float32),
        offset.astype(np.float32),
        sample.depth.astype(np.float32) / np.float32(255),
        weight[owner],
    )
