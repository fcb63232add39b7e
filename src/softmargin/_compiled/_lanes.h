/* Hot loops of the box QP, of the Gaussian kernel and of exponential losses, four doubles at a time.
 *
 * GNU vector extensions compile to SSE2 everywhere and, through function clones chosen at load time, to AVX2 where the
 * processor has it. Compilers without them get the same loops one number at a time.
 */
#ifndef SOFTMARGIN_LANES_H
#define SOFTMARGIN_LANES_H
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Clones are chosen by indirect functions, which of the C libraries on Linux only GNU's resolves (musl does not). */
#if defined(__has_attribute) && defined(__x86_64__) && defined(__GLIBC__)
#if __has_attribute(target_clones)
#define SM_CLONES __attribute__((target_clones("avx2", "default")))
#endif
#endif
#ifndef SM_CLONES
#define SM_CLONES
#endif

#if defined(__GNUC__)
#define SM_LANES 4
typedef double sm_vec __attribute__((vector_size(32), aligned(8), may_alias));
typedef int64_t sm_int __attribute__((vector_size(32), aligned(8), may_alias));
#define SM_PICK(mask, a, b) ((sm_vec)(((mask) & (sm_int)(a)) | (~(mask) & (sm_int)(b))))
#define SM_PICKI(mask, a, b) (((mask) & (a)) | (~(mask) & (b)))
#define SM_FILL(x) ((sm_vec){(x), (x), (x), (x)})
#endif

/* G += di ki + dj kj; returns where rise - G is largest (the steepest ascent) and its value, and the least fall - G. */
SM_CLONES static int64_t sm_update(int64_t n, double *G, const double *ki, const double *kj, double di, double dj,
                                   const double *rise, const double *fall, double *top, double *bottom)
{
    double best = -INFINITY, least = INFINITY;
    int64_t where = -1, k = 0;
#ifdef SM_LANES
    sm_vec vdi = SM_FILL(di), vdj = SM_FILL(dj), vbest = SM_FILL(best), vleast = SM_FILL(least);
    sm_int at = {-1, -1, -1, -1}, index = {0, 1, 2, 3};
    const sm_int four = {4, 4, 4, 4};
    for (; k + 4 <= n; k += 4) {
        sm_vec g = *(sm_vec *)(G + k) + vdi * *(const sm_vec *)(ki + k) + vdj * *(const sm_vec *)(kj + k);
        *(sm_vec *)(G + k) = g;
        sm_vec a = *(const sm_vec *)(rise + k) - g, c = *(const sm_vec *)(fall + k) - g;
        sm_int higher = a > vbest, lower = c < vleast;
        vbest = SM_PICK(higher, a, vbest);
        at = SM_PICKI(higher, index, at);
        vleast = SM_PICK(lower, c, vleast);
        index += four;
    }
    for (int lane = 0; lane < 4; lane++) {
        if (vbest[lane] > best || (vbest[lane] == best && at[lane] < where && at[lane] >= 0)) { best = vbest[lane]; where = at[lane]; }
        if (vleast[lane] < least) least = vleast[lane];
    }
#endif
    for (; k < n; k++) {
        double g = G[k] + di * ki[k] + dj * kj[k];
        G[k] = g;
        if (rise[k] - g > best) { best = rise[k] - g; where = k; }
        if (fall[k] - g < least) least = fall[k] - g;
    }
    *top = best;
    *bottom = least;
    return where;
}

/* The partner j of i with the largest decrease (top - (fall_j - G_j))^2 / (K_ii + K_jj - 2 K_ij); -1 if none. */
SM_CLONES static int64_t sm_partner(int64_t n, const double *G, const double *ki, const double *diag, const double *fall,
                                    double top, double kii, double tiny)
{
    double num = 0.0, den = 1.0;
    int64_t where = -1, k = 0;
#ifdef SM_LANES
    sm_vec vnum = SM_FILL(0.0), vden = SM_FILL(1.0), zero = SM_FILL(0.0), vtop = SM_FILL(top), vkii = SM_FILL(kii), vtiny = SM_FILL(tiny);
    sm_int at = {-1, -1, -1, -1}, index = {0, 1, 2, 3};
    const sm_int four = {4, 4, 4, 4};
    for (; k + 4 <= n; k += 4) {
        sm_vec slope = vtop - *(const sm_vec *)(fall + k) + *(const sm_vec *)(G + k);
        sm_vec bend = vkii + *(const sm_vec *)(diag + k) - 2.0 * *(const sm_vec *)(ki + k);
        slope = SM_PICK(slope > zero, slope, zero);
        bend = SM_PICK(bend > vtiny, bend, vtiny);
        sm_vec square = slope * slope;
        sm_int better = square * vden > vnum * bend;
        vnum = SM_PICK(better, square, vnum);
        vden = SM_PICK(better, bend, vden);
        at = SM_PICKI(better, index, at);
        index += four;
    }
    for (int lane = 0; lane < 4; lane++)
        if (at[lane] >= 0 && (vnum[lane] * den > num * vden[lane])) { num = vnum[lane]; den = vden[lane]; where = at[lane]; }
#endif
    for (; k < n; k++) {
        double slope = top - fall[k] + G[k], bend = kii + diag[k] - 2.0 * ki[k];
        if (!(slope > 0)) continue;
        if (!(bend > tiny)) bend = tiny;
        if (slope * slope * den > num * bend) { num = slope * slope; den = bend; where = k; }
    }
    return where;
}

/* out += sum_r weight_r row_r for rows of a matrix with the given stride, a block of columns at a time. */
#define SM_ADD_ROWS(NAME, REAL)                                                                                        \
    SM_CLONES static void NAME(int64_t n, int64_t rows, const REAL *K, int64_t stride, const int64_t *at,              \
                               const double *weight, double *out)                                                      \
    {                                                                                                                  \
        enum { BLOCK = 2048 };                                                                                         \
        for (int64_t start = 0; start < n; start += BLOCK) {                                                           \
            int64_t width = n - start < BLOCK ? n - start : BLOCK, r = 0;                                              \
            double *o = out + start;                                                                                   \
            for (; r + 4 <= rows; r += 4) {                                                                            \
                const REAL *a = K + at[r] * stride + start, *b = K + at[r + 1] * stride + start,                       \
                           *c = K + at[r + 2] * stride + start, *d = K + at[r + 3] * stride + start;                   \
                double wa = weight[r], wb = weight[r + 1], wc = weight[r + 2], wd = weight[r + 3];                     \
                for (int64_t k = 0; k < width; k++) o[k] += wa * a[k] + wb * b[k] + wc * c[k] + wd * d[k];             \
            }                                                                                                          \
            for (; r < rows; r++) {                                                                                    \
                const REAL *a = K + at[r] * stride + start;                                                            \
                double wa = weight[r];                                                                                 \
                for (int64_t k = 0; k < width; k++) o[k] += wa * a[k];                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }
SM_ADD_ROWS(sm_add_rows_double, double)
SM_ADD_ROWS(sm_add_rows_float, float)

/* x <= 0 to exp(x) within 2 units in the last place: exp(x) = 2^k exp(r), |r| <= log(2)/2, Taylor to degree 12. */
static inline double sm_exp(double x)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer in the low bits */
    union { double real; int64_t bits; } k, scale;
    x = x < -708.0 ? -708.0 : x;
    k.real = x * 1.4426950408889634 + shift;
    double whole = k.real - shift;
    double r = (x - whole * 6.93147180369123816490e-01) - whole * 1.90821492927058770002e-10;
    double p = 2.08767569878680990e-09;
    p = p * r + 2.50521083854417188e-08;
    p = p * r + 2.75573192239858907e-07;
    p = p * r + 2.75573192239858907e-06;
    p = p * r + 2.48015873015873016e-05;
    p = p * r + 1.98412698412698413e-04;
    p = p * r + 1.38888888888888889e-03;
    p = p * r + 8.33333333333333333e-03;
    p = p * r + 4.16666666666666667e-02;
    p = p * r + 1.66666666666666667e-01;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    scale.bits = (int64_t)((uint64_t)(k.bits + 1023) << 52);
    return p * scale.real;
}

static inline float sm_expf(float x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23 */
    union { float real; int32_t bits; } k, scale;
    x = x < -87.0f ? -87.0f : x;
    k.real = x * 1.44269504f + shift;
    float whole = k.real - shift;
    float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    float p = 1.98412698e-4f;
    p = p * r + 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    scale.bits = (int32_t)((uint32_t)(k.bits + 127) << 23);
    return p * scale.real;
}

/* row_k := exp(min(0, scale row_k + a + b_k)): a Gaussian kernel from inner products. */
#define SM_GAUSS(NAME, REAL, EXP)                                                                                      \
    SM_CLONES static void NAME(int64_t n, REAL *row, REAL scale, REAL a, const REAL *b)                                \
    {                                                                                                                  \
        for (int64_t k = 0; k < n; k++) {                                                                              \
            REAL x = scale * row[k] + a + b[k];                                                                        \
            row[k] = EXP(x < 0 ? x : 0);                                                                               \
        }                                                                                                              \
    }
SM_GAUSS(sm_gauss_double, double, sm_exp)
SM_GAUSS(sm_gauss_float, float, sm_expf)

/* log(1 + e) for 0 <= e <= 1 to full relative accuracy: 2 artanh(e / (2 + e)). */
static inline double sm_log1p(double e)
{
    double s = e / (2.0 + e), q = s * s, r = q * q, even = 0.030303030303030304, odd = 0.032258064516129031;
    even = even * r + 0.034482758620689655;
    odd = odd * r + 0.037037037037037035;
    even = even * r + 0.040000000000000001;
    odd = odd * r + 0.043478260869565216;
    even = even * r + 0.047619047619047616;
    odd = odd * r + 0.052631578947368418;
    even = even * r + 0.058823529411764705;
    odd = odd * r + 0.066666666666666666;
    even = even * r + 0.076923076923076927;
    odd = odd * r + 0.090909090909090912;
    even = even * r + 0.1111111111111111;
    odd = odd * r + 0.14285714285714285;
    even = even * r + 0.20000000000000001;
    odd = odd * r + 0.33333333333333331;
    even = even * r + 1;
    return 2.0 * s * (even + q * odd);
}

/* out_k := exp(x_k), x_k <= 0; zero where the result would be subnormal. */
SM_CLONES static void sm_decay(int64_t n, const double *x, double *out)
{
    for (int64_t k = 0; k < n; k++)
        out[k] = x[k] < -708.0 ? 0.0 : sm_exp(x[k]);
}

/* The logistic loss log(1 + exp(-u)), its slope and its curvature, all from exp(-|u|). */
#define SM_LOGISTIC(NAME, DO)                                                                                          \
    SM_CLONES static void NAME(int64_t n, const double *u, double *value, double *slope, double *curvature)            \
    {                                                                                                                  \
        for (int64_t k = 0; k < n; k++) {                                                                              \
            double t = u[k], x = t < 0 ? t : -t, e = x < -708.0 ? 0.0 : sm_exp(x);                                     \
            double large = 1.0 / (1.0 + e), small = e * large;                                                         \
            (void)value, (void)slope, (void)curvature, (void)small; /* some are asked for, not all */                  \
            DO                                                                                                         \
        }                                                                                                              \
    }
#define SM_VALUE value[k] = sm_log1p(e) - (t < 0 ? t : 0.0);
#define SM_SLOPE slope[k] = t > 0 ? -small : -large;
#define SM_CURVATURE curvature[k] = small * large;
SM_LOGISTIC(sm_logistic_value, SM_VALUE)
SM_LOGISTIC(sm_logistic_slope, SM_SLOPE)
SM_LOGISTIC(sm_logistic_all, SM_VALUE SM_SLOPE SM_CURVATURE)
#endif
