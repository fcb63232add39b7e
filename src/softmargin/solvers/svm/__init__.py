"""Losses with one corner: box QPs for kernels, sifting and an interior point for linear features."""
