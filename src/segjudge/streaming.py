"""Evaluator: a score that grows with the images, for training loops and for several processes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from segjudge.contest import Contest
from segjudge.crew import Crew
from segjudge.errors import UsageError
from segjudge.findings import Collector
from segjudge.formats.arrays import open_arrays
from segjudge.images import Images
from segjudge.instances import Instances
from segjudge.loading import as_submission, as_truth
from segjudge.metrics import Detection
from segjudge.metrics.scores import Facts
from segjudge.scoring import Run, finished, parts_of, receipt_of, refuse_faulty, run_contest
from segjudge.task import load_task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from segjudge.metrics.detection import Curves
    from segjudge.result import Result
    from segjudge.task import Task

__all__ = ["Evaluator"]

_MOST_IMAGES, _MOST_RUNS = 64, 1 << 20  # that wait before they are matched together


class Evaluator:
    """The score of images that come one after another, the same to the last bit as that of files.

    Only tallies are kept: some numbers for each instance, no mask. An evaluator can be pickled, and those
    of several processes merged, in any order.

    >>> import numpy as np
    >>> evaluator = Evaluator("dsb-2018")
    >>> cells = Instances.from_label_map(np.array([[0, 1, 1], [2, 2, 0]]))
    >>> evaluator.update("cells_1", cells, cells)
    >>> evaluator.compute().score
    1.0
    """

    def __init__(self, task: Task | str, *, images: Images | None = None, usage: str | None = None) -> None:
        """Nothing yet; `images` tells clips and usages, and `usage` chooses as `score` does."""
        if usage and (images is None or images.usage is None):
            raise UsageError("usage chooses among images of known usage.", "Give images with usages.")
        self.task = load_task(task) if isinstance(task, str) else task
        self._manifest = images
        self._usage = usage
        self.reset()

    def reset(self) -> None:
        """Forget all images."""
        self._places: dict[str, int] = {}
        self._scored: list[bool] = []
        self._run = Run([], np.zeros((0, 3), np.int64))
        self._findings, self._truth_findings = Collector(), Collector()
        self._waiting: list[tuple[Instances, Instances]] = []
        self._waiting_ids: set[str] = set()
        self._waiting_runs = 0

    def __len__(self) -> int:
        """How many images there were."""
        return len(self._places) + len(self._waiting_ids)

    def __repr__(self) -> str:
        from segjudge.display import counted  # noqa: PLC0415 - needed in notebooks alone

        return f"Evaluator({self.task.id}: {counted(len(self), 'image')})"

    def update(self, image_id: object, truths: Instances, predictions: Instances) -> None:
        """Add one image, its truths and predictions as `Instances.from_masks` and its siblings give them.

        Raises UsageError for an image that was there already and for arrays that do not fit the task; what
        refuses a submission or a truth is kept until `compute`.
        """
        name = str(image_id)
        sides = []
        for side in (truths, predictions):
            if len(side.image_ids) > 1:
                raise UsageError(
                    f"update takes one image, these are instances of {len(side.image_ids)}.",
                    "Add many images at once with update_many.",
                )
            sides.append(replace(side, image_ids=(name,)))
        self.update_many(*sides)

    def update_many(self, truths: Instances, predictions: Instances) -> None:
        """Add all images that the truths name; predictions are of these images."""
        names = truths.image_ids
        for name in names:
            if name in self._places or name in self._waiting_ids:
                raise UsageError(f"The image {name!r} was there already.", "Each image is added once.")
            if self._manifest is not None and name not in self._manifest.places:
                raise UsageError(f"The list of images does not hold {name!r}.")
        foreign = sorted(set(predictions.image_ids) - set(names))
        if foreign:
            raise UsageError(f"There are predictions for {foreign[0]!r}, of which no truth is known.")
        # What does not fit raises here, where the caller can see which image it was.
        truth = open_arrays(self.task, truths, "truths", complete=True)[0]
        submission = open_arrays(self.task, predictions, "predictions", complete=False)[0]
        self._waiting.append((truth.instances, submission.instances))
        self._waiting_ids.update(names)
        self._waiting_runs += sum(len(side.masks.starts) for side in self._waiting[-1])
        if len(self._waiting_ids) >= _MOST_IMAGES or self._waiting_runs >= _MOST_RUNS:
            self._flush()

    def merge(self, other: Evaluator, *, repeated: Literal["error", "skip"] = "error") -> None:
        """Take over all images of another evaluator of the same task.

        An image that both have raises UsageError; with `repeated="skip"` the one here stays, as for samplers
        that pad the shares of the processes to one length.
        """
        if self.task.digest != other.task.digest:
            raise UsageError("The evaluators have different tasks or settings.")
        self._flush()
        other._flush()
        both = [name for name in other._places if name in self._places]
        if both and repeated == "error":
            raise UsageError(
                f"Both evaluators have the image {both[0]!r}.",
                "Give each process its own images, or skip them with repeated='skip'.",
            )
        fresh = [name for name in other._places if name not in self._places]
        places = self._add(fresh, [other._scored[other._places[name]] for name in fresh])
        moves = np.array([places.get(name, -1) for name in other._places], np.int64)
        self._run.tallies += [tally.moved(moves) for tally in other._run.tallies]
        self._run.counts[moves[moves >= 0]] = other._run.counts[moves >= 0]
        self._findings.absorb(other._findings)
        self._truth_findings.absorb(other._truth_findings)

    def compute(self, by: Iterable[str] | None = None) -> Result:
        """The score of all images so far; more may follow.

        `by` as for `score`. Raises SubmissionError and TruthError as `score` does, UsageError where there
        was no image.
        """
        parts = parts_of(self.task, by)
        self._flush()
        refuse_faulty("truths", self._truth_findings.diagnosis())
        return finished(
            self.task,
            self._run,
            self._facts(),
            parts,
            "predictions",
            self._findings,
            self._truth_findings,
            receipt_of(self.task),
            self.task.classes,
        )

    def curves(self) -> Curves:
        """Precision and recall of the images so far at every threshold, in COCO's layout.

        Raises UsageError for tasks whose metric has no such curves.
        """
        self._flush()
        metric, tallies = self.task.metric, self._run.tallies
        if not isinstance(metric, Detection) or not tallies:
            raise UsageError("There are curves for detection alone, and for one image at least.")
        return metric.curves(type(tallies[0]).sum(tallies), self._facts())

    def _facts(self) -> Facts:
        ids = tuple(self._places)
        clips = None
        if self._manifest is not None and (numbers := self._manifest.clip_numbers()) is not None:
            clips = numbers[self._manifest.find(ids)]
        return Facts(tuple(self.task.classes), np.flatnonzero(np.array(self._scored, np.bool_)), clips, ids)

    def _add(self, names: Iterable[str], scored: Iterable[bool]) -> dict[str, int]:
        """New images at the end; the place of each."""
        places = {name: place for place, name in enumerate(names, start=len(self._places))}
        self._places.update(places)
        self._scored += scored
        grown = np.zeros((len(places), 3), np.int64)
        self._run.counts = np.concatenate([self._run.counts, grown])
        return places

    def _flush(self) -> None:
        """Match what waits."""
        if not self._waiting:
            return
        truth = as_truth(self.task, Instances.concatenate(pair[0] for pair in self._waiting))
        submission = as_submission(self.task, Instances.concatenate(pair[1] for pair in self._waiting))
        self._waiting, self._waiting_ids, self._waiting_runs = [], set(), 0
        manifest = self._part(truth.source.image_ids if truth.source else ())
        contest = Contest.join(self.task, submission, truth, manifest, self._usage)
        run = run_contest(contest, Crew())
        self._findings.absorb(submission.findings)
        self._truth_findings.absorb(truth.findings)
        ids = contest.images.ids[: contest.known]
        places = self._add(ids, contest.scored.tolist())
        moves: NDArray[np.int64] = np.array([places[name] for name in ids], np.int64)
        self._run.tallies += [tally.moved(moves) for tally in run.tallies]
        self._run.counts[moves] = run.counts[: contest.known]

    def _part(self, names: Iterable[str]) -> Images | None:
        """The list of images with these alone."""
        images = self._manifest
        if images is None:
            return None
        ids = list(names)
        places = images.find(ids).tolist()
        return Images.of(
            ids,
            images.shapes[places],
            None if images.clips is None else [images.clips[place] for place in places],
            None if images.usage is None else [images.usage[place] for place in places],
        )
