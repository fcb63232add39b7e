"""Nonconvex losses: bound by a convex loss that touches, minimise the bound, repeat."""
