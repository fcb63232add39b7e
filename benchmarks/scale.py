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
_MEMORY = """
import numpy as np, pyarrow.dataset as ds
from softmargin import MarginClassifier
table = ds.dataset(path).to_table()
y = table["y"].to_numpy()
X = np.column_stack([table[name].to_numpy() for name in table.column_names if name != "y"])
del table
start = time.perf_counter()
model = MarginClassifier().fit(X, y)
extra = {"objective": model.solution_.objective, "gap": model.solution_.gap, "steps": model.solution_.n_iter}
"""
_SGD = """
import numpy as np, pyarrow.dataset as ds
from sklearn.linear_model import SGDClassifier
model = SGDClassifier(loss="log_loss", alpha=1 / n, average=True, random_state=0)
for epoch in range(2):
    for batch in ds.dataset(path).to_batches(batch_size=1 << 16):
        names = [name for name in batch.schema.names if name != "y"]
        X = np.column_stack([batch[name].to_numpy() for name in names])
        model.partial_fit(X, batch["y"].to_numpy(), classes=[0, 1])
total = 0.0
for batch in ds.dataset(path).to_batches(batch_size=1 << 16):
    names = [name for name in batch.schema.names if name != "y"]
    f = np.column_stack([batch[name].to_numpy() for name in names]) @ model.coef_[0] + model.intercept_[0]
    total += np.logaddexp(0, np.where(batch["y"].to_numpy() == 1, -f, f)).sum()
extra = {"objective": total + 0.5 * float(model.coef_[0] @ model.coef_[0])}
"""
_DASK = """
import dask.array as da, numpy as np
from distributed import Client, LocalCluster
from softmargin import MarginClassifier

def block(seed, rows, columns):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    return np.column_stack([X, X[:, 0] + rng.logistic(size=rows) > 0])

if __name__ == "__main__":
    import dask
    with LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
        with Client(cluster):
            rows = n // 16
            parts = [da.from_delayed(dask.delayed(block)(k, rows, p), (rows, p + 1), float) for k in range(16)]
            both = da.concatenate(parts).persist()
            len(both[:, 0].compute())
            start = time.perf_counter()
            model = MarginClassifier().fit(both[:, :p], both[:, p])
            seconds = time.perf_counter() - start
    extra = {"objective": model.solution_.objective, "seconds": seconds}
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
seconds = time.perf_counter() - start
T, t = draw(10**6, 20_000)
from sklearn.ensemble import HistGradientBoostingClassifier
few = [draw(k, rows) for k in range(n // rows)]
whole = [np.concatenate(part) for part in zip(*few)]
boosting = HistGradientBoostingClassifier().fit(*whole)
extra = {"accuracy": model.score(T, t), "boosting": boosting.score(T, t)}
extra |= {"seconds": seconds, "gap": model.solution_.gap}
"""
_RULES = """
from softmargin import RuleBoostClassifier, chunks
X, y = chunks.from_parquet(path, target="y")
model = RuleBoostClassifier().fit(X, y)
extra = {"risk": model.solution_.objective / n}
"""
_BOOSTING = """
import numpy as np, pyarrow.dataset as ds
from sklearn.ensemble import HistGradientBoostingClassifier
table = ds.dataset(path).to_table()
y = table["y"].to_numpy()
X = np.column_stack([table[name].to_numpy() for name in table.column_names if name != "y"])
del table
start = time.perf_counter()
model = HistGradientBoostingClassifier().fit(X, y)
seconds = time.perf_counter() - start
from sklearn.metrics import log_loss
extra = {"seconds": seconds, "risk": log_loss(y[:200_000], model.predict_proba(X[:200_000]))}
"""
_PASSES = """
from softmargin import MarginClassifier, chunks
from softmargin.expansions import LocalChunks
laps, results = [], LocalChunks._results

def timed(self, task):
    began = time.perf_counter()
    yield from results(self, task)
    laps.append(time.perf_counter() - began)

LocalChunks._results = timed
X, y = chunks.from_parquet(path, target="y")
model = MarginClassifier().fit(X, y)
extra = {"first": laps[0], "later": sum(laps[1:]) / len(laps[1:]), "passes": len(laps) - 1}
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


def run(body: str, **settings: Any) -> dict[str, float]:
    """The last line of a script run by itself: seconds, gigabytes above the imports, and what it says of the fit."""
    head = "\n".join(f"{name} = {value!r}" for name, value in settings.items())
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "one.py"
        script.write_text(_FRAME.format(settings=head, body=body))
        done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=os.environ)
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    if not found:
        raise Absent(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "the script said nothing")
    return dict(json.loads(found[-1].removeprefix("RESULT")))


@table
def parquet(quick: bool) -> str:
    """Logistic regression of Parquet files"""
    n, p = _SIZES[quick]
    with tempfile.TemporaryDirectory() as folder:
        path = write_parquet(Path(folder), n, p)
        run(_READ, path=path)
        read = min(run(_READ, path=path)["seconds"] for _ in range(2))
        rows: list[list[Any]] = [[f"pyarrow reads {n} x {p} once", read, 1.0, "", ""]]
        for name, body in (("chunked", _CHUNKED), ("in memory, fit alone", _MEMORY), ("SGD, 2 epochs", _SGD)):
            one = run(body, path=path, n=n)
            rows.append([name, one["seconds"], one["seconds"] / read, one["peak"], f"{one['objective']:.8g}"])
    return markdown_table(["what", "seconds", "times one read", "memory (GB)", "objective"], rows)


@table
def capacity(quick: bool) -> str:
    """What a logistic fit costs by rows and columns, and what that makes of 10^9 rows on 100 such workers"""
    sizes = [(10_000, 20), (40_000, 20)] if quick else [(1_000_000, 20), (1_000_000, 50), (4_000_000, 50)]
    rows: list[list[Any]] = []
    for n, p in sizes:
        with tempfile.TemporaryDirectory() as folder:
            one = run(_PASSES, path=write_parquet(Path(folder), n, p))
        rows.append([f"{n} x {p}", one["first"], one["later"], one["passes"], one["seconds"], one["peak"]])
    scale = 1e9 / 100 / n  # rows of a worker; adding up one vector of p sums per chunk is counted in the passes
    total = scale * (one["first"] + one["passes"] * one["later"])
    rows.append(
        [f"10^9 x {p}, 100 workers (model)", scale * one["first"], scale * one["later"], one["passes"], total, ""]
    )
    head = ["rows x columns", "first pass (s)", "each later pass (s)", "later passes", "fit (s)", "memory (GB)"]
    return markdown_table(head, rows)


@table
def dask(quick: bool) -> str:
    """Dask on one and two workers of one thread"""
    n, p = (200_000, 50) if quick else (4_000_000, 50)
    ours = {workers: run(_DASK, n=n, p=p, workers=workers) for workers in (1, 2)}
    rows = [[w, one["seconds"], one["seconds"] / ours[1]["seconds"]] for w, one in ours.items()]
    return markdown_table([f"workers ({n} x {p})", "seconds of the fit", "times one worker"], rows)


@table
def rules(quick: bool) -> str:
    """A hundred rules in chunks against histogram boosting in memory"""
    n, p = (100_000, 20) if quick else (10_000_000, 20)
    with tempfile.TemporaryDirectory() as folder:
        path = write_parquet(Path(folder), n, p)
        ours, theirs = run(_RULES, path=path, n=n), run(_BOOSTING, path=path, n=n)
    rows = [
        [name, one["seconds"], one["seconds"] / theirs["seconds"], one["peak"], one["risk"]]
        for name, one in (("rules in chunks", ours), ("HistGradientBoosting in memory", theirs))
    ]
    return markdown_table([f"{n} x {p}", "seconds", "times theirs", "memory (GB)", "training log loss"], rows)


@table
def landmarks(quick: bool) -> str:
    """Kernel logistic regression by landmarks, chunked, on a smooth problem"""
    n, p, m = _LANDMARKS[quick]
    one = run(_LANDMARK, n=n, p=p, m=m)
    head = [f"{n} x {p}, {m} landmarks", "seconds", "accuracy", "HistGradientBoosting", "relative gap"]
    return markdown_table(head, [["", one["seconds"], one["accuracy"], one["boosting"], f"{one['gap']:.1e}"]])
