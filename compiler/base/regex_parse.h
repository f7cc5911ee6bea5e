/* regex_parse.h - a regular expression as a tree. */
#pragma once

#include "base/util.h"

enum { LAST_CHARACTER = 0x10FFFF };

/* A piece of the expression. It is kept as a tree because a repeat generates its code several times. */
typedef struct Piece {
    enum PieceKind { SET, JOIN, EITHER, REPEAT, TEST, NOTHING } kind;
    VEC(uint32_t) range; /* SET: pairs of code points, inclusive */
    VEC(struct Piece *) part;
    int low, high; /* REPEAT; high -1: any number */
    char test;
} Piece;

/* Returns the tree. *error: what is wrong with the pattern, or NULL; *at: the byte where parsing stopped. */
Piece *regex_parse(Name pattern, const char **error, int *at);
