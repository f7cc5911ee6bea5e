/* main.c - recognises one of twelve spoken words: one run of a keyword spotter on a microcontroller.
 * kws.h, kws.c and kws_test.c are onnxcc's output for the model; all other code for a run is in this file. */
#include "board.h"
#include "kws.h"

static float features[KWS_INPUT_SIZE]; /* 49 frames of 10 features: a second of sound */
static float scores[KWS_OUTPUT_SIZE];

static const char *const words[KWS_OUTPUT_SIZE] = {"down",  "go",   "left", "no",  "off",     "on",
                                                   "right", "stop", "up",   "yes", "silence", "unknown"};

/* A stand-in for the front end, which would turn samples of a microphone into features. */
static void listen(float *f)
{
    uint32_t noise = 1;
    for (int i = 0; i < KWS_INPUT_SIZE; i++) {
        noise = noise * 1664525 + 1013904223;
        f[i] = (float)(int32_t)noise * 0x1p-31f;
    }
}

static void print_number(uint32_t n, uint32_t base, int digits)
{
    char text[12], *p = text + sizeof text;
    *--p = 0;
    do {
        *--p = "0123456789abcdef"[n % base];
        n /= base;
    } while (--digits > 0 || n > 0);
    board_print(p);
}

/* The score as a number, and its bits, to compare machines with. */
static void print_score(const char *word, float score)
{
    union {
        float f;
        uint32_t u;
    } bits = {score};
    board_print("0.");
    print_number((uint32_t)(score * 9999.5f), 10, 4);
    board_print(" ");
    print_number(bits.u, 16, 8);
    board_print(" ");
    board_print(word);
    board_print("\n");
}

int kws_test(void); /* kws_test.c: 0: this processor computes what onnxcc did */

int main(void)
{
    if (kws_test() != 0) {
        board_print("the self-test failed\n");
        return 1;
    }
    board_print("the self-test passed\n");

    listen(features);

    const uint32_t start = board_ticks();
    const int status = kws_run(features, scores);
    const uint32_t ticks = (board_ticks() - start) & 0xFFFFFF;

    if (status != KWS_OK) {
        board_print(kws_status(status));
        return 1;
    }
    int best = 0;
    for (int i = 0; i < KWS_OUTPUT_SIZE; i++) {
        print_score(words[i], scores[i]);
        best = scores[i] > scores[best] ? i : best;
    }
    board_print("heard ");
    board_print(words[best]);
    board_print(", ");
    print_number(ticks, 10, 1);
    board_print(" ticks\n");
    return 0;
}
