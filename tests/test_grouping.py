"""Grouping: perfect maps give the instances back, and rules leave out what is small or unsure."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjudge.models.grouping import Grouping, Maps, group
from segjudge.models.samples import Sample
from segjudge.models.targets import OFFSET_UNIT, centres, depth, instance_targets

CLASSES = (33, 36)
CELL = 9
CENTRES = Grouping("centres", peak=0.1, smallest=1)
WATERSHED = Grouping("watershed", peak=0.08, smallest=1)
COMPONENTS = Grouping("components", smallest=1)


@st.composite
def boxes(draw, *, gap, least=3, most=CELL):
    """A label map of rectangles, one in a cell at most, and their class ids.

    With a gap of 0 they may touch; their centres are always some pixels apart.
    """
    down, across = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    owner = np.zeros((down * CELL, across * CELL), np.int32)
    classes = []
    for cell in range(down * across):
        if draw(st.integers(0, 3)) == 0:
            continue
        height, width = draw(st.integers(least, most - gap)), draw(st.integers(least, most - gap))
        top = cell // across * CELL + draw(st.integers(0, most - gap - height))
        left = cell % across * CELL + draw(st.integers(0, most - gap - width))
        classes.append(draw(st.sampled_from(CLASSES)))
        owner[top : top + height, left : left + width] = len(classes)
    return owner, np.array(classes, np.int64)


def perfect(owner, class_ids):
    """The maps that a net without fault would put out."""
    count = len(class_ids)
    sample = Sample(
        picture=np.zeros((*owner.shape, 3), np.uint8),
        planes=np.zeros(owner.shape, np.uint8),
        owner=owner,
        depth=depth(owner, count),
        centres=centres(owner, count),
        areas=np.bincount(owner.ravel(), minlength=count + 1)[1:].astype(np.float32),
        class_ids=class_ids,
        ignored=np.zeros(count, bool),
        known=np.ones(owner.shape, bool),
    )
    targets = instance_targets(sample, CLASSES)
    shares = np.eye(len(CLASSES) + 1, dtype=np.float32)[targets.class_index].transpose(2, 0, 1)
    return Maps(shares, targets.heat, targets.offset * np.float32(OFFSET_UNIT), targets.depth)


def instances(founds):
    """What was found, as pixels by class index: numbers mean nothing."""
    return sorted(
        (int(found.class_index[number]), np.flatnonzero(found.owner == number + 1).tolist())
        for found in founds
        for number in range(len(found.confidences))
    )


def truths(owner, class_ids):
    return sorted(
        (CLASSES.index(class_id), np.flatnonzero(owner == number + 1).tolist())
        for number, class_id in enumerate(class_ids)
    )


# -------------------------------------------------------------------------------- perfect maps


@settings(deadline=None)
@given(boxes(gap=0), st.booleans())
def test_votes_for_centres_give_instances_back_that_touch(drawn, together):
    rules = (CENTRES,) if together else (CENTRES,) * len(CLASSES)
    found = group(perfect(*drawn), rules)
    assert instances(found) == truths(*drawn)
    assert all((one.confidences > 0.5).all() for one in found)


@settings(deadline=None)
@given(boxes(gap=1), st.booleans())
def test_components_give_instances_back_that_do_not_touch(drawn, together):
    rules = (COMPONENTS,) if together else (COMPONENTS,) * len(CLASSES)
    assert instances(group(perfect(*drawn), rules)) == truths(*drawn)


@settings(deadline=None)
@given(boxes(gap=1), st.booleans())
def test_flooded_depth_gives_instances_back_that_do_not_touch(drawn, together):
    rules = (WATERSHED,) if together else (WATERSHED,) * len(CLASSES)
    assert instances(group(perfect(*drawn), rules)) == truths(*drawn)


@settings(deadline=None)
@given(boxes(gap=0, least=CELL))
def test_flooded_depth_parts_instances_that_touch_along_whole_sides(drawn):
    # Where a narrow one touches the middle of a wide one, depth is pinched there, and the wide one may be parted.
    owner, class_ids = drawn
    found = group(perfect(owner, class_ids), (WATERSHED,))[0].owner
    assert found.max(initial=0) == len(class_ids)
    for number in range(1, len(class_ids) + 1):
        own = owner == number
        best = np.bincount(found[own]).argmax()
        assert best > 0
        assert (own & (found == best)).sum() / (own | (found == best)).sum() > 0.75


def test_depth_alone_parts_instances_by_flooding():
    owner = np.zeros((9, 14), np.int32)
    owner[1:8, 1:7], owner[1:8, 7:13] = 1, 2
    maps = perfect(owner, np.array([33, 36]))
    lukewarm = replace(maps, heat=np.full_like(maps.heat, 0.5))
    assert len(instances(group(lukewarm, (WATERSHED,)))) == 2
    assert len(instances(group(replace(lukewarm, depth=maps.classes[1:].sum(axis=0)), (WATERSHED,)))) == 1


@settings(deadline=None)
@given(boxes(gap=0), st.sampled_from([CENTRES, WATERSHED, COMPONENTS]), st.integers(0, 2**32 - 1))
def test_whatever_a_net_says_instances_share_no_pixel_and_lie_where_the_class_is(drawn, rule, seed):
    owner, _ = drawn
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.ones(3), owner.shape).transpose(2, 0, 1).astype(np.float32)
    heat, deep = rng.random((2, *owner.shape), np.float32)
    maps = Maps(shares, heat, rng.normal(0, 40, (2, *owner.shape)).astype(np.float32), deep)
    (found,) = group(maps, (replace(rule, floor=0.0),))
    count = len(found.confidences)
    assert count == len(found.class_index) == found.owner.max(initial=0)
    assert np.array_equal(np.unique(found.owner[found.owner > 0]), np.arange(1, count + 1))
    assert (1 - shares[0][found.owner > 0] > rule.share).all()
    for index, one in enumerate(group(maps, (rule, rule))):
        assert set(one.class_index.tolist()) <= {index}


# ------------------------------------------------------------------------------ rules and edges


def test_a_part_without_a_maximum_of_its_own_is_an_instance_all_the_same():
    owner = np.zeros((12, 24), np.int32)
    owner[2:10, 2:10], owner[5:7, 16:18] = 1, 2
    maps = perfect(owner, np.array([33, 33]))
    flat = replace(maps, depth=np.where(owner == 2, np.float32(0), maps.depth))
    assert instances(group(flat, (replace(WATERSHED, peak=0.3),))) == truths(owner, np.array([33, 33]))


def test_without_a_hot_centre_connection_decides():
    owner = np.zeros((9, 18), np.int32)
    owner[2:7, 2:7], owner[2:7, 10:15] = 1, 2
    maps = perfect(owner, np.array([33, 36]))
    cold = replace(maps, heat=np.zeros_like(maps.heat))
    assert instances(group(cold, (replace(CENTRES, floor=0.0),))) == truths(owner, np.array([33, 36]))


def test_small_instances_and_unsure_ones_are_left_out():
    owner = np.zeros((10, 24), np.int32)
    owner[1:9, 1:9], owner[1:4, 12:15], owner[1:9, 16:23] = 1, 2, 3
    maps = perfect(owner, np.array([33, 36, 36]))
    shares = maps.classes.copy()
    shares[:, owner == 3] = np.array([[0.4], [0.0], [0.6]])
    maps = replace(maps, classes=shares)
    kept = [k for k, _ in instances(group(maps, (replace(COMPONENTS, smallest=10),)))]
    assert kept == [0, 1]
    assert len(instances(group(maps, (replace(COMPONENTS, floor=0.7),)))) == 2
    (found,) = group(maps, (COMPONENTS,))
    assert found.confidences.tolist() == pytest.approx([1, 1, 0.6])


def test_confidence_is_the_class_s_mean_share_times_the_peak():
    owner = np.zeros((9, 9), np.int32)
    owner[2:7, 2:7] = 1
    maps = perfect(owner, np.array([36]))
    maps = replace(maps, heat=maps.heat * np.float32(0.5), classes=maps.classes * np.float32(0.9))
    (found,) = group(maps, (COMPONENTS,))
    assert found.confidences.tolist() == pytest.approx([0.45])


def test_masks_come_with_number_box_and_shape():
    owner = np.zeros((9, 9), np.int32)
    owner[2:7, 1:4] = 1
    (found,) = group(perfect(owner, np.array([36])), (CENTRES,))
    ((number, box, mask),) = found.masks()
    assert number == 0
    assert box == (slice(2, 7), slice(1, 4))
    assert mask.all()


def test_an_empty_picture_holds_nothing():
    maps = perfect(np.zeros((9, 9), np.int32), np.zeros(0, np.int64))
    for rule in (CENTRES, WATERSHED, COMPONENTS):
        (found,) = group(maps, (rule,))
        assert len(found.confidences) == 0
        assert not found.owner.any()
        assert list(found.masks()) == []
