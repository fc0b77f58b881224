"""Average precision over instances of several classes, with ignored regions (WAD 2018)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction  # noqa: TC003 - read at run time: a field's type is its grammar
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from segjudge.errors import UsageError
from segjudge.matching import Bits, Integers, claim, dropped_bits
from segjudge.metrics.curves import Averages, Groups, Ranking
from segjudge.metrics.scores import Facts, Scores, Tally, mean
from segjudge.records import dataclass

if TYPE_CHECKING:
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
        clips = facts.clips if self.average == "clip" else None
        ranking = Ranking.of(
            tally.confidences, tally.hits, tally.dropped, tally.rows if self.ties == "file" else None
        )
        averages = self._averages(tally, ranking, clips, facts.classes)
        by_image: dict[tuple[int, int], float | None] = {}
        if "image" in by:
            images = np.arange(int(facts.images.max(initial=-1)) + 1)
            alone = replace(self._averages(tally, ranking, images, facts.classes), classes=None).of_parts()
            by_image = {(image, -1): alone.get(image) for image in facts.images.tolist()}
        return Scores(
            mean(averages.of_parts().values()),
            by_class=self._by_class(averages, facts.classes) if "class" in by else {},
            by_threshold=dict(zip(self.thresholds, averages.of_thresholds(), strict=True))
            if "threshold" in by
            else {},
            by_image=by_image,
        )

    def _averages(
        self,
        tally: AveragePrecisionTally,
        ranking: Ranking,
        part_of: Integers | None,
        classes: tuple[int, ...],
    ) -> Averages:
        """The curves of every class in every part; `part_of` the images, or one part without it."""
        groups = Groups.of(
            tally.image, tally.class_ids, tally.truth_image, tally.truth_class_ids, part_of, classes
        )
        values = ranking.average_precisions(groups.members, groups.truths, len(self.thresholds), self.recall)
        return Averages(groups, values, len(classes) if self.absent_class == "zero" else None)

    def _by_class(self, averages: Averages, classes: tuple[int, ...]) -> dict[int, float | None]:
        """The mean over thresholds, and over the clips in which the class has truth."""
        known = averages.of_classes()
        absent = 0.0 if self.absent_class == "zero" else None
        return {class_id: known.get(class_id, absent) for class_id in classes}


def _image_and_class(instances: Instances) -> Integers:
    """A number for each pair of image and class, so that only those of one pair meet."""
    return instances.image << 32 | instances.class_ids
