"""A run over all folds: a model for each, and the score of predictions by models that never saw the image."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from segjudge.datasets import open_dataset, split
from segjudge.encoding import write_submission
from segjudge.errors import UsageError
from segjudge.loading import read_images, read_submission, read_truth
from segjudge.models.judging import submission_name, write_manifest
from segjudge.models.predicting import predict_place
from segjudge.models.runs import replace_text
from segjudge.models.trained import open_trained
from segjudge.models.training import train
from segjudge.scoring import score

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from segjudge.models.runs import Plan
    from segjudge.models.training import Progress
    from segjudge.task import Task

__all__ = ["train_folds"]


def train_folds(
    task: Task,
    data: Path,
    folder: Path,
    plan: Plan,
    *,
    resume: bool = False,
    report: Callable[[int, Progress], None] | None = None,
) -> dict[str, Any]:
    """The score of out-of-fold predictions, and the record of each fold's run.

    The folder holds a run for each fold (`fold-0` and so on), a submission in which every image was
    predicted by the model that had not seen it, and `out-of-fold.json`. A run that was broken off goes on
    with `resume`, at the fold and step where it stopped.
    """
    if folder.exists() and any(folder.iterdir()) and not (resume and (folder / "fold-0").is_dir()):
        raise UsageError(f"{folder} is not an empty folder.", "Name another one, or go on with --resume.")
    folder.mkdir(parents=True, exist_ok=True)
    records = []
    for fold in range(plan.folds):
        own = folder / f"fold-{fold}"
        show = None if report is None else (lambda progress, fold=fold: report(fold, progress))
        records.append(train(task, data, own, replace(plan, fold=fold), resume=own.exists(), report=show))
    target = _predict_all(task, data, folder, plan)
    manifest = read_images(task, folder / "images.csv")
    result = score(task, read_truth(task, data), read_submission(task, target), images=manifest)
    kept = {"score": result.score, "points": result.points, "folds": [record["metric"] for record in records]}
    replace_text(folder / "out-of-fold.json", json.dumps(kept, indent=2) + "\n")
    return {"metric": result.score, "points": result.points, "submission": str(target), "folds": records}


def _predict_all(task: Task, data: Path, folder: Path, plan: Plan) -> Path:
    """The submission in which each image is predicted by the model of the fold that kept it back."""
    dataset = open_dataset(task, data, need_truth=True)
    write_manifest(folder / "images.csv", dataset, range(len(dataset)))
    target = folder / f"out-of-fold-{submission_name(task)}"
    with write_submission(task, target) as out:
        for fold in range(plan.folds):
            models = open_trained(task, folder / f"fold-{fold}", threads=plan.threads)
            for place in split(dataset, fold=fold, folds=plan.folds, seed=plan.seed)[1]:
                one = predict_place(task, models, dataset, place, views=models[0].recipe.views)
                one.add_to(out, dataset.image_ids[place])
    return target
