"""Print the optional processor features NumPy has found here, for ``NPY_DISABLE_CPU_FEATURES``.

Switching them off makes NumPy compute as it would on a processor that has its baseline only.
"""

import re

import numpy as np


def optional_features() -> list[str]:
    """Features NumPy dispatches on and this processor has, without those it was built to require."""
    found = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])
    return [name for name in found if re.fullmatch(r"\w+", name)]


if __name__ == "__main__":
    print(" ".join(optional_features()))
