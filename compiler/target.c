/* target.c - the processors that --target knows, and what suits the others. */
#include <fnmatch.h>

#include "compile.h"

static const Target targets[] = {
    {"generic", 16, false, false, "", 0},
    {"x86-64-v2", 16, true, false, "-march=x86-64-v2", 0},
    {"x86-64-v3", 32, true, false, "-march=x86-64-v3", 0},
    {"x86-64-v4", 64, true, false, "-march=x86-64-v4", 0},
    {"aarch64", 16, false, false, "-march=armv8-a", 0},
    {"riscv64", 16, false, false, "-march=rv64gc", 0},
    {"cortex-m4", 4, false, true, "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16", INT32_MAX},
    {"cortex-m7", 4, false, true, "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-d16", INT32_MAX},
    {"cortex-m55", 16, false, true, "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard", INT32_MAX},
};

const Target *target_find(const char *target)
{
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (!strcmp(targets[i].name, target))
            return &targets[i];
    return NULL;
}

/* Names of processors, as gcc, clang and the makers write them, and the target whose code suits them best; of several
 * patterns that fit, the first. */
static const struct {
    const char *use, *patterns;
} neighbours[] = {
    {"x86-64-v4",
     "skylake-avx512* cascadelake* cooperlake* cannonlake* icelake* rocketlake* tigerlake* sapphirerapids* "
     "emeraldrapids* graniterapids* znver[4-9]* x86?64?v4 avx512*"},
    {"x86-64-v3", "haswell* broadwell* skylake* core-avx2 alderlake* raptorlake* meteorlake* arrowlake* lunarlake* "
                  "gracemont* sierraforest* grandridge* knl* knm* bdver4* znver* x86?64?v3 avx2*"},
    {"x86-64-v2", "nehalem* corei7* westmere* sandybridge* ivybridge* core-avx-i silvermont* slm* goldmont* tremont* "
                  "bdver* btver2* x86?64?v2 sse4.2 avx"},
    {"cortex-m55", "cortex*m55* cortex*m52* cortex*m85* armv8.1-m*mve* stm32n6* ra8*"},
    {"cortex-m7", "cortex*m7* stm32[fh]7* sam[esv]7*"},
    {"cortex-m4", "cortex*m4* cortex*m33* cortex*m35p* armv7e-m* armv8*-m*dsp* stm32f[34]* stm32g4* stm32l[45]* "
                  "stm32[hu]5* nrf52* nrf53* nrf91* rp235*"},
    {"aarch64", "arm64* armv8 armv8-a* armv8.?-a* armv9*-a* cortex-a3[45]* cortex-a[5-9][0-9]* cortex-r82* cortex-x* "
                "neoverse* apple* ampere* a64fx* ares demeter* emag* exynos-m* falkor* graviton* octeontx* phecda* "
                "qdf24xx* saphira* thunderx* tsv110* vulcan* xgene* zeus bcm2711* bcm2712* bcm2837*"},
    {"riscv64", "rv64g* rv64imafd* sifive-u* jh7110* k210* c906* c910* th1520*"},
};

/* Is the name one of these patterns, which blanks part? */
static bool fits(const char *target, const char *patterns)
{
    size_t n;
    for (const char *p = patterns; *p; p += n + (p[n] != 0)) {
        n = strcspn(p, " ");
        if (!fnmatch(name_bytes(p, n)->s, target, FNM_CASEFOLD))
            return true;
    }
    return false;
}

const char *target_nearest(const char *target)
{
    for (size_t i = 0; i < sizeof neighbours / sizeof *neighbours; i++)
        if (fits(target, neighbours[i].patterns))
            return neighbours[i].use;
    return NULL;
}

const char *target_names(void)
{
    Text t = {0};
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        text_put(&t, "%s%s", i ? ", " : "", targets[i].name);
    return t.s;
}
