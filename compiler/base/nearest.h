/* nearest.h - the known name that is nearest to an unknown, probably misspelt one. */
#pragma once

#include "base/util.h"

typedef struct Nearest {
    const char *wanted, *best; /* best: NULL: none is near */
    size_t n, best_n;
    int distance; /* of best, in edits */
} Nearest;

Nearest nearest_to(const char *wanted, size_t n);
void nearest_try(Nearest *f, const char *s,
                 size_t n); /* s stays valid; of equally near names the first in the alphabet counts */
void nearest_try_words(Nearest *f, const char *words); /* separated by blanks */
bool nearest_help(const Nearest *f);                   /* help: did you mean '...'? False: nothing is near */
