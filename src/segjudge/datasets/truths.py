"""The truth of one image at a time, dense: whose each pixel is, or a plane for each class."""

from __future__ import annotations

import dataclasses
from dataclasses import field
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from segjudge.errors import TruthError
from segjudge.findings import Collector, Where
from segjudge.images import Images
from segjudge.loading import read_truth
from segjudge.masks import ragged
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from segjudge.findings import Diagnosis
    from segjudge.formats.opening import Workspace
    from segjudge.formats.source import Source
    from segjudge.masks import Masks, Order
    from segjudge.task import Task

__all__ = ["Labels", "Truths", "open_truths"]

Values = TypeVar("Values", bound=np.generic)


@dataclass(frozen=True, slots=True)
class Labels:
    """The N instances of an image, counted from 1; each has a pixel that no later one covers."""

    owner: NDArray[np.int32]  # (H, W) the instance in each pixel, 0 where there is none
    class_ids: NDArray[np.int64]  # (N,) 0 where the task has no classes
    ignored: NDArray[np.bool_]  # (N,) regions that are not evaluated


@dataclass(frozen=True, slots=True)
class Truths:
    """The truth of a dataset's images, read when it is asked for."""

    source: Source
    image_ids: tuple[str, ...]
    planes: tuple[int, ...] | None  # the class of each plane; None where the task is about instances
    label: str
    diagnosis: Diagnosis  # what was wrong with the file when it was opened
    workspace: Workspace = field(repr=False)  # keeps what was unpacked

    def bound(self, image_ids: tuple[str, ...]) -> Truths:
        """The truth of these images, by their places."""
        self.source.bind(Images.of(image_ids))
        return dataclasses.replace(self, image_ids=image_ids)

    def of(self, place: int, shape: tuple[int, int]) -> Labels | NDArray[np.bool_]:
        """The labels of an image of this shape, or its planes (H, W, C); raises TruthError for a fault."""
        chunk = self.source.read(np.array([place]), None)
        if chunk.findings.errors:
            raise self._fault(chunk.findings)
        instances = chunk.instances
        self._check_sizes(instances.masks, place, shape)
        if self.planes is None:
            return _labels(instances.masks, instances.class_ids, instances.ignored, shape)
        return _planes(instances.masks, instances.class_ids, self.planes, shape)

    def _check_sizes(self, masks: Masks, place: int, shape: tuple[int, int]) -> None:
        """Nothing, or TruthError where a mask is not of the picture's size."""
        sizes = masks.shapes[masks.shapes[:, 0] >= 0]
        wrong = sizes[(sizes != shape).any(axis=1)]
        last = int(masks.stops.max(initial=0))
        if not len(wrong) and last <= shape[0] * shape[1]:
            return
        found = f"{wrong[0, 0]} rows x {wrong[0, 1]} columns" if len(wrong) else f"{last} pixels or more"
        findings = Collector()
        findings.add(
            "shape-mismatch",
            Where(file=self.label, image=self.image_ids[place]),
            f"The truth has {found}, the picture {shape[0]} rows x {shape[1]} columns.",
            "Is the picture resized or turned, or do both come from different sets?",
        )
        raise self._fault(findings)

    def _fault(self, findings: Collector) -> TruthError:
        diagnosis = findings.diagnosis()
        return TruthError(f"The truth is at fault: {diagnosis.findings[0]}", diagnosis)


def open_truths(task: Task, path: Path, image_ids: Sequence[str] | None = None) -> Truths:
    """The truth at this path, bound to these images, or to all that it names.

    What is at fault in a list of annotations is left out, and told by `diagnosis`; of other truths a fault
    raises TruthError.
    """
    truth = read_truth(task, path)
    diagnosis = truth.findings.diagnosis()
    if truth.source is None or (diagnosis.errors and path.is_dir()):
        raise TruthError(f"The truth {truth.label} cannot be used: {diagnosis.findings[0]}", diagnosis)
    ids = tuple(truth.source.image_ids if image_ids is None else image_ids)
    truths = Truths(truth.source, ids, _planes_of(task), truth.label, diagnosis, truth.workspace)
    return truths.bound(ids)


def _planes_of(task: Task) -> tuple[int, ...] | None:
    """The class of each plane of a semantic task; a task of one mask an image has the class 0."""
    if task.semantic:
        return tuple(task.classes)
    return (0,) if "file" in task.truth.columns.values() else None


def _labels(
    masks: Masks, class_ids: NDArray[np.int64], ignored: NDArray[np.bool_], shape: tuple[int, int]
) -> Labels:
    numbers = np.repeat(np.arange(1, len(masks) + 1, dtype=np.int32), masks.areas)
    flat = np.zeros(shape[0] * shape[1], np.int32)
    flat[ragged(masks.starts, masks.stops)] = numbers
    seen = np.flatnonzero(np.bincount(flat, minlength=len(masks) + 1)[1:])
    if len(seen) < len(masks):
        table = np.zeros(len(masks) + 1, np.int32)
        table[seen + 1] = np.arange(1, len(seen) + 1)
        flat = table[flat]
    return Labels(_unflattened(flat, masks.order, shape), class_ids[seen], ignored[seen])


def _planes(
    masks: Masks, class_ids: NDArray[np.int64], classes: Sequence[int], shape: tuple[int, int]
) -> NDArray[np.bool_]:
    planes = np.zeros((*shape, len(classes)), np.bool_)
    for plane, class_id in enumerate(classes):
        chosen = masks[class_ids == class_id]
        flat = np.zeros(shape[0] * shape[1], np.bool_)
        flat[ragged(chosen.starts, chosen.stops)] = True
        planes[..., plane] = _unflattened(flat, masks.order, shape)
    return planes


def _unflattened(flat: NDArray[Values], order: Order, shape: tuple[int, int]) -> NDArray[Values]:
    """Pixels (H, W) that were numbered in this order."""
    if order == "row":
        return flat.reshape(shape)
    return np.ascontiguousarray(flat.reshape(shape[::-1]).T)
