"""What decides a run's weights from step to step: the rate, the running mean, and which epoch is kept."""

import csv
import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file
from torch import nn

import segjudge as sj
from segjudge.data import make
from segjudge.models.recipes import RECIPES
from segjudge.models.runs import Plan, Run
from segjudge.models.schedule import average, dealt, epoch_ends, rate_at
from segjudge.models.training import train
from segjudge.models.training.trainer import _asked_steps
from segjudge.models.validation import Validation

# ------------------------------------------------------------------------------------------------ rate


def test_the_rate_rises_in_a_line_over_24_steps():
    rates = [rate_at(1.0, step, None) for step in range(40)]
    assert rates[:24] == pytest.approx([(step + 1) / 24 for step in range(24)])
    assert rates[24:] == [1.0] * 16


def test_the_rate_falls_to_a_fiftieth_and_lies_half_way_in_the_middle():
    rates = [rate_at(1.0, step, 1000) for step in range(24, 1001)]
    assert all(one > other for one, other in itertools.pairwise(rates))
    assert rates[500 - 24] == pytest.approx((1 + 0.02) / 2)
    assert rates[-1] == pytest.approx(0.02)


# -------------------------------------------------------------------------------------- steps and epochs


@given(st.integers(0, 99), st.integers(1, 200), st.data())
def test_epochs_are_as_many_as_asked_and_evenly_spread_over_what_is_left(begin, left, data):
    epochs = data.draw(st.integers(1, left))
    ends = sorted(epoch_ends(begin, begin + left, epochs))
    assert len(ends) == epochs
    assert ends[-1] == begin + left
    lengths = [end - before for before, end in itertools.pairwise([begin, *ends])]
    assert max(lengths) - min(lengths) <= 2


@given(*(st.floats(least, 1000) for least in (6, 0.01, 0.01, 0.01)))
def test_steps_and_looks_fit_in_the_time_and_steps_have_half_of_it(seconds, pace, look, closing):
    steps, epochs = dealt(seconds, pace, look, closing)
    assert seconds / 2 - pace <= steps * pace <= 0.85 * seconds + pace
    assert epochs >= 0
    if epochs:
        assert (steps - 1) * pace + epochs * look + closing <= seconds * (1 + 1e-9)
    if look + closing <= 0.15 * seconds:
        assert epochs >= 1


# ------------------------------------------------------------------------------------------------ mean


def nets():
    pair = [nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)) for _ in range(2)]
    with torch.no_grad():
        for net, value in zip(pair, (0.0, 1.0), strict=True):
            for values in net.state_dict().values():
                values.copy_(torch.full_like(values, value))
    pair[1][1].num_batches_tracked.fill_(7)
    return pair


@pytest.mark.parametrize(("step", "share"), [(0, 9 / 10), (1, 9 / 11), (90, 9 / 100), (100_000, 0.002)])
def test_the_mean_moves_by_a_share_that_falls(step, share):
    mean, net = nets()
    average(mean, net, step)
    for name, values in mean.state_dict().items():
        if name.endswith("num_batches_tracked"):
            assert values.item() == 7
        else:
            assert values.flatten().tolist() == pytest.approx([share] * values.numel())
    assert all((values == 1).all() for values in net.parameters())


# ---------------------------------------------------------------------------------------- which is kept


@pytest.fixture(scope="module")
def emoji(tmp_path_factory):
    folder = tmp_path_factory.mktemp("emoji") / "set"
    make("emoji", folder, images=6, seed=2, size=(64, 64))
    return folder


@pytest.mark.parametrize("task_id", RECIPES)
def test_a_run_from_scratch_takes_longer_unless_one_says_how_long(task_id):
    recipe = RECIPES[task_id]
    assert _asked_steps(Plan(task_id), recipe, learnt=True) == recipe.steps
    assert _asked_steps(Plan(task_id), recipe, learnt=False) == recipe.cold_steps >= 2 * recipe.steps
    assert _asked_steps(Plan(task_id, steps=7), recipe, learnt=False) == 7
    assert _asked_steps(Plan(task_id, minutes=1), recipe, learnt=False) is None


@pytest.mark.parametrize(
    ("options", "begin", "kind"),
    [
        ({}, "shipped weights", "steps"),
        ({"init": "scratch"}, "random weights", "cold_steps"),
        (
            {"net": "basic-unet"},
            "random weights, for those shipped are of another net; hence 4000 steps, as many as from scratch",
            "cold_steps",
        ),
        ({"net": "basic-unet", "steps": 9}, "random weights, for those shipped are of another net", None),
    ],
)
def test_weights_that_learnt_nothing_take_as_many_steps_as_scratch(options, begin, kind, emoji, tmp_path):
    seen = []

    def stop(progress):
        seen.append(progress)
        if progress.step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(
            sj.load_task("emoji"),
            emoji,
            tmp_path / "run",
            Plan("emoji", batch=1, threads=1, folds=2, **options),
            report=stop,
        )
    assert seen[0].note == begin
    assert seen[-1].steps == (getattr(RECIPES["emoji"], kind) if kind else options["steps"])


def learn(data, folder, scores, monkeypatch):
    """A run whose epochs score what one says, the weights after each of them, and its record."""
    given, after = iter(scores), []

    def epoch(self, _number):
        after.append({name: values.clone() for name, values in self.runner.net.state_dict().items()})
        return next(given)

    monkeypatch.setattr(Validation, "epoch", epoch)
    plan = Plan("emoji", init="scratch", steps=len(scores), epochs=len(scores), batch=1, threads=1, folds=2)
    return train(sj.load_task("emoji"), data, folder, plan), after


def equal(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([0.1, 0.3, 0.2], 2),
        ([0.3, 0.3, 0.2], 2),  # of two that score the same the one that has learnt longer
        ([0.3, 0.1, 0.2], 1),
        ([None, 0.0, None], 2),
        ([None, None, None], None),
    ],
)
def test_the_weights_of_the_best_epoch_are_kept(scores, best, emoji, tmp_path, monkeypatch):
    record, after = learn(emoji, tmp_path / "run", scores, monkeypatch)
    assert record["best_epoch"] == best
    kept = load_file(Run(tmp_path / "run").weights)
    assert [equal(kept, weights) for weights in after] == [
        number == (best or len(scores)) for number in range(1, len(scores) + 1)
    ]


def test_what_is_kept_is_the_mean_and_the_rate_is_that_of_the_step(emoji, tmp_path, monkeypatch):
    learn(emoji, tmp_path / "run", [0.1, 0.2], monkeypatch)
    run = Run(tmp_path / "run")
    state = torch.load(run.state, weights_only=True)
    assert equal(load_file(run.weights), state["mean"])
    assert not equal(state["mean"], state["net"])
    peak = RECIPES["emoji"].rate
    assert [group["lr"] for group in state["optimizer"]["param_groups"]] == [rate_at(peak, 1, 2)]
    with run.metrics.open(encoding="utf-8", newline="") as file:
        rates = [float(row["rate"]) for row in csv.DictReader(file)]
    assert rates == pytest.approx([rate_at(peak, step, 2) for step in (1, 2)], abs=1e-8)
