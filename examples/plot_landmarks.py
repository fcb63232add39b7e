"""
How many landmarks replace a kernel matrix?
===========================================

A kernel machine on n rows asks for an n x n matrix. With ``n_components`` it asks for n x m: the functions spanned by m
landmarks. A few dozen already draw the same boundary.
"""

import time

import matplotlib.pyplot as plt

from softmargin import MarginClassifier
from softmargin.datasets import make_moons
from softmargin.plots import BoundaryDisplay

data, new = make_moons(1500, noise=0.25, random_state=0), make_moons(4000, noise=0.25, random_state=1)
fig, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained", sharey=True)
for ax, landmarks in zip(axes, (5, 15, 60, None), strict=True):
    start = time.perf_counter()
    model = MarginClassifier(kernel="rbf", gamma=2.0, C=10.0, n_components=landmarks, random_state=0)
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - start
    BoundaryDisplay.from_estimator(model, data.X[:300], data.y[:300], ax=ax, resolution=80, size=8)
    name = "whole kernel" if landmarks is None else f"{landmarks} landmarks"
    ax.set_title(f"{name}\n{model.score(new.X, new.y):.1%} right, fit {seconds:.2f} s", fontsize=10)
