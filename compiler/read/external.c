/* external.c - external tensor data: files are opened only beneath the model's folder, checked, and mapped rather than
 * copied. */
#include "base/depend.h"
#include "base/output.h"
#include "base/options.h"
#include "read/parse.h"
#include "read/read.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- SHA-1 (FIPS 180-4), for the `checksum` key ------------------------------------------------------------------ */

static uint32_t rotate(uint32_t x, int n) { return x << n | x >> (32 - n); }

static void sha1_block(uint32_t h[5], const uint8_t *x)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)x[4 * i] << 24 | (uint32_t)x[4 * i + 1] << 16 | (uint32_t)x[4 * i + 2] << 8 | x[4 * i + 3];
    for (int i = 16; i < 80; i++)
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (int i = 0; i < 80; i++) {
        static const uint32_t k[] = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
        uint32_t f = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
        uint32_t t = rotate(a, 5) + f + e + k[i / 20] + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = t;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

static void sha1_hex(Span s, char hex[41])
{
    uint32_t h[5] = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
    size_t i = 0, rest = s.n % 64;
    for (; i + 64 <= s.n; i += 64)
        sha1_block(h, s.at + i);
    uint8_t last[128] = {0};
    size_t n = rest < 56 ? 64 : 128;
    if (rest)
        memcpy(last, s.at + i, rest);
    last[rest] = 0x80;
    for (int k = 0; k < 8; k++)
        last[n - 1 - (size_t)k] = (uint8_t)((uint64_t)s.n * 8 >> (8 * k));
    for (size_t k = 0; k < n; k += 64)
        sha1_block(h, last + k);
    for (int k = 0; k < 5; k++)
        snprintf(hex + 8 * k, 9, "%08x", h[k]);
}

/* ---- files ---------------------------------------------------------------------------------------------------- */

typedef struct File {
    Span s;
    bool bad;    /* already reported */
    bool summed; /* sha1 is known */
    char sha1[41];
} File;

typedef struct Files {
    Map by_location; /* -> File */
    VEC(Span) maps;  /* all mappings, to be unmapped at the end */
    size_t read;     /* bytes read since the last forget_pages */
    int fd;          /* the file of keep_open, + 1 */
    bool begun;
} Files;
PART(Files, files)

static void files_end(void *unused)
{
    (void)unused;
    close_kept();
    EACH_AT (map, files()->maps)
        if (map->n)
            munmap((void *)(uintptr_t)map->at, map->n);
}

void files_begin(void)
{
    if (!files()->begun)
        session_at_end(files_end, NULL);
    files()->begun = true;
}

int keep_open(int fd)
{
    files()->fd = fd + 1;
    return fd;
}

void close_kept(void)
{
    if (files()->fd > 0)
        close(files()->fd - 1);
    files()->fd = 0;
}

void forget_pages(void)
{
    EACH_AT (map, files()->maps)
        madvise((void *)(uintptr_t)map->at, map->n, MADV_DONTNEED);
}

void about_to_read(size_t bytes)
{
    enum { PAGE = 4096, LIMIT = 1 << 20 };
    if ((files()->read += bytes + PAGE) > LIMIT) {
        forget_pages();
        files()->read = bytes;
    }
}

bool map_file(int fd, size_t n, Span *s)
{
    *s = (Span){(const uint8_t *)"", 0};
    output_spare(fd);
    if (!n)
        return true;
    vec_push(&files()->maps, ((Span){NULL, 0})); /* before mmap: the list may fail to grow */
    void *at = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED) {
        files()->maps.n--;
        errno = ENOMEM;
        return false;
    }
    files()->maps.at[files()->maps.n - 1] = *s = (Span){at, n};
    return true;
}

/* For systems without openat2: opens one component after the other, refusing symbolic links. */
static int open_by_steps(int dir, char *path)
{
    int at = dir;
    for (char *s = path, *slash; at >= 0; s = slash + 1) {
        slash = strchr(s, '/');
        if (slash)
            *slash = 0;
        int flags = slash ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK | O_NOCTTY;
        int next = openat(at, *s ? s : ".", flags | O_NOFOLLOW | O_CLOEXEC), error = errno;
        if (at != dir)
            close(at);
        errno = error;
        at = next;
        if (!slash)
            break;
    }
    return at;
}

/* Opens path beneath dir, without following symbolic links. On failure -1 and errno. */
static int open_beneath(int dir, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    long fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
    for (int again = 0; fd < 0 && (errno == EAGAIN || errno == EINTR) && again < 8; again++)
        fd = syscall(SYS_openat2, dir, path, &how, sizeof how);
    if (fd >= 0 || (errno != ENOSYS && errno != EPERM && errno != E2BIG))
        return (int)fd;
    char *copy = NEWS(char, strlen(path) + 1);
    strcpy(copy, path);
    return open_by_steps(dir, copy);
}

/* The path for messages: the model's folder, then the location. */
static const char *shown_path(const Model *m, Name location)
{
    Text t = {0};
    text_bytes(&t, m->file, (size_t)(base_name(m->file) - m->file));
    text_put(&t, "%s", printable(location));
    return t.s;
}

/* Opens and maps the file; reports a problem once. */
static void open_file(Model *m, Name location, File *f, const Path *p)
{
    const char *path = shown_path(m, location);
    f->bad = true;
    if (m->dir < 0) {
        error_path(p, "EXT-03",
                   "the data is in '%s', but a model without a folder (standard input) has no files beside it",
                   printable(location));
        return;
    }
    if (location->s[0] == '/' || strstr(text_format("/%s/", location->s), "/../")) {
        error_path(p, "EXT-05", "'%s' may lead outside the model's folder", printable(location));
        note_help("the location must be relative, without '..'");
        return;
    }
    files_begin();
    int fd = keep_open(open_beneath(m->dir, location->s));
    struct stat st;
    if (fd < 0 && (errno == ELOOP || errno == EXDEV)) {
        error_path(p, "EXT-07", "'%s' is a symbolic link, or is reached through one", path);
        note_help("put the file itself beside the model");
    } else if (fd < 0 || fstat(fd, &st))
        error_path(p, "EXT-18", "cannot open '%s': %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        error_path(p, "EXT-07", "'%s' is not a regular file", path);
    else if (st.st_nlink != 1) {
        error_path(p, "EXT-07", "'%s' has %lu hard links, so it may be a file of another folder", path,
                   (unsigned long)st.st_nlink);
        note_help("make it a copy of its own");
    } else if (!map_file(fd, (size_t)st.st_size, &f->s))
        fail(EXIT_IO, "cannot read '%s': %s", path, strerror(errno));
    else {
        f->bad = false;
        depend_input(name_format("%.*s%s", (int)(base_name(m->file) - m->file), m->file, location->s)->s);
    }
    close_kept();
}

static File *find_file(Model *m, Name location, const Path *p)
{
    File *f = map_get(&files()->by_location, location);
    if (!f) {
        f = NEW(File);
        map_put(&files()->by_location, location, f);
        open_file(m, location, f, p);
    }
    return f->bad ? NULL : f;
}

/* ---- entries --------------------------------------------------------------------------------------------------- */

typedef struct Entries {
    Name location, offset, length, checksum;
} Entries;

static bool read_entries(const Wire *w, Entries *e, const Path *p)
{
    bool good = true;
    for (int i = 0; i < w->n; i++) {
        onnx_StringStringEntryProto proto = {0};
        const Path *q = AT(p, "external_data", i);
        if (!wire_read(onnx_StringStringEntryProto_fields, w->list[i], &proto, q))
            return false;
        Name key = wire_name(&proto.key);
        Name *to = name_is(key, "location")   ? &e->location
                   : name_is(key, "offset")   ? &e->offset
                   : name_is(key, "length")   ? &e->length
                   : name_is(key, "checksum") ? &e->checksum
                                              : NULL;
        if (to && *to) {
            error_path(q, "EXT-13", "the key '%s' is there twice", key->s);
            good = false;
        } else if (to)
            *to = wire_name(&proto.value);
        else if (!name_is(key, "basepath"))
            warn_strict(path_text(q), "EXT-13", "unknown key '%s'", printable(key));
    }
    if (good && (!e->location || !e->location->n || strlen(e->location->s) != e->location->n)) {
        error_path(p, "EXT-03", "the data is said to be in another file, but no file name is given");
        note_help("external_data needs the key 'location'");
        return false;
    }
    return good;
}

/* A decimal number without sign or spaces; absent: `otherwise`. */
static bool read_decimal(Name n, const char *key, const char *code, uint64_t otherwise, uint64_t *v, const Path *p)
{
    *v = n ? 0 : otherwise;
    bool good = !n || n->n;
    for (uint32_t i = 0; n && i < n->n && good; i++)
        good = n->s[i] >= '0' && n->s[i] <= '9' && !__builtin_mul_overflow(*v, 10u, v) &&
               !__builtin_add_overflow(*v, (uint64_t)(n->s[i] - '0'), v);
    if (!good)
        error_path(p, code, "%s '%s' is not a number of bytes", key, printable(n));
    return good;
}

static bool checksum_agrees(File *f, Name given, Name location, const Path *p)
{
    if (given->n != 40 || strspn(given->s, "0123456789abcdefABCDEF") != 40) {
        warn_at(path_text(p), "EXT-12", "the checksum '%s' is not a SHA-1 and is not used", printable(given));
        return true;
    }
    if (!f->summed)
        sha1_hex(f->s, f->sha1);
    f->summed = true;
    bool same = true;
    for (int i = 0; i < 40; i++)
        same &= f->sha1[i] == (given->s[i] | 0x20) || f->sha1[i] == given->s[i];
    if (!same)
        error_path(p, "EXT-12", "'%s' has the SHA-1 %s, not %s", printable(location), f->sha1, given->s);
    return same;
}

bool external_span(Model *m, const Wire *entries, uint64_t size, Span *bytes, const Path *p)
{
    Entries e = {0};
    uint64_t offset, length;
    if (!read_entries(entries, &e, p) || !read_decimal(e.offset, "offset", "EXT-08", 0, &offset, p) ||
        !read_decimal(e.length, "length", "EXT-09", size, &length, p))
        return false;
    if (length != size)
        return error_path(p, "EXT-09", "length is %llu bytes, but the tensor's type and shape need %llu",
                          (unsigned long long)length, (unsigned long long)size);
    File *f = find_file(m, e.location, p);
    if (!f)
        return false;
    if (offset > f->s.n || size > f->s.n - offset)
        return error_path(p, "EXT-10", "'%s' has %zu bytes; the tensor needs %llu from byte %llu on",
                          printable(e.location), f->s.n, (unsigned long long)size, (unsigned long long)offset);
    if (e.checksum && !checksum_agrees(f, e.checksum, e.location, p))
        return false;
    *bytes = (Span){f->s.at + offset, (size_t)size};
    return true;
}
