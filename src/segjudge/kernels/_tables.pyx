# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled kernels of tables and of the runs in their cells. `_plain.tables` says what each computes.

Every public function checks the ranges it will index before it lets go of the GIL; the loops below those
checks stay inside them. Pixels are numbered in 64 bits. There are no floats but in `parse_decimals`, which
divides two exactly representable numbers once, or asks Python.
"""

import numpy as np

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memset

from segjudge.kernels._growing cimport Places, grow
from segjudge.kernels._vectors cimport eight_digits, line_of, lowest_bit, marks_64, no_digits_64

cdef enum:
    UNSORTED = 1
    OPEN = 2
    BAD = 4

cdef enum:
    QUOTED = 1
    WIDE = 2

cdef int64_t FAR = 1 << 62
cdef int64_t MOST_DIGITS = 18


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
        if grow(places, 64):
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
