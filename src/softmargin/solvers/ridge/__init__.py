"""Smooth convex losses with a ridge penalty: Newton's method and what makes its steps cheap."""
