"""How a net sees a picture: at its working size, and stretched to its own darkest and brightest."""

from dataclasses import replace

import numpy as np
import pytest

from segjudge.models.pictures import looked_at, working_shape
from segjudge.models.recipes import RECIPES

CELLS, EMOJI = RECIPES["dsb-2018"], RECIPES["emoji"]


def test_a_picture_is_stretched_from_its_darkest_hundredth_to_its_brightest_five_hundredth():
    grey = np.full(1000, 100, np.uint8)
    grey[:9], grey[-1:] = 0, 255  # fewer than a hundredth, and than a five-hundredth: they may be dust
    grey[9:500], grey[-500:-1] = 80, 120
    seen = looked_at(np.repeat(grey.reshape(20, 50, 1), 3, axis=2), CELLS)
    assert set(np.unique(seen)) == {0, 255}
    assert (seen[..., 0].ravel() == np.where(grey < 100, 0, 255)).all()
    ramp = np.repeat(np.arange(10_000) * 200 // 10_000, 3).reshape(100, 100, 3).astype(np.uint8)
    seen = looked_at(ramp, CELLS)
    assert 0.01 <= (seen == 0).mean() <= 0.02
    assert 0.002 <= (seen == 255).mean() <= 0.01


def test_a_picture_in_thin_contrast_is_not_blown_up_to_noise():
    flat = np.full((20, 50, 3), 100, np.uint8)
    flat[::2] = 101
    assert np.ptp(looked_at(flat, CELLS).astype(int)) <= 255 // 8 + 1


def test_dark_and_bright_pictures_of_one_scene_look_the_same():
    rng = np.random.default_rng(1)
    scene = rng.integers(0, 120, (40, 40, 3), dtype=np.uint8)
    near = np.abs(looked_at(scene, CELLS).astype(int) - looked_at(scene + np.uint8(90), CELLS))
    assert near.max() <= 1


def test_other_recipes_take_values_as_they_are():
    picture = np.random.default_rng(2).integers(90, 110, (30, 40, 3), dtype=np.uint8)
    assert np.array_equal(looked_at(picture, EMOJI), picture)


@pytest.mark.parametrize(
    ("shape", "side", "expected"),
    [
        ((300, 200), 150, (150, 100)),
        ((100, 150), 150, (100, 150)),
        ((10, 2000), 100, (1, 100)),
        ((9, 9), 0, (9, 9)),
    ],
)
def test_the_longer_side_is_brought_down_to_the_recipe_s_and_never_up(shape, side, expected):
    assert working_shape(shape, side) == expected
    assert looked_at(np.zeros((*shape, 3), np.uint8), replace(EMOJI, side=side)).shape == (*expected, 3)
