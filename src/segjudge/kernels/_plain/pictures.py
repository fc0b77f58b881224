"""Pictures and label maps as runs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]


def label_runs(labels: NDArray[Any], keep: Bytes) -> Integers:
    """(R, 3): value, start and stop of each run of equal labels, in order of place.

    Values that `keep` marks with 0 are left out; values beyond its end are kept.
    """
    if not len(labels):
        return np.empty((0, 3), np.int64)
    edges = np.flatnonzero(np.diff(labels)) + 1
    starts = np.concatenate([[0], edges])
    runs = np.stack([labels[starts].astype(np.int64), starts, np.concatenate([edges, [len(labels)]])], axis=1)
    known = (runs[:, 0] >= 0) & (runs[:, 0] < len(keep))
    kept = ~known
    kept[known] = keep[runs[known, 0]] != 0
    result: Integers = runs[kept]
    return result


def mask_edges(mask: Bytes, column: bool) -> Integers:  # noqa: FBT001 - the compiled twin's signature
    """Start, stop, start, stop … of the runs of a mask, 0 its background, read by row or down the columns."""
    flat = (mask.T if column else mask).reshape(-1) != 0
    padded = np.concatenate([[False], flat, [False]])
    return np.flatnonzero(padded[1:] != padded[:-1]).astype(np.int64)
