# cython: language_level=3
"""What two masks share, from their runs: a step that the kernels of both kinds of overlap take."""

from libc.stdint cimport int64_t


cdef inline int64_t _after(const int64_t* stops, int64_t low, int64_t high, int64_t pixel) noexcept nogil:
    """The first run of low..high that ends behind the pixel."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) >> 1
        if stops[middle] > pixel:
            high = middle
        else:
            low = middle + 1
    return low


cdef inline int64_t shared_pixels(
    const int64_t* a_starts, const int64_t* a_stops, int64_t i, int64_t a_end,
    const int64_t* b_starts, const int64_t* b_stops, int64_t j, int64_t b_end,
) noexcept nogil:
    """Pixels that two masks with at least a run each share."""
    cdef int64_t low = max(a_starts[i], b_starts[j])
    cdef int64_t high = min(a_stops[a_end - 1], b_stops[b_end - 1])
    cdef int64_t total = 0, a0, a1, b0, b1
    if low >= high:
        return 0
    i = _after(a_stops, i, a_end, low)
    j = _after(b_stops, j, b_end, low)
    if i >= a_end or j >= b_end:
        return 0
    a0 = a_starts[i]
    a1 = a_stops[i]
    b0 = b_starts[j]
    b1 = b_stops[j]
    while True:
        low = a0 if a0 > b0 else b0
        high = a1 if a1 < b1 else b1
        if high > low:
            total += high - low
        if a1 <= b1:
            i += 1
            if i == a_end:
                return total
            a0 = a_starts[i]
            a1 = a_stops[i]
        else:
            j += 1
            if j == b_end:
                return total
            b0 = b_starts[j]
            b1 = b_stops[j]
