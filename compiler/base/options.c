/* options.c - the options of this run. */
#include "base/options.h"

SHARED_PART_IS(Options, opt);
