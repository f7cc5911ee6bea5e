/* main.c - a convolutional network learns to read handwritten digits; every fifth image is held out, to test it.
 * usage: train [EPOCHS [SEED [LOSS.svg]]] */
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"
#include "images.h" /* image_pixels[IMAGES][64], 0 to 16; image_digit[IMAGES] */

enum { BATCH = DIGITS_IMAGE_SIZE / 64, HELD_OUT = IMAGES / 5, LEARNT = IMAGES - HELD_OUT, MAX_EPOCHS = 200 };

static struct digits_state state;
static float image[DIGITS_IMAGE_SIZE], score[DIGITS_SCORE_SIZE];
static int64_t target[BATCH];
static int order[LEARNT];
static float curve[MAX_EPOCHS]; /* the mean loss of each epoch */

/* The k-th image that is held out, and the k-th that is not. */
static int held_out(int k) { return k * 5 + 4; }
static int learnt(int k) { return k + k / 4; }

static void take(int slot, int i)
{
    for (int k = 0; k < 64; k++)
        image[slot * 64 + k] = (float)image_pixels[i][k] / 16;
    target[slot] = image_digit[i];
}

static void shuffle(unsigned long long *seed)
{
    for (int i = LEARNT - 1; i > 0; i--) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        const int k = (int)((*seed >> 33) % (unsigned)(i + 1)), other = order[k];
        order[k] = order[i];
        order[i] = other;
    }
}

/* One pass over the images, except the last ones, which do not fill a batch. */
static float epoch(float rate)
{
    float sum = 0, loss;
    for (int i = 0; i + BATCH <= LEARNT; i += BATCH) {
        for (int k = 0; k < BATCH; k++)
            take(k, learnt(order[i + k]));
        if (digits_step_0(&state, image, target, &rate, score, &loss))
            exit(1);
        sum += loss;
    }
    return sum / (LEARNT / BATCH);
}

/* How many of the held-out images are read right? */
static int count_right(void)
{
    int right = 0;
    for (int i = 0; i < HELD_OUT; i += BATCH) {
        for (int k = 0; k < BATCH; k++)
            take(k, held_out((i + k) % HELD_OUT));
        if (digits_run(&state, image, score))
            exit(1);
        for (int k = 0; k < BATCH && i + k < HELD_OUT; k++) {
            int best = 0;
            for (int c = 1; c < 10; c++)
                best = score[k * 10 + c] > score[k * 10 + best] ? c : best;
            right += best == target[k];
        }
    }
    return right;
}

static void progress(int done, int all, float loss, int right)
{
    char bar[31];
    for (int i = 0; i < 30; i++)
        bar[i] = i < 30 * done / all ? '#' : '.';
    bar[30] = 0;
    printf("\r[%s] epoch %d of %d  loss %.4f  held out %.1f %%", bar, done, all, (double)loss,
           100.0 * right / HELD_OUT);
    fflush(stdout);
}

/* The losses as a curve; 0 is at the bottom, the first loss at the top. */
static int draw(const char *file, int n)
{
    FILE *f = fopen(file, "w");
    if (!f)
        return 1;
    fprintf(
        f,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 360\" font-family=\"sans-serif\" font-size=\"13\">\n"
        "<rect width=\"640\" height=\"360\" fill=\"white\"/>\n<path d=\"M50 20V320H620\" fill=\"none\" stroke=\"#888\"/>\n"
        "<text x=\"335\" y=\"346\" text-anchor=\"middle\">epoch</text>\n<text x=\"58\" y=\"24\">loss %.3f</text>\n"
        "<text x=\"620\" y=\"336\" text-anchor=\"end\">%d</text>\n<polyline fill=\"none\" stroke=\"#06c\" stroke-width=\"2\" points=\"",
        (double)curve[0], n);
    for (int i = 0; i < n; i++)
        fprintf(f, "%s%.1f,%.1f", i ? " " : "", 50 + 570.0 * (i + 1) / n, 320 - 300.0 * (double)(curve[i] / curve[0]));
    fprintf(f, "\"/>\n</svg>\n");
    return fclose(f) != 0;
}

int main(int argc, char **argv)
{
    const int epochs = argc > 1 ? atoi(argv[1]) : 15;
    unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    const char *file = argc > 3 ? argv[3] : "loss.svg";
    int right = 0;
    if (epochs < 1 || epochs > MAX_EPOCHS)
        return fprintf(stderr, "train: 1 to %d epochs\n", MAX_EPOCHS), 2;
    if (digits_reset(&state, seed) || digits_init(&state))
        return 1;
    for (int i = 0; i < LEARNT; i++)
        order[i] = i;
    for (int i = 0; i < epochs; i++) {
        shuffle(&seed);
        curve[i] = epoch(i < epochs * 2 / 3 ? 0.003f : 0.0005f);
        right = count_right();
        progress(i + 1, epochs, curve[i], right);
    }
    printf("\n%d of %d held-out digits are read right\n", right, HELD_OUT);
    if (draw(file, epochs))
        return perror(file), 1;
    printf("the loss over the epochs: %s\n", file);
    return 0;
}
