/* regex.h - a regular expression as a table that walks over bytes. */
#ifndef ONNXCC_REGEX_H
#define ONNXCC_REGEX_H

#include "base/util.h"

typedef struct Regex {
    const char *error; /* not NULL: what is wrong with the pattern, at byte `at` */
    int at;
    int states, classes, start, accept; /* states from `accept` on accept */
    const uint16_t *table;              /* the class of each of 256 bytes, then the next state per state and class */
    int entries;                        /* of the table */
} Regex;

/* The whole text has to match. RE2's syntax without back references, look-around, \p and \C; UTF-8. */
Regex regex_compile(Name pattern);

#endif
