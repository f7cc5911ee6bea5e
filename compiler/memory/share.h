/* share.h - storage shared by values: a value's storage is its own or part of another value's. */
#pragma once

#include "ir/graph.h"

void share_reset(Value *v); /* gives v a storage of its own */
/* Sets the storages, n->elided and n->parts_in_place; requires the values' times. elide: by n->time, the concats and
 * slices to elide. */
void share_values(Model *m, const bool *elide);
/* The pitch of v's rows in its storage; 0: contiguous. */
Dim share_pitch(const Value *v);
/* At the end: makes v->storage the outermost storage, and v->placement v's place in it. */
void share_flatten(Model *m);

bool is_in_callers_buffer(const Value *v);
