/* share.h - which values share bytes: a value's storage is its own or part of another value's. */
#ifndef ONNXCC_SHARE_H
#define ONNXCC_SHARE_H

#include "ir/graph.h"

void share_reset(Value *v); /* v has its own storage again */
/* After the values' times are set: v->storage and so on, n->elided, n->parts_in_place. Concats and splits do without
 * copies where `elide`, by n->time, says so. */
void share_values(Model *m, const bool *elide);
/* How far apart the rows of v are in its storage; 0: it is contiguous. */
Dim share_pitch(const Value *v);
/* What was found is final: v->storage becomes the outermost one, v->placement where v is in it. */
void share_flatten(Model *m);

bool in_callers_buffer(const Value *v);

#endif
