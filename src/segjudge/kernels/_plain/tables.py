"""Tables cut into cells, numbers, and runs as text: both ways."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segjudge.kernels._words import BAD, OPEN, QUOTED, UNSORTED, WIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_FAR = 1 << 62
_MOST_DIGITS = 18
_DECIMAL = re.compile(rb"[0-9]+\.?[0-9]*|\.[0-9]+")


# ---------------------------------------------------------------------------------------------- tables


def index_records(
    text: Bytes, separator: int, terminator: int, fields: int
) -> tuple[Integers, Integers, Integers, int]:
    """Where each record starts, where its first `fields` fields end, how many fields it has, and flags.

    The flags speak of the whole text: QUOTED, it holds a quote sign; WIDE, a byte that is no ASCII.
    """
    if fields < 1:
        raise ValueError("a record has at least one field")
    if not (0 <= separator < 256 and 0 <= terminator < 256):
        raise ValueError("marks are bytes")
    data = text.tobytes()
    mark, end_mark = bytes([separator]), bytes([terminator])
    records = data.split(end_mark)
    if records[-1] == b"":
        records.pop()
    starts = np.zeros(len(records), np.int64)
    ends = np.zeros((len(records), fields), np.int64)
    found = np.zeros(len(records), np.int64)
    at = 0
    for number, record in enumerate(records):
        body = record.removesuffix(b"\r") if terminator == ord("\n") else record
        cells = body.split(mark)
        stops = at + np.cumsum([len(cell) + 1 for cell in cells]) - 1
        starts[number], found[number] = at, len(cells)
        ends[number] = at + len(body)
        ends[number, : len(cells)] = stops[:fields]
        at += len(record) + 1
    flags = (QUOTED if b'"' in data else 0) | (0 if data.isascii() else WIDE)
    return starts, ends, found, flags


def _check_cells(text: Bytes, begins: Integers, ends: Integers) -> None:
    if len(begins) != len(ends):
        raise ValueError("begins and ends differ in length")
    if len(begins) and (begins.min() < 0 or (ends < begins).any() or ends.max() > len(text)):
        raise ValueError("a cell lies outside the text")


def _cells(text: Bytes, begins: Integers, ends: Integers) -> list[bytes]:
    _check_cells(text, begins, ends)
    data = text.tobytes()
    return [data[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]


def equal_to_previous(text: Bytes, begins: Integers, ends: Integers) -> Bytes:
    """1 where a cell holds the same bytes as the one before it; the first is 0."""
    cells = _cells(text, begins, ends)
    equal = np.zeros(len(cells), np.uint8)
    equal[1:] = [cell == before for before, cell in itertools.pairwise(cells)]
    return equal


def parse_integers(text: Bytes, begins: Integers, ends: Integers) -> tuple[Integers, Bytes]:
    """The values of cells that are 1 to 18 digits, and 1 where a cell is that."""
    cells = _cells(text, begins, ends)
    valid = np.array([c.isdigit() and len(c) <= _MOST_DIGITS for c in cells], np.uint8)
    values = [int(cell) if good else 0 for cell, good in zip(cells, valid, strict=True)]
    return np.array(values, np.int64), valid


def parse_decimals(text: Bytes, begins: Integers, ends: Integers) -> tuple[NDArray[np.float64], Bytes]:
    """The values of cells that are plain decimals of at most 40 signs, and 1 where a cell is such a one.

    What is not valid here may still be a number (`5e-1`): the caller looks again.
    """
    cells = _cells(text, begins, ends)
    valid = np.array([bool(_DECIMAL.fullmatch(cell)) and len(cell) <= 40 for cell in cells], np.uint8)
    values = [float(cell) if good else 0.0 for cell, good in zip(cells, valid, strict=True)]
    return np.array(values, np.float64), valid


# ------------------------------------------------------------------------------------------------ runs


def _grammar(between: int, after: int) -> re.Pattern[bytes]:
    """What a plain cell looks like: pairs of numbers, spaces allowed around every mark."""
    number = rb"([0-9]{1,18})"

    def mark(byte: int) -> bytes:
        return rb" +" if byte == ord(" ") else rb" *" + re.escape(bytes([byte])) + rb" *"

    if after:
        # The close of a pair, or the end of the cell.
        return re.compile(number + mark(between) + number + rb"(" + mark(after) + rb"| *\Z)")
    return re.compile(number + mark(between) + number + rb"(" + mark(between) + rb"(?! *\Z)| *\Z)")


def _pairs_of(cell: bytes, pattern: re.Pattern[bytes]) -> list[tuple[int, int]] | None:
    at = len(cell) - len(cell.lstrip(b" "))
    pairs = []
    while at < len(cell):
        found = pattern.match(cell, at)
        if found is None:
            return None
        pairs.append((int(found[1]), int(found[2])))
        at = found.end()
    return pairs


def _box(runs: Sequence[tuple[int, int]], line: int) -> tuple[int, int, int, int]:
    width = line if line > 0 else _FAR
    within = [
        (start % width, start % width + stop - start) if start // width == (stop - 1) // width else (0, width)
        for start, stop in runs
    ]
    return (
        min(start for start, _ in runs) // width,
        (max(stop for _, stop in runs) - 1) // width + 1,
        min(first for first, _ in within),
        max(last for _, last in within),
    )


def parse_runs(
    text: Bytes,
    begins: Integers,
    ends: Integers,
    pixels: Integers,
    lines: Integers,
    origin: int,
    between: int,
    after: int,
    starts: Integers,
    stops: Integers,
) -> tuple[Integers, Integers, Integers, Bytes]:
    """`indptr`, areas, boxes and status of the masks in the cells; the runs go into `starts` and `stops`.

    A cell is `start between length` pairs, each closed by `after` (0: parted by `between`). `pixels` is
    the number of pixels of each mask's image (-1: unknown, no bound), `lines` the length of a line in its
    order (0: unknown). Runs that touch are joined. Status: 0 plain; UNSORTED, the runs stand as written
    and may overlap; OPEN, the last `after` is missing; BAD, nothing was taken and someone has to explain.
    """
    cells = _cells(text, begins, ends)
    if len(pixels) != len(cells) or len(lines) != len(cells) or len(starts) != len(stops):
        raise ValueError("arrays differ in length")
    if len(starts) < sum((len(cell) + 1) // 4 for cell in cells):
        raise ValueError("scratch is too small for the text")
    pattern = _grammar(between, after)
    indptr = np.zeros(len(cells) + 1, np.int64)
    areas = np.zeros(len(cells), np.int64)
    boxes = np.zeros((len(cells), 4), np.int64)
    status = np.full(len(cells), BAD, np.uint8)
    written = 0
    for place, cell in enumerate(cells):
        runs = _plain_runs(cell, pattern, int(pixels[place]), origin)
        if runs is not None:
            ordered = all(a[1] <= b[0] for a, b in itertools.pairwise(runs))
            closed = not after or after == ord(" ") or not runs or cell.rstrip(b" ").endswith(bytes([after]))
            status[place] = (0 if ordered else UNSORTED) | (0 if closed else OPEN)
            areas[place] = sum(stop - start for start, stop in runs)
            boxes[place] = _box(runs, int(lines[place])) if runs else 0
            runs = _join_ordered(runs)
            if runs:
                starts[written : written + len(runs)], stops[written : written + len(runs)] = zip(
                    *runs, strict=True
                )
            written += len(runs)
        indptr[place + 1] = written
    return indptr, areas, boxes, status


def _plain_runs(
    cell: bytes, pattern: re.Pattern[bytes], pixels: int, origin: int
) -> list[tuple[int, int]] | None:
    pairs = _pairs_of(cell, pattern)
    if pairs is None:
        return None
    limit = pixels if pixels >= 0 else _FAR
    runs = [(first - origin, first - origin + length) for first, length in pairs]
    good = all(start >= 0 and start < stop <= limit for start, stop in runs)
    return runs if good else None


def _join_ordered(runs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Touching runs joined, as far as the runs are in order; from the first disorder on they stay."""
    joined: list[tuple[int, int]] = []
    orderly, previous = True, 0
    for start, stop in runs:
        orderly = orderly and start >= previous
        if orderly and joined and start == previous:
            joined[-1] = (joined[-1][0], stop)
        else:
            joined.append((start, stop))
        previous = stop
    return joined


def format_runs(
    starts: Integers, stops: Integers, indptr: Integers, origin: int, between: int, after: int
) -> tuple[Bytes, Integers]:
    """The text of masks one behind the other, and where each ends (after a leading 0)."""
    if len(indptr) < 1 or indptr[0] != 0 or indptr[-1] != len(starts) or len(stops) != len(starts):
        raise ValueError("indptr does not cover the runs")
    if (np.diff(indptr) < 0).any():
        raise ValueError("indptr is not ascending")
    mark, close = chr(between), chr(after) if after else ""
    texts = []
    for begin, end in itertools.pairwise(indptr):
        first = (starts[begin:end] + origin).tolist()
        lengths = (stops[begin:end] - starts[begin:end]).tolist()
        pairs = [f"{s}{mark}{n}{close}" for s, n in zip(first, lengths, strict=True)]
        texts.append(("" if after else mark).join(pairs).encode("ascii"))
    ends = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), ends
