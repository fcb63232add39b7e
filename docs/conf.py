"""How the documentation is built: Sphinx with the pydata theme, numpydoc, MyST and a gallery that runs its examples."""

from __future__ import annotations

import os
import sys
import warnings
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("SOFTMARGIN_DOCS", "..")  # diagrams of estimators in the gallery link to the reference

project = "softmargin"
author = "The softmargin developers"
release = installed("softmargin")
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
    "pages",
    "sphinx_gallery.gen_gallery",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "**/.ipynb_checkpoints", "generated/*.md"]  # the last are parts of pages
templates_path = ["_templates"]
autosummary_generate = True
autodoc_typehints = "none"  # the numpydoc sections say what parameters are
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "softmargin"
html_theme_options = {
    "show_prev_next": False,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "logo": {"text": "softmargin", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "header_links_before_dropdown": 6,
}
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["softmargin.css"]
html_sidebars = {"index": []}
html_show_sourcelink = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "download_all_examples": False,  # every page offers its script and its notebook
    "matplotlib_animations": False,
    "show_memory": False,
    "min_reported_time": 20,
    "plot_gallery": os.environ.get("SOFTMARGIN_GALLERY", "1") == "1",
}
warnings.filterwarnings("ignore", message="Matplotlib is currently using agg")
# files written for the repository link to each other and to folders of it
suppress_warnings = ["myst.xref_missing", "config.cache"]
