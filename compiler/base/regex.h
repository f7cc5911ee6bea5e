/* regex.h - a regular expression as a deterministic automaton over bytes. */
#pragma once

#include "base/util.h"

typedef struct Regex {
    const char *error; /* what is wrong with the pattern, at byte `at`; NULL: nothing */
    int at;
    int states, classes, start, accept; /* states >= accept are accepting */
    const uint16_t *table;              /* the class of each of 256 bytes, then the next state by state and class */
    int entries;                        /* of the table */
    int start_after[4];                 /* for kinds, as in runtime-min/tokenize.h */
    int dead;                           /* the state that leads to no match; -1: none */
} Regex;

/* Matches whole texts, as UTF-8. RE2's syntax without \p and \C. */
Regex regex_compile(Name pattern);

/* The same for the search of matches in a text: a match may begin in the state start_after[kind of the byte before it].
 * In the table a set, bit 1 << kind, precedes the next states of a state: a match may end in it before a byte of that
 * kind. */
Regex regex_compile_search(Name pattern);
