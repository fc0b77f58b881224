"""The compiled kernels equal their numpy twins on everything, nonsense included."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjudge import kernels
from segjudge.kernels import _plain

MODULES = [
    pytest.importorskip(f"segjudge.kernels.{name}", reason="the extension was not built here")
    for name in ("_tables", "_meeting", "_pictures")
]
_compiled = SimpleNamespace(
    **{name: vars(module)[name] for module in MODULES for name in _plain.__all__ if name in vars(module)}
)

CELL = st.one_of(
    st.text("0123456789 |:-\0", max_size=24),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=6).map(
        lambda runs: "".join(f"{s} {n}|" for s, n in runs)
    ),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=6).map(
        lambda runs: " ".join(f"{s} {n}" for s, n in sorted(runs))
    ),
    st.text("0123456789", min_size=17, max_size=20).map(lambda digits: f"{digits} {digits}|"),
    # As programs write them, longer than any window or batch of the fast path, whole or with one slip.
    st.builds(
        lambda steps, times, marks, slip: slipped("".join(plain_cell(steps * times, *marks)), *slip),
        st.lists(st.tuples(st.integers(0, 9999), st.integers(0, 120)), min_size=1, max_size=9),
        st.sampled_from([1, 2, 9, 90, 170]),
        st.sampled_from([(" ", "|"), (" ", " ")]),
        st.tuples(st.integers(0, 3000), st.sampled_from(["", "", "", " ", "|", "7", "-", "\0", "0000000"])),
    ),
)


def plain_cell(steps, between, after):
    at = 0
    for gap, length in steps:
        yield f"{at + gap}{between}{length}{after}"
        at += gap + length


def slipped(cell, place, text):
    """The cell with a text put into it somewhere; without the last mark if that is a space."""
    return (cell[:place] + text + cell[place:]).removesuffix(" ")


def cells_of(texts):
    data = [text.encode() if isinstance(text, str) else text for text in texts]
    ends = np.cumsum([len(cell) for cell in data], dtype=np.int64) if data else np.zeros(0, np.int64)
    begins = ends - np.array([len(cell) for cell in data], np.int64)
    return np.frombuffer(b"".join(data), np.uint8), begins, ends


def both(name, *arguments):
    """The results of the two twins, each with scratch of its own."""
    results = [getattr(twin, name)(*arguments) for twin in (_compiled, _plain)]
    fast, plain = ([r] if isinstance(r, np.ndarray) else r for r in results)
    for one, other in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
    return results[1]


@given(st.binary(max_size=80), st.integers(1, 5))
def test_index_records_twins(data, fields):
    both("index_records", np.frombuffer(data, np.uint8), ord(","), ord("\n"), fields)


@given(st.text('a,\n\r"ä', max_size=400), st.integers(1, 4))
def test_index_records_tells_quotes_and_wide_bytes(text, fields):
    *_, flags = both("index_records", np.frombuffer(text.encode(), np.uint8), 44, 10, fields)
    assert bool(flags & kernels.QUOTED) == ('"' in text)
    assert bool(flags & kernels.WIDE) == ("ä" in text)


@given(st.text("a,\n\r", max_size=400), st.integers(1, 4))
def test_index_records_twins_on_tables(text, fields):
    starts, ends, found, _ = both("index_records", np.frombuffer(text.encode(), np.uint8), 44, 10, fields)
    lines = text.removesuffix("\n").split("\n") if text else []
    lines = [line.removesuffix("\r") for line in lines]
    assert found.tolist() == [line.count(",") + 1 for line in lines]
    for line, start, row in zip(lines, starts, ends, strict=True):
        begins = [start, *(row[:-1] + 1)]
        cells = [text[b:e] for b, e in zip(begins, row, strict=True)]
        assert cells[: line.count(",") + 1] == line.split(",")[:fields]


@given(st.lists(st.text("ab", max_size=3), max_size=8))
def test_equal_to_previous_twins(texts):
    both("equal_to_previous", *cells_of(texts))


@given(st.lists(st.text("0123456789+-. ", max_size=20), max_size=8))
def test_parse_integers_twins(texts):
    both("parse_integers", *cells_of(texts))


@given(st.lists(st.one_of(st.text("0123456789.e-", max_size=20), st.floats(0, 1).map(repr)), max_size=8))
def test_parse_decimals_twins(texts):
    values, valid = both("parse_decimals", *cells_of(texts))
    for text, value, good in zip(texts, values, valid, strict=True):
        assert not good or value == float(text)


@settings(max_examples=400)
@given(
    st.lists(CELL, max_size=5),
    st.integers(0, 1),
    st.sampled_from([(" ", "|"), (" ", ""), (":", " "), (":", ""), (" ", " "), (",", ";")]),
    st.sampled_from([-1, 0, 12, 45, 10**7]),
    st.sampled_from([0, 1, 5, 9, 2710]),
)
def test_parse_runs_twins(texts, origin, marks, pixels, line):
    between, after = (ord(mark) if mark else 0 for mark in marks)
    text, begins, ends = cells_of(texts)
    shape = [np.full(len(texts), value, np.int64) for value in (pixels, line)]
    results = []
    for twin in (_compiled, _plain):
        room = sum((len(cell) + 1) // 4 for cell in texts)
        starts, stops = np.full(room, -7, np.int64), np.full(room, -7, np.int64)
        parsed = twin.parse_runs(text, begins, ends, *shape, origin, between, after, starts, stops)
        total = parsed[0][-1]  # what lies behind the runs is nobody's business
        results.append((*parsed, starts[:total], stops[:total]))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_parse_runs_wants_scratch_for_the_text():
    text, begins, ends = cells_of(["1 2|"])
    none = np.zeros(0, np.int64)
    for twin in (_compiled, _plain):
        with pytest.raises(ValueError, match="scratch"):
            twin.parse_runs(text, begins, ends, begins, begins, 0, 32, 124, none, none)


@pytest.mark.parametrize("name", ["equal_to_previous", "parse_integers", "parse_decimals"])
@pytest.mark.parametrize(("begin", "end"), [(-1, 1), (2, 1), (0, 9)])
def test_cells_outside_the_text_are_refused(name, begin, end):
    for twin in (_compiled, _plain):
        with pytest.raises(ValueError, match="outside"):
            getattr(twin, name)(np.zeros(3, np.uint8), np.array([begin]), np.array([end]))


MASKS = st.lists(st.lists(st.booleans(), min_size=30, max_size=30), min_size=1, max_size=5)


def runs_of(masks, line):
    starts, stops, counts, boxes = [], [], [0], []
    for mask in masks:
        edges = _plain.mask_edges(np.array([mask], np.uint8), False)
        starts += edges[::2].tolist()
        stops += edges[1::2].tolist()
        counts.append(len(starts))
        boxes.append(
            _plain.tables._box(list(zip(edges[::2], edges[1::2], strict=True)), line)
            if len(edges)
            else (0,) * 4
        )
    areas = [sum(mask) for mask in masks]
    return tuple(np.array(column, np.int64) for column in (starts, stops, counts, boxes, areas))


@given(MASKS, MASKS, st.sampled_from([0, 1, 7, 30]), st.sampled_from([(1, 2), (1, 1), (3, 4), (1, 10)]))
def test_overlap_pairs_twins_and_dense(a, b, line, least):
    orders = [np.arange(len(side)) for side in (a, b)]
    groups = [np.array([0, len(side)]) for side in (a, b)]
    sides = (*runs_of(a, line), orders[0], groups[0], *runs_of(b, line), orders[1], groups[1])
    pairs = both("overlap_pairs", *sides, 0, 1)
    dense = np.array(a, int) @ np.array(b, int).T
    expected = [(i, j, dense[i, j]) for i in range(len(a)) for j in range(len(b)) if dense[i, j]]
    assert [tuple(pair) for pair in pairs] == expected
    # A least IoU may leave out pairs below it, and never one that reaches it.
    union = np.sum(a, axis=1)[:, None] + np.sum(b, axis=1) - dense
    some = {tuple(pair) for pair in both("overlap_pairs", *sides, *least)}
    assert some <= set(expected)
    assert {(i, j, n) for i, j, n in expected if n * least[1] >= least[0] * union[i, j]} <= some


@pytest.mark.parametrize("pixels", [(1 << 42) - 1, 1 << 42, 20 * 10**12, 1 << 53, 10**18])
@pytest.mark.parametrize("least", [(1, 2), (123_457, 1_000_000), (999_983, 1_000_000), (1, 1)])
def test_no_least_iou_leaves_out_a_mask_that_meets_itself(pixels, least):
    runs = ([0], [pixels], [0, 1], [[0, 1, 0, pixels]], [pixels], [0], [0, 1])
    side = tuple(np.array(column, np.int64) for column in runs)
    assert both("overlap_pairs", *side, *side, *least).tolist() == [[0, 0, pixels]]


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("value", [-1, -(1 << 63), (1 << 62) + 1, (1 << 63) - 1])
def test_a_box_beyond_all_images_is_refused(place, value):
    side = [np.array(column, np.int64) for column in ([3], [9], [0, 1], [[0, 1, 3, 9]], [6], [0], [0, 1])]
    wild = [column.copy() for column in side]
    wild[3][0, place] = value
    for twin in (_compiled, _plain):
        for sides in ((side, wild), (wild, side)):
            with pytest.raises(ValueError, match="box"):
                twin.overlap_pairs(*sides[0], *sides[1], 0, 1)


@given(MASKS, st.data())
def test_masks_meet_within_their_group_only(masks, data):
    group = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(masks), max_size=len(masks))))
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(4))
    side = (*runs_of(masks, 6), order, bounds)
    pairs = both("overlap_pairs", *side, *side, 0, 1)
    assert all(group[a] == group[b] for a, b, _ in pairs)


PAIRS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 7)), max_size=14)


@given(PAIRS)
def test_greedy_hits_twins(pairs):
    p, t, bits = (np.array([pair[k] for pair in pairs], np.int64) for k in range(3))
    both("greedy_hits", p, t, bits.astype(np.uint64), 5, 5)


@given(PAIRS)
def test_one_to_one_twins_and_is_largest(pairs):
    pairs = sorted(pairs, key=lambda pair: pair[0])
    p, t, bits = (np.array([pair[k] for pair in pairs], np.int64) for k in range(3))
    results = [twin.one_to_one(p, t, bits.astype(np.uint64), 5, 5, 3) for twin in (_compiled, _plain)]
    for level in range(3):
        edges = {(a, b) for a, b, w in pairs if w >> level & 1}
        most = largest(edges)
        for hits, taken in results:
            assert sum(int(h) >> level & 1 for h in hits) == most
            assert sum(int(h) >> level & 1 for h in taken) == most


def largest(edges):
    """The size of a largest matching, by trying everything."""
    if not edges:
        return 0
    (p, t), *_ = sorted(edges)
    rest = {edge for edge in edges if edge != (p, t)}
    return max(largest(rest), 1 + largest({(a, b) for a, b in rest if a != p and b != t}))


@given(
    st.lists(st.integers(0, 3), max_size=40),
    st.sampled_from([np.uint8, np.uint16, np.int32]),
    st.lists(st.integers(0, 1), max_size=4),
)
def test_label_runs_twins(labels, dtype, keep):
    both("label_runs", np.array(labels, dtype), np.array(keep, np.uint8))


SIDES = st.sampled_from([0, 1, 2, 7, 8, 9, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200])


@settings(deadline=None)
@given(SIDES, SIDES, st.integers(0, 2**32), st.sampled_from([0.002, 0.02, 0.5, 0.98]), st.booleans())
def test_mask_edges_twins(height, width, seed, share, column):
    mask = (np.random.default_rng(seed).random((height, width)) < share).astype(np.uint8)
    both("mask_edges", mask, column)


@settings(deadline=None)
@given(
    SIDES,
    SIDES,
    st.lists(st.tuples(*[st.integers(0, 199)] * 4, st.sampled_from([0, 1, 2, 128, 255]))),
    st.booleans(),
)
def test_mask_edges_tell_background_from_every_other_value(height, width, boxes, column):
    mask = np.zeros((height, width), np.uint8)
    for y, x, lines, places, value in boxes:
        mask[y : y + lines + 1, x : x + places + 1] = value
    edges = both("mask_edges", mask, column)
    drawn = np.zeros(height * width, bool)
    for start, stop in edges.reshape(-1, 2).tolist():
        drawn[start:stop] = True
    np.testing.assert_array_equal(drawn, (mask.T if column else mask).ravel() != 0)


@given(MASKS, st.integers(0, 1), st.sampled_from(["|", ""]))
def test_format_runs_twins(masks, origin, after):
    starts, stops, indptr, *_ = runs_of(masks, 5)
    both("format_runs", starts, stops, indptr.astype(np.int64), origin, ord(" "), ord(after) if after else 0)


LONG = st.integers(0, 17).flatmap(lambda digits: st.integers(10**digits - 2, 10**digits + 2)).map(abs)


@given(st.lists(st.tuples(LONG, LONG), max_size=5), st.integers(0, 1), st.sampled_from(["|", ""]))
def test_format_runs_twins_on_numbers_of_all_lengths(runs, origin, after):
    edges = np.array([(start, start + length) for start, length in runs], np.int64).reshape(-1)
    indptr = np.array([0, len(runs) // 2, len(runs)])
    text, ends = both(
        "format_runs", edges[::2], edges[1::2], indptr, origin, ord(" "), ord(after) if after else 0
    )
    halves = [bytes(text[begin:end]).decode() for begin, end in itertools.pairwise(ends)]
    numbers = [int(number) for half in halves for number in half.replace("|", " ").split()]
    assert numbers == [number for start, length in runs for number in (start + origin, length)]
