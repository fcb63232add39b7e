"""Run replications, many at once if asked, and append each to a file as soon as it is done.

The file has one JSON object per line, ``{"experiment", "part", "replication", "values", "seconds"}``, so a run that is
interrupted loses only what was being computed. Replications are functions of their number alone: neither the order of
running nor the number of processes changes a result.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from softmargin.datasets import DataNotFound
from softmargin.papers._exhibit import Experiment, Part, Results

__all__ = ["Job", "Store", "jobs_of", "repeat", "run_jobs"]


@dataclass(frozen=True)
class Job:
    """One replication of one part."""

    experiment: Experiment
    part: Part
    replication: int

    @property
    def key(self) -> tuple[str, str, int]:
        """What identifies it in the file."""
        return self.experiment.name, self.part.name, self.replication


@dataclass
class Store:
    """The file of replications; ``missing`` names parts whose data were not found, and how to get them."""

    path: Path
    lines: dict[tuple[str, str, int], dict[str, Any]] = field(default_factory=dict)
    missing: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path) -> Store:
        """Read what is there; a last line cut short by an interruption is left out."""
        store = cls(path)
        if path.is_file():
            for text in path.read_text(encoding="utf-8").splitlines():
                try:
                    line = json.loads(text)
                    store.lines[line["experiment"], line["part"], line["replication"]] = line
                except (json.JSONDecodeError, KeyError):
                    continue
        return store

    def forget(self, experiments: Iterable[str]) -> None:
        """Drop the replications of some experiments and write the file anew."""
        names = set(experiments)
        self.lines = {key: line for key, line in self.lines.items() if key[0] not in names}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(f"{json.dumps(line)}\n" for line in self.lines.values()), encoding="utf-8")

    def add(self, line: dict[str, Any]) -> None:
        """Keep one replication, in memory and on disk; a part without data is remembered but not written."""
        if "missing" in line:
            self.missing[line["experiment"], line["part"]] = line["missing"]
            return
        self.lines[line["experiment"], line["part"], line["replication"]] = line
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps(line)}\n")

    def results(self, experiment: Experiment) -> Results:
        """All numbers of an experiment, by part and key, in the order of replications."""
        found: dict[str, dict[str, list[float]]] = {}
        for (name, part, _), line in sorted(self.lines.items()):
            if name == experiment.name:
                for key, value in line["values"].items():
                    found.setdefault(part, {}).setdefault(key, []).append(value)
        return found

    def seconds(self, experiment: Experiment) -> float:
        """Processor time of all replications kept."""
        return sum(line["seconds"] for (name, _, _), line in self.lines.items() if name == experiment.name)


def jobs_of(experiments: Sequence[Experiment], replications: int | None, store: Store) -> list[Job]:
    """What is still to be run, first replications first, so that an interrupted run has something of everything."""
    jobs = [
        Job(experiment, part, number)
        for experiment in experiments
        for part in experiment.parts
        if part.replicate is not None
        for number in range(min(replications or experiment.replications, experiment.replications))
    ]
    return sorted((job for job in jobs if job.key not in store.lines), key=lambda job: job.replication)


def run_jobs(
    jobs: Sequence[Job], store: Store, *, n_jobs: int = 1, progress: Callable[[Job], None] = lambda job: None
) -> None:
    """Run the jobs and keep what they return; parts whose data are missing are skipped from then on."""
    done: Iterator[dict[str, Any]]
    if n_jobs == 1:
        done = (_perform(job) for job in jobs if (job.experiment.name, job.part.name) not in store.missing)
    else:
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        done = parallel(joblib.delayed(_perform)(job) for job in jobs)
    by_key = {job.key: job for job in jobs}
    for line in done:
        store.add(line)
        progress(by_key[line["experiment"], line["part"], line["replication"]])


def _perform(job: Job) -> dict[str, Any]:
    """One replication on one thread; warnings of fits at the ends of tuning grids are of no interest here."""
    name, part, number = job.key
    line: dict[str, Any] = {"experiment": name, "part": part, "replication": number}
    start = time.process_time()
    assert job.part.replicate is not None
    try:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)
            values = job.part.replicate(number)
    except DataNotFound as error:
        return line | {"missing": str(error)}
    rounded = {key: float(f"{value:.7g}") for key, value in values.items()}
    return line | {"values": rounded, "seconds": round(time.process_time() - start, 3)}


def repeat(
    replicate: Callable[[int], dict[str, float]],
    replications: int,
    *,
    path: str | Path,
    name: str = "experiment",
    n_jobs: int = 1,
) -> dict[str, list[float]]:
    """Replications of an experiment of your own: repeated random splits, kept in a file and gone on with.

    Parameters
    ----------
    replicate : callable
        Takes the number of the replication (seed with it) and returns one number per key.
    replications : int
        How many are wanted in all; those in the file are not run again.
    path : str or Path
        The file, one JSON object per line.
    name : str
        The name under which they are kept.
    n_jobs : int
        Processes.

    Returns
    -------
    dict
        The numbers of every key, in the order of replications.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from softmargin.papers import repeat
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "replications.jsonl"
    >>> repeat(lambda r: {"error": r / 10}, 3, path=path)
    {'error': [0.0, 0.1, 0.2]}
    """
    if replications < 1:
        raise ValueError(f"replications must be at least 1; got {replications!r}.")
    experiment = Experiment(name, (Part("all", replicate),), replications)
    store = Store.open(Path(path))
    run_jobs(jobs_of([experiment], None, store), store, n_jobs=n_jobs)
    return {key: list(values) for key, values in store.results(experiment).get("all", {}).items()}
