"""Detection: from the tally to the twelve numbers of COCO and their parts."""

from __future__ import annotations

import itertools
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from segjudge import kernels
from segjudge.metrics.detection.tally import DetectionTally, matched
from segjudge.metrics.scores import Facts, Scores, mean
from segjudge.records import dataclass

if TYPE_CHECKING:
    from segjudge.instances import Instances
    from segjudge.matching import Integers
    from segjudge.metrics.detection.tally import FewBits

__all__ = ["AreaRange", "Curves", "Detection"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AreaRange:
    """Truths and predictions of `least` to `most` pixels, both included."""

    name: str
    least: Fraction
    most: Fraction

    def __str__(self) -> str:
        return f"{self.name}: {self.least} to {self.most}"


@dataclass(frozen=True, slots=True, eq=False)
class Curves:
    """Precision and recall in COCO's layout, -1 where no truth counts.

    T thresholds, R recall levels, K classes, A area ranges, M caps.
    """

    classes: tuple[int, ...]  # K class ids, ascending
    precision: Floats  # (T, R, K, A, M) the best at each recall level or later
    confidence: Floats  # (T, R, K, A, M) of the prediction that reaches the level
    recall: Floats  # (T, K, A, M) the largest


@dataclass(frozen=True, slots=True)
class Detection:
    """Mean over classes and thresholds of interpolated precision, as COCO's own program computes it.

    "AP is averaged over all categories", "over multiple Intersection over Union (IoU) values", and over 101
    recall levels. The first area range is the score's; the last cap is that of every number but AR1 and
    AR10. Thresholds and recall levels are floats in equal steps, compared with ≥; predictions of equal
    confidence go by image id, as number or as text as the truth has it, then by their place in the file.
    """

    thresholds: tuple[Fraction, ...]
    recall_levels: int
    areas: tuple[AreaRange, ...]
    caps: tuple[int, ...]

    breakdowns: ClassVar[frozenset[str]] = frozenset({"class", "threshold", "area", "image"})
    needs: ClassVar[frozenset[str]] = frozenset({"image", "class", "confidence", "runs"})

    def __post_init__(self) -> None:
        """Raise ValueError where the options make no metric."""
        if any(not 0 < threshold < 1 for threshold in self.thresholds):
            raise ValueError("a threshold lies between 0 and 1")
        if list(self.thresholds) != sorted(self.thresholds):
            raise ValueError("thresholds ascend")
        if self.recall_levels < 2:
            raise ValueError("there are at least two recall levels, 0 and 1")
        if not self.areas or len({area.name for area in self.areas}) != len(self.areas):
            raise ValueError("areas are ranges, each with a name of its own")
        if not self.caps or list(self.caps) != sorted(set(self.caps)) or self.caps[0] < 1:
            raise ValueError("caps are ascending numbers of predictions")

    def tally(self, truths: Instances, predictions: Instances, images: Integers) -> DetectionTally:
        """Matches within each image and class, in every area range."""
        ranges = np.array([[float(area.least), float(area.most)] for area in self.areas])
        return matched(truths, predictions, images, self.float_thresholds(), ranges, self.caps[-1])

    def score(self, tally: DetectionTally, facts: Facts, by: frozenset[str]) -> Scores:
        """The mean precision, with COCO's other numbers as `metrics`."""
        classes = _classes(tally, facts)
        ranking = _Ranking.of(tally, facts, np.array(classes, np.int64))
        average, recall = self._curves(ranking, self.caps)[:2]  # (K, A, T), (K, A, T, M)
        by_image: dict[tuple[int, int], float | None] = {}
        if "image" in by:
            alone = self._alone(tally, facts)
            by_image = {(image, -1): alone.get(image) for image in facts.images.tolist()}
        by_class = zip(classes, average[:, 0], strict=True)
        by_threshold = zip(self.thresholds, average[:, 0].T, strict=True)
        by_area = zip(self.areas, average.transpose(1, 0, 2), strict=True)
        return Scores(
            _defined(average[:, 0]),
            by_class={c: _defined(values) for c, values in by_class} if "class" in by else {},
            by_threshold={t: _defined(values) for t, values in by_threshold} if "threshold" in by else {},
            by_area={area.name: _defined(values) for area, values in by_area} if "area" in by else {},
            by_image=by_image,
            metrics=self._metrics(average, recall),
        )

    def curves(self, tally: DetectionTally, facts: Facts) -> Curves:
        """Precision and recall at every threshold, level, class, area range and cap."""
        classes = _classes(tally, facts)
        ranking = _Ranking.of(tally, facts, np.array(classes, np.int64))
        parts = [self._curves(ranking, (cap,), whole=True) for cap in self.caps]
        precision, confidence = (
            np.stack([part[place].transpose(2, 3, 0, 1) for part in parts], axis=-1) for place in (2, 3)
        )
        recall = np.concatenate([part[1].transpose(2, 0, 1, 3) for part in parts], axis=-1)
        return Curves(classes, precision, confidence, recall)

    def _metrics(self, average: Floats, recall: Floats) -> dict[str, float | None]:
        names = [area.name for area in self.areas[1:]]
        initials = [name[:1] for name in names]
        short = initials if len(set(initials)) == len(initials) else names
        metrics = {"AP": _defined(average[:, 0])}
        for threshold in (Fraction(1, 2), Fraction(3, 4)):
            if threshold in self.thresholds:
                place = self.thresholds.index(threshold)
                metrics[f"AP{int(100 * threshold)}"] = _defined(average[:, 0, place])
        for place, name in enumerate(short, start=1):
            metrics[f"AP{name}"] = _defined(average[:, place])
        for place, cap in enumerate(self.caps):
            metrics[f"AR{cap}"] = _defined(recall[:, 0, :, place])
        for place, name in enumerate(short, start=1):
            metrics[f"AR{name}"] = _defined(recall[:, place, :, -1])
        return metrics

    def _alone(self, tally: DetectionTally, facts: Facts) -> dict[int, float | None]:
        """AP of each image that has truth which counts, as if there were no other image."""
        counted = tally.counted[:, 0] > 0
        groups = np.unique(tally.truth_image[counted] << 32 | tally.truth_class_ids[counted])
        ranking = _Ranking.of(tally, facts, groups, by_image=True)
        average = self._curves(ranking, self.caps[-1:])[0].ravel().tolist()  # defined: every group has truth
        bounds = np.flatnonzero(np.diff(groups >> 32, prepend=-1, append=-1))
        images, size = (groups[bounds[:-1]] >> 32).tolist(), len(self.thresholds)
        return {
            image: mean(average[begin * size : end * size])
            for image, (begin, end) in zip(images, itertools.pairwise(bounds.tolist()), strict=True)
        }

    def _curves(
        self, ranking: _Ranking, caps: tuple[int, ...], *, whole: bool = False
    ) -> tuple[Floats, Floats, Floats, Floats]:
        return kernels.detection_curves(
            ranking.order,
            ranking.groups,
            ranking.confidences,
            ranking.ranks,
            ranking.hits,
            ranking.dropped,
            ranking.truths,
            np.linspace(0.0, 1.0, self.recall_levels),
            len(self.thresholds),
            np.array(caps, np.int64),
            whole=whole,
        )

    def float_thresholds(self) -> Floats:
        """The thresholds as COCO's program has them: in equal steps from the first to the last."""
        first, last, count = self.thresholds[0], self.thresholds[-1], len(self.thresholds)
        step = (last - first) / max(count - 1, 1)
        if all(t == first + place * step for place, t in enumerate(self.thresholds)):
            return np.linspace(float(first), float(last), count)
        return np.array([float(threshold) for threshold in self.thresholds])


@dataclass(frozen=True, slots=True, eq=False)
class _Ranking:
    """The predictions of some groups from the most to the least confident, and the truths of each group."""

    order: Integers  # (n,) places of the predictions, by group and confidence
    groups: Integers  # (N,) of the predictions
    confidences: Floats  # (N,)
    ranks: Integers  # (N,)
    hits: FewBits  # (N, A)
    dropped: FewBits  # (N, A)
    truths: Integers  # (G, A)

    @classmethod
    def of(cls, tally: DetectionTally, facts: Facts, groups: Integers, *, by_image: bool = False) -> _Ranking:
        """The ranking by class, or by image and class with the first area range alone."""
        keys, truth_keys = tally.class_ids, tally.truth_class_ids
        hits, dropped, counted = tally.hits, tally.dropped, tally.counted
        if by_image:
            keys, truth_keys = tally.image << 32 | keys, tally.truth_image << 32 | truth_keys
            hits, dropped = hits[:, :1].copy(), dropped[:, :1].copy()
            counted = counted[:, :1]
        group, known = _places(groups, keys)
        truth_group, truth_known = _places(groups, truth_keys)
        truths = [
            np.bincount(truth_group[truth_known & (column > 0)], minlength=len(groups))
            for column in counted.T
        ]
        ties = _id_ranks(facts)[tally.image] << 32 | tally.ranks
        order = kernels.ranked_order(group, (~known).astype(np.int64), tally.confidences, ties)
        return cls(
            order if known.all() else order[known[order]],
            group,
            tally.confidences,
            tally.ranks,
            hits,
            dropped,
            np.stack(truths, axis=1).astype(np.int64),
        )


def _places(known: Integers, keys: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Where each key stands among the ascending known ones, and whether it does."""
    if not len(known):
        return np.zeros(len(keys), np.int64), np.zeros(len(keys), np.bool_)
    if known[0] < 0 or known[-1] > len(keys) + (1 << 16):
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1).astype(np.int64)
        return place, known[place] == keys
    table = np.full(known[-1] + 2, -1, np.int64)  # small numbers, as classes are, are looked up
    table[known] = np.arange(len(known))
    place = table[np.where((keys >= 0) & (keys <= known[-1]), keys, -1)]
    return np.maximum(place, 0), place >= 0


def _id_ranks(facts: Facts) -> Integers:
    """The rank of each image id: by number if all are whole numbers, else as text.

    Ids that the truth quotes are texts to COCO's program, and "10" stands before "9".
    """
    keys: list[Any] = list(facts.ids)
    together = "".join(facts.ids).replace("-", "")
    if not facts.quoted and together.isascii() and together.isdigit():
        with suppress(ValueError):  # "1-2" and "" are no numbers
            keys = list(map(int, facts.ids))
    ranks = np.empty(len(keys), np.int64)
    ranks[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
    return ranks


def _classes(tally: DetectionTally, facts: Facts) -> tuple[int, ...]:
    """The classes of the task, else those that occur."""
    if facts.classes:
        return tuple(sorted(facts.classes))
    return tuple(np.union1d(tally.class_ids, tally.truth_class_ids).tolist())


def _defined(values: Floats) -> float | None:
    """The mean of what is not -1."""
    return mean(values[values > -1].tolist())
