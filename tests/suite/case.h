/* case.h - the interface between a test's emitted code and the program that calls it: the description in case.c, which
 * model.c writes, and the files of inputs and results, which are little-endian on every machine. */
#ifndef CASE_H
#define CASE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define CASE_RANK 16

/* The name of a test's description; several in one translation unit have different names. */
#ifndef SUITE_CASE
#define SUITE_CASE suite_case
#endif

/* Every array has one element more than its count, so that none is empty. */
struct suite_case {
    int n_in, n_out, n_size;
    int repeat;                /* call twice and compare: not for random operators */
    const int64_t *in_bytes;   /* the inputs' bytes lie one after the other in the input file; -1: a null pointer */
    const int64_t *in_strings; /* -1, or: so many strings, each in the file as its length (8 bytes) and its bytes */
    const int *in_type;        /* ONNX's number */
    const int *in_rank;
    const int *in_unit; /* bytes of what a big-endian machine has to swap: an element, or a part of a complex one */
    const int64_t *out_bytes; /* room for the largest output */
    const int *out_type;
    const int *out_bits; /* of an element */
    const int *out_unit;
    const int *out_rank;
    const int *out_open; /* 1: slots of an open sequence; the next two outputs are its dims and its count */
    int64_t *size;       /* run-time sizes: in, and after the call out */
    int (*call)(void *const *in, void *const *out, int64_t *size);
    void (*dims)(const int64_t *size, int64_t (*dim)[CASE_RANK]); /* of the outputs, under those sizes */
};

/* Units of so many bytes, between the file's order and the machine's. */
static inline void case_swap(void *data, int64_t bytes, int unit)
{
#if defined __BYTE_ORDER__ && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    char *s = data;
    for (int64_t i = 0; unit > 1 && i + unit <= bytes; i += unit)
        for (int k = 0; k < unit / 2; k++) {
            char kept = s[i + k];
            s[i + k] = s[i + unit - 1 - k];
            s[i + unit - 1 - k] = kept;
        }
#else
    (void)data, (void)bytes, (void)unit;
#endif
}
static inline void case_put(FILE *f, int64_t v)
{
    case_swap(&v, 8, 8);
    fwrite(&v, 8, 1, f);
}

/* One result in a file: type, rank, dims, bytes, contents. */
static inline void case_write(FILE *f, int64_t type, int64_t rank, const int64_t *dim, const void *data, int64_t bytes)
{
    case_put(f, type);
    case_put(f, rank);
    for (int64_t k = 0; k < rank; k++)
        case_put(f, dim[k]);
    case_put(f, bytes);
    fwrite(data, 1, (size_t)bytes, f);
}

/* Clears the unused bits in the last byte of packed elements. Returns the number of bytes that `bits` bits take. */
static inline int64_t case_clear_padding(char *data, int64_t bits)
{
    if (bits % 8)
        data[bits / 8] = (char)(data[bits / 8] & ((1 << bits % 8) - 1));
    return (bits + 7) / 8;
}

/* Strings in the form of a file, each its length (8 bytes) and its bytes. Returns the number of bytes; to may be NULL. */
struct case_string {
    const char *text;
    uint64_t length;
} __attribute__((aligned(16), may_alias)); /* as onnxcc_string */
static inline int64_t case_put_strings(const struct case_string *s, int64_t n, char *to)
{
    int64_t at = 0;
    for (int64_t i = 0; i < n; i++) {
        if (to) {
            memcpy(to + at, &s[i].length, 8);
            case_swap(to + at, 8, 8);
            if (s[i].length)
                memcpy(to + at + 8, s[i].text, (size_t)s[i].length);
        }
        at += 8 + (int64_t)s[i].length;
    }
    return at;
}

/* Clears the unused slots of an open sequence, and the unused ends of the used ones. */
static inline void case_clear_unused(struct case_string *s, const int64_t *dim, const int64_t *row,
                                     const int64_t *width, int64_t count)
{
    for (int64_t i = 0; i < dim[0]; i++, row += width[1]) {
        int64_t used = i < count;
        for (int64_t a = 0; a < width[1]; a++)
            used *= used && row[a] >= 0 ? row[a] : 1;
        for (int64_t k = used; k < dim[1]; k++)
            s[i * dim[1] + k] = (struct case_string){NULL, 0};
    }
}

/* ONNX's numbers of types. */
enum {
    CASE_FLOAT = 1,
    CASE_UINT8 = 2,
    CASE_INT64 = 7,
    CASE_STRING = 8,
    CASE_HALF = 10,
    CASE_DOUBLE = 11,
    CASE_UINT32 = 12,
    CASE_UINT64 = 13,
    CASE_COMPLEX64 = 14,
    CASE_COMPLEX128 = 15,
    CASE_BFLOAT16 = 16
};

/* How call.c ends; anything else is a crash. */
enum { CALL_OK = 0, CALL_STATUS = 20, CALL_CANARY, CALL_BITS, CALL_BROKEN };

#endif
