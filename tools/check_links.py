"""Links inside the built documentation and inside the repository's own documents lead somewhere, anchors included.

Links to other sites are listed by ``--outside`` and not followed: whether they answer depends on the day.
"""

import argparse
import re
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("*.md", ".github/*.md", "docs/*.md", "docs/guides/*.md", "docs/theory/*.md", "benchmarks/*.md")
LATER = re.compile(r"^(docs/)?(gallery|generated|_build)/|^(\.\./)*papers/|\.\./gallery|\.\./generated")


class Page(HTMLParser):
    """The targets a page links to and the anchors it has."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := given.get(name)))
        for name in ("href", "src"):
            if (value := given.get(name)) and not (tag == "link" and given.get("rel") in ("canonical", "preconnect")):
                self.links.append(value)


@cache
def read(path: Path) -> Page:
    """One page, read once."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def is_outside(link: str) -> bool:
    """Whether a link leaves the site, or is no address at all."""
    return bool(re.match(r"[a-z][a-z+.-]*:|//", link))


def broken_pages(home: Path) -> list[str]:
    """Links of built pages that lead nowhere."""
    found = []
    for path in sorted(home.rglob("*.html")):
        for link in read(path).links:
            target, anchor = urldefrag(unquote(link))
            if is_outside(link) or "?" in target or not (target or anchor):
                continue
            goal = path if not target else (path.parent / target).resolve()
            goal = goal / "index.html" if goal.is_dir() else goal
            if not goal.is_file():
                found.append(f"{path.relative_to(home)}: {link} is not there")
            elif anchor and goal.suffix == ".html" and anchor not in read(goal).anchors and anchor != "top":
                found.append(f"{path.relative_to(home)}: {link} has no such anchor")
    return found


def broken_documents() -> list[str]:
    """Relative links of Markdown files that lead nowhere in the repository."""
    found = []
    for path in sorted({path for pattern in DOCUMENTS for path in ROOT.glob(pattern)}):
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            target = urldefrag(link)[0]
            if target and not is_outside(link) and not LATER.search(target):
                goal = path.parent / target
                if not (goal.exists() or goal.with_name(goal.name + ".md").exists()):
                    found.append(f"{path.relative_to(ROOT)}: {link} is not there")
    return found


def main() -> int:
    """Print what is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("html", type=Path, nargs="?", help="the built pages")
    parser.add_argument("--outside", action="store_true", help="list links to other sites")
    options = parser.parse_args()
    home = options.html.resolve() if options.html else None
    broken = broken_documents() + (broken_pages(home) if home else [])
    if options.outside and home:
        print(
            *sorted({link for path in home.rglob("*.html") for link in read(path).links if is_outside(link)}), sep="\n"
        )
    print(*broken, f"{len(broken)} links are broken", sep="\n")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
