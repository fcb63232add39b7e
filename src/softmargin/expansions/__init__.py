"""Which functions can f be?"""

from softmargin.expansions._base import Expansion
from softmargin.expansions._build import expand
from softmargin.expansions._features import DenseFeatures, LinearScore, SparseFeatures
from softmargin.expansions._gram import KernelColumns, KernelScore, NystroemFeatures
from softmargin.expansions._kernel import Kernel

__all__ = [
    "DenseFeatures",
    "Expansion",
    "Kernel",
    "KernelColumns",
    "KernelScore",
    "LinearScore",
    "NystroemFeatures",
    "SparseFeatures",
    "expand",
]
