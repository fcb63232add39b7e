"""Kernel functions, kernel columns and landmarks."""
