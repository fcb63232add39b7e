"""Choosing the loss itself (surrogate tuning).

``F*`` fits the whole model once per loss and keeps the least training error, the paper's choice; ``cv`` keeps the
least cross-validated Brier score instead, because training errors tie at zero as rules are added. ``F`` and ``E``
choose round by round, by training error after the step or by edge before it, which only makes sense between losses on
one scale: a score means something only relative to the slope of its loss. So every loss of a bag is first brought to
the logistic slope ``P'(0) = 1/4`` by ``psi(z) -> k psi(z / k)``, which changes neither rules nor probabilities.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from softmargin import losses
from softmargin.losses import Loss

if TYPE_CHECKING:
    from softmargin.estimators._base.training_set import TrainingSet

__all__ = ["TUNINGS", "Rescaled", "choose_loss", "surrogates"]

TUNINGS = ("cv", "F*", "F", "E")
_FOLDS = 5


@dataclass(frozen=True)
class Rescaled(Loss):
    """``k psi(u / k)``: the same method with scores multiplied by ``k``."""

    base: Loss
    factor: float

    def _value(self, u: Any) -> Any:
        return self.factor * self.base.value(u / self.factor)

    def _slope(self, u: Any) -> Any:
        return self.base.slope(u / self.factor)

    def _curvature(self, u: Any) -> Any:
        return self.base.curvature(u / self.factor) / self.factor

    def _log_odds(self, f: Any) -> Any:
        return self.base.log_odds(f / self.factor)

    @property
    def curvature_bound(self) -> float:
        return float(self.base.curvature_bound) / self.factor

    def _score(self, p: Any) -> Any:
        return self.factor * self.base.score(p)


def surrogates(loss: Any) -> list[Loss]:
    """The losses meant by the argument ``loss``, each checked; a bag of several is brought to a common slope."""
    if isinstance(loss, (list, tuple)):
        if not loss:
            raise ValueError("loss is an empty list; name at least one loss.")
        bag = [_checked(losses.get(one)) for one in loss]
    elif isinstance(loss, str) and loss == "auto":
        bag = _default_bag()
    else:
        return [_checked(losses.get(loss))]
    return [_common_slope(one) for one in bag] if len(bag) > 1 else bag


def _default_bag() -> list[Loss]:
    power, matsushita = losses.PowerEntropy(power=0.25), losses.Matsushita()
    return [
        losses.Logistic(),
        losses.BalancedConvex(matsushita),
        losses.BalancedConvex(power),
        losses.ModifiedHuber(),
        losses.Exponential(),
    ]


def _checked(loss: Loss) -> Loss:
    if not (loss.convex and loss.smooth and float(loss.slope(0.0)) < 0):
        raise ValueError(
            f"loss={loss!r} cannot be boosted: rules need a smooth convex loss that falls at zero. "
            "Use 'logistic', 'exponential', 'modified_huber', 'squared_hinge' or a BalancedConvex loss."
        )
    return loss


def _common_slope(loss: Loss) -> Loss:
    """The loss with ``P'(0) = 1/4``; d/df of the log odds at zero is four times that of the probability."""
    step = 1e-4
    steepness = float(loss.log_odds(step) - loss.log_odds(-step)) / (2 * step)
    return loss if abs(steepness - 1) < 1e-6 else Rescaled(loss, steepness)


def choose_loss(estimator: Any, bag: list[Loss], data: TrainingSet) -> tuple[Loss, dict[str, float]]:
    """The loss of least cross-validated Brier score, or of least training error for ``tuning="F*"``; ties: first.

    Returns it with the scores of all.
    """
    labels, seed = data.codes, check_random_state(estimator.random_state).randint(np.iinfo(np.int32).max)
    smallest = int(np.bincount(labels).min())
    if estimator.tuning == "F*" or smallest < 2:
        folds = [(np.arange(len(labels)), np.arange(len(labels)))]
    else:
        splitter = StratifiedKFold(min(_FOLDS, smallest), shuffle=True, random_state=seed)
        folds = list(splitter.split(np.zeros(len(labels)), labels))
    scores = [sum(_score(estimator, loss, data, *fold) for fold in folds) for loss in bag]
    return bag[int(np.argmin(np.round(scores, 12)))], {repr(loss): one for loss, one in zip(bag, scores, strict=True)}


def _score(estimator: Any, loss: Loss, data: TrainingSet, train: np.ndarray, test: np.ndarray) -> float:
    one = clone(estimator).set_params(loss=loss, class_weight=None)
    one.n_features_in_, one.classes_ = estimator.n_features_in_, estimator.classes_
    part = replace(
        data,
        X=data.X[train],
        codes=data.codes[train],
        weight=data.weight[train],
        counts=data.counts[train],
        rows=np.arange(len(train)),
        n_rows=len(train),
    )
    if len(one.classes_) == 2:
        one._fit_binary(part, part.signs())
    else:
        one._fit_many(part)
    table, codes, weight = data.X[test], data.codes[test], data.weight[test]
    if estimator.tuning == "F*":
        scores = one._decision(table)
        guess = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return float(weight @ (guess != codes)) / float(data.weight.sum())
    truth = np.eye(len(one.classes_))[codes]
    return float(weight @ np.square(one._probability(table) - truth).sum(axis=1)) / float(data.weight.sum())
