/* fail.h - the replacement of a branch that cannot run with the model's sizes. */
#ifndef ONNXCC_FAIL_H
#define ONNXCC_FAIL_H
#include "rt.h"

#define fail_PARAMS(X, V) X(int, status)
PARAMS(fail)
#define FAIL_TYPE_u8 1
#endif

#if defined T && !defined U
#if RT_TAKES(FAIL_TYPE_, T)
/* Computes nothing; the program ends with the status. */
KERNEL int FN(fail)(void *y, struct fail p)
{
    (void)y;
    return p.status;
}
REGISTER_FALLIBLE(fail, 1, 0, 0)
#endif
#endif
