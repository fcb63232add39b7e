"""
What does a margin cost?
========================

A loss is a function of the margin. Convex losses grow for ever; robust ones give up on rows far on the wrong side.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import losses

u = np.linspace(-3, 3, 400)
shown = {
    "convex": [losses.Hinge(), losses.SquaredHinge(), losses.Logistic(), losses.Coherence(temperature=0.5)],
    "robust": [losses.Welsch(1.5), losses.Cauchy(1.0), losses.TruncatedHinge(at=-1.0), losses.Psi()],
}
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True)
for ax, (title, members) in zip(axes, shown.items(), strict=True):
    for loss in members:
        ax.plot(u, loss.value(u), label=repr(loss))
    ax.set(title=title, xlabel="margin y f(x)", ylim=(0, 5))
    ax.legend(fontsize=8)
axes[0].set_ylabel("loss")
fig.tight_layout()
