/* target.h - the processors that --target knows: the rows of target.def. */
#ifndef ONNXCC_TARGET_H
#define ONNXCC_TARGET_H

#include <stdbool.h>
#include <stdint.h>

/* Whose stack was measured: columns of emit/stack.def. */
typedef enum StackColumn {
    STACK_GENERIC,
    STACK_X86_64_V3,
    STACK_X86_64_V4,
    STACK_AARCH64,
    STACK_RISCV64,
    STACK_CORTEX,
    STACK_COLUMNS
} StackColumn;

typedef struct Target {
    const char *name;
    int vector; /* bytes of a vector register the kernels may use */
    bool cortex_m;
    StackColumn stack;
    int64_t addresses;  /* bytes that one object may have; 0: of a machine of 64 bits */
    const char *cflags; /* what to give the C compiler */
    const char *suits;  /* names of processors whose code it suits best: patterns with blanks between them */
} Target;

const Target *target_find(const char *name);
const char *target_nearest(const char *name); /* for one that is not known; NULL: none is better than generic */
const char *target_names(void);               /* "generic, x86-64-v3, ..." */

#endif
