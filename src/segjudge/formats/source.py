"""What all readers give: instances, a chunk of images at a time, with what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from segjudge.masks import ragged
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segjudge.findings import Collector
    from segjudge.formats.opening import ByteFile
    from segjudge.images import Images
    from segjudge.instances import Instances

__all__ = ["ByImage", "Chunk", "Divisible", "Entries", "Part", "Reading", "Source"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """The instances of some images, in the order in which the images were asked for."""

    instances: Instances
    findings: Collector


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """What the rows of a file say before any mask is read."""

    image: Integers  # (R,) place among the source's images
    class_ids: Integers  # (R,) -1 where the row names none that can be read
    rows: Integers  # (R,) line of the file, or place in its list
    empty: NDArray[np.bool_]  # (R,) the row says that there is no mask
    unit: Literal["row", "entry"] = "row"  # what `rows` count: lines from 1, or entries of a list from 0


class ByImage:
    """Things of images, found by image; those of one image stay in their order.

    >>> rows, slots = ByImage.of(np.array([1, 0, 1, -1]), 3).of_images(np.array([1, 2, 0]))
    >>> rows.tolist(), slots.tolist()
    ([0, 2, 1], [0, 0, 2])
    """

    __slots__ = ("_bounds", "_order")

    def __init__(self, order: Integers, bounds: Integers) -> None:
        self._order = order
        self._bounds = bounds

    @classmethod
    def of(cls, image: Integers, images: int) -> ByImage:
        """From the place of each thing's image; one below 0 is no image's."""
        order = np.argsort(image, kind="stable")
        return cls(order, np.searchsorted(image[order], np.arange(images + 1)))

    def of_images(self, places: Integers) -> tuple[Integers, Integers]:
        """The things of these images, and for each the place of its image among these."""
        begins, ends = self._bounds[places], self._bounds[places + 1]
        return self._order[ragged(begins, ends)], np.repeat(np.arange(len(places)), ends - begins)


class Reading(Protocol):
    """Instances that can be read, some images at a time."""

    def read(self, places: Integers, cap: int | None) -> Chunk:
        """The instances of the images at these places; images that it does not name have none."""
        ...


@runtime_checkable
class Divisible(Reading, Protocol):
    """A source that gives away some images with what it knows of them, and nothing else."""

    @property
    def files(self) -> Sequence[ByteFile]:
        """What it reads from; nothing where it holds all bytes itself."""
        ...

    def part(self, places: Integers, *, carried: bool) -> Reading:
        """These images alone, numbered anew from 0; carried, with the bytes of their masks."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Some images of a source that is sent as a whole, numbered anew from 0."""

    source: Reading
    places: Integers

    def read(self, places: Integers, cap: int | None) -> Chunk:
        """See `Reading`."""
        return self.source.read(self.places[places], cap)


class Source(Reading, Protocol):
    """Instances that lie somewhere; what is known of them before any mask is read.

    Sources can be pickled, so that a worker process reads for itself.
    """

    @property
    def image_ids(self) -> Sequence[str]:
        """The images that it names, with instances or without."""
        ...

    @property
    def shapes(self) -> Integers:
        """(N, 2) height and width of each image where the source knows them, else -1."""
        ...

    @property
    def holds_gil(self) -> bool:
        """Whether reading keeps other threads waiting, so that worker processes pay."""
        ...

    def weights(self) -> Integers:
        """(N,) how much there is to read of each image, in bytes or what costs as much."""
        ...

    def bind(self, images: Images) -> None:
        """Learn the competition's images: sizes, and the places by which chunks are asked for."""
        ...
