/* program_host.c - calls a random program's C: reads runs (sizes, inputs); writes for each the status, the sizes, and
 * the outputs of two calls, before which the buffers hold different bytes. programs_run.py writes the file included last
 * and the tables. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 64, CANARY = 0x3C };

static unsigned char *room(size_t bytes)
{
    unsigned char *p = malloc(bytes + 2 * MARGIN);
    if (!p)
        exit(3);
    memset(p, CANARY, bytes + 2 * MARGIN);
    return p + MARGIN;
}

static void check(const unsigned char *p, size_t bytes, const char *what)
{
    for (size_t i = 0; i < MARGIN; i++)
        if (p[bytes + i] != CANARY || p[-1 - (long)i] != CANARY) {
            fprintf(stderr, "wrote outside %s\n", what);
            exit(4);
        }
}

static void get(void *to, size_t n)
{
    if (n && fread(to, n, 1, stdin) != 1)
        exit(5);
}

int main(void)
{
    int32_t runs;
    get(&runs, sizeof runs);
    unsigned char *raw = room(ARENA + 64), *arena = raw + (64 - (uintptr_t)raw % 64) % 64;
    for (int r = 0; r < runs; r++) {
        int64_t size[N_SIZES + 1], after[N_SIZES + 1];
        void *in[N_IN + 1], *out[N_OUT + 1];
        get(size, sizeof *size * N_SIZES);
        for (int i = 0; i < N_IN; i++) {
            int64_t bytes;
            get(&bytes, sizeof bytes);
            in[i] = malloc((size_t)bytes + 1);
            get(in[i], (size_t)bytes);
        }
        for (int again = 0; again < 2; again++) {
            memset(arena, again ? 0x5A : 0xA5, ARENA);
            for (int i = 0; i < N_OUT; i++)
                out[i] = memset(room(out_bytes[i]), again ? 0x5A : 0xA5, out_bytes[i]);
            memcpy(after, size, sizeof size);
            int32_t status = call(arena, in, out, after);
            fwrite(&status, sizeof status, 1, stdout);
            fwrite(after, sizeof *after, N_SIZES, stdout);
            for (int i = 0; i < N_OUT; i++) {
                check(out[i], out_bytes[i], "an output");
                fwrite(out[i], 1, out_bytes[i], stdout);
                free((unsigned char *)out[i] - MARGIN);
            }
            check(raw, ARENA + 64, "the arena");
        }
        for (int i = 0; i < N_IN; i++)
            free(in[i]);
    }
    free(raw - MARGIN);
    return 0;
}
