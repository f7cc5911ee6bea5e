/* target.c - the processors of --target, and the nearest of them for another name. */
#include <fnmatch.h>

#include "base/target.h"
#include "base/util.h"

static const Target targets[] = {
#define TARGET(...) {__VA_ARGS__},
#include "base/target.def"
#undef TARGET
};
enum { TARGETS = sizeof targets / sizeof *targets };

const Target *target_find(const char *target)
{
    for (int i = 0; i < TARGETS; i++)
        if (!strcmp(targets[i].name, target))
            return &targets[i];
    return NULL;
}

/* Does the name match one of the patterns, which are separated by blanks? */
static bool matches_any(const char *target, const char *patterns)
{
    for (const char *p = patterns; *p; p += *p == ' ')
        if (!fnmatch(name_until(&p, " ")->s, target, FNM_CASEFOLD))
            return true;
    return false;
}

bool target_is_plain(const Target *t) { return !strcmp(t->name, "plain"); }
bool target_is_portable(const Target *t) { return target_is_plain(t) || !strcmp(t->name, "generic"); }
int64_t target_idx(const Target *t) { return t->addresses ? t->addresses : INT32_MAX; }
bool target_loads(const Target *t) { return !strcmp(t->name, "avr"); }

const char *target_nearest(const char *target)
{
    for (int i = TARGETS - 1; i >= 0; i--)
        if (matches_any(target, targets[i].suits))
            return targets[i].name;
    return NULL;
}

const char *target_names(void)
{
    Text t = {0};
    for (int i = 0; i < TARGETS; i++)
        text_put(&t, "%s%s", i ? ", " : "", targets[i].name);
    return t.s;
}
