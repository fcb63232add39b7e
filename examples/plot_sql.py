"""
Does the query say what the model says?
=======================================

A fitted model as one SQL expression, run by a database that knows nothing of Python: the same probabilities for every
row.
"""

import sqlite3

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer

from softmargin import RuleBoostClassifier, export
from softmargin.plots import class_colour, clean

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X.iloc[:, :6].rename(columns=lambda name: name.replace(" ", "_"))
model = RuleBoostClassifier(n_rules=8).fit(X, y)
query = export.to_sql(model, "tumours", dialect="sqlite", key="id")
print(query[:600], "...")

database = sqlite3.connect(":memory:")
X.rename_axis("id").reset_index().to_sql("tumours", database, index=False)
answers = pd.read_sql(query, database, index_col="id").loc[X.index]
database.close()
print(answers.head())

fig, ax = plt.subplots(figsize=(4.8, 4.4), layout="constrained")
clean(ax).scatter(
    model.predict_proba(X)[:, 1], answers["probability_1"], s=14, color=[class_colour(code) for code in y], alpha=0.6
)
ax.axline((0, 0), slope=1, color="black", lw=0.8)
ax.set(xlabel="predict_proba in Python", ylabel="probability in SQLite")
