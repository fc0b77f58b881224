# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled kernels of COCO's detection metric; `_detection_plain.py` says what they compute.

Every public function checks the ranges it will index before it lets go of the GIL. The floats are divided
and compared exactly as COCO's own program does, one operation at a time.
"""

import numpy as np

from libc.math cimport isnan
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc

cdef double TINY = 2.0 ** -52  # in the denominator of a precision, as COCO has it

cdef int64_t SHORT = 12  # pieces of this length are sorted by insertion


# ------------------------------------------------------------------------------------------------ order


cdef struct Item:
    int64_t second
    double confidence
    int64_t row
    int64_t place


cdef inline bint _before(const Item* a, const Item* b) noexcept nogil:
    """Whether a stands strictly before b; places only grow, so that equals keep theirs in a stable sort."""
    if a.second != b.second:
        return a.second < b.second
    if a.confidence != b.confidence:
        return a.confidence > b.confidence
    return a.row < b.row


cdef void _sort(Item* items, Item* scratch, int64_t count) noexcept nogil:
    """Stable merge sort: short pieces by insertion, then pairs of pieces merged."""
    cdef int64_t low, middle, high, i, j, k, width = SHORT
    cdef Item item
    low = 0
    while low < count:
        high = min(low + SHORT, count)
        for i in range(low + 1, high):
            if not _before(&items[i], &items[i - 1]):
                continue
            item = items[i]
            j = i
            while j > low and _before(&item, &items[j - 1]):
                items[j] = items[j - 1]
                j -= 1
            items[j] = item
        low = high
    while width < count:
        low = 0
        while low + width < count:
            middle = low + width
            high = min(middle + width, count)
            if _before(&items[middle], &items[middle - 1]):
                for i in range(low, middle):
                    scratch[i - low] = items[i]
                i = 0
                j = middle
                k = low
                while i < middle - low and j < high:
                    if _before(&items[j], &scratch[i]):
                        items[k] = items[j]
                        j += 1
                    else:
                        items[k] = scratch[i]
                        i += 1
                    k += 1
                while i < middle - low:
                    items[k] = scratch[i]
                    i += 1
                    k += 1
            low += 2 * width
        width *= 2


def ranked_order(
    const int64_t[::1] first, const int64_t[::1] second, const double[::1] confidences, const int64_t[::1] rows
):
    cdef int64_t count = first.shape[0], i, k, begin, longest = 0
    if second.shape[0] != count or confidences.shape[0] != count or rows.shape[0] != count:
        raise ValueError("arrays differ in length")
    cdef bint ascending = True
    for i in range(count):
        if isnan(confidences[i]):
            raise ValueError("a confidence is not a number")
        if i and first[i] < first[i - 1]:
            ascending = False
    if ascending:
        order_array = np.arange(count, dtype=np.int64)
    else:
        order_array = _by_number(np.asarray(first))
    cdef int64_t[::1] order = order_array
    begin = 0
    for i in range(1, count + 1):
        if i == count or first[order[i]] != first[order[i - 1]]:
            longest = max(longest, i - begin)
            begin = i
    cdef Item* items = <Item*> malloc((2 * longest + 1) * sizeof(Item))
    if items == NULL:
        raise MemoryError
    with nogil:
        begin = 0
        while begin < count:
            i = begin
            while i < count and first[order[i]] == first[order[begin]]:
                k = order[i]
                items[i - begin].second = second[k]
                items[i - begin].confidence = confidences[k]
                items[i - begin].row = rows[k]
                items[i - begin].place = k
                i += 1
            _sort(items, items + longest, i - begin)
            for k in range(begin, i):
                order[k] = items[k - begin].place
            begin = i
    free(items)
    return order_array


def _by_number(numbers):
    """The stable order of whole numbers: by counting where they are small, as classes are."""
    cdef int64_t count = len(numbers), i, high = numbers.max(), low = numbers.min()
    if high - low > 4 * count + 1024:
        return np.argsort(numbers, kind="stable").astype(np.int64, copy=False)
    cdef const int64_t[::1] values = numbers
    heads_array = np.zeros(high - low + 2, np.int64)
    order_array = np.empty(count, np.int64)
    cdef int64_t[::1] heads = heads_array
    cdef int64_t[::1] order = order_array
    with nogil:
        for i in range(count):
            heads[values[i] - low + 1] += 1
        for i in range(high - low + 1):
            heads[i + 1] += heads[i]
        for i in range(count):
            order[heads[values[i] - low]] = i
            heads[values[i] - low] += 1
    return order_array


# --------------------------------------------------------------------------------------------- matching


cdef struct Candidate:
    int64_t truth
    uint64_t passed
    double iou
    bint aside


cdef inline bint _preferred(const Candidate* a, const Candidate* b) noexcept nogil:
    """Whether a, which stands behind b in the file, is chosen before it."""
    if a.aside != b.aside:
        return b.aside
    return a.iou >= b.iou


def match_detections(
    const int64_t[::1] predictions, const int64_t[::1] truths, const double[::1] iou,
    const double[::1] thresholds, int64_t n_predictions, const uint8_t[::1] crowd, const uint8_t[:, ::1] outside,
):
    cdef int64_t pairs = predictions.shape[0], n_truths = crowd.shape[0], ranges = outside.shape[1]
    cdef int64_t k, begin, end, part, i, j, most = 1
    cdef int count = thresholds.shape[0], t
    cdef uint64_t won, all_of_it
    cdef Candidate candidate
    if truths.shape[0] != pairs or iou.shape[0] != pairs or outside.shape[0] != n_truths:
        raise ValueError("arrays differ in length")
    if not 0 < count <= 64:
        raise ValueError("1 to 64 thresholds")
    begin = 0
    for k in range(pairs):
        if not (0 <= predictions[k] < n_predictions and 0 <= truths[k] < n_truths):
            raise ValueError("a pair names an instance that is not there")
        if k and predictions[k] != predictions[k - 1]:
            begin = k
        most = max(most, k - begin + 1)
    hits_array = np.zeros((n_predictions, ranges), np.uint64)
    ignored_array = np.zeros((n_predictions, ranges), np.uint64)
    found_array = np.zeros((n_truths, ranges), np.uint64)
    cdef uint64_t[:, ::1] hits = hits_array
    cdef uint64_t[:, ::1] ignored = ignored_array
    cdef uint64_t[:, ::1] found = found_array
    cdef Candidate* chosen = <Candidate*> malloc(most * sizeof(Candidate))
    cdef uint64_t* passed = <uint64_t*> malloc(most * sizeof(uint64_t))
    if chosen == NULL or passed == NULL:
        free(chosen)
        free(passed)
        raise MemoryError
    with nogil:
        begin = 0
        while begin < pairs:
            end = begin
            all_of_it = 0
            while end < pairs and predictions[end] == predictions[begin]:
                won = 0
                for t in range(count):
                    if iou[end] >= thresholds[t]:
                        won |= <uint64_t> 1 << t
                passed[end - begin] = won
                all_of_it |= won
                end += 1
            for part in range(ranges if all_of_it else 0):
                i = 0
                for k in range(begin, end):
                    if not passed[k - begin]:
                        continue
                    candidate.truth = truths[k]
                    candidate.passed = passed[k - begin]
                    candidate.iou = iou[k]
                    candidate.aside = outside[truths[k], part] != 0
                    j = i
                    while j > 0 and _preferred(&candidate, &chosen[j - 1]):
                        chosen[j] = chosen[j - 1]
                        j -= 1
                    chosen[j] = candidate
                    i += 1
                all_of_it = 0
                for j in range(i):
                    k = chosen[j].truth
                    won = chosen[j].passed & ~all_of_it
                    if not crowd[k]:
                        won &= ~found[k, part]
                    all_of_it |= won
                    found[k, part] |= won
                    if chosen[j].aside:
                        ignored[predictions[begin], part] |= won
                    else:
                        hits[predictions[begin], part] |= won
            begin = end
    free(chosen)
    free(passed)
    return hits_array, ignored_array, found_array


# ----------------------------------------------------------------------------------------------- curves


def detection_curves(
    const int64_t[::1] order, const int64_t[::1] groups, const double[::1] confidences,
    const int64_t[::1] ranks, const uint64_t[:, ::1] hits, const uint64_t[:, ::1] dropped,
    const int64_t[:, ::1] truths, const double[::1] levels, int thresholds, int64_t cap, *, bint whole,
):
    cdef int64_t rows = groups.shape[0], count = order.shape[0], ranges = truths.shape[1], n = truths.shape[0]
    cdef int64_t i, k, begin, end, group, part, longest = 1, steps = levels.shape[0]
    if (
        confidences.shape[0] != rows or ranks.shape[0] != rows or hits.shape[0] != rows
        or dropped.shape[0] != rows or hits.shape[1] != ranges or dropped.shape[1] != ranges
    ):
        raise ValueError("arrays differ in length")
    if not 0 < thresholds <= 64:
        raise ValueError("1 to 64 thresholds")
    for i in range(steps):
        if not 0 <= levels[i] <= 1 or (i and levels[i] < levels[i - 1]):
            raise ValueError("recall levels ascend from 0 to 1")
    begin = 0
    for i in range(count):
        if not 0 <= order[i] < rows:
            raise ValueError("order names a prediction that is not there")
        group = groups[order[i]]
        if not 0 <= group < n or (i and group < groups[order[i - 1]]):
            raise ValueError("groups are not ascending, or not there")
        if i and group != groups[order[i - 1]]:
            begin = i
        longest = max(longest, i - begin + 1)
    for group in range(n):
        for part in range(ranges):
            if truths[group, part] < 0:
                raise ValueError("a number of truths is negative")
    shape = (n, ranges, thresholds)
    full = (*shape, steps) if whole else (0, ranges, thresholds, steps)
    average_array, recall_array = np.full(shape, -1.0), np.full(shape, -1.0)
    precision_array, confidence_array = np.full(full, -1.0), np.full(full, -1.0)
    cdef Curves out
    cdef double[:, :, ::1] average = average_array
    cdef double[:, :, ::1] recall = recall_array
    cdef double[:, :, :, ::1] precision = precision_array
    cdef double[:, :, :, ::1] confidence = confidence_array
    cdef double* room = <double*> malloc((2 * longest * thresholds) * sizeof(double))
    cdef int64_t* needed = <int64_t*> malloc((steps + 1) * sizeof(int64_t))
    cdef int64_t* kept = <int64_t*> malloc(longest * sizeof(int64_t))
    if room == NULL or needed == NULL or kept == NULL:
        free(room)
        free(needed)
        free(kept)
        raise MemoryError
    out.best = room
    out.at = room + longest * thresholds
    out.room = longest
    with nogil:
        begin = 0
        for group in range(n):
            end = begin
            k = 0
            while end < count and groups[order[end]] == group:
                if ranks[order[end]] < cap:
                    kept[k] = order[end]
                    k += 1
                end += 1
            begin = end
            for part in range(ranges):
                if truths[group, part] == 0:
                    continue
                _levels(levels, truths[group, part], needed)
                _walk(&out, kept, k, part, hits, dropped, confidences, thresholds)
                for i in range(thresholds):
                    recall[group, part, i] = <double> out.tp[i] / <double> truths[group, part]
                    average[group, part, i] = _fill(
                        &out, i, needed, steps, confidences[kept[0]] if k else 0.0,
                        &precision[group, part, i, 0] if whole and steps else NULL,
                        &confidence[group, part, i, 0] if whole and steps else NULL,
                    )
    free(room)
    free(needed)
    free(kept)
    return average_array, recall_array, precision_array, confidence_array


cdef struct Curves:
    double* best  # (T, room) precision at each true positive, later the best from there on
    double* at  # (T, room) confidence of each true positive
    int64_t room
    int64_t[64] tp
    int64_t[64] extra


cdef void _levels(const double[::1] levels, int64_t truths, int64_t* needed) noexcept nogil:
    """How many true positives reach each recall level; levels ascend."""
    cdef int64_t step, guess = 0
    cdef double level
    for step in range(levels.shape[0]):
        level = levels[step]
        guess = <int64_t> (level * truths)
        while guess > 0 and <double> (guess - 1) / <double> truths >= level:
            guess -= 1
        while <double> guess / <double> truths < level:
            guess += 1
        needed[step] = guess


cdef void _walk(
    Curves* out, const int64_t* kept, int64_t count, int64_t part, const uint64_t[:, ::1] hits,
    const uint64_t[:, ::1] dropped, const double[::1] confidences, int thresholds,
) noexcept nogil:
    """True positives with the precision at each; a prediction that hits nothing costs one addition."""
    cdef uint64_t everywhere = ~<uint64_t> 0 if thresholds == 64 else (<uint64_t> 1 << thresholds) - 1
    cdef uint64_t hit, aside
    cdef int64_t i, t, common = 0
    cdef double tp, fp
    for t in range(thresholds):
        out.tp[t] = 0
        out.extra[t] = 0
    for i in range(count):
        aside = dropped[kept[i], part] & everywhere
        hit = hits[kept[i], part] & everywhere & ~aside
        if hit == 0 and aside == 0:
            common += 1
            continue
        if aside == everywhere:
            continue
        for t in range(thresholds):
            if aside >> t & 1:
                continue
            out.extra[t] += 1
            if hit >> t & 1:
                out.tp[t] += 1
                tp = <double> out.tp[t]
                fp = <double> (common + out.extra[t] - out.tp[t])
                out.best[t * out.room + out.tp[t] - 1] = tp / (fp + tp + TINY)
                out.at[t * out.room + out.tp[t] - 1] = confidences[kept[i]]


cdef double _fill(
    Curves* out, int64_t t, const int64_t* needed, int64_t steps, double first,
    double* precision, double* confidence,
) noexcept nogil:
    """The mean over the recall levels of the best precision at each or later."""
    cdef double* best = out.best + t * out.room
    cdef double* at = out.at + t * out.room
    cdef int64_t tp = out.tp[t], i, place
    cdef double total = 0, value, where
    for i in range(tp - 1, 0, -1):
        if best[i] > best[i - 1]:
            best[i - 1] = best[i]
    for i in range(steps):
        place = needed[i] - 1
        if place >= tp:
            value = 0
            where = 0
        else:
            # Level 0 is reached before the first true positive, by the first prediction.
            value = best[max(place, 0)] if tp else 0
            where = at[place] if place >= 0 else first
        total += value
        if precision != NULL:
            precision[i] = value
            confidence[i] = where
    return total / steps if steps else 0
