"""The table of instances: what is chosen keeps all its columns."""

from __future__ import annotations

import numpy as np

from segjudge import Instances, Masks

MASKS = Masks.from_dense(np.array([[[1, 0, 0]], [[1, 1, 0]], [[1, 1, 1]]], bool))
IMAGE = np.array([0, 0, 1])


def test_areas_and_crowd_stay_with_their_instances():
    instances = Instances.of(
        ["a", "b"], IMAGE, MASKS, areas=np.array([1.5, 2.5, 3.5]), crowd=np.array([False, True, False])
    )
    chosen = instances[np.array([2, 1])]
    assert chosen.areas.tolist() == [3.5, 2.5]
    assert chosen.crowd.tolist() == [False, True]
    assert chosen.masks.areas.tolist() == [3, 2]


def test_areas_and_crowd_that_nobody_gave_are_none():
    chosen = Instances.of(["a", "b"], IMAGE, MASKS)[:2]
    assert chosen.areas is None
    assert chosen.crowd is None
