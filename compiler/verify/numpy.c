/* numpy.c - reads .npz files: archives of arrays by name. */
#include "verify/verify.h"

#ifdef HAVE_LIBZIP
#include <stdlib.h>
#include <zip.h>
#endif

#include "rt.h"

#ifdef HAVE_LIBZIP

/* ---- the header of an array ------------------------------------------------------------------------------------- */

/* {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } */
typedef struct Header {
    char kind; /* f i u b c U S V */
    int width; /* of an element, in bytes; of U: in characters */
    bool fortran;
    int rank;
    int64_t dim[MAX_RANK];
} Header;

static bool read_shape(Header *h, const char *s)
{
    s = s ? strchr(s, '(') : NULL;
    while (s && *++s != ')') {
        char *end;
        const long long n = strtoll(s, &end, 10);
        if (end == s || n < 0 || n > INT32_MAX || h->rank == MAX_RANK)
            return false;
        h->dim[h->rank++] = n;
        s = end + strspn(end, ", ") - 1;
    }
    return s != NULL;
}

static bool read_header(Header *h, const char *s)
{
    const char *type = strstr(s, "'descr':");
    char order;
    if (!type || sscanf(type + 8, " '%c%c%d'", &order, &h->kind, &h->width) != 3 || (order != '<' && order != '|'))
        return false;
    h->fortran = strstr(s, "'fortran_order': True") != NULL;
    return h->width >= 0 && h->width < 1 << 20 && read_shape(h, strstr(s, "'shape':"));
}

static Type type_of(const Header *h)
{
    const struct {
        char kind;
        int width;
        Type type;
    } types[] = {{'f', 4, F32}, {'f', 8, F64}, {'f', 2, F16}, {'i', 1, I8},    {'i', 2, I16},
                 {'i', 4, I32}, {'i', 8, I64}, {'u', 1, U8},  {'u', 2, U16},   {'u', 4, U32},
                 {'u', 8, U64}, {'b', 1, B8},  {'c', 8, C64}, {'c', 16, C128}, {'V', 2, BF16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].kind == h->kind && types[i].width == h->width)
            return types[i].type;
    return h->kind == 'U' || h->kind == 'S' ? STR : NO_TYPE;
}

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static void put_utf8(Text *t, uint32_t c)
{
    if (c < 0x80)
        text_put(t, "%c", (int)c);
    else if (c < 0x800)
        text_put(t, "%c%c", (int)(0xC0 | c >> 6), (int)(0x80 | (c & 63)));
    else if (c < 0x10000)
        text_put(t, "%c%c%c", (int)(0xE0 | c >> 12), (int)(0x80 | (c >> 6 & 63)), (int)(0x80 | (c & 63)));
    else
        text_put(t, "%c%c%c%c", (int)(0xF0 | (c >> 18 & 7)), (int)(0x80 | (c >> 12 & 63)), (int)(0x80 | (c >> 6 & 63)),
                 (int)(0x80 | (c & 63)));
}

/* Strings of a fixed width, filled with NULs. */
static void set_strings(Tensor *t, const Header *h, const unsigned char *bytes)
{
    for (int64_t i = 0; i < tensor_count(t); i++) {
        Text s = {0};
        size_t used = 0;
        for (int k = 0; k < h->width; k++, bytes += h->kind == 'U' ? 4 : 1) {
            uint32_t c = *bytes;
            if (h->kind == 'U')
                memcpy(&c, bytes, 4);
            if (h->kind == 'U' && c)
                put_utf8(&s, c);
            else if (h->kind == 'S')
                text_bytes(&s, bytes, 1);
            used = c ? s.n : used;
        }
        tensor_set_str(t, i, name_bytes(used ? s.s : "", used));
    }
}

/* The array in the file; NULL: *why. */
static Tensor *array_of(const unsigned char *bytes, size_t n, const char **why)
{
    Header h = {0};
    size_t begin = 0, size = 0;
    if (n > 12 && !memcmp(bytes, "\x93NUMPY", 6)) {
        begin = bytes[6] == 1 ? 10 : 12;
        size = bytes[8] | (size_t)bytes[9] << 8 | (bytes[6] == 1 ? 0 : (size_t)bytes[10] << 16);
    }
    *why = "not an array of numbers or strings of this byte order";
    if (!begin || size > n - begin || !read_header(&h, text_format("%.*s", (int)size, bytes + begin)) || !type_of(&h))
        return NULL;
    *why = "the array is in Fortran's order: save numpy.ascontiguousarray of it";
    if (h.fortran && h.rank > 1)
        return NULL;
    double count = 1;
    for (int k = 0; k < h.rank; k++)
        count *= (double)h.dim[k];
    *why = "the array is incomplete";
    if (count * h.width * (h.kind == 'U' ? 4 : 1) > (double)(n - begin - size))
        return NULL;
    Tensor *t = tensor_new(type_of(&h), h.rank, h.dim);
    if (t->type == STR)
        set_strings(t, &h, bytes + begin + size);
    else
        memcpy((void *)(uintptr_t)t->data, bytes + begin + size, tensor_size(t));
    return t;
}

/* ---- the archive ------------------------------------------------------------------------------------------------- */

static void close_archive(void *archive) { zip_discard(archive); }

static void read_member(DataSet *to, zip_t *archive, zip_uint64_t i, const char *path)
{
    zip_stat_t stat;
    const char *const file = zip_get_name(archive, i, ZIP_FL_ENC_RAW), *why = "it cannot be unpacked";
    const size_t end = file ? strlen(file) : 0;
    if (end < 4 || strcmp(file + end - 4, ".npy") || zip_stat_index(archive, i, 0, &stat))
        return;
    unsigned char *bytes = big_alloc(stat.size);
    zip_file_t *f = zip_fopen_index(archive, i, 0);
    const bool whole = f && zip_fread(f, bytes, stat.size) == (zip_int64_t)stat.size;
    Tensor *t = whole ? array_of(bytes, stat.size, &why) : NULL;
    if (f)
        zip_fclose(f);
    if (!t)
        fail(EXIT_IO, "%s: %s: %s", printable(name(path)), printable(name(file)), why);
    big_free(bytes);
    vec_push(&to->of, ((Named){name_bytes(file, end - 4), data_tensor(t)}));
}

void read_npz(DataSet *to, const char *path)
{
    int error;
    zip_t *archive = zip_open(path, ZIP_RDONLY, &error);
    if (!archive) {
        zip_error_t e;
        zip_error_init_with_code(&e, error);
        const char *const why = text_format("%s", zip_error_strerror(&e));
        zip_error_fini(&e);
        fail(EXIT_IO, "%s: neither a folder nor an .npz file: %s", printable(name(path)), why);
    }
    session_at_end(close_archive, archive);
    for (zip_int64_t i = 0; i < zip_get_num_entries(archive, 0); i++)
        read_member(to, archive, (zip_uint64_t)i, path);
}

#else

void read_npz(DataSet *to, const char *path)
{
    (void)to;
    usage("%s: not a folder; .npz files need an onnxcc that is built with libzip", printable(name(path)));
}

#endif
