/* report_html.c - prints the report on a model as a page (templates/report.html.in), which contains the report as JSON
 * and draws it. */
#include "emit/emit.h"

#include "emit/facts.h"

void report_html(Text *t, const Facts *f)
{
    static const char hole[] = "@REPORT@";
    const char *page = embedded_text("report.html.in"), *at = strstr(page, hole);
    text_bytes(t, page, (size_t)(at - page));
    report_json(t, f);
    text_put(t, "%s", at + sizeof hole - 1);
}
