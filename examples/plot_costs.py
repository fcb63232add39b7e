"""
Where is the threshold when mistakes have prices?
=================================================

A missed case costs five times a false alarm. With probabilities that can be believed the cheapest threshold is known
before any row is seen: 1 / (1 + 5). It is compared with the one that hindsight would choose.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import MarginClassifier
from softmargin.plots import INK, class_colour, clean

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 3))
y = X @ [1.5, -1.0, 0.5] + rng.logistic(size=6000) > 1
missed = 5.0
p = MarginClassifier().fit(X[:1000], y[:1000]).predict_proba(X[1000:])[:, 1]
positive = y[1000:]
thresholds = np.linspace(0.01, 0.95, 200)
cost = [np.mean(missed * (positive & (p <= t)) + (~positive & (p > t))) for t in thresholds]

fig, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
clean(ax).plot(thresholds, cost, color=class_colour(0), lw=2)
for where, name, style in (
    (0.5, "most likely class", ":"),
    (1 / (1 + missed), "1 / (1 + price)", "-"),
    (thresholds[np.argmin(cost)], "best in hindsight", "--"),
):
    price = np.interp(where, thresholds, cost)
    ax.axvline(where, color=INK, lw=1, ls=style, label=f"{name}: {price:.3f} a row")
ax.set(xlabel="call positive above", ylabel="mean cost of a row", ylim=(0, None))
ax.legend(frameon=False)
