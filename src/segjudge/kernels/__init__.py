"""The hot loops: integer arrays in, integer arrays out; compiled where the extension was built.

`SEGJUDGE_KERNELS=plain` in the environment chooses the numpy twins; `COMPILED` says which are in use.
What each function computes is told in `_plain.py`, `_detection_plain.py` and `_json_plain.py`.
"""

from __future__ import annotations

import os

from segjudge.kernels import _detection_plain, _json_plain, _plain
from segjudge.kernels._json_plain import CLOSED, FLOATS, INTEGERS, MORE, UNREAD, Column, Field, Kind
from segjudge.kernels._plain import BAD, OPEN, QUOTED, UNSORTED, WIDE

__all__ = [
    "BAD",
    "CLOSED",
    "COMPILED",
    "FLOATS",
    "INTEGERS",
    "MORE",
    "OPEN",
    "QUOTED",
    "UNREAD",
    "UNSORTED",
    "WIDE",
    "Column",
    "Field",
    "Kind",
    "detection_curves",
    "detection_overlaps",
    "equal_to_previous",
    "format_runs",
    "greedy_hits",
    "index_records",
    "label_runs",
    "mask_edges",
    "match_detections",
    "one_to_one",
    "overlap_pairs",
    "parse_decimals",
    "parse_integers",
    "parse_runs",
    "ranked_order",
    "read_segments",
    "scan_entries",
]

_chosen, _detecting = _plain, _detection_plain
_scanning, _reading = _json_plain, _json_plain
if os.environ.get("SEGJUDGE_KERNELS", "") != "plain":
    try:
        from segjudge.kernels import _detection, _fast, _json, _segments  # type: ignore[attr-defined, unused-ignore]
    except ImportError:  # built without a compiler: same results, slower; `segjudge doctor` says so
        pass
    else:
        _chosen, _detecting, _scanning, _reading = _fast, _detection, _json, _segments

#: True when the compiled kernels are in use.
COMPILED: bool = _chosen is not _plain

detection_curves = _detecting.detection_curves
detection_overlaps = _detecting.detection_overlaps
equal_to_previous = _chosen.equal_to_previous
format_runs = _chosen.format_runs
greedy_hits = _chosen.greedy_hits
index_records = _chosen.index_records
label_runs = _chosen.label_runs
mask_edges = _chosen.mask_edges
match_detections = _detecting.match_detections
one_to_one = _chosen.one_to_one
overlap_pairs = _chosen.overlap_pairs
parse_decimals = _chosen.parse_decimals
parse_integers = _chosen.parse_integers
parse_runs = _chosen.parse_runs
ranked_order = _detecting.ranked_order
read_segments = _reading.read_segments
scan_entries = _scanning.scan_entries
