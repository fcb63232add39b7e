"""
A classifier that can be read aloud
===================================

Ten rules on the breast cancer table, with the log odds each adds where it holds.
"""

from sklearn.datasets import load_breast_cancer

from softmargin import RuleBoostClassifier
from softmargin.plots import RuleDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
model = RuleBoostClassifier(n_rules=10).fit(X, y)
print(f"accuracy {model.score(X, y):.3f}")
RuleDisplay.from_estimator(model)
