/* onnxcc.h - the table of contents: the rooms of the compiler, each of which knows only those before it. */
#ifndef ONNXCC_H
#define ONNXCC_H

/* base/: the state of a run, its memory, names, texts; messages; what the command line asks for. */
#include "base/error.h"
#include "base/options.h"
#include "base/util.h"

/* ir/: types, sizes that may be expressions, constants, the graph; operators' rows; a node as a call that the host can run. */
#include "ir/assume.h"
#include "ir/dim.h"
#include "ir/dump.h"
#include "ir/exec.h"
#include "ir/graph.h"
#include "ir/opset.h"
#include "ir/remark.h"
#include "ir/symbol.h"
#include "ir/tensor.h"
#include "ir/type.h"

/* read/: the file's bytes become a graph, which is checked. */
#include "read/read.h"

/* passes/, with the operators of ops/ and gradient/: inline, infer, simplify, layout, bind, fuse. */
#include "passes/passes.h"

/* memory/: one arena. emit/: the C, its header, the report; or the model run here. */
#include "emit/eval.h"
#include "emit/report.h"
#include "emit/source.h"
#include "memory/plan.h"

#endif
