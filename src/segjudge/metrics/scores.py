"""What every metric gives and keeps: `Scores`, `Tally`, and the protocol `Metric`."""

from __future__ import annotations

import math
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from fractions import Fraction

    from segjudge.instances import Instances

__all__ = ["Breakdown", "Metric", "Scores", "Tally", "mean"]

Integers = NDArray[np.int64]

#: The ways in which a score can be asked for in parts.
Breakdown = frozenset({"class", "threshold", "area", "image"})


def mean(values: Iterable[float]) -> float | None:
    """The mean of numbers, summed without rounding in between so that no order matters; None of none.

    >>> mean([0.1] * 10), mean([])
    (0.1, None)
    """
    listed = list(values)
    return math.fsum(listed) / len(listed) if listed else None


@dataclass(frozen=True, slots=True)
class Scores:
    """A score and its parts; what was not asked for or does not exist is empty, what is undefined None."""

    score: float | None
    points: float | None = None
    by_class: Mapping[int, float | None] = field(default_factory=dict)
    by_threshold: Mapping[Fraction, float | None] = field(default_factory=dict)
    by_image: Mapping[tuple[int, int], float | None] = field(default_factory=dict)  # (image, class or -1)
    by_area: Mapping[str, float | None] = field(default_factory=dict)
    metrics: Mapping[str, float | None] = field(default_factory=dict)  # other numbers that go by a name


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What a metric has learnt from some images: columns that concatenate, in any order.

    Subclasses add their columns as fields; all are arrays. `tables` says which columns belong together, the
    first of each table being the places of the images.
    """

    tables: ClassVar[tuple[tuple[str, ...], ...]]

    @classmethod
    def sum(cls, parts: Sequence[Self]) -> Self:
        """The tally of all the parts' images together."""
        columns = [np.concatenate([getattr(part, column.name) for part in parts]) for column in fields(cls)]
        return cls(*columns)

    def __add__(self, other: Self) -> Self:
        return type(self).sum([self, other])

    def moved(self, places: Integers) -> Self:
        """The tally with image i at `places[i]`; what belongs to an image moved to -1 is left out."""
        columns: dict[str, NDArray[Any]] = {}
        for image, *others in self.tables:
            moved = places[getattr(self, image)]
            kept = moved >= 0
            columns[image] = moved[kept]
            columns |= {name: getattr(self, name)[kept] for name in others}
        return type(self)(**columns)


class Metric(Protocol):
    """A frozen dataclass whose fields are the options in `[metric]`."""

    breakdowns: ClassVar[frozenset[str]]
    needs: ClassVar[frozenset[str]]  # roles of columns that a submission must have

    def tally(self, truths: Instances, predictions: Instances, images: Integers) -> Any:  # noqa: ANN401
        """The tally of a chunk; `images` are the places of its images in the whole competition."""
        ...

    def score(self, tally: Any, facts: Facts, by: frozenset[str]) -> Scores:  # noqa: ANN401
        """The score of a tally, in the parts asked for."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What a metric has to know of the competition beside its tally."""

    classes: tuple[int, ...]  # class ids, () without classes
    images: Integers  # (N,) places of the images that are scored
    clips: Integers | None  # (all images,) the clip of each image, None if not known
    ids: tuple[str, ...] = ()  # (all images,) the id of each image
    quoted: bool = False  # whether the truth has all ids as texts, digits or not
