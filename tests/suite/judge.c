/* judge.c - compares a test's results with the expected ones: shape, type, then every element.
 * Floats must agree within rtol |expected| + atol, as in onnx's runner, or, if that is more, two units of a bfloat16 or
 * four of a float16; integers, bools, and the decoded values of float8 and float4 exactly. NaN agrees with NaN. */
#include "case.h"
#include "suite.h"

#include <math.h>
#include <stdlib.h>

/* ---- reading results --------------------------------------------------------------------------------------------- */

/* The forms of the outputs, and all results; of containers the list of take_results. */
typedef struct Results {
    char *bytes, *forms;
    Tensors t;
} Results;

/* Strings as tensors hold them. */
static const void *read_strings(const char *s, int64_t n)
{
    struct case_string *y = NEWS(struct case_string, n + 1);
    for (int64_t i = 0; i < n; i++) {
        memcpy(&y[i].length, s, 8);
        y[i].text = s + 8;
        s += 8 + y[i].length;
    }
    return y;
}

static const char *next_form(const char *f)
{
    f += strcspn(f, " ");
    return f + (*f == ' ');
}

static Results read_results(const Test *t, Way w)
{
    char file[32];
    snprintf(file, sizeof file, "out.%s", way_file[w]);
    Results r = {0};
    VEC(Tensor) raw = {0};
    char *path = path_in(t->dir, file);
    size_t n = 0;
    r.bytes = read_file(path, &n);
    free(path);
    const char *s = r.bytes, *end = s + n;
    while (s && s < end) {
        int64_t head[2], bytes;
        memcpy(head, s, sizeof head);
        s += sizeof head;
        int64_t *dim = NEWS(int64_t, head[1]);
        Tensor y = {.type = (Type)head[0], .rank = (int)head[1], .dim = dim};
        memcpy(dim, s, sizeof *dim * (size_t)y.rank);
        s += sizeof *dim * (size_t)y.rank;
        memcpy(&bytes, s, sizeof bytes);
        s += sizeof bytes;
        y.data = y.type == STR ? read_strings(s, tensor_count(&y)) : s;
        s += bytes;
        vec_push(&raw, y);
    }
    path = path_in(t->dir, "forms");
    r.forms = read_file(path, NULL);
    free(path);
    int at = 0;
    for (const char *f = r.forms; f && *f && at < raw.n + (*f == '?' || *f == 's'); f = next_form(f))
        at += take_results(f, &raw.at[at], &r.t);
    return r;
}

static const char *dims_text(const Tensor *t)
{
    static char text[2][200];
    static int turn;
    char *s = text[turn ^= 1];
    int n = snprintf(s, 200, "[");
    for (int i = 0; i < t->rank && n < 170; i++)
        n += snprintf(s + n, 200 - (size_t)n, "%s%lld", i ? "," : "", (long long)t->dim[i]);
    snprintf(s + n, 200 - (size_t)n, "]");
    return s;
}

static Tensor *read_input(const Test *t, int i)
{
    Data d;
    return read_data(t, "input", i, "t", &d) ? d.t : NULL;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

/* The distance between neighbouring float16 values at x. */
static double half_step(double x)
{
    int e = -14;
    if (fabs(x) >= 0x1p-14)
        e = ilogb(x);
    return ldexp(1, e - 10);
}

static bool same_float(const Test *t, Type type, double got, double want)
{
    if (isnan(got) || isnan(want))
        return isnan(got) && isnan(want);
    if (strstr(t->name, "signed_zero") && signbit(got) != signbit(want))
        return false;
    if (got == want)
        return true;
    if (isinf(got) || isinf(want) || type_bits(type) <= 8)
        return false;
    double rtol = type == BF16 ? fmax(t->rtol, 0x1p-6) : t->rtol;
    double allowed = t->atol + rtol * fabs(want);
    if (type == F16)
        allowed = fmax(allowed, 4 * half_step(want));
    return fabs(got - want) <= allowed;
}

static double element(const Tensor *t, int64_t i)
{
    return type_is_float(t->type) ? tensor_get(t, i) : (double)tensor_get_int(t, i);
}

static void compare_strings(int i, const Tensor *got, const Tensor *want, Class class, Verdict *v)
{
    for (int64_t k = 0; k < tensor_count(want) && v->class == PASSED; k++)
        if (tensor_get_str(got, k) != tensor_get_str(want, k))
            set_verdict(v, class, "output %d element %lld is \"%s\", expected \"%s\"", i, (long long)k,
                        printable(tensor_get_str(got, k)), printable(tensor_get_str(want, k)));
}

/* A complex tensor as a tensor of real and imaginary parts; others unchanged. */
static const Tensor *as_parts(const Tensor *x)
{
    if (x->type != C64 && x->type != C128)
        return x;
    Tensor *y = NEW(Tensor);
    *y = (Tensor){.type = x->type == C64 ? F32 : F64,
                  .rank = 1,
                  .dim = dims_keep(1, &(int64_t){2 * tensor_count(x)}),
                  .data = tensor_data(x)};
    return y;
}

static void compare(const Test *t, int i, const Tensor *got, const Tensor *want, Verdict *v)
{
    if (want->type == STR) {
        compare_strings(i, got, want, VALUE, v);
        return;
    }
    got = as_parts(got);
    want = as_parts(want);
    int64_t n = tensor_count(want), wrong = 0, first = -1;
    bool is_float = type_is_float(want->type);
    for (int64_t k = 0; k < n; k++) {
        bool same = is_float ? same_float(t, want->type, tensor_get(got, k), tensor_get(want, k))
                             : tensor_get_int(got, k) == tensor_get_int(want, k);
        if (same)
            continue;
        if (set.verbose && wrong < 10)
            printf("    output %d element %lld: %.9g, expected %.9g\n", i, (long long)k, element(got, k),
                   element(want, k));
        first = wrong++ ? first : k;
    }
    if (wrong && is_float)
        set_verdict(v, VALUE, "output %d, %lld of %lld differ; element %lld is %.7g, expected %.7g", i,
                    (long long)wrong, (long long)n, (long long)first, tensor_get(got, first), tensor_get(want, first));
    else if (wrong)
        set_verdict(v, VALUE, "output %d, %lld of %lld differ; element %lld is %lld, expected %lld", i,
                    (long long)wrong, (long long)n, (long long)first, (long long)tensor_get_int(got, first),
                    (long long)tensor_get_int(want, first));
}

/* ---- outputs that depend on a random generator: plausible or not ------------------------------------------------- */

/* Is a count of successes within four standard deviations of its expectation? */
static bool plausible(double count, double expected, double variance)
{
    return fabs(count - expected) <= 4 * sqrt(variance) + 1e-9;
}

/* y: 1 with the probability that x gives, else 0. */
static void check_bernoulli(const Test *t, const Results *r, Verdict *v)
{
    const Tensor *x = read_input(t, 0), *y = r->t.at[0];
    double sum = 0, expected = 0, variance = 0;
    for (int64_t i = 0; i < tensor_count(x); i++) {
        double p = tensor_get(x, i), b = element(y, i);
        if ((b != 0 && b != 1) || (p == 0 && b == 1) || (p == 1 && b == 0)) {
            set_verdict(v, VALUE, "element %lld is %g, drawn with probability %g", (long long)i, b, p);
            return;
        }
        sum += b;
        expected += p;
        variance += p * (1 - p);
    }
    if (!plausible(sum, expected, variance))
        set_verdict(v, VALUE, "%g ones, expected about %g", sum, expected);
}

/* y: 0 where dropped, else x / (1 - ratio); the mask says which. */
static void check_dropout(const Test *t, const Results *r, double ratio, Verdict *v)
{
    const Tensor *x = read_input(t, 0), *y = r->t.at[0], *mask = r->t.n > 1 ? r->t.at[1] : NULL;
    int64_t n = tensor_count(x), dropped = 0;
    for (int64_t i = 0; i < n; i++) {
        double want = tensor_get(x, i) / (1 - ratio), got = tensor_get(y, i);
        bool kept = mask ? tensor_get_int(mask, i) != 0 : got != 0;
        dropped += !kept;
        if (!same_float(t, y->type, got, kept ? want : 0)) {
            set_verdict(v, VALUE, "element %lld is %g, expected 0 or %g", (long long)i, got, want);
            return;
        }
    }
    if (!plausible((double)dropped, (double)n * ratio, (double)n * ratio * (1 - ratio)))
        set_verdict(v, VALUE, "%lld of %lld dropped at ratio %g", (long long)dropped, (long long)n, ratio);
}

/* ---- a test ------------------------------------------------------------------------------------------------------ */

static bool same_dims(const Tensor *a, const Tensor *b)
{
    return a->rank == b->rank && !memcmp(a->dim, b->dim, sizeof *a->dim * (size_t)a->rank);
}

void judge(const Test *t, const Result *result, Way w, Verdict *v)
{
    Results r = read_results(t, w);
    Tensors want = {0};
    Data d;
    const char *f = r.forms ? r.forms : "";
    for (int k = 0; read_data(t, "output", k, *f == 'o' || *f == 'M' ? "s" : f, &d); k++, f = next_form(f))
        list_data(&d, &want);
    for (int i = 0; v->class == PASSED && i < want.n; i++) {
        const Tensor *y = want.at[i], *got = i < r.t.n ? r.t.at[i] : NULL;
        if (!got)
            set_verdict(v, SHAPE, "output %d is missing", i);
        else if (got->type != y->type)
            set_verdict(v, DTYPE, "output %d is %s, expected %s", i, type_onnx(got->type), type_onnx(y->type));
        else if (!same_dims(got, y))
            set_verdict(v, SHAPE, "output %d is %s, expected %s", i, dims_text(got), dims_text(y));
        else if (result->kind == COMPARED)
            compare(t, i, got, y, v);
    }
    if (v->class == PASSED && want.n != r.t.n)
        set_verdict(v, SHAPE, "%d outputs, expected %d", r.t.n, want.n);
    if (v->class == PASSED && result->kind == BERNOULLI)
        check_bernoulli(t, &r, v);
    if (v->class == PASSED && result->kind == DROPOUT)
        check_dropout(t, &r, result->ratio, v);
}

/* Compares the bits, except the sign and payload of a NaN, which depend on the C compiler. */
void judge_bits(const Test *t, Way w, Verdict *v)
{
    Results a = read_results(t, WAY_EVAL), b = read_results(t, w);
    for (int i = 0; i < a.t.n && i < b.t.n && v->class == PASSED; i++) {
        const Tensor *x = a.t.at[i], *y = b.t.at[i];
        if (!same_dims(x, y) || x->type != y->type)
            set_verdict(v, BITS, "output %d is %s in C, %s in the compiler", i, dims_text(y), dims_text(x));
        else if (x->type == STR)
            compare_strings(i, y, x, BITS, v);
        else if (memcmp(x->data, y->data, tensor_size(x))) {
            x = as_parts(x);
            y = as_parts(y);
            for (int64_t k = 0; k < tensor_count(x) && v->class == PASSED; k++) {
                double p = element(x, k), q = element(y, k);
                bool same = type_is_float(x->type) ? (p == q && signbit(p) == signbit(q)) || (isnan(p) && isnan(q))
                                                   : tensor_get_int(x, k) == tensor_get_int(y, k);
                if (!same)
                    set_verdict(v, BITS, "output %d element %lld is %.17g in C, %.17g in the compiler", i, (long long)k,
                                q, p);
            }
        }
    }
    if (v->class == PASSED && a.t.n != b.t.n)
        set_verdict(v, BITS, "%d outputs in C, %d in the compiler", b.t.n, a.t.n);
}
