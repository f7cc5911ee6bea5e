/* decimal.h - exact conversion of numbers to text and back, for all magnitudes. */
#ifndef ONNXCC_DECIMAL_H
#define ONNXCC_DECIMAL_H
#include "characters.h"

/* bits, low: the precision of a floating-point type, whose numbers are multiples of 2^low */
#define text_print_PARAMS(X, V) X(idx, count) X(idx, at) X(idx, upper) X(int, bits) X(int, low)
#define text_read_PARAMS(X, V) X(idx, count) X(int, bits) X(int, low)
PARAMS(text_print)
PARAMS(text_read)

/* A number >= 0: digits in groups of nine, from 10^314 down, which covers every double. Groups outside first..last are
 * 0. A remainder that does not fit makes the last digit odd (sticky): no double, nor the midpoint of two, has a digit
 * there. */
#define DECIMAL_GROUPS 155
#define DECIMAL_POINT 35
#define DECIMAL_BASE 1000000000
struct rt_decimal {
    u32 group[DECIMAL_GROUPS];
    int first, last;
};

/* 10^(8 - i), the place value of digit i in a group. */
HELPER u32 rt_decimal_place(int i)
{
    u32 place = 1;
    for (; i < 8; i++)
        place *= 10;
    return place;
}

/* d *= 2^by; by <= 29. */
HELPER void rt_decimal_double(struct rt_decimal *d, int by)
{
    u64 carry = 0;
    for (int i = d->last; i > 0 && (i > d->first || carry); carry /= DECIMAL_BASE) {
        carry += (u64)d->group[--i] << by;
        d->group[i] = (u32)(carry % DECIMAL_BASE);
        d->first = i < d->first ? i : d->first;
    }
}

/* d /= 2^by; by <= 29. */
HELPER void rt_decimal_halve(struct rt_decimal *d, int by)
{
    u64 rest = 0;
    int i = d->first;
    for (; i < DECIMAL_GROUPS && (i < d->last || rest); i++) {
        rest = rest * DECIMAL_BASE + d->group[i];
        d->group[i] = (u32)(rest >> by);
        rest &= ((u64)1 << by) - 1;
    }
    d->last = i;
    d->group[DECIMAL_GROUPS - 1] |= rest != 0;
    while (d->first < d->last && !d->group[d->first])
        d->first++;
}

/* The three groups before the decimal point: the integer part, if d < 2^64. */
HELPER u64 rt_decimal_whole(const struct rt_decimal *d)
{
    const u32 *g = d->group + DECIMAL_POINT - 3;
    return ((u64)g[0] * DECIMAL_BASE + g[1]) * DECIMAL_BASE + g[2];
}

/* Digit number `at` of d. */
HELPER int rt_decimal_digit(const struct rt_decimal *d, int at)
{
    return (int)(d->group[at / 9] / rt_decimal_place(at % 9) % 10);
}

/* The number nearest to d with `bits` bits of precision that is a multiple of 2^low; changes d. */
SHARED f64 rt_decimal_real(struct rt_decimal *d, int bits, int low)
{
    const u32 *g = d->group + DECIMAL_POINT - 3;
    u64 m, rest = 0;
    int e = 0;
    while (d->first < d->last && !d->group[d->first])
        d->first++;
    if (d->first == d->last)
        return 0;
    for (; d->first < DECIMAL_POINT - 3 || g[0] >= 18; e += 29)
        rt_decimal_halve(d, 29);
    for (; !g[0] && !g[1]; e -= 29)
        rt_decimal_double(d, 29);
    for (; !g[0]; e -= 4)
        rt_decimal_double(d, 4);
    m = rt_decimal_whole(d);
    for (; !(m >> 63); e--)
        m <<= 1;
    for (int i = DECIMAL_POINT; i < d->last; i++)
        m |= d->group[i] != 0;
    const int drop = low - e > 64 - bits ? low - e : 64 - bits;
    if (drop > 64)
        return 0;
    rest = drop < 64 ? m << (64 - drop) : m;
    m = drop < 64 ? m >> drop : 0;
    m += rest > (u64)1 << 63 || (rest == (u64)1 << 63 && (m & 1));
    f64 y = (f64)m, scale;
    e += drop;
    if (e < -1022) {
        y *= 0x1p-60;
        e += 60;
    }
    m = (u64)(e + 1023) << 52;
    memcpy(&scale, &m, sizeof scale);
    return y * scale;
}

/* Is s the word, without regard to case? */
HELPER int rt_text_word(str s, const char *word)
{
    u64 i = 0;
    while (i < s.length && word[i] && ((u8)s.text[i] | 32) == (u8)word[i])
        i++;
    return i == s.length && !word[i];
}

enum { TEXT_OTHER, TEXT_NUMBER, TEXT_INF, TEXT_NAN }; /* kinds of text */

/* Reads digits, with optional point and exponent, into d. */
HELPER int rt_text_digits(str s, struct rt_decimal *d)
{
    u64 i = 0, point, end, digits;
    i64 e = 0;
    while (i < s.length && s.text[i] >= '0' && s.text[i] <= '9')
        i++;
    digits = point = i;
    if (i < s.length && s.text[i] == '.')
        for (i++; i < s.length && s.text[i] >= '0' && s.text[i] <= '9'; i++)
            digits++;
    end = i;
    if (!digits)
        return TEXT_OTHER;
    if (i < s.length && (s.text[i] | 32) == 'e') {
        const int sign = i + 1 < s.length && (s.text[i + 1] == '-' || s.text[i + 1] == '+');
        const int down = sign && s.text[i + 1] == '-';
        const u64 from = i + (sign ? 2 : 1);
        for (i = from; i < s.length && s.text[i] >= '0' && s.text[i] <= '9'; i++)
            e = e < 1000000 ? e * 10 + (s.text[i] - '0') : e;
        if (i == from)
            return TEXT_OTHER;
        e = down ? -e : e;
    }
    if (i < s.length)
        return TEXT_OTHER;
    memset(d, 0, sizeof *d);
    d->first = DECIMAL_GROUPS;
    i64 at = DECIMAL_POINT * 9 - e - (i64)point;
    for (i = 0; i < end; i++) {
        if (i == point)
            continue;
        const u32 digit = (u32)(s.text[i] - '0');
        if (digit && at < 0)
            return TEXT_INF;
        if (digit && at < DECIMAL_GROUPS * 9) {
            const int k = (int)(at / 9);
            d->group[k] += digit * rt_decimal_place((int)(at % 9));
            d->first = k < d->first ? k : d->first;
            d->last = k + 1;
        } else if (digit) {
            d->group[DECIMAL_GROUPS - 1] |= 1;
            d->first = d->first < DECIMAL_GROUPS ? d->first : DECIMAL_GROUPS - 1;
            d->last = DECIMAL_GROUPS;
        }
        at++;
    }
    if (d->first > d->last)
        d->first = d->last;
    return TEXT_NUMBER;
}

/* Reads s without leading and trailing spaces. */
SHARED int rt_text_number(str s, int *negative, struct rt_decimal *d)
{
    while (s.length && rt_text_space(s.text[0])) {
        s.text++;
        s.length--;
    }
    while (s.length && rt_text_space(s.text[s.length - 1]))
        s.length--;
    *negative = s.length && s.text[0] == '-';
    if (*negative || (s.length && s.text[0] == '+')) {
        s.text++;
        s.length--;
    }
    return rt_text_word(s, "inf") ? TEXT_INF : rt_text_word(s, "nan") ? TEXT_NAN : rt_text_digits(s, d);
}

/* Writes an integer; returns the end. */
HELPER char *rt_text_whole(char *y, u64 x)
{
    int n = 1;
    for (u64 k = x; k >= 10; k /= 10)
        n++;
    for (int i = n; i-- > 0; x /= 10)
        y[i] = (char)('0' + x % 10);
    return y + n;
}

/* Writes n digits, the first of which has the place value 10^e, as printf's %g does with a precision of max(n, 8). */
HELPER char *rt_text_real(char *y, const char *digit, int n, int e)
{
    if (e < -4 || e >= (n > 8 ? n : 8)) {
        *y++ = digit[0];
        if (n > 1) {
            *y++ = '.';
            memcpy(y, digit + 1, (size_t)(n - 1));
            y += n - 1;
        }
        *y++ = 'e';
        *y++ = e < 0 ? '-' : '+';
        if (e > -10 && e < 10)
            *y++ = '0';
        return rt_text_whole(y, (u64)(e < 0 ? -e : e));
    }
    for (int i = e < 0 ? e : 0; i < n || i <= e; i++) {
        if (i == e + 1)
            *y++ = '.';
        *y++ = i >= 0 && i < n ? digit[i] : '0';
    }
    return y;
}

/* The n digits of d from `at` on, rounded; true: rounded up to the next power of ten. */
HELPER int rt_decimal_round(const struct rt_decimal *d, int at, int n, char *digit)
{
    int next = at + n < DECIMAL_GROUPS * 9 ? rt_decimal_digit(d, at + n) : 0, more = 0;
    for (int i = 0; i < n; i++)
        digit[i] = (char)('0' + (at + i < DECIMAL_GROUPS * 9 ? rt_decimal_digit(d, at + i) : 0));
    for (int i = at + n + 1; next == 5 && !more && i < d->last * 9; i++)
        more = rt_decimal_digit(d, i);
    if (next < 5 || (next == 5 && !more && digit[n - 1] % 2 == 0))
        return 0;
    for (int i = n; i-- > 0; digit[i] = '0')
        if (digit[i]++ < '9')
            return 0;
    digit[0] = '1';
    return 1;
}

/* Writes x > 0 with the fewest digits that identify it among the numbers of its type; returns the end. */
SHARED char *rt_text_shortest(char *y, f64 x, int bits, int low)
{
    struct rt_decimal d = {{0}, DECIMAL_POINT - 2, DECIMAL_POINT}, back;
    u64 m;
    int at, e, negative;
    char digit[17], *end = y;
    memcpy(&m, &x, sizeof m);
    e = (int)(m >> 52);
    m = (m & (((u64)1 << 52) - 1)) | (u64)(e > 0) << 52;
    e = (e ? e : 1) - 1075;
    d.group[DECIMAL_POINT - 2] = (u32)(m / DECIMAL_BASE);
    d.group[DECIMAL_POINT - 1] = (u32)(m % DECIMAL_BASE);
    for (; e > 0; e -= e < 29 ? e : 29)
        rt_decimal_double(&d, e < 29 ? e : 29);
    for (; e < 0; e += -e < 29 ? -e : 29)
        rt_decimal_halve(&d, -e < 29 ? -e : 29);
    for (at = d.first * 9; !rt_decimal_digit(&d, at); at++)
        ;
    for (int n = 1; n <= 17; n++) {
        const int up = rt_decimal_round(&d, at, n, digit);
        end = rt_text_real(y, digit, n, DECIMAL_POINT * 9 - 1 - at + up);
        const str s = {y, (u64)(end - y)};
        if (rt_text_number(s, &negative, &back) == TEXT_NUMBER && rt_decimal_real(&back, bits, low) == x)
            break;
    }
    return end;
}

#define DECIMAL_IS_f64 1
#define DECIMAL_IS_i64 1
#define DECIMAL_IS_u64 1

HELPER char *rt_text_put_f64(char *y, f64 x, int bits, int low)
{
    const char *const word = x != x ? "NaN" : "INF";
    if (x < 0 || (x == 0 && 1 / x < 0)) {
        *y++ = '-';
        x = -x;
    }
    if (x != x || x > 0x1.fffffffffffffp1023) {
        memcpy(y, word, 3);
        return y + 3;
    }
    return x == 0 ? rt_text_whole(y, 0) : rt_text_shortest(y, x, bits, low);
}

HELPER char *rt_text_put_u64(char *y, u64 x, int bits, int low)
{
    (void)bits, (void)low;
    return rt_text_whole(y, x);
}

HELPER char *rt_text_put_i64(char *y, i64 x, int bits, int low)
{
    (void)bits, (void)low;
    if (x < 0)
        *y++ = '-';
    return rt_text_whole(y, x < 0 ? 0 - (u64)x : (u64)x);
}

HELPER int rt_text_get_f64(str s, f64 *y, int bits, int low)
{
    struct rt_decimal d;
    int negative;
    const int what = rt_text_number(s, &negative, &d);
    *y = what == TEXT_NUMBER ? rt_decimal_real(&d, bits, low) : what == TEXT_INF ? RT_INF_F64 : RT_NAN_F64;
    *y = negative ? -*y : *y;
    return what != TEXT_OTHER;
}

/* Reads an integer; digits after the point are ignored. */
HELPER int rt_text_integer(str s, u64 *y, int *negative)
{
    struct rt_decimal d;
    if (rt_text_number(s, negative, &d) != TEXT_NUMBER || (d.first < DECIMAL_POINT - 3 && d.first < d.last))
        return 0;
    *y = rt_decimal_whole(&d);
    return d.group[DECIMAL_POINT - 3] <= 18 && *y / DECIMAL_BASE / DECIMAL_BASE == d.group[DECIMAL_POINT - 3];
}

/* Negative numbers are taken modulo 2^64, as in casts of integers. */
HELPER int rt_text_get_u64(str s, u64 *y, int bits, int low)
{
    u64 x = 0;
    int negative, ok = rt_text_integer(s, &x, &negative);
    (void)bits, (void)low;
    *y = negative ? 0 - x : x;
    return ok;
}

HELPER int rt_text_get_i64(str s, i64 *y, int bits, int low)
{
    u64 x = 0;
    int negative, ok = rt_text_integer(s, &x, &negative);
    (void)bits, (void)low;
    *y = (i64)(negative ? 0 - x : x);
    return ok && x <= ((u64)1 << 63) - !negative;
}
#endif

#if defined T && !defined U
#if RT_TAKES(DECIMAL_IS_, T)
/* y[i]: x[i] as a string, whose bytes are stored in text[p.at .. p.upper). */
KERNEL int FN(text_print)(const T *restrict x, str *restrict y, u8 *restrict text, struct text_print p)
{
    char word[32];
    const u64 upper = (u64)p.upper;
    u64 used = (u64)p.at;
    for (idx i = 0; i < p.count; i++) {
        const u64 n = (u64)(RT_CAT(rt_text_put_, T)(word, x[i], p.bits, p.low) - word);
        if (n > upper - used)
            return RT_BAD_SIZE;
        memcpy(text + used, word, (size_t)n);
        y[i].text = (const char *)text + used;
        y[i].length = n;
        used += n;
    }
    return RT_OK;
}
REGISTER_FALLIBLE(text_print, 3, 1, 0)

/* y[i]: x[i] as a number. */
KERNEL int FN(text_read)(const str *restrict x, T *restrict y, struct text_read p)
{
    for (idx i = 0; i < p.count; i++)
        if (!RT_CAT(rt_text_get_, T)(x[i], y + i, p.bits, p.low))
            return RT_BAD_VALUE;
    return RT_OK;
}
REGISTER_FALLIBLE(text_read, 2, 1, 0)
#endif
#endif
