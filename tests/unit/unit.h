/* unit.h - what the unit tests include first. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#undef fail /* cmocka's; the compiler has a function of this name */

#define UNIT_TESTS(...)                                                                                                \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                                               \
        session_begin();                                                                                               \
        return cmocka_run_group_tests(tests, NULL, NULL);                                                              \
    }
