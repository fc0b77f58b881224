# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""COCO's masks from the bytes of a JSON file to runs down the columns: counts as text or list, polygons.

`_json_plain.py` says what is computed. A mask that is not plain, or does not add up, is left to the careful
reader, which finds the words. Places are checked before the GIL is let go; every step behind that looks
for the end of its mask's text, and writes only where there is room.
"""

import numpy as np

from libc.math cimport fabs, floor
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memchr, memcpy

from segjudge.kernels._cursor cimport OK, Cursor, blank, integer, number

cdef extern from *:
    """
    #if defined(_MSC_VER) && !defined(__clang__)
    #include <intrin.h>
    static inline int segjudge_lowest(uint64_t value) {
        unsigned long place; _BitScanForward64(&place, value); return (int) place;
    }
    #else
    static inline int segjudge_lowest(uint64_t value) { return __builtin_ctzll(value); }
    #endif
    """
    int segjudge_lowest(uint64_t value) noexcept nogil

cdef enum:
    TEXT = 1
    LIST = 2
    RINGS = 3
    READ = 0
    UNREAD = 1
    NO_ROOM = 2
    SCALE = 5  # points to a pixel, as pycocotools upsamples
    MIDDLE = 2  # the point behind which a pixel's middle lies
    FARTHEST = 1 << 20
    MOST_CROSSINGS = 1 << 26  # of one ring
    MOST_STEPS = 64  # of a crossing to its place, on average: beyond, other ways to sort are faster

cdef struct Run:
    int64_t start
    int64_t stop

cdef struct Scratch:
    # Growing memory of one call; each with its room.
    uint8_t* text
    int64_t text_room
    int32_t* corners
    int64_t corner_room
    int64_t* crossings
    int64_t crossing_room
    int64_t* sorted
    int64_t sorted_room
    int64_t* heads
    int64_t head_room
    Run* runs
    int64_t run_room

cdef struct Out:
    # Where the runs of one mask go, and what is learnt of it on the way.
    int64_t* starts
    int64_t* stops
    int64_t room
    int64_t runs
    int64_t area


def read_segments(
    const uint8_t[::1] text, const int64_t[::1] begins, const int64_t[::1] ends, const int64_t[::1] kinds,
    const int64_t[:, ::1] shapes, int64_t first, int64_t[::1] starts, int64_t[::1] stops,
    int64_t[::1] indptr, int64_t[::1] areas, int64_t[:, ::1] extents, uint8_t[::1] status,
):
    cdef int64_t masks = begins.shape[0], size = text.shape[0], room = starts.shape[0], i
    cdef int64_t height, width
    cdef int state
    cdef Scratch scratch
    cdef Out out
    if not (ends.shape[0] == kinds.shape[0] == shapes.shape[0] == masks == areas.shape[0] == status.shape[0]):
        raise ValueError("the arrays of the masks differ in length")
    if indptr.shape[0] != masks + 1 or extents.shape[0] != masks or stops.shape[0] != room:
        raise ValueError("the arrays of the runs differ in length")
    if shapes.shape[1] != 2 or extents.shape[1] != 4 or not 0 <= first <= masks:
        raise ValueError("the arrays have other columns")
    if not 0 <= indptr[first] <= room:
        raise ValueError("the runs before lie outside their arrays")
    for i in range(first, masks):
        if begins[i] < 0 or ends[i] < begins[i] or ends[i] > size:
            raise ValueError("a mask lies outside the text")
        if not (0 <= shapes[i, 0] <= FARTHEST and 0 <= shapes[i, 1] <= FARTHEST):
            raise ValueError("an image is larger than any that is read")
    if first == masks:
        return masks
    scratch.text = NULL
    scratch.corners = NULL
    scratch.crossings = scratch.sorted = scratch.heads = NULL
    scratch.runs = NULL
    scratch.text_room = scratch.corner_room = scratch.crossing_room = scratch.sorted_room = 0
    scratch.head_room = scratch.run_room = 0
    cdef int64_t done = first
    cdef const uint8_t* base = &text[0] if size else NULL
    cdef int64_t* all_starts = &starts[0] if room else NULL
    cdef int64_t* all_stops = &stops[0] if room else NULL
    with nogil:
        while done < masks:
            height = shapes[done, 0]
            width = shapes[done, 1]
            out.starts = all_starts + indptr[done]
            out.stops = all_stops + indptr[done]
            out.room = room - indptr[done]
            out.runs = out.area = 0
            if kinds[done] == TEXT:
                state = _from_text(base + begins[done], base + ends[done], height * width, &scratch, &out)
            elif kinds[done] == LIST:
                state = _from_list(base + begins[done], base + ends[done], height * width, &out)
            elif kinds[done] == RINGS:
                state = _from_rings(base + begins[done], base + ends[done], height, width, &scratch, &out)
            else:
                state = UNREAD
            if state == NO_ROOM:
                break
            status[done] = state
            if state == UNREAD:
                out.runs = out.area = 0
            indptr[done + 1] = indptr[done] + out.runs
            areas[done] = out.area
            _measure(&out, height, &extents[done, 0])
            done += 1
        free(scratch.text)
        free(scratch.corners)
        free(scratch.crossings)
        free(scratch.sorted)
        free(scratch.heads)
        free(scratch.runs)
    return done


cdef inline void* _reserved(void* memory, int64_t* room, int64_t wanted, int64_t size) noexcept nogil:
    """Memory for so many things, with what it held; NULL where there is none, and it is as it was."""
    cdef void* grown
    if wanted <= room[0] and memory != NULL:
        return memory
    wanted += wanted // 2 + 64
    grown = realloc(memory, wanted * size)
    if grown != NULL:
        room[0] = wanted
    return grown


cdef inline void _measure(Out* out, int64_t height, int64_t* extent) noexcept nogil:
    """First line, line behind the last, first place in a line and place behind the last."""
    cdef int64_t i, line, start, stop, low, high, last
    if out.runs == 0 or height == 0:
        extent[0] = extent[1] = extent[2] = extent[3] = 0
        return
    line = out.starts[0] // height
    last = (out.stops[out.runs - 1] - 1) // height
    extent[0] = line
    extent[1] = last + 1
    low = height
    high = 0
    line *= height
    for i in range(out.runs):
        start = out.starts[i] - line
        if start >= height:
            line += height
            start -= height
            if start >= height:
                line += start // height * height
                start %= height
        stop = out.stops[i] - line
        if stop > height:
            low = 0
            high = height
            break
        low = min(low, start)
        high = max(high, stop)
    extent[2] = low
    extent[3] = high


# ---------------------------------------------------------------------------------------------- run lengths


cdef inline int _count(Out* out, int64_t* at, int64_t* number, int64_t count, int64_t pixels) noexcept nogil:
    """Goes on by one count: background where it is even, else the mask."""
    cdef int64_t begin = at[0]
    if count < 0 or count > pixels - begin:
        return UNREAD
    at[0] = begin + count
    number[0] += 1
    if number[0] & 1 or count == 0:
        return READ
    out.area += count
    if out.runs and out.stops[out.runs - 1] == begin:
        out.stops[out.runs - 1] = at[0]
        return READ
    if out.runs == out.room:
        return NO_ROOM
    out.starts[out.runs] = begin
    out.stops[out.runs] = at[0]
    out.runs += 1
    return READ


cdef int _from_list(const uint8_t* begin, const uint8_t* end, int64_t pixels, Out* out) noexcept nogil:
    """Whole numbers between brackets, as `scan_entries` found them or the careful reader wrote them."""
    cdef Cursor c
    cdef int64_t at = 0, number_of = 0, count = 0
    cdef int state
    c.at = begin
    c.end = end
    if begin == end or begin[0] != b'[':
        return UNREAD
    c.at += 1
    while True:
        if blank(&c) != OK or integer(&c, &count) != OK or blank(&c) != OK:
            return UNREAD
        state = _count(out, &at, &number_of, count, pixels)
        if state != READ:
            return state
        if c.at[0] == b']':
            break
        if c.at[0] != b',':
            return UNREAD
        c.at += 1
    return READ if at == pixels and c.at + 1 == end else UNREAD


cdef int _from_text(
    const uint8_t* begin, const uint8_t* end, int64_t pixels, Scratch* scratch, Out* out
) noexcept nogil:
    """COCO's compressed text: five bits a sign, least first; from the third on differences to two before."""
    cdef int64_t at = 0, number_of = 0, value, before = 0, last = 0, shift
    cdef uint64_t bits
    cdef uint8_t sign
    cdef int state
    if begin < end and memchr(begin, b'\\', end - begin) != NULL:
        begin = _unescaped(begin, &end, scratch)
        if begin == NULL:
            return UNREAD
    while begin < end:
        bits = 0
        shift = 0
        while True:
            if begin == end or shift == 50:
                return UNREAD
            sign = begin[0] - 48
            begin += 1
            if sign > 63:
                return UNREAD
            bits |= (<uint64_t> (sign & 31)) << shift
            shift += 5
            if sign < 32:
                break
        value = (<int64_t> (bits << (64 - shift))) >> (64 - shift)
        if number_of > 2:
            value += before
        before = last
        last = value
        state = _count(out, &at, &number_of, value, pixels)
        if state != READ:
            return state
    return READ if at == pixels else UNREAD


cdef const uint8_t* _unescaped(const uint8_t* begin, const uint8_t** end, Scratch* scratch) noexcept nogil:
    """The text with one backslash for two; NULL where a backslash stands before another sign."""
    cdef int64_t length = end[0] - begin
    cdef uint8_t* memory = <uint8_t*> _reserved(scratch.text, &scratch.text_room, length, 1)
    cdef const uint8_t* stop = end[0]
    cdef const uint8_t* slash
    cdef uint8_t* out
    if memory == NULL:
        return NULL
    scratch.text = memory
    out = memory
    while True:
        slash = <const uint8_t*> memchr(begin, b'\\', stop - begin) if begin < stop else NULL
        length = (stop if slash == NULL else slash) - begin
        memcpy(out, begin, length)
        out += length
        if slash == NULL:
            end[0] = out
            return memory
        if stop - slash < 2 or slash[1] != b'\\':
            return NULL
        out[0] = b'\\'
        out += 1
        begin = slash + 2


# ---------------------------------------------------------------------------------------------- polygons


cdef int _from_rings(
    const uint8_t* begin, const uint8_t* end, int64_t height, int64_t width, Scratch* scratch, Out* out
) noexcept nogil:
    """The insides of all rings together, as `segjudge.polygons` draws them."""
    cdef Cursor c
    cdef int64_t runs = 0, corners = 0, rings = 0
    c.at = begin
    c.end = end
    if begin == end or begin[0] != b'[':
        return UNREAD
    c.at += 1
    while True:
        if blank(&c) != OK or c.at[0] != b'[':
            return UNREAD
        c.at += 1
        corners = _corners(&c, scratch)
        if corners < 3:
            return UNREAD
        runs = _inside(scratch, corners, height, width, runs)
        if runs < 0 or blank(&c) != OK:
            return UNREAD
        rings += 1
        if c.at[0] == b']':
            break
        if c.at[0] != b',':
            return UNREAD
        c.at += 1
    if c.at + 1 != end:
        return UNREAD
    return _united(scratch.runs, runs, rings > 1, out)


cdef int64_t _corners(Cursor* c, Scratch* scratch) noexcept nogil:
    """Reads the rest of a ring x, y, x, y … in fifths of a pixel; how many corners, or -1."""
    cdef int64_t numbers = 0
    cdef double value = 0
    cdef void* memory
    while True:
        if blank(c) != OK or number(c, &value) != OK or blank(c) != OK:
            return -1
        if not fabs(value) <= FARTHEST:
            return -1
        memory = _reserved(scratch.corners, &scratch.corner_room, numbers + 1, sizeof(int32_t))
        if memory == NULL:
            return -1
        scratch.corners = <int32_t*> memory
        scratch.corners[numbers] = <int32_t> (SCALE * value + 0.5)
        numbers += 1
        if c.at[0] == b']':
            c.at += 1
            return -1 if numbers & 1 else numbers // 2
        if c.at[0] != b',':
            return -1
        c.at += 1


cdef inline int64_t _fifth(int64_t value) noexcept nogil:
    """value / 5, rounded down."""
    return value // SCALE if value >= 0 else -((SCALE - 1 - value) // SCALE)


cdef int64_t _inside(
    Scratch* scratch, int64_t corners, int64_t height, int64_t width, int64_t runs
) noexcept nogil:
    """Adds the runs inside one ring; how many there are then, or -1 where there is no memory.

    They lie between the first and second, third and fourth … crossing of the ring with the middles of
    the pixel columns.
    """
    cdef int64_t i, following, x, y, to_x, to_y, first, last, count = 0, low = width, high = -1, lines, k
    cdef int32_t* corner = scratch.corners
    cdef void* memory
    for i in range(corners):
        following = i + 1 if i + 1 < corners else 0
        x = corner[2 * i]
        to_x = corner[2 * following]
        first = max(_fifth(min(x, to_x) + (SCALE - 1 - MIDDLE)), 0)
        last = min(_fifth(max(x, to_x) - (MIDDLE + 1)), width - 1)
        if last >= first:
            count += last - first + 1
            low = min(low, first)
            high = max(high, last)
    if count == 0:
        return runs
    if count > MOST_CROSSINGS:
        return -1
    memory = _reserved(scratch.crossings, &scratch.crossing_room, count, sizeof(int64_t))
    if memory == NULL:
        return -1
    scratch.crossings = <int64_t*> memory
    memory = _reserved(scratch.sorted, &scratch.sorted_room, count, sizeof(int64_t))
    if memory == NULL:
        return -1
    scratch.sorted = <int64_t*> memory
    lines = high - low + 1
    memory = _reserved(scratch.heads, &scratch.head_room, lines + 1, sizeof(int64_t))
    if memory == NULL:
        return -1
    scratch.heads = <int64_t*> memory
    memory = _reserved(scratch.runs, &scratch.run_room, runs + count // 2, sizeof(Run))
    if memory == NULL:
        return -1
    scratch.runs = <Run*> memory
    count = 0
    for i in range(lines + 1):
        scratch.heads[i] = 0
    for i in range(corners):
        following = i + 1 if i + 1 < corners else 0
        x = corner[2 * i]
        y = corner[2 * i + 1]
        to_x = corner[2 * following]
        to_y = corner[2 * following + 1]
        first = max(_fifth(min(x, to_x) + (SCALE - 1 - MIDDLE)), 0)
        last = min(_fifth(max(x, to_x) - (MIDDLE + 1)), width - 1)
        if last < first:
            continue
        if (to_x - x if to_x > x else x - to_x) >= (to_y - y if to_y > y else y - to_y):
            if x > to_x:
                x, y, to_x, to_y = to_x, to_y, x, y
            _level(x, y, to_x, to_y, first, last, height, scratch.crossings + count)
        else:
            if y > to_y:
                x, y, to_x, to_y = to_x, to_y, x, y
            _steep(x, y, to_x, to_y, first, last, height, scratch.crossings + count)
        for k in range(first, last + 1):
            scratch.heads[k - low + 1] += 1
        count += last - first + 1
    return _paired(scratch, count, corners, low, lines, height, width, runs)


cdef inline void _level(
    int64_t x, int64_t y, int64_t to_x, int64_t to_y, int64_t first, int64_t last, int64_t height,
    int64_t* crossings,
) noexcept nogil:
    """An edge with a point in every fifth of a column: `v = (int)(ys + s * t + .5)`, the upper one counts."""
    cdef double slope = <double> (to_y - y) / <double> (to_x - x)
    cdef int64_t t = first * SCALE + MIDDLE - x + (slope < 0), k, point
    for k in range(last - first + 1):
        point = <int64_t> (<double> y + slope * <double> t + 0.5)
        crossings[k] = _pixel(first + k, point, height)
        t += SCALE


cdef inline void _steep(
    int64_t x, int64_t y, int64_t to_x, int64_t to_y, int64_t first, int64_t last, int64_t height,
    int64_t* crossings,
) noexcept nogil:
    """An edge with a point in every fifth of a line: `u = (int)(xs + s * t + .5)`.

    The upper point at a crossing is the last one on the near side; dividing finds it up to one point, and
    the points themselves decide.
    """
    cdef double slope = <double> (to_x - x) / <double> (to_y - y)
    cdef double start = <double> x, beyond, guess
    cdef bint falling = slope < 0, near, next_near
    cdef int64_t k
    for k in range(last - first + 1):
        beyond = <double> ((first + k) * SCALE + (MIDDLE + 1))
        guess = floor((beyond - 0.5 - start) / slope)
        near = (start + slope * guess + 0.5 >= beyond) == falling
        next_near = (start + slope * (guess + 1) + 0.5 >= beyond) == falling
        crossings[k] = _pixel(first + k, y + <int64_t> guess - 1 + near + next_near, height)


cdef inline int64_t _pixel(int64_t column, int64_t point, int64_t height) noexcept nogil:
    """The pixel at which a crossing flips its column: the first whose middle is not above the point."""
    return column * height + min(max(_fifth(point + MIDDLE), 0), height)


cdef int64_t _paired(
    Scratch* scratch, int64_t count, int64_t corners, int64_t low, int64_t lines, int64_t height,
    int64_t width, int64_t runs,
) noexcept nogil:
    """The crossings in order, by column first, and a run between each two."""
    cdef int64_t i, k, at, first, last, following, x, to_x, value, place, steps
    cdef int64_t* heads = scratch.heads
    cdef int64_t* ordered = scratch.sorted
    for i in range(lines):
        heads[i + 1] += heads[i]
    at = 0
    for i in range(corners):
        following = i + 1 if i + 1 < corners else 0
        x = scratch.corners[2 * i]
        to_x = scratch.corners[2 * following]
        first = max(_fifth(min(x, to_x) + (SCALE - 1 - MIDDLE)), 0)
        last = min(_fifth(max(x, to_x) - (MIDDLE + 1)), width - 1)
        for k in range(first, last + 1):
            ordered[heads[k - low]] = scratch.crossings[at]
            heads[k - low] += 1
            at += 1
    # Each head has moved to the next one's begin: within a column there are few to put in order, as a rule.
    steps = 0
    for i in range(1, count):
        value = ordered[i]
        place = i
        while place > 0 and ordered[place - 1] > value:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = value
        steps += i - place
        if steps > MOST_STEPS * count:
            qsort(ordered, count, sizeof(int64_t), _by_value)
            break
    for i in range(count // 2):
        if ordered[2 * i + 1] > ordered[2 * i]:
            scratch.runs[runs].start = ordered[2 * i]
            scratch.runs[runs].stop = ordered[2 * i + 1]
            runs += 1
    return runs


cdef int _by_value(const void* first, const void* second) noexcept nogil:
    cdef int64_t a = (<const int64_t*> first)[0], b = (<const int64_t*> second)[0]
    return (a > b) - (a < b)


cdef int _by_start(const void* first, const void* second) noexcept nogil:
    cdef int64_t a = (<const Run*> first).start, b = (<const Run*> second).start
    return (a > b) - (a < b)


cdef int _united(Run* runs, int64_t count, bint several, Out* out) noexcept nogil:
    """All pixels in any of the runs."""
    cdef int64_t i
    if several and count > 1:
        qsort(runs, count, sizeof(Run), _by_start)
    for i in range(count):
        if out.runs and runs[i].start <= out.stops[out.runs - 1]:
            if runs[i].stop > out.stops[out.runs - 1]:
                out.area += runs[i].stop - out.stops[out.runs - 1]
                out.stops[out.runs - 1] = runs[i].stop
            continue
        if out.runs == out.room:
            return NO_ROOM
        out.starts[out.runs] = runs[i].start
        out.stops[out.runs] = runs[i].stop
        out.area += runs[i].stop - runs[i].start
        out.runs += 1
    return READ
