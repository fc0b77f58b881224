"""What a run is worth on the images kept back from it: after each epoch, and at its end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from segjudge.models.building import load_weights, save_weights
from segjudge.models.inference import outputs_of
from segjudge.models.judging import Said
from segjudge.models.rules import first_rules
from segjudge.models.sheets import write_sheet
from segjudge.models.tuning import tuned
from segjudge.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from segjudge.datasets import Dataset
    from segjudge.models.inference import TorchRunner
    from segjudge.models.judging import Judge
    from segjudge.models.recipes import Recipe
    from segjudge.models.runs import Run
    from segjudge.task import Task

__all__ = ["Validation"]


@dataclass(frozen=True, slots=True)
class Validation:
    """The images kept back, the net that is asked about them, and the judge of its answers."""

    task: Task
    recipe: Recipe
    run: Run
    dataset: Dataset
    places: Sequence[int]
    runner: TorchRunner
    judge: Judge

    def epoch(self, number: int) -> float | None:
        """The metric with the rules that nothing has tuned; a sheet of samples is drawn beside it."""
        said = self._said(views=False)
        rules = first_rules(self.task, self.recipe)
        self.run.pictures.mkdir(exist_ok=True)
        sheet = self.run.pictures / f"epoch-{number:02}.png"
        write_sheet(sheet, self.dataset, self.places, said, rules, self.recipe)
        return self.judge.judge(said, rules).score

    def seconds(self) -> tuple[float, float]:
        """About how long the net needs for all images: after an epoch, and at the end with its views."""
        begun = time.monotonic()
        outputs_of([self.runner], self.dataset.picture(self.places[0]), self.recipe, views=False)
        once = (time.monotonic() - begun) * len(self.places)
        return once, once * (2 ** len(self.recipe.flips) if self.recipe.views else 1)

    def keep(self) -> None:
        """Take the net's weights as the best so far."""
        save_weights(self.runner.net, self.run.weights)

    def conclude(self) -> dict[str, Any]:
        """The best weights' tuned rules, and the metric as `predict` and `score` would give it."""
        if self.run.weights.is_file():
            load_weights(self.runner.net, self.run.weights)
        else:  # nothing has scored: the last weights are as good as any
            self.keep()
        said = self._said(views=self.recipe.views)
        rules = tuned(self.task, self.recipe, self.judge, said)
        result = self.judge.judge(said, rules)
        return {
            "metric": result.score,
            "points": result.points,
            "by_class": {str(key): value for key, value in result.by_class.items()},
            "views": self.recipe.views,
            "rules": rules.to_json(),
        }

    def _said(self, *, views: bool) -> list[Said]:
        said = []
        for place in self.places:
            picture = self.dataset.picture(place)
            outputs = outputs_of([self.runner], picture, self.recipe, views=views)
            said.append(Said(self.dataset.image_ids[place], picture.shape[:2], outputs.astype(np.float16)))
        return said
