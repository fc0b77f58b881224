"""Training: from a folder and a plan to a run, which can be stopped and gone on with at any step."""

from segjudge.models.training.beginning import train
from segjudge.models.training.state import Progress

__all__ = ["Progress", "train"]
