"""The detection metric equals pycocotools and a slow reference, number by number and match by match."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.coco_scenes import (
    DETECTION,
    facts,
    matches_in,
    matches_of,
    pycocotools,
    random_scene,
    scenes,
    tally,
)
from tests.reference import detection as reference

NAMES = ("AP", "AP50", "AP75", "APs", "APm", "APl", "AR1", "AR10", "AR100", "ARs", "ARm", "ARl")
EVERYTHING = frozenset({"class", "threshold", "area", "image"})


def same_as_pycocotools(scene):
    """All numbers and arrays; where they differ, the matches that differ are what fails."""
    evaluation, kept = pycocotools(scene), tally(scene)
    scores = DETECTION.score(kept, facts(scene), frozenset())
    curves = DETECTION.curves(kept, facts(scene))
    theirs = dict(zip(NAMES, [None if x == -1 else x for x in evaluation.stats.tolist()], strict=True))
    try:
        assert list(scores.metrics) == list(NAMES)
        for name, value in theirs.items():
            assert scores.metrics[name] == (None if value is None else pytest.approx(value, abs=1e-12)), name
        np.testing.assert_array_equal(curves.precision, evaluation.eval["precision"])
        np.testing.assert_array_equal(curves.recall, evaluation.eval["recall"])
        np.testing.assert_array_equal(curves.confidence, evaluation.eval["scores"])
    except AssertionError:
        assert_same_matches(evaluation, kept, scene)
        raise


def assert_same_matches(evaluation, kept, scene):
    theirs = {key: value for key, value in matches_of(evaluation).items() if value[0]}
    ours = matches_in(kept, scene)
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        assert ours[key] == value, f"image, class and area range {key}"


@settings(max_examples=300, deadline=None)
@given(scenes())
def test_numbers_and_arrays_are_those_of_pycocotools(scene):
    same_as_pycocotools(scene)


@settings(max_examples=200, deadline=None)
@given(scenes())
def test_matches_are_those_of_pycocotools(scene):
    assert_same_matches(pycocotools(scene), tally(scene), scene)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_larger_scenes_are_those_of_pycocotools(seed):
    same_as_pycocotools(random_scene(seed))


@pytest.mark.parametrize("seed", range(4))
def test_more_than_a_hundred_predictions_are_cut_as_pycocotools_cuts_them(seed):
    scene = random_scene(seed, images=2, truths=8, predictions=600)
    assert any(
        sum((p.image, p.class_id) == (i, c) for p in scene.predictions) > 100
        for i in scene.images
        for c in scene.classes
    )
    same_as_pycocotools(scene)


@settings(max_examples=40, deadline=None)
@given(scenes())
def test_numbers_are_those_of_the_reference(scene):
    scores = DETECTION.score(tally(scene), facts(scene), frozenset())
    for name, value in reference.twelve(scene).items():
        assert scores.metrics[name] == (None if value is None else pytest.approx(value, abs=1e-12)), name


def test_thresholds_and_levels_of_the_reference_are_linspace():
    assert tuple(np.linspace(0.5, 0.95, 10).tolist()) == reference.THRESHOLDS
    assert tuple(np.linspace(0, 1, 101).tolist()) == reference.LEVELS
