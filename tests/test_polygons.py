"""Polygons become the pixels that pycocotools gives them, bit for bit, wherever their corners lie."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from segjudge.errors import MaskError
from segjudge.kernels import FARTHEST
from segjudge.polygons import Rings, Runs, polygon_masks, rasterise, united

SIDES = st.integers(1, 24)
COORDINATES = st.one_of(
    st.integers(-6, 30).map(float),
    st.integers(-60, 300).map(lambda tenths: tenths / 10),
    st.floats(-8, 32),
    st.sampled_from([0.0, 0.1, 0.09999999999999999, 0.3, 0.49999999999999994, 0.5, 0.7, -0.1, -0.3, -0.5]),
    st.floats(-500, 500),
)
RINGS = st.one_of(
    st.lists(COORDINATES, min_size=4, max_size=24),
    st.lists(st.sampled_from([0.0, 4.0, 4.5, 9.0]), min_size=4, max_size=16),  # corners repeat, lines overlap
).map(lambda ring: ring[: len(ring) // 2 * 2])


def theirs(ring, height, width):
    """pycocotools' own picture of one ring; its front door takes four numbers for a box."""
    raw = pytest.importorskip("pycocotools._mask", reason="parity needs pycocotools")
    return decoded(raw.frPoly([ring], height, width)[0])


def decoded(rle):
    """COCO's compressed text as a picture, read here: the decoder is not what is under test."""
    height, width = rle["size"]
    counts, at, text = [], 0, rle["counts"]
    while at < len(text):
        value = shift = 0
        more = True
        while more:
            bits = text[at] - 48
            value |= (bits & 31) << shift
            shift, more, at = shift + 5, bits & 32, at + 1
        if bits & 16:
            value -= 1 << shift
        counts.append(value + (counts[-2] if len(counts) > 2 else 0))
    flat = np.repeat(np.arange(len(counts)) % 2 == 1, counts)
    return flat.reshape(width, height).T


@settings(max_examples=1500, deadline=None)
@given(RINGS, SIDES, SIDES)
@example([3.0, 3.0, 3.0, 3.0, 3.0, 3.0], 8, 8)
@example([1.0, 1.0, 6.0, 6.0], 8, 8)
@example([-4.0, -4.0, 30.0, -4.0, 30.0, 30.0, -4.0, 30.0], 8, 5)
@example([0.0, 8.0, 8.0, 8.0, 8.0, 0.0], 8, 8)
def test_a_ring_is_drawn_as_pycocotools_draws_it(ring, height, width):
    masks = polygon_masks([[ring]], [(height, width)])
    np.testing.assert_array_equal(masks.picture(0), theirs(ring, height, width))


@given(st.randoms(use_true_random=False), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_many_rings_are_drawn_at_once_as_one_by_one(random, kind):
    rings, shapes = [], []
    reach = (30, 30, 60, 400, 1000, 3000)[kind]
    for _ in range(20):
        corners = random.randint(2, 12)
        rings.append([random.uniform(-reach / 3, reach) for _ in range(2 * corners)])
        shapes.append((random.randint(1, 60), random.randint(1, 60)))
    masks = polygon_masks([[ring] for ring in rings], shapes)
    for place, (ring, (height, width)) in enumerate(zip(rings, shapes, strict=True)):
        np.testing.assert_array_equal(masks.picture(place), theirs(ring, height, width))


def test_blocks_do_not_show():
    random = np.random.default_rng(4)
    rings = [
        (random.uniform(-50, 2050, (12, 2))).ravel().tolist() for _ in range(60)
    ]  # some 300,000 crossings
    masks = polygon_masks([[ring] for ring in rings], [(2000, 1900)] * len(rings))
    for place in (0, 17, 30, 59):
        np.testing.assert_array_equal(masks.picture(place), theirs(rings[place], 2000, 1900))


@given(st.lists(RINGS, min_size=1, max_size=4), SIDES, SIDES)
def test_rings_of_one_segmentation_are_joined(rings, height, width):
    wanted = np.any([theirs(ring, height, width) for ring in rings], axis=0)
    masks = polygon_masks([rings, rings[:1]], [(height, width), (height, width)])
    np.testing.assert_array_equal(masks.picture(0), wanted)
    np.testing.assert_array_equal(masks.picture(1), theirs(rings[0], height, width))


@given(st.lists(RINGS, min_size=1, max_size=3), SIDES, SIDES)
def test_runs_are_sorted_apart_and_inside_the_image(rings, height, width):
    masks = polygon_masks([rings], [(height, width)])
    assert (masks.stops > masks.starts).all()
    assert (masks.starts[1:] > masks.stops[:-1]).all()
    assert len(masks.starts) == 0 or (masks.starts[0] >= 0 and masks.stops[-1] <= height * width)


def test_corners_may_lie_as_far_away_as_allowed():
    far = float(FARTHEST)
    masks = polygon_masks([[[-far, -far, far, -far, far, far, -far, far]]], [(3, 4)])
    assert masks.areas.tolist() == [12]
    ring = [-far, -far, far, far - 1, far, far]
    np.testing.assert_array_equal(polygon_masks([[ring]], [(20, 20)]).picture(0), theirs(ring, 20, 20))


def test_a_full_picture_is_one_run():
    starts, stops = rasterise([-1, -1, 9, -1, 9, 9, -1, 9], 5, 7)
    assert (starts.tolist(), stops.tolist()) == ([0], [35])


def test_masks_without_rings_are_empty():
    masks = polygon_masks([[], [[0, 0, 3, 0, 3, 3, 0, 3]], []], [(2, 2), (4, 4), (9, 9)])
    assert masks.areas.tolist() == [0, 9, 0]
    assert len(polygon_masks([], [])) == 0


@pytest.mark.parametrize(
    "ring",
    [
        [],
        [1.0, 2.0],
        [1.0, 2.0, 3.0, 4.0, 5.0],
        [0.0, 0.0, np.nan, 1.0],
        [0, 0, np.inf, 1],
        [0, 0, 2e6, 1],
        [0, 0, 1e300, 1],
    ],
)
def test_what_is_no_ring_is_told(ring):
    with pytest.raises(MaskError):
        rasterise(ring, 4, 4)


@pytest.mark.parametrize("shapes", [[], [(-1, 4)], [(4, FARTHEST + 1)], [(4, 4), (4, 4)]])
def test_every_segmentation_has_a_size(shapes):
    with pytest.raises(MaskError):
        polygon_masks([[[0, 0, 1, 0, 1, 1]]], shapes)


def test_an_image_without_pixels_has_empty_masks():
    assert polygon_masks([[[0, 0, 9, 0, 9, 9]]] * 2, [(0, 5), (5, 0)]).areas.tolist() == [0, 0]


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 4)), max_size=12),
)
def test_runs_are_united_by_owner(runs):
    table = np.array(runs, np.int64).reshape(-1, 3)
    masks = united(Runs(table[:, 0], table[:, 1], table[:, 1] + table[:, 2]), np.array([[4, 4]] * 3))
    for owner in range(3):
        wanted = np.zeros(16, bool)
        for _, start, length in (run for run in runs if run[0] == owner):
            wanted[start : start + length] = True
        np.testing.assert_array_equal(masks.picture(owner), wanted.reshape(4, 4).T)


def test_rings_can_be_chosen():
    square = [0, 0, 2, 0, 2, 2, 0, 2]
    rings = Rings.of([square, [5, 5, 6, 5, 6, 6], square])[np.array([2, 1])]
    assert rings.x.tolist() == [0, 10, 10, 0, 25, 30, 30]
    assert rings.spans().tolist() == [4, 2]
