"""segjudge: check, score and explain submissions to image-segmentation competitions."""
