"""Wang, Shen & Liu (2008): class probabilities from a sequence of weighted large-margin classifiers."""
