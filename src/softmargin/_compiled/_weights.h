/* Scores of one row under k weight vectors, and their change when the row moves: products too small for BLAS calls.
 *
 * The weights of a feature lie side by side, theta[t * k + j], so the lanes of a vector are classes.
 */
#ifndef SOFTMARGIN_WEIGHTS_H
#define SOFTMARGIN_WEIGHTS_H
#include "_lanes.h"

/* scores += theta' x */
SM_CLONES static void sm_scores(int64_t k, int64_t p, const double *theta, const double *x, double *scores)
{
    int64_t j = 0;
#ifdef SM_LANES
    for (; j + 16 <= k; j += 16) { /* whole cache lines */
        sm_vec *out = (sm_vec *)(scores + j), a = out[0], b = out[1], c = out[2], d = out[3];
        for (int64_t t = 0; t < p; t++) {
            const sm_vec *at = (const sm_vec *)(theta + t * k + j), step = SM_FILL(x[t]);
            a += step * at[0];
            b += step * at[1];
            c += step * at[2];
            d += step * at[3];
        }
        out[0] = a, out[1] = b, out[2] = c, out[3] = d;
    }
    for (; j + 4 <= k; j += 4) {
        const double *at = theta + j;
        sm_vec even = *(sm_vec *)(scores + j), odd = SM_FILL(0.0); /* two sums: each waits for the one before */
        int64_t t = 0;
        for (; t + 2 <= p; t += 2, at += 2 * k) {
            even += SM_FILL(x[t]) * *(const sm_vec *)at;
            odd += SM_FILL(x[t + 1]) * *(const sm_vec *)(at + k);
        }
        if (t < p) even += SM_FILL(x[t]) * *(const sm_vec *)at;
        *(sm_vec *)(scores + j) = even + odd;
    }
#endif
    for (; j < k; j++) {
        double even = scores[j], odd = 0.0;
        int64_t t = 0;
        for (; t + 2 <= p; t += 2) {
            even += x[t] * theta[t * k + j];
            odd += x[t + 1] * theta[(t + 1) * k + j];
        }
        if (t < p) even += x[t] * theta[t * k + j];
        scores[j] = even + odd;
    }
}

/* theta += x delta' */
SM_CLONES static void sm_rank_one(int64_t k, int64_t p, double *theta, const double *x, const double *delta)
{
    for (int64_t t = 0; t < p; t++, theta += k) {
        int64_t j = 0;
#ifdef SM_LANES
        sm_vec step = SM_FILL(x[t]);
        for (; j + 4 <= k; j += 4) *(sm_vec *)(theta + j) += step * *(const sm_vec *)(delta + j);
#endif
        for (; j < k; j++) theta[j] += x[t] * delta[j];
    }
}

#endif
