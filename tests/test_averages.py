"""Average precision by part, class and threshold equals the slow loops over each of them, to the last bit."""

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from segjudge.metrics.average_precision import AveragePrecision, AveragePrecisionTally
from segjudge.metrics.curves import Averages, Groups, Ranking
from segjudge.metrics.scores import Facts
from tests.reference.averages import Hit, averages

CLASSES = (7, 33, 40)
options = st.fixed_dictionaries(
    {
        "recall": st.sampled_from(["101", "step-area", "pycocotools"]),
        "average": st.sampled_from(["pooled", "clip"]),
        "ties": st.sampled_from(["free", "file"]),
        "absent_class": st.sampled_from(["left out", "zero"]),
    }
)


def judged(rng, images, each, thresholds, levels):
    """Predictions with hits and truths, in images of which some have neither; no truth is hit twice."""
    predictions, truths = [], []
    for image in range(images):
        for class_id in (*CLASSES, 50)[: rng.integers(0, 5)]:  # 50 is no class of the task
            count, spare = rng.integers(0, each + 1), rng.integers(0, 3)
            bias = rng.random()
            for _ in range(count):
                hits = np.logical_and.accumulate(rng.random(thresholds) < bias)
                dropped = ~hits & (rng.random(thresholds) < 0.2)
                confidence = rng.integers(-levels, levels + 1) / 8
                predictions.append([image, class_id, confidence, hits.tolist(), dropped.tolist()])
            truths += [(image, class_id)] * (int(count) + int(spare)) * int(rng.random() < 0.8)
    known = set(truths)
    for row in predictions:
        if tuple(row[:2]) not in known:
            row[3] = [False] * thresholds
    rows = rng.permutation(len(predictions))
    return [Hit(*row[:3], int(line), *row[3:]) for row, line in zip(predictions, rows, strict=True)], truths


def as_bits(flags):
    return np.array([sum(flag << place for place, flag in enumerate(row)) for row in flags], np.uint64)


def tally_of(predictions, truths):
    columns = [
        np.array([getattr(hit, name) for hit in predictions], kind)
        for name, kind in (("image", int), ("class_id", int), ("confidence", float), ("row", int))
    ]
    return AveragePrecisionTally(
        *columns[:3],
        as_bits([hit.hits for hit in predictions]),
        as_bits([hit.dropped for hit in predictions]),
        columns[3],
        *np.array(truths, int).reshape(-1, 2).T.copy(),
    )


def agrees(rng, images, each, thresholds, levels, chosen):
    predictions, truths = judged(rng, images, each, thresholds, levels)
    clips = rng.integers(0, 3, images)
    scored = list(range(images))
    metric = AveragePrecision(
        tuple(Fraction(place + 1, thresholds + 1) for place in range(thresholds)),
        strict=True, ignore="iou", ignore_scope="any", **chosen,
    )  # fmt: skip
    facts = Facts(CLASSES, np.array(scored, int), clips)
    fast = metric.score(tally_of(predictions, truths), facts, metric.breakdowns)
    slow = averages(
        predictions, truths, images=scored, clips=dict(enumerate(clips.tolist())), classes=CLASSES,
        thresholds=thresholds, **chosen,
    )  # fmt: skip
    assert fast.score == slow["score"]
    assert fast.by_class == slow["by_class"]
    assert list(fast.by_threshold.values()) == slow["by_threshold"]
    assert {image: value for (image, _), value in fast.by_image.items()} == slow["by_image"]


@settings(max_examples=400, deadline=None)
@given(
    st.integers(0, 2**32), st.integers(1, 5), st.integers(0, 6), st.integers(1, 4), st.integers(1, 30), options
)  # fmt: skip
def test_every_part_has_the_bits_of_the_slow_loops(seed, images, each, thresholds, levels, chosen):
    agrees(np.random.default_rng(seed), images, each, thresholds, levels, chosen)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32), options)
def test_so_has_a_longer_curve(seed, chosen):
    agrees(np.random.default_rng(seed), 4, 60, 3, 300, chosen)


def test_the_order_of_equal_confidences_makes_no_difference_without_rows():
    rng = np.random.default_rng(3)
    confidences, groups = rng.integers(0, 4, 200) / 4, rng.integers(0, 2, 200)
    hits = rng.integers(0, 8, 200).astype(np.uint64)
    truths = np.bincount(groups)
    results = []
    for _ in range(5):
        mixed = rng.permutation(200)
        ranking = Ranking.of(confidences[mixed], hits[mixed], np.zeros(200, np.uint64), None)
        results.append(ranking.average_precisions(groups[mixed], truths, 3, "101").tolist())
    assert results == results[:1] * 5


def test_what_has_no_truth_is_in_no_group():
    image, class_ids = np.array([0, 1, 1, 2]), np.array([7, 7, 8, 7])
    groups = Groups.of(
        image, class_ids, np.array([0, 1, 0]), np.array([7, 8, 7]), np.array([5, 4, 5]), (7, 8)
    )
    assert groups.parts.tolist() == [4, 5]
    assert groups.class_ids.tolist() == [8, 7]
    assert groups.truths.tolist() == [1, 2]
    assert groups.members.tolist() == [1, -1, 0, 1]


def test_a_class_without_truth_counts_as_zero_where_all_do():
    groups = Groups.of(*(np.zeros(1, int),) * 4, None, (0, 1))
    values = np.array([[0.5, 1.0]])
    assert Averages(groups, values).of_parts() == {0: 0.75}
    assert Averages(groups, values, 2).of_parts() == {0: 0.375}
    assert Averages(groups, values, 2).of_thresholds() == [0.25, 0.5]
