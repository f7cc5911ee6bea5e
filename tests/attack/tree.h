/* tree.h - an ONNX file as a tree of messages and fields, which mutate.c and repair.c change. */
#ifndef TREE_H
#define TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- the schema: which fields are messages, numbers in a row, or strings of which kind */

/* clang-format off */
enum { MODEL, OPSET, ENTRY, TRAINING, FUNCTION, GRAPH, NODE, ATTR, INFO, TYPE, ARRAY, SEQ, MAP, SHAPE, DIM, TENSOR, SPARSE,
       ANNOTATION, N_MESSAGES };
enum { VALUE, OPERATOR, DOMAIN, ATTRIBUTE, SYMBOL, TEXT, N_STRINGS };
/* clang-format on */

typedef struct Row {
    uint8_t message, field;
    char kind; /* m: a message, n: numbers, s: a string */
    uint8_t what;
} Row;
enum { N_ROWS = 76, MAX_MESSAGES = 1 << 14 };
extern const Row rows[N_ROWS];
const Row *row_of(int message, int field);

/* ---- a file */

typedef struct Message Message;
typedef struct Field {
    int number, wire;
    uint64_t v; /* wire 0 */
    const uint8_t *at;
    size_t n;
    Message *inside; /* else NULL */
    const Row *row;
} Field;
struct Message {
    int type, n, room;
    Field *at;
    size_t bytes; /* written */
};
extern Message *all[MAX_MESSAGES]; /* of the file read last */
extern int n_all;

Message *read_file(const uint8_t *data, size_t n);           /* NULL: not an ONNX file, or too large */
size_t write_file(Message *model, uint8_t *to, size_t room); /* 0: there is no room */
void *tree_alloc(size_t n);                                  /* memory until the next file is read; or NULL */
Field *add_field(Message *m, int where);                     /* empty; or NULL */
bool varint(const uint8_t **s, const uint8_t *end, uint64_t *v);
uint8_t *put_varint(uint8_t *to, uint64_t v);

/* ---- mutate.c */
int below(int n); /* a random number from 0 to n - 1 */
bool one_of(int n);
void become(Field *f, const void *at, size_t n); /* a string */

/* ---- repair.c: bound names, one definition each, attributes with a type ...: the first requirements of a compiler */
void repair(Message *model);

#endif
