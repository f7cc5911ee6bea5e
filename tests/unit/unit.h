/* unit.h - what the unit tests include first. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* cmocka's; the compiler has a function of this name */
#include "base/session.h"

/* For cmocka_unit_test_setup: the test begins with nothing of those before it. */
static inline int fresh_run(void **state)
{
    (void)state;
    session_end();
    return !session_begin();
}

#define UNIT_TESTS(...)                                                                                                \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                               \
        session_begin();                                                                                               \
        return cmocka_run_group_tests(tests, NULL, NULL);                                                              \
    }
