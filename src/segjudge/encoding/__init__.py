"""From masks to a submission and back: one image at a time in Python, whole folders on the command line."""

from segjudge.encoding.folders import MaskFolder, open_masks
from segjudge.encoding.pictures import write_pictures
from segjudge.encoding.sample import write_sample
from segjudge.encoding.writer import SubmissionWriter, refuse_path, write_submission

__all__ = [
    "MaskFolder",
    "SubmissionWriter",
    "open_masks",
    "refuse_path",
    "write_pictures",
    "write_sample",
    "write_submission",
]
