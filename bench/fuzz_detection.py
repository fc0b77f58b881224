"""Tables for the kernels that match and count: sound ones, on which both twins agree, and damaged ones.

A damaged table is refused, or scored to nonsense; a kernel must not look beside it.
"""

import numpy as np

from segjudge import Masks, kernels
from segjudge.kernels import _detection_plain, _plain, _precision_plain

THRESHOLDS = np.linspace(0.5, 0.95, 10)
STRANGE = [-1, 0, 1, 7, 64, 1 << 31, 1 << 53, 1 << 62, -(1 << 63), (1 << 63) - 1]
#: Of each kernel the arguments that it takes on trust: runs are those of masks, and only added up.
KEPT = {"detection_overlaps": (0, 1, 7, 8), "overlap_pairs": (0, 1, 7, 8)}


def detection_kernels(data: bytes):
    """The kernels of detection and of average precision."""
    return _tables(data, DETECTION)


def matching_kernels(data: bytes):
    """The kernels that say which masks meet, and which of them are a match."""
    return _tables(data, MATCHING)


def _tables(data: bytes, tables):
    """Each kernel on tables that the bytes decide."""
    rng = np.random.default_rng(np.frombuffer(data + b"\0", np.uint8))
    seen = []
    for name, (_, make) in tables.items():
        arguments, options = make(rng)
        seen.append(_sizes(_agreed(name, arguments, options)))
        for _ in range(3):
            try:
                getattr(kernels, name)(*_damaged(name, arguments, rng), **options)
                seen.append("taken")
            except (ValueError, OverflowError) as error:
                seen.append(str(error)[:12])
    return tuple(seen[:3])


def _agreed(name, arguments, options):
    plain = (DETECTION | MATCHING)[name][0]
    results = [getattr(twin, name)(*arguments, **options) for twin in (kernels, plain)]
    fast, plain = ([r] if isinstance(r, np.ndarray) else r for r in results)
    for one, other in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(one, other)
    return fast


def _sizes(results):
    return tuple(min(result.size, 2) for result in results)


def _damaged(name, arguments, rng):
    """The arguments with one number or one length another."""
    changed = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    place = rng.integers(len(changed))
    while place in KEPT.get(name, ()):
        place = rng.integers(len(changed))
    value = changed[place]
    if not isinstance(value, np.ndarray):
        changed[place] = type(value)(rng.choice([-1, 0, 1, 65, 1000]))
    elif rng.integers(3) == 0 or not value.size:
        changed[place] = value[: len(value) - 1] if rng.integers(2) else np.concatenate([value, value[:1]])
    elif value.dtype == np.int64:
        value.reshape(-1)[rng.integers(value.size)] = STRANGE[rng.integers(len(STRANGE))]
    elif value.dtype == np.float64:
        value.reshape(-1)[rng.integers(value.size)] = rng.choice([np.nan, np.inf, -np.inf, -0.0, 2.0, 1e308])
    else:
        value.reshape(-1)[rng.integers(value.size)] = rng.integers(256)
    return changed


def _ranked(rng):
    count = rng.integers(0, 60)
    first = rng.choice([0, 1, 5, -3, 1 << 40, 1 << 62, -(1 << 63)], count)
    first = np.sort(first) if rng.integers(2) else first
    confidences = rng.choice([0.5, 0.25, -0.0, 0.0, 1e300, -np.inf], count)
    return [first, rng.integers(0, 3, count), confidences, rng.integers(0, 4, count)], {}


def _side(rng, height, width, sized):
    count = rng.integers(0, 6)
    masks = Masks.from_dense(rng.integers(0, 3, (count, height, width)) == 0, "column")
    if not sized:  # without a size all pixels are one line
        unknown = np.full((count, 2), -1)
        masks = Masks.from_runs("column", masks.starts, masks.stops, masks.indptr, unknown)
    keys = rng.integers(0, 3, count)
    order = np.argsort(keys, kind="stable").astype(np.int64)
    return [masks.starts, masks.stops, masks.indptr, masks.extents, masks.areas, order, keys[order]]


def _overlaps(rng):
    height, width = rng.integers(1, 7, 2)
    sized = rng.integers(4) > 0
    predictions, truths = _side(rng, height, width, sized), _side(rng, height, width, sized)
    crowd = rng.integers(0, 2, len(truths[4])).astype(np.uint8)
    return [*predictions, *truths, crowd, float(rng.choice([0.0, 0.3, 0.5, 1.0]))], {}


def _matches(rng):
    predictions, truths, ranges = rng.integers(1, 6), rng.integers(0, 5), rng.integers(1, 4)
    listed = [
        (prediction, truth)
        for prediction in rng.permutation(predictions)
        for truth in range(truths)
        if rng.integers(2)
    ]
    pairs = np.array(listed, np.int64).reshape(-1, 2).T.copy()
    iou = rng.choice([0.1, 0.5, 0.6, THRESHOLDS[2], 0.75, 0.95, 1.0], len(listed))
    flags = [
        rng.integers(0, 2, size).astype(np.uint8)
        for size in (truths, (truths, ranges), (predictions, ranges))
    ]
    return [pairs[0], pairs[1], iou, THRESHOLDS, *flags], {}


def _curves(rng):
    groups, ranges, count = rng.integers(1, 5), rng.integers(1, 3), rng.integers(0, 30)
    group = rng.integers(0, groups, count)
    confidences = rng.integers(0, 6, count) / 4
    kind = (np.uint16, np.uint64)[rng.integers(2)]
    hits, dropped = (rng.integers(0, 1024, (count, ranges)).astype(kind) for _ in range(2))
    most = np.bincount(group, minlength=groups)[:, None]
    truths = rng.integers(0, 9, (groups, ranges)) + most
    truths *= rng.integers(0, 3, truths.shape) > 0
    order = np.lexsort((-confidences, group)).astype(np.int64)
    levels = np.linspace(0, 1, rng.choice([0, 2, 11, 101]))
    caps = np.sort(rng.integers(1, 5, rng.integers(1, 4)))
    arguments = [
        order,
        group,
        confidences,
        rng.integers(0, 4, count),
        hits,
        dropped,
        truths,
        levels,
        10,
        caps,
    ]
    return arguments, {"whole": bool(rng.integers(2))}


def _averages(rng):
    groups, thresholds, count = rng.integers(1, 5), rng.choice([1, 10, 64]), rng.integers(0, 30)
    group = rng.integers(-1, groups, count)
    confidences = rng.integers(0, 6, count) / 4
    everything = (1 << int(thresholds)) - 1
    hits, dropped = (rng.integers(0, everything, count, np.uint64, endpoint=True) for _ in range(2))
    truths = np.bincount(group[group >= 0], minlength=groups) + rng.integers(0, 9, groups)
    order = np.argsort(-confidences, kind="stable").astype(np.int64)
    rule = str(rng.choice(["101", "step-area", "pycocotools"]))
    arguments = [order, group, confidences, hits, dropped, truths, int(thresholds)]
    return arguments, {"rule": rule, "apart": bool(rng.integers(2))}


def _meetings(rng):
    height, width = rng.integers(1, 7, 2)
    sized = rng.integers(4) > 0
    arguments = []
    for _ in range(2):
        *masks, order, keys = _side(rng, height, width, sized)
        arguments += [*masks, order, np.searchsorted(keys, np.arange(4))]
    numerator, denominator = [(0, 1), (1, 2), (19, 20), (999_983, 1_000_000)][rng.integers(4)]
    return [*arguments, numerator, denominator], {}


def _claims(rng):
    predictions, truths, count = rng.integers(1, 6), rng.integers(1, 6), rng.integers(0, 20)
    bits = rng.integers(0, (1 << 64) - 1, count, np.uint64, endpoint=True)
    pairs = rng.integers(0, predictions, count), rng.integers(0, truths, count)
    return [*pairs, bits, int(predictions), int(truths)], {}


def _pairings(rng):
    (first, *others), _ = _claims(rng)
    return [np.sort(first), *others, int(rng.choice([1, 10, 64]))], {}


#: Of each kernel the module of its twin, and what makes a sound table.
DETECTION = {
    "ranked_order": (_detection_plain, _ranked),
    "detection_overlaps": (_detection_plain, _overlaps),
    "match_detections": (_detection_plain, _matches),
    "detection_curves": (_detection_plain, _curves),
    "average_precisions": (_precision_plain, _averages),
}
MATCHING = {
    "overlap_pairs": (_plain, _meetings),
    "greedy_hits": (_plain, _claims),
    "one_to_one": (_plain, _pairings),
}
