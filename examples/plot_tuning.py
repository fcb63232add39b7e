"""
Can C be chosen without a test set?
===================================

Approximate leave-one-out judges a whole path of C from the training rows, at the price of a few fits.
"""

from softmargin import MarginClassifier, TunedClassifier
from softmargin.datasets import make_moons
from softmargin.plots import TuningDisplay

data = make_moons(200, random_state=0)
tuned = TunedClassifier(MarginClassifier(kernel="rbf")).fit(data.X, data.y)
print(tuned.best_params_)
TuningDisplay.from_estimator(tuned)
