"""Kernel functions by name, and the expansion with one column per training row."""

from softmargin.expansions.kernels import laplacian, linear, matern, polynomial, rbf  # registers each
from softmargin.expansions.kernels.additive import AdditiveColumns, AdditiveSplines
from softmargin.expansions.kernels.columns import KernelColumns, KernelScore
from softmargin.expansions.kernels.function import KernelFunction, available, register
from softmargin.expansions.kernels.kernel import Kernel

__all__ = [
    "AdditiveColumns",
    "AdditiveSplines",
    "Kernel",
    "KernelColumns",
    "KernelFunction",
    "KernelScore",
    "available",
    "laplacian",
    "linear",
    "matern",
    "polynomial",
    "rbf",
    "register",
]
