/* target.h - the processors of --target: the rows of target.def. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The columns of emit/stack.def: the machines whose stack use was measured. */
typedef enum StackColumn {
    STACK_GENERIC,
    STACK_X86_64_V3,
    STACK_X86_64_V4,
    STACK_AARCH64,
    STACK_RISCV64,
    STACK_RISCV32,
    STACK_CORTEX_M0,
    STACK_CORTEX,
    STACK_COLUMNS
} StackColumn;

typedef struct Target {
    const char *name;
    int vector; /* bytes of a vector register that kernels may use */
    bool micro; /* 8-bit layers by the kernels for small processors (qmicro.h) */
    StackColumn stack;
    int64_t addresses;  /* largest object in bytes; 0: no limit below 64 bits */
    const char *cflags; /* for the C compiler */
    const char *suits;  /* names of processors that it suits best: patterns separated by blanks */
} Target;

bool target_is_plain(const Target *t);    /* C99 without extensions */
bool target_is_portable(const Target *t); /* its C is for any machine */
int64_t target_idx(const Target *t);      /* up to which idx counts on every machine of the target */
bool target_loads(const Target *t); /* constants are in a memory from which they must be copied before they are read */
const Target *target_find(const char *name);
const char *target_nearest(const char *name); /* for a name that is no target; NULL: none better than generic */
const char *target_names(void);               /* "generic, x86-64-v3, ..." */
