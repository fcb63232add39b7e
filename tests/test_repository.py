"""Facts about the repository that must agree with each other."""

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest

import softmargin

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="about the repository, which is not at hand")
PUBLIC_MODULES = ["softmargin", *(f"softmargin.{name}" for name in softmargin._MODULES)]


def public_names():
    for module_name in PUBLIC_MODULES:
        module = importlib.import_module(module_name)
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{module_name}.{name}", value


def test_one_version_everywhere():
    """meson.build decides; the installed one is compared where a distribution is tested (tools/check_dist.py)."""
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]
    meson = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text()).group(1)
    citation = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.M).group(1)
    recipe = re.search(r'set version = "([^"]+)"', (ROOT / "conda" / "meta.yaml").read_text()).group(1)
    changes = re.search(r"^## \[(\d[^\]]*)\]", (ROOT / "CHANGELOG.md").read_text(), re.M).group(1)
    assert meson == citation == recipe == changes


def test_the_package_says_that_it_is_typed():
    assert (Path(softmargin.__file__).parent / "py.typed").is_file()


@pytest.mark.parametrize(
    ("name", "value"), list(public_names()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_every_public_name_is_documented(name, value):
    doc = inspect.getdoc(value)
    assert doc, f"{name} has no docstring"
    if inspect.isclass(value) and doc == inspect.getdoc(value.__mro__[1]):
        pytest.fail(f"{name} only inherits the docstring of {value.__mro__[1].__name__}")
    if inspect.isclass(value) and value.__module__.startswith("softmargin"):
        for method in ("fit", "predict", "predict_proba", "plot", "from_estimator", "at"):
            own = value.__dict__.get(method)
            if own is not None:
                assert inspect.getdoc(getattr(value, method)), f"{name}.{method} has no docstring"


@pytest.mark.parametrize("name", sorted(softmargin._EXPORTS))
def test_the_readme_names_every_export(name):
    assert f"`{name}`" in (ROOT / "README.md").read_text()


def test_exports_are_declared_for_type_checkers():
    source = (ROOT / "src" / "softmargin" / "__init__.py").read_text()
    declared = source[source.index("if TYPE_CHECKING") : source.index("_MODULES")]
    for name in (*softmargin._MODULES, *softmargin._EXPORTS):
        assert re.search(rf"\b{name}\b", declared), f"{name} is not imported under TYPE_CHECKING"


def test_no_source_file_has_outgrown_its_subject():
    long = {}
    for pattern in ("src/softmargin/**/*.py", "src/softmargin/**/*.pyx", "tests/**/*.py", "benchmarks/**/*.py"):
        for path in ROOT.glob(pattern):
            lines = path.read_text(encoding="utf-8").count("\n")
            if lines > 400:
                long[str(path.relative_to(ROOT))] = lines
    assert not long, f"over 400 lines, split by subject: {long}"


def _functions(path):
    """The functions of a file with the class they belong to, if any."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                yield (node.name if isinstance(node, ast.ClassDef) else ""), child


def test_only_what_users_call_takes_more_than_six_parameters():
    """Users' functions and classes take keywords; everything else takes dataclasses of what belongs together."""
    public = {name.rsplit(".", 1)[-1] for name, _ in public_names()}
    many = []
    for path in (ROOT / "src" / "softmargin").rglob("*.py"):
        for owner, function in _functions(path):
            given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
            n = len([one for one in given if one.arg not in ("self", "cls")])
            if n > 6 and (owner or function.name) not in public and path.name != "_app.py":  # commands have options
                many.append(f"{path.relative_to(ROOT)}: {function.name} takes {n}")
    assert not many, many


def test_every_package_module_lists_its_public_names():
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src" / "softmargin").rglob("*.py")}
    defining = re.compile(r"^(def|class|from|import|@) ?", re.M)
    missing = [
        str(p.relative_to(ROOT)) for p, text in sources.items() if defining.search(text) and "__all__" not in text
    ]
    assert not missing, f"no __all__ in {missing}"


def _named_files(text):
    """Paths below src/softmargin that a document names in backticks."""
    words = re.findall(r"`([\w/]+(?:\.pyx?)?)`", text)
    return sorted({word for word in words if "/" in word and not word.startswith(("tests/", "benchmarks/"))})


@pytest.mark.parametrize("name", _named_files((ROOT / "docs" / "architecture.md").read_text()))
def test_the_architecture_page_names_files_that_exist(name):
    assert (ROOT / "src" / "softmargin" / name).exists()
