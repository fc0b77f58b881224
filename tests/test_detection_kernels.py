"""The compiled kernels of the detection metric equal their plain twins to the last bit, nonsense included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjudge import Masks
from segjudge.kernels import _detection_plain

_detection = pytest.importorskip("segjudge.kernels._detection", reason="the extension was not built here")

LEVELS = np.linspace(0, 1, 11)
THRESHOLDS = np.linspace(0.5, 0.95, 10)


def both(name, *arguments, **options):
    results = [getattr(twin, name)(*arguments, **options) for twin in (_detection, _detection_plain)]
    fast, plain = ([r] if isinstance(r, np.ndarray) else r for r in results)
    for one, other in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    return results[0]


def numbers(values):
    return np.array(values, np.int64)


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 2, 5, -3, 1 << 40, (1 << 63) - 1, -(1 << 63)]),
            st.integers(0, 2),
            st.sampled_from([0.5, 0.25, -0.0, 0.0, 1e300]),
            st.integers(0, 3),
        ),
        max_size=80,
    ),
    st.booleans(),
)
def test_ranked_order_twins(items, by_image):
    if by_image:
        items.sort(key=lambda item: item[0])
    columns = list(zip(*items, strict=True)) if items else [(), (), (), ()]
    order = both(
        "ranked_order",
        numbers(columns[0]),
        numbers(columns[1]),
        np.array(columns[2], float),
        numbers(columns[3]),
    )
    assert order.tolist() == sorted(
        range(len(items)), key=lambda k: (items[k][0], items[k][1], -items[k][2], items[k][3])
    )


def test_long_groups_are_sorted_in_pieces_that_are_merged():
    rng = np.random.default_rng(3)
    for count in (11, 12, 13, 24, 25, 500, 1000):
        confidences, rows = rng.integers(0, 40, count) / 8, rng.integers(0, 9, count)
        zeros = np.zeros(count, np.int64)
        both("ranked_order", zeros, zeros, confidences, rows)
        both("ranked_order", rng.integers(0, 3, count), zeros, confidences, rows)


@st.composite
def pairs(draw):
    """Pairs grouped by prediction, with IoUs that tie and lie on thresholds."""
    truths, ranges = draw(st.integers(0, 4)), draw(st.integers(1, 3))
    iou = st.sampled_from([0.1, 0.5, 0.6, float(THRESHOLDS[2]), 0.75, 0.95, 1.0])
    listed = []
    for prediction in draw(st.permutations(range(5))) if truths else []:
        chosen = sorted(draw(st.sets(st.integers(0, truths - 1))))
        listed += [(prediction, truth, draw(iou)) for truth in chosen]
    columns = list(zip(*listed, strict=True)) if listed else [(), (), ()]
    flags = st.lists(st.booleans(), min_size=ranges, max_size=ranges)
    outside = np.array([draw(flags) for _ in range(truths)], np.uint8).reshape(truths, ranges)
    apart = np.array([draw(flags) for _ in range(5)], np.uint8).reshape(5, ranges)
    crowd = np.array([draw(st.booleans()) for _ in range(truths)], np.uint8)
    return numbers(columns[0]), numbers(columns[1]), np.array(columns[2], float), crowd, outside, apart


@settings(max_examples=300)
@given(pairs())
def test_match_detections_twins(drawn):
    predictions, truths, iou, crowd, outside, apart = drawn
    both("match_detections", predictions, truths, iou, THRESHOLDS, crowd, outside, apart)


@pytest.mark.parametrize(
    ("prediction", "truth"),
    [(-1, 0), (1, 0), (0, -1), (0, 1)],
)
def test_a_pair_out_of_range_is_refused(prediction, truth):
    for twin in (_detection, _detection_plain):
        with pytest.raises(ValueError, match="not there"):
            twin.match_detections(
                numbers([prediction]),
                numbers([truth]),
                np.ones(1),
                THRESHOLDS,
                np.zeros(1, np.uint8),
                np.zeros((1, 1), np.uint8),
                np.zeros((1, 1), np.uint8),
            )


@st.composite
def rankings(draw):
    """Random bits in two area ranges, in groups, some of them without truth or without predictions."""
    groups, ranges, rows = draw(st.integers(1, 4)), draw(st.integers(1, 2)), draw(st.integers(0, 12))
    bits = st.lists(st.integers(0, 1023), min_size=ranges, max_size=ranges)
    group = numbers([draw(st.integers(0, groups - 1)) for _ in range(rows)])
    confidences = np.array([draw(st.integers(0, 5)) / 4 for _ in range(rows)], float)
    kind = draw(st.sampled_from([np.uint16, np.uint64]))
    hits, dropped = (
        np.array([draw(bits) for _ in range(rows)], kind).reshape(rows, ranges) for _ in range(2)
    )
    ranks = numbers([draw(st.integers(0, 3)) for _ in range(rows)])
    most = [sum(group == number) for number in range(groups)]  # no truth is hit twice
    truths = numbers([[draw(st.just(0) | st.integers(n, n + 9)) for _ in range(ranges)] for n in most])
    order = np.lexsort((-confidences, group)).astype(np.int64)
    return order, group, confidences, ranks, hits, dropped, truths


@settings(max_examples=300)
@given(rankings(), st.lists(st.integers(1, 4), min_size=1), st.booleans(), st.sampled_from([0, 2, 11, 101]))
def test_detection_curves_twins(ranking, caps, whole, steps):
    both("detection_curves", *ranking, np.linspace(0, 1, steps), 10, numbers(sorted(caps)), whole=whole)


def test_sixty_four_thresholds_fill_all_bits():
    hits = np.array([[2**64 - 1]], np.uint64)
    average = both(
        "detection_curves",
        numbers([0]), numbers([0]), np.ones(1), numbers([0]), hits, np.zeros((1, 1), np.uint64),
        numbers([[1]]), LEVELS, 64, numbers([100]), whole=True,
    )[0]  # fmt: skip
    assert average.shape == (1, 1, 64)
    assert (average > 0.99).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: numbers([1])}, "not there"),
        ({0: numbers([-1])}, "not there"),
        ({1: numbers([1])}, "groups"),
        ({1: numbers([-1])}, "groups"),
        ({6: numbers([[-1]])}, "negative"),
        ({6: numbers([[(1 << 53) + 1]])}, "no float"),
        ({7: np.array([0.5, 0.2])}, "levels"),
        ({7: np.array([0.5, np.nan])}, "levels"),
        ({7: np.array([2.0])}, "levels"),
        ({8: 65}, "thresholds"),
        ({8: 0}, "thresholds"),
        ({9: numbers([])}, "cap"),
        ({9: numbers([2, 1])}, "caps"),
        ({4: np.ones((2, 1), np.uint64)}, "length"),
        (
            dict.fromkeys((0, 1, 3), numbers([0, 0]))
            | {0: numbers([0, 1]), 2: np.ones(2)}
            | dict.fromkeys((4,), np.ones((2, 1), np.uint64))
            | {5: np.zeros((2, 1), np.uint64)},
            "more hits",
        ),
    ],
)
def test_nonsense_is_refused_before_it_is_indexed(change, message):
    arguments = [
        numbers([0]), numbers([0]), np.ones(1), numbers([0]), np.zeros((1, 1), np.uint64),
        np.zeros((1, 1), np.uint64), numbers([[1]]), LEVELS, 10, numbers([100]),
    ]  # fmt: skip
    for place, value in change.items():
        arguments[place] = value
    for twin in (_detection, _detection_plain):
        with pytest.raises(ValueError, match=message):
            twin.detection_curves(*arguments, whole=False)


# --- overlaps --------------------------------------------------------------------------------------------------


@st.composite
def sides(draw):
    """Masks of two sides with keys, many of them sharing pixels; (arguments of one side) twice."""
    height, width = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    sides = []
    for _ in range(2):
        cells = st.lists(st.booleans(), min_size=height * width, max_size=height * width)
        pictures = np.array(draw(st.lists(cells, max_size=5)), bool).reshape(-1, height, width)
        keys = [draw(st.integers(0, 2)) for _ in pictures]
        sides.append((Masks.from_dense(pictures, draw(st.just("column"))), numbers(keys)))
    return sides


def arguments_of(masks, keys):
    order = np.argsort(keys, kind="stable").astype(np.int64)
    return [masks.starts, masks.stops, masks.indptr, masks.extents, masks.areas, order, keys[order]]


@settings(max_examples=400)
@given(sides(), st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.booleans(), st.integers(0, 31))
def test_detection_overlaps_twins(drawn, least, sized, flags):
    (masks, keys), (truths, truth_keys) = drawn
    if not sized:
        # Without a size all pixels are one line.
        unknown = np.full((len(masks), 2), -1), np.full((len(truths), 2), -1)
        masks, truths = (
            Masks.from_runs("column", m.starts, m.stops, m.indptr, shapes)
            for m, shapes in zip((masks, truths), unknown, strict=True)
        )
    crowd = np.array([flags >> place & 1 for place in range(len(truths))], np.uint8)
    place, truth, iou = both(
        "detection_overlaps",
        *arguments_of(masks, keys),
        *arguments_of(truths, truth_keys),
        crowd,
        least,
    )
    table = masks.overlaps(truths, (keys, truth_keys)).iou()
    order = np.argsort(keys, kind="stable")
    for p, t, value in zip(order[place], truth, iou, strict=True):
        assert crowd[t] or value == table[p, t]
    wanted = (table >= least) & (table > 0) & (crowd == 0)
    assert wanted.sum() == (crowd[truth] == 0).sum()


@pytest.mark.parametrize("change", range(8))
def test_overlaps_of_nonsense_are_refused(change):
    masks = Masks.from_dense(np.ones((1, 2, 2), bool), "column")
    side, truths = arguments_of(masks, numbers([0])), arguments_of(masks, numbers([0]))
    if change == 0:
        side[2] = numbers([1, 0])
    elif change == 1:
        side[5] = numbers([1])
    elif change == 2:
        side[2] = numbers([0, 2])
    elif change == 3:
        side[6] = numbers([0, 0])
    elif change == 4:
        truths[4] = numbers([])
    elif change == 5:
        truths[4] = numbers([(1 << 63) - 1])
    elif change == 6:
        side[4] = numbers([-1])
    else:
        side[3] = numbers([[0, (1 << 63) - 1, 0, 2]])
    for twin in (_detection, _detection_plain):
        with pytest.raises(ValueError, match=r"order|indptr|length|area|box"):
            twin.detection_overlaps(*side, *truths, np.zeros(1, np.uint8), 0.5)
