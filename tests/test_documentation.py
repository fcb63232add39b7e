"""The documentation leaves nothing out: names of the reference, pages of its contents, questions of the gallery."""

import re
from pathlib import Path

import pytest

import softmargin

ROOT = Path(__file__).resolve().parent.parent
DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="about the repository, which is not at hand")
MODULES = ("chunks", "datasets", "export", "inference", "losses", "paths", "penalties", "plots", "report")
HELPERS = {"INK", "SOFT", "class_colour", "clean", "diverging", "new_axes", "pyplot"}  # for those who draw displays


@pytest.mark.parametrize("module", MODULES)
def test_the_reference_names_everything_public(module):
    named = set(re.findall(rf"^   {module}\.(\w+)$", (DOCS / "api.rst").read_text(encoding="utf-8"), re.M))
    missing = set(getattr(softmargin, module).__all__) - named - HELPERS - {"audit_labels"}
    assert not missing, f"docs/api.rst lacks {sorted(missing)} of softmargin.{module}"


def test_the_reference_names_every_export():
    named = set(re.findall(r"^   (\w+)$", (DOCS / "api.rst").read_text(encoding="utf-8"), re.M))
    assert set(softmargin._EXPORTS) <= named


def test_every_page_is_in_a_table_of_contents():
    listed = set()
    for page in DOCS.rglob("*.md"):
        if "generated" in page.parts or "gallery" in page.parts or "_build" in page.parts:
            continue
        for block in re.findall(r"```\{toctree\}(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            names = [line.strip() for line in block.splitlines() if line.strip() and not line.startswith(":")]
            listed |= {(page.parent / name).resolve() for name in names}
    pages = {
        path.with_suffix("").resolve()
        for folder in (DOCS, DOCS / "guides", DOCS / "theory")
        for path in folder.glob("*.md")
    }
    assert pages - listed == {(DOCS / "index").resolve()}


def test_the_gallery_asks_at_least_twenty_questions_and_explains_each():
    examples = sorted(EXAMPLES.glob("plot_*.py"))
    assert len(examples) >= 20
    for path in examples:
        title, line = path.read_text(encoding="utf-8").splitlines()[1:3]
        assert re.fullmatch("=+", line), path.name
        assert len(line) == len(title), path.name


@pytest.mark.parametrize("page", sorted((DOCS / "theory").glob("*.md")), ids=lambda path: path.stem)
def test_theory_has_symbols_errata_and_what_reproduces(page):
    text = page.read_text(encoding="utf-8")
    if page.stem != "index":
        assert all(heading in text for heading in ("## Symbols", "## Errata", "## What reproduces"))
