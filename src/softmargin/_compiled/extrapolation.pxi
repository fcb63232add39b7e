# Anderson's acceleration of coordinate descent: from the points of the last sweeps to where they seem to go. Near the end
# sweeps are a linear map on the coefficients that are not zero, and the combination of its iterates (of weights that sum
# to 1) whose moves cancel best is close to its fixed point. Included by descent.pyx.

cdef bint _combination(const double[:, ::1] kept, double* weight) noexcept nogil:
    """Weights of sum 1 of the last points that make the same combination of their moves smallest; whether there are."""
    cdef double A[DEPTH * DEPTH]
    cdef double total = 0, trace = 0, x
    cdef int m = DEPTH, one = 1, info = 0, i, l
    cdef Py_ssize_t j
    for i in range(m):
        for l in range(i + 1):
            x = 0
            for j in range(kept.shape[1]):
                x += (kept[i + 1, j] - kept[i, j]) * (kept[l + 1, j] - kept[l, j])
            A[i * m + l] = A[l * m + i] = x
        trace += A[i * m + i]
        weight[i] = 1
    for i in range(m):
        A[i * m + i] += 1e-12 * trace
    dposv("U", &m, &one, A, &m, weight, &m, &info)
    for i in range(m):
        total += weight[i]
    if info != 0 or not total > 0:
        return False
    for i in range(m):
        weight[i] /= total
    return True


cdef void _extrapolate(Quadratic q, const double[::1] cost, double[:, ::1] kept) noexcept nogil:
    """Anderson's step from the points of the last sweeps, within their signs; taken back unless it descends."""
    cdef double weight[DEPTH]
    cdef double before = 0, after = 0, price = 0, step
    cdef Py_ssize_t j, i
    if not _combination(kept, weight):
        return
    for j in range(q.size):
        step = -q.b[j]
        for i in range(DEPTH):
            step += weight[i] * kept[i + 1, j]
        kept[0, j] = step if (q.b[j] + step) * q.b[j] > 0 else 0.0
    for j in range(q.size):
        if kept[0, j] != 0:
            before += kept[0, j] * q.slope(j)
            price += cost[j] * (kept[0, j] if q.b[j] > 0 else -kept[0, j])
    for j in range(q.size):
        if kept[0, j] != 0:
            q.b[j] += kept[0, j]
            q.move(j, kept[0, j])
    for j in range(q.size):
        if kept[0, j] != 0:
            after += kept[0, j] * q.slope(j)
    if 0.5 * (before + after) + price < 0:  # exact for a quadratic
        return
    for j in range(q.size):
        if kept[0, j] != 0:
            q.b[j] -= kept[0, j]
            q.move(j, -kept[0, j])
