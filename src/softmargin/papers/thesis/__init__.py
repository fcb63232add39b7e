"""Park (2010): truncated logistic regression (chapter 2), balancing machines (3), composite least squares (4)."""
