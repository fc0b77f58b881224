"""Training crops: made from the seed and their number alone, picture and truth moved together."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from segjudge.datasets import Labels
from segjudge.models.recipes import RECIPES
from segjudge.models.samples import Samples, _recoloured
from segjudge.models.targets import centres

EMOJI, PAGES, CELLS, STREETS = (RECIPES[name] for name in ("emoji", "badlad", "dsb-2018", "wad-2018"))
ARRAYS = ("picture", "planes", "owner", "depth", "centres", "areas", "class_ids", "ignored", "known")


@dataclass
class Scenes:
    """Pictures whose colour says which instance a pixel belongs to, or which planes are set."""

    shapes: tuple[tuple[int, int], ...]
    planes: int = 0
    read: list[int] = field(default_factory=list)

    def picture(self, place):
        self.read.append(place)
        truth = self.truth(place)
        bits = truth @ (1 << np.arange(self.planes)) if self.planes else truth.owner
        return np.repeat((bits * 20 + 10).astype(np.uint8)[..., None], 3, axis=2)

    def truth(self, place):
        height, width = self.shapes[place]
        rows, columns = np.mgrid[:height, :width]
        if self.planes:
            return np.stack(
                [(rows // 8 + columns // 12 + k) % (k + 2) == 0 for k in range(self.planes)], axis=2
            )
        owner = np.zeros((height, width), np.int32)
        owner[4 : height // 2, 4 : width // 2] = 1
        owner[height // 2 + 6 : height - 4, 6 : width - 2] = 2
        owner[4 : height // 2, width // 2 : width - 6] = 3
        return Labels(owner, np.array([33, 36, 38]), np.array([False, False, place == 0]))


def same(one, other):
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ARRAYS)


STILL = replace(CELLS, reading="fixed", zoom=1.0, flips=())
SHAPES = ((60, 90), (48, 48), (100, 40), (64, 64), (50, 70))


# ------------------------------------------------------------------------------------ seed and number


@pytest.mark.parametrize("recipe", [EMOJI, CELLS, STREETS])
def test_a_crop_is_made_from_seed_step_and_slot_alone(recipe):
    planes = 1 if recipe.kind == "semantic" else 0
    one, other = (Samples(Scenes(SHAPES, planes), range(5), recipe, seed=3) for _ in range(2))
    for step in range(6):
        for slot in range(recipe.batch):
            one.crop(step, slot)
    for step, slot in ((4, 1), (700, 2), (0, 0)):
        assert same(one.crop(step, slot), other.crop(step, slot))
    third = Samples(Scenes(SHAPES, planes), range(5), recipe, seed=4)
    assert not same(third.crop(4, 1), one.crop(4, 1))
    assert not same(one.crop(4, 1), one.crop(4, 2))


def test_crops_of_one_image_in_a_step_differ():
    samples = Samples(Scenes(((64, 64),)), [0], replace(CELLS, crop=32, batch=4), seed=3)
    crops = [samples.crop(7, slot) for slot in range(4)]
    assert not any(same(crops[k], crops[0]) for k in range(1, 4))


def test_what_is_kept_ready_changes_no_crop(monkeypatch):
    plenty = Samples(Scenes(SHAPES), range(5), CELLS, seed=1)
    expected = [plenty.crop(step, 0) for step in range(12)]
    monkeypatch.setattr("segjudge.models.samples._CACHE", 1)
    scenes = Scenes(SHAPES)
    scarce = Samples(scenes, range(5), CELLS, seed=1)
    assert all(same(scarce.crop(step, 0), crop) for step, crop in enumerate(expected))
    assert len(scenes.read) > 5
    assert len(scarce._kept) == 1


@pytest.mark.parametrize("batch", [1, 2, 3, 7])
def test_every_image_comes_once_a_turn_in_another_order(batch, monkeypatch):
    scenes = Scenes(SHAPES)
    samples = Samples(scenes, [4, 0, 2, 1], replace(STILL, batch=batch), seed=2)
    whole, seen = samples.whole, []
    monkeypatch.setattr(samples, "whole", lambda place: seen.append(place) or whole(place))
    for number in range(24):
        samples.crop(*divmod(number, batch))
    turns = [tuple(seen[k : k + 4]) for k in range(0, 24, 4)]
    assert all(sorted(turn) == [0, 1, 2, 4] for turn in turns)
    assert len(set(turns)) > 1
    assert len(samples) == 4
    seen.clear()
    others = Samples(scenes, [4, 0, 2, 1], replace(STILL, batch=batch), seed=3)
    monkeypatch.setattr(others, "whole", lambda place: seen.append(place) or whole(place))
    for number in range(24):
        others.crop(*divmod(number, batch))
    assert [tuple(seen[k : k + 4]) for k in range(0, 24, 4)] != turns


# ------------------------------------------------------------------------------------ picture and truth


@pytest.mark.parametrize("recipe", [STILL, replace(STILL, flips=CELLS.flips), replace(STREETS, zoom=1.0)])
def test_picture_and_instances_move_together(recipe):
    samples = Samples(Scenes(SHAPES), range(5), replace(recipe, crop=32), seed=5)
    for step in range(30):
        crop = samples.crop(step, 0)
        assert crop.picture.shape == (32, 32, 3)
        for number in np.unique(crop.owner):  # one colour each, whatever the light
            assert len(np.unique(crop.picture[crop.owner == number], axis=0)) == 1
        for number, (row, column) in enumerate(np.rint(crop.centres).astype(int)):
            if 0 <= row < 32 and 0 <= column < 32 and crop.known[row, column]:
                assert crop.owner[row, column] == number + 1


@pytest.mark.parametrize(("flips", "ways"), [((), 1), (STREETS.flips, 2), (CELLS.flips, 8)])
def test_crops_show_a_picture_turned_over_in_every_way_that_the_recipe_names(flips, ways):
    samples = Samples(Scenes(((64, 64),)), [0], replace(STILL, crop=64, flips=flips), seed=0)
    seen = {samples.crop(step, 0).owner.tobytes() for step in range(60)}
    assert len(seen) == ways


def test_some_pictures_are_shown_in_other_light_as_negatives_or_with_colours_in_another_order():
    picture = np.array([[[0, 0, 0], [200, 200, 200]], [[0, 100, 200], [0, 0, 0]]], np.uint8)
    for inverted, least, most in ((True, 0.02, 0.12), (False, 0, 0)):
        shown = [_recoloured(picture, np.random.default_rng(k), inverted=inverted) for k in range(400)]
        negatives = np.mean([(one[0, 0] > one[0, 1]).all() for one in shown])
        assert least <= negatives <= most
    assert len({one.tobytes() for one in shown}) > 100
    assert 0.06 <= np.mean([(np.diff(one[1, 0].astype(int)) < 0).any() for one in shown]) <= 0.2


def test_picture_and_planes_move_together():
    samples = Samples(Scenes(SHAPES, planes=4), range(5), replace(PAGES, crop=32, zoom=1.0), seed=5)
    for step in range(20):
        crop = samples.crop(step, 0)
        for bits in np.unique(crop.planes):
            assert len(np.unique(crop.picture[crop.planes == bits], axis=0)) == 1


def test_a_crop_without_zoom_and_flips_is_a_window():
    samples = Samples(Scenes(((64, 64),)), [0], replace(STILL, crop=24), seed=0)
    whole = samples.whole(0)
    for step in range(10):
        crop = samples.crop(step, 0)
        top, left = (whole.centres - crop.centres)[0].astype(int)
        assert 0 <= top <= 40
        assert 0 <= left <= 40
        window = np.s_[top : top + 24, left : left + 24]
        assert np.array_equal(crop.owner, whole.owner[window])
        assert np.array_equal(crop.depth, whole.depth[window])
        assert np.array_equal(crop.areas, whole.areas)
        assert crop.known.all()


def test_beyond_the_edge_is_the_mirror_image_and_not_learnt_from():
    samples = Samples(Scenes(((20, 26),)), [0], replace(STILL, crop=48), seed=1)
    whole = samples.whole(0)
    for step in range(8):
        crop = samples.crop(step, 0)
        rows, columns = (np.flatnonzero(crop.known.any(axis=axis)) for axis in (1, 0))
        assert (len(rows), len(columns)) == (20, 26)
        inside = np.s_[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        assert np.array_equal(crop.owner[inside], whole.owner)
        assert crop.known[inside].all()
        folded = np.pad(
            whole.owner, ((rows[0], 27 - rows[0] + 1), (columns[0], 47 - columns[-1])), mode="symmetric"
        )
        assert np.array_equal(crop.owner, folded)


def test_zoom_enlarges_what_is_seen_with_its_areas_and_centres():
    samples = Samples(Scenes(((200, 240),)), [0], replace(STILL, crop=64, zoom=1.6), seed=3)
    whole = samples.whole(0)
    factors = []
    for step in range(40):
        crop = samples.crop(step, 0)
        assert crop.picture.shape == (64, 64, 3)
        (factor,) = np.unique(np.round(np.sqrt(crop.areas / whole.areas), 4))
        factors.append(factor)
        apart = np.linalg.norm(np.diff(crop.centres, axis=0), axis=1)
        np.testing.assert_allclose(
            apart, factor * np.linalg.norm(np.diff(whole.centres, axis=0), axis=1), rtol=1e-3
        )
        for number, (row, column) in enumerate(np.rint(crop.centres).astype(int)):
            if 1 <= row < 63 and 1 <= column < 63:
                assert crop.owner[row, column] == number + 1
    assert 1 / 1.6 <= min(factors) < 0.8
    assert 1.25 < max(factors) <= 1.6 + 0.05


# ---------------------------------------------------------------------------------------- whole images


def test_a_large_image_is_kept_at_its_working_size_with_centres_of_that_size():
    samples = Samples(Scenes(((200, 100),)), [0], replace(STILL, side=50), seed=0)
    whole = samples.whole(0)
    assert whole.owner.shape == whole.picture.shape[:2] == (50, 25)
    assert np.array_equal(whole.centres, centres(whole.owner, 3))
    assert whole.areas.tolist() == np.bincount(whole.owner.ravel())[1:].tolist()


def test_an_instance_too_small_for_the_working_size_is_left_out():
    class Speck(Scenes):
        def truth(self, place):
            labels = super().truth(place)
            owner = labels.owner.copy()
            owner[owner == 2] = 0
            owner[0, 0] = 2
            return replace(labels, owner=owner)

    whole = Samples(Speck(((200, 100),)), [0], replace(STILL, side=50), seed=0).whole(0)
    assert whole.class_ids.tolist() == [33, 38]
    assert np.unique(whole.owner).tolist() == [0, 1, 2]
    assert not np.isnan(whole.centres).any()


def test_crops_are_centred_on_rare_classes_and_never_on_ignored_ones():
    scenes = Scenes(((400, 400), (400, 400)))
    recipe = replace(STREETS, crop=64, zoom=1.0, flips=(), side=0, rare=((38, 1.0),))
    samples = Samples(scenes, [1], recipe, seed=0)
    shown = [(samples.crop(step, 0).owner == 3).any() for step in range(60)]
    assert np.mean(shown) > 0.8
    ignored = Samples(scenes, [0], recipe, seed=0)
    assert np.mean([(ignored.crop(step, 0).owner == 3).any() for step in range(60)]) < 0.6


def test_of_two_classes_that_are_wished_for_the_same_the_rarer_is_shown_as_often():
    class Crowd(Scenes):
        def truth(self, place):
            owner = np.zeros(self.shapes[place], np.int32)
            for number in range(9):
                owner[10 + 20 * number : 20 + 20 * number, 10:20] = number + 1
            owner[300:310, 300:310] = 10
            return Labels(owner, np.array([33] * 9 + [36]), np.zeros(10, bool))

    recipe = replace(STREETS, crop=32, zoom=1.0, flips=(), side=0, rare=((33, 1.0), (36, 1.0)))
    samples = Samples(Crowd(((400, 400),)), [0], recipe, seed=0)
    shown = np.mean([(samples.crop(step, 0).owner == 10).any() for step in range(100)])
    assert 0.3 < shown < 0.6


def test_keeping_a_sample_costs_only_the_planes_that_hold_something():
    masks = Samples(Scenes(((40, 50),), planes=2), [0], EMOJI, seed=0).whole(0)
    assert masks.nbytes == 40 * 50 * (3 + 1)
