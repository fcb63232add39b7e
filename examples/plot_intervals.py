"""
How sure are the coefficients?
==============================

Sandwich intervals of a logistic fit: they do not believe the loss to be the true likelihood.
"""

import numpy as np

from softmargin import MarginClassifier
from softmargin.inference import Inference
from softmargin.plots import IntervalDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 6))
y = (X @ [1.0, -1.0, 0.5, 0.0, 0.0, 0.25] + rng.logistic(size=400) > 0).astype(int)
model = MarginClassifier(C=10.0).fit(X, y)
IntervalDisplay.from_inference(Inference(model, X, y))
