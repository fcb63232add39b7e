/* Water-filling of several rows side by side: a single row is a chain of sums, each waiting for the one before.
 *
 * The lanes of a vector are rows; without vector extensions there is one lane and the same code.
 */
#ifndef SOFTMARGIN_WATERFILL_H
#define SOFTMARGIN_WATERFILL_H
#include "_lanes.h"

#ifdef SM_LANES
#define SM_ROWS SM_LANES
typedef sm_vec sm_row;
#define SM_WHERE(mask, x) ((sm_row)((mask) & (sm_int)(x)))
#else
#define SM_ROWS 1
typedef double sm_row;
#define SM_WHERE(mask, x) ((mask) ? (x) : 0.0)
#define SM_PICK(mask, a, b) ((mask) ? (a) : (b))
#define SM_FILL(x) (x)
#endif

/* One class of neighbouring rows, which are `row` entries apart. Through pointers: how vectors are passed by value
 * depends on the instructions a function may use, which differ between clones. */
static inline void sm_load(const double *x, int64_t row, sm_row *lanes)
{
    if (row == 1) *lanes = *(const sm_row *)x;
    else for (int w = 0; w < SM_ROWS; w++) ((double *)lanes)[w] = x[w * row];
}

static inline void sm_store(double *x, int64_t row, const sm_row *lanes)
{
    if (row == 1) *(sm_row *)x = *lanes;
    else for (int w = 0; w < SM_ROWS; w++) x[w * row] = ((const double *)lanes)[w];
}

/* SM_ROWS rows of A and D to rows of P; rows are `row` entries apart, the k classes of a row `column`.
 * What counts is a0 + a1 A and d0 + d1 D: both are often affine in the same scores. Room for 2 k sm_rows. */
SM_CLONES static void sm_waterfill(int64_t k, int64_t row, int64_t column, const double *A, const double *D, double a0,
                                   double a1, double d0, double d1, double *P, double *room)
{
    sm_row *a = (sm_row *)room, *p = a + k;
    const sm_row one = SM_FILL(1.0), zero = SM_FILL(0.0);
    sm_row top = SM_FILL(-INFINITY), level = top, last = SM_FILL((double)k + 1), sum = zero, none_yet = one;
    for (int64_t j = 0; j < k; j++) {
        sm_row d, score;
        sm_load(D + j * column, row, &d);
        sm_load(A + j * column, row, &score);
        d = SM_FILL(d0) + SM_FILL(d1) * d;
        a[j] = SM_FILL(a0) + SM_FILL(a1) * score;
        sm_row first = a[j] - d; /* no class may exceed one */
        level = SM_PICK(first > level, first, level);
        top = SM_PICK(a[j] > top, a[j], top);
        p[j] = one / d;
    }
    for (int moving = 1; moving;) {
        sm_row n_in = zero, mass = zero, total = -one;
        for (int64_t j = 0; j < k; j++) {
            sm_row share = SM_WHERE(a[j] > level, p[j]);
            n_in += SM_WHERE(a[j] > level, one);
            mass += share;
            total += share * a[j];
        }
        sm_row next = total / mass;
        next = SM_PICK(next > level, next, level);
        level = SM_PICK((n_in > zero) & (n_in < last), next, level);
        last = SM_WHERE((n_in > zero) & (n_in < last), n_in); /* rounding may let a class back in: it stays out */
        moving = 0;
        for (int w = 0; w < SM_ROWS; w++) moving |= ((double *)&last)[w] > 0;
    }
    for (int64_t j = 0; j < k; j++) {
        p[j] *= SM_WHERE(a[j] > level, a[j] - level);
        sum += p[j];
    }
    sm_row scale = one / sum;
    for (int64_t j = 0; j < k; j++) {
        sm_row winner = SM_WHERE(a[j] == top, none_yet); /* the first of the largest takes all if none is left in */
        sm_row share = SM_PICK(sum > zero, p[j] * scale, winner);
        sm_store(P + j * column, row, &share);
        none_yet = SM_PICK(a[j] == top, zero, none_yet);
    }
}

#endif
