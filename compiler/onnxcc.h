/* onnxcc.h - the table of contents: the folders of the compiler; each uses only those before it. */
#pragma once

/* base/: the state, memory, names and texts of a run; messages; options. */
#include "base/error.h"
#include "base/options.h"
#include "base/pool.h"
#include "base/util.h"

/* ir/: types, sizes as expressions, constants, the graph; the operators' schemas; kernel calls, run by the compiler
 * itself. */
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

/* read/: parses the file into a graph and checks it. */
#include "read/read.h"

/* passes/, with the operators of ops/ and gradient/: inline, infer, simplify, layout, bind, fuse. */
#include "passes/passes.h"

/* memory/: offsets in the arena. */
#include "memory/plan.h"

/* plain/: C for --target plain. */
#include "plain/plain.h"

/* emit/: the C, its header, the report; or the model's results by running it here. */
#include "emit/eval.h"
#include "emit/report.h"
#include "emit/source.h"

/* verify/: the commands that build and run the C (onnxcc verify, size, stack, profile), which the library has not. */
