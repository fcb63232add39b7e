"""Reading a rule model: the table of rules, the scorecard in words and in SQL, and why a row got its score.

With rules worth +1 or -1 the score is ``b + sum_t a_t h_t``. A scorecard says the same with points that are only given
where a rule holds: ``(b - sum_t a_t) + sum_t 2 a_t [rule t holds]``. Contributions, text and SQL all use this form.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from softmargin._constraints import NONE, TEXT, integer
from softmargin.estimators._base.card import score_card
from softmargin.estimators._base.training_set import TrainingSet
from softmargin.estimators._surrogates import surrogates
from softmargin.expansions import LinearScore, Rule, Table, cover, dialect_of

__all__ = ["RuleReader"]


class RuleReader:
    """What a fitted rule model can say about itself; mixed into the classifier."""

    rule_list_: list[Rule]
    coef_: np.ndarray
    intercept_: np.ndarray
    classes_: np.ndarray

    def _describe(self, data: TrainingSet) -> None:
        """Support and precision of every rule on the training rows."""
        columns = cover(self.rule_list_, data.X)
        by_class = np.stack([columns.coverage(data.weight * (data.codes == k)) for k in range(len(self.classes_))])
        self._note_coverage(by_class, float(data.weight.sum()))

    def _note_coverage(self, by_class: np.ndarray, total: float) -> None:
        """Support and precision from the weight that each rule covers of each class."""
        self.rule_support_ = by_class.sum(axis=0)
        self.rule_class_ = self._favoured()
        hits = by_class[self.rule_class_, np.arange(len(self.rule_list_))]
        self.rule_precision_ = hits / np.maximum(self.rule_support_, np.finfo(float).tiny)
        self._total_weight = total

    def _favoured(self) -> np.ndarray:
        """The class each rule speaks for where it holds."""
        if len(self.classes_) == 2:
            return (self.coef_[0] > 0).astype(int)
        return self.coef_.argmax(axis=0)

    def _score_card(self, names: list[str]) -> dict[str, Any]:
        if self.learner == "trees":  # type: ignore[attr-defined]
            return {"form": "trees", "words": f"The sum of the leaves of {len(self._score.roots)} trees."}  # type: ignore[attr-defined]
        if self.learner == "given":  # type: ignore[attr-defined]
            return score_card(LinearScore(self.coef_.T), self.intercept_, names)
        points = 2 * self.coef_
        order = np.argsort(-np.abs(points).max(axis=0, initial=0.0), kind="stable")
        rules = [{"if": self.rule_list_[t].text(names, None), "points": points[:, t].tolist()} for t in order]
        return {"form": "rules", "start": self._baseline().tolist(), "rules": rules}

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(name) for name in names]  # type: ignore[attr-defined]

    def _channels(self) -> list[str]:
        """What the columns of scores are called: one score for two classes, one per class otherwise."""
        return ["score"] if len(self.classes_) == 2 else [str(label) for label in self.classes_]

    @property
    def rules_(self) -> Any:
        """The rules as a DataFrame, in the order they were found.

        ``coefficient`` multiplies the +-1 rule and ``points`` is what the score gains where the rule holds (one
        column per class for more than two classes); ``support`` is the (weighted) share of training rows covered and
        ``precision`` the share of those that belong to ``class``, the class the rule speaks for.
        """
        self._rules_only("rules_")
        pandas = _pandas("rules_")
        columns: dict[str, Any] = {"text": [rule.text(self._names()) for rule in self.rule_list_]}
        if len(self.classes_) == 2:
            columns |= {"coefficient": self.coef_[0], "points": 2 * self.coef_[0]}
        else:
            columns |= {f"coefficient {name}": a for name, a in zip(self._channels(), self.coef_, strict=True)}
        columns["class"] = self.classes_[self.rule_class_]
        columns["support"] = self.rule_support_ / self._total_weight
        columns["precision"] = self.rule_precision_
        return pandas.DataFrame(columns)

    @property
    def rounds_(self) -> Any:
        """What every round of boosting did, as a DataFrame.

        ``rule`` (or column, or block of columns), its normalised ``edge`` on the weights before the step, its
        ``leverage`` (the step of its coefficient; one column per class for more than two classes, a tuple for a
        block), the ``loss`` of the round and, where losses competed, the ``score`` of each.
        """
        check_is_fitted(self)
        pandas = _pandas("rounds_")
        if self.learner == "trees":  # type: ignore[attr-defined]
            return pandas.DataFrame(self._tree_rounds())
        texts, lines = self._hypothesis_texts(), []
        bag = surrogates(self.loss)  # type: ignore[attr-defined]
        for number, one in enumerate(self._rounds, start=1):  # type: ignore[attr-defined]
            line = {"round": number, "rule": "; ".join(texts[t] for t in one.members), "edge": one.edge}
            steps = [row[0] if len(row) == 1 else tuple(row) for row in one.steps.tolist()]
            names = ["leverage"] if len(steps) == 1 else [f"leverage {name}" for name in self._channels()]
            line |= dict(zip(names, steps, strict=True)) | {"loss": repr(one.loss)}
            line |= {f"score {loss!r}": score for loss, score in zip(bag, one.scores, strict=False)}
            lines.append(line)
        return pandas.DataFrame(lines, columns=None if lines else ["round", "rule", "edge", "leverage", "loss"])

    def _tree_rounds(self) -> dict[str, Any]:
        """Rounds of trees: how many leaves were leveraged, the edge on them and the loss."""
        score, channels = self._score, len(self.intercept_)  # type: ignore[attr-defined]
        ends = [*score.roots[channels::channels, 0].tolist(), len(score.nodes)] if len(score.roots) else []
        starts = score.roots[::channels, 0].tolist()
        leaves = [int((score.nodes[a:b, 0] < 0).sum()) for a, b in zip(starts, ends, strict=True)]
        return {
            "round": np.arange(1, len(leaves) + 1),
            "rule": [f"{count} leaves" for count in leaves],
            "edge": self.edges_,  # type: ignore[attr-defined]
            "loss": repr(self.loss_),  # type: ignore[attr-defined]
        }

    def _hypothesis_texts(self) -> list[str]:
        """The hypotheses of all rounds in words."""
        return [_in_words(one, self._names()) for one in self._hypotheses]  # type: ignore[attr-defined]

    def _rules_only(self, what: str) -> None:
        check_is_fitted(self)
        if self.learner != "rules":  # type: ignore[attr-defined]
            raise AttributeError(
                f"{what} reads rules, and learner={self.learner!r} has none; coef_ and rounds_ say what was fitted."  # type: ignore[attr-defined]
            )

    def explain(self, X: Any) -> Any:
        """Why each row got its score: one line per row and rule that holds, and one for the baseline.

        Returns a DataFrame with columns ``row``, ``rule`` and the contribution to each score, which sum to
        ``decision_function`` over the lines of a row. Within a row the largest contributions come first.
        """
        self._rules_only("explain")
        pandas = _pandas("explain")
        table = self._prediction_set(X)  # type: ignore[attr-defined]
        columns = cover(self.rule_list_, table)
        texts = [rule.text(self._names()) for rule in self.rule_list_]
        points = 2 * self.coef_
        order = np.argsort(-np.abs(points).max(axis=0), kind="stable")
        lines: list[tuple[Any, ...]] = []
        holds = np.array([columns.column(t) > 0 for t in range(len(texts))], dtype=bool).reshape(len(texts), len(table))
        for row in range(len(table)):
            lines.append((row, "(baseline)", *self._baseline()))
            lines += [(row, texts[t], *points[:, t]) for t in order[holds[order, row]]]
        names = ["contribution"] if len(self.classes_) == 2 else self._channels()
        return pandas.DataFrame(lines, columns=["row", "rule", *names])

    def to_text(self, digits: int = 4) -> str:
        """The scorecard in words, largest points first."""
        self._rules_only("to_text")
        return "\n".join(self._text_lines(digits))

    def _text_lines(self, digits: int) -> Iterator[str]:
        base, points = self._baseline(), 2 * self.coef_
        if len(self.classes_) == 2:
            yield f"Score for {self.classes_[1]!s} against {self.classes_[0]!s} (positive means {self.classes_[1]!s}):"
        else:
            yield f"Scores for {', '.join(self._channels())} (the largest wins):"
        yield f"  {_points(base)}  to start with"
        for t in np.argsort(-np.abs(points).max(axis=0), kind="stable"):
            share = 100 * self.rule_support_[t] / self._total_weight
            label, sure = self.classes_[self.rule_class_[t]], 100 * self.rule_precision_[t]
            words = self.rule_list_[t].text(self._names(), digits)
            yield f"  {_points(points[:, t])}  if {words}  [{share:.0f}% of cases, {sure:.0f}% of them {label!s}]"

    def sql(self, table: str = "data", digits: int | None = None, *, dialect: str = "ansi") -> str:
        """The scorecard as an SQL query over ``table``: one column per score, missing values as NULL.

        ``digits`` rounds the points; None keeps every digit, so that the query equals ``decision_function``.
        ``dialect`` says how names and strings are quoted: ``"ansi"`` (where a backslash is an ordinary character),
        ``"bigquery"``, ``"duckdb"``, ``"mysql"``, ``"postgresql"``, ``"snowflake"``, ``"spark"``, ``"sqlite"`` or
        ``"sqlserver"``.
        """
        self._rules_only("sql")
        TEXT.check("table", table)
        (NONE | integer(0)).check("digits", digits)
        words, names = dialect_of(dialect), self._names()
        words.check_distinct(names[one.feature] for rule in self.rule_list_ for one in rule.literals)
        show = repr if digits is None else lambda value: f"{value:.{digits}f}"
        scores = []
        for label, base, coef in zip(self._channels(), self._baseline(), self.coef_, strict=True):
            cases = [
                f"  + CASE WHEN {rule.sql(names, words)} THEN {show(float(2 * a))} ELSE 0 END"
                for rule, a in zip(self.rule_list_, coef, strict=True)
                if a != 0
            ]
            scores.append("\n".join([f"  {show(float(base))}", *cases]) + f" AS {words.name(label)}")
        return "SELECT\n" + ",\n".join(scores) + f"\nFROM {words.name(table)}"

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """``decision_function`` of the model after 0, 1, 2, ... rounds."""
        return self._staged(self._prediction_set(X))  # type: ignore[attr-defined]

    def _staged(self, table: Table) -> Iterator[np.ndarray]:
        if self.learner == "trees":  # type: ignore[attr-defined]
            for scores in self._score.staged(table):  # type: ignore[attr-defined]
                yield scores[:, 0] if len(self.classes_) == 2 else scores
            return
        numbers = [one for one in self._hypotheses if isinstance(one, int)]  # type: ignore[attr-defined]
        values = table.numbers()[:, numbers] if numbers else None
        columns = cover(self.rule_list_, table)
        for intercept, coef in self._stages:  # type: ignore[attr-defined]
            padded = np.zeros((len(coef), len(self.rule_list_) or len(numbers)))
            padded[:, : coef.shape[1]] = coef
            products = [columns.apply(a) if values is None else values @ a for a in padded]
            scores = np.column_stack([b + product for b, product in zip(intercept, products, strict=True)])
            yield scores[:, 0] if len(self.classes_) == 2 else scores

    def _baseline(self) -> np.ndarray:
        return self.intercept_ - self.coef_.sum(axis=1)


def _in_words(one: Rule | int, names: list[str]) -> str:
    return names[one] if isinstance(one, int) else one.text(names)


def _points(values: np.ndarray) -> str:
    return " ".join(f"{value:+7.2f}" for value in values)


def _pandas(what: str) -> ModuleType:
    try:
        import pandas
    except ImportError:
        raise ImportError(
            f"{what} returns a DataFrame and needs pandas (pip install pandas); "
            "to_text() and sql() say the same without it."
        ) from None
    return pandas
