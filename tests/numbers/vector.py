"""vector.py CC FOLDER - compiles a loop over every function of scalar.def and every conversion with the flags of emitted code, and checks
which ones gcc vectorises. Those listed below may stay scalar; any other that does is a failure."""
import pathlib
import re
import subprocess
import sys

compiler, folder = sys.argv[1], pathlib.Path(sys.argv[2])
runtime = pathlib.Path(__file__).parents[2] / "runtime-min"
ARITH = ["f32", "f64", "i32", "u32", "i64", "u64"]
STORAGE = ["f16", "bf16", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0", "b8", "i8", "u8", "i16", "u16"] + ARITH

# Functions with loops, integer divisions, and conversions that AVX2 lacks (between double and 64-bit integers).
SCALAR = {"fmod", "mod", "div_i32", "div_u32", "div_i64", "div_u64", "pow_i32", "pow_u32", "pow_i64", "pow_u64",
          "sin_f64", "cos_f64", "tan_f64", "cast_i64_f32", "cast_u64_f32"}


def loops():
    yield '#include "rt.h"\n#include "math.h"\n'
    # scalar.h calls this hook for each of its functions
    arity = "#define GIVE_1(X, T) ((const X *)a)[i]\n#define GIVE_2(X, T) GIVE_1(X, T), b[i]\n" \
            "#define GIVE_3(X, T) GIVE_2(X, T), c[i]\n"
    yield arity
    yield ("#define SCALAR_RUNS(name, n, X, R) LOOP_(FN(name), n, X, T, R)\n#define LOOP_(...) LOOP(__VA_ARGS__)\n"
           "#define LOOP(fn, n, X, T_, R) void loop_##fn(const void *a, const T_ *b, const T_ *c, R *restrict y, idx k); \\\n"
           "void loop_##fn(const void *a, const T_ *b, const T_ *c, R *restrict y, idx k) { (void)b; (void)c; \\\n"
           "for (idx i = 0; i < k; i++) y[i] = fn(GIVE_##n(X, T_)); }\n")
    for t in ARITH:
        yield f'#define T {t}\n#include "scalar.h"\n#undef T\n'
    for t in STORAGE:
        yield (f"void loop_ld_{t}(const {t} *x, RT_ARITH_{t} *restrict y, idx n);\n"
               f"void loop_ld_{t}(const {t} *x, RT_ARITH_{t} *restrict y, idx n) {{ for (idx i = 0; i < n; i++) y[i] = ld_{t}(x, i); }}\n"
               f"void loop_st_{t}(const RT_ARITH_{t} *x, {t} *restrict y, idx n);\n"
               f"void loop_st_{t}(const RT_ARITH_{t} *x, {t} *restrict y, idx n) {{ for (idx i = 0; i < n; i++) st_{t}(y, i, x[i]); }}\n")
    for a in ("f32", "i32", "u32"):
        for b in STORAGE:
            yield (f"void loop_cast_{b}_{a}(const {a} *x, {b} *restrict y, idx n);\n"
                   f"void loop_cast_{b}_{a}(const {a} *x, {b} *restrict y, idx n) {{ for (idx i = 0; i < n; i++) "
                   f"st_{b}(y, i, cast_{b}_{a}(x[i])); }}\n")


source, dump = folder / "vector.c", folder / "vector.txt"
source.write_text("".join(loops()))
flags = "-std=c99 -O3 -march=x86-64-v3 -ffp-contract=off -Wall -Wextra -Wconversion -Werror".split()
subprocess.run([compiler, *flags, "-iquote", str(runtime), f"-fdump-tree-vect-details={dump}", "-c", "-o",
                str(folder / "vector.o"), str(source)], check=True)
done, at = {}, None
for line in dump.open():
    m = re.match(r";; Function loop_(\w+)", line)
    if m:
        at = m.group(1)
        done[at] = True  # a loop that became a copy counts, too
    elif at and "couldn't vectorize loop" in line:
        done[at] = False
    elif at and "LOOP VECTORIZED" in line:
        done[at] = True
expected = {f for f in done if f in SCALAR or f.rsplit("_", 1)[0] in SCALAR}
failed = sorted(f for f in done if not done[f] and f not in expected)
for f in failed:
    print(f"the loop over {f} is not vectorised")
print(f"vector: {len(done) - len(failed)} passed, {len(failed)} failed")
sys.exit(bool(failed))
