"""Instances: a table of masks with image, class and confidence; truths and predictions alike.

A semantic mask is one instance of its class, so every task goes through the same pipe.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segjudge.masks import Masks

__all__ = ["Instances"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
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
