/* warping.h - DynamicTimeWarping: the cheapest path through a matrix of costs. */
#ifndef ONNXCC_WARPING_H
#define ONNXCC_WARPING_H
#include "rt.h"

/* x: (rows, columns), y: (2, found), found <= upper: the rows and columns of the path's elements. scratch: rows + 1
 * numbers, then rows * columns bytes. */
#define warping_PARAMS(X, V) X(idx, upper) X(idx, rows) X(idx, columns)
PARAMS(warping)
#define WARPING_TYPE_f32 1
enum { WARPING_BOTH, WARPING_ROW, WARPING_COLUMN }; /* what advances from an element of the path to the next */
#endif

#if defined T && !defined U
#if RT_TAKES(WARPING_TYPE_, T)
KERNEL int FN(warping)(const T *x, i32 *y, void *scratch, i64 *found, struct warping p)
{
    A *const cost = (A *)scratch; /* of the cheapest path to each row, which starts at 1, in the last column */
    u8 *const step = (u8 *)(cost + p.rows + 1);
    idx n = 0;
    for (idx i = 0; i <= p.rows; i++)
        cost[i] = i ? RT_INF : 0;
    for (idx j = 0; j < p.columns; j++) {
        A before = cost[0]; /* in the last column, one row above */
        cost[0] = RT_INF;
        for (idx i = 0; i < p.rows; i++) {
            const A row = cost[i], column = cost[i + 1];
            const int s = before < row && before < column ? WARPING_BOTH
                          : row < before && row < column  ? WARPING_ROW
                                                          : WARPING_COLUMN;
            step[i * p.columns + j] = (u8)s;
            cost[i + 1] = (s == WARPING_BOTH ? before : s == WARPING_ROW ? row : column) + x[i * p.columns + j];
            before = column;
        }
    }
    for (int write = 0; write < 2; write++) {
        idx i = p.rows - 1, j = p.columns - 1, k = 0;
        for (; i >= 0 && j >= 0; k++) {
            const int s = step[i * p.columns + j];
            if (write) {
                y[n - 1 - k] = (i32)i;
                y[2 * n - 1 - k] = (i32)j;
            }
            i -= s != WARPING_COLUMN;
            j -= s != WARPING_ROW;
        }
        if (k > p.upper)
            return RT_BAD_SIZE;
        n = k;
    }
    *found = n;
    return RT_OK;
}
REGISTER_FALLIBLE(warping, 4, 1, SCRATCH | SIZES(1))
#endif
#endif
