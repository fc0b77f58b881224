"""Average precision over instances of several classes, with ignored regions (WAD 2018)."""

from __future__ import annotations

from fractions import Fraction  # noqa: TC003 - read at run time: a field's type is its grammar
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from segjudge.errors import UsageError
from segjudge.integers import distinct
from segjudge.matching import Bits, Integers, claim, dropped_bits
from segjudge.metrics import curves
from segjudge.metrics.scores import Facts, Scores, Tally, mean
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from segjudge.instances import Instances

__all__ = ["AveragePrecision", "AveragePrecisionTally"]


@dataclass(frozen=True, slots=True, eq=False)
class AveragePrecisionTally(Tally):
    """A line for each prediction, and one for each truth that is evaluated."""

    image: Integers  # (N,) of the predictions
    class_ids: Integers  # (N,)
    confidences: NDArray[np.float64]  # (N,)
    hits: Bits  # (N,) thresholds at which the prediction is a true positive
    dropped: Bits  # (N,) thresholds at which it is removed
    rows: Integers  # (N,) line of the file
    truth_image: Integers  # (M,)
    truth_class_ids: Integers  # (M,)

    tables: ClassVar[tuple[tuple[str, ...], ...]] = (
        ("image", "class_ids", "confidences", "hits", "dropped", "rows"),
        ("truth_image", "truth_class_ids"),
    )


@dataclass(frozen=True, slots=True)
class AveragePrecision:
    """Mean over classes and thresholds of the area under the precision-recall curve.

    Truths are `class_ids > 0` and not ignored; ignored ones carry the class whose group they are, 0 for
    regions that count for every class.
    """

    thresholds: tuple[Fraction, ...]
    strict: bool
    recall: Literal["101", "step-area", "pycocotools"]
    average: Literal["pooled", "clip"]
    ignore: Literal["iou", "crowd", "cityscapes"]
    ignore_scope: Literal["any", "class"]
    ties: Literal["free", "file"]
    absent_class: Literal["left out", "zero"]

    breakdowns: ClassVar[frozenset[str]] = frozenset({"class", "threshold", "image"})
    needs: ClassVar[frozenset[str]] = frozenset({"image", "class", "confidence", "runs"})

    def tally(self, truths: Instances, predictions: Instances, images: Integers) -> AveragePrecisionTally:
        """Matches within each image and class, after removing what lies on ignored regions."""
        dropped = self._dropped(truths, predictions)
        # Ignored regions are in no group: nothing can match them.
        groups = _image_and_class(predictions), np.where(truths.ignored, -1, _image_and_class(truths))
        overlaps = predictions.masks.overlaps(truths.masks, groups, least=min(self.thresholds))
        matches = claim(overlaps, predictions, dropped, self.thresholds, strict=self.strict)
        evaluated = ~truths.ignored
        return AveragePrecisionTally(
            images[predictions.image],
            predictions.class_ids,
            predictions.confidences,
            matches.hits,
            dropped,
            predictions.rows,
            images[truths.image[evaluated]],
            truths.class_ids[evaluated],
        )

    def _dropped(self, truths: Instances, predictions: Instances) -> Bits:
        """The thresholds at which ignored regions remove each prediction."""
        groups = predictions.image, np.where(truths.ignored, truths.image, -1)
        least = min(self.thresholds) if self.ignore == "iou" else None  # the other rules ask for shares
        overlaps = predictions.masks.overlaps(truths.masks, groups, least=least)
        if self.ignore_scope == "class":
            region_class = truths.class_ids[overlaps.truth]
            overlaps = overlaps[
                (region_class == 0) | (region_class == predictions.class_ids[overlaps.prediction])
            ]
        return dropped_bits(
            overlaps, self.ignore, truths.masks, predictions.masks, self.thresholds, strict=self.strict
        )

    def score(self, tally: AveragePrecisionTally, facts: Facts, by: frozenset[str]) -> Scores:
        """Exact counts first; the first floats are precisions, correctly rounded, and sums without error."""
        if self.average == "clip" and facts.clips is None:
            raise UsageError(
                "The setting average=clip needs to know the clip of every image.",
                "Give --images with a file that has a column Clip.",
            )
        clips = facts.clips if self.average == "clip" and facts.clips is not None else None
        parts = self._parts(tally, clips, facts.classes, zeros=self.absent_class == "zero")
        by_image: dict[tuple[int, int], float | None] = {}
        if "image" in by:
            images = np.arange(int(facts.images.max(initial=-1)) + 1)
            alone = self._parts(tally, images, facts.classes, zeros=False)
            by_image = {(image, -1): _mean_of(alone.get(image, {})) for image in facts.images.tolist()}
        return Scores(
            mean(value for value in map(_mean_of, parts.values()) if value is not None),
            by_class=self._by_class(tally, clips, facts.classes) if "class" in by else {},
            by_threshold=self._by_threshold(parts) if "threshold" in by else {},
            by_image=by_image,
        )

    def _parts(
        self, tally: AveragePrecisionTally, part_of: Integers | None, classes: tuple[int, ...], *, zeros: bool
    ) -> dict[int, dict[int, list[float]]]:
        """AP by threshold, for each class that counts in each part; parts without truth are left out."""
        ties_by_row = tally.rows if self.ties == "file" else None
        part = np.zeros(len(tally.image), np.int64) if part_of is None else part_of[tally.image]
        truth_part = (
            np.zeros(len(tally.truth_image), np.int64) if part_of is None else part_of[tally.truth_image]
        )
        everything = [0] if part_of is None else distinct(truth_part).tolist()
        truths = curves.group_counts(truth_part, tally.truth_class_ids)
        members = curves.group_members(part, tally.class_ids)
        parts: dict[int, dict[int, list[float]]] = {}
        for number in everything:
            precisions = {}
            for class_id in classes:
                count = truths.get((number, class_id), 0)
                if count:
                    mine = members.get((number, class_id), np.zeros(0, np.int64))
                    curve = curves.Ranking.of(
                        tally.confidences[mine],
                        tally.hits[mine],
                        tally.dropped[mine],
                        None if ties_by_row is None else ties_by_row[mine],
                    )
                    precisions[class_id] = curves.average_precisions(
                        curve, count, len(self.thresholds), self.recall
                    )
                elif zeros:
                    precisions[class_id] = [0.0] * len(self.thresholds)
            if precisions:
                parts[number] = precisions
        return parts

    def _by_class(
        self, tally: AveragePrecisionTally, clips: Integers | None, classes: tuple[int, ...]
    ) -> dict[int, float | None]:
        """The mean over thresholds, and over the clips in which the class has truth."""
        parts = self._parts(tally, clips, classes, zeros=False)
        absent = 0.0 if self.absent_class == "zero" else None
        table = {}
        for class_id in classes:
            values = [mean(precisions[class_id]) for precisions in parts.values() if class_id in precisions]
            known = mean(value for value in values if value is not None)
            table[class_id] = absent if known is None else known
        return table

    def _by_threshold(self, parts: Mapping[int, Mapping[int, list[float]]]) -> dict[Fraction, float | None]:
        table = {}
        for place, threshold in enumerate(self.thresholds):
            each = [mean(values[place] for values in classes.values()) for classes in parts.values()]
            table[threshold] = mean(value for value in each if value is not None)
        return table


def _image_and_class(instances: Instances) -> Integers:
    """A number for each pair of image and class, so that only those of one pair meet."""
    return instances.image << 32 | instances.class_ids


def _mean_of(classes: Mapping[int, list[float]]) -> float | None:
    """Mean over classes and thresholds."""
    return mean(value for values in classes.values() for value in values)
