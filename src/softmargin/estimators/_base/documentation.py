"""Where the picture of an estimator in a notebook links to: its page of the reference.

The address of the documentation is the project's own ("Documentation" among the URLs of the installed package) or what
the environment variable ``SOFTMARGIN_DOCS`` says, for a copy built by ``make docs``. Without either there is no link.
"""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import metadata
from typing import Any

__all__ = ["Documented"]

ADDRESS = "SOFTMARGIN_DOCS"


@cache
def _published() -> str:
    """The address in the package's metadata, or nothing."""
    pairs = (entry.partition(",") for entry in metadata("softmargin").get_all("Project-URL") or ())
    return next((url.strip() for name, _, url in pairs if name.strip().lower() == "documentation"), "")


class Documented:
    """Mixed into every classifier: scikit-learn's diagrams ask these for the link."""

    _doc_link_module = "softmargin"

    @property
    def _doc_link_template(self) -> str:
        address = os.environ.get(ADDRESS) or _published()
        return f"{address.rstrip('/')}/generated/softmargin.{{estimator_name}}.html" if address else ""

    def _doc_link_url_param_generator(self, *_: Any) -> dict[str, str]:
        return {"estimator_name": type(self).__name__}
