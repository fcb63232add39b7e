"""
Does it matter that the rows are not in memory?
===============================================

The same fit from an iterator of chunks and from one array: the same objective, the same certificate.
"""

import matplotlib.pyplot as plt
import numpy as np

from softmargin import MarginClassifier, chunks


def parts():
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(5000, 10))
        yield X, X @ np.linspace(-1, 1, 10) + rng.logistic(size=5000) > 0


chunked = MarginClassifier().fit(*chunks.from_arrays(parts))
X, y = (np.concatenate(part) for part in zip(*parts(), strict=True))
whole = MarginClassifier().fit(X, y)
print(f"gaps {chunked.solution_.gap:.1e} and {whole.solution_.gap:.1e}")

plt.figure(figsize=(4.5, 4))
plt.scatter(whole.coef_, chunked.coef_)
plt.axline((0, 0), slope=1, color="black", linewidth=0.8)
plt.xlabel("coefficients, rows in memory")
plt.ylabel("coefficients, rows in chunks")
plt.tight_layout()
