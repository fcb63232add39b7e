"""Exact paths of support vector machines in one parameter, by a parametric active set method."""
