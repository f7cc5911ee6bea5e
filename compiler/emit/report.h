/* report.h - the report on a model; the list of supported operators. */
#pragma once

#include "ir/graph.h"

void report_model(Model *m);     /* in the format of --report */
void write_map(Model *m);        /* map.c: the file of --map; after emit_model */
void check_budgets(Model *m);    /* budget.c: fails with exit 1 if one is exceeded; after write_constants */
void list_ops(const char *form); /* list.c: as "text", "markdown" or "json" */
