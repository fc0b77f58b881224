"""The competitions' folders as they are shipped: pictures and truth by place, and splits that do not leak.

>>> import tempfile
>>> from pathlib import Path
>>> from segjudge.data import make
>>> from segjudge.datasets import open_dataset, split
>>> from segjudge.task import load_task
>>> with tempfile.TemporaryDirectory() as folder:
...     make("emoji", Path(folder, "set"), images=4, seed=1)
...     dataset = open_dataset(load_task("emoji"), Path(folder, "set"), need_truth=True)
...     dataset.image_ids[0], dataset.picture(0).shape, dataset.truth(0).shape
('train_0', (192, 192, 3), (192, 192, 1))
>>> split(dataset, fold=0, folds=2, seed=1)
([1, 3], [0, 2])
"""

from __future__ import annotations

from segjudge.datasets.dataset import Dataset
from segjudge.datasets.opening import open_dataset
from segjudge.datasets.splitting import split
from segjudge.datasets.truths import Labels

__all__ = ["Dataset", "Labels", "open_dataset", "split"]
