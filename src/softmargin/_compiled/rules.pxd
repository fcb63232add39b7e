# What the beam and the exact searches share: how one feature's histogram is read.

ctypedef long long int64

cdef struct Feature:
    int n_values        # bins of a numeric feature, listed categories of a categorical one
    int n_other         # 1 when unlisted categories share one more code
    int categorical
    int missing         # the code of a missing value, -1 when there is none

cdef struct Choice:     # the best literal of one shape: <= or ==, > or !=, missing
    int64 score
    int code

cdef struct Criterion:
    int channels        # signed weights to score
    int width           # doubles per code of a histogram: the channels, then the number of rows if counted
    const double *total # the signed weight of all rows, per channel
    double scale        # scores are compared as integers of this resolution

cdef int64 score_of(const Criterion *rule, const double *covered) noexcept nogil
cdef void read_feature(const double *hist, const Feature *feature, const Criterion *rule, Choice *best, double *work) noexcept nogil
