"""Masks as runs, and the whole pixels that they share."""

from segjudge.integers import ragged
from segjudge.masks.overlaps import Overlaps, exceeding_bits
from segjudge.masks.runs import Masks, Order, mask_edges

__all__ = ["Masks", "Order", "Overlaps", "exceeding_bits", "mask_edges", "ragged"]
