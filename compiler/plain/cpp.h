/* cpp.h - what the preprocessor shares with the reading of tokens. */
#pragma once

#include "plain/syntax.h"

enum { MACRO_PARAMETERS = 16 };
typedef struct Macro {
    const char *name;
    bool is_function, is_variadic, is_undefined;
    VEC(const char *) parameters;
    Token *body;
} Macro;

Token *tokenise(const char *text); /* ends with a TOKEN_END */
Token *token_of(const char *s);    /* the one token of s */
