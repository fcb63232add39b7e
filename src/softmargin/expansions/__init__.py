"""Which functions can f be?"""

from softmargin.expansions._base import Expansion
from softmargin.expansions._bins import BinnedTable
from softmargin.expansions._build import expand
from softmargin.expansions._features import DenseFeatures, LinearScore, SparseFeatures
from softmargin.expansions._gram import KernelColumns, KernelScore, NystroemFeatures
from softmargin.expansions._kernel import Kernel
from softmargin.expansions._literals import Literal, Rule
from softmargin.expansions._rules import RuleColumns, cover, pack
from softmargin.expansions._table import Column, Table, needs_table
from softmargin.expansions._threads import in_threads

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
