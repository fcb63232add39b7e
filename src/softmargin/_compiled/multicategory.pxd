# The subproblem of one row, which block ascent and the envelope share.

cdef struct Machine:
    int link
    double own_lo, own_hi, other_lo, other_hi, own_lin, other_lin

cdef Machine machine_of(tuple form)
cdef double block(Machine* machine, double cost, int own, int k, double q, double* scores, double* b, double* beta,
                  double* delta, double* h, double* lo, double* hi) noexcept nogil
