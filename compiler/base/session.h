/* session.h - the state of one run, in one block of memory that the run owns. Each file declares its part of it, which no
 * other file knows: nothing else in the compiler can be written by two runs. */
#ifndef ONNXCC_SESSION_H
#define ONNXCC_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* PART(struct Table, table); declares table(), a pointer to this run's struct Table, which is zero when the run begins. The
 * constant that it declares, too, is never read: its place in its section is the part's place in the block. */
#define PART(T, part)                                                                                                  \
    static IN_PARTS(T, part);                                                                                          \
    PART_AT(T, part)
/* The same of a part that other files see: the first in a header, the second in one file. */
#define SHARED_PART(T, part)                                                                                           \
    extern const T part##_part;                                                                                        \
    PART_AT(T, part)
#define SHARED_PART_IS(T, part) IN_PARTS(T, part)

#define IN_PARTS(T, part) const T part##_part __attribute__((section("onnxcc_parts"))) = {0}
#define PART_AT(T, part)                                                                                               \
    static inline T *part(void) { return (T *)((uintptr_t)&part##_part + session_distance); }

/* How far this thread's block is from the section; 0: no run. The only variable of the compiler. */
extern _Thread_local uintptr_t session_distance;

bool session_begin(void); /* a run of this thread, which may have no other; false: no memory */
/* The end of the run, whatever became of it: what session_at_end was given is called, the last first; then all memory that
 * the run still has is freed. */
void session_end(void);
void session_at_end(void (*end)(void *), void *arg);

#endif
