"""Regression trees over binned features: grown leaf by leaf from histograms, applied to codes or to numbers.

Row ``i`` carries ``(g_i, h_i, c_i)``: minus the slope of its loss in the score, the curvature, and its weight. Adding
``d`` to the score of a set of rows changes the risk to second order by ``-G d + (H + ridge) d^2 / 2``, least at
``d = G / (H + ridge)``, so cutting a node in two gains

    G_l^2 / (H_l + ridge) + G_r^2 / (H_r + ridge) - G^2 / (H + ridge)      (halved).

The leaf of largest gain is split next. Codes are those of ``rules``: bins in order, categories, one code for unlisted
categories, one for missing values. A numeric split sends the first bins left and missing values to the better side; a
categorical one sorts the categories by ``G / (H + ridge)`` and cuts that order, which holds the best subset (Fisher 1958).
Histograms of the smaller child are summed, those of its sibling are the parent's minus it.

Gains closer than 1e-9 of each other tie, and ties go to the first feature and code: rounding does not pick a split.
"""

from libc.math cimport isnan
from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

__all__ = ["apply_codes", "grow", "score_trees"]

cdef enum:
    LANES = 4           # doubles per code of a histogram: g, h, c and one unused, so that a cell is two wide additions
    CODES = 256
    FIELDS = 5          # of a node: feature (-1 for a leaf), last code going left, 1 if missing goes left, left, right

cdef struct Limits:
    int max_leaves
    int max_depth
    double ridge
    double category_ridge
    double min_weight
    double min_gain

cdef struct Split:
    double gain
    int feature
    int code
    int missing_left
    uint64_t left[4]    # the codes that go left

cdef struct Node:
    Py_ssize_t first
    Py_ssize_t last
    int depth
    double total[LANES]
    double *hist
    Split split

cdef struct Data:
    const uint8_t *codes
    Py_ssize_t stride
    const double *values
    const int32_t *offsets
    const int32_t *layout
    const int32_t *columns
    int n_columns
    int32_t *rows
    int32_t *spare
    double *gathered


def grow(const uint8_t[:, ::1] codes, int32_t[::1] rows, const double[:, ::1] values, const int32_t[::1] offsets,
         const int32_t[:, ::1] layout, const int32_t[::1] columns, tuple limits, int32_t[:, ::1] nodes,
         uint64_t[:, ::1] masks):
    """Grow a tree on ``rows`` (permuted in place) of ``values`` (n, 4) = g, h, c, 0; returns the number of nodes.

    ``limits`` are (leaves, depth, ridge, ridge of categories, least weight of a leaf, least gain). ``nodes`` and
    ``masks`` have room for ``2 leaves - 1`` nodes: feature, last code left, side of missing values, children; and the
    codes that go left.
    """
    cdef Limits most
    cdef Data data
    cdef Node *tree
    cdef int j, k, count = 0
    cdef Py_ssize_t i, n = rows.shape[0]
    most.max_leaves, most.max_depth, most.ridge, most.category_ridge, most.min_weight, most.min_gain = limits
    if n == 0 or values.shape[1] != LANES or values.shape[0] != codes.shape[1] or most.max_leaves < 1:
        raise ValueError("a tree needs rows with four values each")
    if nodes.shape[0] < 2 * most.max_leaves - 1 or nodes.shape[1] != FIELDS or masks.shape[0] < nodes.shape[0]:
        raise ValueError("no room for the nodes")
    for i in range(n):
        if not 0 <= rows[i] < codes.shape[1]:
            raise ValueError(f"row {rows[i]} does not exist")
    for k in range(<int>columns.shape[0]):
        j = columns[k]
        if not 0 <= j < codes.shape[0] or offsets[j + 1] <= offsets[j]:
            raise ValueError(f"feature {j} has no room in the histogram")
    data.codes, data.stride, data.values = &codes[0, 0], codes.shape[1], &values[0, 0]
    data.offsets, data.layout = &offsets[0], &layout[0, 0]
    data.columns = &columns[0] if columns.shape[0] > 0 else NULL
    data.n_columns = <int>columns.shape[0]
    data.rows = &rows[0]
    data.spare = <int32_t *>malloc(n * sizeof(int32_t))
    data.gathered = <double *>malloc(n * LANES * sizeof(double))
    tree = <Node *>malloc((2 * most.max_leaves - 1) * sizeof(Node))
    if data.spare != NULL and data.gathered != NULL and tree != NULL:
        with nogil:
            count = _grow(&data, &most, tree, n, offsets[offsets.shape[0] - 1], &nodes[0, 0], &masks[0, 0])
    free(data.spare)
    free(data.gathered)
    free(tree)
    if count <= 0:
        raise MemoryError
    return count


cdef int _grow(Data *data, const Limits *most, Node *tree, Py_ssize_t n, int width, int32_t *nodes,
               uint64_t *masks) noexcept nogil:
    """The number of nodes, -1 when memory is short."""
    cdef int count = 1, leaves = 1, best, k, failed = 0
    cdef Py_ssize_t middle
    cdef Node *parent
    tree[0].first, tree[0].last, tree[0].depth = 0, n, 0
    failed = _sum(data, &tree[0], width)
    if not failed:
        _total(data, &tree[0])
        _best_split(data, most, &tree[0])
    _leaf(nodes)
    while leaves < most.max_leaves and not failed:
        best = -1
        for k in range(count):
            if nodes[FIELDS * k] < 0 and tree[k].split.feature >= 0 and tree[k].depth < most.max_depth:
                if best < 0 or tree[k].split.gain > tree[best].split.gain * (1 + 1e-9):
                    best = k
        if best < 0:
            break
        parent = &tree[best]
        middle = _partition(data, parent)
        _write(parent, count, nodes + FIELDS * best, masks + 4 * best)
        _child(parent, &tree[count], parent.first, middle)
        _child(parent, &tree[count + 1], middle, parent.last)
        _leaf(nodes + FIELDS * count)
        _leaf(nodes + FIELDS * (count + 1))
        leaves += 1
        if leaves < most.max_leaves and parent.depth + 1 < most.max_depth:
            failed = _sum_children(data, parent, &tree[count], &tree[count + 1], width)
            if not failed:
                _best_split(data, most, &tree[count])
                _best_split(data, most, &tree[count + 1])
        count += 2
    for k in range(count):
        free(tree[k].hist)
    return -1 if failed else count


cdef void _leaf(int32_t *node) noexcept nogil:
    node[0] = node[3] = node[4] = -1
    node[1] = node[2] = 0


cdef void _write(const Node *node, int left, int32_t *out, uint64_t *mask) noexcept nogil:
    out[0], out[1], out[2] = node.split.feature, node.split.code, node.split.missing_left
    out[3], out[4] = left, left + 1
    memcpy(mask, node.split.left, 4 * sizeof(uint64_t))


cdef void _child(const Node *parent, Node *child, Py_ssize_t first, Py_ssize_t last) noexcept nogil:
    child.first, child.last, child.depth = first, last, parent.depth + 1
    child.hist = NULL
    child.split.feature, child.split.gain = -1, 0


cdef inline bint _goes_left(const uint64_t *mask, int code) noexcept nogil:
    return (mask[code >> 6] >> (code & 63)) & 1


cdef Py_ssize_t _partition(Data *data, const Node *node) noexcept nogil:
    """Put the rows going left first, in their order; returns where the others start."""
    cdef uint8_t flags[CODES]
    cdef const uint8_t *codes = data.codes + node.split.feature * data.stride
    cdef Py_ssize_t i, left = node.first, right = 0
    cdef int k
    for k in range(CODES):
        flags[k] = _goes_left(node.split.left, k)
    for i in range(node.first, node.last):
        k = flags[codes[data.rows[i]]]
        data.spare[right] = data.rows[i]
        data.rows[left] = data.rows[i]
        left += k
        right += 1 - k
    memcpy(data.rows + left, data.spare, right * sizeof(int32_t))
    return left


cdef int _sum(Data *data, Node *node, int width) noexcept nogil:
    """The histogram of a node from its rows."""
    cdef Py_ssize_t i, n = node.last - node.first
    cdef const int32_t *rows = data.rows + node.first
    cdef const uint8_t *codes
    cdef const double *v
    cdef double *hist, *cell
    cdef int k
    node.hist = <double *>malloc(<size_t>(width if width > 0 else 1) * LANES * sizeof(double))
    if node.hist == NULL:
        return 1
    for i in range(n):
        memcpy(data.gathered + LANES * i, data.values + LANES * <Py_ssize_t>rows[i], LANES * sizeof(double))
    for k in range(data.n_columns):
        codes = data.codes + data.columns[k] * data.stride
        hist = node.hist + LANES * <Py_ssize_t>data.offsets[data.columns[k]]
        memset(hist, 0, LANES * (data.offsets[data.columns[k] + 1] - data.offsets[data.columns[k]]) * sizeof(double))
        v = data.gathered
        for i in range(n):
            cell = hist + LANES * <Py_ssize_t>codes[rows[i]]
            cell[0] += v[0]
            cell[1] += v[1]
            cell[2] += v[2]
            cell[3] += v[3]
            v += LANES
    return 0


cdef void _total(Data *data, Node *node) noexcept nogil:
    cdef Py_ssize_t i
    cdef int lane
    for lane in range(LANES):
        node.total[lane] = 0
    for i in range(node.last - node.first):
        for lane in range(LANES):
            node.total[lane] += data.gathered[LANES * i + lane]


cdef int _sum_children(Data *data, Node *parent, Node *left, Node *right, int width) noexcept nogil:
    """Histograms and totals of two children; the larger one takes over the parent's memory."""
    cdef Node *small = left if left.last - left.first <= right.last - right.first else right
    cdef Node *large = right if small == left else left
    cdef double *whole, *part
    cdef int k, lane
    cdef Py_ssize_t i
    if _sum(data, small, width):
        return 1
    _total(data, small)
    for lane in range(LANES):
        large.total[lane] = parent.total[lane] - small.total[lane]
    large.hist = parent.hist
    parent.hist = NULL
    for k in range(data.n_columns):
        whole = large.hist + LANES * <Py_ssize_t>data.offsets[data.columns[k]]
        part = small.hist + LANES * <Py_ssize_t>data.offsets[data.columns[k]]
        for i in range(LANES * (data.offsets[data.columns[k] + 1] - data.offsets[data.columns[k]])):
            whole[i] -= part[i]
    return 0


cdef inline double _gain(const double *part, const double *total, double ridge) noexcept nogil:
    cdef double g = total[0] - part[0], h = total[1] - part[1]
    return part[0] * part[0] / (part[1] + ridge) + g * g / (h + ridge)


cdef void _best_split(const Data *data, const Limits *most, Node *node) noexcept nogil:
    cdef int k, j
    cdef double stay = node.total[0] * node.total[0] / (node.total[1] + most.ridge)
    cdef const double *hist
    node.split.feature = -1
    node.split.gain = most.min_gain
    if node.total[2] < 2 * most.min_weight:
        return
    for k in range(data.n_columns):
        j = data.columns[k]
        hist = node.hist + LANES * <Py_ssize_t>data.offsets[j]
        if data.layout[4 * j + 2]:
            _cut_categories(hist, data.layout + 4 * j, most, j, stay, node)
        else:
            _cut_numbers(hist, data.layout + 4 * j, most, j, stay, node)


cdef inline bint _offer(Node *node, int feature, double gain) noexcept nogil:
    if gain <= node.split.gain * (1 + 1e-9) or not gain > 0:
        return False
    node.split.gain = gain
    node.split.feature = feature
    return True


cdef void _cut_numbers(const double *hist, const int32_t *layout, const Limits *most, int j, double stay,
                       Node *node) noexcept nogil:
    cdef int v, lane, side, n_values = layout[0], missing = layout[3]
    cdef double part[LANES]
    cdef double gain
    for side in range(2 if missing >= 0 else 1):        # missing values right, then left
        for lane in range(LANES):
            part[lane] = hist[LANES * missing + lane] if side == 1 else 0
        for v in range(n_values if missing >= 0 and side == 0 else n_values - 1):
            for lane in range(LANES):
                part[lane] += hist[LANES * v + lane]
            if part[2] < most.min_weight:
                continue
            if node.total[2] - part[2] < most.min_weight:
                break
            gain = _gain(part, node.total, most.ridge) - stay
            if _offer(node, j, gain):
                node.split.code = v
                node.split.missing_left = side if missing >= 0 else 2 * part[2] > node.total[2]
                _prefix(node.split.left, v, missing if side == 1 else -1)


cdef void _prefix(uint64_t *mask, int last, int extra) noexcept nogil:
    """The codes up to ``last``, and ``extra`` if it is not negative."""
    cdef int v
    memset(mask, 0, 4 * sizeof(uint64_t))
    for v in range(last + 1):
        mask[v >> 6] |= <uint64_t>1 << (v & 63)
    if extra >= 0:
        mask[extra >> 6] |= <uint64_t>1 << (extra & 63)


cdef void _cut_categories(const double *hist, const int32_t *layout, const Limits *most, int j, double stay,
                          Node *node) noexcept nogil:
    cdef int order[CODES]
    cdef double key[CODES]
    cdef double part[LANES]
    cdef int v, k, lane, count = 0, width = layout[0] + layout[1] + (layout[3] >= 0), missing = layout[3]
    for v in range(width):
        if hist[LANES * v + 2] > 0.5 * 1e-9 * node.total[2]:    # subtraction leaves rounding in empty cells
            key[v] = hist[LANES * v] / (hist[LANES * v + 1] + most.category_ridge)
            k = count
            while k > 0 and key[order[k - 1]] > key[v]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = v
            count += 1
    for lane in range(LANES):
        part[lane] = 0
    for k in range(count - 1):
        for lane in range(LANES):
            part[lane] += hist[LANES * order[k] + lane]
        if part[2] < most.min_weight:
            continue
        if node.total[2] - part[2] < most.min_weight:
            break
        if _offer(node, j, _gain(part, node.total, most.category_ridge) - stay):
            memset(node.split.left, 0, 4 * sizeof(uint64_t))
            for v in range(k + 1):
                node.split.left[order[v] >> 6] |= <uint64_t>1 << (order[v] & 63)
            node.split.code = 0
            node.split.missing_left = (_goes_left(node.split.left, missing) if missing >= 0 and
                                       hist[LANES * missing + 2] > 0 else 2 * part[2] > node.total[2])


def apply_codes(const uint8_t[:, ::1] codes, const int32_t[:, ::1] nodes, const uint64_t[:, ::1] masks,
                int32_t[::1] leaf):
    """The node in which every row ends, from its codes."""
    cdef Py_ssize_t i, n = codes.shape[1]
    cdef int k
    with nogil:
        for i in range(n):
            k = 0
            while nodes[k, 0] >= 0:
                k = nodes[k, 3] if _goes_left(&masks[k, 0], codes[nodes[k, 0], i]) else nodes[k, 4]
            leaf[i] = k


def score_trees(const double[:, :] X, const int32_t[:, ::1] nodes, const double[::1] thresholds,
                const uint64_t[:, ::1] masks, const double[::1] values, const int32_t[:, ::1] roots, double[:, ::1] out):
    """Add the value of every tree's leaf to ``out[:, channel]``; ``roots`` are (first node, channel) of each tree.

    A node compares ``x <= threshold``, or where the threshold is NaN looks up the category ``x``; NaN goes the way of
    missing values. Children follow their parents, so that no file can make a row go round for ever.
    """
    cdef Py_ssize_t i, t, n = X.shape[0]
    cdef int k, code
    cdef double x
    cdef bint left
    _check_trees(X.shape[1], nodes, thresholds, masks, values, roots, out, n)
    with nogil:
        for i in range(n):
            for t in range(roots.shape[0]):
                k = roots[t, 0]
                while nodes[k, 0] >= 0:
                    x = X[i, nodes[k, 0]]
                    if isnan(x):
                        left = nodes[k, 2] != 0
                    elif isnan(thresholds[k]):
                        code = <int>x if 0 <= x < CODES else -1
                        left = _goes_left(&masks[k, 0], code) if code >= 0 else nodes[k, 2] != 0
                    else:
                        left = x <= thresholds[k]
                    k = nodes[k, 3] if left else nodes[k, 4]
                out[i, roots[t, 1]] += values[k]


cdef _check_trees(Py_ssize_t d, const int32_t[:, ::1] nodes, const double[::1] thresholds,
                  const uint64_t[:, ::1] masks, const double[::1] values, const int32_t[:, ::1] roots,
                  double[:, ::1] out, Py_ssize_t n):
    """Refuse indexes outside their arrays and children before their parents: trees may come from files."""
    cdef Py_ssize_t k, count = nodes.shape[0]
    cdef bint sound = (nodes.shape[1] == FIELDS and thresholds.shape[0] == count and masks.shape[0] == count and
                       masks.shape[1] == 4 and values.shape[0] == count and roots.shape[1] == 2 and out.shape[0] == n)
    for k in range(count if sound else 0):
        if nodes[k, 0] >= 0:
            sound = sound and nodes[k, 0] < d and k < nodes[k, 3] < count and k < nodes[k, 4] < count
    for k in range(roots.shape[0] if sound else 0):
        sound = sound and 0 <= roots[k, 0] < count and 0 <= roots[k, 1] < out.shape[1]
    if not sound:
        raise ValueError("the nodes of the trees do not fit together")
