/* profile.c - onnxcc profile MODEL [DATA]: how long does each step take here? */
#include "arguments.h"
#include "verify/verify.h"

void profile(void *words)
{
    DataSets data = {0};
    Model *m = NULL;
    Attempt p = attempt_begin(words, &data, &m);
    check_profile();
    p.only = 0;
    p.profile = true;
    must_run(&p);
}
