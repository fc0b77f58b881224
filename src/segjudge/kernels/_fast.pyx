# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled kernels. `_plain` holds the same functions in numpy: read that one to know what is computed.

Conventions: every public function checks the ranges it will index before it lets go of the GIL; the
loops below those checks stay inside them. Pixels are numbered in 64 bits. There are no floats but in
`parse_decimals`, which divides two exactly representable numbers once, or asks Python.
"""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy, memset

from segjudge.kernels._runs cimport shared_pixels

# Sixty-four bytes at a time: which of a text are marks, which are no digits; where pixels change. On x86-64
# with SSE2, which every such processor has; elsewhere the same as loops, which compilers turn into vectors.
cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #if defined(_MSC_VER)
    #include <intrin.h>
    static inline int lowest_bit(uint64_t bits) { unsigned long at; _BitScanForward64(&at, bits); return (int)at; }
    #else
    static inline int lowest_bit(uint64_t bits) { return __builtin_ctzll(bits); }
    #endif

    #if defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    static inline uint64_t four_masks(__m128i a, __m128i b, __m128i c, __m128i d) {
        uint64_t low = (uint32_t)_mm_movemask_epi8(a) | (uint32_t)_mm_movemask_epi8(b) << 16;
        uint64_t high = (uint32_t)_mm_movemask_epi8(c) | (uint32_t)_mm_movemask_epi8(d) << 16;
        return low | high << 32;
    }
    static inline __m128i no_digits(const uint8_t* at) {
        __m128i less = _mm_sub_epi8(_mm_loadu_si128((const __m128i*)at), _mm_set1_epi8('0'));
        return _mm_cmpeq_epi8(_mm_min_epu8(less, _mm_set1_epi8(9)), less);
    }
    static inline uint64_t no_digits_64(const uint8_t* at) {
        return ~four_masks(no_digits(at), no_digits(at + 16), no_digits(at + 32), no_digits(at + 48));
    }
    static inline uint64_t marks_64(const uint8_t* at, uint8_t one, uint8_t other, uint64_t* quotes, uint64_t* wide) {
        __m128i hits[4], said = _mm_setzero_si128(), all = _mm_setzero_si128();
        for (int k = 0; k < 4; k++) {
            __m128i bytes = _mm_loadu_si128((const __m128i*)(at + 16 * k));
            hits[k] = _mm_or_si128(
                _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)one)), _mm_cmpeq_epi8(bytes, _mm_set1_epi8((char)other)));
            said = _mm_or_si128(said, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')));
            all = _mm_or_si128(all, bytes);
        }
        *quotes |= (uint32_t)_mm_movemask_epi8(said);
        *wide |= (uint32_t)_mm_movemask_epi8(all);
        return four_masks(hits[0], hits[1], hits[2], hits[3]);
    }
    static inline __m128i bytes_at(const uint8_t* at) { return _mm_loadu_si128((const __m128i*)at); }
    static inline int same_64(const uint8_t* one, const uint8_t* other) {
        __m128i apart = _mm_setzero_si128();
        _mm_prefetch((const char*)one + 2048, _MM_HINT_T0); /* memory is what it waits for; may lie anywhere */
        for (int k = 0; k < 64; k += 16)
            apart = _mm_or_si128(apart, _mm_xor_si128(bytes_at(one + k), bytes_at(other + k)));
        return _mm_movemask_epi8(_mm_cmpeq_epi8(apart, _mm_setzero_si128())) == 0xFFFF;
    }
    static inline __m128i zeros(const uint8_t* at) { return _mm_cmpeq_epi8(bytes_at(at), _mm_setzero_si128()); }
    static inline uint64_t changes_64(const uint8_t* one, const uint8_t* other) {
        __m128i apart[4];
        for (int k = 0; k < 4; k++) apart[k] = _mm_xor_si128(zeros(one + 16 * k), zeros(other + 16 * k));
        return four_masks(apart[0], apart[1], apart[2], apart[3]);
    }
    #else
    static inline uint64_t no_digits_64(const uint8_t* at) {
        uint64_t mask = 0;
        for (int k = 0; k < 64; k++) mask |= (uint64_t)((uint8_t)(at[k] - '0') > 9) << k;
        return mask;
    }
    static inline uint64_t marks_64(const uint8_t* at, uint8_t one, uint8_t other, uint64_t* quotes, uint64_t* wide) {
        uint64_t mask = 0;
        for (int k = 0; k < 64; k++) {
            mask |= (uint64_t)(at[k] == one || at[k] == other) << k;
            *quotes |= at[k] == '"';
            *wide |= at[k] >> 7;
        }
        return mask;
    }
    static inline int same_64(const uint8_t* one, const uint8_t* other) { return !memcmp(one, other, 64); }
    static inline uint64_t changes_64(const uint8_t* one, const uint8_t* other) {
        uint64_t mask = 0;
        for (int k = 0; k < 64; k++) mask |= (uint64_t)(!one[k] != !other[k]) << k;
        return mask;
    }
    #endif

    /* The number that the one to eight digits before `stop` write; the text holds eight bytes before it. */
    static inline int64_t eight_digits(const uint8_t* stop, int64_t count) {
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        int64_t value = 0;
        for (int64_t k = -count; k < 0; k++) value = value * 10 + (stop[k] - '0');
        return value;
    #else
        uint64_t word;
        memcpy(&word, stop - 8, 8);
        word = (word & 0x0F0F0F0F0F0F0F0FULL) & (~(uint64_t)0 << (8 * (8 - count)));
        word = word * 2561 >> 8;
        word = (word & 0x00FF00FF00FF00FFULL) * 6553601 >> 16;
        return (int64_t)((word & 0x0000FFFF0000FFFFULL) * 42949672960001ULL >> 32);
    #endif
    }

    /* number / line for 32-bit numbers, `inverse` being 2^64 / line, rounded up; exact (Lemire and others, 2019). */
    static inline int64_t line_of(int64_t number, int64_t line, uint64_t inverse) {
    #if defined(__SIZEOF_INT128__)
        (void)line;
        return (int64_t)(((unsigned __int128)inverse * (uint64_t)number) >> 64);
    #else
        return inverse ? number / line : 0;
    #endif
    }
    """
    int lowest_bit(uint64_t bits) nogil
    uint64_t no_digits_64(const uint8_t* at) nogil
    uint64_t marks_64(const uint8_t* at, uint8_t one, uint8_t other, uint64_t* quotes, uint64_t* wide) nogil
    int same_64(const uint8_t* one, const uint8_t* other) nogil
    uint64_t changes_64(const uint8_t* one, const uint8_t* other) nogil
    int64_t eight_digits(const uint8_t* stop, int64_t count) nogil
    int64_t line_of(int64_t number, int64_t line, uint64_t inverse) nogil

ctypedef fused label_t:
    uint8_t
    uint16_t
    int32_t

cdef enum:
    UNSORTED = 1
    OPEN = 2
    BAD = 4

cdef enum:
    QUOTED = 1
    WIDE = 2

cdef int64_t FAR = 1 << 62
cdef int64_t SIDE = <int64_t> 1 << 31
cdef int64_t MOST_DIGITS = 18


# ---------------------------------------------------------------------------------------------- tables


cdef struct Places:
    int64_t* data
    int64_t count
    int64_t room


cdef inline int _room(Places* places, int64_t more) noexcept nogil:
    """Makes room for so many more places; -1 where memory is short."""
    cdef int64_t* larger
    if places.count + more > places.room:
        places.room = 2 * places.room + more + 4096
        larger = <int64_t*> realloc(places.data, places.room * sizeof(int64_t))
        if larger == NULL:
            return -1
        places.data = larger
    return 0


cdef int _find_marks(
    const uint8_t* text, int64_t size, uint8_t one, uint8_t other, Places* places, int* flags
) noexcept nogil:
    """The places of both marks in the text, and what else is in it; -1 where memory is short."""
    cdef int64_t at = 0
    cdef uint64_t hits, quotes = 0, wide = 0
    cdef uint8_t[64] tail
    cdef const uint8_t* window
    while at < size:
        window = text + at
        if at + 64 > size:
            memset(tail, 48, 64)
            memcpy(tail, window, size - at)
            window = tail
        hits = marks_64(window, one, other, &quotes, &wide)
        if at + 64 > size:
            hits &= (<uint64_t> 1 << (size - at)) - 1
        if _room(places, 64):
            return -1
        while hits:
            places.data[places.count] = at + lowest_bit(hits)
            places.count += 1
            hits &= hits - 1
        at += 64
    flags[0] = (QUOTED if quotes else 0) | (WIDE if wide else 0)
    return 0


def index_records(const uint8_t[::1] text, int separator, int terminator, int fields):
    cdef int64_t size = text.shape[0], records = 0, at = 0, stop, place, k = 0, r = 0, mark
    cdef const uint8_t* base
    cdef int flags = 0, failed
    cdef Places marks
    if fields < 1:
        raise ValueError("a record has at least one field")
    if not (0 <= separator < 256 and 0 <= terminator < 256):
        raise ValueError("marks are bytes")
    if size == 0:
        return np.empty(0, np.int64), np.empty((0, fields), np.int64), np.empty(0, np.int64), 0
    base = &text[0]
    marks.data = NULL
    marks.count = 0
    marks.room = 0
    with nogil:
        failed = _find_marks(base, size, separator, terminator, &marks, &flags)
        if not failed:
            for mark in range(marks.count):
                records += base[marks.data[mark]] == terminator
            records += base[size - 1] != terminator
    if failed:
        free(marks.data)
        raise MemoryError
    starts_array = np.empty(records, np.int64)
    ends_array = np.empty((records, fields), np.int64)
    found_array = np.empty(records, np.int64)
    cdef int64_t[::1] starts = starts_array
    cdef int64_t[:, ::1] ends = ends_array
    cdef int64_t[::1] found = found_array
    with nogil:
        # One mark more than there are: the end of the text closes a record that nothing else closes.
        for mark in range(marks.count + 1):
            place = marks.data[mark] if mark < marks.count else size
            if place < size and base[place] != terminator:
                if k < fields:
                    ends[r, k] = place
                k += 1
                continue
            if place == size and at == size:
                break
            stop = place
            if terminator == 10 and stop > at and base[stop - 1] == 13:
                stop -= 1
            starts[r] = at
            found[r] = k + 1
            while k < fields:
                ends[r, k] = stop
                k += 1
            k = 0
            r += 1
            at = place + 1
    free(marks.data)
    return starts_array, ends_array, found_array, flags


cdef int _check_cells(const uint8_t[::1] text, const int64_t[::1] begins, const int64_t[::1] ends) except -1:
    cdef int64_t size = text.shape[0], i
    if begins.shape[0] != ends.shape[0]:
        raise ValueError("begins and ends differ in length")
    for i in range(begins.shape[0]):
        if begins[i] < 0 or ends[i] < begins[i] or ends[i] > size:
            raise ValueError("a cell lies outside the text")
    return 0


def equal_to_previous(const uint8_t[::1] text, const int64_t[::1] begins, const int64_t[::1] ends):
    cdef int64_t n = begins.shape[0], i, length
    _check_cells(text, begins, ends)
    equal_array = np.zeros(n, np.uint8)
    cdef uint8_t[::1] equal = equal_array
    if n == 0 or text.shape[0] == 0:
        equal_array[1:] = 1
        return equal_array
    cdef const uint8_t* base = &text[0]
    with nogil:
        for i in range(1, n):
            length = ends[i] - begins[i]
            if length == ends[i - 1] - begins[i - 1]:
                equal[i] = memcmp(base + begins[i], base + begins[i - 1], length) == 0
    return equal_array


def parse_integers(const uint8_t[::1] text, const int64_t[::1] begins, const int64_t[::1] ends):
    cdef int64_t n = begins.shape[0], i, at, stop, value
    _check_cells(text, begins, ends)
    values_array = np.zeros(n, np.int64)
    valid_array = np.zeros(n, np.uint8)
    cdef int64_t[::1] values = values_array
    cdef uint8_t[::1] valid = valid_array
    with nogil:
        for i in range(n):
            at = begins[i]
            stop = ends[i]
            if stop == at or stop - at > MOST_DIGITS:
                continue
            value = 0
            while at < stop and 48 <= text[at] <= 57:
                value = value * 10 + (text[at] - 48)
                at += 1
            if at == stop:
                values[i] = value
                valid[i] = 1
    return values_array, valid_array


cdef double[23] TENS
cdef int _exponent
for _exponent in range(23):
    TENS[_exponent] = 10.0 ** _exponent

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, object overflow) except? -1.0


def parse_decimals(const uint8_t[::1] text, const int64_t[::1] begins, const int64_t[::1] ends):
    cdef int64_t n = begins.shape[0], i, at, stop, value, digits, behind
    cdef char[41] copy
    cdef bint point
    _check_cells(text, begins, ends)
    values_array = np.zeros(n, np.float64)
    valid_array = np.zeros(n, np.uint8)
    cdef double[::1] values = values_array
    cdef uint8_t[::1] valid = valid_array
    with nogil:
        for i in range(n):
            at = begins[i]
            stop = ends[i]
            value = 0
            digits = 0
            behind = 0
            point = False
            if stop - at > 40:
                continue
            while at < stop:
                if 48 <= text[at] <= 57:
                    if digits < 18:
                        value = value * 10 + (text[at] - 48)
                    digits += 1
                    behind += point
                elif text[at] == 46 and not point:
                    point = True
                else:
                    break
                at += 1
            if at < stop or digits == 0:
                continue
            # Below 2^53, and with a power of ten that is exact, one division rounds correctly.
            if digits <= 18 and value < (<int64_t> 1 << 53) and behind <= 22:
                values[i] = <double> value / TENS[behind]
                valid[i] = 1
            else:
                valid[i] = 2
    for i in range(n):
        if valid[i] == 2:
            memcpy(copy, &text[begins[i]], ends[i] - begins[i])
            copy[ends[i] - begins[i]] = 0
            values[i] = PyOS_string_to_double(copy, NULL, None)
            valid[i] = 1
    return values_array, valid_array


# ------------------------------------------------------------------------------------------------ runs


def parse_runs(
    const uint8_t[::1] text,
    const int64_t[::1] begins,
    const int64_t[::1] ends,
    const int64_t[::1] pixels,
    const int64_t[::1] lines,
    int64_t origin,
    int between,
    int after,
    int64_t[::1] starts,
    int64_t[::1] stops,
):
    cdef int64_t n = begins.shape[0], i, capacity = 0
    _check_cells(text, begins, ends)
    if pixels.shape[0] != n or lines.shape[0] != n or starts.shape[0] != stops.shape[0]:
        raise ValueError("arrays differ in length")
    for i in range(n):
        # A run takes four bytes at least ("0 1|"), the last of a cell may take three.
        capacity += (ends[i] - begins[i] + 1) // 4
    if starts.shape[0] < capacity:
        raise ValueError("scratch is too small for the text")
    indptr_array = np.zeros(n + 1, np.int64)
    areas_array = np.zeros(n, np.int64)
    boxes_array = np.zeros((n, 4), np.int64)
    status_array = np.zeros(n, np.uint8)
    cdef int64_t[::1] indptr = indptr_array
    cdef int64_t[::1] areas = areas_array
    cdef int64_t[:, ::1] boxes = boxes_array
    cdef uint8_t[::1] status = status_array
    cdef int64_t written = 0, count
    cdef int64_t* first = &starts[0] if starts.shape[0] else NULL
    cdef int64_t* last = &stops[0] if starts.shape[0] else NULL
    if n and text.shape[0]:
        with nogil:
            for i in range(n):
                count = _parse_plain(
                    &text[0], text.shape[0], begins[i], ends[i], pixels[i], lines[i], origin, between, after,
                    first + written, last + written, &areas[i], &boxes[i, 0], &status[i],
                )
                if count < 0:
                    count = _parse_cell(
                        &text[0], begins[i], ends[i], pixels[i], lines[i], origin, between, after,
                        first + written, last + written, &areas[i], &boxes[i, 0], &status[i],
                    )
                written += count
                indptr[i + 1] = written
    return indptr_array, areas_array, boxes_array, status_array


cdef enum:
    BATCH = 1024  # marks looked up before their numbers are read
    MOST_PLAIN = 8  # digits of a number on the fast path


cdef int64_t _parse_plain(
    const uint8_t* text, int64_t size, int64_t begin, int64_t end_of_cell, int64_t pixels, int64_t line,
    int64_t origin, int between, int after, int64_t* starts, int64_t* stops, int64_t* area, int64_t* box,
    uint8_t* status,
) noexcept nogil:
    """The same as `_parse_cell` for cells as programs write them: ascending runs, one mark between numbers.

    -1 for every other cell, whatever is wrong or merely rare: then `_parse_cell` reads it from the start.
    """
    cdef int64_t at = begin, before = begin - 1, marks = 0, kept, k, length, digits, first, end, place, behind
    cdef int64_t count = 0, total = 0, previous = -1, least = FAR, most = 0
    cdef int64_t limit = pixels if pixels >= 0 else FAR
    cdef int64_t width = line if line > 1 else FAR
    cdef uint64_t inverse = <uint64_t> -1 // <uint64_t> line + 1 if line > 1 else 0
    cdef int close = after if after else between
    cdef uint64_t hits
    cdef uint8_t[64] tail
    cdef const uint8_t* window
    cdef int64_t[BATCH + 66] found
    if begin < 8 or line == 1 or line > <int64_t> 1 << 31:
        return -1
    while True:
        # First the places of many marks, then the numbers between them: neither waits for the other.
        while at < end_of_cell and marks < BATCH:
            window = text + at
            if at + 64 > size:
                memset(tail, 48, 64)
                memcpy(tail, window, size - at)
                window = tail
            hits = no_digits_64(window)
            if at + 64 > end_of_cell:
                hits &= (<uint64_t> 1 << (end_of_cell - at)) - 1
            while hits:
                found[marks] = at + lowest_bit(hits)
                marks += 1
                hits &= hits - 1
            at += 64
        if at >= end_of_cell and not after and marks & 1:
            found[marks] = end_of_cell  # the last length of the cell is closed by its end
            marks += 1
        kept = marks & ~1
        for k in range(0, kept, 2):
            place = found[k]
            behind = found[k + 1]
            digits = place - before - 1
            length = behind - place - 1
            if (
                <uint64_t> (digits - 1) >= MOST_PLAIN or <uint64_t> (length - 1) >= MOST_PLAIN
                or text[place] != between or (behind < end_of_cell and text[behind] != close)
            ):
                return -1
            before = behind
            first = eight_digits(text + place, digits) - origin
            length = eight_digits(text + behind, length)
            end = first + length
            if first <= previous or first < 0 or length == 0 or end > limit:
                return -1
            previous = end
            starts[count] = first
            stops[count] = end
            count += 1
            total += length
            first -= line_of(first, width, inverse) * width
            end = first + length
            if end > width:
                first = 0
                end = width
            if first < least:
                least = first
            if end > most:
                most = end
        if at >= end_of_cell:
            break
        if marks > kept:
            found[0] = found[kept]
        marks -= kept
    # Nothing may be left over: a number without its partner, or one that no mark closes.
    if marks > kept or before != (end_of_cell - 1 if after else end_of_cell) or not count:
        return -1
    status[0] = 0
    area[0] = total
    box[0] = line_of(starts[0], width, inverse)
    box[1] = line_of(previous - 1, width, inverse) + 1
    box[2] = least
    box[3] = most
    return count


cdef inline const uint8_t* _number(const uint8_t* at, const uint8_t* stop, int64_t* value) noexcept nogil:
    """The place behind a number of 1 to 18 digits, or NULL."""
    cdef const uint8_t* mark = at
    cdef uint64_t number = 0
    cdef uint8_t digit
    while at < stop:
        digit = at[0] - 48
        if digit > 9:
            break
        number = number * 10 + digit
        at += 1
    if at == mark or at - mark > MOST_DIGITS:
        return NULL
    value[0] = <int64_t> number
    return at


cdef inline const uint8_t* _mark(const uint8_t* at, const uint8_t* stop, int mark) noexcept nogil:
    """The place behind one `mark` with any spaces around it, or NULL."""
    if at + 1 < stop and at[0] == mark and at[1] != 32:
        return at + 1
    if mark != 32:
        while at < stop and at[0] == 32:
            at += 1
    if at >= stop or at[0] != mark:
        return NULL
    at += 1
    while at < stop and at[0] == 32:
        at += 1
    return at


cdef inline const uint8_t* _blank(const uint8_t* at, const uint8_t* stop) noexcept nogil:
    while at < stop and at[0] == 32:
        at += 1
    return at


cdef int64_t _parse_cell(
    const uint8_t* text, int64_t begin, int64_t end_of_cell, int64_t pixels, int64_t line, int64_t origin,
    int between, int after, int64_t* starts, int64_t* stops, int64_t* area, int64_t* box, uint8_t* status,
) noexcept nogil:
    """Runs written; a cell that is not plain and right gets BAD and no runs."""
    cdef const uint8_t* stop = text + end_of_cell
    cdef const uint8_t* at = _blank(text + begin, stop)
    cdef int64_t count = 0, total = 0, previous = 0, first = 0, length = 0, end
    cdef int64_t limit = pixels if pixels >= 0 else FAR
    cdef int64_t width = line if line > 0 else FAR
    cdef int64_t line_start = 0, line_end = width, least = FAR, most = 0, lowest = FAR, highest = 0
    cdef uint8_t flags = 0
    status[0] = BAD
    while at < stop:
        at = _number(at, stop, &first)
        if at == NULL:
            return 0
        at = _mark(at, stop, between)
        if at == NULL:
            return 0
        at = _number(at, stop, &length)
        if at == NULL:
            return 0
        first -= origin
        end = first + length
        if first < 0 or length == 0 or end > limit:
            return 0
        total += length
        if first > previous and not flags:
            starts[count] = first
            stops[count] = end
            count += 1
        elif first == previous and count and not flags:
            stops[count - 1] = end
        else:
            if first < previous:
                flags = UNSORTED
            if first < lowest:
                lowest = first
            starts[count] = first
            stops[count] = end
            count += 1
        previous = end
        if end > highest:
            highest = end
        if first >= line_end or first < line_start:
            if first >= line_end and first - line_end < width:
                line_start = line_end
            else:
                line_start = first - first % width
            line_end = line_start + width
        if first - line_start < least:
            least = first - line_start
        if end <= line_end:
            if end - line_start > most:
                most = end - line_start
        else:
            least = 0
            most = width
        # The pair is closed by `after`, or the next is parted from it by `between`.
        if after and at < stop and at[0] == after:
            at = _mark(at, stop, after)
            continue
        if _blank(at, stop) == stop:
            at = stop
            if after and after != 32:
                flags |= OPEN
            break
        at = _mark(at, stop, after if after else between)
        if at == NULL or (at == stop and not after):
            return 0
    status[0] = flags
    area[0] = total
    if count:
        if starts[0] < lowest:
            lowest = starts[0]
        box[0] = lowest // width
        box[1] = (highest - 1) // width + 1
        box[2] = least
        box[3] = most
    return count


def format_runs(
    const int64_t[:] starts, const int64_t[:] stops, const int64_t[::1] indptr,
    int64_t origin, int between, int after,
):
    cdef int64_t n = indptr.shape[0] - 1, i, k, runs = starts.shape[0], most = 0, room = 2
    if n < 0 or indptr[0] != 0 or indptr[n] != runs or stops.shape[0] != runs:
        raise ValueError("indptr does not cover the runs")
    for i in range(n):
        if indptr[i + 1] < indptr[i]:
            raise ValueError("indptr is not ascending")
    with nogil:
        for k in range(runs):
            most = max(most, starts[k] + origin, stops[k] - starts[k])
    # Room for the longest number and one mark behind it.
    while most >= 10:
        most //= 10
        room += 1
    text_array = np.empty(2 * room * runs + 4, np.uint8)  # `_write` writes four bytes at once
    ends_array = np.zeros(n + 1, np.int64)
    cdef uint8_t[::1] text = text_array
    cdef int64_t[::1] ends = ends_array
    cdef uint8_t* out = &text[0]
    cdef int64_t at = 0
    with nogil:
        for i in range(n):
            for k in range(indptr[i], indptr[i + 1]):
                if k > indptr[i] and not after:
                    out[at] = between
                    at += 1
                at += _write(out + at, starts[k] + origin)
                out[at] = between
                at += 1
                at += _write(out + at, stops[k] - starts[k])
                if after:
                    out[at] = after
                    at += 1
            ends[i + 1] = at
    return text_array[:at], ends_array


cdef uint8_t[4004] THREE_DIGITS  # of 000 to 999, each with a byte behind that says nothing
cdef int _three
for _three in range(1000):
    THREE_DIGITS[4 * _three] = 48 + _three // 100
    THREE_DIGITS[4 * _three + 1] = 48 + _three // 10 % 10
    THREE_DIGITS[4 * _three + 2] = 48 + _three % 10


cdef inline int64_t _write(uint8_t* out, int64_t value) noexcept nogil:
    """How many digits were written; up to three bytes behind them are overwritten, too."""
    cdef int64_t digits
    if value < 0:
        value = 0
    if value < 1000:
        digits = 1 + (value >= 10) + (value >= 100)
        memcpy(out, THREE_DIGITS + (4 * value + 3 - digits), 4)
        return digits
    digits = _write(out, value // 1000)
    memcpy(out + digits, THREE_DIGITS + 4 * (value % 1000), 4)
    return digits + 3


# -------------------------------------------------------------------------------------------- overlaps


cdef struct Pairs:
    int64_t* data  # first, second, shared of each pair
    int64_t count
    int64_t room


cdef inline int _push(Pairs* pairs, int64_t first, int64_t second, int64_t shared) noexcept nogil:
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


cdef int _check_masks(
    const int64_t[::1] starts, const int64_t[::1] stops, const int64_t[::1] indptr, const int64_t[:, ::1] boxes
) except -1:
    cdef int64_t n = indptr.shape[0] - 1, i
    if n < 0 or boxes.shape[0] != n or boxes.shape[1] != 4 or starts.shape[0] != stops.shape[0]:
        raise ValueError("arrays differ in length")
    if indptr[0] < 0 or indptr[n] > starts.shape[0]:
        raise ValueError("indptr leaves the runs")
    for i in range(n):
        if indptr[i + 1] < indptr[i]:
            raise ValueError("indptr is not ascending")
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
                            or denominator * most < numerator * (a_areas[a] + b_areas[b] - most)
                        ):
                            continue
                        shared = shared_pixels(
                            &a_starts[0], &a_stops[0], a_indptr[a], a_indptr[a + 1],
                            &b_starts[0], &b_stops[0], b_indptr[b], b_indptr[b + 1],
                        )
                        if shared and _push(&pairs, a, b, shared):
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


# -------------------------------------------------------------------------------------------- pictures



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
                        (<label_t*> &pattern)[k] = value
                    while at + per_word <= n:
                        memcpy(&word, base + at, 8)
                        if word != pattern:
                            break
                        at += per_word
                while at < n and base[at] == value:
                    at += 1
                if value < 0 or value >= known or keep[value]:
                    if _push(&runs, value, start, at):
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
        if _room(places, 64):
            return -1
        while hits:
            places.data[places.count] = first + at + lowest_bit(hits)
            places.count += 1
            hits &= hits - 1
        at += 64
    return 0


cdef inline int _add(Places* places, int64_t place) noexcept nogil:
    if _room(places, 1):
        return -1
    places.data[places.count] = place
    places.count += 1
    return 0


cdef int _row_edges(const uint8_t* mask, int64_t pixels, Places* edges) noexcept nogil:
    if mask[0] and _add(edges, 0):
        return -1
    if _changes(mask + 1, mask, pixels - 1, 1, edges):
        return -1
    return _add(edges, pixels) if mask[pixels - 1] else 0


cdef int _column_edges(const uint8_t* mask, int64_t height, int64_t width, Places* edges) noexcept nogil:
    """Compares the rows as they lie in memory, and puts what changes, which is little, in order by column."""
    cdef int64_t pixels = height * width
    cdef Places found
    cdef int failed
    found.data = NULL
    found.count = found.room = 0
    # The pixel before the first of a column is the last of the column before.
    failed = (
        (mask[0] and _add(&found, 0))
        or _changes(mask + 1, mask + pixels - width, width - 1, 1, &found)
        or _changes(mask + width, mask, pixels - width, width, &found)
        or _by_column(&found, height, width, edges)
        or (mask[pixels - 1] and _add(edges, pixels))
    )
    free(found.data)
    return -1 if failed else 0


cdef int _by_column(const Places* found, int64_t height, int64_t width, Places* ordered) noexcept nogil:
    """Pixels counted along the rows, ascending, to pixels counted down the columns, ascending."""
    cdef int64_t* heads = <int64_t*> calloc(width + 1, sizeof(int64_t))
    cdef uint64_t inverse = 0
    cdef int64_t k, y, x
    if heads == NULL or _room(ordered, found.count + 1):
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
