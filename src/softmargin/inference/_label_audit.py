"""``LabelAudit``: what an audit found, what to look at, and what to do about it."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from softmargin._constraints import AXES, LEVEL, NONE, PATH, Constraint, having, integer, mapping, one_of, several
from softmargin.inference._annotators import Consensus
from softmargin.inference._leaks import find_leaks
from softmargin.inference._noise_model import Estimate, NoiseModel
from softmargin.losses import ByClass, Copas
from softmargin.probability import weight_parameters

__all__ = ["JUDGES", "AuditedRows", "LabelAudit", "NoiseMatrix"]

_KEEP, _DROP, _RELABEL = "keep", "drop", "relabel"
_MOST_WRONG = 0.49  # a likelihood needs labels that are right more often than not


def _judges(value: Any) -> bool:
    return not isinstance(value, type) and (hasattr(value, "predict_proba") or hasattr(value, "decision_function"))


JUDGES = (
    one_of("auto")
    | Constraint("a classifier with predict_proba or decision_function", _judges)
    | several("a list of them (not an empty list)", _judges)
)
_FILE = PATH | NONE | having("an open file", "write")
_DECISIONS = mapping("a dict from rows to decisions") | Constraint(
    "a frame with columns row and decision", lambda value: {"row", "decision"} <= set(getattr(value, "columns", ()))
)


class NoiseMatrix(NamedTuple):
    """Frames with the true class in rows and the label in columns: shares of all rows, of the class, and interval."""

    joint: Any
    conditional: Any
    low: Any
    high: Any


@dataclass(frozen=True)
class AuditedRows:
    """What was audited: the judge, the rows, their labels and weights, and the slices to report on."""

    estimator: Any
    X: Any
    y: NDArray[Any]
    weight: NDArray[Any] | None = None
    groups: NDArray[Any] | None = None


@dataclass(frozen=True)
class LabelAudit:
    """The result of :func:`softmargin.audit_labels`; what a frame can do, it does with its ``table``.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per row of ``X``, least trusted first.
    n_errors : Estimate
        The estimated number of wrong labels with ``low`` and ``high``.
    consensus : Consensus or None
        Of several annotators.
    """

    table: Any
    rows: AuditedRows = field(repr=False)
    classes: NDArray[Any] = field(repr=False)
    noise: NoiseModel = field(repr=False)
    consensus: Consensus | None = None

    @property
    def n_errors(self) -> Estimate:
        return self.noise.n_errors

    def __getitem__(self, key: Any) -> Any:
        return self.table[key]

    def __len__(self) -> int:
        return len(self.table)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or "table" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self.table, name)

    def suspects(self, fdr: float = 0.1) -> Any:
        """The rows whose labels are wrong, but for a share of at most ``fdr``, as the noise model sees it.

        The largest set of least trusted rows whose mean trust is no larger than ``fdr``, or than seven tenths of it
        after a second look (``estimator="auto"``): each row of it is right with the probability of its trust, and the
        rest is for rows about which all judges err together.
        """
        LEVEL.check("fdr", fdr)
        trust = self.table["trust"].to_numpy()
        running = np.cumsum(trust) / np.arange(1, len(trust) + 1)
        return self.table.iloc[: int(np.searchsorted(running, self.noise.caution * fdr, side="right"))]

    @property
    def noise_matrix(self) -> NoiseMatrix:
        """How often members of each class (rows) carry each label (columns), with intervals."""
        import pandas as pd

        def frame(values: Any) -> Any:
            return pd.DataFrame(values, index=pd.Index(self.classes, name="true"), columns=self.classes)

        noise = self.noise
        return NoiseMatrix(frame(noise.joint), frame(noise.transition), frame(noise.low), frame(noise.high))

    @property
    def health(self) -> Any:
        """Rows, estimated errors, their share and the mean trust of each class and each group."""
        import pandas as pd

        wrong = 1 - self.table["trust"]
        slices = [("class", self.table["given"])]
        if "group" in self.table:
            slices.append(("group", self.table["group"]))
        parts = []
        for kind, key in slices:
            found = wrong.groupby(key.to_numpy()).agg(["size", "sum", "mean"])
            found.columns = ["rows", "errors", "error_rate"]
            parts.append(found.assign(slice=kind).rename_axis("name").reset_index())
        return pd.concat(parts, ignore_index=True)[["slice", "name", "rows", "errors", "error_rate"]]

    @property
    def leaks(self) -> Any:
        """Columns that name rows or tell the label by themselves, most telling first: unique, alone, reason."""
        return find_leaks(self.rows.X, np.searchsorted(self.classes, self.rows.y))

    def to_csv(self, path: Any, **options: Any) -> Any:
        """Write the table, with an empty column ``decision`` to be filled in and given to :meth:`apply`."""
        _FILE.check("path", path)
        return self.table.assign(decision="").to_csv(path, **({"index": False} | options))

    def apply(self, decisions: Any = None, *, fdr: float = 0.1) -> tuple[Any, Any, Any]:
        """The cleaned ``(X, y, weights)``.

        ``decisions`` maps rows (positions) to a label, ``"keep"`` or ``"drop"``: a dict, or a frame with columns
        ``row`` and ``decision``, such as :meth:`to_csv` wrote and a reviewer filled in; where it says ``relabel`` the
        label stands in a column ``label``, as in the file that a report's page downloads. None drops
        ``suspects(fdr)``. Weights are the sample weights given times the trust in the labels nobody looked at: a label
        that is wrong with probability one half counts half.
        """
        chosen = self._decisions(decisions, fdr)
        n = len(self.rows.y)
        y = np.array(self.rows.y)
        trust = self.table.set_index("row")["trust"].reindex(np.arange(n)).to_numpy(copy=True)
        keep = np.ones(n, dtype=bool)
        for row, decision in chosen.items():
            trust[row] = 1.0
            if isinstance(decision, str) and decision == _DROP:
                keep[row] = False
            elif not (isinstance(decision, str) and decision == _KEEP):
                y[row] = decision
        weight = trust if self.rows.weight is None else trust * self.rows.weight
        kept = np.flatnonzero(keep)
        return _safe_indexing(self.rows.X, kept), y[kept], weight[kept]

    def _decisions(self, decisions: Any, fdr: float) -> dict[int, Any]:
        if decisions is None:
            return dict.fromkeys(self.suspects(fdr)["row"].tolist(), _DROP)
        _DECISIONS.check("decisions", decisions)
        if hasattr(decisions, "columns"):
            filled = decisions[decisions["decision"].notna() & (decisions["decision"].astype(str) != "")]
            words = filled["decision"]
            if "label" in filled:
                words = words.where(words.astype(str) != _RELABEL, self._as_labels(filled["label"]))
            decisions = dict(zip(filled["row"].tolist(), words.tolist(), strict=True))
        known, n = set(self.classes.tolist()) | {_KEEP, _DROP}, len(self.rows.y)
        for row, decision in decisions.items():
            if not integer(0, n - 1).allows(row):
                raise ValueError(f"decisions names row {row!r}; there are rows 0 to {n - 1}.")
            if not isinstance(decision, Hashable) or decision not in known:
                raise ValueError(f"decisions has {decision!r} for row {row}; allowed are 'keep', 'drop' and a label.")
        return dict(decisions)

    def _as_labels(self, written: Any) -> Any:
        """Labels read from a file, as the audit knows them: text that spells a label is that label."""
        spelt = {str(label): label for label in self.classes.tolist()}
        return written.map(lambda value: value if value in self.classes else spelt.get(str(value), value))

    def refit(self, estimator: Any = None, decisions: Any = None, *, fdr: float = 0.1) -> Any:
        """A fresh copy of the (first) judge, or of ``estimator``, fitted to what :meth:`apply` returns.

        The weights are left out where a classifier does not take any.
        """
        judge = self.rows.estimator if estimator is None else estimator
        if judge is None or isinstance(judge, str):
            raise ValueError("the audit was made without a single classifier; name one: refit(estimator).")
        JUDGES.check("estimator", judge)
        judge = judge[0] if isinstance(judge, (list, tuple)) else judge
        X, y, weight = self.apply(decisions, fdr=fdr)
        try:
            given = weight_parameters(judge, weight)
        except ValueError:
            if self.rows.weight is not None:
                raise
            given = {}
        return clone(judge).fit(X, y, **given)

    def corrected_loss(self) -> ByClass:
        """The likelihood of labels that go wrong as the noise matrix says, for ``MarginClassifier(loss=...)``.

        A machine that is fitted with it to the labels as they are has scores and probabilities of the true classes:
        noise that falls on one class only moves no boundary. For two classes.
        """
        if len(self.classes) != 2:
            raise ValueError(f"corrected_loss is for two classes; these labels have {len(self.classes)}: use refit.")
        (_, lost), (found, _) = np.minimum(self.noise.transition, _MOST_WRONG)
        return ByClass((Copas(float(found), float(lost)), Copas(float(lost), float(found))))

    def plot(self, ax: Any = None) -> Any:
        """Trust of the rows of each class, with the number of errors estimated."""
        AXES.check("ax", ax)
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("LabelAudit.plot needs matplotlib: pip install matplotlib") from error
        ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")[1] if ax is None else ax
        trust = [self.table["trust"][self.table["given"] == label].to_numpy() for label in self.classes]
        ax.hist(trust, bins=20, range=(0, 1), stacked=True, label=[str(label) for label in self.classes])
        number = self.n_errors
        ax.set(xlabel="trust in the label given", ylabel="rows")
        ax.set_title(f"about {number.value:.0f} wrong labels ({number.low:.0f} to {number.high:.0f})", fontsize=10)
        ax.legend(title="label", frameon=False)
        return ax
