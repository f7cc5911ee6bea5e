/* trace.c - unit tests of --target plain: small C functions in, what has to be left of them out. That a branch is never taken, or that a
 * value is always the same, follows from the meaning of C; so does that others stay.
 * Parts: plain/trace, plain/trace_place, plain/trace_loop, plain/state, plain/analyse, plain/cut, plain/sweep, plain/types, plain/value. */
#include "unit.h"

#include <string.h>

#include "plain/plain.h"

static const char types[] =
    "typedef int i32;\ntypedef unsigned u32;\ntypedef float f32;\ntypedef long long i64;\ntypedef long idx;\n"
    "struct s { int a, b; };\nstruct t { int c; struct s s; int d[3]; };\n"
    "void *memset(void *p, int c, unsigned long n);\n";

static const char *no_file(const char *name) { return (void)name, NULL; }

/* The C of `source` has `kept`, as it is printed but for the spaces between words. */
static void has(const char *source, const char *kept)
{
    Text text = {0}, plain = {0}, words = {0};
    fresh_run(NULL);
    text_put(&text, "%s%s\n", types, source);
    plain_put(&plain, text.s, "", no_file);
    for (const char *s = plain.s; *s; s++)
        if (*s != '\n' && (*s != ' ' || (s > plain.s && s[-1] != ' ' && s[-1] != '\n')))
            text_put(&words, "%c", *s);
        else if (*s == '\n' && s > plain.s && s[1])
            text_put(&words, " ");
    if (!strstr(words.s, kept))
        print_error("%s\nis not in\n%s\n", kept, plain.s);
    assert_non_null(strstr(words.s, kept));
}

static void known_values(void **state)
{
    (void)state;
    has("int f(void) { int a = 1, *p = &a; *p += 2; return a; }", "return 3;");
    has("int f(int n) { int r = 0; for (int i = 0; i < 5; i++) r = i; return n + r; }", "return n + 4;");
    has("int f(int n) { int i = 0; while (i < 100) i += 3; return n + i; }", "return n + i;");
    has("static int g(struct s x) { return x.a + x.b; } int f(void) { return g((struct s){1, 2}); }", "return 3;");
    has("static void g(int *p) { *p = 7; } int f(void) { int a = 1; g(&a); return a; }", "return 7;");
    has("int f(int n) { switch (3 & 2) { case 1: n = 1; break; case 2: n += 2; default: n++; } return n; }",
        "{ n += 2; n++; return n; }");
    has("int f(int n) { if (n > 3) return n < 2 ? 1 : 2; return 3; }", "return 2;");
    has("int f(int n) { int x = 0; if (n > 0 && n < 5) x = n > 7; return x + n; }", "return n;");
    has("int f(int n) { int r = 4; do { if (n) continue; r = 4; } while (n-- > 0); return r; }", "return 4;");
}

static void unknown_values(void **state)
{
    (void)state;
    has("int f(f32 a, f32 b) { if (!(a < b)) return a >= b ? 1 : 2; return 3; }", "return a >= b ? 1 : 2;"); /* NaN */
    has("int f(int n) { int r = 0; for (int i = 0; i < n; i++) r = 1; return r ? 1 : 2; }", "return r != 0 ? 1 : 2;");
    has("int f(int n) { int r = 0; for (;;) { if (n > 2) break; r = 1; n++; } return r ? 1 : 2; }",
        "return r != 0 ? 1 : 2;");
    has("int f(int n) { int a = 0, b = 0, *p = n ? &a : &b; *p = n; return a ? 1 : 2; }", "return a != 0 ? 1 : 2;");
    has("int f(int n) { int x = 0; if (n > 0 && (x = n) > 3) return 0; return x ? 1 : 2; }", "return x != 0 ? 1 : 2;");
    has("int f(int n) { int a[2] = {0}; a[n & 1] = 3; return a[0] ? 1 : 2; }", "return a[0] != 0 ? 1 : 2;");
    has("int f(int n) { int r = 0; for (int i = n & 3; i-- > 0;) if (i == 2) r = 1; return r; }",
        "if (i == 2) { r = 1; }");
    has("int f(int n) { int r = 0, i = n & 3; do { if (i == 2) r = 1; } while (i-- > 0); return r + i; }",
        "return r + i;");
    has("int f(int n) { int r = 1; switch (n) { case 0: r = 0; case 1: break; default: return 5; } return r ? 1 : 2; }",
        "return r != 0 ? 1 : 2;");
    has("int f(void) { int x = 0; i64 n = (i64)&x; return n < 0 ? 1 : 2; }", "return n < 0 ? 1 : 2;");
    has("int f(i64 n) { return n > 5 && (int)n < 5 ? 1 : 2; }", "return n > 5 && (int)n < 5 ? 1 : 2;");
    has("static int g(void) { static int n; return n++; } int f(void) { return g() ? 1 : 2; }",
        "return g() != 0 ? 1 : 2;");
    has("int f(int n) { int a = 1, b = 2, *p = &a, *q = &b; while (n-- > 0) { int *t = p; p = q; q = t; *p = 5; }"
        " return a == 1; }",
        "return a == 1;");
}

/* What another type or way of access changes. */
static void accesses(void **state)
{
    (void)state;
    has("int f(int n) { int a[2][2] = {{0, 0}, {0, 0}}; (*a)[1] = n; return a[0][1] ? 1 : 2; }",
        "a[0][1] != 0 ? 1 : 2;");
    has("int f(int n) { int a[2] = {0}; (*&a)[1] = n; return a[1] ? 1 : 2; }", "a[1] != 0 ? 1 : 2;");
    has("int f(void) { struct s x; x.a = 1; void *p = &x; memset(p, 0, sizeof x); return x.a == 1; }", "x.a == 1;");
    has("int f(void *p) { struct s *x = p; if (x->b == 2) return 1; x->b = 2; return 0; }",
        "struct s { int a; int b; }");
    has("int f(void *p) { struct s *x = p; if (x->b == 2) return 1; x->b = 2; return 0; }",
        "if (x->b == 2) { return 1; }");
    has("static const struct s x[2] = {{5, 1}, {0, 0}}; static int g(const struct s *p) { struct s y; y.a = 5;"
        " return p->a == y.a; } int f(int n) { return g(&x[n]); }",
        "return p->a == 5;");
    has("static struct s *g(void) { static struct s is; return &is; } int f(void) { struct s *p = g();"
        " if (p->a == 7) return 1; p->a = 7; return 0; }",
        "if (p->a == 7) { return 1; }");
    has("int f(int n) { struct s many[300] = {{1, 2}}; return many[n].a == 0; }", "return many[n].a == 0;");
    has("int f(int n) { static const struct s x = {1, 2}; static const struct s *const all[2] = {0, &x}; return all[n] ? 1 : 2; }",
        "return all[n] != NULL ? 1 : 2;");
}

/* Literals are ints: what was computed in another type still is. */
static void types_of_results(void **state)
{
    (void)state;
    has("i64 f(i32 n) { const idx k = 100000; return n * k; }", "return (idx)n * 100000;");
    has("i64 f(u32 n) { const i64 k = 100000; return n * k; }", "return (i64)n * 100000;");
    has("int f(u32 n) { const i64 k = -1; return n > k ? 1 : 2; }", "return (i64)n > -1 ? 1 : 2;");
    has("f32 f(int n) { const int yes = 1; return (yes ? n : 0.5f) / 2; }", "return (float)n / 2;");
    has("int f(i64 n, i32 m) { return n < 0 || m < 0 ? 3 : (int)(m + n) < 0 ? 1 : 2; }", "(int)(m + n) < 0 ? 1 : 2;");
    has("i64 f(i32 n) { const idx k = 100000; n *= k; return n; }", "n *= (idx)100000;");
}

/* What is left out has no effect. */
static void effects(void **state)
{
    (void)state;
    has("int f(int n) { int p = 0; for (int i = 0; i < n; i++, p += 2) {} return p; }",
        "for (int i = 0; i < n; i++, p += 2) { }");
    has("static struct s g(int n) { struct s x = {n, 1}; return x; } int f(int n) { struct s x = g(n); x.a = 2; return n; }",
        "int f(int n) { return n; }");
    has("struct w { struct s s[2]; }; int f(int n) { struct w x = {0}; for (int i = 0; i < 2; i++) x.s[i].a = n; return x.s[n].a; }",
        "x.s[i].a = n;");
    has("int f(int n) { struct s x = {n, 1}; if (n > 2) n *= 3; else x.b -= n; return n + x.a; }",
        "if (n > 2) { n *= 3; } return n + x.a;");
    has("int f(int n) { int p = 0; for (int i = 0; i < n; i++) {} return p + n; }", "{ return n; }");
    has("static int g(int *p) { return (*p)++; } int f(int n) { int p = n; for (int i = g(&p); n > 5 && n < 3; i++) n++; return p; }",
        "int i = g(&p);");
    has("static void g(int to[300], int n) { to[0] = n; } int f(int n) { int a[300]; a[0] = 0; g(a, n); return a[0]; }",
        "g(a, n); return a[0];");
    has("struct u { int *p; int *q[2]; }; static void g(struct u x) { x.p[0] = 3; } static void h(struct u x) { x.q[1][0] = 3; }"
        " int f(struct u *x) { g(*x); h(*x); return *x->p; }",
        "g(*x); h(*x); return *x->p;");
    has("struct s2 { int *p; }; int f(int n) { struct s2 x = {0}; if (n) x.p[0] = 3; return n; }",
        "x.p[0] = 3;"); /* NULL[0] is no C */
    has("int f(int n) { int x = 1; switch (n) { case 0: return 2; case 1: x = 1; } return x; }", "case 1: break; }");
    has("int f(int n) { int x = 1; switch (n) { case 0: x = 1; int y = n; return y; } return x; }",
        "case 0: ; int y = n;");
}

UNIT_TESTS(cmocka_unit_test(known_values), cmocka_unit_test(unknown_values), cmocka_unit_test(accesses),
           cmocka_unit_test(types_of_results), cmocka_unit_test(effects))
