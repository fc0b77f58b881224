"""The road on generated data: make a set, derive a submission from its truth, check it, score it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from segjudge.contest import Contest
from segjudge.data import imperfect, imperfect_mask, make
from segjudge.encoding import write_submission
from segjudge.loading import read_images, read_submission, read_truth
from segjudge.metrics import AveragePrecision
from segjudge.scoring import score
from segjudge.task import ArchiveForm, Task, load_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segjudge.encoding import SubmissionWriter
    from segjudge.images import Images
    from segjudge.instances import Instances
    from segjudge.result import Result

__all__ = ["IMAGES", "Road", "travel"]

#: How many images of each task a demo makes: some seconds in all.
IMAGES = {"wad-2018": 10, "badlad": 4, "dsb-2018": 8, "emoji": 24}


@dataclass(frozen=True, slots=True)
class Road:
    """What a demo leaves: the files, and what came out."""

    task: Task
    truth: Path
    images: Path
    submission: Path
    result: Result


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
    submission = folder / ("submission.zip" if isinstance(task.submission, ArchiveForm) else "submission.csv")
    _predict(task, data, known, submission, seed)
    by = [
        part
        for part in ("class", "threshold")
        if part in task.metric.breakdowns and (part != "class" or task.classes)
    ]
    result = score(task, read_truth(task, data), read_submission(task, submission), images=known, by=by)
    return Road(task, data, manifest, submission, result)


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
