"""Which functions can f be?"""

from softmargin.expansions._kernel import Kernel

__all__ = ["Kernel"]
