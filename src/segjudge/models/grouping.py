"""Instances from a net's maps: by connection, by depth, or by the centres that pixels point to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from segjudge.models.targets import OFFSET_UNIT
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Found", "Grouping", "Maps", "group"]

Floats = NDArray[np.float32]
Method = Literal["components", "watershed", "centres"]


@dataclass(frozen=True, slots=True)
class Maps:
    """What a net says about a picture of an instance task, at its working size."""

    classes: Floats  # (K + 1, h, w) shares that add to one, background first
    heat: Floats  # (h, w) 0 to 1
    offset: Floats  # (2, h, w) pixels down and across to the centre
    depth: Floats  # (h, w) 0 to 1

    @classmethod
    def of(cls, outputs: Floats) -> Maps:
        """The maps of what the net put out, (K + 5, h, w): shares, heat, offsets by their unit, depth."""
        return cls(outputs[:-4], outputs[-4], outputs[-3:-1] * np.float32(OFFSET_UNIT), outputs[-1])


@dataclass(frozen=True, slots=True)
class Grouping:
    """How instances of a class are found."""

    method: Method = "watershed"
    share: float = 0.5  # of the class, from which a pixel belongs to it
    peak: float = 0.08  # how far a maximum of depth must rise; for centres, how hot one must be
    smallest: int = 20  # pixels at the working size
    floor: float = 0.05  # of confidence, below which an instance is not given


@dataclass(frozen=True, slots=True)
class Found:
    """Instances of a picture that share no pixel, at the working size."""

    owner: NDArray[np.int32]  # (h, w) number from 1, 0 where there is none
    class_index: NDArray[np.int64]  # (N,) from 0
    confidences: NDArray[np.float64]  # (N,)

    def masks(self) -> Iterator[tuple[int, tuple[slice, slice], NDArray[np.bool_]]]:
        """Number from 0, box, and the mask inside the box, of each instance."""
        from scipy import ndimage  # noqa: PLC0415 - the core install has none

        for number, box in enumerate(ndimage.find_objects(self.owner)):
            if box is not None:
                yield number, box, self.owner[box] == number + 1


def group(maps: Maps, rules: tuple[Grouping, ...]) -> list[Found]:
    """What is found in a picture; one rule for all classes together, or one for each class by itself.

    With one rule every pixel belongs to at most one instance, which gets the class that its pixels say most.
    """
    if len(rules) == 1:
        inside = 1 - maps.classes[0]
        owner = _grouped(inside, maps, rules[0])
        return [_kept(owner, maps, maps.classes[1:], rules[0])]
    found = []
    for index, rule in enumerate(rules):
        own = maps.classes[index + 1]
        owner = _grouped(own, maps, rule)
        kept = _kept(owner, maps, own[None], rule)
        found.append(Found(kept.owner, kept.class_index + index, kept.confidences))
    return found


def _grouped(inside: Floats, maps: Maps, rule: Grouping) -> NDArray[np.int32]:
    """(h, w) numbers of the instances that the pixels inside form."""
    from scipy import ndimage  # noqa: PLC0415 - see Found.masks

    mask = inside > rule.share
    if not mask.any():
        return np.zeros(mask.shape, np.int32)
    if rule.method == "components":
        owner: NDArray[np.int32] = ndimage.label(mask)[0].astype(np.int32)
        return owner
    if rule.method == "watershed":
        return _flooded(mask, maps.depth, rule.peak)
    return _voted(mask, maps, rule.peak)


def _flooded(mask: NDArray[np.bool_], depth: Floats, rise: float) -> NDArray[np.int32]:
    """Basins of depth, flooded from maxima that rise by this much."""
    from scipy import ndimage  # noqa: PLC0415
    from skimage.morphology import reconstruction  # noqa: PLC0415
    from skimage.segmentation import watershed  # noqa: PLC0415

    smooth = ndimage.gaussian_filter(depth, 0.7) * mask
    lowered = reconstruction(smooth - np.float32(rise), smooth, method="dilation")
    tops = (smooth - lowered >= np.float32(rise) * np.float32(0.999)) & mask
    markers, _ = ndimage.label(tops)
    # A part without a maximum of its own is an instance all the same.
    parts, count = ndimage.label(mask)
    bare = np.ones(count + 1, np.bool_)
    bare[parts[markers > 0]] = False
    bare[0] = False
    lonely = bare[parts]
    markers = np.where(lonely, parts + markers.max(), markers)
    flooded: NDArray[np.int32] = watershed(-smooth, markers, mask=mask).astype(np.int32)
    return flooded


def _voted(mask: NDArray[np.bool_], maps: Maps, hot: float) -> NDArray[np.int32]:
    """Each pixel to the hot centre that lies nearest to the place it points to."""
    from scipy import ndimage  # noqa: PLC0415

    smooth = ndimage.gaussian_filter(maps.heat, 0.7)
    tops = (ndimage.maximum_filter(smooth, 5) == smooth) & (smooth > hot) & mask
    markers, count = ndimage.label(tops, structure=np.ones((3, 3)))
    if not count:
        owner: NDArray[np.int32] = ndimage.label(mask)[0].astype(np.int32)
        return owner
    near = ndimage.distance_transform_edt(markers == 0, return_distances=False, return_indices=True)
    rows, columns = np.nonzero(mask)
    height, width = mask.shape
    down = np.clip(np.rint(rows + maps.offset[0][mask]), 0, height - 1).astype(np.intp)
    across = np.clip(np.rint(columns + maps.offset[1][mask]), 0, width - 1).astype(np.intp)
    voted = np.zeros(mask.shape, np.int32)
    voted[mask] = markers[near[0][down, across], near[1][down, across]]
    return voted


def _kept(owner: NDArray[np.int32], maps: Maps, shares: Floats, rule: Grouping) -> Found:
    """The instances that are large and sure enough: confidence is the mean share of the class times the peak.

    The peak is the highest heat inside; a prediction that shows no centre is rarely one whole instance.
    """
    from scipy import ndimage  # noqa: PLC0415

    count = int(owner.max(initial=0))
    flat = owner.ravel()
    areas = np.bincount(flat, minlength=count + 1)[1:]
    sums = np.stack([np.bincount(flat, share.ravel(), count + 1)[1:] for share in shares])
    means = sums / np.maximum(areas, 1)
    peaks = np.ones(0) if not count else ndimage.maximum(maps.heat, owner, np.arange(1, count + 1))
    class_index = means.argmax(axis=0) if count else np.zeros(0, np.int64)
    confidences = np.round(means.max(axis=0, initial=0) * np.asarray(peaks), 5)
    good = (areas >= rule.smallest) & (confidences >= rule.floor)
    table = np.zeros(count + 1, np.int32)
    table[np.flatnonzero(good) + 1] = np.arange(1, int(good.sum()) + 1)
    return Found(table[owner], class_index[good].astype(np.int64), confidences[good])
