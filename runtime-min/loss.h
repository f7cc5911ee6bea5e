/* loss.h - NegativeLogLikelihoodLoss before its reduction: the negative log-probability of each sample's class. */
#ifndef ONNXCC_LOSS_H
#define ONNXCC_LOSS_H
#include "rt.h"

/* x: (outer, classes, inner), target, loss, applied: (outer, inner), weight: (classes) or NULL */
#define nll_loss_PARAMS(X, V) X(idx, outer) X(idx, classes) X(idx, inner) X(int, ignores) X(i64, ignored)
PARAMS(nll_loss)
#endif

#if defined T && defined U
#if RT_IS_FLOAT(T) && RT_IS_INDEX(U)
/* loss = -x[target] * weight[target], applied (may be NULL) = weight[target]; both 0 for the ignored target. */
KERNEL int FN2(nll_loss)(const T *x, const U *target, const T *weight, T *loss, T *applied, struct nll_loss p)
{
    for (idx o = 0; o < p.outer; o++)
        for (idx j = 0; j < p.inner; j++) {
            const idx i = o * p.inner + j;
            const i64 c = LDU(target, i);
            A w = 0, v = 0;
            if (!p.ignores || c != p.ignored) {
                if (c < 0 || c >= p.classes)
                    return RT_BAD_INDEX;
                w = weight ? LD(weight, (idx)c) : 1;
                v = LD(x, (o * p.classes + (idx)c) * p.inner + j) * w;
            }
            ST(loss, i, -v);
            if (applied)
                ST(applied, i, w);
        }
    return RT_OK;
}
REGISTER_FALLIBLE2(nll_loss, 5, 3, 0)
#endif
#endif
