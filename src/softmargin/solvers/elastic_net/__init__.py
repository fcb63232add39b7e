"""Smooth losses with l1 costs or folded concave penalties: proximal Newton and its certificate."""
