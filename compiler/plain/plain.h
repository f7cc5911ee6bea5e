/* plain.h - C for --target plain: expands the macros of the runtime and of the emitted code, keeps only what the model
 * needs, with the values that are the same in all its calls put in, and prints the rest. The input is our own text. */
#pragma once

#include "base/util.h"

/* The text of a header that the input includes by its name in quotes; NULL: it is left out. */
typedef const char *PlainHeader(const char *name);

/* Is s the name of a function, type or constant that the C needs which plain_put appended? */
bool plain_needs(const char *s);
/* Appends to t the C of `text`, a whole file. declared: the text of the header that declares its external functions. */
void plain_put(Text *t, const char *text, const char *declared, PlainHeader *header);
