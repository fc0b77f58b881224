"""The kernels in numpy: what they compute, said plainly; the oracle of the compiled ones, and their stand-in.

Each function takes and gives integer arrays. Text is an array of bytes; a *cell* is the half-open range
`begins[i]:ends[i]` of it. Runs are half-open ranges `starts[k]:stops[k]` of pixel numbers from 0; the
runs of mask i are `indptr[i]:indptr[i + 1]`. A box is (first line, line behind the last, first place in
a line, place behind the last).
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segjudge.kernels._words import BAD, OPEN, QUOTED, UNSORTED, WIDE

if TYPE_CHECKING:
    from collections.abc import Sequence

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Bits = NDArray[np.uint64]

_FAR = 1 << 62
_SIDE = 1 << 31
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


# -------------------------------------------------------------------------------------------- overlaps


def _check_masks(starts: Integers, stops: Integers, indptr: Integers, boxes: Integers) -> None:
    if len(starts) != len(stops) or len(indptr) < 1 or boxes.shape != (len(indptr) - 1, 4):
        raise ValueError("arrays differ in length")
    if indptr[0] < 0 or indptr[-1] > len(starts):
        raise ValueError("indptr leaves the runs")
    if (np.diff(indptr) < 0).any():
        raise ValueError("indptr is not ascending")


def _check_groups(order: Integers, groups: Integers, masks: int) -> None:
    if len(groups) < 1 or groups[0] < 0 or groups[-1] > len(order):
        raise ValueError("groups leave the order")
    if (np.diff(groups) < 0).any():
        raise ValueError("groups are not ascending")
    if len(order) and (order.min() < 0 or order.max() >= masks):
        raise ValueError("order names a mask that is not there")


def shared_pixels(a_starts: Integers, a_stops: Integers, b_starts: Integers, b_stops: Integers) -> int:
    """Pixels that two sorted, disjoint sets of runs share: of every run of a, what b covers up to its ends."""
    covered = np.concatenate([[0], np.cumsum(b_stops - b_starts)])

    def up_to(pixels: Integers) -> Integers:
        run = np.searchsorted(b_stops, pixels)
        inside = np.where(run < len(b_starts), pixels - b_starts[np.minimum(run, len(b_starts) - 1)], 0)
        counted: Integers = covered[run] + np.maximum(inside, 0)
        return counted

    return int((up_to(a_stops) - up_to(a_starts)).sum())


def _most_shared(box: Integers, boxes: Integers, area: int, areas: Integers) -> Integers:
    """No mask of this box and area shares more pixels with each of the others; 0 where boxes are apart."""
    lines = np.minimum(box[1], boxes[:, 1]) - np.maximum(box[0], boxes[:, 0])
    places = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[2], boxes[:, 2])
    most: Integers = np.minimum(area, areas)
    # A line of unknown length is longer than any mask: then the places say nothing.
    told = (lines < _SIDE) & (places < _SIDE)
    most[told] = np.minimum(most[told], lines[told] * places[told])
    most[(lines <= 0) | (places <= 0)] = 0
    return most


def overlap_pairs(
    a_starts: Integers,
    a_stops: Integers,
    a_indptr: Integers,
    a_boxes: Integers,
    a_areas: Integers,
    a_order: Integers,
    a_groups: Integers,
    b_starts: Integers,
    b_stops: Integers,
    b_indptr: Integers,
    b_boxes: Integers,
    b_areas: Integers,
    b_order: Integers,
    b_groups: Integers,
    numerator: int,
    denominator: int,
) -> Integers:
    """(K, 3): a mask of a, a mask of b, and the pixels that they share, for all pairs that share any.

    Masks meet within their group only: group g of a is `a_order[a_groups[g]:a_groups[g + 1]]`. A pair whose
    areas and boxes alone keep its IoU below numerator/denominator is left out; others below it are not.
    """
    _check_masks(a_starts, a_stops, a_indptr, a_boxes)
    _check_masks(b_starts, b_stops, b_indptr, b_boxes)
    _check_groups(a_order, a_groups, len(a_indptr) - 1)
    _check_groups(b_order, b_groups, len(b_indptr) - 1)
    if len(a_areas) != len(a_boxes) or len(b_areas) != len(b_boxes):
        raise ValueError("arrays differ in length")
    if not (0 <= numerator <= denominator <= 1_000_000 and denominator):
        raise ValueError("the least IoU is a fraction of at most a million parts")
    if len(a_groups) != len(b_groups):
        raise ValueError("both sides have the same groups")
    pairs = []
    for group in range(len(a_groups) - 1):
        others = b_order[b_groups[group] : b_groups[group + 1]]
        others = others[b_indptr[others] < b_indptr[others + 1]]
        for a in a_order[a_groups[group] : a_groups[group + 1]]:
            if a_indptr[a] == a_indptr[a + 1]:
                continue
            most = _most_shared(a_boxes[a], b_boxes[others], a_areas[a], b_areas[others])
            meets = (most > 0) & (denominator * most >= numerator * (a_areas[a] + b_areas[others] - most))
            mine = slice(a_indptr[a], a_indptr[a + 1])
            for b in others[meets]:
                theirs = slice(b_indptr[b], b_indptr[b + 1])
                shared = shared_pixels(a_starts[mine], a_stops[mine], b_starts[theirs], b_stops[theirs])
                if shared:
                    pairs.append((a, b, shared))
    return np.array(pairs, np.int64).reshape(-1, 3)


# -------------------------------------------------------------------------------------------- matching


def _check_pairs(
    predictions: Integers, truths: Integers, bits: Bits, n_predictions: int, n_truths: int
) -> None:
    if not len(predictions) == len(truths) == len(bits):
        raise ValueError("arrays differ in length")
    if len(predictions) and (
        min(predictions.min(), truths.min()) < 0
        or predictions.max() >= n_predictions
        or truths.max() >= n_truths
    ):
        raise ValueError("a pair names an instance that is not there")


def greedy_hits(
    predictions: Integers, truths: Integers, bits: Bits, n_predictions: int, n_truths: int
) -> tuple[Bits, Bits]:
    """Thresholds at which each prediction wins a truth and each truth is won, first pair first."""
    _check_pairs(predictions, truths, bits, n_predictions, n_truths)
    hits, taken = [0] * n_predictions, [0] * n_truths
    for p, t, wanted in zip(predictions.tolist(), truths.tolist(), bits.tolist(), strict=True):
        won = wanted & ~taken[t] & ~hits[p]
        hits[p] |= won
        taken[t] |= won
    return np.array(hits, np.uint64), np.array(taken, np.uint64)


def one_to_one(
    predictions: Integers, truths: Integers, bits: Bits, n_predictions: int, n_truths: int, thresholds: int
) -> tuple[Bits, Bits]:
    """The same for a largest one-to-one matching at each threshold; pairs are sorted by prediction."""
    _check_pairs(predictions, truths, bits, n_predictions, n_truths)
    if not 0 < thresholds <= 64:
        raise ValueError("1 to 64 thresholds")
    if (np.diff(predictions) < 0).any():
        raise ValueError("pairs are sorted by prediction")
    hits, taken = [0] * n_predictions, [0] * n_truths
    for level in range(thresholds):
        edges: dict[int, list[int]] = {}
        for p, t, wanted in zip(predictions.tolist(), truths.tolist(), bits.tolist(), strict=True):
            if wanted >> level & 1:
                edges.setdefault(p, []).append(t)
        for t, p in _largest_matching(edges).items():
            hits[p] |= 1 << level
            taken[t] |= 1 << level
    return np.array(hits, np.uint64), np.array(taken, np.uint64)


def _largest_matching(edges: dict[int, list[int]]) -> dict[int, int]:
    """Truth to prediction, by Kuhn's augmenting paths."""
    owner: dict[int, int] = {}
    for root, candidates in edges.items():
        seen: set[int] = set()
        path: list[tuple[int, Any]] = [(root, iter(candidates))]
        chosen: list[int] = []
        while path:
            truth = next((t for t in path[-1][1] if t not in seen), None)
            if truth is None:
                path.pop()
                del chosen[-1:]
                continue
            seen.add(truth)
            chosen.append(truth)
            if truth not in owner:
                owner.update(zip(chosen, [p for p, _ in path], strict=True))
                break
            path.append((owner[truth], iter(edges[owner[truth]])))
    return owner


# -------------------------------------------------------------------------------------------- pictures


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
