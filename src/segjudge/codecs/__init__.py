"""Text and arrays to masks and back: the run-length dialects of the pages, and COCO's."""

from segjudge.codecs.coco import CocoRle, counts_from_text
from segjudge.codecs.explaining import Problem
from segjudge.codecs.rle import Rle, Scratch

__all__ = ["CocoRle", "Problem", "Rle", "Scratch", "counts_from_text"]
