/* manual.h - the table of the options, and what is made from it. */
#pragma once

#include <stdbool.h>

/* A row of options.def, which explains the members; or, if there is no `set`, the title of a group. */
typedef struct OptionRow {
    const char *name;
    char letter;
    const char *argument, *values;
    int command; /* true: the library refuses it; BY_VERIFY: everybody but onnxcc verify */
    void (*set)(const char *value);
    const char *help;
} OptionRow;
#define FILES "@files"
#define FOLDERS "@folders"

/* Each prints to standard output and ends the process; the table has n rows. */
void print_help(const OptionRow *rows, int n);
void print_man(const OptionRow *rows, int n);
void print_completions(const char *shell, const OptionRow *rows, int n);
void print_explanation(const char *code);
