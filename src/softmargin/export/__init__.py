"""Models that run elsewhere: ONNX for any runtime, SQL for the database, JSON for people and their tools.

A fitted model is first said as a formula (:mod:`softmargin.export._formula`), which each target then writes in its own
words; so a model that has a formula runs everywhere, and a new target is one file.
"""

from softmargin.export._formula import NotExportable
from softmargin.export._to_json import to_json
from softmargin.export._to_onnx import to_onnx
from softmargin.export._to_sql import to_sql

__all__ = ["NotExportable", "to_json", "to_onnx", "to_sql"]
