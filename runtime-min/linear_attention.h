/* linear_attention.h - LinearAttention: a state matrix per head, which every token updates and reads. */
#ifndef ONNXCC_LINEAR_ATTENTION_H
#define ONNXCC_LINEAR_ATTENTION_H
#include "rt.h"
#include "math.h"

/* q: (batch, tokens, q_heads, size), k: (batch, tokens, kv_heads, size), v: the same of v_size, y: q_heads of v_size;
 * past (may be NULL: zeros), present: (batch, kv_heads, size, v_size). decay: per head and (decay_step 1)
 * element of the keys, or (decay_step 0) per head; beta: beta_heads (kv_heads or 1) per token; NULL: the rule does not
 * use it. default_scale: the scale is 1 / sqrt(size). Scratch: (size + 1) * v_size. */
#define linear_attention_PARAMS(X, V)                                                                                  \
    X(idx, batch) X(idx, tokens) X(idx, q_heads) X(idx, kv_heads) X(idx, size) X(idx, v_size) X(idx, decay_step)       \
    X(idx, beta_heads) X(f32, scale) X(int, default_scale)
PARAMS(linear_attention)

/* s (rows of n) *= factor; sum += x * s */
HELPER void linear_attention_row(f32 *s, f32 factor, f32 x, f32 *sum, idx n)
{
    for (idx m = 0; m < n; m++) {
        s[m] *= factor;
        sum[m] += x * s[m];
    }
}
#endif

#if defined T && defined U
#define LINEAR_ATTENTION_f16 1
#define LINEAR_ATTENTION_bf16 1
#define LINEAR_ATTENTION_f32 1
#if RT_TAKES(LINEAR_ATTENTION_, T) && RT_TAKES(LINEAR_ATTENTION_, U)
/* For each token: s = exp(decay) s, v' = beta (v - s^T k), s += k v'^T, y = scale s^T q. */
KERNEL void FN2(linear_attention)(const T *q, const T *k, const T *v, const U *past, const T *decay, const T *beta,
                                  T *y, U *present, f32 *s, struct linear_attention p)
{
    const idx group = p.q_heads / p.kv_heads, n = p.v_size;
    const f32 scale = p.default_scale ? 1 / math_sqrt_f32((f32)p.size) : p.scale;
    f32 *const sum = s + p.size * n;
    for (idx b = 0; b < p.batch; b++)
        for (idx h = 0; h < p.kv_heads; h++) {
            const idx state = (b * p.kv_heads + h) * p.size * n;
            for (idx i = 0; i < p.size * n; i++)
                s[i] = past ? LDU(past, state + i) : 0;
            for (idx t = b * p.tokens; t < (b + 1) * p.tokens; t++) {
                const idx at = t * p.kv_heads + h;
                for (idx m = 0; m < n; m++)
                    sum[m] = 0;
                for (idx d = 0; d < p.size && (decay || beta); d++) {
                    const idx g = p.decay_step ? at * p.size + d : at;
                    linear_attention_row(s + d * n, decay ? math_exp_f32(LD(decay, g)) : 1, LD(k, at * p.size + d), sum,
                                         n);
                }
                const f32 rate = beta ? LD(beta, t * p.beta_heads + (p.beta_heads > 1 ? h : 0)) : 1;
                for (idx m = 0; m < n; m++)
                    sum[m] = beta ? rate * (LD(v, at * n + m) - sum[m]) : LD(v, at * n + m);
                for (idx d = 0; d < p.size; d++)
                    for (idx m = 0; m < n; m++)
                        s[d * n + m] += LD(k, at * p.size + d) * sum[m];
                for (idx j = 0; j < group; j++) {
                    const idx head = t * p.q_heads + h * group + j;
                    for (idx m = 0; m < n; m++)
                        sum[m] = 0;
                    for (idx d = 0; d < p.size; d++)
                        linear_attention_row(s + d * n, 1, LD(q, head * p.size + d), sum, n);
                    for (idx m = 0; m < n; m++)
                        ST(y, head * n + m, scale * sum[m]);
                }
            }
            for (idx i = 0; i < p.size * n; i++)
                STU(present, state + i, s[i]);
        }
}
REGISTER_KERNEL2(linear_attention, 9, 6, SCRATCH)
#endif
#endif
