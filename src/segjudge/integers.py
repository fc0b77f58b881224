"""Sets of whole numbers as sorted arrays, and ranges of them: numpy has sets, and loads all of `numpy.ma` for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["all_or_chosen", "among", "common", "distinct", "places_of", "ragged"]

Integers = NDArray[np.int64]


def distinct(values: Integers) -> Integers:
    """The values in ascending order, each once.

    >>> distinct(np.array([3, 1, 3])).tolist()
    [1, 3]
    """
    ordered = np.sort(values)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


def common(first: Integers, second: Integers) -> Integers:
    """The values that occur on both sides, ascending.

    >>> common(np.array([3, 1, 3]), np.array([2, 3])).tolist()
    [3]
    """
    both = np.sort(np.concatenate([distinct(first), distinct(second)]))
    twice: Integers = both[:-1][both[1:] == both[:-1]]
    return twice


def among(values: Integers, chosen: Integers | Iterable[int]) -> NDArray[np.bool_]:
    """Whether each value is one of the chosen.

    >>> among(np.array([3, 1, 4]), {1, 3}).tolist()
    [True, True, False]
    """
    array = chosen if isinstance(chosen, np.ndarray) else np.array(list(chosen), np.int64)
    ordered = np.sort(array)
    if not len(ordered):
        return np.zeros(len(values), np.bool_)
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    found: NDArray[np.bool_] = ordered[place] == values
    return found


def all_or_chosen(chosen: NDArray[np.bool_]) -> NDArray[np.bool_] | slice:
    """What indexes the chosen rows: all of them by a slice, which copies nothing.

    >>> all_or_chosen(np.array([True, True])), all_or_chosen(np.array([True, False])).tolist()
    (slice(None, None, None), [True, False])
    """
    return slice(None) if chosen.all() else chosen


def places_of(values: Integers) -> tuple[Integers, Integers]:
    """The values that occur, ascending, and of each value given its place among them.

    >>> known, place = places_of(np.array([7, 7, 3]))
    >>> known.tolist(), place.tolist()
    ([3, 7], [1, 1, 0])
    """
    if not len(values):
        return values, values
    head = np.concatenate([[True], values[1:] != values[:-1]])  # equal ones often stand together
    known, place = np.unique(values[head], return_inverse=True)
    return known, place[np.cumsum(head) - 1]


def ragged(begins: Integers, ends: Integers) -> Integers:
    """The indices of all ranges `begins[i]:ends[i]`, one behind the other.

    >>> ragged(np.array([4, 9]), np.array([6, 10])).tolist()
    [4, 5, 9]
    """
    lengths = ends - begins
    total = int(lengths.sum())
    shift = np.repeat(begins - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) if total else 0
    return np.arange(total, dtype=np.int64) + shift
