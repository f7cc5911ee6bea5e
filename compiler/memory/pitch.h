/* pitch.h - values in rows with a pitch: element i of a value is at i / run * pitch + i % run of its storage. */
#pragma once

#include "ir/graph.h"

/* Can n read (write) v in rows of `run` elements with a pitch? */
bool can_read_rows(const Node *n, const Value *v, Dim run);
bool can_write_rows(const Node *n, const Value *v, Dim run);
/* Bytes of scratch that n needs if the rows of its first input have the pitch (0: contiguous). */
Dim pitch_scratch(const Node *n, Dim pitch);
/* Sets the pitches of n's call by its values' placements. */
void pitch_apply(Node *n);
