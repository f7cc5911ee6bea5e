/* regex.h - a regular expression as a deterministic automaton over bytes. */
#ifndef ONNXCC_REGEX_H
#define ONNXCC_REGEX_H

#include "base/util.h"

typedef struct Regex {
    const char *error; /* what is wrong with the pattern, at byte `at`; NULL: nothing */
    int at;
    int states, classes, start, accept; /* states >= accept are accepting */
    const uint16_t *table;              /* the class of each of 256 bytes, then the next state by state and class */
    int entries;                        /* of the table */
} Regex;

/* Matches whole texts, as UTF-8. RE2's syntax without \p and \C. */
Regex regex_compile(Name pattern);

#endif
