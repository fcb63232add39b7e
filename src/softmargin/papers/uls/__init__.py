"""Nock & Nielsen (2008): boosting any strictly convex calibrated surrogate over rules."""
