"""Instances: a table of masks with image, class and confidence; truths and predictions alike.

A semantic mask is one instance of its class, so every task goes through the same pipe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segjudge.errors import UsageError
from segjudge.masks import Masks
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from segjudge.masks import Order

__all__ = ["Instances"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Instances:
    """N masks, each of one class in one image."""

    image_ids: tuple[str, ...]  # the images, with and without instances
    image: Integers  # (N,) place in image_ids
    class_ids: (
        Integers  # (N,) 0 where the task has no classes; of an ignored region what it stands for, 0: all
    )
    confidences: NDArray[np.float64]  # (N,) a prediction's own; 1 for truths
    ignored: NDArray[np.bool_]  # (N,) regions of the truth that are not evaluated
    rows: Integers  # (N,) line of the file, 0 where there is none
    masks: Masks
    areas: NDArray[np.float64] | None = None  # (N,) what an area range looks at; None: the masks' own areas
    crowd: NDArray[np.bool_] | None = None  # (N,) regions of many objects that nobody counted; None: no such

    @classmethod
    def of(
        cls,
        image_ids: Sequence[str],
        image: Integers,
        masks: Masks,
        *,
        class_ids: Integers | None = None,
        confidences: NDArray[np.float64] | None = None,
        ignored: NDArray[np.bool_] | None = None,
        rows: Integers | None = None,
        areas: NDArray[np.float64] | None = None,
        crowd: NDArray[np.bool_] | None = None,
    ) -> Instances:
        """Instances with what is not given set to class 0, confidence 1, not ignored, row 0, no crowd."""
        count = len(masks)
        return cls(
            tuple(image_ids),
            image,
            np.zeros(count, np.int64) if class_ids is None else class_ids,
            np.ones(count) if confidences is None else confidences,
            np.zeros(count, np.bool_) if ignored is None else ignored,
            np.zeros(count, np.int64) if rows is None else rows,
            masks,
            areas,
            crowd,
        )

    @classmethod
    def from_masks(
        cls,
        masks: Any,  # noqa: ANN401 - whatever numpy can read as an array, tensors included
        *,
        class_ids: Any = 0,  # noqa: ANN401
        confidences: Any = 1.0,  # noqa: ANN401
        ignored: Any = False,  # noqa: ANN401
        crowd: Any = None,  # noqa: ANN401
        areas: Any = None,  # noqa: ANN401
        image_id: object = "",
        order: Order = "column",
    ) -> Instances:
        """The instances of one image whose masks are pictures (N, H, W) of two values.

        Everything else is one value for all or (N,) values: arrays, lists, or tensors on the CPU. `areas`
        and `crowd` are COCO's. `order` is how the masks are kept; in a task's own order
        (`task.order`) they are scored as they are, else they are turned first. Raises MaskError for masks
        that are none, UsageError for values that do not fit.

        >>> image = Instances.from_masks(np.ones((2, 3, 4), bool), class_ids=[33, 36], confidences=[0.9, 0.5])
        >>> image.masks.areas.tolist(), image.class_ids.tolist()
        ([12, 12], [33, 36])
        """
        pictures = masks if isinstance(masks, (list, tuple)) else np.asarray(masks)
        runs = Masks.from_dense(pictures, order)
        count = len(runs)
        return cls(
            (str(image_id),),
            np.zeros(count, np.int64),
            _column("class_ids", class_ids, count, np.int64),
            _column("confidences", confidences, count, np.float64),
            _column("ignored", ignored, count, np.bool_),
            np.zeros(count, np.int64),
            runs,
            None if areas is None else _column("areas", areas, count, np.float64),
            None if crowd is None else _column("crowd", crowd, count, np.bool_),
        )

    @classmethod
    def from_label_map(
        cls,
        labels: Any,  # noqa: ANN401
        *,
        class_ids: Mapping[int, int] | int = 0,
        confidences: Mapping[int, float] | float = 1.0,
        ignored: Collection[int] = (),
        background: int = 0,
        image_id: object = "",
        order: Order = "column",
    ) -> Instances:
        """The instances of a picture (H, W) of whole numbers: all pixels of one number are one instance.

        `class_ids` and `confidences` are one for all or by number; `ignored` are the numbers of regions that
        are not evaluated. Instances stand in the order of their numbers.

        >>> cells = Instances.from_label_map([[0, 1, 1], [2, 2, 0]])
        >>> cells.masks.areas.tolist()
        [2, 2]
        """
        picture = _whole_numbers("labels", labels)
        if picture.ndim != 2:
            raise UsageError(
                f"A label map has two axes, this one has {picture.ndim}.", "Give (height, width)."
            )
        numbers = [number for number in np.unique(picture).tolist() if number != background]
        return cls.from_masks(
            [picture == number for number in numbers],
            class_ids=[_of_number("class_ids", class_ids, number) for number in numbers],
            confidences=[_of_number("confidences", confidences, number) for number in numbers],
            ignored=[number in ignored for number in numbers],
            image_id=image_id,
            order=order,
        )

    @classmethod
    def from_class_map(
        cls,
        classes: Any,  # noqa: ANN401
        *,
        class_ids: Collection[int],
        image_id: object = "",
        order: Order = "column",
    ) -> Instances:
        """One mask for each class of a picture (H, W) of class ids, empty where no pixel has the class.

        >>> page = Instances.from_class_map([[0, 1], [3, 1]], class_ids=[0, 1, 2, 3])
        >>> page.masks.areas.tolist()
        [1, 2, 0, 1]
        """
        picture = _whole_numbers("classes", classes)
        return cls.from_masks(
            [picture == number for number in class_ids],
            class_ids=list(class_ids),
            image_id=image_id,
            order=order,
        )

    @classmethod
    def concatenate(cls, parts: Iterable[Instances]) -> Instances:
        """All instances of all parts, by image; what two parts hold of one image id stands together.

        Areas and crowds that some parts have are the masks' own areas, and none, in the others.
        """
        parts = list(parts)
        places: dict[str, int] = {}
        image = [
            np.array([places.setdefault(name, len(places)) for name in part.image_ids], np.int64)[part.image]
            for part in parts
        ]
        whole = cls(
            tuple(places),
            _joined(image, np.int64),
            _joined([part.class_ids for part in parts], np.int64),
            _joined([part.confidences for part in parts], np.float64),
            _joined([part.ignored for part in parts], np.bool_),
            _joined([part.rows for part in parts], np.int64),
            Masks.concatenate(part.masks for part in parts),
            _joined([part.range_areas for part in parts], np.float64)
            if any(part.areas is not None for part in parts)
            else None,
            _joined([part.crowds for part in parts], np.bool_)
            if any(part.crowd is not None for part in parts)
            else None,
        )
        if (np.diff(whole.image) >= 0).all():
            return whole
        return whole[np.argsort(whole.image, kind="stable")]

    @property
    def range_areas(self) -> NDArray[np.float64]:
        """(N,) the area by which an instance belongs to an area range: its own, else its mask's."""
        return self.masks.areas.astype(np.float64) if self.areas is None else self.areas

    @property
    def crowds(self) -> NDArray[np.bool_]:
        """(N,) whether an instance is a crowd."""
        return np.zeros(len(self), np.bool_) if self.crowd is None else self.crowd

    def __len__(self) -> int:
        return len(self.image)

    def __getitem__(self, places: NDArray[np.bool_] | Integers | slice) -> Instances:
        """The instances at these places; all images stay."""
        return Instances(
            self.image_ids,
            self.image[places],
            self.class_ids[places],
            self.confidences[places],
            self.ignored[places],
            self.rows[places],
            self.masks[places],
            None if self.areas is None else self.areas[places],
            None if self.crowd is None else self.crowd[places],
        )


def _column(name: str, values: Any, count: int, kind: type[np.generic]) -> NDArray[Any]:  # noqa: ANN401
    """(N,) values of a kind, one value standing for all; raises UsageError where they do not fit."""
    given = np.asarray(values)
    if given.ndim > 1 or (given.ndim == 1 and len(given) != count):
        raise UsageError(
            f"{name} has the shape {given.shape}, there are {count} masks.", "Give one for each."
        )
    whole = kind is np.int64 and given.size
    if whole and (given.dtype.kind not in "iu" or given.min() < 0 or given.max() >= 1 << 31):
        raise UsageError(f"{name} are whole numbers from 0 to 2147483647.")
    column = np.broadcast_to(given.astype(kind), (count,)).copy()
    if kind is np.float64 and not np.isfinite(column).all():
        raise UsageError(f"{name} holds something that is no finite number.")
    return column


def _whole_numbers(name: str, picture: Any) -> NDArray[Any]:  # noqa: ANN401
    array = np.asarray(picture)
    if array.dtype.kind not in "iu":
        raise UsageError(f"{name} is a picture of whole numbers, not of {array.dtype}.")
    return array


def _of_number(name: str, given: Any, number: int) -> Any:  # noqa: ANN401
    if not hasattr(given, "items"):
        return given
    if number not in given:
        raise UsageError(f"{name} says nothing of the number {number}.", "Name every number of the picture.")
    return given[number]


def _joined(columns: list[Any], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(columns).astype(kind, copy=False) if columns else np.zeros(0, kind)
