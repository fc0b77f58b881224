# cython: language_level=3
"""A place in JSON text, and the steps that both kernels over JSON take from it.

Each step returns OK and moves on, MORE where the text ends first, or ODD where what stands there is
not plain: the careful readers then look for themselves. No step looks at `end` or behind it.
"""

from libc.math cimport ldexp
from libc.stdint cimport int64_t, uint8_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__SIZEOF_INT128__)
    #define SEGJUDGE_HAS_128 1
    /* (high : 0) / by, for high < by: the quotient's 64 bits, and what is left. */
    static inline uint64_t segjudge_divide(uint64_t high, uint64_t low, uint64_t by, uint64_t *rest) {
        unsigned __int128 whole = ((unsigned __int128) high << 64) | low;
        *rest = (uint64_t) (whole % by);
        return (uint64_t) (whole / by);
    }
    static inline int segjudge_zeros(uint64_t value) { return __builtin_clzll(value); }
    #else
    #define SEGJUDGE_HAS_128 0
    static inline uint64_t segjudge_divide(uint64_t h, uint64_t l, uint64_t b, uint64_t *r) { *r = 0; return 0; }
    static inline int segjudge_zeros(uint64_t value) { return 0; }
    #endif
    static const double segjudge_tens[23] = {
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    static const uint64_t segjudge_whole_tens[19] = {
        1ULL, 10ULL, 100ULL, 1000ULL, 10000ULL, 100000ULL, 1000000ULL, 10000000ULL, 100000000ULL,
        1000000000ULL, 10000000000ULL, 100000000000ULL, 1000000000000ULL, 10000000000000ULL,
        100000000000000ULL, 1000000000000000ULL, 10000000000000000ULL, 100000000000000000ULL,
        1000000000000000000ULL};
    """
    bint SEGJUDGE_HAS_128
    uint64_t segjudge_divide(uint64_t high, uint64_t low, uint64_t by, uint64_t* rest) noexcept nogil
    int segjudge_zeros(uint64_t value) noexcept nogil
    const double* segjudge_tens
    const uint64_t* segjudge_whole_tens

cdef enum:
    OK = 0
    MORE = 1
    ODD = 2
    MOST_DIGITS = 4096  # Python reads no whole number of more than 4,300

cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end


cdef inline int blank(Cursor* c) noexcept nogil:
    """To the next sign that is no white space."""
    while c.at < c.end:
        if c.at[0] > 32 or (c.at[0] != 32 and c.at[0] != 10 and c.at[0] != 13 and c.at[0] != 9):
            return OK
        c.at += 1
    return MORE


cdef inline int integer(Cursor* c, int64_t* value) noexcept nogil:
    """A whole number of at most 18 digits."""
    cdef const uint8_t* at = c.at
    cdef const uint8_t* first
    cdef bint negative = False
    cdef int64_t number = 0
    if at < c.end and at[0] == b'-':
        negative = True
        at += 1
    first = at
    while at < c.end and b'0' <= at[0] <= b'9':
        if at - first == 18:
            return ODD
        number = number * 10 + (at[0] - 48)
        at += 1
    if at == c.end:
        return MORE
    if at == first or (first[0] == b'0' and at - first > 1):
        return ODD
    if at[0] == b'.' or at[0] == b'e' or at[0] == b'E':
        return ODD
    value[0] = -number if negative else number
    c.at = at
    return OK


cdef inline double exact_quotient(uint64_t mantissa, int tens) noexcept nogil:
    """mantissa / 10^tens for mantissa > 0 and tens in 0..18, rounded half to even, as Python rounds."""
    cdef int zeros = segjudge_zeros(mantissa)
    cdef int shift = segjudge_zeros(segjudge_whole_tens[tens])
    cdef uint64_t by = segjudge_whole_tens[tens] << shift
    cdef uint64_t high = mantissa << zeros
    cdef uint64_t rest = 0, quotient, below, half
    cdef int extra
    # The numerator's highest bit is 126, the divisor's is 63: the quotient has 63 or 64 bits.
    quotient = segjudge_divide(high >> 1, (high & 1) << 63, by, &rest)
    extra = 11 - segjudge_zeros(quotient)
    half = (<uint64_t> 1) << (extra - 1)
    below = quotient & ((half << 1) - 1)
    quotient >>= extra
    if below > half or (below == half and (rest != 0 or quotient & 1)):
        quotient += 1
    return ldexp(<double> quotient, extra - zeros - 63 + shift)


cdef inline int number(Cursor* c, double* value) noexcept nogil:
    """Any number, as Python's float() reads it, to the last bit."""
    cdef const uint8_t* at = c.at
    cdef const uint8_t* first
    cdef bint negative = False, fraction = False, down = False
    cdef uint64_t mantissa = 0
    cdef int digits = 0, tens = 0, exponent = 0
    cdef double found
    if at < c.end and at[0] == b'-':
        negative = True
        at += 1
    first = at
    while at < c.end and b'0' <= at[0] <= b'9':
        if digits < 19:
            mantissa = mantissa * 10 + (at[0] - 48)
        digits += mantissa != 0
        at += 1
    if at == c.end:
        return MORE
    if at == first or (first[0] == b'0' and at - first > 1) or at - first > MOST_DIGITS:
        return ODD
    if at[0] == b'.':
        fraction = True
        at += 1
        first = at
        while at < c.end and b'0' <= at[0] <= b'9':
            if digits < 19:
                mantissa = mantissa * 10 + (at[0] - 48)
            digits += mantissa != 0
            at += 1
        if at == c.end:
            return MORE
        if at == first or at - first > MOST_DIGITS:
            return ODD
        tens = <int> (at - first)
    if at[0] == b'e' or at[0] == b'E':
        fraction = True
        at += 1
        if at < c.end and (at[0] == b'-' or at[0] == b'+'):
            down = at[0] == b'-'
            at += 1
        first = at
        while at < c.end and b'0' <= at[0] <= b'9':
            if at - first == 8:
                return ODD
            exponent = exponent * 10 + (at[0] - 48)
            at += 1
        if at == c.end:
            return MORE
        if at == first:
            return ODD
        tens += exponent if down else -exponent
    if mantissa == 0:
        found = 0.0
        negative = negative and fraction  # a whole -0 is 0
    elif digits <= 19 and mantissa <= (<uint64_t> 1) << 53 and -22 <= tens <= 22:
        if tens < 0:
            found = <double> mantissa * segjudge_tens[-tens]
        else:
            found = <double> mantissa / segjudge_tens[tens]
    elif SEGJUDGE_HAS_128 and digits <= 19 and 0 <= tens <= 18:
        found = exact_quotient(mantissa, tens)
    else:
        return python_number(c, at, value)
    value[0] = -found if negative else found
    c.at = at
    return OK


cdef inline int python_number(Cursor* c, const uint8_t* end, double* value) noexcept nogil:
    """A number that Python reads: many digits, or far from one."""
    with gil:
        try:
            value[0] = float((<const char*> c.at)[:end - c.at])
        except (ValueError, MemoryError):
            return ODD
    c.at = end
    return OK


cdef inline int number_passed(Cursor* c) noexcept nogil:
    """Behind a number, whose value nobody asks for."""
    cdef const uint8_t* at = c.at
    cdef const uint8_t* first
    if at < c.end and at[0] == b'-':
        at += 1
    first = at
    while at < c.end and b'0' <= at[0] <= b'9':
        at += 1
    if at == c.end:
        return MORE
    if at == first or (first[0] == b'0' and at - first > 1) or at - first > MOST_DIGITS:
        return ODD
    if at[0] == b'.':
        at += 1
        first = at
        while at < c.end and b'0' <= at[0] <= b'9':
            at += 1
        if at == c.end:
            return MORE
        if at == first:
            return ODD
    if at[0] == b'e' or at[0] == b'E':
        at += 1
        if at < c.end and (at[0] == b'-' or at[0] == b'+'):
            at += 1
        first = at
        while at < c.end and b'0' <= at[0] <= b'9':
            at += 1
        if at == c.end:
            return MORE
        if at == first:
            return ODD
    c.at = at
    return OK
