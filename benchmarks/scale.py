"""Past one memory, past one machine: chunked Parquet files and Dask against one read of the file and fits in memory.

The data are drawn on the spot: 50 correlated columns, labels from a logistic model. Every fit runs in a process of its
own, whose peak memory is what the operating system saw, less what the imports take.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._harness import Absent, markdown_table, table

_PIECE = 500_000
_SIZES = {False: (10_000_000, 50), True: (200_000, 50)}
_LANDMARKS = {False: (1_000_000, 20, 2000), True: (20_000, 20, 200)}


def write_parquet(folder: Path, n_rows: int, n_columns: int) -> str:
    """Files of half a million rows each."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    mixing = np.eye(n_columns) + 0.3 * rng.normal(size=(n_columns, n_columns)) / np.sqrt(n_columns)
    coef = rng.normal(size=n_columns) / np.sqrt(n_columns)
    for number, first in enumerate(range(0, n_rows, _PIECE)):
        X = rng.normal(size=(min(_PIECE, n_rows - first), n_columns)) @ mixing
        y = X @ coef + rng.logistic(size=len(X)) > 0
        columns = {f"x{j}": X[:, j] for j in range(n_columns)} | {"y": y.astype(np.int8)}
        pq.write_table(pa.table(columns), folder / f"{number:04d}.parquet", row_group_size=1 << 17)
    return str(folder)


_READ = """
import pyarrow.dataset as ds
rows = sum(batch.num_rows for batch in ds.dataset(path).to_batches(batch_readahead=4, fragment_readahead=1))
"""
_CHUNKED = """
from softmargin import MarginClassifier, chunks
X, y = chunks.from_parquet(path, target="y")
model = MarginClassifier().fit(X, y)
extra = {"objective": model.solution_.objective, "gap": model.solution_.gap, "steps": model.solution_.n_iter}
"""
_TABLE = """
import numpy as np, pyarrow.dataset as ds
table = ds.dataset(path).to_table()
y = table["y"].to_numpy()
X = np.column_stack([table[name].to_numpy() for name in table.column_names if name != "y"])
del table
"""
_MEMORY = f"""{_TABLE}
from softmargin import MarginClassifier
start = time.perf_counter()
model = MarginClassifier().fit(X, y)
extra = {{"objective": model.solution_.objective, "gap": model.solution_.gap, "steps": model.solution_.n_iter}}
"""
_SGD = """
import numpy as np, pyarrow.dataset as ds
from sklearn.linear_model import SGDClassifier
model = SGDClassifier(loss="log_loss", alpha=1 / n, learning_rate="invscaling", eta0=0.1, average=True, random_state=0)

def parts():
    for batch in ds.dataset(path).to_batches(batch_size=1 << 16):
        names = [name for name in batch.schema.names if name != "y"]
        yield np.column_stack([batch[name].to_numpy() for name in names]), batch["y"].to_numpy()

def objective():
    scored = ((X @ model.coef_[0] + model.intercept_[0], y) for X, y in parts())
    cost = sum(np.logaddexp(0, np.where(y == 1, -f, f)).sum() for f, y in scored)
    return float(cost + 0.5 * model.coef_[0] @ model.coef_[0])

seconds = 0.0
for epoch in range(epochs):
    start = time.perf_counter()
    for X, y in parts():
        model.partial_fit(X, y, classes=[0, 1])
    seconds += time.perf_counter() - start
extra = {"objective": objective(), "seconds": seconds}
"""
_CLUSTER = """
import dask, dask.array as da, numpy as np
from distributed import Client, LocalCluster
from softmargin import MarginClassifier

def block(seed, rows, columns):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return np.column_stack([X, X[:, 0] + rng.logistic(size=rows) > 0])

def fit_all():
    rows = n // partitions
    parts = [da.from_delayed(dask.delayed(block)(k, rows, p), (rows, p + 1), float) for k in range(partitions)]
    both = da.concatenate(parts).persist()
    len(both[:, 0].compute())
    return fitted(both[:, :p], both[:, p])

if __name__ == "__main__":
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        with Client(cluster):
            extra = fit_all()
"""
_DASK = f"""
def fitted(X, y):
    start = time.perf_counter()
    model = MarginClassifier().fit(X, y)
    return {{"seconds": time.perf_counter() - start, "objective": model.solution_.objective}}
{_CLUSTER}
"""
_DASK_ML = f"""
from dask_ml.linear_model import LogisticRegression

def fitted(X, y):
    start = time.perf_counter()
    model = LogisticRegression(solver=solver, C=1.0).fit(X, y)
    seconds = time.perf_counter() - start
    coef = np.ravel(model.coef_)
    scores = X @ coef + float(np.ravel(model.intercept_)[0])
    cost = float(da.log1p(da.exp(da.where(y == 1, -scores, scores))).sum().compute())
    return {{"seconds": seconds, "objective": cost + 0.5 * float(coef @ coef)}}
{_CLUSTER}
"""
_PER_PARTITION = f"""
def fitted(X, y):
    from softmargin import chunks
    rows, labels = chunks.from_dask(X, y)
    rows.shape
    laps = []
    for _ in range(3):
        start = time.perf_counter()
        rows.source.total(lambda chunk: None)
        laps.append(time.perf_counter() - start)
    return {{"seconds": min(laps)}}
{_CLUSTER}
"""
_LANDMARK = """
import numpy as np
from softmargin import MarginClassifier, chunks
rng = np.random.default_rng(1)
W = rng.normal(size=(p, 8)) / np.sqrt(p)

def draw(seed, rows):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, p)).astype(np.float32)
    return X, (np.sin(2 * X @ W).sum(axis=1) + 0.3 * rng.logistic(size=rows) > 0).astype(int)

rows = 50_000 if n > 50_000 else n // 4
X, y = chunks.from_arrays(lambda: (draw(k, rows) for k in range(n // rows)))
model = MarginClassifier(kernel="rbf", gamma=1 / p, C=1.0, n_components=m, tol=1e-4, random_state=0).fit(X, y)
seconds, peak = time.perf_counter() - start, (peak_memory() - before) / 2**20
T, t = draw(10**6, 20_000)
from sklearn.ensemble import HistGradientBoostingClassifier
few = [draw(k, rows) for k in range(n // rows)]
whole = [np.concatenate(part) for part in zip(*few)]
boosting = HistGradientBoostingClassifier().fit(*whole)
extra = {"accuracy": model.score(T, t), "boosting": boosting.score(T, t)}
extra |= {"seconds": seconds, "gap": model.solution_.gap, "peak": peak}
"""
_RULES = """
from softmargin import RuleBoostClassifier, chunks
X, y = chunks.from_parquet(path, target="y")
model = RuleBoostClassifier().fit(X, y)
extra = {"risk": model.solution_.objective / n}
"""
_BOOSTING = f"""{_TABLE}
from sklearn.ensemble import HistGradientBoostingClassifier
start = time.perf_counter()
model = HistGradientBoostingClassifier().fit(X, y)
seconds = time.perf_counter() - start
from sklearn.metrics import log_loss
extra = {{"seconds": seconds, "risk": log_loss(y[:200_000], model.predict_proba(X[:200_000]))}}
"""
_PASSES = """
import pyarrow.parquet
from softmargin import MarginClassifier, chunks
from softmargin.expansions import LocalChunks
laps, results = [], LocalChunks._results

def timed(self, task):
    began = time.perf_counter()
    yield from results(self, task)
    laps.append(time.perf_counter() - began)

LocalChunks._results = timed
start = time.perf_counter()
X, y = chunks.from_parquet(path, target="y")
model = MarginClassifier().fit(X, y)
seconds = time.perf_counter() - start
extra = {"seconds": seconds, "before": seconds - sum(laps), "each": sum(laps) / len(laps), "passes": len(laps)}
"""
_FRAME = """
import json, os, resource, sys, time, warnings
warnings.simplefilter("ignore")
{settings}
import softmargin, numpy, scipy.linalg, sklearn.linear_model
def peak_memory():
    try:
        lines = open("/proc/self/status").read().splitlines()  # what getrusage says includes the parent's memory
        return float(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak_memory()
extra = {{}}
start = time.perf_counter()
{body}
if __name__ == "__main__":
    seconds = extra.pop("seconds", time.perf_counter() - start)
    peak = peak_memory()
    print("RESULT" + json.dumps({{"seconds": seconds, "peak": (peak - before) / 2**20, **extra}}))
"""


def run(body: str, patience: float | None = None, **settings: Any) -> dict[str, float]:
    """The last line of a script run by itself: seconds, gigabytes above the imports, and what it says of the fit.

    A script that is not done after ``patience`` seconds is ended.
    """
    head = "\n".join(f"{name} = {value!r}" for name, value in settings.items())
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "one.py"
        script.write_text(_FRAME.format(settings=head, body=body))
        env = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
        try:
            done = subprocess.run(
                [sys.executable, str(script)], capture_output=True, text=True, env=env, timeout=patience
            )
        except subprocess.TimeoutExpired as late:
            raise Absent(f"not done in {patience:g} s") from late
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if not found:
        raise Absent(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the script said nothing")
    return dict(json.loads(found[-1].removeprefix("RESULT")))


Script = tuple[str, str, dict[str, Any]]  # what it does, its body, its settings


def race(n: int, p: int, scripts: list[Script], read: Callable[[str], float] | None = None) -> list[list[Any]]:
    """Scripts on the same files: name, seconds, times one ``read`` (or the last script), memory, what it found."""
    with tempfile.TemporaryDirectory() as folder:
        path = write_parquet(Path(folder), n, p)
        unit = None if read is None else read(path)
        found = [run(body, path=path, n=n, **settings) for _, body, settings in scripts]
    unit = found[-1]["seconds"] if unit is None else unit
    return [
        [name, one["seconds"], one["seconds"] / unit, one["peak"], f"{one.get('objective', one.get('risk')):.8g}"]
        for (name, _, _), one in zip(scripts, found, strict=True)
    ]


def one_read(path: str) -> float:
    """Seconds in which pyarrow reads the files, once they are in the memory of the system."""
    return min([run(_READ, path=path)["seconds"] for _ in range(3)][1:])


@table
def parquet(quick: bool) -> str:
    """Logistic regression of Parquet files"""
    n, p = _SIZES[quick]
    scripts: list[Script] = [
        ("chunked", _CHUNKED, {}),
        ("in memory, fit alone", _MEMORY, {}),
        ("SGD.partial_fit, 1 epoch", _SGD, {"epochs": 1}),
        ("SGD.partial_fit, 3 epochs", _SGD, {"epochs": 3}),
    ]
    rows = race(n, p, scripts, one_read)
    return markdown_table([f"{n} x {p}", "seconds", "times one read by pyarrow", "memory (GB)", "objective"], rows)


_MODEL = """The last row is an extrapolation, not a run: the passes of the row above it for 10^7 rows a worker, and in
each pass the time in which Dask's scheduler sends out and adds up 16 partitions a worker, at {:.2g} ms each (measured
on two workers with 400 partitions of one row). Reading files over a network is not in it."""


@table
def capacity(quick: bool) -> str:
    """What a logistic fit costs by rows and columns, and a model of 10^9 rows on 100 such workers"""
    sizes = [(1_000_000, 20), (1_000_000, 100), (1_000_000, 50), (4_000_000, 50)]
    sizes = [(10_000, 20), (40_000, 20)] if quick else sizes
    rows: list[list[Any]] = []
    for n, p in sizes:
        with tempfile.TemporaryDirectory() as folder:
            one = run(_PASSES, path=write_parquet(Path(folder), n, p))
        rows.append([f"{n} x {p}", one["before"], one["each"], one["passes"], one["seconds"], one["peak"]])
    many = 40 if quick else 400
    partition = run(_PER_PARTITION, n=many, p=1, partitions=many, workers=2)["seconds"] / many
    each = 1e9 / 100 / n * one["each"] + 100 * 16 * partition
    total = one["before"] + one["passes"] * each
    rows.append([f"10^9 x {p}, 100 workers (model)", one["before"], each, one["passes"], total, ""])
    head = ["rows x columns", "before the first pass (s)", "each pass (s)", "passes", "fit (s)", "memory (GB)"]
    return f"{markdown_table(head, rows)}\n\n{_MODEL.format(1e3 * partition)}"


@table
def dask(quick: bool) -> str:
    """Dask on one and two workers of one thread, and dask-ml to the same objective"""
    n, p = (200_000, 50) if quick else (4_000_000, 50)
    alone = run(_DASK, n=n, p=p, partitions=16, workers=1)
    rows: list[list[Any]] = [[f"ours, 1 worker, {n} x {p}", alone["seconds"], 1.0, f"{alone['objective']:.8g}"]]
    pair = run(_DASK, n=n, p=p, partitions=16, workers=2)
    share = pair["seconds"] / alone["seconds"]
    rows.append([f"ours, 2 workers, {n} x {p}", pair["seconds"], share, f"{pair['objective']:.8g}"])
    n //= 4  # theirs takes minutes for more
    fewer = run(_DASK, n=n, p=p, partitions=16, workers=2)
    rows.append([f"ours, 2 workers, {n} x {p}", fewer["seconds"], 1.0, f"{fewer['objective']:.8g}"])
    for solver in ("lbfgs", "newton"):
        name = f"dask-ml, {solver}, 2 workers, {n} x {p}"
        try:
            one = run(_DASK_ML, n=n, p=p, partitions=16, workers=2, solver=solver)
        except Absent as error:
            rows.append([name, "", "", str(error)])
            continue
        rows.append([name, one["seconds"], one["seconds"] / fewer["seconds"], f"{one['objective']:.8g}"])
    return markdown_table(["what", "seconds of the fit", "times ours on these rows", "objective"], rows)


@table
def rules(quick: bool) -> str:
    """A hundred rules in chunks against histogram boosting in memory"""
    n, p = (100_000, 20) if quick else (10_000_000, 20)
    rows = race(n, p, [("rules in chunks", _RULES, {}), ("HistGradientBoosting in memory", _BOOSTING, {})])
    return markdown_table([f"{n} x {p}", "seconds", "times theirs", "memory (GB)", "training log loss"], rows)


@table
def landmarks(quick: bool) -> str:
    """Kernel logistic regression by landmarks, chunked, on a smooth problem"""
    n, p, m = _LANDMARKS[quick]
    one = run(_LANDMARK, n=n, p=p, m=m)
    head = ["", "seconds", "memory (GB)", "accuracy", "HistGradientBoosting", "relative gap"]
    row = [f"{n} x {p}, {m} landmarks", one["seconds"], one["peak"], one["accuracy"], one["boosting"]]
    return markdown_table(head, [[*row, f"{one['gap']:.1e}"]])
