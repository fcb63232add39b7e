"""How sure are we, and which labels look wrong?"""

from softmargin.inference._audit import audit_labels
from softmargin.inference._inference import Inference
from softmargin.inference._sandwich import sandwich

__all__ = ["Inference", "audit_labels", "sandwich"]
