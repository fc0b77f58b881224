"""The hot loops: integer arrays in, integer arrays out; compiled where the extension was built.

`SEGJUDGE_KERNELS=plain` in the environment chooses the numpy twins; `COMPILED` says which are in use.
What each function computes is told in `_plain`, `_detection_plain.py`, `_json_plain.py` and
`_precision_plain.py`. Each is loaded when it is first asked for: a pass over JSON begins before numpy has
been loaded.
"""

from __future__ import annotations

import importlib
import os
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from segjudge.kernels._words import (
    BAD,
    CLOSED,
    FARTHEST,
    FLOATS,
    INTEGERS,
    MORE,
    OPEN,
    QUOTED,
    UNREAD,
    UNSORTED,
    WIDE,
    Column,
    Field,
    Kind,
)

if TYPE_CHECKING:
    from segjudge.kernels._detection_plain import (
        detection_curves,
        detection_overlaps,
        match_detections,
        ranked_order,
    )
    from segjudge.kernels._json_plain import read_segments, scan_entries
    from segjudge.kernels._plain import (
        equal_to_previous,
        format_runs,
        greedy_hits,
        index_records,
        label_runs,
        mask_edges,
        one_to_one,
        overlap_pairs,
        parse_decimals,
        parse_integers,
        parse_runs,
    )
    from segjudge.kernels._precision_plain import average_precisions

__all__ = [
    "BAD",
    "CLOSED",
    "COMPILED",
    "FARTHEST",
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
    "average_precisions",
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

#: The extension of each kernel, and its twin in numpy.
_TABLES, _MEETING, _PICTURES = ("_tables", "_plain"), ("_meeting", "_plain"), ("_pictures", "_plain")
_DETECTION = ("_detection", "_detection_plain")
_ENTRIES, _SEGMENTS = ("_json", "_json_plain"), ("_segments", "_json_plain")
_PRECISION = ("_precision", "_precision_plain")
_HOMES = {
    "average_precisions": _PRECISION,
    "detection_curves": _DETECTION,
    "detection_overlaps": _DETECTION,
    "equal_to_previous": _TABLES,
    "format_runs": _TABLES,
    "greedy_hits": _MEETING,
    "index_records": _TABLES,
    "label_runs": _PICTURES,
    "mask_edges": _PICTURES,
    "match_detections": _DETECTION,
    "one_to_one": _MEETING,
    "overlap_pairs": _MEETING,
    "parse_decimals": _TABLES,
    "parse_integers": _TABLES,
    "parse_runs": _TABLES,
    "ranked_order": _DETECTION,
    "read_segments": _SEGMENTS,
    "scan_entries": _ENTRIES,
}

#: True when the compiled kernels are in use: all of them, or none where a compiler failed at one.
COMPILED: bool = os.environ.get("SEGJUDGE_KERNELS", "") != "plain" and all(
    find_spec(f"{__name__}.{compiled}")
    for compiled, _ in (_TABLES, _MEETING, _PICTURES, _DETECTION, _ENTRIES, _SEGMENTS, _PRECISION)
)


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any of the kernels
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    compiled, plain = _HOMES[name]
    kernel = getattr(importlib.import_module(f"{__name__}.{compiled if COMPILED else plain}"), name)
    globals()[name] = kernel
    return kernel
