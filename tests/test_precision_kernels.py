"""The compiled curves of average precision equal their plain twin to the last bit, nonsense included."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjudge.kernels import _precision_plain

_precision = pytest.importorskip("segjudge.kernels._precision", reason="the extension was not built here")

RULES = ("101", "step-area", "pycocotools")


def both(*arguments, **options):
    fast, plain = (twin.average_precisions(*arguments, **options) for twin in (_precision, _precision_plain))
    assert fast.dtype == plain.dtype
    np.testing.assert_array_equal(fast, plain)
    return fast


def numbers(values):
    return np.array(values, np.int64)


def ranking(rng, count, groups, levels, thresholds, spare):
    """Predictions whose bits lie close together or apart, in groups of which some have no truth."""
    group = rng.integers(-1, groups, count)
    confidences = rng.integers(0, levels, count) / 4
    kind = rng.integers(0, 3, count)  # nothing, all of the thresholds, some of them
    everything = (1 << thresholds) - 1
    some = rng.integers(0, everything, count, np.uint64, endpoint=True)
    hits = np.where(kind == 0, np.uint64(0), np.where(kind == 1, np.uint64(everything), some))
    dropped = rng.integers(0, everything, count, np.uint64, endpoint=True) * (rng.integers(0, 4, count) == 0)
    most = np.bincount(group[group >= 0], minlength=groups)  # no truth is hit twice
    truths = (most + rng.integers(0, spare + 1, groups)) * (rng.integers(0, 5, groups) > 0)
    order = np.argsort(-confidences, kind="stable").astype(np.int64)
    return order, group, confidences, hits, dropped.astype(np.uint64), truths.astype(np.int64)


@settings(max_examples=600)
@given(
    st.integers(0, 2**32), st.integers(0, 14), st.integers(1, 3), st.integers(1, 20),
    st.sampled_from([1, 3, 64]), st.integers(0, 9), st.sampled_from(RULES), st.booleans(),
)  # fmt: skip
def test_twins(seed, count, groups, levels, thresholds, spare, rule, apart):
    drawn = ranking(np.random.default_rng(seed), count, groups, levels, thresholds, spare)
    both(*drawn, thresholds, rule, apart=apart)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("levels", [3, 50, 10_000])
def test_twins_on_long_curves(rule, apart, levels):
    rng = np.random.default_rng(levels)
    for count, spare in ((150, 0), (500, 100), (3000, 2000)):
        both(*ranking(rng, count, 2, levels, 10, spare), 10, rule, apart=apart)


@settings(max_examples=200)
@given(st.integers(1, 400), st.integers(0, 2**32))
def test_a_recall_level_is_reached_exactly(truths, seed):
    """Every number of hits of every number of truths: 7 of 10 reaches 0.70, and COCO's 0.7 as it rounds."""
    rng = np.random.default_rng(seed)
    zeros = np.zeros(truths, np.int64)
    hits = (rng.random(truths) < rng.random()).astype(np.uint64)
    for rule in RULES:
        both(np.arange(truths), zeros, -np.arange(truths) / 8, hits, zeros.astype(np.uint64),
             numbers([truths]), 1, rule, apart=False)  # fmt: skip


def test_sums_are_rounded_once():
    """A precision 101 times is no loss; many that are not is the nearest float of the exact sum."""
    rng = np.random.default_rng(5)
    for count in (1, 2, 7, 300):
        hits = np.ones(count, np.uint64)
        hits[rng.random(count) < 0.3] = 0
        zeros = np.zeros(count, np.int64)
        points = [(int(hits[: i + 1].sum()), i + 1) for i in range(count)]
        best = [
            max((tp / kept for tp, kept in points if 100 * tp >= k * count), default=0.0) for k in range(101)
        ]
        average = both(np.arange(count), zeros, -np.arange(count) / 8, hits, zeros.astype(np.uint64),
                       numbers([count]), 1, "101", apart=False)  # fmt: skip
        assert average[0, 0] == math.fsum(best) / 101


def test_what_is_dropped_hits_nothing():
    average = both(
        numbers([0]), numbers([0]), np.ones(1), np.array([3], np.uint64), np.array([2], np.uint64),
        numbers([1]), 2, "101", apart=False,
    )  # fmt: skip
    assert average.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({0: numbers([1])}, "not there"),
        ({0: numbers([-1])}, "not there"),
        ({1: numbers([1])}, "group"),
        ({1: numbers([-2])}, "group"),
        ({2: np.ones(2)}, "length"),
        ({3: np.ones(2, np.uint64)}, "length"),
        ({4: np.ones(2, np.uint64)}, "length"),
        ({5: numbers([-1])}, "negative"),
        ({5: numbers([1 << 53])}, "no float"),
        ({6: 0}, "thresholds"),
        ({6: 65}, "thresholds"),
        ({7: "trapezoid"}, "rule"),
        ({0: numbers([0, 0])}, "more hits"),
    ],
)
@pytest.mark.parametrize("rule", RULES)
def test_nonsense_is_refused_before_it_is_indexed(change, message, rule):
    arguments = [
        numbers([0]), numbers([0]), np.ones(1), np.ones(1, np.uint64), np.zeros(1, np.uint64),
        numbers([1]), 10, rule,
    ]  # fmt: skip
    for place, value in change.items():
        arguments[place] = value
    for twin in (_precision, _precision_plain):
        with pytest.raises(ValueError, match=message):
            twin.average_precisions(*arguments, apart=False)
