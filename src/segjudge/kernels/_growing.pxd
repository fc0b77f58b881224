# cython: language_level=3
"""Lists that grow while kernels write to them, without Python; who has one frees its data."""

from libc.stdint cimport int64_t
from libc.stdlib cimport realloc


cdef struct Places:
    int64_t* data
    int64_t count
    int64_t room


cdef inline int grow(Places* places, int64_t more) noexcept nogil:
    """Makes room for so many more places; -1 where memory is short."""
    cdef int64_t* larger
    if places.count + more > places.room:
        places.room = 2 * places.room + more + 4096
        larger = <int64_t*> realloc(places.data, places.room * sizeof(int64_t))
        if larger == NULL:
            return -1
        places.data = larger
    return 0


cdef inline int add_place(Places* places, int64_t place) noexcept nogil:
    if grow(places, 1):
        return -1
    places.data[places.count] = place
    places.count += 1
    return 0


cdef struct Pairs:
    int64_t* data  # first, second, shared of each pair
    int64_t count
    int64_t room


cdef inline int add_pair(Pairs* pairs, int64_t first, int64_t second, int64_t shared) noexcept nogil:
    cdef int64_t* larger
    if pairs.count == pairs.room:
        pairs.room = 2 * pairs.room + 1024
        larger = <int64_t*> realloc(pairs.data, pairs.room * 3 * sizeof(int64_t))
        if larger == NULL:
            return -1
        pairs.data = larger
    pairs.data[3 * pairs.count] = first
    pairs.data[3 * pairs.count + 1] = second
    pairs.data[3 * pairs.count + 2] = shared
    pairs.count += 1
    return 0
