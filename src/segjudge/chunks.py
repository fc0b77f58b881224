"""One chunk of images through the pipe: read both sides, check, overlap, match, tally."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from segjudge.findings import Collector, Where
from segjudge.formats.source import Divisible, Part
from segjudge.images import Images
from segjudge.metrics import is_metric
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segjudge.contest import Contest
    from segjudge.formats.source import Reading
    from segjudge.instances import Instances
    from segjudge.masks import Masks
    from segjudge.task import Task

__all__ = ["Outcome", "Reader", "plan", "shared_pixels"]

Integers = NDArray[np.int64]

# Bytes of text, or what costs as much: smaller chunks cost more calls, larger ones more memory.
_LEAST, _MOST = 1 << 18, 1 << 23
_TURNS = 6  # chunks of each of several workers, at least, so that all end at nearly the same time
_MOST_IMAGES = 512
_PAIRWISE = 256  # masks of one image: more are swept, for pairs grow with the square


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a chunk gave."""

    tally: Any  # None where nothing is scored
    submission: Collector
    truth: Collector
    counts: Integers | None = None  # (images of the chunk, 3) truths, ignored regions and predictions


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """All that a thread or process needs for chunks of a contest; it can be pickled."""

    task: Task
    images: Images
    submission: Reading | None
    truth: Reading | None
    submission_label: str
    truth_label: str
    cap: int | None

    @classmethod
    def of(cls, contest: Contest, cap: int | None, *, with_truth: bool) -> Reader:
        """The reader of a contest; without the truth chunks are only checked."""
        submission, truth = contest.submission, contest.truth
        return cls(
            contest.task,
            contest.images,
            submission.source if submission else None,
            truth.source if truth and with_truth else None,
            submission.label if submission else "",
            truth.label if truth else "",
            cap,
        )

    def run(self, places: Integers, *, scored: bool, numbers: Integers | None = None) -> Outcome:
        """One chunk of images, checked, and tallied where it is scored.

        `numbers` are the images' places among all, where those of this reader are others.
        """
        found, faults = Collector(self.cap), Collector(self.cap)
        predictions = truths = None
        if self.submission is not None:
            chunk = self.submission.read(places, self.cap)
            predictions = chunk.instances
            found.absorb(chunk.findings)
            if getattr(self.task.submission, "overlapping", None) == "error":
                _find_overlaps(predictions, predictions.image, found, self.submission_label, "error")
        if self.truth is not None and scored:
            chunk = self.truth.read(places, self.cap)
            truths = chunk.instances
            faults.absorb(chunk.findings)
            self._check_truths(truths, faults)
        if truths is None:
            return Outcome(None, found, faults)
        tally = None
        if predictions is not None and not found.errors and not faults.errors:
            tally = self.task.metric.tally(truths, predictions, places if numbers is None else numbers)
        return Outcome(tally, found, faults, self._counts(truths, predictions, len(places)))

    def _counts(self, truths: Instances, predictions: Instances | None, images: int) -> Integers:
        """(images, 3) what there is of each image; empty masks count for nothing but in detection."""
        empty_too = is_metric(self.task.metric, "detection")
        aside = truths.ignored | truths.crowds
        filled = (truths.masks.areas > 0) | empty_too
        groups = [truths.image[filled & ~aside], truths.image[filled & aside]]
        groups.append(
            np.zeros(0, np.int64)
            if predictions is None
            else predictions.image[(predictions.masks.areas > 0) | empty_too]
        )
        return np.stack([np.bincount(group, minlength=images) for group in groups], axis=1)

    def part(self, places: Integers, *, carried: bool) -> Reader:
        """A reader of these images alone, numbered anew from 0, to be sent elsewhere."""
        return Reader(
            self.task,
            Images.of(()),
            _part_of(self.submission, places, carried=carried),
            _part_of(self.truth, places, carried=carried),
            self.submission_label,
            self.truth_label,
            self.cap,
        )

    def _check_truths(self, truths: Instances, faults: Collector) -> None:
        if is_metric(self.task.metric, "average-precision"):
            # Ignored regions may lie under anything: each is a group of its own.
            group = np.where(
                truths.ignored, -1 - np.arange(len(truths)), truths.image << 32 | truths.class_ids
            )
            _find_overlaps(truths, group, faults, self.truth_label, "error")
        elif getattr(self.task.submission, "overlapping", None) is not None:
            _find_overlaps(truths, truths.image, faults, self.truth_label, "warning")


def _part_of(side: Reading | None, places: Integers, *, carried: bool) -> Reading | None:
    if side is None:
        return None
    return side.part(places, carried=carried) if isinstance(side, Divisible) else Part(side, places)


def plan(contest: Contest, *, with_truth: bool, workers: int = 1) -> list[tuple[Integers, bool]]:
    """Chunks of images of similar cost for so many workers, each with whether it is scored.

    Images of unknown id and images that do not count are checked in chunks of their own.
    """
    weights = np.zeros(len(contest.images), np.int64)
    for opened in (contest.submission, contest.truth if with_truth else None):
        if opened is None or opened.source is None:
            continue
        places = contest.images.find(opened.source.image_ids)
        np.add.at(weights, places[places >= 0], opened.source.weights()[places >= 0])
    counted = np.zeros(len(weights), np.bool_)
    counted[: contest.known] = contest.scored
    cost = _MOST if workers == 1 else int(np.clip(weights.sum() // (_TURNS * workers), _LEAST, _MOST))
    chunks = []
    for scored in (True, False):
        places = np.flatnonzero(counted == scored)
        chunks += [(part, scored) for part in _cut(places, weights[places], cost)]
    return chunks


def _cut(places: Integers, weights: Integers, cost: int) -> Iterator[Integers]:
    if not len(places):
        return
    number = np.maximum(np.cumsum(weights) // cost, np.arange(len(places)) // _MOST_IMAGES)
    bounds = np.flatnonzero(np.concatenate([[True], number[1:] != number[:-1], [True]]))
    for begin, end in itertools.pairwise(bounds):
        yield places[begin:end]


def shared_pixels(masks: Masks, group: Integers) -> Integers:
    """(K, 2) pairs of masks of one group that share a pixel: for every mask that shares any, at least one.

    >>> from segjudge.masks import Masks
    >>> masks = Masks.from_dense(np.array([[[1, 1, 0]], [[0, 1, 1]], [[0, 0, 1]]], bool))
    >>> shared_pixels(masks, np.array([0, 0, 1])).tolist()
    [[0, 1]]
    """
    ordered = np.sort(group)
    if (ordered[_PAIRWISE:] == ordered[:-_PAIRWISE]).any():  # a group of more than so many
        return _swept(masks, group)
    pairs = masks.overlaps(masks, (group, group))
    found = pairs.prediction < pairs.truth
    return np.stack([pairs.prediction[found], pairs.truth[found]], axis=1)


def _swept(masks: Masks, group: Integers) -> Integers:
    """The same by a sweep over all runs by start: its cost does not grow with the number of pairs."""
    owner = np.repeat(np.arange(len(masks)), np.diff(masks.indptr))
    if not len(owner):
        return np.zeros((0, 2), np.int64)
    starts = masks.starts[masks.indptr[0] : masks.indptr[-1]]
    stops = masks.stops[masks.indptr[0] : masks.indptr[-1]]
    # Each group gets a stretch of numbers of its own, so that one sweep serves all.
    rank = np.unique(group, return_inverse=True)[1]
    base = rank[owner] * (int(stops.max()) + 1)
    order = np.argsort(starts + base, kind="stable")
    first, last = (starts + base)[order], (stops + base)[order]
    reach = np.maximum.accumulate(last)
    crossing = np.flatnonzero(first[1:] < reach[:-1]) + 1
    if not len(crossing):
        return np.zeros((0, 2), np.int64)
    furthest = np.maximum.accumulate(np.where(last == reach, np.arange(len(last)), 0))
    pairs = np.stack([owner[order[furthest[crossing - 1]]], owner[order[crossing]]], axis=1)
    pairs.sort(axis=1)
    return np.unique(pairs, axis=0)


def _find_overlaps(
    instances: Instances,
    group: Integers,
    findings: Collector,
    label: str,
    level: Literal["error", "warning"],
) -> None:
    for first, second in shared_pixels(instances.masks, group).tolist():
        if not findings.wants("masks-overlap"):
            findings.count("masks-overlap", level=level)
            continue
        shared = int(instances.masks[[first]].overlaps(instances.masks[[second]]).shared.sum())  # type: ignore[index]
        rows = sorted(int(instances.rows[place]) for place in (first, second))
        image = instances.image_ids[instances.image[first]]
        both = f"The masks of rows {rows[0]} and {rows[1]}" if rows[0] else "Two masks"
        findings.add(
            "masks-overlap",
            Where(file=label, row=rows[1] or None, image=image),
            f"{both} share {shared} pixel{'s' if shared > 1 else ''} of {image!r}.",
            "Give every pixel to one object, such as the more confident one."
            if level == "error"
            else "They are scored as they stand, each matched once at most.",
            level=level,
        )
