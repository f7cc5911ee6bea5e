/* arguments.h - the words of the command line, and the table of the options. */
#pragma once

#include <stdbool.h>

/* Sets this run's Options from words, an array that ends with NULL. A wrong word ends the run with exit 2. command:
 * allows the options that print something and end the process. */
void read_arguments(const char *const *word, bool command);

/* A row of options.def, which explains the members; or, if there is no `set`, the title of a group. */
typedef struct OptionRow {
    const char *name;
    char letter;
    const char *argument, *values;
    bool command;
    void (*set)(const char *value);
    const char *help;
} OptionRow;
extern const OptionRow option_rows[];
extern const int option_count;
#define FILES "@files"
#define FOLDERS "@folders"

/* Made from the table (manual.c): each prints to standard output and ends the process. */
void print_help(const char *unused);
void print_man(const char *unused);
void print_completions(const char *shell);
