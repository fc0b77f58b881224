"""Real nuclei, segmented for real, scored twice: by segjudge and by stardist's own `matching`."""

import csv
import importlib.util
import json
import warnings
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import distance_transform_edt
from skimage.feature import peak_local_max
from skimage.filters import gaussian, threshold_otsu
from skimage.segmentation import watershed

import segjudge as sj
from segjudge.formats.label_maps import masks_of_labels
from tests.running import segjudge

THRESHOLDS = [Fraction(k, 20) for k in range(10, 20)]
KEEP_ALL = np.zeros(1, np.uint8)


class Road(NamedTuple):
    """The files of one participant and one host, and the label maps behind them."""

    truth: Path
    submission: Path
    nuclei: np.ndarray
    predicted: np.ndarray


def file_of_stardist(*parts):
    """A file of the installed package; without the package an error, not a skipped test."""
    spec = importlib.util.find_spec("stardist")
    if spec is None:
        raise ModuleNotFoundError("stardist is missing; `pip install -e '.[test]'` brings it")
    return Path(spec.submodule_search_locations[0]).joinpath(*parts)


@cache
def stardist_module():
    """stardist's module `matching`, loaded by its path: the package with its models stays unimported."""
    spec = importlib.util.spec_from_file_location("stardist_matching", file_of_stardist("matching.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def matching(truth, prediction, thresholds):
    """stardist's tp, fp, fn, accuracy and more of two label maps, for each threshold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whatever a later numba or numpy says to code that is not ours
        return list(stardist_module().matching(truth, prediction, thresh=thresholds))


def picture_and_nuclei():
    """A microscope's picture (H, W) of the Data Science Bowl 2018, and the label map drawn by hand."""
    folder = file_of_stardist("data", "images")
    with Image.open(folder / "img2d.tif") as picture, Image.open(folder / "mask2d.tif") as nuclei:
        return np.array(picture), np.array(nuclei)


def segmented(picture):
    """Nuclei by Otsu's threshold and a watershed from the peaks of the distance to the background."""
    bright = gaussian(picture, 1, preserve_range=True)
    bright = bright > threshold_otsu(bright)
    depth = gaussian(distance_transform_edt(bright), 1)
    seeds = np.zeros(picture.shape, np.int32)
    peaks = peak_local_max(depth, min_distance=7, labels=bright.astype(np.int32))
    seeds[tuple(peaks.T)] = np.arange(1, len(peaks) + 1)
    return watershed(-depth, seeds, mask=bright)


@pytest.fixture(scope="module")
def road(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nuclei")
    picture, nuclei = picture_and_nuclei()
    predicted = segmented(picture)
    (folder / "truth").mkdir()
    Image.fromarray(nuclei).save(folder / "truth" / "nuclei.png")
    with sj.write_submission(sj.load_task("dsb-2018"), folder / "submission.csv") as out:
        out.add("nuclei", predicted)
    return Road(folder / "truth", folder / "submission.csv", nuclei, predicted)


def scored(truth, submission, *, strict):
    outcome = segjudge(
        "score", "dsb-2018", truth, submission,
        "--by", "threshold", "--set", f"strict={str(strict).lower()}", "--json",
    )  # fmt: skip
    assert outcome.status == 0, outcome.err
    result = outcome.json
    return result, {Fraction(text): value for text, value in result["by_threshold"].items()}


def test_the_picture_is_the_one_that_the_documentation_describes(road):
    assert road.nuclei.shape == (512, 512)
    assert road.nuclei.dtype == np.uint16
    assert len(np.unique(road.nuclei)) - 1 == 125


def test_check_has_nothing_to_say_about_real_nuclei(road):
    outcome = segjudge("check", "dsb-2018", road.submission, "--truth", road.truth, "--json")
    assert outcome.status == 0
    assert outcome.json["findings"] == []
    with road.submission.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))[1:]
    assert len(rows) == len(np.unique(road.predicted)) - 1


def test_precision_is_the_accuracy_of_stardist_at_each_threshold(road):
    result, ours = scored(road.truth, road.submission, strict=False)
    theirs = matching(road.nuclei, road.predicted, [float(t) for t in THRESHOLDS])
    print("\n   t  TP  FP  FN  segjudge  stardist")
    for threshold, other in zip(THRESHOLDS, theirs, strict=True):
        line = f"{other.tp:4d}{other.fp:4d}{other.fn:4d}  {ours[threshold]:.6f}  {other.accuracy:.6f}"
        print(f"{float(threshold):.2f}{line}")
    print(f"score {result['score']:.6f}")
    assert list(ours) == THRESHOLDS
    for threshold, other in zip(THRESHOLDS, theirs, strict=True):
        assert ours[threshold] == other.accuracy == other.tp / (other.tp + other.fp + other.fn), threshold
    assert result["score"] == pytest.approx(np.mean([other.accuracy for other in theirs]), abs=1e-15)
    assert result["counts"] == {
        "images": 1, "truths": theirs[0].n_true, "ignored": 0, "predictions": theirs[0].n_pred
    }  # fmt: skip


def test_the_segmentation_is_fair_and_wrong_in_many_places(road):
    """Were it perfect or hopeless, the comparison would say little."""
    _, ours = scored(road.truth, road.submission, strict=False)
    values = list(ours.values())
    assert len(set(values)) == len(THRESHOLDS)
    assert values == sorted(values, reverse=True)
    assert values[0] > 0.4


def test_no_iou_is_a_threshold_so_greater_and_at_least_agree(road):
    _, truths = masks_of_labels(road.nuclei, "column", KEEP_ALL)
    _, predictions = masks_of_labels(road.predicted, "column", KEEP_ALL)
    overlaps = predictions.overlaps(truths)
    assert len(overlaps) > 100
    for threshold in THRESHOLDS:
        ties = threshold.denominator * overlaps.shared == threshold.numerator * overlaps.unions
        assert not ties.any()
    strictly, at_least = (scored(road.truth, road.submission, strict=strict) for strict in (True, False))
    assert strictly[1] == at_least[1]
    assert strictly[0]["score"] == at_least[0]["score"]


def test_the_tiff_of_the_package_is_a_truth_as_it_is(road, tmp_path):
    (tmp_path / "nuclei.tif").write_bytes(file_of_stardist("data", "images", "mask2d.tif").read_bytes())
    as_png, as_tiff = (
        json.dumps(scored(truth, road.submission, strict=True)[0]["by_threshold"])
        for truth in (road.truth, tmp_path)
    )
    assert as_png == as_tiff


def test_the_hand_drawn_nuclei_score_one_against_themselves(road, tmp_path):
    with sj.write_submission(sj.load_task("dsb-2018"), tmp_path / "perfect.csv.gz") as out:
        out.add("nuclei", road.nuclei)
    result, _ = scored(road.truth, tmp_path / "perfect.csv.gz", strict=True)
    assert result["score"] == 1.0
    assert result["counts"]["predictions"] == 125
