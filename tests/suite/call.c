/* call.c - calls the emitted code of one test: call CASE.so INPUTS RESULTS. Built with the same sanitizers as the code. */
#include "call.h"
#include <dlfcn.h>

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

int main(int argc, char **argv)
{
    void *so = argc == 4 ? dlopen(argv[1], RTLD_NOW) : NULL;
    const struct suite_case *test = so ? dlsym(so, "suite_case") : NULL;
    if (!test) {
        fprintf(stderr, "call: %s\n", argc == 4 ? dlerror() : "usage: call CASE.so INPUTS RESULTS");
        return CALL_BROKEN;
    }
    call_case(test, argv[2], argv[3]);
    return CALL_OK;
}
