"""One run in the making: data, net, steps, epochs and the end."""

from __future__ import annotations

import copy
import dataclasses
import math
import signal
import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from segjudge.datasets import open_dataset, split
from segjudge.errors import MissingExtra, TrainingError, UsageError
from segjudge.models.building import initialise
from segjudge.models.inference import TorchRunner
from segjudge.models.judging import Judge, write_manifest
from segjudge.models.recipes import recipe_for
from segjudge.models.rules import class_ids_of
from segjudge.models.runs import Plan, Run, library_versions
from segjudge.models.samples import Samples
from segjudge.models.schedule import WARM, average, dealt, epoch_ends, rate_at
from segjudge.models.training.state import Progress, State, load_state, save_state
from segjudge.models.validation import Validation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from torch import nn

    from segjudge.datasets import Dataset
    from segjudge.models.losses import Batch, Objective
    from segjudge.models.recipes import Recipe
    from segjudge.task import Task

__all__ = ["Trainer"]

_TRIAL = 0.1  # share of the minutes after which they become steps; after as many steps as the rate rises in any case
_WEIGHT_DECAY = 1e-2
_CLIP = 5.0  # norm of a step's gradient


class Trainer:
    """One run in the making."""

    def __init__(
        self, task: Task, data: Path, run: Run, plan: Plan, report: Callable[[Progress], None]
    ) -> None:
        self.task = task
        self.data = data
        self.run_folder = run
        self.plan = plan
        self.report = report
        self.recipe = _changed(recipe_for(task.id), plan)
        self.state = State()
        self.fabric: Any = None
        self.stopping = False
        self.begun = time.monotonic()
        self.first_step = 0

    def run(self) -> dict[str, Any]:
        """Train to the end, tune, judge; the record."""
        try:
            import torch  # noqa: PLC0415 - takes seconds
            from lightning_fabric import Fabric  # noqa: PLC0415 - takes seconds
        except ImportError as error:
            raise MissingExtra("train", "Training") from error

        from segjudge.models.losses import Objective  # noqa: PLC0415 - takes seconds
        from segjudge.models.nets import stride_of  # noqa: PLC0415 - takes seconds

        if self.plan.threads:
            torch.set_num_threads(self.plan.threads)
        fabric = Fabric(accelerator="auto", devices=self.plan.devices, precision=self.plan.precision)
        fabric.launch()
        self.fabric = fabric
        if not fabric.is_global_zero:
            self.report = lambda _: None  # one voice is enough
        torch.manual_seed(self.plan.seed)
        objective = Objective(self.recipe, class_ids_of(self.task, self.recipe))
        net, begin = self._built(objective.outputs)
        dataset, learning, places = self._open(fabric)
        self._note(begin)
        samples = Samples(dataset, learning, self.recipe, self.plan.seed)
        net = net.to(memory_format=torch.channels_last)
        mean = copy.deepcopy(net).eval().requires_grad_(requires_grad=False)
        optimizer = torch.optim.AdamW(net.parameters(), lr=self.recipe.rate, weight_decay=_WEIGHT_DECAY)
        wrapped, optimizer = fabric.setup(net, optimizer)
        mean = mean.to(fabric.device)
        parts = {"net": net, "mean": mean, "optimizer": optimizer}
        if self.run_folder.state.is_file():
            self.state = load_state(self.run_folder.state, parts)
            self._note(f"going on after step {self.state.step} of {self.state.steps or 'some'}")
        runner = TorchRunner(mean, stride_of(net), fabric.device)
        judge = Judge(self.task, self.recipe, self.data, self.run_folder.manifest)
        validation = Validation(self.task, self.recipe, self.run_folder, dataset, places, runner, judge)
        with self._interruptible():
            for batch in self._batches(samples, objective, fabric):
                self._step(fabric, wrapped, optimizer, objective, batch)
                average(mean, net, self.state.step)
                self._pause(validation, parts)
        fabric.barrier()
        if fabric.is_global_zero:
            self._finish(validation)
        fabric.barrier()
        return self.run_folder.read()

    # ------------------------------------------------------------------------------------------- beginning

    def _built(self, outputs: int) -> tuple[nn.Module, str]:
        """The net with the weights that it begins with, and what they are, in words."""
        from segjudge.models.nets import build_net  # noqa: PLC0415 - takes seconds

        net = build_net(self.plan.net, self.recipe, outputs)
        if self.run_folder.state.is_file():
            return net, ""
        words, learnt = initialise(net, self.plan.init, self.task.id)
        steps = self.state.steps = _asked_steps(self.plan, self.recipe, learnt=learnt)
        if steps is not None:
            self.state.epochs = min(self.plan.epochs, steps)
            if self.plan.steps is None and not learnt and self.plan.init != "scratch":
                words += f"; hence {steps} steps, as many as from scratch"
            if steps < self.plan.epochs:
                words += "\n" + _few_steps(self.plan.epochs, steps)
        return net, words

    def _open(self, fabric: Any) -> tuple[Dataset, list[int], list[int]]:  # noqa: ANN401 - lightning has no stubs
        dataset = open_dataset(self.task, self.data, need_truth=True)
        if self.plan.overfit:
            learning = validation = list(range(min(self.plan.overfit, len(dataset))))
        else:
            learning, validation = split(
                dataset, fold=self.plan.fold, folds=self.plan.folds, seed=self.plan.seed
            )
            most = self.plan.validation or self.recipe.validation
            order = np.random.default_rng([self.plan.seed, 1]).permutation(len(validation))[:most]
            validation = sorted(validation[k] for k in order)
        fingerprint = dataset.fingerprint()
        if self.run_folder.state.is_file():  # else nothing was learnt yet, and any data will do
            if self.run_folder.read()["fingerprint"] != fingerprint:
                raise UsageError(
                    f"The data in {self.data} is not what the run was begun with.", "Begin another run."
                )
        elif fabric.is_global_zero:
            self.run_folder.folder.mkdir(parents=True, exist_ok=True)
            self.run_folder.write({
                "plan": dataclasses.asdict(self.plan),
                "recipe": dataclasses.asdict(self.recipe),
                "classes": class_ids_of(self.task, self.recipe),
                "settings": self.task.settings,
                "versions": library_versions(),
                "fingerprint": fingerprint,
                "images": {"learning": len(learning), "validation": len(validation)},
            })  # fmt: skip
            write_manifest(self.run_folder.manifest, dataset, validation)
        for note in dataset.notes:
            self._note(note)
        fabric.barrier()
        return dataset, learning, validation

    def _note(self, text: str) -> None:
        for line in text.splitlines():
            self.report(
                Progress(self.state.step, self.state.steps, math.nan, self._seconds(), None, note=line)
            )

    def _seconds(self) -> float:
        return time.monotonic() - self.begun

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let the first Ctrl-C end the step at hand; the second one ends at once."""

        def stop(_number: int, _frame: object) -> None:
            if self.stopping:
                raise KeyboardInterrupt
            self.stopping = True

        numbers = (signal.SIGINT, signal.SIGTERM)
        try:
            before = [signal.signal(number, stop) for number in numbers]
        except ValueError:  # not in the main thread: whoever runs us there stops us their way
            yield
            return
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)

    # ---------------------------------------------------------------------------------------------- steps

    def _batches(self, samples: Samples, objective: Objective, fabric: Any) -> Iterator[Batch]:  # noqa: ANN401
        """The batches from the step at hand on, until the last step; each device takes its share of each."""
        from segjudge.models.loading import batches  # noqa: PLC0415 - imports torch

        self.first_step, self.begun = self.state.step, time.monotonic()
        made = batches(
            samples, objective, self.state.step, self.recipe.batch, self.plan.workers, fabric.global_rank,
            fabric.world_size,
        )  # fmt: skip
        while self.state.steps is None or self.state.step < self.state.steps:
            yield next(made)

    def _step(
        self, fabric: Any, net: nn.Module, optimizer: Any, objective: Objective, batch: Batch  # noqa: ANN401
    ) -> None:  # fmt: skip
        import torch  # noqa: PLC0415

        state = self.state
        for group in optimizer.param_groups:
            group["lr"] = self._rate()
        batch = batch.to(fabric.device)
        outputs = net(batch.inputs.contiguous(memory_format=torch.channels_last))
        loss = objective.loss(outputs, batch)
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingError(
                f"The loss is {value} at step {state.step}.",
                "Begin another run with a lower --rate, or with --precision 32-true.",
            )
        optimizer.zero_grad(set_to_none=True)
        fabric.backward(loss)
        fabric.clip_gradients(net, optimizer, max_norm=_CLIP, error_if_nonfinite=False)
        optimizer.step()
        state.step += 1
        state.loss_sum += value
        state.loss_count += 1
        self.report(Progress(state.step, state.steps, value, self._seconds(), self._remaining()))

    def _rate(self) -> float:
        return rate_at(self.recipe.rate, self.state.step, self.state.steps)

    def _count_steps(self, validation: Validation) -> None:
        """Turn minutes into steps and epochs by the pace so far; from here on the run is one of so many steps.

        Where looking at the validation images takes long beside the minutes, there are fewer epochs.
        """
        state, whole = self.state, (self.plan.minutes or 0) * 60
        ready = state.step - self.first_step >= WARM or self._seconds() >= _TRIAL * whole
        # All devices must count the same: the first one's pace is everybody's.
        if not self.fabric.broadcast(ready):
            return
        pace = self._seconds() / (state.step - self.first_step)
        steps, epochs = dealt(whole, pace, *validation.seconds())
        steps = max(state.step + 1, self.first_step + steps)
        epochs = max(1, min(epochs, self.plan.epochs, steps - state.step))
        state.steps, state.epochs = self.fabric.broadcast((steps, epochs))
        state.counted = state.step
        if state.epochs < self.plan.epochs:
            self._note(
                f"--minutes {self.plan.minutes:g} is short: the metric is taken {_times(state.epochs)}."
            )

    def _remaining(self) -> float | None:
        done = self.state.step - self.first_step
        if self.state.steps is None or not done:
            return None
        return self._seconds() / done * (self.state.steps - self.state.step)

    def _ends(self) -> set[int]:
        """The steps after which an epoch ends."""
        state = self.state
        return set() if state.steps is None else epoch_ends(state.counted, state.steps, state.epochs)

    # --------------------------------------------------------------------------------------------- epochs

    def _pause(self, validation: Validation, parts: dict[str, Any]) -> None:
        """What happens between two steps: the end of an epoch, a stop that was asked for, or nothing."""
        if self.fabric.world_size > 1:  # or one would stop and the others wait for it
            self.stopping = self.fabric.broadcast(self.stopping)
        ended = self.state.step in self._ends()
        if ended and self.fabric.is_global_zero:
            self._epoch(validation)
        if self.state.steps is None:
            self._count_steps(validation)
        if (ended or self.stopping) and self.fabric.is_global_zero:
            save_state(self.run_folder.state, self.state, parts)
        if self.stopping:
            raise KeyboardInterrupt

    def _epoch(self, validation: Validation) -> None:
        """Take the metric, and the weights if they are the best so far."""
        state = self.state
        number = len(state.rows) + 1
        score = validation.epoch(number)
        row: dict[str, Any] = {
            "epoch": number,
            "step": state.step,
            "loss": round(state.loss_sum / max(1, state.loss_count), 6),
            "metric": score,
            "rate": round(self._rate(), 8),
            "seconds": round(self._seconds(), 1),
        }
        state.rows.append(row)
        state.loss_sum, state.loss_count = 0.0, 0
        if score is not None and score >= state.best:
            state.best = score
            validation.keep()
        self.run_folder.write_metrics(state.rows)
        self.report(Progress(state.step, state.steps, row["loss"], self._seconds(), self._remaining(), row))

    def _finish(self, validation: Validation) -> None:
        """Tune and judge once more, and write it all down."""
        scored = [row for row in self.state.rows if row["metric"] is not None]
        best = max(scored, key=lambda row: (row["metric"], row["epoch"]), default={"epoch": None})
        record = self.run_folder.read()
        record |= {"steps": self.state.steps, "best_epoch": best["epoch"], **validation.conclude()}
        record.pop("format", None)
        self.run_folder.write(record)


def _changed(recipe: Recipe, plan: Plan) -> Recipe:
    recipe = replace(recipe, batch=plan.batch or recipe.batch, rate=plan.rate or recipe.rate)
    return replace(recipe, flips=(), zoom=1.0) if plan.overfit else recipe


def _asked_steps(plan: Plan, recipe: Recipe, *, learnt: bool) -> int | None:
    """How many steps there are, None where minutes decide; `learnt`: the weights were learnt before."""
    if plan.steps is not None:
        return plan.steps
    if plan.minutes is not None:
        return None
    return recipe.steps if learnt else recipe.cold_steps


def _few_steps(epochs: int, steps: int) -> str:
    return f"There are fewer steps than --epochs {epochs}: the metric is taken after each, {_times(steps)}."


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
