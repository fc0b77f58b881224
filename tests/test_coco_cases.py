"""Small scenes whose COCO score can be worked out by hand, from files to the score."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

import segjudge as sj
from tests.running import segjudge

if TYPE_CHECKING:
    from pathlib import Path


class Scene(NamedTuple):
    """Runs of pixels in images of one row: of truths (first, behind the last), and of predictions with a score."""

    truths: list[tuple[int, int]]
    predictions: list[tuple[float, int, int]]
    width: int = 20
    first_id: int = 1


def pixels(first: int, stop: int, width: int) -> dict[str, object]:
    mask = np.zeros((1, width), bool)
    mask[0, first:stop] = True
    return sj.CocoRle().encode(mask)


def scored(folder: Path, scene: Scene, workers: int = 1) -> float:
    truth = {
        "images": [{"id": 1, "height": 1, "width": scene.width}],
        "categories": [{"id": 33, "name": "car"}],
        "annotations": [
            {
                "id": number, "image_id": 1, "category_id": 33, "iscrowd": 0, "area": stop - first,
                "segmentation": pixels(first, stop, scene.width),
            }
            for number, (first, stop) in enumerate(scene.truths, start=scene.first_id)
        ],
    }  # fmt: skip
    results = [
        {"image_id": 1, "category_id": 33, "score": score, "segmentation": pixels(first, stop, scene.width)}
        for score, first, stop in scene.predictions
    ]
    (folder / "truth.json").write_text(json.dumps(truth))
    (folder / "results.json").write_text(json.dumps(results))
    outcome = segjudge(
        "score", "coco", folder / "truth.json", folder / "results.json", "--json", "--workers", workers
    )
    return outcome.json["score"]


ONE, TWO, NOWHERE = (0.5, 0, 2), (0.5, 4, 6), (0.5, 8, 10)
APART = [(3 * place, 3 * place + 1) for place in range(10)]


@pytest.mark.parametrize(
    ("expected", "scene"),
    [
        # An IoU of one half is a hit at 0.50, and at no other threshold.
        (Fraction(1, 10), Scene([(0, 2)], [(0.9, 0, 4)])),
        # An IoU that equals a threshold is a hit there.
        (Fraction(3, 10), Scene([(0, 5)], [(0.9, 0, 3)])),
        (Fraction(5, 10), Scene([(0, 10)], [(0.9, 0, 7)])),
        (Fraction(8, 10), Scene([(0, 20)], [(0.9, 0, 17)])),
        (Fraction(9, 10), Scene([(0, 10)], [(0.9, 0, 9)])),
        (Fraction(1), Scene([(0, 1)], [(0.9, 0, 1)])),
        # Equal confidences rank as they stand in the file.
        (Fraction(1), Scene([(0, 2), (4, 6)], [ONE, TWO, NOWHERE])),
        (Fraction(2, 3), Scene([(0, 2), (4, 6)], [NOWHERE, ONE, TWO])),
        (Fraction(253, 303), Scene([(0, 2), (4, 6)], [ONE, NOWHERE, TWO])),
        # The more confident takes the object while its IoU, 3/5, is enough; from 0.65 on it stands in the way.
        (Fraction(13, 20), Scene([(0, 3)], [(0.9, 0, 5), (0.5, 0, 3)])),
        # A hundred predictions of an image and class, and no more.
        (
            Fraction(100, 101),
            Scene(
                [(2 * n, 2 * n + 1) for n in range(101)], [(0.9, 2 * n, 2 * n + 1) for n in range(101)], 202
            ),
        ),
        # A recall of one third reaches the levels 0.00 to 0.33.
        (Fraction(34, 101), Scene(APART[:3], [(0.9, 0, 1)], 40)),
        # Seven of ten is less than the float that stands for level 0.70.
        (Fraction(70, 101), Scene(APART, [(0.9, *run) for run in APART[:7]], 40)),
        # An id of 0 is an id.
        (Fraction(1), Scene([(0, 2)], [(0.9, 0, 2)], first_id=0)),
        (Fraction(1), Scene([(0, 2), (4, 6)], [(0.9, 0, 2), (0.8, 4, 6)], first_id=0)),
    ],
)
def test_scenes_worked_out_by_hand_have_their_score(tmp_path, expected, scene):
    assert scored(tmp_path, scene) == pytest.approx(float(expected), abs=1e-12)
    assert scored(tmp_path, scene, workers=4) == scored(tmp_path, scene)
