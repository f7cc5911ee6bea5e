/* profile.c - onnxcc profile MODEL [DATA]: how long does each step take here? */
#include "arguments.h"
#include "base/options.h"
#include "compile.h"
#include "verify/verify.h"

void profile(void *words)
{
    static const char *const none[] = {NULL};
    DataSets data = {0};
    read_arguments(words, BY_VERIFY);
    const Model *m = read_model(opt()->model);
    stop_on_errors();
    check_inputs(m);
    data_read(&data, m, opt()->data);
    Pass p = {.words = words,
              .folder = text_format("%s/c", temporary_folder()),
              .model = opt()->model,
              .data = &data,
              .taps = none,
              .only = 0,
              .profile = true};
    must_run(&p);
}
