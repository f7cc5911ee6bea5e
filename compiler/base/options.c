/* options.c - what the command line asked for. */
#include "base/options.h"

SHARED_PART_IS(Options, opt);
