/* ml_svm.h - support vector machines: kernel functions of rows and support vectors, the scores and votes of pairs of
 * classes, and probabilities from these. */
#ifndef ONNXCC_ML_SVM_H
#define ONNXCC_ML_SVM_H
#include "rt.h"
#include "math.h"

/* x: (rows, features), sv: (vectors, features), y: (rows, vectors) */
#define svm_kernel_PARAMS(X, V)                                                                                        \
    X(idx, rows) X(idx, features) X(idx, vectors) X(int, kind) X(f32, gamma) X(f32, coef0) X(f32, degree)
/* alike: (rows, vectors); start: (classes + 1), the first vector of each class; coef: (classes - 1, vectors); pairs of
 * classes (0, 1), (0, 2), ... (1, 2) ...: rho: (pairs), score: (rows, pairs), votes: (rows, classes) */
#define svm_contest_PARAMS(X, V) X(idx, rows) X(idx, classes) X(idx, vectors)
/* score: (rows, pairs), a, b: (pairs), y: (rows, classes). scratch: 2 * classes * classes + classes. */
#define svm_probability_PARAMS(X, V) X(idx, rows) X(idx, classes)
PARAMS(svm_kernel)
PARAMS(svm_contest)
PARAMS(svm_probability)

enum { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID };
#define SVM_TYPE_f32 1
#endif

#if defined T && !defined U
#if RT_TAKES(SVM_TYPE_, T)
KERNEL void FN(svm_kernel)(const f32 *x, const f32 *sv, f32 *y, struct svm_kernel p)
{
    for (idx r = 0; r < p.rows; r++)
        for (idx v = 0; v < p.vectors; v++) {
            const f32 *const a = x + r * p.features, *const b = sv + v * p.features;
            f32 sum = 0;
            for (idx k = 0; k < p.features; k++)
                sum += p.kind == SVM_RBF ? (a[k] - b[k]) * (a[k] - b[k]) : a[k] * b[k];
            const f32 s = p.gamma * sum + p.coef0;
            y[r * p.vectors + v] = p.kind == SVM_RBF       ? math_exp_f32(-p.gamma * sum)
                                   : p.kind == SVM_POLY    ? math_pow_f32(s, p.degree)
                                   : p.kind == SVM_SIGMOID ? math_tanh_f32(s)
                                                           : sum;
        }
}
REGISTER_KERNEL(svm_kernel, 3, 2, 0)

KERNEL void FN(svm_contest)(const f32 *alike, const f32 *coef, const f32 *rho, const i32 *start, f32 *score, f32 *votes,
                            struct svm_contest p)
{
    for (idx r = 0; r < p.rows; r++, alike += p.vectors, votes += p.classes) {
        idx pair = 0;
        for (idx i = 0; i < p.classes; i++)
            votes[i] = 0;
        for (idx i = 0; i < p.classes; i++)
            for (idx j = i + 1; j < p.classes; j++, pair++) {
                f32 sum = rho[pair];
                for (idx k = start[i]; k < start[i + 1]; k++)
                    sum += coef[(j - 1) * p.vectors + k] * alike[k];
                for (idx k = start[j]; k < start[j + 1]; k++)
                    sum += coef[i * p.vectors + k] * alike[k];
                votes[sum > 0 ? i : j] += 1;
                *score++ = sum;
            }
    }
}
REGISTER_KERNEL(svm_contest, 6, 4, 0)

/* The probabilities of classes that fit those of the pairs best: method 2 of Wu, Lin and Weng, by iteration as in
 * LIBSVM. q: (n, n), of the pairs' probabilities; t: (n). */
HELPER void FN(svm_solve)(const f32 *q, f32 *t, f32 *y, idx n)
{
    for (idx i = 0; i < n; i++)
        y[i] = 1 / (f32)n;
    for (idx round = 0; round < (n > 100 ? n : 100); round++) {
        f32 mean = 0, error = 0;
        for (idx i = 0; i < n; i++) {
            t[i] = 0;
            for (idx j = 0; j < n; j++)
                t[i] += q[i * n + j] * y[j];
            mean += y[i] * t[i];
        }
        for (idx i = 0; i < n; i++)
            error = math_abs_f32(t[i] - mean) > error ? math_abs_f32(t[i] - mean) : error;
        if (error < 0.005f / (f32)n)
            break;
        for (idx i = 0; i < n; i++) {
            const f32 d = (mean - t[i]) / q[i * n + i];
            y[i] += d;
            mean = (mean + d * (d * q[i * n + i] + 2 * t[i])) / (1 + d) / (1 + d);
            for (idx j = 0; j < n; j++) {
                t[j] = (t[j] + d * q[i * n + j]) / (1 + d);
                y[j] /= 1 + d;
            }
        }
    }
}

KERNEL void FN(svm_probability)(const f32 *score, const f32 *a, const f32 *b, f32 *y, void *scratch,
                                struct svm_probability p)
{
    const idx n = p.classes;
    f32 *const of = (f32 *)scratch, *const q = of + n * n, *const t = q + n * n;
    for (idx r = 0; r < p.rows; r++, y += n) {
        idx pair = 0;
        for (idx i = 0; i < n; i++)
            for (idx j = i + 1; j < n; j++, pair++) {
                const f32 v = math_sigmoid_f32(-(*score++ * a[pair] + b[pair]));
                of[i * n + j] = v < 1e-7f ? 1e-7f : v > 1 - 1e-7f ? 1 - 1e-7f : v;
                of[j * n + i] = 1 - of[i * n + j];
            }
        for (idx i = 0; i < n; i++) {
            q[i * n + i] = 0;
            for (idx j = 0; j < n; j++)
                if (j != i) {
                    q[i * n + i] += of[j * n + i] * of[j * n + i];
                    q[i * n + j] = -of[j * n + i] * of[i * n + j];
                }
        }
        FN(svm_solve)(q, t, y, n);
    }
}
REGISTER_KERNEL(svm_probability, 5, 3, SCRATCH)
#endif
#endif
