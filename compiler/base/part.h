/* part.h - the parts of the state of one session, which is one block of memory that the session owns. Each file
 * declares its private part of it; the compiler has no other mutable static data, so sessions cannot affect each
 * other. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* PART(struct Table, table); declares table(), a pointer to this session's struct Table, which is zero when the session
 * begins. It also declares a constant that is never read: its offset in its section is the part's offset in the
 * block. */
#define PART(T, part)                                                                                                  \
    static IN_PARTS(T, part);                                                                                          \
    PART_AT(T, part)
/* The same for a part that several files use: SHARED_PART in a header, SHARED_PART_IS in one file. */
#define SHARED_PART(T, part)                                                                                           \
    extern const T part##_part;                                                                                        \
    PART_AT(T, part)
#define SHARED_PART_IS(T, part) IN_PARTS(T, part)

#define IN_PARTS(T, part) const T part##_part __attribute__((section("onnxcc_parts"))) = {0}
#define PART_AT(T, part)                                                                                               \
    static inline T *part(void) { return (T *)((uintptr_t)&part##_part + session_distance); }

/* Distance in bytes from the section to this thread's block; 0: no session. */
extern _Thread_local uintptr_t session_distance;
