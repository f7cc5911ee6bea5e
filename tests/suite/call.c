/* call.c - calls the emitted code of one test: call CASES.so NAME INPUTS RESULTS. NAME is the name of the test's
 * description. Built with the same sanitizers as the code. */
#include "call.h"
#include <dlfcn.h>

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }
#endif

int main(int argc, char **argv)
{
    void *so = argc == 5 ? dlopen(argv[1], RTLD_NOW) : NULL;
    const struct suite_case *test = so ? dlsym(so, argv[2]) : NULL;
    if (!test) {
        fprintf(stderr, "call: %s\n", argc == 5 ? dlerror() : "usage: call CASES.so NAME INPUTS RESULTS");
        return CALL_BROKEN;
    }
    call_case(test, argv[3], argv[4]);
    return CALL_OK;
}
