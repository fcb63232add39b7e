"""
From logistic regression to the support vector machine
======================================================

The coherence loss at falling temperature: the loss sharpens into the hinge, and the probability it implies becomes a
step. At every positive temperature the step is a curve that can be inverted.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin.losses import Coherence

u = np.linspace(-2, 3, 300)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6))
for temperature in (1.0, 0.5, 0.2, 0.05):
    loss = Coherence(temperature=temperature)
    axes[0].plot(u, loss.value(u), label=f"temperature {temperature}")
    axes[1].plot(u - 0.5, loss.probability(u - 0.5), label=f"temperature {temperature}")
axes[0].set(xlabel="margin", ylabel="loss", title="towards the hinge")
axes[1].set(xlabel="score", ylabel="probability", title="what a score means")
axes[0].legend(fontsize=8)
fig.tight_layout()
