# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled kernels of masks that meet: which pairs share pixels, and who is matched with whom.

`_plain.meeting` says what each computes. Every public function checks the ranges it will index before it lets
go of the GIL; the loops below those checks stay inside them. Nothing here is a float.
"""

import numpy as np

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from segjudge.kernels._growing cimport Pairs, add_pair
from segjudge.kernels._runs cimport shared_pixels

cdef int64_t FAR = <int64_t> 1 << 62
cdef int64_t SIDE = <int64_t> 1 << 31
cdef int64_t SURE = <int64_t> 1 << 42  # pixels: below, two areas and a millionfold of both stay within 64 bits


cdef int _check_masks(
    const int64_t[::1] starts, const int64_t[::1] stops, const int64_t[::1] indptr, const int64_t[:, ::1] boxes
) except -1:
    cdef int64_t n = indptr.shape[0] - 1, i, k
    if n < 0 or boxes.shape[0] != n or boxes.shape[1] != 4 or starts.shape[0] != stops.shape[0]:
        raise ValueError("arrays differ in length")
    if indptr[0] < 0 or indptr[n] > starts.shape[0]:
        raise ValueError("indptr leaves the runs")
    for i in range(n):
        if indptr[i + 1] < indptr[i]:
            raise ValueError("indptr is not ascending")
        for k in range(4):
            if not 0 <= boxes[i, k] <= FAR:
                raise ValueError("a box lies beyond all images")
    return 0


cdef int _check_groups(const int64_t[::1] order, const int64_t[::1] ptr, int64_t masks) except -1:
    cdef int64_t i
    if ptr.shape[0] < 1 or ptr[0] < 0 or ptr[ptr.shape[0] - 1] > order.shape[0]:
        raise ValueError("groups leave the order")
    for i in range(ptr.shape[0] - 1):
        if ptr[i + 1] < ptr[i]:
            raise ValueError("groups are not ascending")
    for i in range(order.shape[0]):
        if order[i] < 0 or order[i] >= masks:
            raise ValueError("order names a mask that is not there")
    return 0


cdef inline int64_t _most_shared(
    const int64_t* box, const int64_t* other, int64_t area, int64_t other_area
) noexcept nogil:
    """No two masks of these boxes and areas share more pixels than this; 0 where the boxes are apart."""
    cdef int64_t lines = min(box[1], other[1]) - max(box[0], other[0])
    cdef int64_t places = min(box[3], other[3]) - max(box[2], other[2])
    cdef int64_t most = min(area, other_area)
    if lines <= 0 or places <= 0:
        return 0
    # A line of unknown length is longer than any mask: then the places say nothing.
    if lines < SIDE and places < SIDE and lines * places < most:
        return lines * places
    return most


def overlap_pairs(
    const int64_t[::1] a_starts, const int64_t[::1] a_stops, const int64_t[::1] a_indptr,
    const int64_t[:, ::1] a_boxes, const int64_t[::1] a_areas, const int64_t[::1] a_order,
    const int64_t[::1] a_groups,
    const int64_t[::1] b_starts, const int64_t[::1] b_stops, const int64_t[::1] b_indptr,
    const int64_t[:, ::1] b_boxes, const int64_t[::1] b_areas, const int64_t[::1] b_order,
    const int64_t[::1] b_groups,
    int64_t numerator, int64_t denominator,
):
    _check_masks(a_starts, a_stops, a_indptr, a_boxes)
    _check_masks(b_starts, b_stops, b_indptr, b_boxes)
    _check_groups(a_order, a_groups, a_indptr.shape[0] - 1)
    _check_groups(b_order, b_groups, b_indptr.shape[0] - 1)
    if a_areas.shape[0] != a_boxes.shape[0] or b_areas.shape[0] != b_boxes.shape[0]:
        raise ValueError("arrays differ in length")
    if a_groups.shape[0] != b_groups.shape[0]:
        raise ValueError("both sides have the same groups")
    if not (0 <= numerator <= denominator <= 1000000 and denominator):
        raise ValueError("the least IoU is a fraction of at most a million parts")
    cdef Pairs pairs
    cdef int64_t g, p, q, a, b, shared, most, groups = a_groups.shape[0] - 1
    cdef const int64_t* box
    cdef int failed = 0
    pairs.data = NULL
    pairs.count = 0
    pairs.room = 0
    if a_starts.shape[0] and b_starts.shape[0]:
        with nogil:
            for g in range(groups):
                for p in range(a_groups[g], a_groups[g + 1]):
                    a = a_order[p]
                    if a_indptr[a] == a_indptr[a + 1]:
                        continue
                    box = &a_boxes[a, 0]
                    for q in range(b_groups[g], b_groups[g + 1]):
                        b = b_order[q]
                        most = _most_shared(box, &b_boxes[b, 0], a_areas[a], b_areas[b])
                        if (
                            most <= 0 or b_indptr[b] == b_indptr[b + 1]
                            or (
                                (a_areas[a] | b_areas[b]) < SURE
                                and denominator * most < numerator * (a_areas[a] + b_areas[b] - most)
                            )
                        ):
                            continue
                        shared = shared_pixels(
                            &a_starts[0], &a_stops[0], a_indptr[a], a_indptr[a + 1],
                            &b_starts[0], &b_stops[0], b_indptr[b], b_indptr[b + 1],
                        )
                        if shared and add_pair(&pairs, a, b, shared):
                            failed = 1
                            break
                    if failed:
                        break
                if failed:
                    break
    if failed:
        free(pairs.data)
        raise MemoryError
    result = np.empty((pairs.count, 3), np.int64)
    cdef int64_t[:, ::1] view = result
    if pairs.count:
        memcpy(&view[0, 0], pairs.data, pairs.count * 3 * sizeof(int64_t))
    free(pairs.data)
    return result


# -------------------------------------------------------------------------------------------- matching


cdef int _check_pairs(
    const int64_t[::1] predictions, const int64_t[::1] truths, const uint64_t[::1] bits,
    int64_t n_predictions, int64_t n_truths,
) except -1:
    cdef int64_t k
    if predictions.shape[0] != truths.shape[0] or predictions.shape[0] != bits.shape[0]:
        raise ValueError("arrays differ in length")
    for k in range(predictions.shape[0]):
        if not (0 <= predictions[k] < n_predictions and 0 <= truths[k] < n_truths):
            raise ValueError("a pair names an instance that is not there")
    return 0


def greedy_hits(
    const int64_t[::1] predictions, const int64_t[::1] truths, const uint64_t[::1] bits,
    int64_t n_predictions, int64_t n_truths,
):
    _check_pairs(predictions, truths, bits, n_predictions, n_truths)
    hits_array = np.zeros(n_predictions, np.uint64)
    taken_array = np.zeros(n_truths, np.uint64)
    cdef uint64_t[::1] hits = hits_array
    cdef uint64_t[::1] taken = taken_array
    cdef uint64_t won
    cdef int64_t k
    with nogil:
        for k in range(predictions.shape[0]):
            won = bits[k] & ~taken[truths[k]] & ~hits[predictions[k]]
            hits[predictions[k]] |= won
            taken[truths[k]] |= won
    return hits_array, taken_array


def one_to_one(
    const int64_t[::1] predictions, const int64_t[::1] truths, const uint64_t[::1] bits,
    int64_t n_predictions, int64_t n_truths, int thresholds,
):
    _check_pairs(predictions, truths, bits, n_predictions, n_truths)
    cdef int64_t pairs = predictions.shape[0], k, p, t, other, depth, edge
    cdef int level
    cdef uint64_t bit
    if not 0 < thresholds <= 64:
        raise ValueError("1 to 64 thresholds")
    for k in range(1, pairs):
        if predictions[k] < predictions[k - 1]:
            raise ValueError("pairs are sorted by prediction")
    hits_array = np.zeros(n_predictions, np.uint64)
    taken_array = np.zeros(n_truths, np.uint64)
    cdef uint64_t[::1] hits = hits_array
    cdef uint64_t[::1] taken = taken_array
    first_array = np.searchsorted(np.asarray(predictions), np.arange(n_predictions + 1)).astype(np.int64)
    cdef int64_t[::1] first = first_array
    owner_array = np.empty(n_truths, np.int64)
    seen_array = np.empty(n_truths, np.int64)
    stack_array = np.empty(n_predictions + 1, np.int64)
    cursor_array = np.empty(n_predictions, np.int64)
    via_array = np.empty(n_predictions, np.int64)
    cdef int64_t[::1] owner = owner_array
    cdef int64_t[::1] seen = seen_array
    cdef int64_t[::1] stack = stack_array
    cdef int64_t[::1] cursor = cursor_array
    cdef int64_t[::1] via = via_array
    with nogil:
        for level in range(thresholds):
            bit = <uint64_t> 1 << level
            for t in range(n_truths):
                owner[t] = -1
                seen[t] = -1
            for p in range(n_predictions):
                # Kuhn's augmenting path from p, depth first, without recursion.
                depth = 0
                stack[0] = p
                cursor[p] = first[p]
                while depth >= 0:
                    other = stack[depth]
                    edge = cursor[other]
                    if edge == first[other + 1]:
                        depth -= 1
                        continue
                    cursor[other] = edge + 1
                    if not bits[edge] & bit:
                        continue
                    t = truths[edge]
                    if seen[t] == p:
                        continue
                    seen[t] = p
                    via[other] = t
                    if owner[t] < 0:
                        while depth >= 0:
                            owner[via[stack[depth]]] = stack[depth]
                            depth -= 1
                        break
                    depth += 1
                    stack[depth] = owner[t]
                    cursor[owner[t]] = first[owner[t]]
            for t in range(n_truths):
                if owner[t] >= 0:
                    hits[owner[t]] |= bit
                    taken[t] |= bit
    return hits_array, taken_array
