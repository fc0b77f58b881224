"""The reference held to the pages' own examples and to numbers worked out by hand."""

from __future__ import annotations

import csv
import itertools
import zipfile
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Picture

from tests.reference.average_precision import (
    Point,
    average_precision,
    interpolated,
    pycocotools_precision,
    step_area,
)
from tests.reference.files import write_badlad, write_dsb, write_emoji, write_wad
from tests.reference.image_precision import image_precision, most_hits
from tests.reference.overlap import overlap, pairs_by_class, pairs_by_image
from tests.reference.points import emoji
from tests.reference.runs import BADLAD, DSB, WAD, decode, encode
from tests.reference.scene import THRESHOLDS, WAD_GROUPS, Image, Scene, Thing, exceeds, iou
from tests.strategies import WAD_IGNORED, masks, random_scene, scenes

F = Fraction
ALONE = (Image("a", 1, 60),)
unhurried = settings(deadline=None)


def line(*spans: tuple[int, int]) -> frozenset[int]:
    """Pixels of closed spans in an image of one row."""
    return frozenset(pixel for first, last in spans for pixel in range(first, last + 1))


def truth(first, last, class_id=33, image="a", **more):
    return Thing(image, class_id, line((first, last)), **more)


def region(first, last, class_id=33, image="a"):
    return Thing(image, class_id, line((first, last)), ignored=True)


def guess(confidence, first, last, class_id=33, image="a"):
    return Thing(image, class_id, line((first, last)), confidence)


def scene(truths, predictions, images=ALONE):
    return Scene(tuple(images), tuple(truths), tuple(predictions))


def ap(truths, predictions, images=ALONE, **how):
    return average_precision(scene(truths, predictions, images), **how)["score"]


# --- overlap and thresholds ---------------------------------------------------------------------------------


def test_thresholds_are_twentieths():
    assert [float(t) for t in THRESHOLDS] == [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]


def test_iou_counts_pixels():
    assert iou(line((0, 3)), line((2, 5))) == F(2, 6)
    assert iou(frozenset(), frozenset()) == 0


def test_equality_passes_only_when_not_strict():
    assert not exceeds(F(9, 10), F(18, 20), strict=True)
    assert exceeds(F(9, 10), F(18, 20), strict=False)


# --- run-length text ----------------------------------------------------------------------------------------


def test_wad_page_example_decodes_to_the_pixels_it_lists():
    pixels = decode("1 3|10 5|", 4, 5, *WAD)
    assert pixels == {1, 2, 3, 10, 11, 12, 13, 14}
    assert encode(pixels, 4, 5, *WAD) == "1 3|10 5|"


@pytest.mark.parametrize(
    ("mask", "text"),
    [
        (["0000", "0000", "0000"], ""),
        (["1111", "1111", "1111"], "1 12"),
        (["1000", "0000", "0000"], "1 1"),
        (["0000", "0000", "0001"], "12 1"),
        (["1000", "0000", "0001"], "1 1 12 1"),
        (["0000", "0100", "0000"], "5 1"),
        (["0010", "0100", "0100"], "5 3"),
        (["0100", "0000", "0000"], "4 1"),
        (["0000", "1000", "0000"], "2 1"),
        (["0100", "0100", "0110"], "4 3 9 1"),
    ],
)
def test_badlad_text_is_what_the_pages_encoder_writes(mask, text):
    pixels = frozenset(n for n, sign in enumerate("".join(mask)) if sign == "1")
    assert encode(pixels, 3, 4, *BADLAD) == text
    assert decode(text, 3, 4, *BADLAD) == pixels


def page_encoder(mask: np.ndarray) -> str:
    """The runs found as the BaDLAD page finds them: changes between neighbours in a padded column order."""
    padded = np.concatenate([[0], mask.T.ravel(), [0]])
    changes = np.flatnonzero(padded[1:] != padded[:-1]) + 1
    changes[1::2] -= changes[::2]
    return " ".join(str(number) for number in changes)


@unhurried
@given(st.data(), st.integers(1, 6), st.integers(1, 8))
def test_badlad_text_equals_an_encoder_by_differences(data, height, width):
    pixels = data.draw(masks(height, width))
    mask = np.array([int(n in pixels) for n in range(height * width)], dtype=np.int64).reshape(height, width)
    assert encode(pixels, height, width, *BADLAD) == page_encoder(mask)


@unhurried
@given(st.data(), st.integers(1, 6), st.integers(1, 8), st.sampled_from([WAD, BADLAD]))
def test_decode_inverts_encode(data, height, width, dialect):
    pixels = data.draw(st.frozensets(st.integers(0, height * width - 1)))
    assert decode(encode(pixels, height, width, *dialect), height, width, *dialect) == pixels


@pytest.mark.parametrize("text", ["1", "0 1", "12 2", "3 0", "1 2 2 1", "x 1"])
def test_decode_refuses_what_is_no_mask(text):
    with pytest.raises(ValueError, match=r"."):
        decode(text, 3, 4, *DSB)


def test_decode_refuses_an_open_wad_run():
    with pytest.raises(ValueError, match="does not end"):
        decode("1 3|10 5", 4, 5, *WAD)


# --- the three integrals ------------------------------------------------------------------------------------

# truths, points of the curve, 101 levels, steps
CURVES = [
    pytest.param(1, [Point(1, 0)], F(1), F(1), id="perfect"),
    pytest.param(1, [Point(0, 1), Point(1, 1)], F(1, 2), F(1, 4), id="false positive above the hit"),
    pytest.param(2, [Point(1, 0)], F(51, 101), F(1, 2), id="half the truths, all correct"),
    pytest.param(1, [Point(1, 1)], F(1, 2), F(3, 4), id="hit and false positive tied"),
    pytest.param(1, [Point(1, 0), Point(1, 1)], F(1), F(1), id="false positive below the hit"),
    pytest.param(1, [], F(0), F(0), id="nothing predicted"),
    pytest.param(1, [Point(0, 1)], F(0), F(0), id="only a false positive"),
    pytest.param(3, [Point(1, 0)], F(34, 101), F(1, 3), id="a third"),
    pytest.param(10, [Point(n, 0) for n in range(1, 8)], F(71, 101), F(7, 10), id="seven tenths"),
    pytest.param(2, [Point(1, 0), Point(1, 1), Point(2, 1)], F(253, 303), F(19, 24), id="hit, miss, hit"),
]


@pytest.mark.parametrize(("truths", "points", "levels", "steps"), CURVES)
def test_exact_integrals(truths, points, levels, steps):
    assert interpolated(points, truths) == levels
    assert step_area(points, truths) == steps


def ranking(hits: list[bool]) -> list[Point]:
    """The points of a ranked list without ties."""
    points = []
    tp = fp = 0
    for hit in hits:
        tp, fp = tp + hit, fp + (not hit)
        points.append(Point(tp, fp))
    return points


@unhurried
@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(0, 3))
def test_step_area_is_the_convolution_that_cityscapes_takes(hits, missed):
    points = ranking(hits)
    truths = sum(hits) + missed
    if truths:
        precisions = [tp / (tp + fp) for tp, fp in reversed(points)] + [1.0]
        recalls = [tp / truths for tp, _ in reversed(points)] + [0.0]
        widths = np.convolve([recalls[0], *recalls, 0.0], [-0.5, 0.0, 0.5], "valid")
        assert float(step_area(points, truths)) == pytest.approx(float(np.dot(precisions, widths)), abs=1e-12)


def test_pycocotools_levels_are_those_of_linspace():
    assert [k * 0.01 for k in range(100)] + [1.0] == np.linspace(0.0, 1.0, 101).tolist()


def test_pycocotools_misses_a_level_that_is_a_hair_too_high():
    points = [Point(n, 0) for n in range(1, 8)]
    assert pycocotools_precision(points, 10) == pytest.approx(70 / 101, abs=1e-12)


def test_pycocotools_precision_of_one_false_positive_in_two():
    value = pycocotools_precision([Point(0, 1), Point(1, 1)], 1)
    assert value == pytest.approx(0.5, abs=1e-12)
    assert isinstance(value, float)
    assert pycocotools_precision([], 1) == 0.0


@unhurried
@given(st.lists(st.booleans(), max_size=12), st.integers(0, 3))
def test_pycocotools_differs_from_the_exact_levels_by_few_of_them(hits, missed):
    points = ranking(hits)
    truths = sum(hits) + missed
    if truths:
        difference = float(interpolated(points, truths)) - pycocotools_precision(points, truths)
        assert -1e-12 < difference < (len(hits) + 0.001) / 101


# --- average precision: matching ----------------------------------------------------------------------------


def test_perfect_submission_scores_1():
    assert ap([truth(0, 9), truth(20, 29, 40)], [guess("0.9", 0, 9), guess("0.1", 20, 29, 40)]) == 1


def test_iou_on_the_threshold_is_no_hit_unless_not_strict():
    truths, guesses = [truth(0, 1)], [guess("0.9", 0, 3)]
    assert ap(truths, guesses) == 0
    assert ap(truths, guesses, strict=False) == F(1, 10)


def test_score_falls_with_the_thresholds_that_the_overlap_passes():
    result = average_precision(scene([truth(0, 9)], [guess("0.9", 0, 6)]))
    assert result["by_threshold"] == {t: F(t < F(7, 10)) for t in THRESHOLDS}
    assert result["score"] == F(4, 10)
    assert result["by_class"][33] == F(4, 10)
    assert result["by_class"][34] is None


def test_second_prediction_of_one_truth_is_a_false_positive_even_if_it_fits_better():
    # sure one: IoU 3/5, hits at 0.50 and 0.55; the exact one hits elsewhere behind a false positive
    truths, guesses = [truth(0, 2)], [guess("0.9", 0, 4), guess("0.5", 0, 2)]
    assert ap(truths, guesses) == (2 * 1 + 8 * F(1, 2)) / 10


def test_greatest_overlap_is_taken_then_the_earliest_truth():
    one, two = truth(0, 5), truth(0, 6)
    result = ap([one, two], [guess("0.9", 0, 6), guess("0.8", 0, 5)], thresholds=[F(19, 20)])
    assert result == 1
    same = [truth(0, 5), truth(0, 5)]
    assert ap(same, [guess("0.9", 0, 5), guess("0.8", 0, 5)]) == 1


def test_of_two_truths_as_near_the_earliest_is_taken():
    # the sure one has IoU 9/10 with both, the other 1 with the later and 8/10 with the earlier
    earlier, later = truth(0, 8), truth(1, 9)
    guesses = [guess("0.9", 0, 9), guess("0.8", 1, 9)]
    assert ap([earlier, later], guesses, thresholds=[F(17, 20)]) == 1
    assert ap([later, earlier], guesses, thresholds=[F(17, 20)]) == F(51, 101)


def test_a_truth_is_hit_once():
    truths = [truth(0, 9), truth(20, 29)]
    guesses = [guess("0.9", 0, 9), guess("0.8", 0, 9), guess("0.7", 20, 29)]
    assert ap(truths, guesses) == F(253, 303)


def test_equals_choose_in_file_order_where_truths_overlap():
    # the broad one fits both truths at 3/4, the short one only the first
    truths = [truth(0, 8), truth(1, 9)]
    broad, short = guess("0.5", 0, 8), guess("0.5", 0, 6)
    assert ap(truths, [broad, short], thresholds=[F(3, 4)]) == F(51, 101) / 2
    assert ap(truths, [short, broad], thresholds=[F(3, 4)]) == 1


def test_classes_do_not_meet():
    assert ap([truth(0, 9, 33)], [guess("0.9", 0, 9, 38)]) == 0


def test_classes_without_truth_are_left_out_or_zero():
    truths, guesses = [truth(0, 9)], [guess("0.9", 0, 9), guess("0.9", 20, 29, 40)]
    assert ap(truths, guesses) == 1
    assert ap(truths, guesses, absent_class="zero") == F(1, 7)
    by_class = average_precision(scene(truths, guesses), absent_class="zero")["by_class"]
    assert by_class == {33: 1, 34: 0, 35: 0, 36: 0, 38: 0, 39: 0, 40: 0}


def test_class_with_truth_and_no_prediction_is_zero():
    assert ap([truth(0, 9), truth(20, 29, 40)], [guess("0.9", 0, 9)]) == F(1, 2)


def test_without_truth_there_is_no_score():
    result = average_precision(scene([region(0, 9)], [guess("0.9", 20, 29)]))
    assert result["score"] is None
    assert set(result["by_threshold"].values()) == {None}
    assert result["by_image"] == {"a": None}


def test_confidences_are_compared_as_numbers():
    # as texts "1e-1" > "0.5" and "10" < "9"
    assert ap([truth(0, 9)], [guess("0.5", 0, 9), guess("1e-1", 20, 29)]) == 1
    assert ap([truth(0, 9)], [guess("10", 0, 9), guess("9", 20, 29)]) == 1


# --- average precision: ties --------------------------------------------------------------------------------


def test_tied_hit_and_false_positive():
    truths = [truth(0, 9)]
    hit, miss = guess("0.5", 0, 9), guess("5e-1", 20, 29)
    for order in ([hit, miss], [miss, hit]):
        assert ap(truths, order) == F(1, 2)
        assert ap(truths, order, recall="step-area") == F(3, 4)
    assert ap(truths, [hit, miss], ties="file") == 1
    assert ap(truths, [miss, hit], ties="file") == F(1, 2)


def test_file_order_of_two_hits_and_a_miss():
    truths = [truth(0, 1), truth(4, 5)]
    one, two, miss = guess("0.5", 0, 1), guess("0.5", 4, 5), guess("0.5", 8, 9)
    assert ap(truths, [one, two, miss], ties="file") == 1
    assert ap(truths, [miss, one, two], ties="file") == F(2, 3)
    assert ap(truths, [one, miss, two], ties="file") == F(253, 303)
    assert ap(truths, [one, miss, two]) == F(2, 3)


@unhurried
@given(scenes(ignored=WAD_IGNORED, disjoint_truths="class"), st.randoms(use_true_random=False))
def test_shuffling_the_file_changes_no_score_with_free_ties(before, rng):
    shuffled = list(before.predictions)
    rng.shuffle(shuffled)
    after = Scene(before.images, before.truths, tuple(shuffled))
    assert average_precision(before, classes=(33, 34)) == average_precision(after, classes=(33, 34))


# --- average precision: ignored regions ---------------------------------------------------------------------


@pytest.mark.parametrize("ignore", ["iou", "crowd", "cityscapes"])
def test_a_prediction_equal_to_an_ignored_region_counts_for_nothing(ignore):
    truths = [truth(0, 3), region(8, 11)]
    assert ap(truths, [guess("0.9", 8, 11), guess("0.6", 0, 3)], ignore=ignore) == 1
    assert ap(truths, [guess("0.6", 0, 3)], ignore=ignore) == 1  # a region is nothing to find


@pytest.mark.parametrize(("ignore", "score"), [("iou", F(1, 2)), ("crowd", F(1)), ("cityscapes", F(1))])
def test_a_small_prediction_in_a_large_region(ignore, score):
    truths = [truth(0, 3), region(8, 19)]
    assert ap(truths, [guess("0.9", 8, 10), guess("0.6", 0, 3)], ignore=ignore) == score


def test_a_share_of_three_quarters_is_removed_at_five_thresholds():
    truths = [truth(0, 3), region(8, 19)]
    guesses = [guess("0.9", 17, 20), guess("0.6", 0, 3)]
    assert ap(truths, guesses, ignore="crowd") == (5 * 1 + 5 * F(1, 2)) / 10
    assert ap(truths, guesses, ignore="crowd", strict=False) == (6 * 1 + 4 * F(1, 2)) / 10


def test_only_cityscapes_adds_regions_up():
    truths = [truth(0, 3), region(10, 14), region(15, 19)]
    guesses = [guess("0.9", 10, 19), guess("0.6", 0, 3)]
    assert ap(truths, guesses, ignore="iou") == F(1, 2)
    assert ap(truths, guesses, ignore="crowd") == F(1, 2)
    assert ap(truths, guesses, ignore="cityscapes") == 1


@pytest.mark.parametrize(
    ("class_id", "any_scope", "class_scope"), [(33, 1, 1), (0, 1, 1), (34, 1, F(1, 2)), (37, 1, F(1, 2))]
)
def test_scope_of_a_region(class_id, any_scope, class_scope):
    truths = [truth(0, 3), region(8, 11, class_id)]
    guesses = [guess("0.9", 8, 11), guess("0.6", 0, 3)]
    assert ap(truths, guesses) == any_scope
    assert ap(truths, guesses, ignore_scope="class") == class_scope


def test_a_removed_prediction_leaves_its_truth_to_the_next():
    # the surest lies on truth and region alike
    truths = [truth(0, 9), region(0, 9)]
    assert ap(truths, [guess("0.9", 0, 9)]) == 0
    assert ap(truths, [guess("0.9", 0, 9), guess("0.5", 0, 9)]) == 0
    truths = [truth(0, 9), region(0, 13)]
    at_three_quarters = {"thresholds": [F(15, 20)]}
    assert ap(truths, [guess("0.9", 0, 11), guess("0.5", 0, 9)], **at_three_quarters) == 1


def test_regions_of_other_images_remove_nothing():
    images = (Image("a", 1, 60), Image("b", 1, 60))
    truths = [truth(0, 3), region(8, 11, image="b")]
    assert ap(truths, [guess("0.9", 8, 11), guess("0.6", 0, 3)], images) == F(1, 2)


# --- average precision: clips and breakdowns ----------------------------------------------------------------


def test_clips_are_averaged_over_those_that_have_truth():
    images = (Image("a", 1, 60, "one"), Image("b", 1, 60, "two"), Image("c", 1, 60, "three"))
    truths = [truth(0, 9), truth(20, 29), truth(0, 9, image="b"), truth(20, 29, 40, image="b")]
    guesses = [guess("0.9", 0, 9), guess("0.9", 0, 9, image="b"), guess("0.1", 0, 9, image="c")]
    result = average_precision(scene(truths, guesses, images), average="clip")
    # one: 33 at 51/101; two: 33 at 1 and 40 at 0; three has no truth
    assert result["score"] == (F(51, 101) + F(1, 2)) / 2
    assert result["by_class"][33] == (F(51, 101) + 1) / 2
    assert result["by_class"][40] == 0
    assert result["by_class"][34] is None
    assert set(result["by_threshold"].values()) == {result["score"]}
    zero = average_precision(scene(truths, guesses, images), average="clip", absent_class="zero")
    assert zero["score"] == (F(51, 101) / 7 + F(1, 7)) / 2
    assert zero["by_class"][33] == result["by_class"][33]
    pooled = average_precision(scene(truths, guesses, images))
    assert pooled["by_class"][33] == F(67, 101)
    assert pooled["by_class"][40] == 0


def test_by_image_is_that_image_alone():
    images = (Image("a", 1, 60), Image("b", 1, 60), Image("c", 1, 60))
    truths = [truth(0, 9), truth(0, 9, image="b"), truth(20, 29, 40, image="b")]
    guesses = [
        guess("0.9", 20, 29),
        guess("0.5", 0, 9),
        guess("0.4", 0, 9, image="b"),
        guess("1", 0, 0, image="c"),
    ]
    result = average_precision(scene(truths, guesses, images))
    assert result["by_image"] == {"a": F(1, 2), "b": F(1, 2), "c": None}


@unhurried
@given(scenes(ignored=WAD_IGNORED, clips=("x", "y")), st.sampled_from(["pooled", "clip"]))
def test_score_is_the_mean_over_thresholds(drawn, average):
    result = average_precision(drawn, average=average)
    values = list(result["by_threshold"].values())
    if result["score"] is None:
        assert set(values) == {None}
    else:
        assert result["score"] == sum(values) / len(values)


@unhurried
@given(
    scenes(clips=("x",), ignored=WAD_IGNORED, disjoint_truths=False), st.sampled_from(["101", "step-area"])
)
def test_one_clip_is_the_pool(drawn, recall):
    pooled = average_precision(drawn, recall=recall)
    clip = average_precision(drawn, recall=recall, average="clip")
    assert pooled == clip


@unhurried
@given(scenes(ignored=WAD_IGNORED), st.sampled_from(["101", "step-area", "pycocotools"]))
def test_submitting_the_truth_scores_1(drawn, recall):
    answers = tuple(thing for thing in drawn.truths if not thing.ignored)
    result = average_precision(Scene(drawn.images, drawn.truths, answers), recall=recall)
    assert result["score"] == (pytest.approx(1, abs=1e-12) if answers else None)


# --- image precision ----------------------------------------------------------------------------------------


def test_one_image_found_and_one_of_nine_missed_is_a_half():
    images = (Image("a", 1, 60), Image("b", 1, 60))
    truths = [truth(0, 9), *[truth(3 * n, 3 * n + 1, image="b") for n in range(9)]]
    result = image_precision(scene(truths, [guess("1", 0, 9)], images))
    assert result["score"] == F(1, 2)
    assert result["by_image"] == {"a": 1, "b": 0}


def test_image_precision_counts_all_three_kinds():
    truths = [truth(0, 9), truth(20, 29)]
    guesses = [guess("1", 0, 7), guess("1", 40, 49)]  # IoU 8/10: a hit below 0.8
    result = image_precision(scene(truths, guesses))
    assert result["by_threshold"] == {t: F(1, 3) if t < F(8, 10) else 0 for t in THRESHOLDS}
    assert result["score"] == F(6, 10) * F(1, 3)


def test_image_precision_is_class_blind_and_strict():
    assert image_precision(scene([truth(0, 9, 1)], [guess("1", 0, 9, 2)]))["score"] == 1
    assert image_precision(scene([truth(0, 1)], [guess("1", 0, 3)]))["score"] == 0
    assert image_precision(scene([truth(0, 1)], [guess("1", 0, 3)]), strict=False)["score"] == F(1, 10)


def test_two_identical_predictions_are_one_hit():
    assert image_precision(scene([truth(0, 9)], [guess("1", 0, 9), guess("1", 0, 9)]))["score"] == F(1, 2)


@pytest.mark.parametrize(
    ("empty", "score", "alone"), [("1", F(1, 2), 1), ("0", F(0), 0), ("skip", F(0), None)]
)
def test_images_without_anything(empty, score, alone):
    images = (Image("a", 1, 60), Image("b", 1, 60))
    assert image_precision(scene([truth(0, 9)], [], images), empty=empty)["score"] == score
    assert image_precision(scene([], []), empty=empty)["score"] == alone
    one_sided = image_precision(scene([], [guess("1", 0, 9)]), empty=empty)
    assert one_sided["score"] == 0


def test_a_greedy_choice_would_lose_a_hit():
    # both predictions pass with the first truth, only the first one passes with the second
    truths = [truth(0, 9), truth(2, 12)]
    guesses = [guess("1", 0, 11), guess("1", 0, 8)]
    assert most_hits(guesses, truths, F(3, 4), strict=True) == 2


def exhaustive_hits(predictions, truths, threshold, strict):
    """The best over every assignment, None standing for "no truth"."""
    choices = [*range(len(truths)), *[None] * len(predictions)]
    best = 0
    for assignment in itertools.permutations(choices, len(predictions)):
        hits = [
            exceeds(iou(p.pixels, truths[n].pixels), threshold, strict=strict)
            for p, n in zip(predictions, assignment, strict=True)
            if n is not None
        ]
        best = max(best, sum(hits))
    return best


@unhurried
@given(
    scenes(disjoint_truths=False, max_images=1, max_instances=3, max_height=3, max_width=3),
    st.sampled_from([F(1, 10), F(1, 4), F(1, 2), F(3, 4)]),
    st.booleans(),
)
def test_most_hits_is_the_best_of_all_assignments(drawn, threshold, strict):
    found = most_hits(drawn.predictions, drawn.truths, threshold, strict=strict)
    assert found == exhaustive_hits(drawn.predictions, drawn.truths, threshold, strict)


# --- Dice, IoU, points --------------------------------------------------------------------------------------


def test_dice_and_iou_of_half_shared_masks():
    pairs = [("a_0", line((0, 3)), line((2, 5)))]
    assert overlap(pairs)["score"] == F(1, 2)
    assert overlap(pairs, measure="iou")["score"] == F(1, 3)


def test_rows_and_pixels_are_two_averages():
    pairs = [("a_0", line((0, 7)), line((0, 7))), ("a_1", line((0, 1)), frozenset())]
    assert overlap(pairs)["score"] == F(1, 2)
    assert overlap(pairs, average="pixels")["score"] == F(16, 18)
    assert overlap(pairs, measure="iou", average="pixels")["score"] == F(8, 10)


@pytest.mark.parametrize(
    ("empty", "score", "alone"), [("1", F(3, 4), 1), ("0", F(1, 4), 0), ("skip", F(1, 2), None)]
)
def test_rows_without_a_pixel(empty, score, alone):
    nothing: frozenset[int] = frozenset()
    pairs = [("a_0", line((0, 3)), line((2, 5))), ("a_1", nothing, nothing)]
    assert overlap(pairs, empty=empty)["score"] == score
    assert overlap(pairs, empty=empty)["by_image"] == {"a_0": F(1, 2), "a_1": alone}
    assert overlap(pairs[1:], empty=empty)["score"] == alone
    assert overlap(pairs[1:], average="pixels", empty=empty)["score"] is None


def test_a_row_appears_once():
    with pytest.raises(ValueError, match="twice"):
        overlap([("a_0", line((0, 3)), line((2, 5)))] * 2)


@pytest.mark.parametrize(
    ("m", "points"),
    [
        (F(0), 0),
        (F(1, 10), F("9.6")),
        (F(1, 4), 25),
        (F("0.3"), F("29.8")),
        (F(3, 8), 37),
        (F(1, 2), 50),
        (F("0.6"), F("69.6")),
        (F("0.7"), F("89.2")),
        (F("0.7499"), F("98.9804")),
        (F(3, 4), 100),
        (F(1), 100),
        ((F("0.7") * 3 + F("0.9")) / 4, 100),
    ],
)
def test_points(m, points):
    assert emoji(m) == points


@pytest.mark.parametrize(("limit", "below"), [(F(1, 4), 24), (F(1, 2), 49), (F(3, 4), 99)])
def test_points_end_just_under_the_next_band(limit, below):
    hair = F(1, 10**9)
    assert 0 < below - emoji(limit - hair) < F(1, 10**6)
    assert emoji(limit) == below + 1


def test_points_refuse_what_no_mean_can_be():
    with pytest.raises(ValueError, match="between 0 and 1"):
        emoji(F(101, 100))


# --- files --------------------------------------------------------------------------------------------------


def records(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


SMALL = Scene(
    (Image("0012", 3, 4, "x"), Image("img_a", 2, 3, "y")),
    (
        Thing("0012", 33, frozenset({1, 5, 9, 10})),
        Thing("0012", 0, frozenset({0}), ignored=True),
        Thing("0012", 37, frozenset({3, 7}), ignored=True),
    ),
    (Thing("0012", 33, frozenset({1, 2}), "5e-1"),),
)


def test_wad_files(tmp_path):
    files = write_wad(SMALL, tmp_path)
    assert files.truth.read_text().splitlines() == [
        "ImageId,LabelId,EncodedPixels,Height,Width",
        "0012,33,1 1|5 1|9 2|,3,4",
        "0012,65535,0 1|,3,4",
        "0012,165,3 1|7 1|,3,4",
        "img_a,,,2,3",
    ]
    assert files.submission.read_text().splitlines() == [
        "ImageId,LabelId,Confidence,PixelCount,EncodedPixels",
        "0012,33,5e-1,2,1 2|",
    ]
    assert files.images.read_text().splitlines() == ["ImageId,Height,Width,Clip", "0012,3,4,x", "img_a,2,3,y"]


def test_dsb_files(tmp_path):
    files = write_dsb(SMALL, tmp_path)
    assert files.truth.read_text().splitlines() == [
        "ImageId,EncodedPixels,Height,Width",
        "0012,4 3 9 1,3,4",
        "img_a,,2,3",
    ]
    assert files.submission.read_text().splitlines() == ["ImageId,EncodedPixels", "0012,4 1 7 1", "img_a,"]


def test_badlad_files_have_every_row_and_merge_a_class(tmp_path):
    page = Scene(
        (Image("p1", 2, 2), Image("img_b_1", 1, 1)),
        (Thing("p1", 3, frozenset({0})), Thing("p1", 3, frozenset({0, 1}))),
        (Thing("p1", 0, frozenset({3})),),
    )
    files = write_badlad(page, tmp_path)
    ids = ["p1_0", "p1_1", "p1_2", "p1_3", "img_b_1_0", "img_b_1_1", "img_b_1_2", "img_b_1_3"]
    assert [row["Id"] for row in records(files.truth)] == ids
    assert [row["Predicted"] for row in records(files.truth)] == ["", "", "", "1 1 3 1", "", "", "", ""]
    assert [row["Predicted"] for row in records(files.submission)] == ["4 1", "", "", "", "", "", "", ""]


def test_emoji_files(tmp_path):
    files = write_emoji(SMALL, tmp_path)
    assert [row["Mask"] for row in records(files.truth / "test.csv")] == ["masks/0012.png", "masks/img_a.png"]
    with zipfile.ZipFile(files.submission) as archive:
        assert archive.read("submission.csv").decode().splitlines() == [
            "SampleID,PredictedMask",
            "0012,predictions/0012_mask.png",
            "img_a,predictions/img_a_mask.png",
        ]
        with archive.open("predictions/0012_mask.png") as member, Picture.open(member) as picture:
            assert picture.mode == "L"
            assert picture.size == (4, 3)
            assert np.asarray(picture).tolist() == [[0, 255, 255, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    with Picture.open(files.truth / "masks" / "img_a.png") as picture:
        assert np.asarray(picture).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_rows_by_class_and_by_image_say_the_same_of_one_class():
    page = Scene(SMALL.images, SMALL.truths[:1], SMALL.predictions)
    by_class = pairs_by_class(page, classes=(33,))
    by_image = pairs_by_image(page)
    assert [pair[1:] for pair in by_class] == [pair[1:] for pair in by_image]


# --- the strategies -----------------------------------------------------------------------------------------


def overlapping(things, same_class):
    return any(
        one.pixels & other.pixels
        for one, other in itertools.combinations(things, 2)
        if one.image == other.image and (one.class_id == other.class_id or not same_class)
    )


def assert_well_formed(made: Scene):
    sizes = {image.id: image.height * image.width for image in made.images}
    assert len(sizes) == len(made.images)
    for thing in made.truths + made.predictions:
        assert thing.pixels
        assert 0 <= min(thing.pixels) <= max(thing.pixels) < sizes[thing.image]
        assert not thing.ignored or thing.class_id in WAD_GROUPS.values()


@unhurried
@given(scenes(ignored=WAD_IGNORED, disjoint_predictions=True, distinct_confidences=True))
def test_drawn_scenes_keep_their_promises(drawn):
    assert_well_formed(drawn)
    assert not overlapping(drawn.truths, same_class=False)
    assert not overlapping(drawn.predictions, same_class=False)
    assert len({thing.confidence for thing in drawn.predictions}) == len(drawn.predictions)


@unhurried
@given(scenes(ignored=WAD_IGNORED, disjoint_truths="class", disjoint_predictions="class"))
def test_drawn_scenes_disjoint_by_class(drawn):
    assert_well_formed(drawn)
    assert not overlapping(drawn.truths, same_class=True)
    assert not overlapping(drawn.predictions, same_class=True)


def test_random_scenes_keep_their_promises_and_are_worth_scoring():
    made = random_scene(
        np.random.default_rng(1), ignored=WAD_IGNORED, disjoint_predictions=True, clips=("x", "y")
    )
    assert made == random_scene(
        np.random.default_rng(1), ignored=WAD_IGNORED, disjoint_predictions=True, clips=("x", "y")
    )
    assert_well_formed(made)
    assert not overlapping(made.truths, same_class=False)
    assert not overlapping(made.predictions, same_class=False)
    assert 0 < average_precision(made)["score"] < 1
    assert 0 < image_precision(made)["score"] < 1
    distinct = random_scene(np.random.default_rng(2), distinct_confidences=True)
    assert len({thing.confidence for thing in distinct.predictions}) == len(distinct.predictions)
