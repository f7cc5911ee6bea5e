/* single.h - the runtime in a file of --single: items at file scope, of which those that the model needs are
 * printed. */
#pragma once

#include "emit/emit.h"
#include "plain/cpp.h"

typedef VEC(const char *) SingleNames;
typedef VEC(struct Single *) SingleList;
typedef enum SingleKind {
    SINGLE_CODE,      /* a function, type, variable */
    SINGLE_MACRO,     /* a #define or #undef */
    SINGLE_DIRECTIVE, /* a #pragma or #error */
    SINGLE_INCLUDE,
    SINGLE_IF
} SingleKind;
typedef struct SingleBranch { /* of an #if that the C compiler decides */
    Token *directive;         /* #if, #elif or #else */
    const char *trailing;
    SingleList items;
} SingleBranch;
typedef struct Single {
    SingleKind kind;
    int at; /* in the order of all */
    Token *tokens;
    const Token *body;    /* of a function: its { */
    const char *comment;  /* before it; NULL: none */
    const char *trailing; /* at the end of its line */
    bool is_apart;        /* a blank line precedes it */
    bool is_shared;       /* without the prefix: its name is the same in all files */
    bool is_early;        /* precedes all that is not */
    bool has_lines;       /* of #define among its tokens */
    SingleNames names;    /* that it defines */
    SingleNames tags;     /* of structs */
    LineKind lines;
    const void *owner;
    struct Single *parent; /* the #if that it is in */
    VEC(SingleBranch) branches;
    bool needed[2]; /* see single.c */
} Single;
typedef struct SingleItems {
    SingleList top, all;
} SingleItems;
SHARED_PART(SingleItems, single)

/* ---- single_read.c ----------------------------------------------------------------------------------------------- */

/* Reads the part of the runtime in t, #include of its headers and definitions of T, ..., and empties t. The next part's
 * lines are of this kind. */
void single_read(Text *t, LineKind lines, const void *owner);
/* A name before ## in a macro, for all that it begins. */
bool is_piece(const Token *t);
const char *piece_name(const Token *t); /* "tile_##" */

/* ---- single.c ---------------------------------------------------------------------------------------------------- */

void single_find(const char *code, const char *prefix); /* what the model's code needs of the runtime that was read */
void single_put(Text *t, bool prelude);                 /* what precedes the code, or what follows it */
/* The model's code, which was written to `from`, with the names that the runtime has in this file. */
void single_put_code(Text *t, const Text *from, const char *code);
