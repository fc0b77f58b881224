"""From maps to masks: thresholds, crumbs and groupings, and that the best of them are taken by the metric."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import segjudge as sj
from segjudge.models.grouping import Grouping
from segjudge.models.recipes import RECIPES
from segjudge.models.rules import Prediction, Rules, first_rules, predicted
from segjudge.models.tuning import tuned

EMOJI, PAGES, CELLS, STREETS = (sj.load_task(name) for name in ("emoji", "badlad", "dsb-2018", "wad-2018"))


def recipe(task):
    return RECIPES[task.id]


def dense(prediction):
    return prediction.masks.dense()


# ----------------------------------------------------------------------------------------------- masks


def test_what_lies_above_the_threshold_is_the_mask_and_what_lies_on_it_is_not():
    share = np.array([[[0.2, 0.5, 0.75], [0.25, 0.51, 0.9]]], np.float32)
    found = predicted(EMOJI, share, (2, 3), Rules((0.5,), (0,)), recipe(EMOJI))
    assert dense(found)[0].tolist() == [[False, False, True], [False, True, True]]
    found = predicted(EMOJI, share, (2, 3), Rules((0.25,), (0,)), recipe(EMOJI))
    assert dense(found)[0].tolist() == [[False, True, True], [False, True, True]]


def test_each_class_has_its_own_threshold_and_least_size():
    share = np.zeros((4, 8, 8), np.float32)
    share[:, 1:3, 1:3], share[:, 4:8, 4:7] = 0.6, 0.6
    rules = Rules((0.5, 0.5, 0.7, 0.5), (0, 4, 0, 5))
    found = predicted(PAGES, share, (8, 8), rules, recipe(PAGES))
    assert found.class_ids == tuple(PAGES.classes)
    assert dense(found).sum(axis=(1, 2)).tolist() == [16, 16, 0, 12]


def test_parts_are_measured_at_the_working_size_and_masks_enlarged_smoothly():
    share = np.zeros((1, 8, 8), np.float32)
    share[0, 1, 1], share[0, 4:7, 4:7] = 1, 1
    found = dense(predicted(EMOJI, share, (16, 32), Rules((0.5,), (2,)), recipe(EMOJI)))[0]
    assert found.shape == (16, 32)
    rows, columns = np.nonzero(found)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (8, 13, 16, 27)
    assert not found[8, 16]  # a corner becomes round


def street_maps():
    """Three instances: a car, a bus, and a car so unsure that it is left out."""
    maps = np.zeros((7 + 1 + 4, 12, 20), np.float32)
    maps[0] = 1
    ids = sorted(STREETS.classes)
    for class_id, share, heat, window in (
        (39, 0.9, 0.5, np.s_[1:6, 1:7]),
        (33, 0.75, 0.8, np.s_[1:6, 9:15]),
        (33, 0.6, 0.05, np.s_[7:12, 9:15]),
    ):
        maps[1 + ids.index(class_id)][window] = share
        maps[0][window] = 1 - share
        maps[-4][window] = heat
    return maps


@pytest.mark.parametrize("scale", [1, 3])
def test_an_instance_has_its_class_its_confidence_and_its_place_in_the_image(scale):
    maps = street_maps()
    shape = (12 * scale, 20 * scale)
    found = predicted(STREETS, maps, shape, first_rules(STREETS, recipe(STREETS)), recipe(STREETS))
    assert found.class_ids == (33, 39)
    assert found.confidences == pytest.approx((0.75 * 0.8, 0.9 * 0.5), abs=1e-4)
    for mask, columns in zip(dense(found), ((9, 15), (1, 7)), strict=True):
        expected = np.zeros(shape, bool)
        expected[scale : 6 * scale, columns[0] * scale : columns[1] * scale] = True
        assert np.array_equal(mask, expected)


def test_what_was_kept_on_disk_comes_back(tmp_path):
    one = predicted(STREETS, street_maps(), (12, 20), first_rules(STREETS, recipe(STREETS)), recipe(STREETS))
    one.save(tmp_path / "one.npz")
    again = Prediction.load(tmp_path / "one.npz", STREETS.order)
    assert np.array_equal(dense(again), dense(one))
    assert (again.class_ids, again.confidences) == (one.class_ids, one.confidences)
    assert [path.name for path in tmp_path.iterdir()] == ["one.npz"]


@pytest.mark.parametrize("task", [EMOJI, PAGES, CELLS, STREETS])
def test_rules_come_back_from_json(task):
    rules = first_rules(task, recipe(task))
    assert Rules.from_json(rules.to_json()) == rules


# ---------------------------------------------------------------------------------------------- tuning


@dataclass
class Verdict:
    score: float | None
    by_class: dict = field(default_factory=dict)


@dataclass
class Judge:
    """Scores rules by a function of them, and remembers what it was asked."""

    worth: object
    asked: list = field(default_factory=list)

    def judge(self, said, rules):
        assert said == ["what the net says"]
        self.asked.append(rules)
        return self.worth(rules)


def tune(task, worth):
    judge = Judge(worth)
    return tuned(task, recipe(task), judge, ["what the net says"]), judge.asked


def test_the_threshold_and_least_size_that_score_best_are_taken():
    def worth(rules):
        return Verdict(1 - abs(rules.thresholds[0] - 0.4) - abs(rules.smallest[0] - 24) / 1000)

    rules, asked = tune(EMOJI, worth)
    assert rules == Rules((0.4,), (24,))
    assert max(asked, key=lambda one: worth(one).score) == rules
    assert {one.thresholds[0] for one in asked} >= {0.3, 0.5, 0.65}


def test_each_class_of_pages_takes_what_is_best_for_it():
    best, least = (0.3, 0.45, 0.6, 0.65), (0, 8, 64, 160)

    def worth(rules):
        loss = [
            abs(threshold - wish) + abs(size - few) / 1000
            for threshold, wish, size, few in zip(rules.thresholds, best, rules.smallest, least, strict=True)
        ]
        return Verdict(None, dict(zip(PAGES.classes, (1 - value for value in loss), strict=True)))

    assert tune(PAGES, worth)[0] == Rules(best, least)


def test_where_nothing_scores_or_all_score_the_same_the_first_of_each_choice_is_taken():
    assert tune(EMOJI, lambda _: Verdict(None))[0] == Rules((0.3,), (0,))
    rules = tune(STREETS, lambda _: Verdict(None, {}))[0]
    assert rules == first_rules(STREETS, recipe(STREETS))
    same = tune(STREETS, lambda _: Verdict(0.5, dict.fromkeys(STREETS.classes, 0.5)))[0]
    assert same == first_rules(STREETS, recipe(STREETS))


def test_nuclei_take_the_method_then_what_belongs_then_what_is_too_small_then_what_is_unsure():
    wish = Grouping("centres", share=0.4, peak=0.35, smallest=8, floor=0.3)

    def worth(rules):
        (rule,) = rules.groupings
        same = [getattr(rule, name) == getattr(wish, name) for name in ("method", "peak", "share")]
        return Verdict(sum(same) + (rule.smallest == wish.smallest) / 2 + (rule.floor == wish.floor) / 4)

    rules, asked = tune(CELLS, worth)
    assert rules == Rules(groupings=(wish,))
    assert worth(rules).score == max(worth(one).score for one in asked)


def test_each_class_of_streets_takes_the_grouping_that_is_best_for_it():
    ids = sorted(STREETS.classes)
    wishes = dict.fromkeys(ids, Grouping("components", smallest=16))
    wishes[36] = Grouping("centres", peak=0.2, share=0.35, smallest=8)
    wishes[39] = Grouping("watershed", peak=0.3, share=0.8, smallest=40)

    def worth(rules):
        values = {}
        for class_id, rule in zip(ids, rules.groupings, strict=True):
            wish = wishes[class_id]
            same = [getattr(rule, name) == getattr(wish, name) for name in ("method", "peak", "share")]
            values[class_id] = sum(same) + (rule.smallest == wish.smallest) / 2
        values[40] = None  # a class that no validation image shows keeps the first rule
        return Verdict(None, values)

    rules, _ = tune(STREETS, worth)
    assert rules.groupings == tuple(replace(wishes[class_id]) for class_id in ids)
