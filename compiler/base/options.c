/* options.c - what the command line asked for. */
#include "base/options.h"

Options opt;
