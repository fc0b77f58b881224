"""Targets of instance tasks: centres, depth, the way to the centre; and how they turn with their sample."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from segjudge.models.samples import Sample, flipped
from segjudge.models.targets import OFFSET_UNIT, centres, depth, instance_targets

CLASSES = (33, 36, 40)
FLIPS = ("left-right", "up-down", "transpose")


@st.composite
def owners(draw, most=3):
    """A small label map whose instances are numbered without a gap, and their count."""
    height, width = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    cells = draw(st.lists(st.integers(0, most), min_size=height * width, max_size=height * width))
    values, owner = np.unique([0, *cells], return_inverse=True)
    return owner[1:].reshape(height, width).astype(np.int32), len(values) - 1


def sample_of(owner, count, *, seed=0):
    rng = np.random.default_rng(seed)
    areas = np.bincount(owner.ravel(), minlength=count + 1)[1:].astype(np.float32)
    return Sample(
        picture=rng.integers(0, 256, (*owner.shape, 3), dtype=np.uint8),
        planes=rng.integers(0, 4, owner.shape, dtype=np.uint8),
        owner=owner,
        depth=depth(owner, count),
        centres=centres(owner, count),
        areas=areas,
        class_ids=rng.choice(CLASSES, count),
        ignored=rng.random(count) < 0.3,
        known=rng.random(owner.shape) < 0.9,
    )


# ------------------------------------------------------------------------------------------- centres


@settings(deadline=None)
@given(owners())
def test_a_centre_is_the_member_pixel_nearest_to_the_middle(drawn):
    owner, count = drawn
    found = centres(owner, count)
    assert found.shape == (count, 2)
    for number in range(count):
        members = np.argwhere(owner == number + 1)
        away = ((members - members.mean(axis=0)) ** 2).sum(axis=1)
        row, column = found[number].astype(int)
        assert owner[row, column] == number + 1
        own = ((np.array([row, column]) - members.mean(axis=0)) ** 2).sum()
        assert own == pytest.approx(away.min(), abs=1e-9)


def test_the_centre_of_a_crescent_lies_in_the_crescent():
    owner = np.ones((9, 9), np.int32)
    owner[2:7, 2:] = 0
    row, column = centres(owner, 1)[0].astype(int)
    assert owner[row, column] == 1


def test_an_instance_without_a_pixel_has_no_centre():
    found = centres(np.array([[2]], np.int32), 2)
    assert np.isnan(found[0]).all()
    assert found[1].tolist() == [0, 0]


# --------------------------------------------------------------------------------------------- depth


@settings(deadline=None)
@given(owners())
def test_depth_is_nothing_outside_and_most_where_an_instance_is_deepest(drawn):
    owner, count = drawn
    deep = depth(owner, count)
    assert (deep[owner == 0] == 0).all()
    assert (deep[owner > 0] > 0).all()
    for number in range(1, count + 1):
        # An instance that touches others with every pixel has no inside; it is half as deep as one pixel.
        assert deep[owner == number].max() in (128, 255)


@settings(deadline=None)
@given(owners(), st.sampled_from(FLIPS))
@example((np.ones((3, 4), np.int32), 1), "left-right")
def test_depth_does_not_know_left_from_right(drawn, flip):
    owner, count = drawn
    turned = flipped(sample_of(owner, count), flip)
    assert np.array_equal(depth(np.ascontiguousarray(turned.owner), count), turned.depth)


def test_depth_is_the_distance_to_the_outline_by_the_deepest():
    owner = np.zeros((9, 9), np.int32)
    owner[1:8, 1:8] = 1
    rows, columns = np.mgrid[:9, :9]
    ring = np.minimum(np.minimum(rows, 8 - rows), np.minimum(columns, 8 - columns))
    assert np.array_equal(depth(owner, 1), np.rint(ring / 4 * 255))


def test_where_two_instances_touch_there_is_a_valley():
    owner = np.zeros((9, 14), np.int32)
    owner[1:8, 1:7], owner[1:8, 7:13] = 1, 2
    row = depth(owner, 2)[4].astype(int)
    assert row[6] == row[7] < row[3] == row[10] == 255
    assert (np.diff(row[3:7]) < 0).all()


def test_an_instance_that_touches_others_everywhere_is_half_as_deep_as_a_pixel_alone():
    owner = np.zeros((7, 9), np.int32)
    owner[1:4, 1:4], owner[2, 2], owner[1, 6] = 1, 2, 3
    deep = depth(owner, 3)
    assert deep[2, 2] == 128
    assert deep[1, 6] == 255
    assert deep[owner == 1].max() == 255  # its corners touch nobody
    stripes = np.tile(np.array([[1, 2]], np.int32), (4, 1))
    assert (depth(stripes, 2) == 128).all()


def test_an_instance_goes_on_beyond_the_picture_s_edge():
    owner = np.zeros((8, 8), np.int32)
    owner[:, :4] = 1
    assert depth(owner, 1)[:, 0].tolist() == [255] * 8


# ------------------------------------------------------------------------------------- the whole set


@settings(deadline=None)
@given(owners())
def test_every_pixel_s_offset_points_to_its_centre(drawn):
    owner, count = drawn
    sample = sample_of(owner, count)
    offset = instance_targets(sample, CLASSES).offset * OFFSET_UNIT
    for row, column in np.argwhere(owner > 0):
        there = sample.centres[owner[row, column] - 1]
        assert (row + offset[0, row, column], column + offset[1, row, column]) == pytest.approx(there)
    assert (offset[:, owner == 0] == 0).all()


@settings(deadline=None)
@given(owners())
def test_heat_is_one_at_centres_less_elsewhere_and_nothing_outside_or_where_ignored(drawn):
    owner, count = drawn
    sample = sample_of(owner, count)
    heat = instance_targets(sample, CLASSES).heat
    hot = np.zeros(owner.shape, bool)
    hot[tuple(sample.centres.astype(int).T)] = True
    left_out = np.concatenate([[True], sample.ignored])[owner]
    assert (heat[hot & ~left_out] == 1).all()
    assert (heat[~hot] < 1).all()
    assert (heat[left_out] == 0).all()


@settings(deadline=None)
@given(owners())
def test_classes_are_numbered_in_their_order_and_ignored_ones_are_not_learnt(drawn):
    owner, count = drawn
    sample = sample_of(owner, count)
    index = instance_targets(sample, CLASSES).class_index
    for number in range(count):
        said = set(index[owner == number + 1].tolist())
        assert said == {-1 if sample.ignored[number] else CLASSES.index(sample.class_ids[number]) + 1}
    assert (index[owner == 0] == 0).all()


def test_a_pixel_weighs_what_its_class_does():
    owner = np.zeros((20, 20), np.int32)
    owner[:2, :2], owner[4:12, 4:12], owner[13:, :] = 1, 2, 3
    sample = sample_of(owner, 3)
    heavy = int(sample.class_ids[1])
    weight = instance_targets(sample, CLASSES, {heavy: 5.0}).weight
    expected = np.array([1.0, *np.where(sample.class_ids == heavy, 5.0, 1.0)], np.float32)
    assert np.array_equal(weight, expected[owner])
    assert (instance_targets(sample, CLASSES).weight == 1).all()


@settings(deadline=None)
@given(owners(), st.sampled_from(FLIPS))
def test_targets_of_a_flipped_sample_are_the_flipped_targets_and_arrows_turn(drawn, flip):
    sample = sample_of(*drawn)
    before, after = (instance_targets(one, CLASSES) for one in (sample, flipped(sample, flip)))
    axes = {
        "left-right": (np.fliplr, [1, -1]),
        "up-down": (np.flipud, [-1, 1]),
        "transpose": (np.transpose, [1, 1]),
    }
    turn, signs = axes[flip]
    assert np.array_equal(after.class_index, turn(before.class_index))
    assert np.array_equal(after.depth, turn(before.depth))
    assert np.array_equal(after.weight, turn(before.weight))
    np.testing.assert_allclose(after.heat, turn(before.heat), atol=1e-6)
    down, across = (turn(plane) for plane in before.offset)
    expected = (across, down) if flip == "transpose" else (down * signs[0], across * signs[1])
    np.testing.assert_allclose(after.offset, expected, atol=1e-6)


@settings(deadline=None)
@given(owners(), st.sampled_from(FLIPS))
def test_turning_over_twice_changes_nothing(drawn, flip):
    sample = sample_of(*drawn)
    again = flipped(flipped(sample, flip), flip)
    for name in ("picture", "planes", "owner", "depth", "known", "centres", "areas", "class_ids", "ignored"):
        assert np.array_equal(getattr(again, name), getattr(sample, name))


def test_a_crop_s_instances_may_have_their_centres_outside():
    owner = np.ones((4, 4), np.int32)
    sample = replace(sample_of(owner, 1), centres=np.array([[-6, 2]], np.float32), ignored=np.zeros(1, bool))
    found = instance_targets(sample, CLASSES)
    assert found.offset[0, 0, 0] * OFFSET_UNIT == -6
    assert found.heat.max() < 0.1
