"""Landmark features that are never held: blocks of similarities answer every pass as the features themselves do."""

import pickle
import time
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from softmargin.expansions import DenseFeatures, Kernel, NystroemFeatures, Response, memory
from softmargin.expansions.landmarks import LandmarkBasis, features

RNG = np.random.default_rng(0)
X, RBF = RNG.normal(size=(500, 3)), Kernel("rbf", gamma=0.4)
CHOSEN = np.arange(0, 500, 12)


@pytest.fixture
def scarce(monkeypatch):
    """No room for features, and blocks of a few rows."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 330_000)
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(features, "_BLOCK_BYTES", 1 << 14)


def whole(rows=X):
    """The features themselves."""
    return DenseFeatures(LandmarkBasis.of(RBF, X[CHOSEN])[0].features(rbf_kernel(rows, X[CHOSEN], gamma=0.4)))


def bent(scores, y):
    return Response(y * np.tanh(scores), float(np.abs(scores).sum()), 1 / (1 + scores**2))


def straight(scores, y):
    return bent(scores, y)._replace(curvature=None)


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_blocks_answer_passes_as_the_features_do(kind):
    blocks, held = NystroemFeatures(kind(X), RBF, CHOSEN), whole()
    assert not blocks.is_resident
    beta, y = RNG.normal(size=blocks.shape[1]), RNG.choice([-1.0, 1.0], size=500)
    np.testing.assert_allclose(blocks.apply(beta), held.apply(beta), atol=1e-9)
    np.testing.assert_allclose(blocks.transpose(y), held.transpose(y), atol=1e-9)
    for term in (straight, bent):
        for ours, theirs in zip(blocks.sweep(beta, term, (y,)), held.sweep(beta, term, (y,)), strict=True):
            assert (ours is None) == (theirs is None)
            if ours is not None:
                np.testing.assert_allclose(ours, theirs, atol=1e-8)
    for ours, theirs in zip(blocks.moments(np.abs(y)), held.moments(np.abs(y)), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


@pytest.mark.parametrize("columns", [1, 2, 7])
def test_several_coefficient_vectors_share_a_pass(columns):
    blocks, held = NystroemFeatures(X, RBF, CHOSEN), whole()
    beta, y = RNG.normal(size=(blocks.shape[1], columns)), RNG.normal(size=500)

    def term(scores, y):
        return scores * y[:, None], (scores.sum(axis=0),)

    for ours, theirs in zip(
        blocks.sweep_many(beta, term, (y,)).parts, held.sweep_many(beta, term, (y,)).parts, strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-8)


def test_similarities_that_are_kept_answer_as_those_that_are_not(monkeypatch):
    kept = NystroemFeatures(X, RBF, CHOSEN)
    kept.n_threads = 2
    beta = RNG.normal(size=kept.shape[1])
    first = kept.apply(beta)
    assert kept._blocks_kept
    np.testing.assert_array_equal(kept.apply(beta), first)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kept)).apply(beta), first)
    monkeypatch.setattr(memory, "_SMALL", 0)
    monkeypatch.setattr(features, "_KEPT", 0.0)
    np.testing.assert_array_equal(NystroemFeatures(X, RBF, CHOSEN).apply(beta), first)


def test_landmarks_that_repeat_others_are_left_out():
    rows = np.concatenate([X[:20], X[:20] + 1e-10, X[5:6]])
    basis, kept = LandmarkBasis.of(RBF, rows)
    assert len(kept) == len(basis) == 20
    np.testing.assert_array_equal(basis.landmarks, rows[kept])
    K = rbf_kernel(X, rows[:20], gamma=0.4)
    expected = K @ np.linalg.solve(rbf_kernel(rows[:20], gamma=0.4), K.T)
    Phi = basis.features(rbf_kernel(X, basis.landmarks, gamma=0.4))
    np.testing.assert_allclose(Phi @ Phi.T, expected, atol=1e-7)


def test_rounding_of_single_precision_is_no_indefinite_kernel():
    close = (1 + 1e-3 * RNG.normal(size=(300, 2))).astype(np.float32)
    _, kept = LandmarkBasis.of(Kernel("rbf", gamma=1.0), np.concatenate([close, X[:100, :2].astype(np.float32)]))
    assert 0 < len(kept) < 400
    with pytest.raises(ValueError, match="indefinite"):
        LandmarkBasis.of(Kernel("precomputed"), np.arange(2), np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_landmarks_similar_to_nothing_make_one_feature_that_is_zero():
    basis, kept = LandmarkBasis.of(Kernel("linear"), np.zeros((4, 2)))
    assert len(kept) == 1
    assert not np.any(basis.features(np.zeros((3, 1))))


@pytest.mark.usefixtures("scarce")
def test_passes_take_memory_for_blocks_alone():
    rows = RNG.normal(size=(20_000, 3))
    blocks = NystroemFeatures(rows, RBF, np.arange(200))
    beta, y = np.ones(200), np.ones(20_000)
    tracemalloc.start()
    blocks.sweep(beta, bent, (y,))
    blocks.sweep_many(np.ones((200, 2)), lambda s, y: (s[:, :1], (y.sum(),)), (y,))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000 * 200 * 8 / 4
    with pytest.raises(MemoryError, match="20000 x 200 matrix of landmark features"):
        blocks.columns(np.arange(200))


def test_threads_that_begin_together_keep_their_similarities_in_one_place(monkeypatch):
    fits = memory.fits

    def slowly(*arguments):
        time.sleep(0.02)  # long enough for the other thread to ask the same
        return fits(*arguments)

    monkeypatch.setattr(memory, "fits", slowly)
    blocks = features.LandmarkFeatures(X, LandmarkBasis.of(RBF, X[CHOSEN])[0], n_threads=2)
    beta = RNG.normal(size=blocks.shape[1])
    for _ in range(2):  # made by the first pass, read by the second
        np.testing.assert_allclose(blocks.apply(beta), whole().apply(beta), rtol=1e-9, atol=1e-9)
