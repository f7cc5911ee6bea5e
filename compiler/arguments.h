/* arguments.h - the words of the command line, and the table of the options. */
#pragma once

#include <stdbool.h>

typedef enum Caller { BY_LIBRARY, BY_COMMAND, BY_VERIFY } Caller;

/* Sets this run's Options from words, an array that ends with NULL. A wrong word ends the run with exit 2. The
 * library may not use the options that print something and end the process. */
void read_arguments(const char *const *word, Caller caller);

/* A row of options.def, which explains the members; or, if there is no `set`, the title of a group. */
typedef struct OptionRow {
    const char *name;
    char letter;
    const char *argument, *values;
    int command; /* true: the library refuses it; BY_VERIFY: everybody but onnxcc verify */
    void (*set)(const char *value);
    const char *help;
} OptionRow;
extern const OptionRow option_rows[];
extern const int option_count;
#define FILES "@files"
#define FOLDERS "@folders"

/* Made from the table (manual.c): each prints to standard output and ends the process. */
void print_help(const char *unused);
void print_explanation(const char *code);
void print_man(const char *unused);
void print_completions(const char *shell);
