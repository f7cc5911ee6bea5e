/* onnxcc.h - the table of contents: the folders of the compiler, each with the headers that other folders include; each
 * uses only those before it. The first line of a header says what it declares. */
#pragma once

/* base/: the state, memory, names and texts of a session; messages; options; files. */
#include "base/codes.h"
#include "base/compare.h"
#include "base/depend.h"
#include "base/error.h"
#include "base/fail.h"
#include "base/nearest.h"
#include "base/options.h"
#include "base/output.h"
#include "base/place.h"
#include "base/pool.h"
#include "base/process.h"
#include "base/progress.h"
#include "base/regex.h"
#include "base/say.h"
#include "base/util.h"
#include "base/wrap.h"

/* ir/: types, sizes as expressions, constants, the graph; the operators' schemas; kernel calls, run by the compiler
 * itself. */
#include "ir/assume.h"
#include "ir/call.h"
#include "ir/data.h"
#include "ir/difference.h"
#include "ir/dim.h"
#include "ir/dump.h"
#include "ir/exec.h"
#include "ir/graph.h"
#include "ir/kernel.h"
#include "ir/loop.h"
#include "ir/ops.h"
#include "ir/opset.h"
#include "ir/provenance.h"
#include "ir/random.h"
#include "ir/remark.h"
#include "ir/schema.h"
#include "ir/scope.h"
#include "ir/spatial.h"
#include "ir/strided.h"
#include "ir/symbol.h"
#include "ir/tensor.h"
#include "ir/type.h"

/* read/: parses the file into a graph and checks it. */
#include "read/read.h"
#include "read/wire.h"

/* passes/, with the operators of ops/ and gradient/: inline, infer, simplify, layout, bind, fuse. */
#include "passes/container.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/taps.h"

/* memory/: the order of nodes, and offsets in the arena. */
#include "memory/plan.h"

/* plain/: C for --target plain, and the preprocessor that --single uses, too. */
#include "plain/cpp.h"
#include "plain/plain.h"

/* emit/: the C, its header, the report; or the model's results by running it here. */
#include "emit/eval.h"
#include "emit/report.h"
#include "emit/source.h"

/* verify/: the commands that build and run the C (onnxcc verify, size, stack, profile), which the library has not. */
