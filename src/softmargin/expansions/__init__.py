"""Which functions can f be?"""

from softmargin._threads import in_threads
from softmargin.expansions.build import expand
from softmargin.expansions.features.linear import DenseFeatures, LinearScore, SparseFeatures
from softmargin.expansions.kernels.columns import KernelColumns, KernelScore, NystroemFeatures
from softmargin.expansions.kernels.kernel import Kernel
from softmargin.expansions.protocol import Expansion
from softmargin.expansions.rules.bins import BinnedTable
from softmargin.expansions.rules.columns import RuleColumns, cover, pack
from softmargin.expansions.rules.literals import Literal, Rule
from softmargin.expansions.rules.table import Column, Table, needs_table

__all__ = [
    "BinnedTable",
    "Column",
    "DenseFeatures",
    "Expansion",
    "Kernel",
    "KernelColumns",
    "KernelScore",
    "LinearScore",
    "Literal",
    "NystroemFeatures",
    "Rule",
    "RuleColumns",
    "SparseFeatures",
    "Table",
    "cover",
    "expand",
    "in_threads",
    "needs_table",
    "pack",
]
