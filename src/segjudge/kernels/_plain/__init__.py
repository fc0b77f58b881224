"""The kernels in numpy: what they compute, said plainly; the oracle of the compiled ones, and their stand-in.

Each function takes and gives integer arrays. Text is an array of bytes; a *cell* is the half-open range
`begins[i]:ends[i]` of it. Runs are half-open ranges `starts[k]:stops[k]` of pixel numbers from 0; the
runs of mask i are `indptr[i]:indptr[i + 1]`. A box is (first line, line behind the last, first place in
a line, place behind the last).
"""

from segjudge.kernels._plain.meeting import greedy_hits, one_to_one, overlap_pairs, shared_pixels
from segjudge.kernels._plain.pictures import label_runs, mask_edges
from segjudge.kernels._plain.tables import (
    equal_to_previous,
    format_runs,
    index_records,
    parse_decimals,
    parse_integers,
    parse_runs,
)

__all__ = [
    "equal_to_previous",
    "format_runs",
    "greedy_hits",
    "index_records",
    "label_runs",
    "mask_edges",
    "one_to_one",
    "overlap_pairs",
    "parse_decimals",
    "parse_integers",
    "parse_runs",
    "shared_pixels",
]
