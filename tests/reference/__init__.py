"""The slow, obvious reference: the four pages in sets and fractions, one loop per sentence.

Nothing here imports segjudge. It is a witness for the fast code, so every line should be checkable by
reading a page beside it. Exact arithmetic throughout; the one exception is `recall="pycocotools"`, whose
floats are the point.
"""
