"""Instances that someone has in memory already, in the place of a file: the same checks, the same score."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.errors import UsageError
from segjudge.findings import Collector, Where
from segjudge.formats.source import Chunk, Entries
from segjudge.images import Images
from segjudge.instances import Instances
from segjudge.masks import Masks, ragged
from segjudge.metrics import is_metric

if TYPE_CHECKING:
    from segjudge.task import Task

__all__ = ["ArraySource", "open_arrays"]

Integers = NDArray[np.int64]

_RUN_COST, _IMAGE_COST = 16, 256  # as bytes of text


def open_arrays(
    task: Task, instances: Instances, label: str, *, complete: bool
) -> tuple[ArraySource, Entries]:
    """The source of instances in memory, and what its rows say.

    Where a task has one mask for each image (and class), an image that is named without one has an empty
    one: arrays have no row that could have been forgotten. `complete` adds those masks themselves.

    Raises UsageError where the arrays contradict each other or the task.
    """
    _check(task, instances, label)
    if is_metric(task.metric, "image-precision"):
        instances = instances[instances.masks.areas > 0]
    if (np.diff(instances.image) < 0).any():
        instances = instances[np.argsort(instances.image, kind="stable")]
    if len(instances) and instances.masks.order != task.order:
        instances = replace(instances, masks=instances.masks.reordered(task.order))
    shapes = _shapes(instances, label)
    empty = instances.masks.areas == 0
    entries = Entries(instances.image, instances.class_ids, instances.rows, empty)
    if is_metric(task.metric, "overlap"):
        _refuse_repeats(instances, label)
    lacking = _lacking(task, instances)
    if len(lacking):
        image, class_ids = lacking >> 32, lacking & 0xFFFFFFFF
        none = np.zeros(len(lacking), np.int64)
        entries = Entries(
            np.concatenate([entries.image, image]),
            np.concatenate([entries.class_ids, class_ids]),
            np.concatenate([entries.rows, none]),
            np.concatenate([empty, np.ones(len(lacking), np.bool_)]),
        )
        if complete:
            masks = Masks.empty(task.order, [(h, w) for h, w in shapes[image].tolist()])
            absent = Instances.of(instances.image_ids, image, masks, class_ids=class_ids)
            instances = Instances.concatenate([instances, absent])
    return ArraySource(instances, shapes, label), entries


class ArraySource:
    """A `Source` of instances in memory."""

    holds_gil = False
    files = ()

    def __init__(self, instances: Instances, shapes: Integers, label: str) -> None:
        self.instances = instances
        self.image_ids = instances.image_ids
        self.shapes = shapes
        self.label = label
        self._bounds = np.searchsorted(instances.image, np.arange(len(self.image_ids) + 1))
        self._own = np.zeros(0, np.int64)  # of each image of the competition the place here, -1: none
        self._ids: tuple[str, ...] = ()
        self._wanted = shapes

    def weights(self) -> Integers:
        """Runs of each image, as bytes of text."""
        runs = np.diff(self.instances.masks.indptr)
        weights = np.bincount(self.instances.image, weights=runs, minlength=len(self.image_ids))
        return weights.astype(np.int64) * _RUN_COST + _IMAGE_COST

    def bind(self, images: Images) -> None:
        """See `Source`."""
        self._own = np.full(len(images), -1, np.int64)
        self._own[images.find(self.image_ids)] = np.arange(len(self.image_ids))
        self._ids = images.ids
        self._wanted = images.shapes

    def read(self, places: Integers, cap: int | None) -> Chunk:
        """See `Source`."""
        findings = Collector(cap)
        positions = np.flatnonzero(self._own[places] >= 0)
        own = self._own[places[positions]]
        self._check_sizes(own, places[positions], findings)
        begins, ends = self._bounds[own], self._bounds[own + 1]
        if len(own) and (begins[1:] == ends[:-1]).all():
            part = _neighbours(self.instances, int(begins[0]), int(ends[-1]))
        else:
            part = self.instances[ragged(begins, ends)]
        image = np.repeat(positions, ends - begins)
        ids = tuple(self._ids[place] for place in places.tolist())
        return Chunk(replace(part, image_ids=ids, image=image), findings)

    def part(self, places: Integers, *, carried: bool) -> ArraySource:  # noqa: ARG002 - all bytes are carried
        """See `Divisible`."""
        ids = tuple(self._ids[place] for place in places.tolist())
        positions = np.flatnonzero(self._own[places] >= 0)
        own = self._own[places[positions]]
        begins, ends = self._bounds[own], self._bounds[own + 1]
        image = np.repeat(positions, ends - begins)
        shapes = np.full((len(places), 2), -1, np.int64)
        shapes[positions] = self.shapes[own]
        chosen = replace(self.instances[ragged(begins, ends)], image_ids=ids, image=image)
        part = ArraySource(chosen, shapes, self.label)
        part.bind(Images.of(ids, self._wanted[places]))
        return part

    def _check_sizes(self, own: Integers, places: Integers, findings: Collector) -> None:
        here, wanted = self.shapes[own], self._wanted[places]
        known = (here[:, 0] >= 0) & (wanted[:, 0] >= 0)
        for place in np.flatnonzero(known & (here != wanted).any(axis=1)).tolist():
            image = self.image_ids[own[place]]
            (height, width), (rows, columns) = here[place].tolist(), wanted[place].tolist()
            findings.add(
                "shape-mismatch",
                Where(file=self.label, image=image),
                f"The masks of {image!r} are {height} rows x {width} columns, the image is {rows} x {columns}.",
                "Masks have their image's size; a model's smaller ones are resized back first.",
            )


def _neighbours(instances: Instances, begin: int, end: int) -> Instances:
    """The instances from one place to another, without copying a run."""
    masks = instances.masks
    first, last = int(masks.indptr[begin]), int(masks.indptr[end])
    runs, chosen = slice(first, last), slice(begin, end)
    few = Masks(
        masks.order,
        masks.starts[runs],
        masks.stops[runs],
        masks.indptr[begin : end + 1] - first,
        masks.shapes[chosen],
        masks.areas[chosen],
        masks.extents[chosen],
    )
    return Instances(
        instances.image_ids,
        instances.image[chosen],
        instances.class_ids[chosen],
        instances.confidences[chosen],
        instances.ignored[chosen],
        instances.rows[chosen],
        few,
        None if instances.areas is None else instances.areas[chosen],
        None if instances.crowd is None else instances.crowd[chosen],
    )


def _check(task: Task, instances: Instances, label: str) -> None:
    if len(set(instances.image_ids)) != len(instances.image_ids):
        raise UsageError(f"The {label} name an image twice.", "image_ids holds each image once.")
    count = len(instances)
    columns = (instances.class_ids, instances.confidences, instances.ignored, instances.rows, instances.masks)
    optional = [column for column in (instances.areas, instances.crowd) if column is not None]
    if any(len(column) != count for column in (*columns, *optional)):
        raise UsageError(f"The columns of the {label} differ in length.")
    if count and not (instances.image.min() >= 0 and instances.image.max() < len(instances.image_ids)):
        raise UsageError(f"An instance of the {label} is of an image that image_ids does not hold.")
    if not np.isfinite(instances.confidences).all():
        raise UsageError(f"A confidence of the {label} is no finite number.")
    if not task.classes and "class" not in task.metric.needs and instances.class_ids.any():
        raise UsageError(f"The task {task.id} has no classes.", "Leave class_ids out.")
    if count and not (instances.class_ids.min() >= 0 and instances.class_ids.max() < 1 << 31):
        raise UsageError(f"A class id of the {label} is no whole number from 0 to 2147483647.")


def _refuse_repeats(instances: Instances, label: str) -> None:
    """Raise UsageError where an image has two masks of one class, and one is all that there may be."""
    keys, counts = np.unique(instances.image << 32 | instances.class_ids, return_counts=True)
    for key in keys[counts > 1].tolist():
        image, class_id = instances.image_ids[key >> 32], key & 0xFFFFFFFF
        raise UsageError(
            f"The {label} have several masks of class {class_id} for the image {image!r}.",
            "One mask holds all pixels of a class: join them with `masks.any(axis=0)`.",
        )


def _shapes(instances: Instances, label: str) -> Integers:
    """(images, 2) the size of each image, -1 where it has no mask."""
    shapes = np.full((len(instances.image_ids), 2), -1, np.int64)
    shapes[instances.image] = instances.masks.shapes
    unequal = (shapes[instances.image] != instances.masks.shapes).any(axis=1)
    if unequal.any():
        image = instances.image_ids[instances.image[np.flatnonzero(unequal)[0]]]
        raise UsageError(f"The {label} have masks of several sizes for the image {image!r}.")
    return shapes


def _lacking(task: Task, instances: Instances) -> Integers:
    """Image and class of each mask that an image does not have, where every image has its masks."""
    if task.ranked:
        return np.zeros(0, np.int64)
    images = np.arange(len(instances.image_ids), dtype=np.int64)
    classes = np.array(sorted(task.classes) if task.semantic else [0], np.int64)
    wanted = (np.repeat(images, len(classes)) << 32) | np.tile(classes, len(images))
    return np.setdiff1d(wanted, instances.image << 32 | instances.class_ids)
