"""R's glmnet and gcdnet, timed inside R, so that the hand-over of the data through files costs nothing."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._harness import Absent, Timed

__all__ = ["huberized_hinge_path", "logistic_path", "version"]

_SCRIPT = """
args <- commandArgs(TRUE); dir <- args[1]; n <- as.integer(args[2]); p <- as.integer(args[3]); k <- as.integer(args[4])
read <- function(name, size) readBin(file.path(dir, name), "double", size)
x <- matrix(read("X", n * p), n, p); y <- read("y", n); lambda <- read("lambda", k); alpha <- as.numeric(args[5])
{load}
seconds <- system.time({{ {fit} }})[["elapsed"]]
beta <- as.matrix(fit$beta)
writeBin(c(seconds, as.numeric(fit$a0), ncol(beta), as.numeric(beta)), file.path(dir, "out"))
"""
_GLMNET = (
    "suppressMessages(library(glmnet)); glmnet.control(fdev = 0, devmax = 1)",
    'fit <- glmnet(x, factor(y), family = "binomial", alpha = alpha, lambda = lambda, standardize = FALSE)',
)
_GCDNET = (
    "suppressMessages(library(gcdnet))",
    'fit <- gcdnet(x, y, method = "hhsvm", delta = 2, lambda = lambda * alpha, lambda2 = as.numeric(args[6]), '
    "standardize = FALSE)",
)


@cache
def _require(package: str) -> str:
    if shutil.which("Rscript") is None:
        raise Absent("R is not installed")
    ask = f'cat(if (requireNamespace("{package}", quietly = TRUE)) as.character(packageVersion("{package}")) else "")'
    found = subprocess.run(["Rscript", "-e", ask], capture_output=True, text=True, check=False).stdout.strip()
    if not found:
        raise Absent(f"R is present, its package {package} is not")
    return found


def version() -> str:
    return f"R glmnet {_require('glmnet')}"


def _run(script: tuple[str, str], X: np.ndarray, y: np.ndarray, lambdas: np.ndarray, *extra: float) -> Timed:
    n, p = X.shape
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        np.asarray(X, dtype=np.float64).T.tofile(where / "X")
        np.asarray(y, dtype=np.float64).tofile(where / "y")
        np.asarray(lambdas, dtype=np.float64).tofile(where / "lambda")
        (where / "fit.R").write_text(_SCRIPT.format(load=script[0], fit=script[1]))
        arguments = [str(value) for value in (where, n, p, len(lambdas), *extra)]
        subprocess.run(["Rscript", str(where / "fit.R"), *arguments], check=True, capture_output=True)
        out = np.fromfile(where / "out")
    seconds, out = float(out[0]), out[1:]
    k = (len(out) - 1) // (p + 1)
    return Timed((out[k + 1 :].reshape(k, p), out[:k]), seconds)


def logistic_path(X: np.ndarray, y: np.ndarray, Cs: np.ndarray, l1_ratio: float) -> Any:
    """glmnet at its default tolerance; lambda = 1 / (C n)."""
    _require("glmnet")
    return _run(_GLMNET, X, y, 1.0 / (np.asarray(Cs) * len(y)), l1_ratio)


def huberized_hinge_path(X: np.ndarray, y: np.ndarray, Cs: np.ndarray, l1_ratio: float) -> Any:
    """gcdnet's hybrid huberised SVM at its default tolerance.

    gcdnet keeps the ridge part fixed along its path; it gets the ridge of the middle value, so its problem is of the
    same size but not the same, and its objective is not comparable elsewhere on the path.
    """
    _require("gcdnet")
    lambdas = 1.0 / (np.asarray(Cs) * len(y))
    return _run(_GCDNET, X, y, lambdas, l1_ratio, float(np.median(lambdas) * (1 - l1_ratio)))
