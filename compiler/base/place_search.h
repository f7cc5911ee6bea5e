/* place_search.h - the search of place.c, and what both need. */
#pragma once

#include <stdbool.h>

#include "base/place.h"

typedef struct Event {
    int time, block;
    bool end;
} Event;

/* The beginning (`from`) and the end (`to` + 1) of each buffer's lifetime: 2 n events sorted by time; at the same time,
 * ends come first. */
Event *events(const Buffer *b, int n);
void events_free(Event *e, int n);

/* The interference graph: pairs of buffers that are alive at the same time. */
typedef struct Interference {
    int *start; /* the neighbours of block i are at[start[i]] .. at[start[i + 1] - 1] */
    int *at;
} Interference;

/* A block with its sort keys: larger keys come first. */
typedef struct Ranked {
    int64_t key[3];
    int block;
} Ranked;

int by_key(const void *a, const void *b); /* compares two Ranked, for qsort */

typedef struct Search Search;
Search *search_new(const Buffer *b, int n, const Interference *conflicts);
/* Searches a placement within `cap` bytes, for at most `work`; if it finds one, sets the offsets and returns true. */
bool search(Search *s, Buffer *b, Ranked *const *order, int64_t cap, int64_t work);
