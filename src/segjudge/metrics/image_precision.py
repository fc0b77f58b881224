"""Mean precision of an image over IoU thresholds, then over images (Data Science Bowl 2018)."""

from __future__ import annotations

from fractions import Fraction  # noqa: TC003 - read at run time: a field's type is its grammar
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from segjudge.matching import Bits, Integers, one_to_one
from segjudge.metrics.scores import Facts, Scores, Tally, mean
from segjudge.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from segjudge.instances import Instances

__all__ = ["ImagePrecision", "ImagePrecisionTally"]


@dataclass(frozen=True, slots=True, eq=False)
class ImagePrecisionTally(Tally):
    """A line for each image."""

    image: Integers  # (N,)
    truths: Integers  # (N,)
    predictions: Integers  # (N,)
    tp: Integers  # (N, T) true positives at each threshold

    tables: ClassVar[tuple[tuple[str, ...], ...]] = (("image", "truths", "predictions", "tp"),)


@dataclass(frozen=True, slots=True)
class ImagePrecision:
    """Mean of the images' own scores: "the mean taken over the individual average precisions of each image"."""

    thresholds: tuple[Fraction, ...]
    strict: bool
    empty: Literal["1", "0", "skip"]

    breakdowns: ClassVar[frozenset[str]] = frozenset({"threshold", "image"})
    needs: ClassVar[frozenset[str]] = frozenset({"image", "runs"})

    def tally(self, truths: Instances, predictions: Instances, images: Integers) -> ImagePrecisionTally:
        """Objects and hits of each image; masks without a pixel say that there is no object."""
        truths, predictions = _filled(truths), _filled(predictions)
        groups = (
            predictions.image << 32 | predictions.class_ids,
            truths.image << 32 | truths.class_ids,
        )
        overlaps = predictions.masks.overlaps(truths.masks, groups, least=min(self.thresholds))
        matches = one_to_one(overlaps, self.thresholds, strict=self.strict)
        count = len(images)
        tp = [
            np.bincount(predictions.image, weights=_bit(matches.hits, place), minlength=count)
            for place in range(len(self.thresholds))
        ]
        return ImagePrecisionTally(
            images,
            np.bincount(truths.image, minlength=count).astype(np.int64),
            np.bincount(predictions.image, minlength=count).astype(np.int64),
            np.stack(tp, axis=1).astype(np.int64),
        )

    def score(self, tally: ImagePrecisionTally, facts: Facts, by: frozenset[str]) -> Scores:
        """TP / (TP + FP + FN) at each threshold, mean over thresholds, mean over images."""
        objects = tally.truths + tally.predictions
        denominators = objects[:, None] - tally.tp
        precision = np.where(
            denominators > 0, tally.tp / np.maximum(denominators, 1), float(self.empty == "1")
        )
        alone = [mean(row) for row in precision.tolist()]
        counts = (objects > 0) | (self.empty != "skip")
        means = {
            image: value if counted else None
            for image, value, counted in zip(tally.image.tolist(), alone, counts.tolist(), strict=True)
        }
        by_threshold: dict[Fraction, float | None] = {}
        if "threshold" in by:
            columns = precision[counts].T.tolist()
            by_threshold = {t: mean(column) for t, column in zip(self.thresholds, columns, strict=True)}
        return Scores(
            mean(value for value in means.values() if value is not None),
            by_threshold=by_threshold,
            by_image={(image, -1): means[image] for image in facts.images.tolist()} if "image" in by else {},
        )


def _filled(instances: Instances) -> Instances:
    """Those that have a pixel: mostly all of them, which then need no copy."""
    filled = instances.masks.areas > 0
    return instances if filled.all() else instances[filled]


def _bit(bits: Bits, place: int) -> NDArray[np.int64]:
    return (bits >> np.uint64(place) & np.uint64(1)).astype(np.int64)
