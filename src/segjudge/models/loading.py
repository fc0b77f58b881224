"""Batches one after another, made in this process or ahead of time by others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.utils.data import DataLoader, IterableDataset

if TYPE_CHECKING:
    from collections.abc import Iterator

    from segjudge.models.losses import Batch, Objective
    from segjudge.models.samples import Samples

__all__ = ["batches"]


class _Steps(IterableDataset):
    """The batches from a step on, without end; several workers take turns."""

    def __init__(self, samples: Samples, objective: Objective, first: int, slots: range) -> None:
        self._samples = samples
        self._objective = objective
        self._first = first
        self._slots = slots

    def __iter__(self) -> Iterator[Batch]:
        from torch.utils.data import get_worker_info  # noqa: PLC0415 - known inside of a worker only

        worker = get_worker_info()
        step, stride = (self._first, 1) if worker is None else (self._first + worker.id, worker.num_workers)
        while True:
            yield self._objective.batch([self._samples.crop(step, slot) for slot in self._slots])
            step += stride


def batches(
    samples: Samples, objective: Objective, first: int, batch: int, workers: int, rank: int, ranks: int
) -> Iterator[Batch]:
    """The batches from step `first` on, of `batch` crops over all `ranks`; this rank's share of each."""
    slots = range(rank, batch, ranks)
    return iter(DataLoader(_Steps(samples, objective, first, slots), batch_size=None, num_workers=workers))
