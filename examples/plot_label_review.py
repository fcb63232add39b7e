"""
Reviewing labels, from suspicion to a better classifier
=======================================================

Some labels of a table are wrong, nobody knows which. An audit ranks the rows by how little their labels can be trusted,
estimates how many are wrong and of which kind, and takes the decisions of a reviewer back.
"""

# %%
# A table of tumours in which a quarter of the malignant ones are recorded as benign, as when a slow finding never
# reaches the register: noise on one side only.
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from softmargin import audit_labels

data = load_breast_cancer(as_frame=True)
names = data.target_names[data.target]
X, X_test, truth, truth_test = train_test_split(data.data, names, random_state=0, stratify=names)
rng = np.random.default_rng(0)
y = np.where((truth == "malignant") & (rng.random(len(truth)) < 0.25), "benign", truth)
wrong = y != truth

# %%
# One call. Each row is judged by models that have not seen it: linear, on landmarks, trees and neighbours, which vote
# with the weights under which the labels are most likely.
audit = audit_labels("auto", X, y, random_state=0)
number = audit.n_errors
print(f"{wrong.sum()} labels are wrong; the audit says {number.value:.0f} ({number.low:.0f} to {number.high:.0f}).")
print(audit.noise_matrix.conditional.round(3))
print(audit.health.round(3))

# %%
# The picture: trust in the labels of each class.
audit.plot()

# %%
# The rows to look at first are wrong but for a tenth, as far as the noise model can see.
suspects = audit.suspects(fdr=0.1)
print(suspects[["row", "given", "suggested", "trust"]].head(10))
print(f"{wrong[suspects['row']].mean():.0%} of {len(suspects)} suspects are wrong.")

# %%
# Duplicates, outliers and columns that give the answer away are part of the audit.
print(audit.table[["duplicate", "conflict", "outlier"]].describe().loc[["mean", "max"]].round(3))
print(audit.leaks.head(3))

# %%
# A reviewer looks at the forty least trusted rows and says what the label should have been. Here the truth is at hand;
# in life ``audit.to_csv`` writes the sheet to be filled in, and the page of a report has buttons for it.
reviewed = {int(row): truth[row] for row in audit["row"][:40]}
judge = make_pipeline(StandardScaler(), LogisticRegression())
fits = {
    "labels as they were": judge.fit(X, y).score(X_test, truth_test),
    "suspects dropped, the rest weighed by trust": audit.refit(judge).score(X_test, truth_test),
    "forty rows reviewed": audit.refit(judge, decisions=reviewed).score(X_test, truth_test),
    "labels as they should be": judge.fit(X, truth).score(X_test, truth_test),
}
for name, accuracy in fits.items():
    print(f"{name:<45} {accuracy:.3f}")
