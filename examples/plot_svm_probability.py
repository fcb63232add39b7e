"""
How sure is a support vector machine?
=====================================

The hinge loss gives a sign and no probability. Three ways to one, against the true probability of the disk problem:
bracketing by weighted machines, calibration of the scores, and the link of a smooth loss.
"""

import matplotlib.pyplot as plt

from softmargin import CoherenceClassifier, MarginClassifier, ProbabilisticSVC, ScoreCalibrator
from softmargin.datasets import make_disk

train, test = make_disk(400, random_state=0), make_disk(3000, random_state=1)
models = {
    "bracketing (ProbabilisticSVC)": ProbabilisticSVC(kernel="rbf"),
    "calibrated hinge (ScoreCalibrator)": ScoreCalibrator(MarginClassifier(loss="hinge", kernel="rbf")),
    "coherence link": CoherenceClassifier(kernel="rbf", temperature=0.5),
}

fig, axes = plt.subplots(1, 3, figsize=(11, 3.6), sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    estimate = model.fit(train.X, train.y).predict_proba(test.X)[:, 1]
    ax.scatter(test.probability, estimate, s=4, alpha=0.3, color="#3366aa")
    ax.plot([0, 1], [0, 1], color="black", linewidth=1)
    ax.set(title=f"{name}\nmean error {abs(estimate - test.probability).mean():.3f}", xlabel="true probability")
axes[0].set_ylabel("estimate")
fig.tight_layout()
