"""COCO annotations as a source: polygons become masks when their images are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.findings import Collector
from segjudge.formats.coco.annotations import read_annotations
from segjudge.formats.opening import existing, plain_file
from segjudge.formats.source import ByImage, Chunk
from segjudge.instances import Instances
from segjudge.polygons import Runs, united

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from segjudge.formats.coco.annotations import Annotations
    from segjudge.formats.opening import Workspace
    from segjudge.images import Images
    from segjudge.masks import Order
    from segjudge.task import Task

__all__ = ["CocoTruthSource", "open_coco_truth"]

Integers = NDArray[np.int64]

# What costs as much as bytes of text: a table's run takes some twelve, two crossings draw one.
_CROSSING_COST, _RING_COST, _RUN_COST, _IMAGE_COST = 16, 256, 16, 256


def open_coco_truth(
    path: str | Path, label: str, task: Task, findings: Collector, workspace: Workspace
) -> CocoTruthSource | None:
    """The truth in a COCO annotations file, plain, gzip or the one file of a zip; None if there is none.

    Images are named by `image_key`: "This column will be composed of each `image_id`, and each
    `category_id` for that image", or by the stem of `file_name`. Categories are the task's classes, by
    number. What is wrong with the file is told in findings, and what is at fault left out.
    """
    plain = plain_file(existing(path, workspace), label, findings, task.submission.max_unpacked, workspace)
    if plain is None:
        return None
    annotations = read_annotations(plain, label, task.classes, task.truth.image_key or "id", findings)
    return None if annotations is None else CocoTruthSource(annotations, tuple(task.classes), task.order)


class CocoTruthSource:
    """One mask for each image and class: all that any annotation of the class draws there, or nothing."""

    holds_gil = True

    def __init__(self, annotations: Annotations, classes: Sequence[int], order: Order) -> None:
        self.annotations = annotations
        self.classes = np.array(classes, np.int64)
        self.order: Order = order
        self.image_ids = annotations.image_ids
        self.shapes = annotations.sizes
        # The classes' places in `classes`, and of each ring and mask its class's place.
        ordered = np.argsort(self.classes)
        self._ring_class = ordered[np.searchsorted(self.classes, annotations.ring_class, sorter=ordered)]
        self._mask_class = ordered[np.searchsorted(self.classes, annotations.mask_class, sorter=ordered)]
        self._number = np.zeros(0, np.int64)
        self._ids: tuple[str, ...] = ()
        self._rings = ByImage.of(annotations.ring_image, len(self.image_ids))
        self._masks = ByImage.of(annotations.mask_image, len(self.image_ids))

    def weights(self) -> Integers:
        """What drawing an image's rings costs, as bytes of text: the columns that their edges cross."""
        drawn, images = self.annotations, len(self.image_ids)
        ring_costs = drawn.rings.spans() * _CROSSING_COST + _RING_COST
        mask_costs = np.diff(drawn.masks.indptr) * _RUN_COST + _RING_COST
        weights = np.zeros(images)  # of nothing, bincount counts in whole numbers, whatever the weights are
        weights += np.bincount(drawn.ring_image, weights=ring_costs, minlength=images)
        weights += np.bincount(drawn.mask_image, weights=mask_costs, minlength=images)
        return weights.astype(np.int64) + _IMAGE_COST

    def bind(self, images: Images) -> None:
        """See `Source`."""
        self._number = np.full(len(images), -1, np.int64)
        places = images.find(self.image_ids)
        self._number[places[places >= 0]] = np.flatnonzero(places >= 0)
        self._ids = images.ids

    def read(self, places: Integers, cap: int | None) -> Chunk:
        """See `Source`. What was wrong with the file has been told when it was opened."""
        positions = np.flatnonzero(self._number[places] >= 0)
        numbers = self._number[places[positions]]
        classes = len(self.classes)
        shapes = np.repeat(self.shapes[numbers], classes, axis=0)
        masks = united(Runs.joined([self._drawn(numbers), self._given(numbers)]), shapes)
        ids = tuple(self._ids[place] for place in places.tolist())
        instances = Instances.of(
            ids,
            np.repeat(positions, classes),
            masks.reordered(self.order),
            class_ids=np.tile(self.classes, len(positions)),
        )
        return Chunk(instances, Collector(cap))

    def _drawn(self, numbers: Integers) -> Runs:
        """The runs inside the rings of these images, each belonging to its image's and class's mask."""
        rings, slots = self._rings.of_images(numbers)
        owner = slots * len(self.classes) + self._ring_class[rings]
        runs = self.annotations.rings[rings].runs(self.shapes[numbers[slots]])
        return Runs(owner[runs.owner], runs.starts, runs.stops)

    def _given(self, numbers: Integers) -> Runs:
        """The runs of the run lengths of these images, likewise."""
        chosen, slots = self._masks.of_images(numbers)
        owner = slots * len(self.classes) + self._mask_class[chosen]
        masks = self.annotations.masks[chosen]
        return Runs(np.repeat(owner, np.diff(masks.indptr)), masks.starts, masks.stops)
