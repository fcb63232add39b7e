"""Is this commit slower than another one? Both are built beside each other and timed in turns on one machine.

A process per commit fits each of ``FITS`` once for warmth and then ``ROUNDS`` times; the processes take turns, so that
whatever else the machine does falls on both. The least of the times is compared: noise only adds. A fit whose ratio
exceeds ``LIMIT`` fails the run; fits that the other commit does not know are left out.
"""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROUNDS, LIMIT = 5, 1.3
FITS = """
import json, sys, time
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
import softmargin as sm
X, y = load_breast_cancer(return_X_y=True)
X = (X - X.mean(0)) / X.std(0)
D, d = load_digits(return_X_y=True)
M, m = make_moons(1500, noise=0.3, random_state=0)
rng = np.random.default_rng(0)
L = rng.normal(size=(20000, 30)); l = L[:, 0] + rng.logistic(size=20000) > 0
FITS = {
    "logistic": lambda: sm.MarginClassifier().fit(L, l),
    "lasso": lambda: sm.MarginClassifier(l1_ratio=1.0, C=0.1).fit(X, y),
    "hinge, linear": lambda: sm.MarginClassifier(loss="hinge").fit(X, y),
    "hinge, rbf": lambda: sm.MarginClassifier(loss="hinge", kernel="rbf").fit(M, m),
    "logistic, rbf": lambda: sm.MarginClassifier(kernel="rbf").fit(M, m),
    "bracketing": lambda: sm.ProbabilisticSVC(kernel="rbf").fit(M[:400], m[:400]),
    "robust": lambda: sm.RobustSVC().fit(X, y),
    "ten classes": lambda: sm.CompositeLeastSquaresClassifier().fit(D, d),
    "rules": lambda: sm.RuleBoostClassifier(n_rules=20).fit(X, y),
    "trees": lambda: sm.RuleBoostClassifier(learner="trees").fit(X, y),
    "truncated": lambda: sm.TruncatedLogisticRegression().fit(X, y),
    "truncated, rbf": lambda: sm.TruncatedLogisticRegression(kernel="rbf").fit(M[:400], m[:400]),
    "bounded": lambda: sm.BalancingSVC(balance=np.inf).fit(X, y),
    "reinforced": lambda: sm.MulticategorySVC().fit(D[:400], d[:400]),
    "composite, rbf": lambda: sm.CompositeLeastSquaresClassifier(kernel="rbf").fit(D[:400], d[:400]),
    "weight path": lambda: sm.paths.weight_path(M[:150], m[:150], kernel="rbf"),
    "cost path": lambda: sm.paths.cost_path(M[:150], m[:150], kernel="rbf"),
    "one row": lambda model=sm.MarginClassifier().fit(X, y): [model.predict(X[:1]) for _ in range(50)],
}
def known(fit):
    try:
        fit()
    except (AttributeError, TypeError):  # a commit that did not have it yet
        return False
    return True


FITS = {name: fit for name, fit in FITS.items() if known(fit)}
for _ in sys.stdin:  # a line is a turn
    times = {}
    for name, fit in FITS.items():
        start = time.perf_counter()
        fit()
        times[name] = time.perf_counter() - start
    print(json.dumps(times), flush=True)
"""


def build(tree: Path, name: str) -> Path:
    """Compile and install a tree; returns the directory that holds the package."""
    place, target = ROOT / "build" / f"regression-{name}", ROOT / "build" / f"regression-{name}-package"
    wipe = ["--wipe"] if place.is_dir() else []
    subprocess.run(["meson", "setup", *wipe, place, tree, f"--prefix={target}"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["meson", "install", "--quiet", "-C", place], check=True, stdout=subprocess.DEVNULL)
    return next(target.rglob("softmargin/__init__.py")).parent.parent


def start(package: Path) -> subprocess.Popen[str]:
    """A process that waits for its turns with the given package."""
    path = [str(package), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
    variables = os.environ | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(path)), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-S", "-W", "ignore", "-c", FITS]  # -S: the editable install stays out
    return subprocess.Popen(command, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def turn(process: subprocess.Popen[str]) -> dict[str, float]:
    """The times of one round."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def main() -> int:
    """Build both, take turns, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", help="a commit; by default the last tag")
    options = parser.parse_args()
    asked = ["git", "describe", "--tags", "--abbrev=0"]
    base = options.base or subprocess.run(asked, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    with tempfile.TemporaryDirectory() as tree:
        subprocess.run(f"git archive {base} | tar x -C {tree}", shell=True, cwd=ROOT, check=True)
        before = start(build(Path(tree), "base"))
        now = start(build(ROOT, "now"))
        rounds = [(turn(before), turn(now)) for _ in range(ROUNDS)]
    before.kill()
    now.kill()
    slower = []
    print(f"| fit | {base}, ms | now, ms | ratio |\n| --- | --- | --- | --- |")
    for name in (one for one in rounds[0][1] if one in rounds[0][0]):
        old, new = (min(one[side][name] for one in rounds) for side in (0, 1))
        print(f"| {name} | {1e3 * old:.1f} | {1e3 * new:.1f} | {new / old:.2f} |")
        slower += [name] if new > LIMIT * old else []
    if slower:
        print(f"slower by more than {LIMIT}: {', '.join(slower)}")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
