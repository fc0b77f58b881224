# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""COCO's masks from the bytes of a JSON file to runs down the columns: counts as text or list, polygons.

`_json_plain.py` says what is computed. A mask that is not plain, or does not add up, is left to the careful
reader, which finds the words. Places are checked before the GIL is let go; every step behind that looks
for the end of its mask's text, and writes only where there is room.
"""

import numpy as np

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort, realloc
from libc.string cimport memchr, memcpy, memset

from segjudge.kernels._cursor cimport OK, Cursor, blank, integer, number

cdef enum:
    TEXT = 1
    LIST = 2
    RINGS = 3
    SIGNS = 4
    READ = 0
    UNREAD = 1
    NO_ROOM = 2
    ODD_COUNTS = 3
    GOES_ON = 32  # the bit that says that a number goes on
    PAD = 16  # zeros on both sides of the bits
    SCALE = 5  # points to a pixel, as pycocotools upsamples
    MIDDLE = 2  # the point behind which a pixel's middle lies
    FARTHEST = 1 << 20
    LONGEST = 1 << 22  # signs of a text that is read here
    MOST_NUMBERS = 1 << 17  # in a text, to be added up before any of them is looked at
    MOST_CROSSINGS = 1 << 26  # of one ring
    MOST_INSERTED = 32  # crossings of a column that are put in order one by one

cdef struct Run:
    int64_t start
    int64_t stop

cdef struct Scratch:
    # Growing memory of one call; each with its room.
    uint8_t* text
    int64_t text_room
    int32_t* values
    int64_t value_room
    int32_t* corners
    int64_t corner_room
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
    int64_t* extent
    bint measured


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
    scratch.values = NULL
    scratch.sorted = scratch.heads = NULL
    scratch.runs = NULL
    scratch.text_room = scratch.corner_room = scratch.sorted_room = 0
    scratch.head_room = scratch.run_room = scratch.value_room = 0
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
            out.extent = &extents[done, 0]
            out.measured = False
            if kinds[done] == TEXT or kinds[done] == SIGNS:
                state = _from_text(
                    base + begins[done], base + ends[done], kinds[done] == TEXT, height, height * width,
                    &scratch, &out,
                )
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
            if not out.measured:
                _measure(&out, height, &extents[done, 0])
            done += 1
        free(scratch.text)
        free(scratch.values)
        free(scratch.corners)
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
    const uint8_t* begin, const uint8_t* end, bint escaped, int64_t height, int64_t pixels,
    Scratch* scratch, Out* out,
) noexcept nogil:
    """COCO's compressed text: five bits a sign, least first; from the third on differences to two before.

    In passes that the compiler can widen: signs to bits, bits to numbers, numbers to runs.
    """
    cdef int64_t length = end - begin, numbers, i, at = 0, number_of = 0, count, before = 0, last = 0
    cdef uint8_t* bits
    cdef int32_t* values
    cdef void* memory
    cdef int state
    if length > LONGEST:
        return UNREAD
    memory = _reserved(scratch.text, &scratch.text_room, length + 2 * PAD, 1)
    if memory == NULL:
        return UNREAD
    scratch.text = <uint8_t*> memory
    memory = _reserved(scratch.values, &scratch.value_room, length + PAD, sizeof(int32_t))
    if memory == NULL:
        return UNREAD
    scratch.values = values = <int32_t*> memory
    bits = scratch.text + PAD
    length = _bits(begin, end, escaped, bits)
    numbers = _numbers(bits, length, values) if length >= 0 else -1
    if numbers < 0:
        return UNREAD
    if out.room < numbers // 2:
        return NO_ROOM
    if height > 0 and 1 < numbers <= MOST_NUMBERS:
        state = _from_numbers(values, numbers, height, pixels, out)
        if state != ODD_COUNTS:
            return state
        out.runs = out.area = 0
    for i in range(numbers):
        count = values[i] + (before if i > 2 else 0)
        before = last
        last = count
        state = _count(out, &at, &number_of, count, pixels)
        if state != READ:
            return state
    return READ if at == pixels else UNREAD


cdef int64_t _bits(const uint8_t* begin, const uint8_t* end, bint escaped, uint8_t* bits) noexcept nogil:
    """The six bits of each sign, with zeros before and behind; how many signs, or -1 where one is foreign.

    The one escape that counts have in JSON is that of the backslash.
    """
    cdef const uint8_t* slash = NULL
    cdef uint8_t strange = 0, sign
    cdef int64_t length, i
    cdef uint8_t* at = bits
    memset(bits - PAD, 0, PAD)
    while True:
        if escaped:
            slash = <const uint8_t*> memchr(begin, b'\\', end - begin) if begin < end else NULL
        length = (end if slash == NULL else slash) - begin
        for i in range(length):
            sign = begin[i] - 48
            strange |= sign
            at[i] = sign
        at += length
        if slash == NULL:
            break
        if end - slash < 2 or slash[1] != b'\\':
            return -1
        at[0] = 92 - 48
        at += 1
        begin = slash + 2
    memset(at, 0, PAD)
    return -1 if strange > 63 else at - bits


cdef int64_t _numbers(const uint8_t* bits, int64_t length, int32_t* values) noexcept nogil:
    """The numbers that the bits write; how many, or -1 where one is cut or has more than six signs."""
    cdef int64_t i, last, numbers = 0
    cdef int32_t value, more
    cdef uint64_t word
    if length and bits[length - 1] & GOES_ON:
        return -1
    # At each sign the number that would end there, were it of one sign or two.
    for i in range(length):
        value = ((<int32_t> bits[i] & 31) ^ 16) - 16
        more = -(<int32_t> bits[i - 1] >> 5)
        values[i] = value + ((value * 32 - value + (<int32_t> bits[i - 1] & 31)) & more)
    # Longer ones are few: the first, the last, and where a column is left out.
    i = 0
    while i < length:
        memcpy(&word, bits + i, 8)
        word &= <uint64_t> 0x2020202020202020ULL
        if not word & (word << 8) and not (word & GOES_ON and bits[i - 1] & GOES_ON):
            i += 8
            continue
        while not (bits[i] & GOES_ON and bits[i - 1] & GOES_ON):
            i += 1
        while bits[i] & GOES_ON:
            i += 1
        value = ((<int32_t> bits[i] & 31) ^ 16) - 16
        last = i - 1
        while bits[last] & GOES_ON:
            value = <int32_t> (<uint32_t> value * 32 + (bits[last] & 31))  # may wrap, and is then left out
            last -= 1
        if i - last > 6:
            return -1
        values[i] = value
        i += 1
    for i in range(length):
        values[numbers] = values[i]
        numbers += bits[i] < GOES_ON
    return numbers


cdef int _from_numbers(
    const int32_t* values, int64_t numbers, int64_t height, int64_t pixels, Out* out
) noexcept nogil:
    """Runs and their extent from two numbers at least; ODD_COUNTS where runs touch or are empty.

    There are at most 2^17 numbers of less than 2^30 each, so that no sum overflows before all are checked.
    """
    cdef int64_t runs = numbers // 2, k, gap, length, background = 0, start, stop, area, line, low, high
    cdef int64_t wrong, least
    cdef int64_t* starts = out.starts
    cdef int64_t* stops = out.stops
    gap = values[0]
    length = values[1]
    wrong = gap | length
    least = length - 1
    start = gap
    stop = start + length
    area = length
    line = start // height * height
    starts[0] = start
    stops[0] = stop
    low = start - line
    high = stop - line
    for k in range(1, runs):
        background += values[2 * k]
        length += values[2 * k + 1]
        wrong |= background | length
        least |= (background - 1) | (length - 1)
        start = stop + background
        stop = start + length
        area += length
        if start - line >= height:
            line += height
            if start - line >= height:
                line = start // height * height
        starts[k] = start
        stops[k] = stop
        low = min(low, start - line)
        high = max(high, stop - line)
    if wrong >> 41:
        return UNREAD
    if least < 0:
        return ODD_COUNTS
    if numbers & 1:
        gap = values[numbers - 1] + (background if numbers > 3 else 0)
        if gap < 0 or stop + gap != pixels:
            return UNREAD
    elif stop != pixels:
        return UNREAD
    out.runs = runs
    out.area = area
    out.extent[0] = out.starts[0] // height
    out.extent[1] = (stop - 1) // height + 1
    out.extent[2] = 0 if high > height else low
    out.extent[3] = min(high, height)
    out.measured = True
    return READ


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


cdef inline int64_t _first_column(int64_t x, int64_t to_x) noexcept nogil:
    """The first column whose middle the edge crosses."""
    return max(_fifth(min(x, to_x) + (SCALE - 1 - MIDDLE)), 0)


cdef inline int64_t _last_column(int64_t x, int64_t to_x, int64_t width) noexcept nogil:
    """The last column whose middle the edge crosses; before the first where it crosses none."""
    return min(_fifth(max(x, to_x) - (MIDDLE + 1)), width - 1)


cdef int64_t _inside(
    Scratch* scratch, int64_t corners, int64_t height, int64_t width, int64_t runs
) noexcept nogil:
    """Adds the runs inside one ring; how many there are then, or -1 where there is no memory.

    They lie between the first and second, third and fourth … crossing of the ring with the middle of each
    pixel column. A ring is closed, so that every column is crossed an even number of times.
    """
    cdef int64_t i, x, to_x, first, last, low, high, count = 0, lines
    cdef int32_t* corner = scratch.corners
    cdef void* memory
    x = to_x = corner[0]
    for i in range(1, corners):
        x = min(x, corner[2 * i])
        to_x = max(to_x, corner[2 * i])
    low = _first_column(x, to_x)
    high = _last_column(x, to_x, width)
    if high < low:
        return runs
    lines = high - low + 1
    memory = _reserved(scratch.heads, &scratch.head_room, lines + 2, sizeof(int64_t))
    if memory == NULL:
        return -1
    scratch.heads = <int64_t*> memory
    memset(scratch.heads, 0, (lines + 2) * sizeof(int64_t))
    # One more crossing in each column from the first on, one less behind the last.
    to_x = corner[2 * (corners - 1)]
    for i in range(corners):
        x = corner[2 * i]
        first = _first_column(x, to_x)
        last = _last_column(x, to_x, width)
        to_x = x
        if last >= first:
            scratch.heads[first - low + 1] += 1
            scratch.heads[last - low + 2] -= 1
            count += last - first + 1
    if count > MOST_CROSSINGS:
        return -1
    memory = _reserved(scratch.sorted, &scratch.sorted_room, count, sizeof(int64_t))
    if memory == NULL:
        return -1
    scratch.sorted = <int64_t*> memory
    memory = _reserved(scratch.runs, &scratch.run_room, runs + count // 2, sizeof(Run))
    if memory == NULL:
        return -1
    scratch.runs = <Run*> memory
    first = last = 0
    for i in range(1, lines + 1):
        first += scratch.heads[i]
        last += first
        scratch.heads[i] = last  # where the crossings of column i begin
    _cross(scratch, corners, low, height, width)
    return _paired(scratch, lines, runs)


cdef void _cross(Scratch* scratch, int64_t corners, int64_t low, int64_t height, int64_t width) noexcept nogil:
    """Puts every crossing into its column's place; each head moves to the next one's begin."""
    cdef int64_t i, following, x, y, to_x, to_y, first, last
    cdef int32_t* corner = scratch.corners
    for i in range(corners):
        following = i + 1 if i + 1 < corners else 0
        x = corner[2 * i]
        y = corner[2 * i + 1]
        to_x = corner[2 * following]
        to_y = corner[2 * following + 1]
        first = _first_column(x, to_x)
        last = _last_column(x, to_x, width)
        if last < first:
            continue
        if (to_x - x if to_x > x else x - to_x) >= (to_y - y if to_y > y else y - to_y):
            if x > to_x:
                x, y, to_x, to_y = to_x, to_y, x, y
            _level(x, y, to_x, to_y, first, last, height, scratch.sorted, scratch.heads - low)
        else:
            if y > to_y:
                x, y, to_x, to_y = to_x, to_y, x, y
            _steep(x, y, to_x, to_y, first, last, height, scratch.sorted, scratch.heads - low)


cdef inline void _level(
    int64_t x, int64_t y, int64_t to_x, int64_t to_y, int64_t first, int64_t last, int64_t height,
    int64_t* crossings, int64_t* heads,
) noexcept nogil:
    """An edge with a point in every fifth of a column: `v = (int)(ys + s * t + .5)`, the upper one counts."""
    cdef double slope = <double> (to_y - y) / <double> (to_x - x)
    cdef int64_t t = first * SCALE + MIDDLE - x + (slope < 0), k, point
    for k in range(first, last + 1):
        point = <int64_t> (<double> y + slope * <double> t + 0.5)
        crossings[heads[k]] = _pixel(k, point, height)
        heads[k] += 1
        t += SCALE


cdef inline void _steep(
    int64_t x, int64_t y, int64_t to_x, int64_t to_y, int64_t first, int64_t last, int64_t height,
    int64_t* crossings, int64_t* heads,
) noexcept nogil:
    """An edge with a point in every fifth of a line: `u = (int)(xs + s * t + .5)`.

    The upper point at a crossing is the last one on the near side; dividing finds it up to one point, and
    the points themselves decide.
    """
    cdef double slope = <double> (to_x - x) / <double> (to_y - y)
    cdef double start = <double> x, beyond, guess
    cdef bint falling = slope < 0, near, next_near
    cdef int64_t k
    for k in range(first, last + 1):
        beyond = <double> (k * SCALE + (MIDDLE + 1))
        guess = <double> <int64_t> ((beyond - 0.5 - start) / slope)
        near = (start + slope * guess + 0.5 >= beyond) == falling
        next_near = (start + slope * (guess + 1) + 0.5 >= beyond) == falling
        crossings[heads[k]] = _pixel(k, y + <int64_t> guess - 1 + near + next_near, height)
        heads[k] += 1


cdef inline int64_t _pixel(int64_t column, int64_t point, int64_t height) noexcept nogil:
    """The pixel at which a crossing flips its column: the first whose middle is not above the point."""
    return column * height + min(max(_fifth(point + MIDDLE), 0), height)


cdef int64_t _paired(Scratch* scratch, int64_t lines, int64_t runs) noexcept nogil:
    """The crossings of each column in order, and a run between each two; how many runs there are then."""
    cdef int64_t line, i, place, begin = 0, end, first, second
    cdef int64_t* crossing = scratch.sorted
    cdef Run* run = scratch.runs + runs
    for line in range(lines):
        end = scratch.heads[line]
        if end - begin == 2:  # as in most columns of most rings
            first = crossing[begin]
            second = crossing[begin + 1]
            run.start = min(first, second)
            run.stop = max(first, second)
            run += run.stop > run.start
            begin = end
            continue
        if end - begin > MOST_INSERTED:
            qsort(crossing + begin, end - begin, sizeof(int64_t), _by_value)
        else:
            for i in range(begin + 1, end):
                first = crossing[i]
                place = i
                while place > begin and crossing[place - 1] > first:
                    crossing[place] = crossing[place - 1]
                    place -= 1
                crossing[place] = first
        for i in range(begin, end - 1, 2):
            run.start = crossing[i]
            run.stop = crossing[i + 1]
            run += run.stop > run.start
        begin = end
    return run - scratch.runs


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
