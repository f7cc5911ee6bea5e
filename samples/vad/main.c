/* main.c - detects speech: vad FILE.wav (16-bit PCM, any rate) prints the spans of speech, in seconds. vad.h and vad.c
 * are onnxcc's output for the network. A call takes 32 ms of sound and the state of the previous call, so the file
 * is read piece by piece, and memory does not grow with its length. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "vad.h"

enum { RATE = 16000, STEP = 512, CONTEXT = VAD_INPUT_SIZE - STEP }; /* the last samples of a call are passed again */
static const double WINDOW = (double)STEP / RATE;

/* ---- sound ------------------------------------------------------------------------------------------------------- */

struct wav {
    FILE *f;
    unsigned channels, rate;
    uint32_t bytes;     /* bytes of sound not read yet */
    double value, left; /* the current sample, and its part that is not used yet */
};

static uint32_t little_endian(const unsigned char *p, int bytes)
{
    return bytes ? p[0] | little_endian(p + 1, bytes - 1) << 8 : 0;
}

/* Skips the chunks of a WAV file before its sound. */
static bool wav_open(struct wav *w, const char *file)
{
    unsigned char head[12], format[16] = {0};
    *w = (struct wav){.f = fopen(file, "rb")};
    if (!w->f || fread(head, 1, 12, w->f) != 12 || memcmp(head, "RIFF", 4) || memcmp(head + 8, "WAVE", 4))
        return false;
    while (fread(head, 1, 8, w->f) == 8) {
        const uint32_t size = little_endian(head + 4, 4);
        if (!memcmp(head, "data", 4)) {
            w->bytes = size;
            w->channels = little_endian(format + 2, 2);
            w->rate = little_endian(format + 4, 4);
            return little_endian(format, 2) == 1 && little_endian(format + 14, 2) == 16 && w->channels && w->rate;
        }
        const bool is_format = !memcmp(head, "fmt ", 4) && size >= 16;
        if (is_format && fread(format, 1, 16, w->f) != 16)
            return false;
        if (fseek(w->f, (long)(size + (size & 1)) - (is_format ? 16 : 0), SEEK_CUR))
            return false;
    }
    return false;
}

/* The next sample of the file, of its first channel, in [-1, 1). */
static bool wav_read(struct wav *w)
{
    unsigned char sample[2];
    const uint32_t frame = 2 * w->channels;
    if (w->bytes < frame || fread(sample, 1, 2, w->f) != 2 || (frame > 2 && fseek(w->f, (long)frame - 2, SEEK_CUR)))
        return false;
    w->bytes -= frame;
    const int value = (int)little_endian(sample, 2);
    w->value = (value < 0x8000 ? value : value - 0x10000) / 32768.0;
    w->left = 1;
    return true;
}

/* n samples at RATE, each the mean of the file's samples in its interval; false at the end, where the rest is
 * silence. */
static bool wav_listen(struct wav *w, float *to, int n)
{
    const double ratio = (double)w->rate / RATE;
    memset(to, 0, (size_t)n * sizeof *to);
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (double need = ratio; need > 1e-9;) {
            if (w->left <= 0 && !wav_read(w))
                return i > 0;
            const double part = need < w->left ? need : w->left;
            sum += part * w->value;
            w->left -= part;
            need -= part;
        }
        to[i] = (float)(sum / ratio);
    }
    return true;
}

/* ---- speech ------------------------------------------------------------------------------------------------------ */

/* Speech begins at a high score, and ends after a while of low scores. */
static const double SURE = 0.5, DOUBT = 0.35, PAUSE = 0.1, SHORTEST = 0.1;

struct spans {
    bool speaking;
    double from, quiet; /* start of the span; start of the low scores (0: none) */
};

static void end_span(struct spans *s, double to)
{
    if (s->speaking && to - s->from >= SHORTEST)
        printf("%.2f %.2f\n", s->from, to);
    s->speaking = false;
}

static void hear(struct spans *s, double time, double speech)
{
    if (speech >= SURE && !s->speaking)
        *s = (struct spans){.speaking = true, .from = time};
    if (speech >= SURE)
        s->quiet = 0;
    else if (speech < DOUBT && !s->quiet)
        s->quiet = time;
    if (s->quiet && time - s->quiet >= PAUSE)
        end_span(s, s->quiet);
}

int main(int argc, char **argv)
{
    static float sound[VAD_INPUT_SIZE], state[2][VAD_STATE_SIZE], speech;
    struct wav w;
    if (argc != 2 || !wav_open(&w, argv[1])) {
        fprintf(stderr, "usage: vad FILE.wav (16-bit PCM)\n");
        return 2;
    }
    struct spans spans = {0};
    int i = 0;
    for (; wav_listen(&w, sound + CONTEXT, STEP); i++) {
        const int status = vad_run(sound, state[i % 2], &speech, state[(i + 1) % 2]);
        if (status != VAD_OK) {
            fprintf(stderr, "vad: %s\n", vad_status(status));
            return 1;
        }
        hear(&spans, i * WINDOW, (double)speech);
        memmove(sound, sound + STEP, CONTEXT * sizeof *sound);
    }
    end_span(&spans, spans.quiet ? spans.quiet : i * WINDOW);
    fclose(w.f);
    return 0;
}
