"""How sure are we?"""

from softmargin.inference._inference import Inference
from softmargin.inference._sandwich import sandwich

__all__ = ["Inference", "sandwich"]
