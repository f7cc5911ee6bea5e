/* size.c - onnxcc size MODEL: the report with the bytes of the code that $CC makes of the model's C. */
#include "verify/verify.h"

#include <stdlib.h>

#include "arguments.h"
#include "base/options.h"
#include "compile.h"
#include "base/output.h"
#include "emit/report.h"
#include "emit/source.h"
#include "read/read.h"

Emitted emit_for_size(void *words, const char *command)
{
    read_arguments(words, BY_VERIFY);
    if (opt()->data)
        fail(EXIT_USAGE, "onnxcc %s takes no data, as it does not run the model: %s", command, opt()->data);
    Emitted e = {.folder = temporary_folder(), .form = opt()->report ? opt()->report : REPORT_TEXT};
    opt()->output = text_format("%s/model.c", e.folder);
    opt()->single = true;
    opt()->report = REPORT_NONE;
    opt()->check = false;
    opt()->custom_stub = opt()->depend = opt()->eval_dir = opt()->package = NULL;
    e.model = read_model(opt()->model);
    compile_model(e.model);
    emit_files(e.model);
    return e;
}

const char *compile_for_size(const char *folder, const char *more, const char *help)
{
    const char *cc = getenv("CC"), *flags = getenv("CFLAGS"), *target = opt()->target->cflags;
    const char *const command =
        text_format("CCACHE_DISABLE=1 exec ${CC:-cc} ${CFLAGS--O2} %s %s -w -c -o \"$@\"", target, more);
    const char *const words[] = {"sh", "-c", command, "sh", output_path(".o"), opt()->output, NULL};
    const Ended e = run_program(words, folder, NULL, 0);
    if (e.how != EXITED || e.code)
        fail(EXIT_MODEL, "the C compiler ($CC) %s\n%s%s", ended_text(&e), e.said, help);
    return text_format("%s %s%s%s", cc && *cc ? cc : "cc", flags ? flags : "-O2", *target ? " " : "", target);
}

void size(void *words)
{
    const Emitted e = emit_for_size(words, "size");
    opt()->object_by = compile_for_size(e.folder, "", "");
    opt()->object = output_path(".o");
    opt()->report = e.form;
    check_budgets(e.model);
    report_model(e.model);
    output_commit();
}
