"""Runs as text, many at a time: what the generators of this folder write into their cells."""

import numpy as np

_START_DIGITS = 8
_LENGTH_DIGITS = 4
_FOUR = np.array([list(b"%04d" % number) for number in range(10_000)], dtype=np.uint8)


def run_text(starts, lengths, between: bytes, after: bytes):
    """The text of all runs, glued, and the place in it where each run begins (one entry more than runs).

    A run is written `start between length after`; both separators are one byte. Starts stay below 10^8
    and lengths below 10^4, which a picture of 9,999 lines and columns never passes within one line.
    """
    starts = np.asarray(starts, dtype=np.int64)
    lengths = np.asarray(lengths, dtype=np.int64)
    if len(starts) and (starts.max() >= 10**_START_DIGITS or lengths.max() >= 10**_LENGTH_DIGITS):
        raise ValueError("A start of more than 8 digits or a length of more than 4 does not fit this writer.")
    width = _START_DIGITS + 1 + _LENGTH_DIGITS + 1
    cells = np.empty((len(starts), width), dtype=np.uint8)
    cells[:, 0:4] = _FOUR[starts // 10_000]
    cells[:, 4:8] = _FOUR[starts % 10_000]
    cells[:, 8] = between[0]
    cells[:, 9:13] = _FOUR[lengths]
    cells[:, 13] = after[0]
    kept = np.ones(cells.shape, dtype=bool)
    for column in range(_START_DIGITS - 1):
        kept[:, column] = starts >= 10 ** (_START_DIGITS - 1 - column)
    for column in range(_LENGTH_DIGITS - 1):
        kept[:, 9 + column] = lengths >= 10 ** (_LENGTH_DIGITS - 1 - column)
    places = np.zeros(len(starts) + 1, dtype=np.int64)
    np.cumsum(kept.sum(axis=1), out=places[1:])
    return cells[kept].tobytes(), places


def runs_of_box(mask):
    """The runs of a small mask (H, W), line by line: line, column and length, three arrays."""
    height, width = mask.shape
    framed = np.zeros(height * (width + 1) + 1, dtype=bool)
    framed[:-1].reshape(height, width + 1)[:, 1:] = mask
    changes = np.flatnonzero(framed[1:] != framed[:-1]) + 1
    starts, stops = changes[0::2], changes[1::2]
    lines, columns = np.divmod(starts, width + 1)
    return lines, columns - 1, stops - starts
