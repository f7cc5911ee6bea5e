/* main.c - generates text: generate PROMPT [BYTES [TEMPERATURE [SEED]]]. lm.h and lm.c are onnxcc's output for a decoder whose
 * tokens are bytes. The keys and values of the tokens so far are its state: a run takes the new tokens alone. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lm.h"

enum { WORDS = LM_LOGITS_SIZE, CHUNK = LM_INPUT_IDS_SIZE }; /* different tokens; tokens in one run, at most */

static struct lm_state state;
static float logits[WORDS];

/* Runs the model on n bytes; logits: of the byte after them. */
static int read_on(const char *bytes, size_t n)
{
    int64_t ids[CHUNK];
    int status = LM_OK;
    while (n && status == LM_OK) {
        struct lm_sizes sizes = {.now = n < CHUNK ? (int64_t)n : CHUNK};
        for (int64_t i = 0; i < sizes.now; i++)
            ids[i] = (unsigned char)*bytes++;
        status = lm_run(&state, ids, logits, &sizes);
        n -= (size_t)sizes.now;
    }
    return status;
}

/* A number in [0, 1): splitmix64. */
static double draw(uint64_t *seed)
{
    uint64_t x = *seed += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (double)((x ^ x >> 31) >> 11) / 9007199254740992.0;
}

/* The most probable token, or with a temperature a token drawn by its probability. */
static int choose(double temperature, uint64_t *seed)
{
    int best = 0;
    for (int i = 1; i < WORDS; i++)
        best = logits[i] > logits[best] ? i : best;
    if (temperature <= 0)
        return best;
    double sum = 0;
    for (int i = 0; i < WORDS; i++)
        sum += exp((double)(logits[i] - logits[best]) / temperature);
    double left = draw(seed) * sum;
    for (int i = 0; i < WORDS; i++)
        if ((left -= exp((double)(logits[i] - logits[best]) / temperature)) < 0)
            return i;
    return best;
}

int main(int argc, char **argv)
{
    if (argc < 2 || argc > 5 || !*argv[1]) {
        fprintf(stderr, "usage: generate PROMPT [BYTES [TEMPERATURE [SEED]]]\n");
        return 2;
    }
    const long bytes = argc > 2 ? atol(argv[2]) : 200;
    const double temperature = argc > 3 ? atof(argv[3]) : 0;
    uint64_t seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 1;
    int status = lm_reset(&state);
    if (status == LM_OK)
        status = read_on(argv[1], strlen(argv[1]));
    for (long i = 0; i < bytes && status == LM_OK; i++) {
        const char next = (char)choose(temperature, &seed);
        putchar((unsigned char)next);
        fflush(stdout);
        if (i + 1 < bytes)
            status = read_on(&next, 1);
    }
    if (status != LM_OK)
        fprintf(stderr, "generate: %s; the state holds %lld tokens\n", lm_status(status), (long long)state.past);
    return status != LM_OK;
}
