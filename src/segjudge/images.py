"""The images of a competition: ids, sizes, clips, and which of them count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["IGNORED", "Images"]

Integers = NDArray[np.int64]

#: The usage of images that are part of the test set and count for nothing.
IGNORED = "Ignored"


@dataclass(frozen=True, slots=True, eq=False)
class Images:
    """N images; ids are text, always: `0012`, `12` and `3e5` are three images."""

    ids: tuple[str, ...]
    places: Mapping[str, int]  # id to place
    shapes: Integers  # (N, 2) height and width in pixels, -1 where unknown
    clips: tuple[str, ...] | None = None
    usage: tuple[str, ...] | None = None

    @classmethod
    def of(
        cls,
        ids: Sequence[str],
        shapes: Integers | None = None,
        clips: Sequence[str] | None = None,
        usage: Sequence[str] | None = None,
    ) -> Images:
        """Images with these ids, each standing once."""
        sizes = np.full((len(ids), 2), -1, np.int64) if shapes is None else shapes
        return cls(
            tuple(ids),
            {image: place for place, image in enumerate(ids)},
            sizes,
            None if clips is None else tuple(clips),
            None if usage is None else tuple(usage),
        )

    def __len__(self) -> int:
        return len(self.ids)

    def extended(self, ids: Sequence[str]) -> Images:
        """These images and behind them those of the ids that are not there yet, of unknown size."""
        fresh = [image for image in dict.fromkeys(ids) if image not in self.places]
        shapes = np.concatenate([self.shapes, np.full((len(fresh), 2), -1, np.int64)])
        clips = None if self.clips is None else (*self.clips, *("" for _ in fresh))
        usage = None if self.usage is None else (*self.usage, *("" for _ in fresh))
        return Images.of((*self.ids, *fresh), shapes, clips, usage)

    def find(self, ids: Sequence[str]) -> Integers:
        """The place of each id, -1 for those that are not there."""
        if ids == self.ids:
            return np.arange(len(ids))
        return np.array([self.places.get(image, -1) for image in ids], np.int64)

    def scored(self, usage: str | None) -> NDArray[np.bool_]:
        """(N,) which images count: those of this usage, or all that are not Ignored."""
        if self.usage is None:
            return np.ones(len(self), np.bool_)
        chosen = [(u == usage) if usage else u != IGNORED for u in self.usage]
        return np.array(chosen, np.bool_)

    def clip_numbers(self) -> Integers | None:
        """(N,) a number for each image's clip; None where clips are not known."""
        if self.clips is None:
            return None
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(clip, len(numbers)) for clip in self.clips], np.int64)
