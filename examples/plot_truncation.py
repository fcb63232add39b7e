"""
What can six rows do to a hundred and fifty?
============================================

Six points far out carry the wrong label. Logistic regression pays for each of them without limit and turns towards
them; with the loss of a row capped they count once, and the fit says that it does not believe them.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import MarginClassifier, TruncatedLogisticRegression
from softmargin.plots import BoundaryDisplay

rng = np.random.default_rng(0)
X = np.vstack([rng.normal([-1, 0], 0.8, (75, 2)), rng.normal([1, 0], 0.8, (75, 2)), rng.normal([7, 4], 0.4, (6, 2))])
truth = np.r_[np.zeros(75, int), np.ones(81, int)]
y = truth.copy()
y[-6:] = 0

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, model in zip(axes, (MarginClassifier(), TruncatedLogisticRegression(scheme=None)), strict=True):
    model.fit(X, y)
    trust = getattr(model, "sample_trust_", None)
    BoundaryDisplay.from_estimator(model, X, y, response="score", trust=trust, ax=ax)
    right = np.mean(model.predict(X[:150]) == truth[:150])
    ax.set_title(f"{type(model).__name__}\n{right:.0%} of the other 150 rows", fontsize=10)
