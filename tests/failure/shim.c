/* shim.c - a preloaded library: makes the FAIL_AT-th call of one kind fail, and with FAIL_ON all later ones, too. FAIL_KIND is
 * memory (malloc and its like, mmap) or files (fopen, fwrite, fflush, fclose, fseek, rename; not on stderr). The number
 * of calls goes to the file FAIL_COUNT. FAIL_KIND=stack: threads with an explicit stack get FAIL_AT bytes of it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

static long calls, at;
static int files, stack, all, began;

static void begin(void)
{
    const char *n = getenv("FAIL_AT"), *kind = getenv("FAIL_KIND");
    began = 1;
    at = n ? atol(n) : 0;
    files = kind && !strcmp(kind, "files");
    stack = kind && !strcmp(kind, "stack");
    all = getenv("FAIL_ON") != NULL;
}

static int fails(int file_call)
{
    if (!began)
        begin();
    if (stack || file_call != files)
        return 0;
    calls++;
    return at && (all ? calls >= at : calls == at);
}

static int no_memory(void)
{
    if (!fails(0))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t n) { return no_memory() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return no_memory() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return no_memory() ? NULL : __libc_realloc(p, n); }
void *aligned_alloc(size_t align, size_t n) { return no_memory() ? NULL : __libc_memalign(align, n); }

int posix_memalign(void **p, size_t align, size_t n)
{
    if (no_memory())
        return ENOMEM;
    *p = __libc_memalign(align, n);
    return 0;
}

void *mmap(void *p, size_t n, int protection, int flags, int fd, off_t from)
{
    return no_memory() ? MAP_FAILED : (void *)syscall(SYS_mmap, p, n, protection, flags, fd, from);
}

static int disk_full(const FILE *f)
{
    if (f == stderr || !fails(1))
        return 0;
    errno = ENOSPC;
    return 1;
}

#define LIBC(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

FILE *fopen(const char *path, const char *mode) { return disk_full(NULL) ? NULL : LIBC(fopen)(path, mode); }
size_t fwrite(const void *p, size_t size, size_t n, FILE *f)
{
    return disk_full(f) ? n / 2 : LIBC(fwrite)(p, size, n, f);
}
int fflush(FILE *f) { return disk_full(f) ? EOF : LIBC(fflush)(f); }
int fseek(FILE *f, long to, int from) { return disk_full(f) ? -1 : LIBC(fseek)(f, to, from); }
int rename(const char *from, const char *to) { return disk_full(NULL) ? -1 : LIBC(rename)(from, to); }

int fclose(FILE *f)
{
    int bad = disk_full(f), result = LIBC(fclose)(f);
    return bad ? EOF : result;
}

/* The lowest bytes, above the guard. */
int pthread_attr_setstack(pthread_attr_t *a, void *p, size_t n)
{
    if (!began)
        begin();
    return LIBC(pthread_attr_setstack)(a, p, stack ? (size_t)at : n);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("FAIL_COUNT");
    FILE *f = path && !at ? LIBC(fopen)(path, "w") : NULL;
    if (f) {
        fprintf(f, "%ld\n", calls);
        LIBC(fclose)(f);
    }
}
