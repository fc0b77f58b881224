"""What the detection metric learns from some images: who matched whom, in each area range."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.errors import MaskError
from segjudge.metrics.scores import Tally
from segjudge.records import dataclass

if TYPE_CHECKING:
    from segjudge.instances import Instances
    from segjudge.matching import Integers

__all__ = ["DetectionTally", "matched"]

Floats = NDArray[np.float64]
FewBits = NDArray[np.uint16] | NDArray[np.uint64]  # as many as there are thresholds


@dataclass(frozen=True, slots=True, eq=False)
class DetectionTally(Tally):
    """A line for each prediction within the cap of its image and class, and one for each truth."""

    image: Integers  # (N,) of the predictions
    class_ids: Integers  # (N,)
    confidences: Floats  # (N,)
    ranks: Integers  # (N,) place among its image's and class's, from the most confident
    hits: FewBits  # (N, A) thresholds at which the prediction is a true positive, in each area range
    dropped: FewBits  # (N, A) thresholds at which it counts for nothing
    truth_image: Integers  # (M,)
    truth_class_ids: Integers  # (M,)
    counted: NDArray[np.uint8]  # (M, A) 1 where the truth counts in the area range

    tables: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("image", "class_ids", "confidences", "ranks", "hits", "dropped"),
        ("truth_image", "truth_class_ids", "counted"),
    )


def matched(
    truths: Instances,
    predictions: Instances,
    images: Integers,
    thresholds: Floats,
    ranges: Floats,
    cap: int,
) -> DetectionTally:
    """The tally of a chunk: each image and class matched at all thresholds (T,) and area ranges (A, 2)."""
    order = kernels.ranked_order(
        predictions.image, predictions.class_ids, predictions.confidences, predictions.rows
    )
    keys = _image_and_class(predictions)[order]
    ranks = _ranks(keys)
    kept = ranks < cap
    if not kept.all():
        order, keys, ranks = order[kept], keys[kept], ranks[kept]
    truth_order = kernels.ranked_order(truths.image, truths.class_ids, np.zeros(len(truths)), truths.rows)
    crowd = truths.crowds
    place, truth, iou = _overlaps(predictions, order, keys, truths, truth_order, crowd, thresholds.min())
    aside = _outside(truths, ranges) | (crowd | truths.ignored)[:, None]
    apart = _outside(predictions, ranges)[order]
    hits, dropped, _ = kernels.match_detections(
        place, truth, iou, thresholds, crowd.view(np.uint8), aside.view(np.uint8), apart.view(np.uint8)
    )
    return DetectionTally(
        images[predictions.image[order]],
        predictions.class_ids[order],
        predictions.confidences[order],
        ranks,
        _few(hits, len(thresholds)),
        _few(dropped, len(thresholds)),
        images[truths.image],
        truths.class_ids,
        (~aside).view(np.uint8),
    )


def _few(bits: NDArray[np.uint64], count: int) -> FewBits:
    """The bits in as few bytes as hold so many."""
    return bits.astype(np.uint16) if count <= 16 else bits


def _image_and_class(instances: Instances) -> Integers:
    return instances.image << 32 | instances.class_ids


def _heads(keys: Integers) -> Integers:
    """Where each group of equal keys begins, and the end of the last."""
    if not len(keys):
        return np.zeros(1, np.int64)
    return np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1, [len(keys)]]).astype(np.int64)


def _ranks(keys: Integers) -> Integers:
    """The place of each within its group of equal keys, which stand together."""
    heads = _heads(keys)
    ranks: Integers = np.arange(len(keys), dtype=np.int64) - np.repeat(heads[:-1], np.diff(heads))
    return ranks


def _overlaps(
    predictions: Instances,
    order: Integers,
    keys: Integers,
    truths: Instances,
    truth_order: Integers,
    crowd: NDArray[np.bool_],
    least: float,
) -> tuple[Integers, Integers, Floats]:
    """(K,) place in the order, truth, and IoU of the pairs whose IoU is the least or more, in the order of choice.

    For a crowd it is the share of the prediction that lies in it.
    """
    masks, others = predictions.masks, truths.masks
    if len(masks) and len(others) and masks.order != others.order:
        raise MaskError(
            f"Masks in {masks.order} order cannot meet masks in {others.order} order.",
            "Decode both in one order.",
        )
    return kernels.detection_overlaps(
        masks.starts, masks.stops, masks.indptr, masks.extents, masks.areas, order, keys,
        others.starts, others.stops, others.indptr, others.extents, others.areas, truth_order,
        _image_and_class(truths)[truth_order], crowd.view(np.uint8), least,
    )  # fmt: skip


def _outside(instances: Instances, ranges: Floats) -> NDArray[np.bool_]:
    """(N, A) whether the area lies outside each range, both of whose ends belong to it."""
    areas = instances.range_areas
    outside: NDArray[np.bool_] = (areas[:, None] < ranges[:, 0]) | (areas[:, None] > ranges[:, 1])
    return outside
