"""Elastic-net solutions on a grid of C, by continuation."""
