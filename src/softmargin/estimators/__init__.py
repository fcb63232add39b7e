"""What scikit-learn users call: one file per family."""
