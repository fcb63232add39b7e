"""
What do class weights do to probabilities?
==========================================

One row in sixteen is positive. Balanced weights find more of them, and state probabilities of a world where half are;
``probability_prior="population"`` keeps the decisions and takes the probabilities back.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import MarginClassifier
from softmargin.plots import ReliabilityDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(12000, 2))
y = (1.5 * X[:, 0] + rng.logistic(size=12000) > 4).astype(int)
train, test = slice(0, 4000), slice(4000, None)
models = {
    "no weights": MarginClassifier(),
    "balanced": MarginClassifier(class_weight="balanced"),
    "balanced, population": MarginClassifier(class_weight="balanced", probability_prior="population"),
}
fig, axes = plt.subplots(1, 3, figsize=(11.5, 4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X[train], y[train])
    found = model.predict(X[test])[y[test] == 1].mean()
    ReliabilityDisplay.from_estimator(model, X[test], y[test], name="", ax=ax)
    ax.set_title(f"{name}\nfinds {found:.0%} of the positives", fontsize=10)
