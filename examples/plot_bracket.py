"""
How finely can weighted machines say a probability?
===================================================

Each machine answers whether the probability exceeds its weight. Between the last yes and the first no lies the bracket:
narrower with more machines, and no narrower than the data allow.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import ProbabilisticSVC
from softmargin.datasets import make_disk
from softmargin.plots import INK, class_colour, clean

train, test = make_disk(300, random_state=0), make_disk(400, random_state=1)
order = np.argsort(test.probability)
fig, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
for ax, weights in zip(axes, (5, 30), strict=True):
    model = ProbabilisticSVC(kernel="rbf", n_weights=weights).fit(train.X, train.y)
    p = model.predict_proba(test.X)[order, 1]
    clean(ax).scatter(np.arange(len(p)), p, s=8, color=class_colour(0), label="bracketed")
    ax.plot(test.probability[order], color=INK, lw=1.2, label="true probability")
    error = np.abs(p - test.probability[order]).mean()
    ax.set(title=f"{weights} machines: mean error {error:.3f}", xlabel="rows, by their true probability")
axes[0].set_ylabel("probability")
axes[0].legend(frameon=False)
