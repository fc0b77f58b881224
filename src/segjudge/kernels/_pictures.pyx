# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled kernels of pictures: runs of label maps and of masks. `_plain.pictures` says what each computes.

Every public function checks the ranges it will index before it lets go of the GIL; the loops below those
checks stay inside them. Nothing here is a float.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from segjudge.kernels._growing cimport Pairs, Places, add_pair, add_place, grow
from segjudge.kernels._vectors cimport changes_64, line_of, lowest_bit, same_64

ctypedef fused label_t:
    uint8_t
    uint16_t
    int32_t


def label_runs(const label_t[::1] labels, const uint8_t[::1] keep):
    cdef int64_t n = labels.shape[0], at = 0, start, known = keep.shape[0]
    cdef label_t value
    cdef uint64_t word, pattern = 0
    cdef int64_t per_word = 8 // sizeof(label_t), k
    cdef Pairs runs
    cdef int failed = 0
    cdef const label_t* base
    runs.data = NULL
    runs.count = 0
    runs.room = 0
    if n:
        base = &labels[0]
        with nogil:
            while at < n:
                value = base[at]
                start = at
                at += 1
                if at + per_word <= n and base[at] == value:
                    # Eight bytes at a time while nothing changes.
                    for k in range(per_word):
                        memcpy(<char*> &pattern + k * sizeof(label_t), &value, sizeof(label_t))
                    while at + per_word <= n:
                        memcpy(&word, base + at, 8)
                        if word != pattern:
                            break
                        at += per_word
                while at < n and base[at] == value:
                    at += 1
                if value < 0 or value >= known or keep[value]:
                    if add_pair(&runs, value, start, at):
                        failed = 1
                        break
    if failed:
        free(runs.data)
        raise MemoryError
    result = np.empty((runs.count, 3), np.int64)
    cdef int64_t[:, ::1] view = result
    if runs.count:
        memcpy(&view[0, 0], runs.data, runs.count * 3 * sizeof(int64_t))
    free(runs.data)
    return result


def mask_edges(const uint8_t[:, ::1] mask, bint column):
    cdef int64_t height = mask.shape[0], width = mask.shape[1]
    cdef Places edges
    cdef int failed
    if height == 0 or width == 0:
        return np.empty(0, np.int64)
    edges.data = NULL
    edges.count = edges.room = 0
    with nogil:
        if column:
            failed = _column_edges(&mask[0, 0], height, width, &edges)
        else:
            failed = _row_edges(&mask[0, 0], height * width, &edges)
    if failed:
        free(edges.data)
        raise MemoryError
    result = np.empty(edges.count, np.int64)
    cdef int64_t[::1] view = result
    if edges.count:
        memcpy(&view[0], edges.data, edges.count * sizeof(int64_t))
    free(edges.data)
    return result


cdef int _changes(
    const uint8_t* here, const uint8_t* before, int64_t count, int64_t first, Places* places
) noexcept nogil:
    """Adds `first + k` for each k below `count` where one side is 0 and the other is not; -1 without memory."""
    cdef int64_t at = 0
    cdef uint64_t hits
    cdef uint8_t[64] tail
    cdef uint8_t[64] tail_before
    while at < count:
        if at + 64 <= count:
            if same_64(here + at, before + at):
                at += 64
                continue
            hits = changes_64(here + at, before + at)
        else:
            memset(tail, 0, 64)
            memset(tail_before, 0, 64)
            memcpy(tail, here + at, count - at)
            memcpy(tail_before, before + at, count - at)
            hits = changes_64(tail, tail_before)
        if grow(places, 64):
            return -1
        while hits:
            places.data[places.count] = first + at + lowest_bit(hits)
            places.count += 1
            hits &= hits - 1
        at += 64
    return 0


cdef int _row_edges(const uint8_t* mask, int64_t pixels, Places* edges) noexcept nogil:
    if mask[0] and add_place(edges, 0):
        return -1
    if _changes(mask + 1, mask, pixels - 1, 1, edges):
        return -1
    return add_place(edges, pixels) if mask[pixels - 1] else 0


cdef int _column_edges(const uint8_t* mask, int64_t height, int64_t width, Places* edges) noexcept nogil:
    """Compares the rows as they lie in memory, and puts what changes, which is little, in order by column."""
    cdef int64_t pixels = height * width
    cdef Places found
    cdef int failed
    found.data = NULL
    found.count = found.room = 0
    # The pixel before the first of a column is the last of the column before.
    failed = (
        (mask[0] and add_place(&found, 0))
        or _changes(mask + 1, mask + pixels - width, width - 1, 1, &found)
        or _changes(mask + width, mask, pixels - width, width, &found)
        or _by_column(&found, height, width, edges)
        or (mask[pixels - 1] and add_place(edges, pixels))
    )
    free(found.data)
    return -1 if failed else 0


cdef int _by_column(const Places* found, int64_t height, int64_t width, Places* ordered) noexcept nogil:
    """Pixels counted along the rows, ascending, to pixels counted down the columns, ascending."""
    cdef int64_t* heads = <int64_t*> calloc(width + 1, sizeof(int64_t))
    cdef uint64_t inverse = 0
    cdef int64_t k, y, x
    if heads == NULL or grow(ordered, found.count + 1):
        free(heads)
        return -1
    if height * width <= <int64_t> 1 << 32:
        inverse = <uint64_t> -1 // <uint64_t> width + 1  # 0 for one column
    for k in range(found.count):
        y = _row_of(found.data[k], width, inverse)
        heads[found.data[k] - y * width + 1] += 1
    for k in range(width):
        heads[k + 1] += heads[k]
    for k in range(found.count):
        y = _row_of(found.data[k], width, inverse)
        x = found.data[k] - y * width
        ordered.data[heads[x]] = x * height + y
        heads[x] += 1
    ordered.count = found.count
    free(heads)
    return 0


cdef inline int64_t _row_of(int64_t pixel, int64_t width, uint64_t inverse) noexcept nogil:
    """A product where it is exact: neither a division nor a walk from row to row, whose jumps nobody foresees."""
    return line_of(pixel, width, inverse) if inverse else pixel // width
