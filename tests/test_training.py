"""Training and predicting, tiny: what is learnt, what survives being stopped, and what `score` says of it.

Runs have some steps on some small pictures, on one thread, from random weights. They learn next to nothing; but
what is promised of a long run holds for a short one, to the last bit.
"""

import csv
import dataclasses
import json
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import segjudge as sj
from segjudge.data import TASKS, make, scenes
from segjudge.datasets import open_dataset
from segjudge.errors import SegjudgeError, UsageError
from segjudge.models.predicting import predict
from segjudge.models.runs import Plan, Run
from segjudge.models.samples import Samples
from segjudge.models.training import train
from tests.running import segjudge

STEPS, EPOCHS = 12, 3
PLAN = Plan(task="emoji", init="scratch", steps=STEPS, epochs=EPOCHS, batch=4, threads=1)
OPTIONS = ("--init", "scratch", "--steps", STEPS, "--epochs", EPOCHS, "--batch", 4, "--threads", 1)
SIZES = {"wad-2018": (96, 128), "badlad": (128, 96), "dsb-2018": (96, 96), "emoji": (64, 64)}
IMAGES = {"wad-2018": 12, "badlad": 8, "dsb-2018": 8, "emoji": 12}


class Broken(BaseException):
    """As a process ends that is killed: nothing catches it, nothing is tidied up."""


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    """A folder of data for each task, made when it is asked for."""
    root, made = tmp_path_factory.mktemp("sets"), {}

    def folder(task_id):
        if task_id not in made:
            made[task_id] = root / task_id
            make(task_id, made[task_id], images=IMAGES[task_id], seed=11, size=SIZES[task_id])
        return made[task_id]

    return folder


@pytest.fixture(scope="module")
def emoji(sets):
    return sets("emoji")


@pytest.fixture(scope="module")
def run(emoji, tmp_path_factory):
    """A run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("run") / "whole"
    learn(emoji, folder)
    return Run(folder)


def learn(data, folder, plan=PLAN, **how):
    return train(sj.load_task(plan.task), data, folder, plan, **how)


def ask(run, data, target, **how):
    return predict(sj.load_task("emoji"), [run.folder], data, target, **how)


def weights(folder):
    return Run(folder).weights.read_bytes()


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def breaking(when):
    def report(progress):
        if when(progress):
            raise Broken

    return report


# ------------------------------------------------------------------------------------------- learning


def test_the_loss_falls(run):
    rows = rows_of(run.metrics)
    assert [row["epoch"] for row in rows] == ["1", "2", "3"]
    assert [row["step"] for row in rows] == ["4", "8", "12"]
    losses = [float(row["loss"]) for row in rows]
    assert losses[0] > losses[-1] > 0


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(run, emoji, tmp_path):
    again = learn(emoji, tmp_path / "again")
    assert weights(tmp_path / "again") == run.weights.read_bytes()
    assert again["rules"] == run.read()["rules"]
    learn(emoji, tmp_path / "other", dataclasses.replace(PLAN, seed=1, steps=1, epochs=1))
    learn(emoji, tmp_path / "one", dataclasses.replace(PLAN, steps=1, epochs=1))
    assert weights(tmp_path / "other") != weights(tmp_path / "one")


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_processes_that_make_crops_change_no_weight(run, emoji, tmp_path):
    learn(emoji, tmp_path / "workers", dataclasses.replace(PLAN, workers=2))
    assert weights(tmp_path / "workers") == run.weights.read_bytes()


def test_the_folder_says_what_was_asked_and_what_came_out(run, emoji):
    record = run.read()
    assert record["plan"] == dataclasses.asdict(PLAN)
    assert run.plan() == PLAN
    assert record["fingerprint"] == open_dataset(sj.load_task("emoji"), emoji, need_truth=True).fingerprint()
    assert {"python", "numpy", "torch", "segjudge"} <= set(record["versions"])
    assert record["images"] == {"learning": 9, "validation": 3}
    assert record["steps"] == STEPS
    usages = [row["Usage"] for row in rows_of(run.manifest)]
    assert sorted(usages) == ["Ignored"] * 9 + ["Public"] * 3
    assert sorted(path.name for path in run.pictures.iterdir()) == [f"epoch-0{k}.png" for k in (1, 2, 3)]
    with Image.open(run.pictures / "epoch-01.png") as sheet:
        assert sheet.size == (3 * (64 + 6) + 6, 3 * (64 + 6) + 6)
    assert not [path.name for path in run.folder.iterdir() if path.name.endswith(".part")]


def test_a_few_images_are_learnt_by_heart(emoji, tmp_path):
    plan = dataclasses.replace(PLAN, overfit=2, steps=16, epochs=2, rate=1e-2)
    record = learn(emoji, tmp_path / "run", plan)
    assert record["images"] == {"learning": 2, "validation": 2}
    assert record["recipe"]["flips"] == []
    first, last = rows_of(Run(tmp_path / "run").metrics)
    assert float(last["loss"]) < 0.9 * float(first["loss"])


def test_a_loss_that_is_no_number_ends_with_status_3(emoji, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "segjudge.models.losses.Objective.loss", lambda _self, outputs, _batch: outputs.sum() * np.nan
    )
    outcome = segjudge("train", "emoji", emoji, "-o", tmp_path / "run", *OPTIONS, "--json")
    assert outcome.status == 3
    assert outcome.json["error"]["kind"] == "training"
    assert "step 0" in outcome.json["error"]["message"]


# -------------------------------------------------------------------------------------- how long, how often


@pytest.fixture
def clock(monkeypatch):
    """Time by which each step takes two seconds, and looking at all validation images what one says."""

    def runs(look, closing):
        monkeypatch.setattr(
            "segjudge.models.training.trainer.Trainer._seconds",
            lambda self: 2.0 * (self.state.step - self.first_step),
        )
        monkeypatch.setattr("segjudge.models.validation.Validation.seconds", lambda _: (look, closing))

    return runs


@pytest.mark.parametrize(
    ("minutes", "look", "closing", "ends", "words"),
    [
        # A tenth of 36 s is over after 2 steps. 85 % of them are 15 steps; the rest is enough for 3 looks.
        (0.6, 1.5, 0, [6, 11, 15], "--minutes 0.6 is short: the metric is taken 3 times."),
        # What looks at the images takes so long that half of the minutes goes into steps.
        (0.6, 30, 99, [9], "--minutes 0.6 is short: the metric is taken once."),
        (0.8, 5, 4, [20], "--minutes 0.8 is short: the metric is taken once."),
        # One step is longer than asked: there is one more, and the metric.
        (0.01, 1, 1, [2], "--minutes 0.01 is short: the metric is taken once."),
        # With time enough 24 steps give the pace; all epochs lie behind them, evenly.
        (1.0, 0.1, 0.1, [24 + 1, 24 + 2], ""),
    ],
)
def test_minutes_become_steps_and_evenly_placed_epochs_that_fit_in_them(
    minutes, look, closing, ends, words, emoji, tmp_path, monkeypatch, clock
):
    clock(look, closing)
    if not words:
        monkeypatch.setattr("segjudge.models.training.trainer._TRIAL", 1.0)
    plan = dataclasses.replace(PLAN, steps=None, minutes=minutes, batch=1, epochs=len(ends) + bool(words))
    seen = []
    record = learn(emoji, tmp_path / "run", plan, report=seen.append)
    assert [int(row["step"]) for row in rows_of(Run(tmp_path / "run").metrics)] == ends
    assert record["steps"] == ends[-1]
    assert record["best_epoch"] is not None
    assert [progress.note for progress in seen if progress.note][1:] == ([words] if words else [])


def test_a_run_by_minutes_that_was_stopped_keeps_its_epochs_where_they_were(emoji, tmp_path, clock):
    clock(1.5, 0)
    plan = dataclasses.replace(PLAN, steps=None, minutes=0.6, batch=1, epochs=4)
    learn(emoji, tmp_path / "whole", plan)
    with pytest.raises(Broken):
        learn(emoji, tmp_path / "run", plan, report=breaking(lambda progress: progress.step == 8))
    learn(emoji, tmp_path / "run", plan, resume=True)
    assert weights(tmp_path / "run") == weights(tmp_path / "whole")
    ends = [[row["step"] for row in rows_of(tmp_path / name / "metrics.csv")] for name in ("run", "whole")]
    assert ends[0] == ends[1] == ["6", "11", "15"]


def test_more_epochs_than_steps_are_one_after_each_step_and_said(emoji, tmp_path):
    words = (
        "train",
        "emoji",
        emoji,
        "-o",
        tmp_path / "run",
        "--init",
        "scratch",
        "--batch",
        1,
        "--threads",
        1,
    )
    outcome = segjudge(*words, "--steps", 2)
    assert outcome.status == 0
    assert "There are fewer steps than --epochs 8: the metric is taken after each, 2 times." in outcome.err
    assert [row["step"] for row in rows_of(Run(tmp_path / "run").metrics)] == ["1", "2"]


# ------------------------------------------------------------------------------- stopped and gone on with


def test_ctrl_c_ends_the_step_and_resume_comes_to_the_same_weights(run, emoji, tmp_path, monkeypatch):
    crop = Samples.crop

    def interrupted(self, step, slot):
        if (step, slot) == (6, 1):
            signal.raise_signal(signal.SIGINT)
        return crop(self, step, slot)

    words = ("train", "emoji", emoji, "-o", tmp_path / "run", *OPTIONS)
    before = signal.getsignal(signal.SIGINT)
    with monkeypatch.context() as patch:
        patch.setattr(Samples, "crop", interrupted)
        outcome = segjudge(*words)
    assert outcome.status == 130
    assert "--resume" in outcome.err
    assert signal.getsignal(signal.SIGINT) is before
    stopped = Run(tmp_path / "run")
    assert len(stopped.metrics.read_text().splitlines()) == 1 + 1  # one epoch ended before
    with pytest.raises(UsageError, match="not come to its end"):
        stopped.rules()
    seen = []
    learn(emoji, stopped.folder, resume=True, report=seen.append)
    assert [progress.note for progress in seen if progress.note] == ["going on after step 7 of 12"]
    assert min(progress.step for progress in seen if not progress.note) == 8
    assert stopped.weights.read_bytes() == run.weights.read_bytes()
    assert without_seconds(stopped) == without_seconds(run)
    assert stopped.read()["metric"] == run.read()["metric"]


def test_ctrl_c_before_anything_was_begun_does_not_say_that_something_is_kept(emoji, tmp_path, monkeypatch):
    def stop(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("segjudge.models.training.trainer.initialise", stop)
    outcome = segjudge("train", "emoji", emoji, "-o", tmp_path / "run", *OPTIONS)
    assert outcome.status == 130
    assert outcome.err == f"Stopped before the first step; there is no {tmp_path / 'run'} yet.\n"
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "when",
    [
        lambda progress: progress.step == 2,  # before anything was saved
        lambda progress: progress.epoch and progress.epoch["epoch"] == 1,  # weights are, the state is not
        lambda progress: progress.step == 7,
        lambda progress: progress.epoch and progress.epoch["epoch"] == EPOCHS,
    ],
    ids=["early", "between", "later", "last"],
)
def test_a_run_that_broke_off_anywhere_comes_to_the_same_weights(when, run, emoji, tmp_path):
    with pytest.raises(Broken):
        learn(emoji, tmp_path / "run", report=breaking(when))
    record = learn(emoji, tmp_path / "run", resume=True)
    assert weights(tmp_path / "run") == run.weights.read_bytes()
    assert without_seconds(Run(tmp_path / "run")) == without_seconds(run)
    assert record == run.read()


KILLED = """
import os, signal, sys
from pathlib import Path
import segjudge as sj
from segjudge.models.runs import Plan
from segjudge.models.training import train

def report(progress):
    if progress.step == 7:
        os.kill(os.getpid(), signal.SIGKILL)

train(sj.load_task("emoji"), Path(sys.argv[1]), Path(sys.argv[2]), Plan(**{plan!r}), report=report)
"""


def test_a_process_that_is_killed_leaves_a_run_to_go_on_with(run, emoji, tmp_path):
    code = KILLED.format(plan=dataclasses.asdict(PLAN))
    done = subprocess.run(
        [sys.executable, "-c", code, emoji, tmp_path / "run"], capture_output=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    learn(emoji, tmp_path / "run", resume=True)
    assert weights(tmp_path / "run") == run.weights.read_bytes()


@pytest.mark.slow
def test_two_processes_speak_with_one_voice(emoji, tmp_path):
    command = Path(sys.executable).with_name("segjudge")
    words = ("train", "emoji", emoji, "-o", tmp_path / "run", *OPTIONS, "--devices", 2, "--json")
    done = subprocess.run([command, *map(str, words)], capture_output=True, check=True, text=True)
    assert json.loads(done.stdout)["steps"] == STEPS
    assert done.stderr.count("starting from") == 1
    assert len(rows_of(Run(tmp_path / "run").metrics)) == EPOCHS


def without_seconds(run):
    rows = rows_of(run.metrics)
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_a_run_that_has_ended_is_not_trained_again(run, emoji):
    before = run.weights.stat().st_mtime_ns
    assert learn(emoji, run.folder, resume=True) == run.read()
    assert run.weights.stat().st_mtime_ns == before


def test_a_run_is_gone_on_with_only_by_the_plan_and_data_that_it_was_begun_with(run, emoji, sets, tmp_path):
    with pytest.raises(UsageError, match="holds a run already"):
        learn(emoji, run.folder)
    other = dataclasses.replace(PLAN, seed=9, rate=1.0, threads=2, workers=1)
    with pytest.raises(UsageError, match="begun with another seed, rate") as caught:
        learn(emoji, run.folder, other, resume=True)
    assert caught.value.advice.startswith("Go on as it was begun, with --seed 0, without --rate;")
    with pytest.raises(Broken):
        learn(emoji, tmp_path / "run", report=breaking(lambda progress: progress.step == 5))
    make("emoji", tmp_path / "others", images=12, seed=12, size=SIZES["emoji"])
    with pytest.raises(UsageError, match="not what the run was begun with"):
        learn(tmp_path / "others", tmp_path / "run", resume=True)


def test_data_may_be_put_right_as_long_as_nothing_was_learnt_of_it(run, emoji, tmp_path):
    data = tmp_path / "data"
    shutil.copytree(emoji, data)
    first = data / rows_of(data / "train.csv")[0]["Path"]
    whole = first.read_bytes()
    first.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UsageError, match="damaged"):
        learn(data, tmp_path / "run")
    first.write_bytes(whole)
    learn(data, tmp_path / "run", resume=True)
    assert weights(tmp_path / "run") == run.weights.read_bytes()
    assert Run(tmp_path / "run").manifest.read_bytes() == run.manifest.read_bytes()


def test_a_folder_with_other_things_in_it_is_left_alone(emoji, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    for resume, words in ((False, "not an empty folder"), (True, "no run to go on with")):
        with pytest.raises(UsageError, match=words):
            learn(emoji, tmp_path, resume=resume)
    with pytest.raises(UsageError, match="not an empty folder"):
        learn(emoji, tmp_path / "notes.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


# ------------------------------------------------------------------------------------------- predicting


def test_the_metric_of_a_run_is_the_score_of_what_predict_writes(run, emoji, tmp_path):
    target = tmp_path / "submission.zip"
    words = ("--images", run.manifest, "--threads", 1)
    assert segjudge("predict", "emoji", run.folder, emoji, "-o", target, *words).status == 0
    assert segjudge("check", "emoji", target, *words[:2]).status == 0
    scored = segjudge("score", "emoji", emoji, target, *words[:2], "--json").json
    assert scored["score"] == run.read()["metric"] > 0
    assert scored["points"] == run.read()["points"]
    assert scored["counts"]["images"] == 3


@pytest.mark.parametrize("task_id", TASKS)
def test_each_task_trains_predicts_and_scores_the_same(task_id, sets, tmp_path):
    data, folder = sets(task_id), tmp_path / "run"
    plan = Plan(
        task=task_id, init="scratch", steps=2, epochs=1, folds=2, validation=3, batch=2, threads=1, seed=3
    )
    record = learn(data, folder, plan)
    target = tmp_path / ("submission.zip" if task_id == "emoji" else "submission.csv")
    task = sj.load_task(task_id)
    manifest = sj.read_images(task, Run(folder).manifest)
    done = predict(task, [folder], data, target, images=manifest, threads=1)
    assert done.diagnosis.ok
    assert done.images == record["images"]["validation"] == 3
    result = sj.score(
        task, sj.read_truth(task, data), sj.read_submission(task, target), images=manifest, by=()
    )
    assert (result.score, result.points) == (record["metric"], record["points"])


def test_a_prediction_that_was_broken_off_goes_on_and_writes_the_same(run, emoji, tmp_path):
    def stop(done, _total):
        if done == 5:
            raise KeyboardInterrupt

    whole, broken = tmp_path / "whole.zip", tmp_path / "broken.zip"
    assert ask(run, emoji, whole).kept == 0
    with pytest.raises(KeyboardInterrupt):
        ask(run, emoji, broken, progress=stop)
    assert not broken.exists()
    again = ask(run, emoji, broken)
    assert (again.images, again.kept) == (12, 5)
    assert broken.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.zip", "whole.zip"]


def test_of_two_processes_that_predict_one_target_the_second_is_refused(run, emoji, tmp_path):
    whole, target = tmp_path / "whole.zip", tmp_path / "it.zip"
    words = ["predict", "emoji", run.folder, emoji, "-o", target, "--threads", "1", "--no-tta"]
    seen = []

    def meanwhile(done, _total):
        if done == 5:
            command = [sys.executable, "-m", "segjudge", *map(str, words)]
            seen.append(subprocess.run(command, capture_output=True, text=True, check=False))

    ask(run, emoji, whole)
    assert ask(run, emoji, target, progress=meanwhile).kept == 0
    (second,) = seen
    assert (second.returncode, second.stdout) == (2, "")
    assert second.stderr.startswith(f"segjudge: Another process is predicting {target} at this moment.")
    assert target.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.zip", "whole.zip"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_a_process_that_was_killed_while_it_predicted_refuses_nobody(run, emoji, tmp_path):
    code = """
import os, signal, sys
from pathlib import Path
import segjudge as sj
from segjudge.models.predicting import predict

def kill(done, total):
    if done == 5:
        os.kill(os.getpid(), signal.SIGKILL)

task = sj.load_task("emoji")
predict(task, [Path(sys.argv[1])], Path(sys.argv[2]), Path(sys.argv[3]), threads=1, progress=kill)
"""
    target = tmp_path / "it.zip"
    command = [sys.executable, "-c", code, run.folder, emoji, target]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert ask(run, emoji, target).kept == 5
    assert [path.name for path in tmp_path.iterdir()] == ["it.zip"]


def test_a_picture_that_changed_meanwhile_is_predicted_again(run, emoji, tmp_path):
    data, target = tmp_path / "data", tmp_path / "it.zip"
    shutil.copytree(emoji, data)
    whole = ask(run, data, target)
    first = target.read_bytes()
    picture = data / rows_of(data / "train.csv")[0]["Path"]

    def stop(_done, _total):
        picture.write_bytes((data / rows_of(data / "train.csv")[1]["Path"]).read_bytes())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(run, data, target, progress=stop)
    assert ask(run, data, target).kept == 0
    assert target.read_bytes() != first
    assert whole.images == 12


def test_what_was_kept_and_cannot_be_read_is_predicted_again(run, emoji, tmp_path):
    def stop(done, _total):
        if done == 5:
            raise KeyboardInterrupt

    target = tmp_path / "it.zip"
    ask(run, emoji, target)
    whole = target.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        ask(run, emoji, target, progress=stop)
    kept = sorted((tmp_path / ".it.zip.predicting").glob("*.npz"))
    kept[0].write_bytes(b"")
    kept[1].write_bytes(kept[1].read_bytes()[:100])
    assert ask(run, emoji, target).kept == 3
    assert target.read_bytes() == whole


def test_an_older_submission_stays_until_the_new_one_is_whole_and_checked(run, emoji, tmp_path, monkeypatch):
    target = tmp_path / "it.zip"
    target.write_bytes(b"older")
    seen = []
    ask(run, emoji, target, progress=lambda *_: seen.append(target.read_bytes()))
    assert set(seen) == {b"older"}
    assert target.read_bytes() != b"older"
    target.write_bytes(b"older")
    diagnosis = sj.check(sj.load_task("emoji"), sj.read_submission(sj.load_task("emoji"), target))
    assert not diagnosis.ok
    with monkeypatch.context() as patch:
        patch.setattr("segjudge.models.predicting.check", lambda *_, **__: diagnosis)
        outcome = segjudge("predict", "emoji", run.folder, emoji, "-o", target, "--json")
    assert outcome.status == 1
    assert not outcome.json["ok"]
    assert target.read_bytes() == b"older"
    assert ask(run, emoji, target).kept == 12


@pytest.mark.parametrize("name", ["it.csv", "nowhere/it.zip", "folder"])
def test_a_target_that_cannot_be_is_told_before_anything_is_predicted(
    name, run, emoji, tmp_path, monkeypatch
):
    monkeypatch.setattr("segjudge.models.predicting.open_trained", None)
    (tmp_path / "folder").mkdir()
    outcome = segjudge("predict", "emoji", run.folder, emoji, "-o", tmp_path / name, "--json")
    assert outcome.status == 2
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["folder"]


def test_ctrl_c_in_predict_is_status_130_and_says_how_to_go_on(run, emoji, tmp_path, monkeypatch):
    def stop(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("segjudge.models.predicting.predict_place", stop)
    outcome = segjudge("predict", "emoji", run.folder, emoji, "-o", tmp_path / "it.zip")
    assert outcome.status == 130
    assert outcome.out == ""
    assert "same command" in outcome.err


def test_what_another_way_of_predicting_left_is_not_used(run, emoji, tmp_path):
    def stop(_done, _total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(run, emoji, tmp_path / "it.zip", views=True, progress=stop)
    assert ask(run, emoji, tmp_path / "it.zip", views=False).kept == 0


def test_a_run_averaged_with_itself_predicts_what_it_does_alone(run, emoji, tmp_path):
    words = ("predict", "emoji", run.folder, emoji, "--no-tta", "--threads", 1, "--json")
    assert segjudge(*words, "-o", tmp_path / "one.zip").json["images"] == 12
    assert segjudge(*words, "-o", tmp_path / "two.zip", "--ensemble", run.folder).status == 0
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_folds_give_every_image_to_the_model_that_never_saw_it(emoji, tmp_path):
    folder = tmp_path / "folds"
    words = ("train", "emoji", emoji, "-o", folder, "--fold", "all", "--folds", 2, "--steps", 2, "--epochs", 1,
             "--init", "scratch", "--batch", 2, "--threads", 1)  # fmt: skip
    outcome = segjudge(*words, "--json")
    assert outcome.status == 0
    kept = json.loads((folder / "out-of-fold.json").read_text())
    assert kept["score"] == outcome.json["metric"]
    assert kept["folds"] == [record["metric"] for record in outcome.json["folds"]]
    parts = [
        {row["ImageId"] for row in rows_of(part) if row["Usage"] == "Public"}
        for part in sorted(folder.glob("fold-*/validation.csv"))
    ]
    assert len(parts) == 2
    assert not parts[0] & parts[1]
    assert len(parts[0] | parts[1]) == 12
    manifest = folder / "images.csv"
    target = folder / "out-of-fold-submission.zip"
    assert (
        segjudge("score", "emoji", emoji, target, "--images", manifest, "--json").json["score"]
        == kept["score"]
    )
    masks, by_others = members(target), 0
    for fold, part in enumerate(parts):
        own = folder / f"fold-{fold}"
        images = sj.read_images(sj.load_task("emoji"), Run(own).manifest)
        for number in range(2):
            again = tmp_path / f"{fold}-{number}.zip"
            predict(
                sj.load_task("emoji"), [folder / f"fold-{number}"], emoji, again, images=images, threads=1
            )
            same = [masks[name] == data for name, data in members(again).items()]
            assert len(same) == len(part)
            if number == fold:
                assert all(same)
            by_others += sum(same) if number != fold else 0
    assert by_others < 12  # or the models say the same, and this test nothing
    assert segjudge(*words).status == 2  # it holds something now
    assert segjudge(*words, "--resume", "--json").json["metric"] == kept["score"]
    together = predict(sj.load_task("emoji"), [folder], emoji, tmp_path / "both.zip", threads=1)
    assert together.diagnosis.ok
    assert segjudge("export", folder, "-o", tmp_path / "model.onnx").status == 2


WITHOUT_TORCH = """
import sys
sys.argv = ["segjudge", *sys.argv[1:]]
from segjudge.cli import main
try:
    main()
except SystemExit as leave:
    assert not leave.code, leave.code
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")  # of torch's exporter
def test_an_exported_net_predicts_the_same_masks_without_torch(run, emoji, tmp_path):
    model, target = tmp_path / "model.onnx", tmp_path / "exported.zip"
    assert segjudge("export", run.folder, "-o", model, "--json").json["bytes"] == model.stat().st_size
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    words = ["predict", "emoji", str(model), str(emoji), "-o", str(target), "--threads", "1"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, *words], capture_output=True, check=True, text=True
    )
    loaded = set(done.stdout.split())
    assert "onnxruntime" in loaded
    assert not loaded & {"torch", "monai", "lightning_fabric", "safetensors", "onnx"}
    ask(run, emoji, tmp_path / "own.zip")
    for mine, other in zip(pngs(tmp_path / "own.zip"), pngs(target), strict=True):
        assert (mine != other).mean() < 1e-3


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.endswith(".png")}


def pngs(path):
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".png"):
                with archive.open(name) as file, Image.open(file) as picture:
                    yield np.asarray(picture)


# --------------------------------------------------------------------------------------- told kindly


def test_a_wrong_folder_is_status_2_and_says_what_was_looked_for(run, tmp_path):
    for words in (
        ("train", "emoji", tmp_path, "-o", tmp_path / "run", *OPTIONS),
        ("train", "emoji", tmp_path / "nowhere", "-o", tmp_path / "run", *OPTIONS),
        ("predict", "emoji", run.folder, tmp_path, "-o", tmp_path / "it.zip"),
        ("predict", "emoji", tmp_path / "nowhere", tmp_path, "-o", tmp_path / "it.zip"),
        ("predict", "emoji", tmp_path, tmp_path, "-o", tmp_path / "it.zip"),
        ("export", tmp_path, "-o", tmp_path / "it.onnx"),
    ):
        outcome = segjudge(*words, "--json")
        assert outcome.status == 2, words
        assert outcome.json["error"]["kind"] == "usage"
        assert outcome.json["error"]["advice"]
    assert list(tmp_path.iterdir()) == []


def test_a_prediction_to_standard_output_is_refused_before_it_is_made(run, emoji):
    outcome = segjudge("predict", "emoji", run.folder, emoji, "-o", "-", "--json")
    assert outcome.status == 2
    assert "Name a file" in outcome.json["error"]["advice"]
    assert not Path("-").exists()


def test_a_run_of_another_task_is_refused(run, sets, tmp_path):
    outcome = segjudge(
        "predict", "dsb-2018", run.folder, sets("dsb-2018"), "-o", tmp_path / "it.csv", "--json"
    )
    assert outcome.status == 2
    assert "trained for emoji" in outcome.json["error"]["message"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--minutes", 1, "--steps", 2), "--minutes"),
        (("--rate", "nan"), "--rate is nan"),
        (("--minutes", "inf"), "--minutes is inf"),
        (("--fold", 7), "7"),
        (("--fold", "x"), "x"),
        (("--fold", "all", "--devices", 2), "one device"),
        (("--init", "nowhere.safetensors"), "nowhere"),
        (("--net", "large"), "large"),
        (("--set", "nonsense=1"), "nonsense"),
    ],
)
def test_options_that_cannot_be_are_status_2(words, named, emoji, tmp_path):
    outcome = segjudge("train", "emoji", emoji, "-o", tmp_path / "run", "--threads", 1, *words, "--json")
    assert outcome.status == 2
    assert not (tmp_path / "run").exists()  # or the call put right would be refused
    assert named in outcome.json["error"]["message"]


@pytest.mark.parametrize(
    ("verb", "missing"),
    [
        ("train", "torch"),
        ("train", "monai"),
        ("train", "lightning_fabric"),
        ("predict", "skimage"),
        ("export", "onnx"),
        ("export", "onnxscript"),
    ],
)
def test_a_missing_extra_names_its_pip_command(verb, missing, tmp_path, monkeypatch):
    monkeypatch.setattr("segjudge.cli.learning.find_spec", lambda name: None if name == missing else name)
    words = {"train": ["emoji", "data"], "predict": ["emoji", "run", "data"], "export": ["run"]}[verb]
    outcome = segjudge(verb, *words, "-o", tmp_path / "it", "--json")
    assert outcome.status == 3
    assert outcome.json["error"]["kind"] == "missing-extra"
    assert f"segjudge[{verb}]" in outcome.json["error"]["advice"]


def test_an_extra_that_is_there_and_cannot_be_loaded_is_no_fault_of_segjudge(emoji, tmp_path, monkeypatch):
    monkeypatch.setattr("segjudge.cli.learning.find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "lightning_fabric", None)
    outcome = segjudge("train", "emoji", emoji, "-o", tmp_path / "run", "--json")
    assert outcome.status == 3
    assert outcome.json["error"]["kind"] == "missing-extra"
    assert not (tmp_path / "run").exists()


def test_a_run_without_its_weights_is_told_so_and_not_to_go_on(run, tmp_path):
    (tmp_path / "run.json").write_text(run.record.read_text())
    with pytest.raises(UsageError, match=r"lacks its weights, model\.safetensors"):
        Run(tmp_path).rules()


def test_a_state_that_was_cut_is_told_and_without_it_the_run_begins_anew(run, emoji, tmp_path):
    with pytest.raises(Broken):
        learn(emoji, tmp_path / "run", report=breaking(lambda progress: progress.step == 5))
    state = Run(tmp_path / "run").state
    whole = state.read_bytes()
    for cut in (b"", whole[:100], whole[: len(whole) // 2], b"something else"):
        state.write_bytes(cut)
        with pytest.raises(UsageError, match=r"last\.ckpt cannot be read"):
            learn(emoji, tmp_path / "run", resume=True)
    state.unlink()
    learn(emoji, tmp_path / "run", resume=True)
    assert weights(tmp_path / "run") == run.weights.read_bytes()


def test_a_run_s_record_that_was_cut_or_is_of_another_version_is_told(run, tmp_path):
    record = tmp_path / "run.json"
    record.write_text(run.record.read_text()[:100])
    with pytest.raises(UsageError, match="cannot be read"):
        Run(tmp_path).read()
    record.write_text(json.dumps({**run.read(), "format": 99}))
    with pytest.raises(SegjudgeError, match="another version"):
        Run(tmp_path).read()


# ------------------------------------------------------------------------------------------- full size

MEASURED = """
import resource, sys
sys.argv = ["segjudge", *sys.argv[1:]]
from segjudge.cli import main
try:
    main()
except SystemExit as leave:
    assert not leave.code, leave.code
print("PEAK", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the peak is told in other units")
@pytest.mark.parametrize(("views", "method"), [("--tta", "centres"), ("--no-tta", "watershed")])
def test_a_street_of_full_size_is_predicted_in_less_than_2_gib(views, method, sets, tmp_path):
    data, folder = sets("wad-2018"), tmp_path / "run"
    learn(data, folder, Plan(task="wad-2018", init="scratch", steps=2, epochs=1, folds=2, batch=2, threads=1))
    record = Run(folder).read()
    for rule in record["rules"]["groupings"]:  # so loose that the street is full of instances
        rule |= {"method": method, "share": 0.05, "peak": 0.01, "floor": 0.0}
    Run(folder).write(record)
    street = next(scenes("wad-2018", images=1, seed=3, size=(271, 338)))
    pictures = tmp_path / "test"
    pictures.mkdir()
    Image.fromarray(street.picture).resize((3384, 2710)).save(pictures / "170908_061500000_Camera_5.jpg")
    target = tmp_path / "submission.csv"
    words = ["predict", "wad-2018", folder, pictures, "-o", target, views, "--threads", "1"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *map(str, words)], capture_output=True, check=True, text=True
    )
    peak = int(done.stdout.rpartition("PEAK")[2])
    rows = len(rows_of(target))
    print(f"peak {peak} MiB, {rows} instances, {target.stat().st_size} bytes")
    assert rows > 20
    assert peak < 2048
