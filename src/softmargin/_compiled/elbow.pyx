"""Follow the minimiser of a box QP whose bounds and linear term move with one parameter, event by event.

    min_u 1/2 u'Ku - q(t)'u,   sum u = 0,   lo(t) <= u <= hi(t),      q, lo, hi affine in t, t increasing.

Every index is FREE (on the elbow E), or at its LOwer or HIgher bound. With r = Ku + b - q, u is optimal iff
r_i = 0 on E, r_i >= 0 at LO, r_i <= 0 at HI. While the sets stay, u_E, b and r are affine in t and come in ABSOLUTE
form (no step in t is added to another, so nothing drifts) from the bordered system

    K_EE u_E + b = q_E - K_EN u_N(t),   1'u_E = -1'u_N(t),    solved with the Cholesky factor of K_EE + kappa 11'.

An event is the first t at which a free u reaches a bound or an r outside E reaches zero; the segment before it is then
optimal throughout, since its slacks, affine in t, were nonnegative at both ends (`violation` is the worst seen).
Ties are broken as if q carried an infinitesimal generic tilt eps * xi (xi is chosen so that the starting state is
strictly feasible): among equal event times the one that comes first for eps -> 0 is taken, which rules out cycles in
exact arithmetic and keeps E affinely independent. A point that depends on E in floating arithmetic is exchanged
along the null vector. An empty elbow makes b jump to the end of its interval that lets sum u = 0 go on, or, if the
bounds balance by themselves, leaves b free until its interval closes.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY

include "carried_set.pxi"

cdef enum:
    RUNNING = 0
    FINISHED = 1
    STALLED = 2
    FLAT = 3
    CAPPED = 4

STATUS = {FINISHED: "finished", STALLED: "stalled", FLAT: "flat", CAPPED: "capped"}

cdef double TIE_R = 1e-13    # slacks of r below this (times their scale) or the ROUNDING of h are zero: entering then
                             # moves u by r / pivot
cdef double TIE_U = 1e-11    # slacks of u below this are zero
cdef double REFUSE = 1e-7    # an r on the wrong side by more than this (times its scale) means the sets are wrong
cdef double OUTSIDE = 1e-2   # so does a u this far (of its box) outside; less is the conditioning of K_EE, harmless in f
cdef double HOLD = 10.0      # a point that changed last may violate its condition by this many ties before it changes back
cdef double NOISE = 1e-14    # slopes below this (times the size of their summands) are zero
cdef double LEVEL = 1e-12    # h varying less than this, times the size sum|u| max K_ii of its summands, is constant,
cdef double LEVEL_SCORE = 1e-9    # unless it varies by more than this
cdef double END = 1e-10      # events this close to the end, relative to the run or in scores, are the end
cdef double INSTANT = 1e-13  # steps below this (times t) have no length


cdef class Elbow(CarriedSet):
    """The event loop: `run` follows the path from t on and logs its segments and set changes."""

    cdef readonly int n_segments, n_changes, n_events, idle
    cdef readonly double t, violation, overshoot
    cdef bint record
    cdef public bint watch_flat                           # stop where h is constant, but only with
    cdef public double flat_intercept                     # this intercept; NaN: any
    cdef double[::1] xi
    cdef double margin                                    # events this close to the end of the range are its end
    cdef double size_r, size_u, noise_r, noise_u          # scales of slacks, noise of their slopes
    cdef double size_h                                    # of the summands of h, which sets the rounding of r
    cdef int event_index, event_side                      # the event about to happen: who goes where
    cdef int held, held_too                               # changed last: rounding must not change them back at once
    cdef int n_offers
    cdef double first
    cdef int[::1] offer_index, offer_side
    cdef double[::1] offer_gap, offer_rate, offer_tie
    cdef double[::1] seg_t, seg_b0, seg_b1, log_p0, log_p1
    cdef int[::1] log_elbow, seg_ptr, seg_changes, change_index
    cdef signed char[::1] change_state

    def run(self, double t, double t_end, xi, long max_events, bint record=True):
        """Follow the path from t to t_end; returns a word of STATUS. The log starts afresh."""
        cdef int code = RUNNING
        self.xi, self.t, self.record = xi, t, record
        self.n_segments = self.n_changes = self.n_events = self.idle = 0
        self.violation = self.overshoot = 0.0
        self.held = self.held_too = -1
        self.margin = 0.0 if t_end == INFINITY else END * (t_end - t)
        if t_end == 0.0:  # bounds may vanish here: multipliers far below them become bound at last
            reach = self.kmax * float(np.abs(self.lo1).sum() + np.abs(self.hi1).sum())
            self.margin = min(self.margin, END / reach) if reach > 0 else self.margin
        self.offer_index, self.offer_side = (np.zeros(3 * self.n, dtype=np.int32) for _ in range(2))
        self.offer_gap, self.offer_rate, self.offer_tie = (np.zeros(3 * self.n) for _ in range(3))
        self.seg_t, self.seg_b0, self.seg_b1, self.log_p0, self.log_p1 = (np.zeros(64) for _ in range(5))
        self.seg_ptr, self.seg_changes, self.log_elbow, self.change_index = (
            np.zeros(64, dtype=np.int32) for _ in range(4))
        self.change_state = np.zeros(64, dtype=np.int8)
        while code == RUNNING:
            self._reserve()
            if self.n_events >= max_events:
                code = CAPPED
                break
            with nogil:
                code = self._step(t_end)
            PyErr_CheckSignals()
        return STATUS[code]

    def log(self):
        """The segments: boundaries, intercepts, elbows with their coefficients, and the set changes before each."""
        cdef int s = self.n_segments, c = self.n_changes, size = self.seg_ptr[s]
        parts = {
            "t": (self.seg_t, s + 1), "b0": (self.seg_b0, s), "b1": (self.seg_b1, s), "ptr": (self.seg_ptr, s + 1),
            "elbow": (self.log_elbow, size), "p0": (self.log_p0, size), "p1": (self.log_p1, size),
            "changes": (self.seg_changes, s), "index": (self.change_index, c), "state": (self.change_state, c),
        }
        return {name: np.array(values[:count]) for name, (values, count) in parts.items()}

    def _reserve(self):
        """Room for one more event: two more elbow points, one segment, a change of every point on the elbow."""
        cdef int need = self.seg_ptr[self.n_segments] + self.m, size = 2 * <int> self.seg_t.shape[0]
        if self.m + 2 > self.L.shape[0] and self.L.shape[0] < self.n:
            self._grow_elbow(min(self.n, 2 * self.m + 2))
        if self.n_segments + 2 > self.seg_t.shape[0]:
            self.seg_t, self.seg_b0 = _extended(self.seg_t, size), _extended(self.seg_b0, size)
            self.seg_b1, self.seg_ptr = _extended(self.seg_b1, size), _extended(self.seg_ptr, size)
            self.seg_changes = _extended(self.seg_changes, size)
        if need > self.log_p0.shape[0]:
            self.log_p0 = _extended(self.log_p0, 2 * need)
            self.log_p1 = _extended(self.log_p1, 2 * need)
            self.log_elbow = _extended(self.log_elbow, 2 * need)
        if self.n_changes + self.m + 4 > self.change_index.shape[0]:
            size = 2 * <int> self.change_index.shape[0] + self.m
            self.change_index = _extended(self.change_index, size)
            self.change_state = _extended(self.change_state, size)

    # -- one event ------------------------------------------------------------------------------------------------

    cdef int _step(self, double t_end) noexcept nogil:
        """Across the present segment and the event at its end."""
        cdef double step
        self.n_events += 1
        if self.m == 0:
            return self._cross_empty(t_end)
        self._segment()
        self._measure()
        step = self._first_event()
        if self.violation > REFUSE or self.overshoot > OUTSIDE:
            return STALLED
        if self.t + step >= t_end - self.margin:
            self._advance(t_end)
            return FINISHED
        if step <= INSTANT * fabs(self.t):
            self.idle += 1
            step = 0.0
            if self.idle > 100 + 4 * self.n:
                return STALLED
        else:
            self.idle = 0
        self._choose()
        self._advance(self.t + step)
        if self.watch_flat and step > 0 and self._is_flat():
            return FLAT
        self.held = self.event_index
        self.held_too = -1
        if self.event_side != FREE:
            self._change(self.event_index, self.event_side)
            self._bind(self._position(self.event_index), self.event_side)
            return RUNNING
        self._free(self.event_index)
        return RUNNING

    cdef void _advance(self, double t) noexcept nogil:
        """Log the segment that ends at t, unless it has no length, and go there."""
        cdef int s = self.n_segments, at = self.seg_ptr[s], i
        if t > self.t and self.record:
            self.seg_t[s] = self.t
            self.seg_t[s + 1] = t
            self.seg_b0[s] = self.b0
            self.seg_b1[s] = self.b1
            self.seg_changes[s] = self.n_changes
            for i in range(self.m):
                self.log_elbow[at + i] = self.elbow[i]
                self.log_p0[at + i] = self.p0[i]
                self.log_p1[at + i] = self.p1[i]
            self.seg_ptr[s + 1] = at + self.m
            self.n_segments = s + 1
        self.t = t

    cdef void _change(self, int k, int state) noexcept nogil:
        if self.record:
            self.change_index[self.n_changes] = k
            self.change_state[self.n_changes] = state
            self.n_changes += 1

    cdef void _measure(self) noexcept nogil:
        """Scales of the slacks and the rounding noise of their slopes."""
        cdef int i
        cdef double sum_p = 0.0, top_p = 0.0, top_g = 0.0, top_u = 0.0, u
        self.size_r, self.size_u, self.size_h = 1.0, 0.0, 0.0
        for i in range(self.m):
            sum_p += fabs(self.p1[i])
            top_p = max(top_p, fabs(self.p1[i]), fabs(self.hi1[self.elbow[i]]), fabs(self.lo1[self.elbow[i]]))
            u = fabs(self.p0[i] + self.t * self.p1[i])
            top_u = max(top_u, u)
            self.size_h += self.kmax * u
        for i in range(self.n):
            if self.state[i] != FREE:
                u = fabs(self._bound0(i) + self.t * self._bound1(i))
                top_u = max(top_u, u)
                self.size_h += self.kmax * u
            top_g = max(top_g, fabs(self.g1[i]))
            self.size_r = max(self.size_r, fabs(self.F0[i] + self.t * self.F1[i]))
        for i in range(self.n):  # bounds far beyond every multiplier say nothing about its size
            self.size_u = max(self.size_u, min(self._upper(i) - self._lower(i), 2.0 * top_u))
        self.noise_r = NOISE * (top_g + fabs(self.b1) + self.kmax * sum_p)
        self.noise_u = NOISE * top_p

    cdef double _lower(self, int i) noexcept nogil:
        return self.lo0[i] + self.t * self.lo1[i]

    cdef double _upper(self, int i) noexcept nogil:
        return self.hi0[i] + self.t * self.hi1[i]

    cdef void _offer(self, int i, int side, double gap, double rate, double tie, double noise) noexcept nogil:
        """Consider the event at which a slack of index i, now `gap` and changing at `rate`, reaches zero."""
        cdef double wait
        if rate >= -noise:
            return
        if (i == self.held or i == self.held_too) and gap <= tie:
            gap = HOLD * tie
        wait = max(gap, 0.0) / -rate
        if (wait - self.first) * -rate > tie:
            return
        self.first = min(self.first, wait)
        self.offer_index[self.n_offers] = i
        self.offer_side[self.n_offers] = side
        self.offer_gap[self.n_offers] = gap
        self.offer_rate[self.n_offers] = rate
        self.offer_tie[self.n_offers] = tie
        self.n_offers += 1

    cdef double _first_event(self) noexcept nogil:
        """The shortest step to an event; `offer_*` hold all events that may tie with it."""
        cdef int i, k
        cdef double u, below, above, r
        cdef double tie_u = TIE_U * self.size_u, tie_r = TIE_R * self.size_r + ROUNDING * self.size_h
        self.first = INFINITY
        self.n_offers = 0
        for k in range(self.m):
            i = self.elbow[k]
            u = self.p0[k] + self.t * self.p1[k]
            below, above = u - self._lower(i), self._upper(i) - u
            self.overshoot = max(self.overshoot, -below / self.size_u, -above / self.size_u)
            self._offer(i, LO, below, self.p1[k] - self.lo1[i], tie_u, self.noise_u)
            self._offer(i, HI, above, self.hi1[i] - self.p1[k], tie_u, self.noise_u)
        for i in range(self.n):
            if self.state[i] != FREE:
                r = self.F0[i] + self.t * self.F1[i] if self.state[i] == LO else -self.F0[i] - self.t * self.F1[i]
                self.violation = max(self.violation, -r / (self.size_r + ROUNDING / TIE_R * self.size_h))
                self._offer(i, FREE, r, self.F1[i] if self.state[i] == LO else -self.F1[i], tie_r, self.noise_r)
        return self.first

    cdef void _choose(self) noexcept nogil:
        """Of the events at the first step, the one that comes first under the infinitesimal tilt q + eps xi."""
        cdef int e, n_ties = 0, k
        cdef double b2 = 0.0, order, best = INFINITY
        for e in range(self.n_offers):  # keep the ties only; the last offer that improved the step is among them
            if self.offer_gap[e] + self.first * self.offer_rate[e] <= self.offer_tie[e]:
                self.offer_index[n_ties] = self.offer_index[e]
                self.offer_side[n_ties] = self.offer_side[e]
                self.offer_rate[n_ties] = self.offer_rate[e]
                n_ties += 1
        self.event_index = self.offer_index[0]
        self.event_side = self.offer_side[0]
        if n_ties < 2:
            return
        for k in range(self.m):
            self.p2[k] = self.xi[self.elbow[k]]
        self._solve_bordered(&self.p2[0], 0.0, &b2)
        for e in range(n_ties):
            order = self._tilted(self.offer_index[e], self.offer_side[e], b2) / -self.offer_rate[e]
            if order < best:
                best = order
                self.event_index = self.offer_index[e]
                self.event_side = self.offer_side[e]

    cdef double _tilted(self, int i, int side, double b2) noexcept nogil:
        """The derivative of a slack with respect to eps."""
        cdef int k
        cdef double tilt = b2 - self.xi[i]
        if side != FREE:
            k = self._position(i)
            return self.p2[k] if side == LO else -self.p2[k]
        for k in range(self.m):
            tilt += self.columns[self.slot[k], i] * self.p2[k]
        return tilt if self.state[i] == LO else -tilt

    cdef int _position(self, int i) noexcept nogil:
        cdef int k = 0
        while self.elbow[k] != i:
            k += 1
        return k

    # -- degenerate places ----------------------------------------------------------------------------------------

    cdef void _free(self, int k) noexcept nogil:
        """Free k; while it depends on E, slide along the null vector (f stays) until E loses a point or k crosses.

        With phi_k = sum c_i phi_i, sum c = 1, moving u_k inwards by s and u_E by -s c changes nothing else.
        """
        cdef int i, pos, leaver, side = HI if self.state[k] == LO else LO, ld = <int> self.L.shape[1]
        cdef double inward = 1.0 if self.state[k] == LO else -1.0, left = self._upper(k) - self._lower(k), reach, room
        cdef double* c
        for pos in range(self.m):
            self.p2[pos] = self.p0[pos] + self.t * self.p1[pos]
        while not self._release(k):
            c = &self.L[self.m, 0]
            factor_backward(&self.L[0, 0], self.m, ld, c)
            leaver, reach = -1, left
            for pos in range(self.m):
                i = self.elbow[pos]
                room = self.p2[pos] - self._lower(i) if inward * c[pos] > 0 else self._upper(i) - self.p2[pos]
                if fabs(c[pos]) > 1e-9 and room < reach * fabs(c[pos]):
                    reach = max(room, 0.0) / fabs(c[pos])
                    leaver = pos
            if leaver < 0:
                self._shift(k, &self.columns[self.m, 0], -1.0)
                self.state[k] = side
                self._shift(k, &self.columns[self.m, 0], 1.0)
                self._change(k, side)
                return
            left -= reach
            for pos in range(self.m):  # the leaver's place is taken by the next
                self.p2[pos - (pos > leaver)] = self.p2[pos] - inward * reach * c[pos]
            self.held_too = self.elbow[leaver]
            self._change(self.held_too, LO if inward * c[leaver] > 0 else HI)
            self._leave(leaver, LO if inward * c[leaver] > 0 else HI)
        self._change(k, FREE)

    cdef int _extreme(self, int side, double t) noexcept nogil:
        """The bound point of `side` whose b-limit q - g binds first: the largest of LO, the smallest of HI (-1: none)."""
        cdef int i, found = -1
        cdef double sign = 1.0 if side == LO else -1.0, limit, best = -INFINITY
        for i in range(self.n):
            if self.state[i] == side:
                limit = sign * (self.q0[i] - self.g0[i] + t * (self.q1[i] - self.g1[i]))
                best = max(best, limit)
        for i in range(self.n):
            if self.state[i] == side:
                limit = sign * (self.q0[i] - self.g0[i] + t * (self.q1[i] - self.g1[i]))
                if limit >= best - TIE_R * max(1.0, fabs(best)) and (found < 0 or sign * (self.xi[i] - self.xi[found]) > 0):
                    found = i
        return found

    cdef int _cross_empty(self, double t_end) noexcept nogil:
        """Nobody is free. Bounds that do not balance need a new free point at once; else b is free for a while."""
        cdef int low, high, k
        cdef double total = 0.0, a, slope, until = t_end if t_end < 1e300 else 1e12
        for k in range(self.n):
            total += fabs(self._bound1(k))
        self.b0 = self.b1 = 0.0
        if fabs(self.S1) > 1e-12 * total:
            k = self._extreme(HI if self.S1 > 0 else LO, self.t)
            self.idle += 1
            self.held, self.held_too = k, -1
            if k < 0 or not self._enter(k):
                return STALLED
            self._change(k, FREE)
            return RUNNING
        for k in range(200):  # Newton's method from the right on the convex width of the b-interval
            low, high = self._extreme(LO, until), self._extreme(HI, until)
            if low < 0 or high < 0:
                break
            a = self.q0[low] - self.g0[low] - self.q0[high] + self.g0[high]
            slope = self.q1[low] - self.g1[low] - self.q1[high] + self.g1[high]
            if a + slope * until <= TIE_R:
                break
            until = max(self.t, -a / slope) if slope > 0 else self.t
            if until == self.t:
                low, high = self._extreme(LO, until), self._extreme(HI, until)
                break
        if low < 0 or high < 0 or until >= t_end - self.margin or until >= 1e12:
            self._advance(t_end)
            return FINISHED
        self._advance(until)
        self.held, self.held_too = low, high
        self.p0[0] = self._bound0(low)
        self.p1[0] = self._bound1(low)
        self._enter(low)  # alone on the elbow, it depends on nothing
        self._change(low, FREE)
        self._free(high)
        return RUNNING

    cdef bint _is_flat(self) noexcept nogil:
        """Is h constant over the points at the present t (u from the segment just left)?"""
        cdef int i
        cdef double f, low = INFINITY, high = -INFINITY, total = 0.0
        if fabs(self.b0 + self.t * self.b1 - self.flat_intercept) > 1e-6:  # never true for NaN
            return False
        for i in range(self.n):
            f = self.F0[i] + self.q0[i] + self.t * (self.F1[i] + self.q1[i])
            low = min(low, f)
            high = max(high, f)
            if self.state[i] != FREE:
                total += fabs(self._bound0(i) + self.t * self._bound1(i))
        for i in range(self.m):
            total += fabs(self.p0[i] + self.t * self.p1[i])
        return high - low <= min(LEVEL * total * self.kmax, LEVEL_SCORE)
