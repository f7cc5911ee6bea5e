/* pitch.h - values in rows that lie apart: element i of a value is at i / run * pitch + i % run of its storage. */
#ifndef ONNXCC_PITCH_H
#define ONNXCC_PITCH_H

#include "ir/graph.h"

/* May v, which n reads (writes), be in rows of `run` elements that lie apart? */
bool pitch_reads(const Node *n, const Value *v, Dim run);
bool pitch_writes(const Node *n, const Value *v, Dim run);
/* Bytes of scratch that n needs when the rows of its first input are `pitch` apart (0: together). */
Dim pitch_scratch(const Node *n, Dim pitch);
/* Tells n's call what its values' run and pitch have become. */
void pitch_apply(Node *n);

#endif
