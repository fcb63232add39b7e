"""A model comes back from its file with the same answers to the last bit; what cannot come back is refused at save."""

import hashlib
import json
import os
import pathlib
import pickle
import zipfile

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier
from tests.files import models

import softmargin as sm
from softmargin import losses


@pytest.mark.parametrize("name", models.MAKERS)
def test_every_model_answers_as_before_to_the_last_bit(name, tmp_path):
    model = models.make(name)
    sm.save(model, tmp_path / "model.softmargin")
    again = sm.load(tmp_path / "model.softmargin")
    assert type(again) is type(model)
    for before, after in zip(
        models.answers(model, models.inputs(name)), models.answers(again, models.inputs(name)), strict=True
    ):
        assert before.dtype == after.dtype
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("n", [8, 40])
@pytest.mark.parametrize("make", [sm.CompositeMarginClassifier, sm.MulticategorySVC, sm.TruncatedSoftmaxClassifier])
def test_the_order_in_memory_that_a_solver_leaves_is_not_what_answers(make, n, tmp_path):
    X = np.random.default_rng(0).normal(size=(n, 3))
    for classes in (2, 3):
        model = make(fit_intercept=False).fit(X, np.arange(n) % classes)
        sm.save(model, tmp_path / "model")
        np.testing.assert_array_equal(sm.load(tmp_path / "model").decision_function(X), model.decision_function(X))


def test_a_loaded_model_can_be_fitted_again(tmp_path):
    sm.save(models.make("calibrated"), tmp_path / "model")
    again = sm.load(tmp_path / "model").fit(models.X, models.NAMES)
    np.testing.assert_array_equal(again.predict(models.X), models.make("calibrated").predict(models.X))


def test_equal_models_make_equal_files(tmp_path):
    for file in ("one", "two"):
        sm.save(models.make("table"), tmp_path / file)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_an_unfitted_model_is_a_model_without_answers(tmp_path):
    sm.save(sm.RobustSVC(sigma=2.0), tmp_path / "model")
    again = sm.load(tmp_path / "model")
    assert again.sigma == 2.0
    with pytest.raises(NotFittedError):
        again.predict(models.X)


def test_a_file_is_not_much_larger_than_its_arrays(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 100))
    model = sm.MarginClassifier(kernel="rbf").fit(X, X[:, 0] > 0)
    sm.save(model, tmp_path / "model")
    assert (tmp_path / "model").stat().st_size <= 1.2 * (X.nbytes + 8 * 300)


def test_shared_arrays_are_stored_once(tmp_path):
    model = sm.MarginClassifier().fit(models.X, models.SIGN)
    model.first_, model.second_ = (lambda big: (big, big))(np.random.default_rng(0).normal(size=10_000))
    sm.save(model, tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < 1.5 * model.first_.nbytes
    again = sm.load(tmp_path / "model")
    assert again.first_ is again.second_


class Own(sm.MarginClassifier):
    """A class that no file may name."""


@pytest.mark.parametrize(
    ("build", "named"),
    [
        (lambda: sm.MarginClassifier(loss=losses.make_loss(lambda u: np.logaddexp(0, -u))), "lambda"),
        (lambda: make_pipeline(FunctionTransformer(lambda X: X), sm.MarginClassifier()), "lambda"),
        (lambda: sm.MarginClassifier(kernel=lambda A, B: A @ B.T), "lambda"),
        (lambda: Own(), "Own"),
        (lambda: sm.ScoreCalibrator(DecisionTreeClassifier()).set_params(cv="prefit"), "Tree"),
    ],
    ids=["loss", "step", "kernel", "class", "tree"],
)
def test_what_cannot_be_read_back_is_refused_when_saving(build, named, tmp_path):
    model = build()
    if "cv" in model.get_params(deep=False) and not hasattr(model.estimator, "tree_"):
        model.estimator.fit(models.X, models.SIGN)
    (tmp_path / "model").write_bytes(b"before")
    with pytest.raises(TypeError, match=named):
        sm.save(model, tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["model"]


def test_own_code_is_named_by_import_path_and_needs_consent(tmp_path):
    loss = losses.make_loss(models.decreasing, name="mine")
    model = sm.MarginClassifier(loss=loss).fit(models.X, models.SIGN)
    sm.save(model, tmp_path / "model")
    with pytest.raises(sm.InvalidModelFile, match=r"trusted=\['tests.files.models:decreasing'\]"):
        sm.load(tmp_path / "model")
    again = sm.load(tmp_path / "model", trusted=["tests.files.models:decreasing"])
    np.testing.assert_array_equal(again.decision_function(models.X), model.decision_function(models.X))


def rewritten(source, target, change):
    """A file whose parts were changed by someone who knows how to make every digest right."""
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    change(manifest, members)
    for name, content in members.items():
        manifest["members"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["members"] = {name: manifest["members"][name] for name in members}
    text = json.dumps(manifest).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", text)
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = hashlib.sha256(text).hexdigest().encode()
    return target


def test_a_newer_file_says_so(tmp_path):
    sm.save(models.make("RobustSVC linear"), tmp_path / "model")

    def later(manifest, members):
        manifest["format"] = 99
        manifest["versions"]["softmargin"] = "7.0"

    with pytest.raises(sm.InvalidModelFile, match=r"format 99 .* softmargin 7\.0.*Upgrade"):
        sm.load(rewritten(tmp_path / "model", tmp_path / "later", later))


def test_missing_files_and_directories_keep_their_own_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        sm.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="does not exist"):
        sm.save(models.make("RobustSVC linear"), tmp_path / "nowhere" / "model")
    with pytest.raises(IsADirectoryError, match="directory"):
        sm.save(models.make("RobustSVC linear"), tmp_path)


def test_pickles_and_other_files_are_no_models(tmp_path):
    (tmp_path / "pickle").write_bytes(pickle.dumps(models.make("RobustSVC linear")))
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "text").write_text("a,b\n1,2\n")
    with zipfile.ZipFile(tmp_path / "zip", "w") as archive:
        archive.writestr("a.txt", "a")
    for file in ("pickle", "empty", "text", "zip"):
        with pytest.raises(sm.InvalidModelFile):
            sm.load(tmp_path / file)


GOLDEN = pathlib.Path(__file__).parent / "golden"


@pytest.mark.parametrize(
    "file", sorted(GOLDEN.glob("*/*.softmargin")), ids=lambda file: f"{file.parent.name}/{file.stem}"
)
def test_files_of_every_release_still_answer(file):
    """``python -m tests.files.golden`` writes those of a release, with the answers given then."""
    model = sm.load(file)
    expected = np.load(file.with_suffix(".npz"), allow_pickle=False)
    found = models.answers(model, models.inputs(file.stem))
    for number, after in enumerate(found):
        before = expected[f"arr_{number}"]
        if before.dtype.kind == "f":
            np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-9)
        else:
            np.testing.assert_array_equal(after, before)


@pytest.mark.parametrize(
    "change",
    [{"max_bytes": "x"}, {"max_bytes": -1}, {"max_bytes": np.nan}, {"trusted": "x"}, {"trusted": 3}, {"path": 3}],
)
def test_a_wrong_argument_is_no_damage_of_the_file(tmp_path, change):
    sm.save(sm.MarginClassifier().fit(models.X, models.SIGN), tmp_path / "model")
    with pytest.raises(ValueError, match=f"{next(iter(change))} must be") as error:
        sm.load(**({"path": tmp_path / "model"} | change))
    assert not isinstance(error.value, sm.InvalidModelFile)
