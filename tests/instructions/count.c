/* count.c - a QEMU plugin that counts the instructions that run from the address `begin` until the address `end`, and writes
 * to `out` each translation block that ran, as "ADDRESS INSTRUCTIONS TIMES". Debian's QEMU 7.2 loads plugins but lacks their
 * header, so the functions used of version 1 of the interface are declared here. */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
typedef void block_fn(qemu_plugin_id_t id, struct qemu_plugin_tb *tb);
typedef void run_fn(unsigned processor, void *data);
typedef void exit_fn(qemu_plugin_id_t id, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, block_fn *f);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, run_fn *f, enum qemu_plugin_cb_flags flags,
                                          void *data);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_fn *f, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

#define EXPORT __attribute__((visibility("default")))
EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

struct block {
    uint64_t at, size, times;
    struct block *next;
};
static struct block *blocks;
static uint64_t begin, end;
static bool counting;
static FILE *out;

static void start(unsigned processor, void *data)
{
    (void)processor, (void)data;
    counting = true;
}

static void run(unsigned processor, void *data)
{
    (void)processor;
    struct block *b = data;
    counting = counting && b->at != end;
    b->times += counting;
}

/* Both addresses begin functions, so they begin blocks, too. */
static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    struct block *b = calloc(1, sizeof *b);
    if (!b)
        abort();
    *b = (struct block){.at = qemu_plugin_tb_vaddr(tb), .size = qemu_plugin_tb_n_insns(tb), .next = blocks};
    blocks = b;
    if (b->at == begin)
        qemu_plugin_register_vcpu_tb_exec_cb(tb, start, QEMU_PLUGIN_CB_NO_REGS, NULL);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, run, QEMU_PLUGIN_CB_NO_REGS, b);
}

static void finish(qemu_plugin_id_t id, void *data)
{
    (void)id, (void)data;
    for (const struct block *b = blocks; b; b = b->next)
        if (b->times)
            fprintf(out, "%" PRIx64 " %" PRIu64 " %" PRIu64 "\n", b->at, b->size, b->times);
    fclose(out);
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++)
        if (!strncmp(argv[i], "begin=", 6))
            begin = strtoull(argv[i] + 6, NULL, 0);
        else if (!strncmp(argv[i], "end=", 4))
            end = strtoull(argv[i] + 4, NULL, 0);
        else if (!strncmp(argv[i], "out=", 4))
            out = fopen(argv[i] + 4, "w");
    if (!out || !begin || !end)
        return 1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, finish, NULL);
    return 0;
}
