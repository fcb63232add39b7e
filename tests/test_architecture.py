"""The architecture page tells what is there: packages, rooms, and the files that each of its six calls runs through."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons

import softmargin
from softmargin import MarginClassifier, ProbabilisticSVC, RobustSVC, RuleBoostClassifier, TunedClassifier, paths

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="about the repository, which is not at hand")
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "softmargin"
X, Y = make_moons(60, noise=0.3, random_state=0)

CALLS = {
    'MarginClassifier(loss="logistic").fit(X, y)': lambda: MarginClassifier(loss="logistic").fit(X, Y).predict_proba(X),
    "RobustSVC().fit(X, y)": lambda: RobustSVC().fit(X, Y),
    "ProbabilisticSVC().predict_proba(X)": lambda: ProbabilisticSVC(kernel="rbf").fit(X, Y).predict_proba(X),
    "paths.weight_path(X, y)": lambda: paths.weight_path(X, Y, kernel="rbf").at(0.3),
    "RuleBoostClassifier().fit(table, y)": lambda: RuleBoostClassifier(n_rules=3).fit(X, Y).rules_,
    "TunedClassifier(MarginClassifier()).fit(X, y)": lambda: [
        TunedClassifier(MarginClassifier(), grid={"C": [0.1, 1.0]}, criterion=criterion).fit(X, Y)
        for criterion in ("alo", "aic")
    ],
}


def _visited(call):
    """The files of softmargin whose functions a call enters."""
    seen = set()
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, argument: seen.add(frame.f_code.co_filename))
    try:
        call()
    finally:
        sys.setprofile(before)
    home = Path(softmargin.__file__).resolve().parent
    paths_seen = (Path(name).resolve() for name in seen)
    return {path.relative_to(home).as_posix() for path in paths_seen if path.is_relative_to(home)}


@pytest.mark.parametrize("call", CALLS)
def test_a_call_runs_through_the_files_the_page_names(call):
    found = re.search(rf"\*\*`{re.escape(call)}`\.\*\*(.*?)(\n\n|\Z)", PAGE, re.DOTALL)
    assert found, f"the page does not tell of {call}"
    told = found.group(1).split("`AutoClassifier`")[0]  # what comes after is told of another call
    named = set(re.findall(r"`([\w/]+\.py)`", told))
    missed = named - _visited(CALLS[call])
    assert not missed, f"{call} does not run through {sorted(missed)}"


@pytest.mark.parametrize("document", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_package_is_told_of(document):
    text = (ROOT / document).read_text(encoding="utf-8")
    told = set(re.findall(r"`(\w+)(?:\.py)?`", text))
    packages = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}
    untold = {name for name in packages if not name.startswith("__")} - told
    assert not untold, f"{document} does not tell of {sorted(untold)}"


def test_every_room_of_the_solvers_is_told_of():
    rooms = {path.name for path in (SOURCE / "solvers").iterdir() if (path / "__init__.py").is_file()}
    table = PAGE[PAGE.index("## The rooms of `solvers`") : PAGE.index("## Six calls")]
    assert rooms == set(re.findall(r"^\| `(\w+)` \|", table, re.M))


def test_every_threshold_that_is_timed_says_so_where_it_stands():
    thresholds = pytest.importorskip("benchmarks.thresholds", reason="benchmarks are importable from the root only")
    for one in thresholds.THRESHOLDS:
        assert np.isfinite(one.value)
        homes = [ROOT / "src" / (one.module.replace(".", "/") + ".py"), SOURCE / "solvers" / "thresholds.py"]
        texts = [home.read_text(encoding="utf-8") for home in homes]  # the second is where shared ones stand
        line = re.compile(rf"^(?:[A-Z_]+, )*{one.name}\b.* = .*$", re.M)
        text, at = next((text, line.search(text)) for text in texts if line.search(text))
        near = text[max(0, at.start() - 400) : at.end()]
        assert "benchmarks thresholds" in near, f"{one.name} of {one.module} does not name what it rests on"
