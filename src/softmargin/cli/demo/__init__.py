"""The sections of the demo: one file each, found by looking in this directory.

To add a topic, add a file with a ``SECTION``; nothing else has to know about it.
"""

from importlib import import_module
from pkgutil import iter_modules

from softmargin.cli._stage import Section

__all__ = ["sections"]


def sections() -> list[Section]:
    """Every section, in the order shown."""
    modules = [import_module(f"{__name__}.{module.name}") for module in iter_modules(__path__)]
    return sorted((module.SECTION for module in modules), key=lambda section: section.order)
