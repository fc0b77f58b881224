"""Examples worked out by hand, of what goes wrong in competitions: each with the number that is right."""

import io
import math
import zipfile
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image as Picture

import segjudge as sj
from tests.reference import files
from tests.reference.scene import Image, Scene, Thing
from tests.running import segjudge

WAD_HEADER = "ImageId,LabelId,Confidence,PixelCount,EncodedPixels"


def px(*ranges):
    """Pixels from ranges of both ends: px((0, 3)) are 0, 1, 2, 3."""
    return frozenset(pixel for first, last in ranges for pixel in range(first, last + 1))


def strip(width, truths, predictions, ignored=()):
    """One picture one pixel high. Predictions are (confidence, range, …)."""
    return Scene(
        (Image("strip", 1, width),),
        (
            *(Thing("strip", 33, px(r)) for r in truths),
            *(Thing("strip", 33, px(r), ignored=True) for r in ignored),
        ),
        tuple(Thing("strip", 33, px(r), confidence) for confidence, r in predictions),
    )


def score_of(task_id, written, *settings, by=(), workers=1):
    task = sj.load_task(task_id, settings)
    truth, submission = sj.read_truth(task, written.truth), sj.read_submission(task, written.submission)
    return sj.score(task, truth, submission, by=by, workers=workers)


def wad_score(scene, folder, *settings, **how):
    return score_of("wad-2018", files.write_wad(scene, folder), *settings, **how)


def dsb_score(scene, folder, *settings, **how):
    return score_of("dsb-2018", files.write_dsb(scene, folder), *settings, **how)


def badlad_score(folder, truth, submission, shape=(3, 4), *settings, by=()):
    """The score of {class: runs} on one page."""
    height, width = shape
    rows = [f"p1_{number},{truth.get(number, '')},{height},{width}" for number in sorted(truth)]
    (folder / "truth.csv").write_text("\n".join(["Id,Predicted,Height,Width", *rows, ""]))
    rows = [f"p1_{number},{submission[number]}" for number in submission]
    (folder / "submission.csv").write_text("\n".join(["Id,Predicted", *rows, ""]))
    task = sj.load_task("badlad", settings)
    return sj.score(
        task,
        sj.read_truth(task, folder / "truth.csv"),
        sj.read_submission(task, folder / "submission.csv"),
        by=by,
    )


def png(pixels, mode=None):
    file = io.BytesIO()
    Picture.fromarray(np.asarray(pixels), mode).save(file, "PNG")
    return file.getvalue()


# --- pixel order and the first number -----------------------------------------------------------------------

HOOK = [[0, 1, 0, 0], [0, 1, 0, 0], [0, 1, 1, 0]]
BAR = [[1, 1, 1, 1, 1]]
STAIR = [[1, 0], [1, 1], [0, 1], [0, 0]]


@pytest.mark.parametrize(
    ("picture", "column", "row"),
    [
        (HOOK, "4 3 9 1", "1 1|5 1|9 2|"),
        (BAR, "1 5", "0 5|"),
        (np.transpose(BAR).tolist(), "1 5", "0 5|"),
        (STAIR, "1 2 6 2", "0 1|2 2|5 1|"),
        ([[1, 0, 1], [0, 1, 0]], "1 1 4 2", "0 1|2 1|4 1|"),
        ([[0]], "", ""),
        ([[1]], "1 1", "0 1|"),
        ([[1, 0, 0], [0, 0, 1]], "1 1 6 1", "0 1|5 1|"),
        ([[1, 1, 1], [1, 1, 1]], "1 6", "0 6|"),
        ([[0, 0, 0], [0, 0, 1]], "6 1", "5 1|"),
        ([[1, 0, 0], [0, 0, 0]], "1 1", "0 1|"),
        ([[0, 0, 0], [0, 0, 0]], "", ""),
        ([[0, 0, 1], [1, 0, 0]], "2 1 5 1", "2 2|"),
    ],
)
def test_the_text_of_a_mask(picture, column, row):
    mask = np.array(picture, bool)
    for task_id, text in (("badlad", column), ("dsb-2018", column), ("wad-2018", row)):
        rle = sj.load_task(task_id).submission.rle
        assert rle.encode(mask) == text
        np.testing.assert_array_equal(rle.decode([text], shape=mask.shape).dense()[0], mask)


@pytest.mark.parametrize(
    ("truth", "sent", "shape", "dice"),
    [
        ("4 3 9 1", "4 3 9 1", (3, 4), Fraction(1)),
        ("4 3 9 1", "2 1 6 1 10 2", (3, 4), Fraction(1, 4)),  # written along the rows
        ("4 3 9 1", "3 3 8 1", (3, 4), Fraction(1, 2)),  # counted from 0
        ("4 3 9 1", "5 3 10 1", (3, 4), Fraction(1, 2)),  # counted from 2
        ("6 1", "6 1", (2, 3), Fraction(1)),  # the last pixel
        ("1 6", "1 6", (2, 3), Fraction(1)),
        ("1 6", "1 3", (2, 3), Fraction(2, 3)),
        ("1 3", "4 3", (2, 3), Fraction(0)),
        ("1 2 4 2", "2 3", (1, 6), Fraction(4, 7)),
    ],
)
def test_dice_of_one_mask(truth, sent, shape, dice, tmp_path):
    assert badlad_score(tmp_path, {1: truth}, {1: sent}, shape).score == pytest.approx(float(dice), abs=1e-12)


def test_order_and_origin_can_be_set(tmp_path):
    scored = badlad_score(tmp_path, {1: "1 1 5 1 9 2"}, {1: "5 1 1 1 9 2"}, (3, 4), "order=row", "origin=0",
                          "unsorted=warn")  # fmt: skip
    assert scored.score == 1
    assert scored.settings["order"] == "row"


# --- pixels outside -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "row", "code"),
    [
        ("badlad", "p1_1,1 7", "rle-out-of-bounds"),
        ("badlad", "p1_1,6 2", "rle-out-of-bounds"),
        ("badlad", "p1_1,7 1", "rle-out-of-bounds"),
        ("badlad", "p1_1,0 1", "rle-start-below-base"),
        ("badlad", "p1_1,1 1 6 2", "rle-out-of-bounds"),
        ("dsb-2018", "p1,1 7", "rle-out-of-bounds"),
        ("dsb-2018", "p1,0 6", "rle-start-below-base"),
        ("wad-2018", "p1,33,0.5,2,5 2|", "rle-out-of-bounds"),
        ("wad-2018", "p1,33,0.5,1,6 1|", "rle-out-of-bounds"),
        ("wad-2018", "p1,33,0.5,7,0 7|", "rle-out-of-bounds"),
        ("wad-2018", "p1,33,0.5,3,-1 3|", "rle-start-below-base"),
    ],
)
def test_a_run_outside_the_picture_is_refused_never_cut(task, row, code, tmp_path):
    truth = {
        "badlad": "Id,Predicted,Height,Width\np1_1,1 6,2,3\n",
        "dsb-2018": "ImageId,EncodedPixels,Height,Width\np1,1 6,2,3\n",
        "wad-2018": "ImageId,LabelId,EncodedPixels,Height,Width\np1,33,0 6|,2,3\n",
    }
    header = {"badlad": "Id,Predicted", "dsb-2018": "ImageId,EncodedPixels", "wad-2018": WAD_HEADER}
    (tmp_path / "truth.csv").write_text(truth[task])
    (tmp_path / "s.csv").write_text(f"{header[task]}\n{row}\n")
    outcome = segjudge("score", task, tmp_path / "truth.csv", tmp_path / "s.csv", "--json")
    assert outcome.status == 1
    assert outcome.json["score"] is None
    (finding,) = outcome.json["findings"]
    assert finding["code"] == code
    assert finding["where"]["row"] == 2
    assert finding["where"]["image"].startswith("p1")


# --- rows of WAD that an entrant wrote ----------------------------------------------------------------------

ROAD = "ImageId,LabelId,EncodedPixels,Height,Width\nroad,33,1 3|10 5|,4,5\n"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("road,33,0.7,8,1 3|10 5|", set()),
        ("road,33,0.7,5,1 3|4 2|", set()),
        ("road,33,0.7,7,1 3|3 4|", {"rle-overlap"}),
        ("road,33,0.7,8,1 3 10 5", {"rle-bad-delimiter"}),
        ("road,33,0.7,3,1 3|10 0|", {"rle-bad-length"}),
        ("road,33,0.7,3,1 3|10|", {"rle-odd-tokens"}),
        ("road,33,0.7,3,1.0 3.0|", {"rle-not-integer"}),
        ("road,33,0.7,3,-1 3|", {"rle-start-below-base"}),
        ("road,33,0.7,9,1 3|10 5|", {"pixel-count-mismatch"}),
        ("road,33,0.7,8,1 3|10 5|road,35,0.9,2,0 2|", {"bad-field-count"}),
        ("road,33,8,0.7,1 3|10 5|", {"pixel-count-mismatch", "confidence-range"}),
        ("road,33,0.7,8,1 3|10 5", {"rle-bad-delimiter"}),
        ("road,33,0.7,8,10 5|1 3|", {"rle-unsorted"}),
        ("road,33,0.7,8,10 5|1 3", {"rle-unsorted", "rle-bad-delimiter"}),
        ("road,33,0.7,9,1 3|1.5 2|x 3|", {"rle-not-integer"}),
        ("road,33,0.7,9,1 3|30 2|4 -1|7|", {"rle-out-of-bounds", "rle-bad-length", "rle-odd-tokens"}),
        ("road,33,0.7,8,1 3|10 5|\nroad,33,0.7,0,", {"empty-mask"}),
        ("road,33,0.7,8,10 5|1 3|\nroad,33,0.6,4,2 2|3 2|", {"rle-unsorted", "rle-overlap"}),
    ],
)
def test_rows_that_entrants_have_written(text, codes, tmp_path):
    (tmp_path / "truth.csv").write_text(ROAD)
    (tmp_path / "s.csv").write_text(f"{WAD_HEADER}\n{text}\n")
    outcome = segjudge("check", "wad-2018", tmp_path / "s.csv", "--truth", tmp_path / "truth.csv", "--json")
    assert set(outcome.json["totals"]) == codes
    scored = segjudge("score", "wad-2018", tmp_path / "truth.csv", tmp_path / "s.csv", "--json")
    assert scored.status == outcome.status
    assert (scored.json["score"] is None) is (outcome.status == 1)


def test_no_run_is_lost_where_the_file_is_accepted(tmp_path):
    (tmp_path / "truth.csv").write_text(ROAD)
    for cell in ("1 3|10 5", "10 5|1 3|", "10 5|1 3", " 1 3 | 10 5 |", "1 3|10 2|12 3|", "12 3|1 3|10 2"):
        (tmp_path / "s.csv").write_text(f"{WAD_HEADER}\nroad,33,0.7,8,{cell}\n")
        scored = segjudge("score", "wad-2018", tmp_path / "truth.csv", tmp_path / "s.csv", "--json")
        assert scored.json["score"] == 1, cell


def test_columns_in_another_order_are_not_guessed(tmp_path):
    (tmp_path / "s.csv").write_text(
        "ImageId,LabelId,PixelCount,Confidence,EncodedPixels\nroad,33,8,0.7,1 3|10 5|\n"
    )
    outcome = segjudge("check", "wad-2018", tmp_path / "s.csv", "--json")
    assert outcome.json["totals"] == {"bad-header": 1}


# --- empty masks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("empty", "expected"), [("1", 3 / 8), ("0", 1 / 8), ("skip", 1 / 6)])
def test_dice_of_empty_masks(empty, expected, tmp_path):
    truth = {0: "1 2", 1: "", 2: "", 3: "1 2"}
    sent = {1: "", 2: "1 1", 3: "", 0: "2 2"}
    scored = badlad_score(tmp_path, truth, sent, (2, 3), f"empty={empty}", by=["image", "class"])
    assert scored.score == pytest.approx(expected, abs=1e-12)
    both = {"1": 1.0, "0": 0.0, "skip": None}[empty]
    assert scored.by_image == {"p1_0": 0.5, "p1_1": both, "p1_2": 0.0, "p1_3": 0.0}
    assert scored.by_class == {0: 0.5, 1: both, 2: 0.0, 3: 0.0}


@pytest.mark.parametrize("empty", ["1", "0", "skip"])
def test_everything_empty(empty, tmp_path):
    cells = dict.fromkeys(range(4), "")
    scored = badlad_score(tmp_path, cells, cells, (2, 3), f"empty={empty}")
    assert scored.score == {"1": 1, "0": 0, "skip": None}[empty]
    pooled = badlad_score(tmp_path, cells, cells, (2, 3), f"empty={empty}", "average=pixels")
    assert pooled.score is None


@pytest.mark.parametrize(
    ("truths", "predictions", "expected"),
    [
        ({"a": [(0, 3)], "c": [(0, 1), (4, 5)]}, {"a": [(0, 3)], "b": [(0, 1)]}, {"a": 1, "b": 0, "c": 0}),
        ({"a": [(0, 3)]}, {"a": [(0, 3)]}, {"a": 1, "b": 1, "c": 1}),
        ({}, {"a": [(0, 3)], "b": [(1, 1)], "c": [(7, 7)]}, {"a": 0, "b": 0, "c": 0}),
        ({"a": [(0, 3), (5, 6)]}, {"a": [(0, 3)], "c": [(2, 4)]}, {"a": 0.5, "b": 1, "c": 0}),
    ],
)
def test_pictures_without_objects_or_without_predictions(truths, predictions, expected, tmp_path):
    scene = Scene(
        tuple(Image(name, 1, 8) for name in "abc"),
        tuple(Thing(name, 1, px(r)) for name, each in truths.items() for r in each),
        tuple(Thing(name, 1, px(r)) for name, each in predictions.items() for r in each),
    )
    scored = dsb_score(scene, tmp_path, by=["image"])
    assert scored.by_image == expected
    assert scored.score == pytest.approx(sum(expected.values()) / 3, abs=1e-12)


def test_nothing_on_either_side_is_undefined_for_classes(tmp_path):
    scene = Scene((Image("a", 1, 8),), (), (Thing("a", 33, px((0, 1)), "0.9"),))
    scored = wad_score(scene, tmp_path, by=["class", "image", "threshold"])
    assert scored.score is None
    assert set(scored.by_class.values()) == {None}
    assert scored.by_image == {"a": None}


# --- thresholds ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shared", "whole", "strict", "loose"),
    [
        (1, 2, 0, 1),
        (2, 4, 0, 1),
        (11, 20, 1, 2),
        (3, 5, 2, 3),
        (13, 20, 3, 4),
        (7, 10, 4, 5),
        (3, 4, 5, 6),
        (4, 5, 6, 7),
        (17, 20, 7, 8),
        (9, 10, 8, 9),
        (19, 20, 9, 10),
        (1, 1, 10, 10),
        (49, 50, 10, 10),
        (51, 100, 1, 1),
        (499, 1000, 0, 0),
    ],
)
def test_an_iou_on_the_threshold(shared, whole, strict, loose, tmp_path):
    scene = strip(whole, [(0, whole - 1)], [("0.9", (0, shared - 1))])
    for score in (wad_score, dsb_score):
        assert score(scene, tmp_path).score == pytest.approx(strict / 10, abs=1e-12)
        assert score(scene, tmp_path, "strict=false").score == pytest.approx(loose / 10, abs=1e-12)
    swapped = strip(whole, [(0, shared - 1)], [("0.9", (0, whole - 1))])
    assert wad_score(swapped, tmp_path).score == pytest.approx(strict / 10, abs=1e-12)


def test_thresholds_are_printed_as_they_are_meant(tmp_path):
    written = files.write_dsb(strip(4, [(0, 3)], [("1", (0, 3))]), tmp_path)
    outcome = segjudge(
        "score", "dsb-2018", written.truth, written.submission, "--by", "threshold,image", "--json"
    )
    names = ["0.5", "0.55", "0.6", "0.65", "0.7", "0.75", "0.8", "0.85", "0.9", "0.95"]
    assert list(outcome.json["by_threshold"]) == names
    assert set(outcome.json["by_threshold"].values()) == {1}


# --- equal confidences, two for one object ------------------------------------------------------------------

A, B, STRAY = ("0.5", (0, 1)), ("0.5", (4, 5)), ("0.5", (8, 9))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([A, B, STRAY], Fraction(1)),
        ([STRAY, A, B], Fraction(2, 3)),
        ([A, STRAY, B], (51 + Fraction(100, 3)) / 101),
        ([B, STRAY, A], (51 + Fraction(100, 3)) / 101),
    ],
)
def test_rows_of_equal_confidence(rows, expected, tmp_path):
    scene = strip(12, [(0, 1), (4, 5)], rows)
    assert wad_score(scene, tmp_path, "ties=file").score == pytest.approx(float(expected), abs=1e-12)
    free = {wad_score(scene, tmp_path, workers=workers).score for workers in (1, 1, 4)}
    (score,) = free
    assert score == pytest.approx(2 / 3, abs=1e-12)


@pytest.mark.parametrize(
    ("images", "by_file"), [("ab", (51 + Fraction(100, 3)) / 101), ("ba", Fraction(2, 3))]
)
def test_a_hit_and_a_false_alarm_of_two_images_and_one_confidence_are_one_point(images, by_file, tmp_path):
    """Precision 1 at half the recall would be the luck of the file's order: the better row came first."""
    tied = "0.7748557329177856"
    hit, stray = Thing("a", 33, px((0, 3)), tied), Thing("b", 33, px((6, 7)), tied)
    found_later = Thing("b", 33, px((0, 3)), "0.5")
    scene = Scene(
        (Image("a", 1, 9), Image("b", 1, 9)),
        (Thing("a", 33, px((0, 3))), Thing("b", 33, px((0, 3)))),
        (*({"a": hit, "b": stray}[image] for image in images), found_later),
    )
    assert wad_score(scene, tmp_path).score == pytest.approx(2 / 3, abs=1e-12)
    assert wad_score(scene, tmp_path, "ties=file").score == pytest.approx(float(by_file), abs=1e-12)


def test_equal_confidences_may_be_spelt_differently(tmp_path):
    scene = strip(12, [(0, 1), (4, 5)], [("0.50", (8, 9)), ("5e-1", (0, 1)), (".5", (4, 5))])
    assert wad_score(scene, tmp_path).score == pytest.approx(2 / 3, abs=1e-12)


@pytest.mark.parametrize(
    ("rows", "wad", "dsb"),
    [
        ([("0.9", (0, 4)), ("0.5", (0, 2))], Fraction(6, 10), Fraction(1, 2)),
        ([("0.5", (0, 2)), ("0.9", (0, 4))], Fraction(6, 10), Fraction(1, 2)),
        ([("0.5", (0, 4)), ("0.9", (0, 2))], Fraction(1), Fraction(1, 2)),
        ([("0.9", (0, 2)), ("0.8", (0, 2)), ("0.7", (0, 2))], Fraction(1), Fraction(1, 3)),
        ([("0.9", (0, 4)), ("0.8", (0, 3)), ("0.5", (0, 2))], None, Fraction(1, 3)),
    ],
)
def test_two_predictions_of_one_object(rows, wad, dsb, tmp_path):
    scene = strip(8, [(0, 2)], rows)
    if wad is None:  # 3/5 wins at two thresholds, 3/4 at three more, the last at five: then behind two strays
        wad = (2 + 3 * Fraction(1, 2) + 5 * Fraction(1, 3)) / 10
    assert wad_score(scene, tmp_path).score == pytest.approx(float(wad), abs=1e-12)
    assert dsb_score(scene, tmp_path, "overlapping=allow").score == pytest.approx(float(dsb), abs=1e-12)
    with pytest.raises(sj.SubmissionError) as refused:
        dsb_score(scene, tmp_path)
    assert refused.value.diagnosis.codes() == {"masks-overlap"}


def test_a_prediction_between_two_objects_takes_one_at_most(tmp_path):
    scene = strip(8, [(0, 3), (4, 7)], [("0.9", (0, 7))])
    assert dsb_score(scene, tmp_path).score == 0
    assert dsb_score(scene, tmp_path, "strict=false").score == pytest.approx(1 / 2 / 10)
    assert wad_score(scene, tmp_path, "strict=false").score == pytest.approx(51 / 101 / 10)


def test_a_matching_that_greed_would_miss(tmp_path):
    """0..3 fits both truths at the threshold, 0..1 only the first: both can be hits."""
    scene = Scene(
        (Image("strip", 1, 8),),
        (Thing("strip", 1, px((0, 3))), Thing("strip", 1, px((2, 5)))),
        (Thing("strip", 1, px((0, 5))), Thing("strip", 1, px((0, 2)))),
    )
    # IoU of 0..5: 2/3 with either. IoU of 0..2: 3/4 with the first, 1/6 with the second.
    scored = dsb_score(scene, tmp_path, "overlapping=allow", by=["threshold"])
    assert [scored.by_threshold[Fraction(k, 20)] for k in (10, 13, 14, 15)] == [1, 1, 1 / 3, 0]
    assert [f.code for f in scored.truth_findings.findings] == ["masks-overlap"]


# --- ignored regions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("region", "rows", "expected"),
    [
        ((10, 13), [("0.6", (0, 3)), ("0.9", (10, 13))], 1),
        ((10, 13), [("0.6", (0, 3))], 1),
        ((10, 13), [("0.9", (10, 11)), ("0.6", (0, 3))], 1 / 2),  # one half is not more than one half
        ((10, 13), [("0.9", (10, 12)), ("0.6", (0, 3))], 3 / 4),
        ((10, 13), [("0.9", (9, 13)), ("0.6", (0, 3))], (6 + 4 / 2) / 10),
        ((8, 19), [("0.9", (8, 10)), ("0.6", (0, 3))], 1 / 2),
        ((10, 13), [("0.9", (14, 17)), ("0.6", (0, 3))], 1 / 2),
        ((10, 13), [("0.5", (10, 11)), ("0.6", (0, 3))], 1),
        ((0, 3), [("0.6", (0, 3))], 0),  # the object itself is covered: removed, and the object is missed
    ],
)
def test_a_region_that_is_not_evaluated(region, rows, expected, tmp_path):
    scene = strip(20, [(0, 3)], rows, ignored=[region])
    assert wad_score(scene, tmp_path).score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("rule", "expected"), [("iou", 1 / 2), ("crowd", 1), ("cityscapes", 1)])
def test_a_small_prediction_inside_a_large_region(rule, expected, tmp_path):
    scene = strip(20, [(0, 3)], [("0.9", (8, 10)), ("0.6", (0, 3))], ignored=[(8, 19)])
    assert wad_score(scene, tmp_path, f"ignore={rule}").score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("rule", "expected"), [("iou", 1 / 2), ("crowd", 1 / 2), ("cityscapes", 1)])
def test_a_prediction_over_two_regions(rule, expected, tmp_path):
    scene = strip(20, [(0, 3)], [("0.9", (8, 15)), ("0.6", (0, 3))], ignored=[(8, 11), (12, 15)])
    assert wad_score(scene, tmp_path, f"ignore={rule}").score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("label", "scope", "expected"),
    [(161, "any", 1), (161, "class", 1), (164, "any", 1), (164, "class", 1 / 2), (65535, "any", 1), (65535, "class", 1),
     (165, "any", 1), (165, "class", 1 / 2)],
)  # fmt: skip
def test_whose_region_it_is(label, scope, expected, tmp_path):
    (tmp_path / "truth.csv").write_text(
        f"ImageId,LabelId,EncodedPixels,Height,Width\nroad,33,0 4|,1,20\nroad,{label},10 4|,1,20\n"
    )
    (tmp_path / "s.csv").write_text(f"{WAD_HEADER}\nroad,33,0.9,4,10 4|\nroad,33,0.6,4,0 4|\n")
    outcome = segjudge(
        "score",
        "wad-2018",
        tmp_path / "truth.csv",
        tmp_path / "s.csv",
        "--set",
        f"ignore_scope={scope}",
        "--json",
    )
    assert outcome.json["score"] == pytest.approx(expected, abs=1e-12)
    assert outcome.json["counts"] == {"images": 1, "truths": 1, "ignored": 1, "predictions": 2}


# --- many objects, recall levels ----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [101, 256, 1001])
def test_no_cap_on_predictions(count, tmp_path):
    pixels = [(3 * k, 3 * k) for k in range(count)]
    scene = strip(3 * count, pixels, [("0.9", r) for r in pixels])
    assert wad_score(scene, tmp_path).score == 1
    assert dsb_score(scene, tmp_path).score == 1


@pytest.mark.parametrize(
    ("found", "count", "exact", "floats"),
    [
        (1, 3, 34, 34),
        (7, 10, 71, 70),
        (7, 20, 36, 35),
        (14, 20, 71, 70),
        (19, 20, 96, 95),
        (1, 2, 51, 51),
        (35, 100, 36, 35),
        (41, 100, 42, 41),
        (47, 100, 48, 47),
        (57, 100, 58, 57),
        (69, 100, 70, 69),
        (82, 100, 83, 82),
        (83, 100, 84, 83),
        (94, 100, 95, 94),
        (50, 100, 51, 51),
        (100, 100, 101, 101),
        (0, 5, 0, 0),
    ],
)
def test_recall_levels(found, count, exact, floats, tmp_path):
    pixels = [(3 * k, 3 * k) for k in range(count)]
    scene = strip(3 * count, pixels, [("0.9", r) for r in pixels[:found]])
    assert wad_score(scene, tmp_path).score == pytest.approx(exact / 101, abs=1e-12)
    assert wad_score(scene, tmp_path, "recall=pycocotools").score == pytest.approx(floats / 101, abs=1e-12)


# --- confidences --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-inf", "", "high"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_confidence_that_is_no_number_refuses_the_file(word, place, tmp_path):
    rows = ["strip,33,0.5,2,0 2|", "strip,33,0.4,2,4 2|", "strip,33,0.3,2,8 2|"]
    rows[place] = f"strip,33,{word},2,8 2|"
    (tmp_path / "s.csv").write_text("\n".join([WAD_HEADER, *rows, ""]))
    outcome = segjudge("check", "wad-2018", tmp_path / "s.csv", "--json")
    (finding,) = [f for f in outcome.json["findings"] if f["level"] == "error"]
    where = finding["where"]
    assert (finding["code"], where["row"], where["image"]) == ("bad-confidence", place + 2, "strip")


@pytest.mark.parametrize(
    ("word", "value"),
    [("5e-1", 0.5), ("1", 1), ("0", 0), (".5", 0.5), ("5.", 5), ("1E-3", 0.001), ("+0.25", 0.25), ("-0.5", -0.5),
     ("0.1000000000000000055511151231257827", 0.1), ("1e-400", 0), ("00.50", 0.5), (" 0.5 ", 0.5)],
)  # fmt: skip
def test_a_confidence_of_any_decimal_spelling(word, value, tmp_path):
    (tmp_path / "s.csv").write_text(f"{WAD_HEADER}\nstrip,33,{word},2,0 2|\n")
    task = sj.load_task("wad-2018")
    submission = sj.read_submission(task, tmp_path / "s.csv")
    assert sj.check(task, submission).ok
    assert submission.source.table.confidences.tolist() == [value]


# --- text files ---------------------------------------------------------------------------------------------


def test_forms_of_the_same_text_give_the_same_score(tmp_path):
    (tmp_path / "truth.csv").write_text("Id,Predicted,Height,Width\np1_1,1 2,2,3\np1_2,,2,3\n")
    clean = b"Id,Predicted\np1_1,1 2\np1_2,\n"
    bom = b"\xef\xbb\xbf"
    crlf = clean.replace(b"\n", b"\r\n")
    quoted = b'"Id","Predicted"\n"p1_1","1 2"\n"p1_2",""\n'
    forms = [clean, bom + clean, crlf, bom + crlf + b"\r\n\r\n", clean[:-1], quoted, bom + quoted, quoted[:-1],
             clean.replace(b"p1_2,", b"p1_2,  "), clean.replace(b"Id,", b" Id , ")]  # fmt: skip
    for form in forms:
        (tmp_path / "s.csv").write_bytes(form)
        outcome = segjudge("score", "badlad", tmp_path / "truth.csv", tmp_path / "s.csv", "--json")
        assert (outcome.status, outcome.json["score"]) == (0, 1), form


@pytest.mark.parametrize(
    ("content", "code", "row"),
    [
        ("Id,Predicted\np1_1,1 2\np1_2,\n".encode("utf-16"), "not-utf8", None),
        (b"Id,Prediction\np1_1,1 2\np1_2,\n", "bad-header", 1),
        (b"p1_1,1 2\np1_2,\n", "bad-header", 1),
    ],
)
def test_what_is_not_the_announced_text(content, code, row, tmp_path):
    (tmp_path / "s.csv").write_bytes(content)
    (finding,) = segjudge("check", "badlad", tmp_path / "s.csv", "--json").json["findings"]
    assert (finding["code"], finding["where"]["row"]) == (code, row)


# --- ids ----------------------------------------------------------------------------------------------------

NUMBERS = "ImageId,LabelId,EncodedPixels,Height,Width\n0012,33,0 2|,1,8\n12,33,0 2|,1,8\n3e5,33,0 2|,1,8\n"


def test_ids_that_look_like_numbers_are_text(tmp_path):
    (tmp_path / "truth.csv").write_text(NUMBERS)
    (tmp_path / "s.csv").write_text(
        f"{WAD_HEADER}\n0012,33,0.9,2,0 2|\n12,33,0.9,2,0 2|\n3e5,33,0.9,2,0 2|\n"
    )
    outcome = segjudge(
        "score", "wad-2018", tmp_path / "truth.csv", tmp_path / "s.csv", "--by", "image", "--json"
    )
    assert outcome.json["score"] == 1
    assert outcome.json["by_image"] == {"0012": 1, "12": 1, "3e5": 1}


def test_ids_that_a_spreadsheet_has_changed(tmp_path):
    (tmp_path / "truth.csv").write_text(NUMBERS)
    (tmp_path / "s.csv").write_text(
        f"{WAD_HEADER}\n12,33,0.9,2,0 2|\n12,33,0.9,2,0 2|\n300000,33,0.9,2,0 2|\n"
    )
    outcome = segjudge("score", "wad-2018", tmp_path / "truth.csv", tmp_path / "s.csv", "--json")
    (finding,) = outcome.json["findings"]
    assert (finding["code"], finding["where"]["row"], finding["where"]["image"]) == (
        "unknown-id",
        4,
        "300000",
    )
    assert "3e5" in finding["advice"]
    assert "spreadsheet" in finding["advice"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["p1_1,1 2", "p1_2,", "p1_1,3 1"], {("duplicate-id", 4, "p1_1")}),
        (["p1_1,1 2"], {("missing-id", None, "p1_2")}),
        (["p1_1,1 2", "p1_2,", "p9_1,1 1"], {("unknown-id", 4, "p9_1")}),
        ([], {("missing-id", None, "p1_1"), ("missing-id", None, "p1_2")}),
        (["p1_1,1 2", "p1_1,1 2"], {("duplicate-id", 3, "p1_1"), ("missing-id", None, "p1_2")}),
        (["P1_1,1 2", "p1_2,"], {("unknown-id", 2, "P1_1"), ("missing-id", None, "p1_1")}),
        (["p1_1,1 2", "p1_2,", "p1_3,"], {("unknown-id", 4, "p1_3")}),
    ],
)
def test_rows_that_are_missing_foreign_or_repeated(rows, expected, tmp_path):
    (tmp_path / "truth.csv").write_text("Id,Predicted,Height,Width\np1_1,1 2,2,3\np1_2,,2,3\n")
    (tmp_path / "s.csv").write_text("\n".join(["Id,Predicted", *rows, ""]))
    outcome = segjudge("score", "badlad", tmp_path / "truth.csv", tmp_path / "s.csv", "--json")
    assert outcome.status == 1
    found = {(f["code"], f["where"]["row"], f["where"]["image"]) for f in outcome.json["findings"]}
    assert found == expected


def test_a_missing_row_may_count_as_an_empty_mask(tmp_path):
    (tmp_path / "truth.csv").write_text("Id,Predicted,Height,Width\np1_1,1 2,2,3\np1_2,,2,3\n")
    for rows, expected in ((["p1_2,"], 1 / 2), (["p1_1,1 2"], 1), ([], 1 / 2)):
        (tmp_path / "s.csv").write_text("\n".join(["Id,Predicted", *rows, ""]))
        outcome = segjudge(
            "score", "badlad", tmp_path / "truth.csv", tmp_path / "s.csv", "--set", "missing=empty", "--json"
        )
        assert outcome.json["score"] == expected


# --- label maps ---------------------------------------------------------------------------------------------


def objects_csv(labels, folder):
    """A submission with one row for each number of a label map but 0."""
    rle = sj.Rle(order="column", origin=1)
    rows = [f"cells,{rle.encode(labels == value)}" for value in np.unique(labels[labels > 0])]
    path = folder / "s.csv"
    path.write_text("\n".join(["ImageId,EncodedPixels", *rows, ""]))
    return path


@pytest.mark.parametrize("shape", [(15, 20), (20, 15), (1, 300), (30, 40)])
def test_more_objects_than_eight_bits_can_number(shape, tmp_path):
    count = shape[0] * shape[1]
    labels = (np.arange(count) + 1).reshape(shape)
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "cells.png").write_bytes(png(labels.astype(np.uint16)))
    sent = objects_csv(labels, tmp_path)
    outcome = segjudge("score", "dsb-2018", tmp_path / "truth", sent, "--json")
    assert outcome.json["score"] == 1
    assert outcome.json["counts"]["truths"] == count


def test_label_maps_that_went_through_eight_bits_lose_objects(tmp_path):
    labels = (np.arange(300) + 1).reshape(15, 20)
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "cells.png").write_bytes(png(labels.astype(np.uint16)))
    for broken, expected in (
        (labels % 256, Fraction(211, 344)),
        (np.minimum(labels, 255), Fraction(254, 301)),
    ):
        outcome = segjudge("score", "dsb-2018", tmp_path / "truth", objects_csv(broken, tmp_path), "--json")
        assert outcome.json["score"] == pytest.approx(float(expected), abs=1e-12)
        assert outcome.json["counts"]["predictions"] == 255
        task = sj.load_task("dsb-2018")
        (tmp_path / "truth8").mkdir(exist_ok=True)
        (tmp_path / "truth8" / "cells.png").write_bytes(png(broken.astype(np.uint8)))
        swapped = sj.score(
            task,
            sj.read_truth(task, tmp_path / "truth8"),
            sj.read_submission(task, objects_csv(labels, tmp_path)),
        )
        assert swapped.score == pytest.approx(float(expected), abs=1e-12)


# --- mask pictures ------------------------------------------------------------------------------------------


def palette(indices, colours):
    picture = Picture.new("P", (len(indices[0]), len(indices)))
    table = [0] * 768
    for index, colour in colours.items():
        table[3 * index : 3 * index + 3] = colour
    picture.putpalette(table)
    picture.putdata([index for row in indices for index in row])
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue()


def emoji_world(folder, truths, predictions, **more):
    """A truth folder and a zip; both sides name {sample: PNG}."""
    (folder / "truth").mkdir(exist_ok=True)
    rows = ["SampleID,Path,Mask"]
    for name, content in truths.items():
        (folder / "truth" / f"{name}.png").write_bytes(content)
        rows.append(f"{name},{name}_picture.png,{name}.png")
    (folder / "truth" / "test.csv").write_text("\n".join([*rows, ""]))
    rows = ["SampleID,PredictedMask", *(f"{name},masks/{name}.png" for name in predictions), ""]
    with zipfile.ZipFile(folder / "s.zip", "w") as archive:
        archive.writestr("submission.csv", "\n".join(rows))
        for name, content in predictions.items():
            archive.writestr(f"masks/{name}.png", content)
    return folder / "truth", folder / "s.zip"


HALF = np.array([[0, 0, 255, 255]], np.uint8)
BLACK, WHITE, RED = (0, 0, 0), (255, 255, 255), (255, 0, 0)


@pytest.mark.parametrize(
    ("sent", "score"),
    [
        (png(HALF), 1),
        (palette([[0, 0, 1, 1]], {0: BLACK, 1: WHITE}), 1),
        (palette([[1, 1, 0, 0]], {1: BLACK, 0: WHITE}), 1),
        (palette([[0, 0, 200, 200]], {0: BLACK, 200: WHITE}), 1),
        (palette([[0, 200, 0, 0]], {0: WHITE, 200: BLACK}), 2 / 3),
        (png(HALF > 0), 1),
        (png(np.stack([HALF] * 3, axis=2)), 1),
        (png(255 - HALF), 0),
        (png(np.array([[0, 255, 255, 255]], np.uint8)), 2 / 3),
        (png(HALF * 0), 0),
    ],
)
def test_a_mask_counts_by_its_colour(sent, score, tmp_path):
    truth, submission = emoji_world(tmp_path, {"e": png(HALF)}, {"e": sent})
    outcome = segjudge("score", "emoji", truth, submission, "--json")
    assert outcome.json["score"] == pytest.approx(score, abs=1e-12)
    assert outcome.json["findings"] == []


@pytest.mark.parametrize(
    ("sent", "code", "listed"),
    [
        (png(np.array([[0, 64, 192, 255]], np.uint8)), "mask-not-binary", ("64", "192")),
        (png(np.array([[0, 127, 128, 255]], np.uint8)), "mask-not-binary", ("127", "128")),
        (png(np.array([[0, 0, 254, 255]], np.uint8)), "mask-not-binary", ("254",)),
        (png(np.array([[0, 0, 254, 254]], np.uint8)), "mask-not-binary", ("254",)),
        (palette([[0, 0, 1, 1]], {0: BLACK, 1: RED}), "mask-not-binary", ("255, 0, 0",)),
    ],
)
def test_soft_edges_are_refused_or_cut_in_the_middle(sent, code, listed, tmp_path):
    truth, submission = emoji_world(tmp_path, {"e": png(HALF)}, {"e": sent})
    outcome = segjudge("score", "emoji", truth, submission, "--json")
    (finding,) = outcome.json["findings"]
    assert (finding["code"], finding["level"], outcome.json["score"]) == (code, "error", None)
    assert all(value in finding["message"] for value in listed)
    outcome = segjudge("score", "emoji", truth, submission, "--json", "--set", "binarize=128")
    (finding,) = outcome.json["findings"]
    assert (finding["code"], finding["level"]) == (code, "warning")
    assert outcome.json["score"] == (0 if "255, 0, 0" in listed else 1)  # red is darker than half


def test_a_jpeg_with_the_name_of_a_png(tmp_path):
    file = io.BytesIO()
    Picture.fromarray(np.repeat(HALF, 4, 0)).save(file, "JPEG")
    truth, submission = emoji_world(tmp_path, {"e": png(HALF)}, {"e": file.getvalue()})
    outcome = segjudge("score", "emoji", truth, submission, "--json")
    (finding,) = outcome.json["findings"]
    assert (finding["code"], finding["where"]["member"]) == ("not-png", "masks/e.png")


# --- archives -----------------------------------------------------------------------------------------------

TABLE = "SampleID,PredictedMask\ntest_0,predictions/test_0_mask.png\n"
ENTRY = {"submission.csv": TABLE, "predictions/test_0_mask.png": png(HALF)}


@pytest.mark.parametrize(
    ("members", "code"),
    [
        (ENTRY, None),
        ({f"entry/{name}": content for name, content in ENTRY.items()}
         | {"__MACOSX/entry/._submission.csv": b"\0", "entry/.DS_Store": b"\0"}, None),
        ({"a/submission.csv": TABLE, "b/submission.csv": TABLE, "predictions/test_0_mask.png": png(HALF)},
         "ambiguous-submission"),
        (ENTRY | {"../../evil.png": png(HALF)}, "unsafe-path"),
        (ENTRY | {"/evil_abs.png": png(HALF)}, "unsafe-path"),
        (ENTRY | {"submission.csv": TABLE.replace("predictions/test_0_mask.png", "../truth/test_0.png")},
         "unsafe-path"),
        (ENTRY | {"submission.csv": TABLE.replace("predictions/", "/predictions/")}, "unsafe-path"),
        ({"submission.csv": TABLE}, "missing-file"),
    ],
)  # fmt: skip
def test_archives_as_people_make_them_and_as_they_must_not(members, code, tmp_path):
    truth, _ = emoji_world(tmp_path, {"test_0": png(HALF)}, {})
    inside = tmp_path / "in" / "side"
    inside.mkdir(parents=True)
    with zipfile.ZipFile(inside / "sub.zip", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    before = sorted(tmp_path.rglob("*"))
    outcome = segjudge("score", "emoji", truth, inside / "sub.zip", "--json")
    assert sorted(tmp_path.rglob("*")) == before
    if code is None:
        assert (outcome.json["score"], outcome.json["points"]) == (1, 100)
    else:
        assert outcome.json["score"] is None
        assert code in {f["code"] for f in outcome.json["findings"] if f["level"] == "error"}


# --- means and points ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pairs", "mean", "points"),
    [
        ([(1, 1), (2, 8)], Fraction(5, 8), 74.5),
        ([(2, 8), (1, 1)], Fraction(5, 8), 74.5),
        ([(8, 8)], Fraction(1), 100),
        ([(3, 4)], Fraction(3, 4), 100),
        ([(1, 2)], Fraction(1, 2), 50),
        ([(1, 4)], Fraction(1, 4), 25),
        ([(1, 8)], Fraction(1, 8), 12),
        ([(0, 8)], Fraction(0), 0),
        ([(7, 10), (7, 10), (7, 10), (9, 10)], Fraction(3, 4), 100),
        ([(1, 2), (2, 3)], Fraction(7, 12), 50 + 196 / 12),
        ([(3, 8), (3, 8)], Fraction(3, 8), 37),
    ],
)
def test_a_mean_of_pictures_and_its_points(pairs, mean, points, tmp_path):
    truths, predictions = {}, {}
    for number, (shared, whole) in enumerate(pairs):
        truths[f"t{number}"] = png(np.full((1, whole), 255, np.uint8))
        predictions[f"t{number}"] = png(np.array([[255] * shared + [0] * (whole - shared)], np.uint8))
    truth, submission = emoji_world(tmp_path, truths, predictions)
    outcome = segjudge("score", "emoji", truth, submission, "--json", "--by", "image")
    assert outcome.json["score"] == pytest.approx(float(mean), abs=1e-12)
    assert outcome.json["points"] == pytest.approx(points, abs=1e-9)
    assert list(outcome.json["by_image"].values()) == [pytest.approx(p / w) for p, w in pairs]


def test_one_dice_over_all_pixels_is_another_number(tmp_path):
    truth, sent = {0: "1 1", 1: "1 8"}, {0: "1 1", 1: "1 2"}
    assert badlad_score(tmp_path, truth, sent, (1, 8)).score == pytest.approx((1 + 4 / 10) / 2)
    assert badlad_score(tmp_path, truth, sent, (1, 8), "average=pixels").score == pytest.approx(6 / 12)


def test_clips_are_averaged_one_by_one(tmp_path):
    """Clip one: car 1/2 over two images. Clip two: car 1, bus 0. A clip without truth does not count."""
    images = (
        Image("a", 1, 8, "one"),
        Image("b", 1, 8, "one"),
        Image("c", 1, 8, "two"),
        Image("d", 1, 8, "three"),
    )
    truths = [*(Thing(name, 33, px((0, 3))) for name in "abc"), Thing("c", 39, px((4, 7)))]
    sent = [
        Thing("a", 33, px((0, 3)), "0.9"),
        Thing("c", 33, px((0, 3)), "0.8"),
        Thing("d", 33, px((0, 3)), "0.1"),
    ]
    written = files.write_wad(Scene(images, tuple(truths), tuple(sent)), tmp_path)
    task = sj.load_task("wad-2018", ["average=clip"])
    result = sj.score(
        task, sj.read_truth(task, written.truth), sj.read_submission(task, written.submission),
        images=sj.read_images(task, written.images),
    )  # fmt: skip
    assert result.score == pytest.approx((51 / 101 + (1 + 0) / 2) / 2, abs=1e-12)
    pooled = wad_score(Scene(images, tuple(truths), tuple(sent)), tmp_path)
    assert pooled.score == pytest.approx((67 / 101 + 0) / 2, abs=1e-12)
    assert math.isclose(
        score_of("wad-2018", written, "absent_class=zero").score, (67 / 101 + 0) / 7, abs_tol=1e-12
    )


def test_usage_chooses_images(tmp_path):
    scene = Scene(
        tuple(Image(name, 1, 8) for name in "abc"),
        tuple(Thing(name, 1, px((0, 3))) for name in "abc"),
        (Thing("a", 1, px((0, 3))), Thing("b", 1, px((4, 7)))),
    )
    written = files.write_dsb(scene, tmp_path)
    (tmp_path / "images.csv").write_text(
        "ImageId,Height,Width,Usage\na,1,8,Public\nb,1,8,Private\nc,1,8,Ignored\n"
    )
    words = [
        "score",
        "dsb-2018",
        written.truth,
        written.submission,
        "--images",
        tmp_path / "images.csv",
        "--json",
    ]
    assert segjudge(*words).json["score"] == 1 / 2
    for usage, expected in (("Public", 1), ("Private", 0), ("Ignored", 0)):
        assert segjudge(*words, "--usage", usage).json["score"] == expected, usage
