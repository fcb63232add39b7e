"""
Which features tell three wines apart?
======================================

All classes are fitted together, so that their scores live in a plane: the rows, the corners of the classes and the
features that push towards them fit into one picture.
"""

from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from softmargin import CompositeLeastSquaresClassifier
from softmargin.plots import ClassBiplotDisplay

wine = load_wine(as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(wine.data)
X = X.rename(columns={"od280/od315_of_diluted_wines": "od280/od315"})
y = wine.target_names[wine.target]
model = CompositeLeastSquaresClassifier(C="auto").fit(X, y)
ClassBiplotDisplay.from_estimator(model, X, y, most=7)
