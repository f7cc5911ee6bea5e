/* session.c - the block of memory with the state of one session. */
#include "base/session.h"
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

extern const char __start_onnxcc_parts[], __stop_onnxcc_parts[];

typedef struct Ends {
    VEC(struct End {
        void (*f)(void *);
        void *arg;
    }) list;
} Ends;
PART(Ends, ends)

bool session_begin(void)
{
    enum { ALIGN = 64 };
    const size_t size = ((size_t)(__stop_onnxcc_parts - __start_onnxcc_parts) + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    void *block = aligned_alloc(ALIGN, size);
    if (!block)
        return false;
    memset(block, 0, size);
    session_distance = (uintptr_t)block - (uintptr_t)__start_onnxcc_parts;
    return true;
}

void session_at_end(void (*end)(void *), void *arg) { vec_push(&ends()->list, ((struct End){end, arg})); }

void session_end(void)
{
    for (int i = ends()->list.n; i--;)
        ends()->list.at[i].f(ends()->list.at[i].arg);
    pool_end();
    free((void *)(session_distance + (uintptr_t)__start_onnxcc_parts));
    session_distance = 0;
}
