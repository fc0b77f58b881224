"""Mask pictures and label maps: PNG and TIFF, the header first, nothing decoded before its size is known."""

from segjudge.formats.pictures.decoding import MAX_PIXELS
from segjudge.formats.pictures.faults import PictureFault
from segjudge.formats.pictures.labels import picture_size, read_label_map
from segjudge.formats.pictures.masks import MaskPicture, read_mask

__all__ = ["MAX_PIXELS", "MaskPicture", "PictureFault", "picture_size", "read_label_map", "read_mask"]
