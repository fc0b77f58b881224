"""Pictures, masks and label maps: PNG, JPEG, TIFF; nothing is decoded before its size is known."""

from segjudge.formats.pictures.colours import colour_size, read_colours
from segjudge.formats.pictures.decoding import MAX_PIXELS
from segjudge.formats.pictures.faults import PictureFault
from segjudge.formats.pictures.labels import picture_size, read_label_map
from segjudge.formats.pictures.masks import MaskPicture, read_mask

__all__ = [
    "MAX_PIXELS",
    "MaskPicture",
    "PictureFault",
    "colour_size",
    "picture_size",
    "read_colours",
    "read_label_map",
    "read_mask",
]
