/* report.c - --report, in its format. */
#include "emit/emit.h"
#include "base/options.h"
#include "base/output.h"
#include "emit/facts.h"
#include "emit/report.h"

void report_model(Model *m)
{
    const Facts *f = find_facts(m);
    const bool beside = !strcmp(opt()->output, "-"); /* standard output is the C file */
    Text t = {.to = beside ? NULL : output_open("-")};
    switch (opt()->report) {
    case REPORT_JSON: report_json(&t, f); break;
    case REPORT_HTML: report_html(&t, f); break;
    default: report_text(&t, f);
    }
    if (beside)
        note("%s", t.s);
    else
        text_flush(&t);
}
