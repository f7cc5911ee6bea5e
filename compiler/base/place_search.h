/* place_search.h - between place.c, which decides when to search, and place_search.c. */
#ifndef ONNXCC_PLACE_SEARCH_H
#define ONNXCC_PLACE_SEARCH_H

#include <stdbool.h>

#include "base/place.h"

typedef struct Event {
    int time, block;
    bool end;
} Event;

/* When blocks begin and end to be alive, in order of time: two for each. */
Event *events(const Buffer *b, int n);

/* Pairs that are alive together. */
typedef struct Interference {
    int *start; /* the neighbours of block i are at[start[i]] .. at[start[i + 1] - 1] */
    int *at;
} Interference;

/* A place in an order: the largest keys come first. */
typedef struct Ranked {
    int64_t key[3];
    int block;
} Ranked;

int by_key(const void *a, const void *b);

typedef struct Search Search;
Search *search_new(const Buffer *b, int n, const Interference *conflicts);
/* Looks for a placement within cap; sets the offsets when it finds one. */
bool search(Search *s, Buffer *b, Ranked *const *order, int64_t cap, int64_t work);

#endif
