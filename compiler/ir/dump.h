/* dump.h - a graph as text, for people; and what each stage promised. */
#ifndef ONNXCC_DUMP_H
#define ONNXCC_DUMP_H

#include "ir/graph.h"

void dump_model(Model *m, const char *stage);
void verify_model(Model *m, const char *stage); /* debug builds: stops where a promise is broken */

#endif
