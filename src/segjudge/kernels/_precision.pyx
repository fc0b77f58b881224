# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Average precision of many curves, compiled; `_precision_plain.py` says what is computed.

Only where a prediction hits can a curve rise, so the others are counted and not looked at again. Floats are
divided one operation at a time, and sums are rounded once, as `math.fsum` rounds them.
"""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc

cdef enum:
    LEVELS = 101
    INTERPOLATED = 0
    STEP_AREA = 1
    PYCOCOTOOLS = 2
    PARTS = 96  # of a sum that spans 160 bits at most: no two of its parts are neighbours

RULES = ("101", "step-area", "pycocotools")

cdef double TINY = 2.0 ** -52  # in the denominator of a precision, as COCO has it
cdef int64_t MANY = <int64_t> 1 << 52  # truths: twice as many are still a float


cdef struct Item:
    # A prediction of a group that hits or is dropped at some threshold.
    uint64_t hit
    uint64_t aside
    int64_t begin  # predictions of the group in front of its run of equal confidence
    int64_t end  # and up to the end of that run


def average_precisions(
    const int64_t[::1] order, const int64_t[::1] groups, const double[::1] confidences,
    const uint64_t[::1] hits, const uint64_t[::1] dropped, const int64_t[::1] truths,
    int thresholds, rule, *, bint apart,
):
    cdef int64_t rows = groups.shape[0], count = order.shape[0], n = truths.shape[0], i, longest = 0, group
    if confidences.shape[0] != rows or hits.shape[0] != rows or dropped.shape[0] != rows:
        raise ValueError("arrays differ in length")
    if not 0 < thresholds <= 64:
        raise ValueError("1 to 64 thresholds")
    if rule not in RULES:
        raise ValueError("there is no such rule")
    cdef int how = RULES.index(rule), status = 0
    cdef int64_t[::1] heads = np.zeros(n + 1, np.int64)  # group -1 stands first
    cdef int64_t[::1] chosen = np.empty(count, np.int64)  # the groups in order
    for i in range(count):
        if not 0 <= order[i] < rows:
            raise ValueError("order names a prediction that is not there")
        group = groups[order[i]]
        if not -1 <= group < n:
            raise ValueError("a group is not there")
        chosen[i] = group
        heads[group + 1] += 1
    for group in range(n):
        if not 0 <= truths[group] <= MANY:
            raise ValueError("a number of truths is negative, or no float")
        longest = max(longest, heads[group + 1])
    average_array = np.zeros((n, thresholds))
    cdef double[:, ::1] average = average_array
    cdef double[::1] levels = np.linspace(0.0, 1.0, LEVELS)
    cdef int64_t[::1] members = _by_group(order, chosen, heads)
    cdef Item* items = <Item*> malloc((longest + 1) * sizeof(Item))
    if items == NULL:
        raise MemoryError
    with nogil:
        for group in range(n):
            if truths[group] == 0 or heads[group] == heads[group + 1]:
                continue
            status |= _curves(
                &members[heads[group]], heads[group + 1] - heads[group], confidences, hits, dropped, truths[group],
                thresholds, how, apart, &levels[0], items, &average[group, 0],
            )
    free(items)
    if status:
        raise ValueError("there are more hits than truths")
    return average_array


cdef _by_group(const int64_t[::1] order, const int64_t[::1] chosen, int64_t[::1] heads):
    """The predictions by group, in order; `heads` turn from the groups' sizes to where group g starts."""
    cdef int64_t i, group, at = 0, size
    members_array = np.empty(order.shape[0], np.int64)
    cdef int64_t[::1] members = members_array
    with nogil:
        for group in range(heads.shape[0]):
            size = heads[group]
            heads[group] = at
            at += size
        for i in range(order.shape[0]):
            group = chosen[i] + 1
            members[heads[group]] = order[i]
            heads[group] += 1
    return members_array


cdef int _curves(
    const int64_t* members, int64_t count, const double[::1] confidences, const uint64_t[::1] hits,
    const uint64_t[::1] dropped, int64_t truths, int thresholds, int how, bint apart, const double* levels,
    Item* items, double* average,
) noexcept nogil:
    """The average precision of one group at every threshold; 1 where it has more hits than truths."""
    cdef uint64_t everywhere = ~<uint64_t> 0 if thresholds == 64 else (<uint64_t> 1 << thresholds) - 1
    cdef uint64_t found = 0, turns = 0, hit, aside  # in `turns` bit t: threshold t is not like t + 1
    cdef int64_t n = 0, first = 0, begin = 0, i, k
    cdef int threshold, status = 0
    for i in range(count):
        k = members[i]
        if i and (apart or confidences[k] != confidences[members[i - 1]]):
            while first < n:
                items[first].end = i
                first += 1
            begin = i
        aside = dropped[k] & everywhere
        hit = hits[k] & everywhere & ~aside
        if hit | aside:
            items[n].hit = hit
            items[n].aside = aside
            items[n].begin = begin
            n += 1
            found |= hit
            turns |= (hit ^ hit >> 1) | (aside ^ aside >> 1)
    while first < n:
        items[first].end = count
        first += 1
    for threshold in range(thresholds):
        if not found >> threshold & 1:
            continue
        if threshold and not turns >> (threshold - 1) & 1:
            average[threshold] = average[threshold - 1]
        elif how == STEP_AREA:
            status |= _step_area(items, n, threshold, truths, &average[threshold])
        else:
            status |= _interpolated(items, n, threshold, truths, how, levels, &average[threshold])
    return status


cdef int _interpolated(
    const Item* items, int64_t n, int threshold, int64_t truths, int how, const double* levels, double* average,
) noexcept nogil:
    """The mean over recall levels of the best precision at each or later: from the last point to the first.

    The points between two items repeat the recall of the earlier one at no better precision. So does that of
    an item that hits nothing at this threshold, and may as well be looked at.
    """
    cdef int64_t tp = 0, gone = 0, i, end, top, limit, reached
    cdef double tiny = TINY if how == PYCOCOTOOLS else 0, best = 0, precision
    cdef Sum total
    total.count = 0
    for i in range(n):
        gone += items[i].aside >> threshold & 1
        tp += items[i].hit >> threshold & 1
    if tp > truths:
        return 1
    top = _reached(tp, truths, how, levels)  # the levels that are not yet added
    limit = _needed(top - 1, truths, how, levels)
    i = n - 1
    while tp:
        if tp < limit:
            reached = _reached(tp, truths, how, levels)
            _add_copies(&total, best, top - reached)
            top = reached
            limit = _needed(top - 1, truths, how, levels)
        end = items[i].end
        precision = <double> tp / (<double> (end - gone) + tiny)
        best = precision if precision > best else best
        while i >= 0 and items[i].end == end:
            gone -= items[i].aside >> threshold & 1
            tp -= items[i].hit >> threshold & 1
            i -= 1
    _add_copies(&total, best, top)
    average[0] = _rounded(&total) / LEVELS
    return 0


cdef inline int64_t _reached(int64_t tp, int64_t truths, int how, const double* levels) noexcept nogil:
    """How many recall levels so many true positives reach."""
    cdef int64_t number
    cdef double recall
    if how == INTERPOLATED:
        return 100 * tp // truths + 1
    recall = <double> tp / <double> truths
    number = <int64_t> (recall * (LEVELS - 1))
    while number > 0 and levels[number - 1] > recall:
        number -= 1
    while number < LEVELS and levels[number] <= recall:
        number += 1
    return number


cdef inline int64_t _needed(int64_t level, int64_t truths, int how, const double* levels) noexcept nogil:
    """How many true positives reach a recall level."""
    cdef int64_t number
    if how == INTERPOLATED:
        return (level * truths + 99) // 100
    number = <int64_t> (levels[level] * truths)
    while number > 0 and <double> (number - 1) / <double> truths >= levels[level]:
        number -= 1
    while <double> number / <double> truths < levels[level]:
        number += 1
    return number


cdef int _step_area(
    const Item* items, int64_t n, int threshold, int64_t truths, double* average
) noexcept nogil:
    """Raw precision times half the recall between the neighbouring points.

    That is nothing for a point whose neighbours found as much. Three kinds of points remain: those with a
    new hit, those in front of one, and the artificial one that begins the curve.
    """
    cdef int64_t tp = 0, gone = 0, i = 0, end, kept
    cdef int64_t found = 0, before = 0, at = 0  # of the last point with a new hit: tp, tp in front, its end
    cdef double precision = 1
    cdef bint between
    cdef Sum total
    total.count = 0
    while i < n:
        end = items[i].end
        kept = items[i].begin - gone
        # Whether there are points between the last new hit and this run, of which the last one counts.
        between = kept > 0 and items[i].begin != at
        while i < n and items[i].end == end:
            gone += items[i].aside >> threshold & 1
            tp += items[i].hit >> threshold & 1
            i += 1
        if tp == found:
            continue
        if between:
            _add(&total, precision * <double> (found - before))
            _add(&total, <double> found / <double> kept * <double> (tp - found))
        else:
            _add(&total, precision * <double> (tp - before))
        precision = <double> tp / <double> (end - gone)
        before = found
        found = tp
        at = end
    if tp > truths:
        return 1
    _add(&total, precision * <double> (found - before))
    average[0] = _rounded(&total) / <double> (2 * truths)
    return 0


# ------------------------------------------------------------------------------------------------- sums


cdef struct Sum:
    # Parts that add to the sum exactly, from the smallest to the greatest (Shewchuk's expansions).
    double parts[PARTS]
    int count


cdef inline void _add(Sum* total, double value) noexcept nogil:
    """Adds a number that is not negative, without any error."""
    cdef int i, kept = 0
    cdef double other, both, error
    if value == 0:
        return
    for i in range(total.count):
        other = total.parts[i]
        if fabs(value) < fabs(other):
            value, other = other, value
        both = value + other
        error = other - (both - value)
        if error != 0:
            total.parts[kept] = error
            kept += 1
        value = both
    total.parts[kept] = value
    total.count = kept + 1


cdef inline void _add_copies(Sum* total, double value, int64_t copies) noexcept nogil:
    """Adds a number so many times: doubling it makes no error."""
    while copies > 0:
        if copies & 1:
            _add(total, value)
        value += value
        copies >>= 1


cdef inline double _rounded(const Sum* total) noexcept nogil:
    """The sum as the nearest float, half-way cases to the even one."""
    cdef int i = total.count - 1
    cdef double high, low = 0, other, twice
    if i < 0:
        return 0
    high = total.parts[i]
    while i > 0 and low == 0:
        i -= 1
        other = total.parts[i]
        twice = high + other
        low = other - (twice - high)
        high = twice
    # What is left over is half a unit, and parts below it push it beyond the half.
    if i > 0 and low != 0 and (low > 0) == (total.parts[i - 1] > 0):
        other = 2 * low
        twice = high + other
        if twice - high == other:
            high = twice
    return high
