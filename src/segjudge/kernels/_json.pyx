# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The entries of COCO's JSON lists, read into numbers without a Python object for any of them.

`_json_plain.py` says what is computed. Only entries that are plain are taken; at the first that is not
the kernel stops, and the careful reader goes on. What it passes over has been held to JSON's grammar,
every byte of it.
"""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp

from segjudge.kernels._cursor cimport MORE, ODD, OK, Cursor, blank, integer, number, number_passed

from segjudge.kernels._words import CLOSED, FLOATS, FULL, INTEGERS

cdef enum:
    # What `_words.py` calls the columns and the bits.
    KIND = 0
    BEGIN = 1
    END = 2
    COUNTS_BEGIN = 3
    COUNTS_END = 4
    HEIGHT = 5
    WIDTH = 6
    NUMBER = 7
    IMAGE = 8
    CLASS = 9
    FLAGS = 10
    TEXT = 1
    LIST = 2
    RINGS = 3
    HAS_ID = 1
    HAS_IMAGE = 2
    HAS_CLASS = 4
    HAS_SCORE = 8
    HAS_AREA = 16
    HAS_BOX = 32
    HAS_MASK = 64
    HAS_CROWD = 128
    HAS_IGNORE = 256
    HAS_HEIGHT = 512
    HAS_WIDTH = 1024
    CROWD = 2048
    IGNORED = 4096
    DEEPEST = 60
    COMMA = 44
    CLOSE_LIST = 93
    CLOSE_OBJECT = 125
    FARTHEST = 1 << 20

cdef int64_t MOST_CLASSES = <int64_t> 1 << 31

cdef double LARGEST = 1.7976931348623157e308


def scan_entries(const uint8_t[::1] text, int64_t at, int wanted, int required,
                 int64_t[:, ::1] whole, double[:, ::1] real):
    cdef int64_t size = text.shape[0], taken = 0, room = whole.shape[0]
    cdef int state = OK
    if not 0 <= at <= size:
        raise ValueError("the place lies outside the text")
    if whole.shape[1] != INTEGERS or real.shape[1] != FLOATS or real.shape[0] != room:
        raise ValueError("the tables have other columns")
    if at == size:
        return 0, at, MORE
    if room == 0:
        return 0, at, FULL
    cdef const uint8_t* base = &text[0]
    cdef int64_t closed = CLOSED, full = FULL
    with nogil:
        state = _entries(base, size, wanted, required, &whole[0, 0], whole.shape[1], &real[0, 0], real.shape[1],
                         room, &taken, &at)
    return taken, at, (CLOSED if state == 3 else FULL if state == 4 else state)


cdef int _entries(
    const uint8_t* base, int64_t size, int wanted, int required, int64_t* whole, int64_t width,
    double* real, int64_t real_width, int64_t room, int64_t* taken, int64_t* place,
) noexcept nogil:
    cdef Cursor c
    cdef const uint8_t* start
    cdef int64_t* row
    cdef int state
    c.at = base + place[0]
    c.end = base + size
    while True:
        start = c.at
        if taken[0] == room:
            state = 4
            break
        state = blank(&c)
        if state == MORE:
            break
        row = whole + taken[0] * width
        state = _entry(&c, base, wanted, row, real + taken[0] * real_width)
        if state == OK and (row[FLAGS] & required) != required:
            state = ODD
        if state == OK:
            state = blank(&c)
        if state != OK:
            break
        if c.at[0] == b',':
            c.at += 1
            taken[0] += 1
        elif c.at[0] == b']':
            start = c.at + 1
            taken[0] += 1
            state = 3
            break
        else:
            state = ODD
            break
    place[0] = start - base
    return state


cdef int _entry(Cursor* c, const uint8_t* base, int wanted, int64_t* row, double* real) noexcept nogil:
    """One object; its known fields stand in the row afterwards."""
    cdef const uint8_t* begin = NULL
    cdef const uint8_t* stop = NULL
    cdef int state, field, width
    cdef bint escaped = False
    row[KIND] = row[FLAGS] = 0
    if c.at[0] != b'{':
        return ODD
    c.at += 1
    state = blank(c)
    if state != OK:
        return state
    if c.at[0] == b'}':
        c.at += 1
        return OK
    while True:
        state = _text(c, &begin, &stop, &escaped)
        if state == OK and escaped:
            state = ODD  # the name may be any, once it is read
        if state == OK:
            state = _sign(c, b':')
        if state != OK:
            return state
        field = _field(begin, stop - begin) & wanted
        if field & row[FLAGS]:
            return ODD  # the last of them counts, to Python
        row[FLAGS] |= field
        state = _value(c, base, field, row, real)
        if state == OK:
            state = blank(c)
        if state != OK:
            return state
        if c.at[0] == b'}':
            c.at += 1
            return OK
        if c.at[0] != b',':
            return ODD
        c.at += 1
        state = blank(c)
        if state != OK:
            return state


cdef inline int _sign(Cursor* c, uint8_t sign) noexcept nogil:
    """Behind this sign, and at the next that is no white space."""
    cdef int state = blank(c)
    if state != OK:
        return state
    if c.at[0] != sign:
        return ODD
    c.at += 1
    return blank(c)


cdef inline int _field(const uint8_t* name, int64_t length) noexcept nogil:
    """The bit of a known field, 0 for all others."""
    if length == 2:
        return HAS_ID if memcmp(name, b"id", 2) == 0 else 0
    if length == 4:
        return HAS_AREA if memcmp(name, b"area", 4) == 0 else HAS_BOX if memcmp(name, b"bbox", 4) == 0 else 0
    if length == 5:
        return (HAS_SCORE if memcmp(name, b"score", 5) == 0
                else HAS_WIDTH if memcmp(name, b"width", 5) == 0 else 0)
    if length == 6:
        return (HAS_IGNORE if memcmp(name, b"ignore", 6) == 0
                else HAS_HEIGHT if memcmp(name, b"height", 6) == 0 else 0)
    if length == 7:
        return HAS_CROWD if memcmp(name, b"iscrowd", 7) == 0 else 0
    if length == 8:
        return HAS_IMAGE if memcmp(name, b"image_id", 8) == 0 else 0
    if length == 11:
        return HAS_CLASS if memcmp(name, b"category_id", 11) == 0 else 0
    if length == 12:
        return HAS_MASK if memcmp(name, b"segmentation", 12) == 0 else 0
    return 0


cdef int _value(Cursor* c, const uint8_t* base, int field, int64_t* row, double* real) noexcept nogil:
    """A field's value: of its plain type, or it is odd."""
    cdef int state, set = 0
    if field == 0:
        return _passed(c)
    if field == HAS_MASK:
        return _mask(c, base, row)
    if field == HAS_ID:
        return integer(c, &row[NUMBER])
    if field == HAS_IMAGE:
        return integer(c, &row[IMAGE])
    if field == HAS_CLASS:
        state = integer(c, &row[CLASS])
        return ODD if state == OK and not 0 <= row[CLASS] < MOST_CLASSES else state
    if field == HAS_HEIGHT:
        return _side(c, &row[HEIGHT], 1)
    if field == HAS_WIDTH:
        return _side(c, &row[WIDTH], 1)
    if field == HAS_SCORE:
        return _finite(c, &real[0])
    if field == HAS_AREA:
        return _finite(c, &real[1])
    if field == HAS_BOX:
        return _box(c, &real[2])
    state = _flag(c, &set)
    if set:
        row[FLAGS] |= CROWD if field == HAS_CROWD else IGNORED
    return state


cdef inline int _side(Cursor* c, int64_t* value, int64_t least) noexcept nogil:
    cdef int state = integer(c, value)
    if state == OK and not least <= value[0] <= FARTHEST:
        return ODD
    return state


cdef inline int _finite(Cursor* c, double* value) noexcept nogil:
    cdef int state = number(c, value)
    if state == OK and not -LARGEST <= value[0] <= LARGEST:
        return ODD
    return state


cdef inline int _flag(Cursor* c, int* set) noexcept nogil:
    """0, 1, false or true."""
    cdef int64_t value = 0
    cdef int state
    if c.at[0] == b't' or c.at[0] == b'f':
        set[0] = c.at[0] == b't'
        return _word(c)
    state = integer(c, &value)
    if state == OK and value != 0 and value != 1:
        return ODD
    set[0] = value == 1
    return state


cdef int _box(Cursor* c, double* area) noexcept nogil:
    """x, y, width, height: the area of the box."""
    cdef double[4] sides
    cdef int state, place
    if c.at[0] != b'[':
        return ODD
    c.at += 1
    for place in range(4):
        state = blank(c)
        if state == OK:
            state = _finite(c, &sides[place])
        if state == OK:
            state = blank(c)
        if state != OK:
            return state
        if c.at[0] != (COMMA if place < 3 else CLOSE_LIST):
            return ODD
        c.at += 1
    area[0] = sides[2] * sides[3]
    return OK


cdef int _mask(Cursor* c, const uint8_t* base, int64_t* row) noexcept nogil:
    """Rings, or an object with size and counts; where it lies, and what it is."""
    cdef int state
    row[BEGIN] = c.at - base
    if c.at[0] == b'[':
        row[KIND] = RINGS
        row[COUNTS_BEGIN] = row[BEGIN]
        state = _rings(c)
        row[COUNTS_END] = c.at - base
    elif c.at[0] == b'{':
        state = _runs(c, base, row)
    else:
        return ODD
    row[END] = c.at - base
    return state


cdef int _rings(Cursor* c) noexcept nogil:
    """Lists of numbers in a list: of three corners at least, and no half ones."""
    cdef int state
    cdef int64_t numbers
    c.at += 1
    while True:
        state = blank(c)
        if state != OK:
            return state
        if c.at[0] != b'[':
            return ODD
        c.at += 1
        state = _numbers(c, &numbers)
        if state != OK:
            return state
        if numbers < 6 or numbers & 1:
            return ODD
        state = blank(c)
        if state != OK:
            return state
        if c.at[0] == b']':
            c.at += 1
            return OK
        if c.at[0] != b',':
            return ODD
        c.at += 1


cdef inline int _numbers(Cursor* c, int64_t* count) noexcept nogil:
    """The rest of a list of numbers, of one at least."""
    cdef int state
    count[0] = 0
    while True:
        state = blank(c)
        if state == OK:
            state = number_passed(c)
        if state == OK:
            state = blank(c)
        if state != OK:
            return state
        count[0] += 1
        if c.at[0] == b']':
            c.at += 1
            return OK
        if c.at[0] != b',':
            return ODD
        c.at += 1


cdef int _runs(Cursor* c, const uint8_t* base, int64_t* row) noexcept nogil:
    """An object with size and counts."""
    cdef const uint8_t* begin = NULL
    cdef const uint8_t* stop = NULL
    cdef int state, seen = 0, field
    cdef int64_t length
    cdef bint escaped = False
    c.at += 1
    state = blank(c)
    while state == OK:
        state = _text(c, &begin, &stop, &escaped)
        if state == OK and escaped:
            state = ODD
        if state == OK:
            state = _sign(c, b':')
        if state != OK:
            return state
        length = stop - begin
        field = (1 if length == 4 and memcmp(begin, b"size", 4) == 0
                 else 2 if length == 6 and memcmp(begin, b"counts", 6) == 0 else 0)
        if seen & field:
            return ODD
        seen |= field
        state = (_size(c, row) if field == 1 else _counts(c, base, row) if field == 2 else _passed(c))
        if state == OK:
            state = blank(c)
        if state != OK:
            return state
        if c.at[0] == b'}':
            c.at += 1
            return OK if seen == 3 else ODD
        if c.at[0] != b',':
            return ODD
        c.at += 1
        state = blank(c)
    return state


cdef int _size(Cursor* c, int64_t* row) noexcept nogil:
    cdef int state
    if c.at[0] != b'[':
        return ODD
    c.at += 1
    state = blank(c)
    if state == OK:
        state = _side(c, &row[HEIGHT], 0)
    if state == OK:
        state = _sign(c, b',')
    if state == OK:
        state = _side(c, &row[WIDTH], 0)
    if state == OK:
        state = blank(c)
    if state != OK:
        return state
    if c.at[0] != b']':
        return ODD
    c.at += 1
    return OK


cdef int _counts(Cursor* c, const uint8_t* base, int64_t* row) noexcept nogil:
    """Counts as text, the place of which is that between the quotes, or as a list of numbers."""
    cdef const uint8_t* begin = NULL
    cdef const uint8_t* stop = NULL
    cdef bint escaped = False
    cdef int64_t numbers = 0
    cdef int state
    if c.at[0] == b'"':
        row[KIND] = TEXT
        state = _text(c, &begin, &stop, &escaped)
        if state == OK:
            row[COUNTS_BEGIN] = begin - base
            row[COUNTS_END] = stop - base
        return state
    if c.at[0] != b'[':
        return ODD
    row[KIND] = LIST
    row[COUNTS_BEGIN] = c.at - base
    c.at += 1
    state = _numbers(c, &numbers)
    row[COUNTS_END] = c.at - base
    return state


cdef int _text(Cursor* c, const uint8_t** begin, const uint8_t** stop, bint* escaped) noexcept nogil:
    """A text of ASCII signs; `begin` and `stop` are what stands between its quotes."""
    cdef const uint8_t* first = c.at + 1
    cdef const uint8_t* at = first
    cdef const uint8_t* back
    cdef uint8_t strange = 0, slashes = 0, sign
    cdef int64_t place, length
    if c.at[0] != b'"':
        return ODD
    while True:
        at = <const uint8_t*> memchr(at, b'"', c.end - at) if at < c.end else NULL
        if at == NULL:
            return MORE
        back = at
        while back > first and (back - 1)[0] == b'\\':
            back -= 1
        if (at - back) & 1 == 0:
            break
        at += 1
    length = at - first
    for place in range(length):
        sign = first[place]
        strange |= <uint8_t> (sign - 32) > 95
        slashes |= sign == b'\\'
    if strange:
        return ODD
    if slashes and not _plain_escapes(first, at):
        return ODD
    begin[0] = first
    stop[0] = at
    escaped[0] = slashes != 0
    c.at = at + 1
    return OK


cdef bint _plain_escapes(const uint8_t* at, const uint8_t* stop) noexcept nogil:
    """Whether every backslash stands before a sign that it may, and none of them writes a number."""
    while True:
        at = <const uint8_t*> memchr(at, b'\\', stop - at) if at < stop else NULL
        if at == NULL:
            return True
        # The text does not end in a lone backslash, or its quote would not end it.
        if memchr(b'"\\/bfnrt', at[1], 8) == NULL:
            return False
        at += 2


cdef inline int _word(Cursor* c) noexcept nogil:
    """true, false or null."""
    cdef int64_t length = 5 if c.at[0] == b'f' else 4
    if c.end - c.at <= length:
        return MORE
    if memcmp(c.at, b"true" if c.at[0] == b't' else b"false" if c.at[0] == b'f' else b"null", length) != 0:
        return ODD
    c.at += length
    return OK


cdef int _passed(Cursor* c) noexcept nogil:
    """Behind a value that nobody asks for."""
    cdef const uint8_t* begin = NULL
    cdef const uint8_t* stop = NULL
    cdef bint escaped = False, close
    cdef uint64_t objects = 0  # the lowest bit: whether the innermost is an object and not a list
    cdef int depth = 0, state = OK
    cdef uint8_t sign
    while True:
        close = False
        sign = c.at[0]
        if sign == b'"':
            state = _text(c, &begin, &stop, &escaped)
        elif sign == b'{' or sign == b'[':
            if depth == DEEPEST:
                return ODD
            depth += 1
            objects = objects << 1 | (sign == b'{')
            c.at += 1
            state = blank(c)
            if state != OK:
                return state
            if c.at[0] != (CLOSE_OBJECT if sign == b'{' else CLOSE_LIST):
                if sign == b'{':
                    state = _name(c)
                    if state != OK:
                        return state
                continue
            close = True
        elif sign == b't' or sign == b'f' or sign == b'n':
            state = _word(c)
        else:
            state = number_passed(c)
        if state != OK:
            return state
        # A value has ended, or a bracket is about to close: on to the next value, or out.
        while True:
            if not close:
                if depth == 0:
                    return OK
                state = blank(c)
                if state != OK:
                    return state
                if c.at[0] == b',':
                    c.at += 1
                    state = blank(c)
                    if state == OK and objects & 1:
                        state = _name(c)
                    if state != OK:
                        return state
                    break
                if c.at[0] != (CLOSE_OBJECT if objects & 1 else CLOSE_LIST):
                    return ODD
            c.at += 1
            depth -= 1
            objects >>= 1
            close = False


cdef inline int _name(Cursor* c) noexcept nogil:
    """Behind a name and its colon, at the value."""
    cdef const uint8_t* begin = NULL
    cdef const uint8_t* stop = NULL
    cdef bint escaped = False
    cdef int state = _text(c, &begin, &stop, &escaped)
    if state == OK:
        state = _sign(c, b':')
    return state
