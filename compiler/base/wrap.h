/* wrap.h - lines of at most 120 columns. */
#pragma once

#include "base/util.h"

void put_wrapped(Text *t, int indent, const char *code); /* a line of code, broken after commas or before operators */
/* The same; a backslash ends each line, the last one only if it continues. */
void put_wrapped_directive(Text *t, int indent, const char *code, bool continues);
/* true: put_wrapped leaves lines whole, as they will be longer; who completes them wraps them. */
void wrap_later(bool later);
typedef struct Wrapped { /* pieces with spaces between them, in as few lines as take them */
    Text *to;
    const char *first, *between; /* begin the first line, and each other */
    int indent, reserve;         /* columns to be left free at the end of each line */
    int column;                  /* 0: nothing is printed yet */
} Wrapped;
void put_piece(Wrapped *w, const char *piece);
/* Of code; a piece longer than a line is wrapped, in lines of its own. */
void put_code_piece(Wrapped *w, const char *piece);
