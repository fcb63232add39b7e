"""A matrix of all pairs of rows is refused before it is allocated where memory is short."""

import numpy as np
import pytest
from scipy import sparse

from softmargin import CompositeLeastSquaresClassifier, MarginClassifier, RobustSVC
from softmargin.expansions import expand, memory
from softmargin.expansions.kernels import Kernel

X, Y = np.random.default_rng(0).normal(size=(300, 2)), np.arange(300) % 2


@pytest.fixture
def scarce(monkeypatch):
    """Room for 200 kB, and everything asks."""
    monkeypatch.setattr(memory, "available_bytes", lambda: 200_000)
    monkeypatch.setattr(memory, "_SMALL", 0)


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize(
    "model",
    [MarginClassifier(kernel="rbf"), CompositeLeastSquaresClassifier(kernel="poly"), RobustSVC(kernel="matern")],
    ids=repr,
)
def test_kernel_fits_name_the_size_and_the_remedy(model):
    with pytest.raises(MemoryError, match=r"300 x 300 matrix.*takes 0\.0 GiB.*n_components"):
        model.fit(X, Y)
    assert model.set_params(n_components=20).fit(X, Y).score(X, Y) > 0


@pytest.mark.usefixtures("scarce")
def test_inner_products_of_features_ask_as_well():
    for rows in (X, sparse.csr_matrix(X)):
        with pytest.raises(MemoryError, match="300 x 300"):
            expand(rows).outer()
    assert expand(X[:100], Kernel("rbf")).outer().shape == (100, 100)


def test_the_least_limit_counts(tmp_path, monkeypatch):
    info = tmp_path / "meminfo"
    info.write_text("MemTotal: 9000 kB\nMemAvailable:   5000 kB\n")
    monkeypatch.setattr(memory, "_MEMINFO", info)
    monkeypatch.setattr(memory, "_GROUPS", ())
    monkeypatch.setattr(memory, "_address_space", lambda: None)
    assert memory.available_bytes() == 5000 * 1024
    for name, text in (("max", "3000000"), ("current", "2500000"), ("stat", "file 9\ninactive_file 400000\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    monkeypatch.setattr(memory, "_GROUPS", ((tmp_path, "memory.max", "memory.current", "inactive_file"),))
    assert memory.available_bytes() == 900_000
    (tmp_path / "memory.max").write_text("max")
    assert memory.available_bytes() == 5000 * 1024
    info.unlink()
    assert memory.available_bytes() is None or memory.available_bytes() > 5000 * 1024


def test_this_machine_says_something_plausible():
    found = memory.available_bytes()
    assert found is None or 0 <= found < 2**50
