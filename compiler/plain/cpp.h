/* cpp.h - tokens, macros and the conditions of #if: what the preprocessor of --target plain shares with that of
 * --single. */
#pragma once

#include "plain/syntax.h"

/* ---- tokens.c ---------------------------------------------------------------------------------------------------- */

Token *tokenise(const char *text); /* ends with a TOKEN_END */
Token *token_of(const char *s);    /* the one token of s */
bool token_is(const Token *t, const char *s);
Token *token_copy(const Token *t);
Token *read_line(Token **t); /* the tokens of the line that begins at *t, which becomes the first token of the next */
typedef struct Tokens {      /* a list that grows at its end */
    Token *first, *last;
} Tokens;
void tokens_append(Tokens *l, Token *t);
void tokens_append_copies(Tokens *l, const Token *t);

/* ---- macro.c ----------------------------------------------------------------------------------------------------- */

enum { MACRO_PARAMETERS = 16 };
typedef struct Macro {
    const char *name;
    bool is_function, is_variadic, is_undefined;
    bool is_kept;        /* not expanded */
    bool is_kept_inside; /* ... in functions */
    bool is_maybe;       /* defined under a condition that is not known */
    VEC(const char *) parameters;
    Token *body;
} Macro;
Macro *macro_define(const Token *t); /* from the name on */
void macro_undefine(const char *name);
Macro *macro_named(const char *name);                    /* NULL: it is not defined */
void move_expanded(Token **t, Tokens *out, bool inside); /* expands the macro at *t, or appends that token to `out` */
Token *tokens_expanded(const Token *list, bool inside);  /* a list without directives, with its macros expanded */

/* ---- condition.c ------------------------------------------------------------------------------------------------- */

typedef enum Definedness { DEFINED_NO, DEFINED_YES, DEFINED_MAYBE } Definedness;
typedef struct Answer {
    int64_t v;
    const char *left; /* what remains to be asked of the C compiler; NULL: nothing, v is the value */
    const char *text; /* of a literal */
} Answer;
Answer condition(const Token *line, Definedness (*is_defined)(const char *name));
