"""The road on generated data: make a set, derive a submission from its truth, check it, score it."""

from __future__ import annotations

import csv
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from segjudge.contest import Contest
from segjudge.data import imperfect, imperfect_mask, make
from segjudge.encoding import write_submission
from segjudge.loading import read_images, read_submission, read_truth
from segjudge.metrics import AveragePrecision
from segjudge.records import dataclass
from segjudge.scoring import score
from segjudge.task import ArchiveForm, Task, load_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segjudge.encoding import SubmissionWriter
    from segjudge.images import Images
    from segjudge.instances import Instances
    from segjudge.result import Result

__all__ = ["IMAGES", "Road", "travel", "travel_by_training"]

#: How many images of each task a demo makes: some seconds in all.
IMAGES = {"wad-2018": 10, "badlad": 4, "dsb-2018": 8, "emoji": 24}


#: Images to learn from, and steps, of a demo that trains: a minute or two on two cores.
LESSONS = {"wad-2018": (20, 60), "badlad": (24, 60), "dsb-2018": (24, 60), "emoji": (80, 150)}


@dataclass(frozen=True, slots=True)
class Road:
    """What a demo leaves: the files, and what came out."""

    task: Task
    truth: Path
    images: Path
    submission: Path
    result: Result
    run: Path | None = None  # of a demo that trains


def travel(
    task_id: str,
    folder: Path,
    *,
    images: int | None = None,
    seed: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Road:
    """Make data of a task in `folder/data`, and a submission as a fair model would make it; score it.

    The predictions come from the truth itself: edges moved, objects missed, doubled, invented, classes
    taken for others. Raises UsageError for a task without a generator or a folder that is not empty.
    """
    task = load_task(task_id)
    data = folder / "data"
    make(task_id, data, images=images or IMAGES.get(task_id, 8), seed=seed, progress=progress)
    manifest = folder / "images.csv"
    _write_manifest(task, data, manifest)
    known = read_images(task, manifest)
    submission = _submission_in(folder, task)
    _predict(task, data, known, submission, seed)
    return Road(task, data, manifest, submission, _scored(task, data, submission, known))


def travel_by_training(
    task_id: str,
    folder: Path,
    *,
    images: int | None = None,
    seed: int = 1,
    report: Callable[[str, int, int | None], None] | None = None,
) -> Road:
    """The same road with a model: make two sets, train on one from the shipped weights, predict the other.

    `report` is told what is being done, and how far it is. Raises UsageError as `travel` does and for a task
    without a baseline, MissingExtra where training is not installed.
    """
    from segjudge.models.predicting import predict  # noqa: PLC0415 - a demo without training needs no torch
    from segjudge.models.runs import Plan  # noqa: PLC0415
    from segjudge.models.training import train  # noqa: PLC0415

    task, tell = load_task(task_id), report or (lambda _what, _done, _total: None)
    lesson, data, run = folder / "train", folder / "data", folder / "run"
    learning, steps = LESSONS.get(task_id, (24, 60))
    test = images or IMAGES.get(task_id, 8)
    for target, count, own, part in ((lesson, learning, seed + 1, "train"), (data, test, seed, "test")):
        make(task_id, target, images=count, seed=own, part=part, progress=partial(tell, "drawing"))
    manifest = folder / "images.csv"
    _write_manifest(task, data, manifest)
    known = read_images(task, manifest)
    plan = Plan(task=task_id, steps=steps, epochs=2, seed=seed, folds=4, validation=12)
    train(task, lesson, run, plan, report=lambda progress: tell("training", progress.step, progress.steps))
    submission = _submission_in(folder, task)
    predict(task, [run], data, submission, progress=partial(tell, "predicting"))
    return Road(task, data, manifest, submission, _scored(task, data, submission, known), run)


def _submission_in(folder: Path, task: Task) -> Path:
    return folder / ("submission.zip" if isinstance(task.submission, ArchiveForm) else "submission.csv")


def _scored(task: Task, data: Path, submission: Path, known: Images) -> Result:
    """The score with all parts that the task has; raises SubmissionError should the check find errors."""
    by = [
        part
        for part in ("class", "threshold")
        if part in task.metric.breakdowns and (part != "class" or task.classes)
    ]
    return score(task, read_truth(task, data), read_submission(task, submission), images=known, by=by)


def _write_manifest(task: Task, data: Path, target: Path) -> None:
    """The images' sizes, and the clips where the data has a list of them."""
    made = data / "images.csv"
    if made.exists():
        target.write_bytes(made.read_bytes())
        return
    source = read_truth(task, data).source
    if source is None:
        return
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["ImageId", "Height", "Width"])
        sizes = zip(source.image_ids, source.shapes.tolist(), strict=True)
        writer.writerows([image, height, width] for image, (height, width) in sizes)


def _predict(task: Task, data: Path, known: Images, target: Path, seed: int) -> None:
    truth = read_truth(task, data)
    contest = Contest.join(task, None, truth, known)
    if truth.source is None:
        return
    rng = np.random.default_rng(seed)
    with write_submission(task, target, known) as out:
        for place in range(contest.known):
            instances = truth.source.read(np.array([place]), None).instances
            _add(task, out, contest.images.ids[place], instances, rng, known.shapes[place].tolist())


def _add(
    task: Task,
    out: SubmissionWriter,
    image: str,
    truths: Instances,
    rng: np.random.Generator,
    size: list[int],
) -> None:
    shape = (size[0], size[1])
    if task.semantic:
        masks = {
            int(truths.class_ids[k]): imperfect_mask(rng, truths.masks.picture(k))
            for k in range(len(truths))
            if truths.masks.areas[k]
        }
        out.add(image, masks)
        return
    if isinstance(task.submission, ArchiveForm):
        out.add(image, imperfect_mask(rng, truths.masks.picture(0)))
        return
    evaluated = [k for k in range(len(truths)) if not truths.ignored[k]]
    masks_of = [(truths.masks.picture(k), int(truths.class_ids[k])) for k in evaluated]
    found = imperfect(
        rng,
        masks_of,
        list(task.classes) or [0],
        shape=shape,
        disjoint=not isinstance(task.metric, AveragePrecision),
    )
    out.add(
        image,
        [mask for mask, _, _ in found],
        [class_id for _, class_id, _ in found],
        [confidence for _, _, confidence in found],
    )
