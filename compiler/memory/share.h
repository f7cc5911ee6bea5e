/* share.h - which values share bytes: classes of values, each with a root whose storage the others lie in. */
#ifndef ONNXCC_SHARE_H
#define ONNXCC_SHARE_H

#include "ir/graph.h"

void share_reset(Value *v); /* v has its own storage again */
/* After the values' times are set: v->root and so on, n->free, n->joined. Concats and splits do without copies where `joins`,
 * by n->time, says so. */
void share_values(Model *m, const bool *joins);
/* How far apart the rows of v are in its class; 0: it lies together. */
Dim share_pitch(const Value *v);
/* What was found is final: v->root is the class's root, v->inside how it lies there. */
void share_settle(Model *m);

bool in_callers_buffer(const Value *v);

#endif
