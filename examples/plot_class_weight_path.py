"""
One machine for every class weight
==================================

The exact path in the class weight: where the score of a row changes sign is its probability, which is what
ProbabilisticSVC reads off.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import paths
from softmargin.datasets import make_disk

data = make_disk(150, random_state=0)
path = paths.weight_path(data.X, data.y, C=1.0, kernel="rbf")
weights = np.linspace(0.02, 0.98, 97)
rows = data.X[:8]
scores = np.array([path.decision_function(rows, weight) for weight in weights])

plt.figure(figsize=(7, 4))
for j, column in enumerate(scores.T):
    plt.plot(weights, column, label=f"true probability {data.probability[j]:.2f}")
plt.axhline(0, color="black", linewidth=0.8)
plt.xlabel("class weight")
plt.ylabel("score")
plt.legend(fontsize=7, ncols=2)
plt.tight_layout()
