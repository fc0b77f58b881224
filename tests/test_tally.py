"""Tallies add, and move from one numbering of the images to another."""

from dataclasses import fields

import numpy as np
import pytest

from segjudge.metrics import METRICS
from segjudge.metrics.average_precision import AveragePrecisionTally
from segjudge.metrics.detection import DetectionTally
from segjudge.metrics.image_precision import ImagePrecisionTally
from segjudge.metrics.overlap import OverlapTally

TALLIES = (AveragePrecisionTally, DetectionTally, ImagePrecisionTally, OverlapTally)


@pytest.mark.parametrize("kind", TALLIES)
def test_every_column_belongs_to_one_table_that_begins_with_images(kind):
    named = [name for table in kind.tables for name in table]
    assert sorted(named) == sorted(field.name for field in fields(kind))
    assert all(table[0].endswith("image") for table in kind.tables)


def test_every_metric_has_a_tally_here():
    assert len(TALLIES) == len(METRICS)


def test_a_moved_tally_leaves_out_the_images_without_a_place():
    numbers = np.array([0, 1, 2, 1])
    tally = OverlapTally(numbers, numbers * 10, numbers, numbers, numbers)
    moved = tally.moved(np.array([7, -1, 3]))
    assert moved.image.tolist() == [7, 3]
    assert moved.class_ids.tolist() == [0, 20]
