/* utf8.h - the sequences of UTF-8. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The length of the well-formed UTF-8 sequence at s, of n bytes at most, and its code point; 0: there is none. */
int utf8_sequence(const void *s, size_t n, uint32_t *c);
int utf8_printable(const char *s, size_t n); /* the same, but 0 for what is not safe to show on a terminal */
