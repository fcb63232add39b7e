"""How sure are we, and which labels look wrong?"""

from softmargin.inference._audit import audit_labels
from softmargin.inference._breakdown import breakdown
from softmargin.inference._inference import Inference
from softmargin.inference._influence_curves import InfluenceCurves, influence, sensitivity
from softmargin.inference._label_audit import LabelAudit
from softmargin.inference._sandwich import LinearFit, sandwich
from softmargin.inference._suitable import Caution

__all__ = [
    "Caution",
    "Inference",
    "InfluenceCurves",
    "LabelAudit",
    "LinearFit",
    "audit_labels",
    "breakdown",
    "influence",
    "sandwich",
    "sensitivity",
]
