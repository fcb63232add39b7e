"""Print pins for the oldest versions that ``pyproject.toml`` allows: ``numpy>=2.0`` becomes ``numpy==2.0``.

What only checks the rest (pytest and its companions) stays free: newer testing tools are no part of the claim. Polars
is a kind of table that users bring, so its oldest is held to the claim although nothing but tests installs it.
"""

import re
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).resolve().parent.parent / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
EXTRAS = ("plot", "cli", "data", "dask")
TABLES = ("polars",)


def main() -> None:
    """One line per requirement."""
    wanted = [*PROJECT["dependencies"], *(one for extra in EXTRAS for one in PROJECT["optional-dependencies"][extra])]
    wanted += [one for one in PROJECT["optional-dependencies"]["test-core"] if one.startswith(TABLES)]
    for requirement in sorted(set(wanted)):
        name, lowest = re.fullmatch(r"([\w-]+)(?:\[[\w,]+\])?>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
        print(f"{name}=={lowest}")


if __name__ == "__main__":
    main()
