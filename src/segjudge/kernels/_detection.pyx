# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled kernels of COCO's detection metric; `_detection_plain.py` says what they compute.

Every public function checks the ranges it will index before it lets go of the GIL. The floats are divided
and compared exactly as COCO's own program does, one operation at a time.
"""

import numpy as np

from libc.math cimport isnan
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport free, malloc

from segjudge.kernels._runs cimport shared_pixels

ctypedef fused bits_t:
    uint16_t
    uint64_t

cdef double TINY = 2.0 ** -52  # in the denominator of a precision, as COCO has it

cdef int64_t FAR = <int64_t> 1 << 31  # no image has so many lines, or such long ones
cdef int64_t MANY = <int64_t> 1 << 53  # whole numbers up to here are floats, all of them
cdef int64_t LARGE = <int64_t> 1 << 61  # pixels: two areas of no more can be added
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
    if <uint64_t> high - <uint64_t> low > <uint64_t> (4 * count + 1024):
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


# --------------------------------------------------------------------------------------------- overlaps


cdef inline double _iou(int64_t shared, int64_t area, int64_t truth_area, bint crowd) noexcept nogil:
    return <double> shared / <double> (area if crowd else area + truth_area - shared)


cdef int _check_side(
    const int64_t[::1] starts, const int64_t[::1] stops, const int64_t[::1] indptr, const int64_t[:, ::1] boxes,
    const int64_t[::1] areas, const int64_t[::1] order, const int64_t[::1] keys,
) except -1:
    cdef int64_t n = indptr.shape[0] - 1, i, k
    if (
        n < 0 or boxes.shape[0] != n or boxes.shape[1] != 4 or starts.shape[0] != stops.shape[0]
        or areas.shape[0] != n or order.shape[0] != keys.shape[0]
    ):
        raise ValueError("arrays differ in length")
    if indptr[0] < 0 or indptr[n] > starts.shape[0]:
        raise ValueError("indptr leaves the runs")
    for i in range(n):
        if indptr[i + 1] < indptr[i]:
            raise ValueError("indptr is not ascending")
        if not 0 <= areas[i] <= LARGE:
            raise ValueError("an area is negative, or larger than any")
        for k in range(4):
            if not 0 <= boxes[i, k] <= 2 * LARGE:
                raise ValueError("a box lies beyond all images")
    for i in range(order.shape[0]):
        if not 0 <= order[i] < n:
            raise ValueError("order names a mask that is not there")
        if i and keys[i] < keys[i - 1]:
            raise ValueError("keys are not ascending")
    return 0


def detection_overlaps(
    const int64_t[::1] starts, const int64_t[::1] stops, const int64_t[::1] indptr, const int64_t[:, ::1] boxes,
    const int64_t[::1] areas, const int64_t[::1] order, const int64_t[::1] keys,
    const int64_t[::1] truth_starts, const int64_t[::1] truth_stops, const int64_t[::1] truth_indptr,
    const int64_t[:, ::1] truth_boxes, const int64_t[::1] truth_areas, const int64_t[::1] truth_order,
    const int64_t[::1] truth_keys, const uint8_t[::1] crowd, double least,
):
    _check_side(starts, stops, indptr, boxes, areas, order, keys)
    _check_side(truth_starts, truth_stops, truth_indptr, truth_boxes, truth_areas, truth_order, truth_keys)
    if crowd.shape[0] != truth_areas.shape[0]:
        raise ValueError("arrays differ in length")
    cdef int64_t n = keys.shape[0], m = truth_keys.shape[0]
    cdef int64_t i, j, p, q, first = 0, last = 0, lines, places, shared, most, found = 0, room = 0
    cdef const int64_t* box
    cdef const int64_t* other
    cdef double iou
    for i in range(n):
        if i == 0 or keys[i] != keys[i - 1]:
            _group(truth_keys, keys[i], &first, &last)
        room += last - first
    place_array = np.empty(room, np.int64)
    truth_array = np.empty(room, np.int64)
    iou_array = np.empty(room, np.float64)
    cdef int64_t[::1] chosen = place_array
    cdef int64_t[::1] truths = truth_array
    cdef double[::1] values = iou_array
    first = last = 0
    with nogil:
        for i in range(n if m else 0):
            if i == 0 or keys[i] != keys[i - 1]:
                _group(truth_keys, keys[i], &first, &last)
            p = order[i]
            if indptr[p] == indptr[p + 1]:
                continue
            box = &boxes[p, 0]
            for j in range(first, last):
                q = truth_order[j]
                other = &truth_boxes[q, 0]
                lines = min(box[1], other[1]) - max(box[0], other[0])
                places = min(box[3], other[3]) - max(box[2], other[2])
                if lines <= 0 or places <= 0 or truth_indptr[q] == truth_indptr[q + 1]:
                    continue
                most = min(areas[p], truth_areas[q])
                if lines < FAR and places < FAR:  # a line of unknown length says nothing
                    most = min(most, lines * places)
                if _iou(most, areas[p], truth_areas[q], crowd[q]) < least:
                    continue
                shared = shared_pixels(
                    &starts[0], &stops[0], indptr[p], indptr[p + 1],
                    &truth_starts[0], &truth_stops[0], truth_indptr[q], truth_indptr[q + 1],
                )
                iou = _iou(shared, areas[p], truth_areas[q], crowd[q])
                if shared and iou >= least:
                    chosen[found] = i
                    truths[found] = q
                    values[found] = iou
                    found += 1
    return place_array[:found], truth_array[:found], iou_array[:found]


cdef inline void _group(const int64_t[::1] keys, int64_t key, int64_t* first, int64_t* last) noexcept nogil:
    """Where the keys that equal this one stand; keys ascend, and so do the calls."""
    first[0] = last[0]
    while first[0] < keys.shape[0] and keys[first[0]] < key:
        first[0] += 1
    last[0] = first[0]
    while last[0] < keys.shape[0] and keys[last[0]] == key:
        last[0] += 1


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
    const double[::1] thresholds, const uint8_t[::1] crowd, const uint8_t[:, ::1] outside,
    const uint8_t[:, ::1] apart,
):
    cdef int64_t n_predictions = apart.shape[0]
    cdef int64_t pairs = predictions.shape[0], n_truths = crowd.shape[0], ranges = outside.shape[1]
    cdef int64_t k, begin, end, part, i, j, most = 1
    cdef int count = thresholds.shape[0], t
    cdef uint64_t won, all_of_it
    cdef Candidate candidate
    if (
        truths.shape[0] != pairs or iou.shape[0] != pairs or outside.shape[0] != n_truths
        or apart.shape[1] != ranges
    ):
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
    dropped_array = np.zeros((n_predictions, ranges), np.uint64)
    found_array = np.zeros((n_truths, ranges), np.uint64)
    cdef uint64_t[:, ::1] hits = hits_array
    cdef uint64_t[:, ::1] dropped = dropped_array
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
                        dropped[predictions[begin], part] |= won
                    else:
                        hits[predictions[begin], part] |= won
            begin = end
        all_of_it = ~<uint64_t> 0 if count == 64 else (<uint64_t> 1 << count) - 1
        for k in range(n_predictions):
            for part in range(ranges):
                if apart[k, part]:
                    dropped[k, part] |= all_of_it & ~hits[k, part]
    free(chosen)
    free(passed)
    return hits_array, dropped_array, found_array


# ----------------------------------------------------------------------------------------------- curves


def detection_curves(
    const int64_t[::1] order, const int64_t[::1] groups, const double[::1] confidences,
    const int64_t[::1] ranks, const bits_t[:, ::1] hits, const bits_t[:, ::1] dropped,
    const int64_t[:, ::1] truths, const double[::1] levels, int thresholds,
    const int64_t[::1] caps, *, bint whole,
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
    if caps.shape[0] < 1:
        raise ValueError("there is at least one cap")
    for i in range(1, caps.shape[0]):
        if caps[i] < caps[i - 1]:
            raise ValueError("caps ascend")
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
            if not 0 <= truths[group, part] <= MANY:
                raise ValueError("a number of truths is negative, or no float")
    shape = (n, ranges, thresholds)
    full = (*shape, steps) if whole else (0, ranges, thresholds, steps)
    average_array, recall_array = np.full(shape, -1.0), np.full((*shape, caps.shape[0]), -1.0)
    precision_array, confidence_array = np.full(full, -1.0), np.full(full, -1.0)
    cdef Curves out
    cdef double[:, :, ::1] average = average_array
    cdef double[:, :, :, ::1] recall = recall_array
    cdef double[:, :, :, ::1] precision = precision_array
    cdef double[:, :, :, ::1] confidence = confidence_array
    cdef int64_t most = 1, m, cells = ranges * thresholds
    cdef double first
    cdef bint seen
    for group in range(n):
        for part in range(ranges):
            most = max(most, truths[group, part])
    out.room = min(longest, most)
    out.thresholds = thresholds
    out.caps = caps.shape[0]
    out.best = <double*> malloc(max(<int64_t> 1, 2 * cells * out.room) * sizeof(double))
    out.tp = <int64_t*> malloc((cells * (out.caps + 1) + ranges + 1) * sizeof(int64_t))
    cdef int64_t* needed = <int64_t*> malloc((steps + 1) * sizeof(int64_t))
    if out.best == NULL or needed == NULL or out.tp == NULL:
        free(out.best)
        free(out.tp)
        free(needed)
        raise MemoryError
    out.at = out.best + cells * out.room
    out.extra = out.tp + cells * out.caps
    out.common = out.extra + cells
    cdef int status = 0
    with nogil:
        begin = 0
        for group in range(n):
            for k in range(cells * (out.caps + 1) + ranges):
                out.tp[k] = 0
            first = 0
            seen = False
            end = begin
            while end < count and groups[order[end]] == group:
                k = order[end]
                end += 1
                if ranks[k] >= caps[out.caps - 1]:
                    continue
                if not seen:
                    first = confidences[k]
                    seen = True
                for part in range(ranges):
                    if truths[group, part]:
                        status |= _step(
                            &out, part, hits[k, part], dropped[k, part], confidences[k], ranks[k], &caps[0],
                            min(out.room, truths[group, part]),
                        )
            begin = end
            for part in range(ranges if status == 0 else 0):
                if truths[group, part] == 0:
                    continue
                _levels(levels, truths[group, part], needed)
                for i in range(thresholds):
                    k = part * thresholds + i
                    for m in range(out.caps):
                        recall[group, part, i, m] = (
                            <double> out.tp[k * out.caps + m] / <double> truths[group, part]
                        )
                    average[group, part, i] = _fill(
                        &out, k, needed, steps, first,
                        &precision[group, part, i, 0] if whole and steps else NULL,
                        &confidence[group, part, i, 0] if whole and steps else NULL,
                    )
    free(out.best)
    free(out.tp)
    free(needed)
    if status:
        raise ValueError("there are more hits than truths")
    return average_array, recall_array, precision_array, confidence_array


cdef struct Curves:
    int64_t room  # the most true positives of a curve
    int64_t thresholds
    int64_t caps
    double* best  # (A * T, room) precision at each true positive, later the best from there on
    double* at  # (A * T, room) confidence of each true positive
    int64_t* tp  # (A * T, M) true positives within each cap
    int64_t* extra  # (A * T,) predictions that count, beside the common ones
    int64_t* common  # (A,) predictions that count and hit nothing at any threshold


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


cdef inline int _step(
    Curves* out, int64_t part, uint64_t hit, uint64_t aside, double confidence, int64_t rank,
    const int64_t* caps, int64_t room,
) noexcept nogil:
    """One prediction more in an area range; one that hits nothing costs an addition."""
    cdef uint64_t everywhere = ~<uint64_t> 0 if out.thresholds == 64 else (<uint64_t> 1 << out.thresholds) - 1
    cdef int64_t t, k, m, found
    cdef double tp, fp
    aside &= everywhere
    hit &= everywhere & ~aside
    if hit == 0 and aside == 0:
        out.common[part] += 1
        return 0
    if aside == everywhere:
        return 0
    for t in range(out.thresholds):
        if aside >> t & 1:
            continue
        k = part * out.thresholds + t
        out.extra[k] += 1
        if hit >> t & 1:
            for m in range(out.caps):
                out.tp[k * out.caps + m] += rank < caps[m]
            found = out.tp[k * out.caps + out.caps - 1]
            if found > room:
                return 1
            tp = <double> found
            fp = <double> (out.common[part] + out.extra[k] - found)
            out.best[k * out.room + found - 1] = tp / (fp + tp + TINY)
            out.at[k * out.room + found - 1] = confidence
    return 0


cdef double _fill(
    Curves* out, int64_t k, const int64_t* needed, int64_t steps, double first,
    double* precision, double* confidence,
) noexcept nogil:
    """The mean over the recall levels of the best precision at each or later."""
    cdef double* best = out.best + k * out.room
    cdef double* at = out.at + k * out.room
    cdef int64_t tp = out.tp[k * out.caps + out.caps - 1], i, place
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
