"""The detection metric equals pycocotools and a slow reference, number by number and match by match."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import segjudge as sj
from segjudge.metrics.detection import AreaRange
from tests.coco_scenes import (
    DETECTION,
    facts,
    instances,
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
    assert_same_matches(pycocotools(scene), tally(scene), scene)


@settings(max_examples=40, deadline=None)
@given(scenes())
def test_numbers_are_those_of_the_reference(scene):
    scores = DETECTION.score(tally(scene), facts(scene), frozenset())
    for name, value in reference.twelve(scene).items():
        assert scores.metrics[name] == (None if value is None else pytest.approx(value, abs=1e-12)), name


def test_thresholds_and_levels_of_the_reference_are_linspace():
    assert tuple(np.linspace(0.5, 0.95, 10).tolist()) == reference.THRESHOLDS
    assert tuple(np.linspace(0, 1, 101).tolist()) == reference.LEVELS


# --- the parts -------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(scenes())
def test_the_score_by_image_is_that_of_the_image_alone(scene):
    whole = DETECTION.score(tally(scene), facts(scene), EVERYTHING)
    for place, image in enumerate(scene.images):
        alone = dataclasses.replace(
            scene,
            images=(image,),
            truths=tuple(t for t in scene.truths if t.image == image),
            predictions=tuple(p for p in scene.predictions if p.image == image),
        )
        assert whole.by_image[place, -1] == DETECTION.score(tally(alone), facts(alone), EVERYTHING).score


@settings(max_examples=60, deadline=None)
@given(scenes())
def test_the_parts_are_means_of_what_pycocotools_has(scene):
    precision = pycocotools(scene).eval["precision"]  # thresholds, levels, classes, areas, caps
    scores = DETECTION.score(tally(scene), facts(scene), EVERYTHING)

    def mean(values):
        known = values[values > -1]
        return pytest.approx(known.mean(), abs=1e-12) if len(known) else None

    for place, class_id in enumerate(sorted(scene.classes)):
        assert scores.by_class[class_id] == mean(precision[:, :, place, 0, 2])
    for place, threshold in enumerate(DETECTION.thresholds):
        assert scores.by_threshold[threshold] == mean(precision[place, :, :, 0, 2])
    for place, area in enumerate(DETECTION.areas):
        assert scores.by_area[area.name] == mean(precision[:, :, :, place, 2])


def test_classes_that_no_task_names_are_those_that_occur():
    scene = random_scene(1)
    named = dataclasses.replace(facts(scene), classes=())
    assert DETECTION.score(tally(scene), named, EVERYTHING).by_class.keys() == {1, 2, 5}


# --- what is not copied from pycocotools -------------------------------------------------------------------------


def test_an_annotation_whose_id_is_0_counts():
    """pycocotools takes the id for "no match": a perfect result scores 0 where it is the only annotation."""
    pixels = frozenset({0, 1})
    thing = reference.Object(1, 1, pixels, 2.0, 0.9)
    scene = reference.Scene((1,), (1,), 2, 2, (thing,), (thing,))
    assert pycocotools(scene, first_id=0).stats[0] == 0
    assert DETECTION.score(tally(scene), facts(scene), frozenset()).score == pytest.approx(1)


def test_an_ignored_annotation_is_matched_once_and_last():
    def thing(pixels, confidence=1.0, *, ignore=False):
        return reference.Object(1, 1, frozenset(pixels), float(len(pixels)), confidence, ignore=ignore)

    truths = (thing({0, 1, 2}, ignore=True), thing({4, 5}))
    scene = reference.Scene(
        (1,), (1,), 2, 4, truths, (thing({0, 1, 2}, 0.9), thing({0, 1, 2}, 0.8), thing({4, 5}, 0.7))
    )
    kept = tally(scene)
    # The first is dropped with the ignored one, the second finds nothing left: a false positive.
    assert kept.dropped[:, 0].tolist() == [1023, 0, 0]
    assert kept.hits[:, 0].tolist() == [0, 0, 1023]
    assert DETECTION.score(kept, facts(scene), frozenset()).score == pytest.approx(0.5)


# --- the options -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"thresholds": (Fraction(0),)}, "between 0 and 1"),
        ({"thresholds": (Fraction(3, 4), Fraction(1, 2))}, "ascend"),
        ({"recall_levels": 1}, "two recall levels"),
        ({"areas": ()}, "ranges"),
        ({"areas": (AreaRange("all", Fraction(0), Fraction(1)),) * 2}, "name of its own"),
        ({"caps": ()}, "caps"),
        ({"caps": (10, 1)}, "caps"),
        ({"caps": (0,)}, "caps"),
    ],
)
def test_options_that_make_no_metric_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(DETECTION, **change)


def test_thresholds_in_equal_steps_are_linspace_and_others_are_themselves():
    assert DETECTION.float_thresholds().tolist() == np.linspace(0.5, 0.95, 10).tolist()
    uneven = dataclasses.replace(DETECTION, thresholds=(Fraction(1, 2), Fraction(3, 5), Fraction(9, 10)))
    assert uneven.float_thresholds().tolist() == [0.5, 0.6, 0.9]
    one = dataclasses.replace(DETECTION, thresholds=(Fraction(3, 4),))
    assert one.float_thresholds().tolist() == [0.75]


def test_metrics_are_named_after_areas_and_caps():
    areas = (*DETECTION.areas[:1], *(AreaRange(n, Fraction(0), Fraction(9)) for n in ("tiny", "thin")))
    metric = dataclasses.replace(DETECTION, areas=areas, caps=(5,), thresholds=(Fraction(1, 2),))
    scene = random_scene(2)
    names = list(metric.score(tally(scene, metric), facts(scene), frozenset()).metrics)
    assert names == ["AP", "AP50", "APtiny", "APthin", "AR5", "ARtiny", "ARthin"]


TASK = """
version = 1
id = "boxes"
title = "COCO's rules on a table"
[classes]
1 = "one"
2 = "two"
5 = "five"
7 = "seven"
[submission]
form = "table"
columns = { ImageId = "image", LabelId = "class", Confidence = "confidence", EncodedPixels = "runs" }
order = "column"
origin = 1
between = " "
after = ""
unsorted = "error"
[truth]
columns = { ImageId = "image", LabelId = "class", EncodedPixels = "runs" }
[metric]
name = "detection"
thresholds = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
recall_levels = 101
areas = [
    { name = "all", least = 0, most = 1e10 },
    { name = "small", least = 0, most = 1024 },
    { name = "medium", least = 1024, most = 9216 },
    { name = "large", least = 9216, most = 1e10 },
]
caps = [1, 10, 100]
"""


def test_a_task_file_names_the_metric(tmp_path):
    (tmp_path / "boxes.toml").write_text(TASK)
    task = sj.load_task(tmp_path / "boxes.toml")
    assert task.metric == DETECTION
    assert task.settings["areas"][1] == "small: 0 to 1024"
    assert task.settings["caps"] == [1, 10, 100]
    assert task.choices("areas") == "a list of tables"
    scene = random_scene(3)
    result = sj.score(
        task, *(instances(side, scene, scene.images) for side in (scene.truths, scene.predictions))
    )
    expected = DETECTION.score(tally(scene), facts(scene), EVERYTHING)
    assert result.metrics == expected.metrics
    assert result.score == expected.score == result.metrics["AP"]
    assert result.by_area == expected.by_area
    assert result.by_class == expected.by_class
    aside = sum(t.crowd or t.ignore for t in scene.truths)
    assert result.counts == {
        "images": len(scene.images),
        "truths": len(scene.truths) - aside,
        "ignored": aside,
        "predictions": len(scene.predictions),
    }


def test_an_evaluator_gives_the_curves_of_pycocotools(tmp_path):
    (tmp_path / "boxes.toml").write_text(TASK)
    scene = random_scene(4)
    evaluator = sj.Evaluator(sj.load_task(tmp_path / "boxes.toml"))
    for image in reversed(scene.images):
        sides = (scene.truths, scene.predictions)
        evaluator.update(image, *(instances(side, scene, [image]) for side in sides))
    curves, evaluation = evaluator.curves(), pycocotools(scene)
    assert curves.classes == (1, 2, 5, 7)
    np.testing.assert_array_equal(curves.precision, evaluation.eval["precision"])
    np.testing.assert_array_equal(curves.recall, evaluation.eval["recall"])
    np.testing.assert_array_equal(curves.confidence, evaluation.eval["scores"])
