# cython: language_level=3
"""Text and pixels by 64 bytes, and numbers without a division: what several kernels are made of."""

from libc.stdint cimport int64_t, uint8_t, uint64_t

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
