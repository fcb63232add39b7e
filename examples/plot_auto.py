"""
Which machine should I have chosen?
===================================

None alone. The recommended line judges every machine by rows it has not seen and mixes them by what they know; the
leaderboard says what each would have cost.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss

from softmargin import AutoClassifier
from softmargin.plots import class_colour, clean

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_test, y, y_test = X[::2], X[1::2], y[::2], y[1::2]
model = AutoClassifier(effort="fast", random_state=0).fit(X, y)

board = model.leaderboard_.sort_values("log_loss", ascending=False)
print(board[["machine", "log_loss", "weight"]].round(3).to_string(index=False))
fig, ax = plt.subplots(figsize=(7.5, 0.45 * len(board) + 1.2), layout="constrained")
used = board["weight"].to_numpy() > 0.005
ax.barh(np.arange(len(board)), board["log_loss"], color=[class_colour(0) if one else "#cbd2d9" for one in used])
for place, (loss, weight) in enumerate(zip(board["log_loss"], board["weight"], strict=True)):
    if weight > 0.005:
        ax.text(loss, place, f"  weight {weight:.0%}", va="center", fontsize=8.5)
clean(ax).set_yticks(np.arange(len(board)), board["machine"], fontsize=8.5)
mixed = log_loss(y_test, model.predict_proba(X_test))
ax.set(xlabel="log loss on rows left out", title=f"the mixture on {len(y_test)} new rows: {mixed:.3f}")
ax.set_xlim(0, 1.25 * board["log_loss"].max())
