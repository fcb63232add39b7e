"""Losses of a whole score vector."""
