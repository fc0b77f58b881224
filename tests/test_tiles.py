"""Tiles and views: blended as MONAI's sliding window blends, and turned back as they were turned."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segjudge.models.inference import net_input, outputs_of
from segjudge.models.recipes import RECIPES
from segjudge.models.tiles import over_tiles

EMOJI, CELLS = RECIPES["emoji"], RECIPES["dsb-2018"]


def random_planes(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# ------------------------------------------------------------------------------------------- tiles


@settings(deadline=None)
@given(st.integers(1, 70), st.integers(1, 70), st.sampled_from([(16, 16), (32, 16), (32, 8)]))
def test_a_net_that_says_what_it_sees_gives_the_picture_back(height, width, sizes):
    tile, stride = sizes
    picture = random_planes(3, height, width)

    def same(inputs):
        assert inputs.shape[:2] == (1, 3)
        assert all(side % stride == 0 and side <= max(tile, stride) for side in inputs.shape[2:])
        assert inputs.flags.c_contiguous
        return inputs

    np.testing.assert_allclose(over_tiles(picture, same, tile=tile, stride=stride), picture, atol=1e-5)


def test_what_is_lacking_at_the_edge_is_the_mirror_image():
    seen = []
    over_tiles(random_planes(3, 5, 6), lambda inputs: seen.append(inputs) or inputs, tile=32, stride=8)
    (tile,) = seen
    assert tile.shape == (1, 3, 8, 8)
    assert np.array_equal(tile[..., 5:8, :6], tile[..., 4:1:-1, :6])
    assert np.array_equal(tile[..., :, 6:8], tile[..., :, 5:3:-1])


def test_a_picture_of_several_tiles_never_has_more_than_a_tile_in_the_net():
    sizes = []
    over_tiles(random_planes(3, 100, 260), lambda x: sizes.append(x.shape) or x, tile=64, stride=16)
    assert set(sizes) == {(1, 3, 64, 64)}
    assert len(sizes) == 2 * 6


def unlike(inputs, library=np):
    """A net whose answer depends on where in the tile a pixel lies, so that the blending shows."""
    rows = library.linspace(0, 1, inputs.shape[2])[:, None]
    columns = library.linspace(0, 1, inputs.shape[3])[None, :]
    return library.stack([inputs[:, 0] * rows + columns, inputs[:, 1] - 3 * rows * columns], 1)


@pytest.mark.parametrize(("height", "width"), [(32, 56), (56, 80), (104, 32), (80, 80)])
def test_the_blend_is_monai_s(height, width):
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from monai.data.utils import compute_importance_map
        from monai.inferers import sliding_window_inference

    picture = random_planes(3, height, width)
    ours = over_tiles(picture, lambda x: unlike(x).astype(np.float32), tile=32, stride=8)
    theirs = sliding_window_inference(
        torch.from_numpy(picture[None]), (32, 32), 1, lambda x: unlike(x, torch).float(), overlap=0.25,
        mode="gaussian", sigma_scale=0.125,
    )[0].numpy()  # fmt: skip
    # MONAI lifts the products of weights below 1e-3, which lie in a tile's corners; we lift each factor.
    weight = compute_importance_map((32, 32), mode="gaussian", sigma_scale=0.125).numpy()
    heavy = np.ones((height, width), bool)
    for top in range(0, height - 31, 24):
        for left in range(0, width - 31, 24):
            heavy[top : top + 32, left : left + 32] &= weight > 1.0001e-3
    assert heavy.mean() > 0.4
    np.testing.assert_allclose(ours[:, heavy], theirs[:, heavy], atol=1e-5)
    # With our weights handed to it, it agrees everywhere.
    own = np.maximum(np.exp(-(((np.arange(32) - 15.5) / 4) ** 2) / 2), 1e-3).astype(np.float32)
    everywhere = sliding_window_inference(
        torch.from_numpy(picture[None]), (32, 32), 1, lambda x: unlike(x, torch).float(), overlap=0.25,
        roi_weight_map=torch.from_numpy(own[:, None] * own[None]),
    )[0].numpy()  # fmt: skip
    np.testing.assert_allclose(ours, everywhere, atol=1e-5)


# ------------------------------------------------------------------------------------------- views


class Slopes:
    """A net that turns with its picture: shares and depth from values, offsets from their slope."""

    stride = 16

    def __init__(self, *, turning=True):
        self.turning = turning

    def __call__(self, inputs):
        grey = inputs.mean(axis=1)
        down, across = np.gradient(grey, axis=(1, 2))
        arrows = [down, across] if self.turning else [grey, grey]
        return np.stack([inputs[:, 0], inputs[:, 1], grey, *arrows, inputs[:, 2]], axis=1).astype(np.float32)


class Values:
    stride = 16

    def __call__(self, inputs):
        return inputs[:, :2].copy()


PICTURE = np.random.default_rng(4).integers(0, 256, (48, 64, 3), dtype=np.uint8)


def test_views_of_a_net_that_turns_with_its_picture_say_what_one_does():
    whole = [outputs_of([Slopes()], PICTURE, CELLS, views=views) for views in (False, True)]
    assert whole[0].shape == (6, 48, 64)
    np.testing.assert_allclose(*whole, atol=1e-5)
    masks = [outputs_of([Values()], PICTURE, EMOJI, views=views) for views in (False, True)]
    np.testing.assert_allclose(*masks, atol=1e-5)


def test_views_of_a_net_whose_arrows_do_not_turn_cancel_out():
    alone, turned = (
        outputs_of([Slopes(turning=False)], PICTURE, CELLS, views=views) for views in (False, True)
    )
    assert np.abs(alone[3:5]).max() > 0.5
    np.testing.assert_allclose(turned[3:5], 0, atol=1e-5)
    np.testing.assert_allclose(turned[[0, 1, 2, 5]], alone[[0, 1, 2, 5]], atol=1e-5)


def test_every_way_is_looked_at_once():
    seen = []

    class Watching(Values):
        def __call__(self, inputs):
            seen.append(inputs.tobytes())
            return super().__call__(inputs)

    outputs_of([Watching()], PICTURE[:48, :48], EMOJI, views=True)
    assert len(seen) == len(set(seen)) == 8


def test_several_nets_are_averaged_as_shares():
    class Shy(Values):
        def __call__(self, inputs):
            return np.zeros_like(inputs[:, :2])

    one, other, both = (
        outputs_of(runners, PICTURE, EMOJI, views=False)
        for runners in ([Values()], [Shy()], [Values(), Shy()])
    )
    np.testing.assert_allclose(both, (one + other) / 2, atol=1e-6)
    np.testing.assert_allclose(other, 0.5)
    with pytest.raises(ValueError, match="no net"):
        outputs_of([], PICTURE, EMOJI, views=False)


def test_shares_lie_between_nothing_and_all_and_classes_add_to_one():
    loud = PICTURE.copy()
    loud[:, :32] = 255

    class Loud(Slopes):
        def __call__(self, inputs):
            return super().__call__(inputs) * 1000

    said = outputs_of([Loud()], loud, CELLS, views=True)
    assert np.isfinite(said).all()
    np.testing.assert_allclose(said[:2].sum(axis=0), 1, atol=1e-5)
    assert said[[0, 1, 2, 5]].min() >= 0
    assert said[[0, 1, 2, 5]].max() <= 1 + 1e-6


def test_a_large_picture_is_looked_at_at_the_recipe_s_size():
    said = outputs_of([Values()], PICTURE, replace(EMOJI, side=32), views=True)
    assert said.shape == (2, 24, 32)


def test_middle_grey_is_nothing_to_a_net():
    assert net_input(np.array([[[0, 255, 127]]], np.uint8))[:, 0, 0].tolist() == pytest.approx(
        [-2, 2, 0], abs=0.01
    )
