"""Boosting over rules: search, leverage, prune."""
