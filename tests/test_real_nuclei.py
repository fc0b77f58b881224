"""A real picture from the Data Science Bowl 2018, from pixels to a score, equal to stardist's own matching.

The package `stardist` carries one nuclei picture with its label map; both are read from the installed
package and not kept here.
"""

import warnings
from fractions import Fraction
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy import ndimage
from skimage.feature import peak_local_max
from skimage.filters import gaussian, threshold_otsu
from skimage.segmentation import watershed

import segjudge as sj
from segjudge.task import decimal_text


@pytest.fixture(scope="module")
def matching():
    """The function of stardist that counts hits at a threshold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its imports have to say is not this project's business
        from stardist.matching import matching as function
    return function


@pytest.fixture(scope="module")
def nuclei():
    """The picture and its label map, (512, 512) each."""
    found = {Path(str(file)).name: file.locate() for file in files("stardist") if "images/" in str(file)}
    return (np.asarray(Image.open(str(found[name]))) for name in ("img2d.tif", "mask2d.tif"))


def segmented(picture):
    """Otsu's threshold, then a watershed on the distance to the ground: what everybody tries first."""
    foreground = gaussian(picture.astype(float), 1) > threshold_otsu(gaussian(picture.astype(float), 1))
    distance = ndimage.distance_transform_edt(foreground)
    peaks = peak_local_max(gaussian(distance, 2), min_distance=5, labels=ndimage.label(foreground)[0])
    markers = np.zeros(picture.shape, np.int32)
    markers[tuple(peaks.T)] = np.arange(len(peaks)) + 1
    return watershed(-distance, markers, mask=foreground).astype(np.uint16)


def test_the_score_is_what_stardist_counts(nuclei, matching, tmp_path):
    picture, truth = nuclei
    predicted = segmented(picture)
    (tmp_path / "truth").mkdir()
    Image.fromarray(truth.astype(np.uint16)).save(tmp_path / "truth" / "nuclei.png")
    task = sj.load_task("dsb-2018")
    with sj.write_submission(task, tmp_path / "submission.csv") as out:
        out.add("nuclei", predicted)

    def scored(*settings):
        chosen = sj.load_task("dsb-2018", settings)
        sides = (
            sj.read_truth(chosen, tmp_path / "truth"),
            sj.read_submission(chosen, tmp_path / "submission.csv"),
        )
        assert sj.check(chosen, sides[1], truth=sides[0]).ok
        return sj.score(
            chosen, sides[0], sj.read_submission(chosen, tmp_path / "submission.csv"), by=["threshold"]
        )

    result, lenient = scored(), scored("strict=false")
    assert result.counts["truths"] == len(np.unique(truth)) - 1
    assert result.counts["predictions"] == predicted.max()
    for number, threshold in enumerate(task.metric.thresholds):
        theirs = matching(truth.astype(int), predicted.astype(int), thresh=float(threshold))
        print(decimal_text(threshold), lenient.by_threshold[threshold], theirs.accuracy)
        assert lenient.by_threshold[threshold] == pytest.approx(theirs.accuracy, abs=1e-12)
        assert threshold == Fraction(10 + number, 20)
    # No IoU of this picture lies exactly on a threshold, so "greater than" and "at least" agree.
    assert result.by_threshold == lenient.by_threshold
    assert 0.2 < result.score < 0.9
