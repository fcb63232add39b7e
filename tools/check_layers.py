"""Check the architecture against the source tree: imports point down the layers, and packages meet at their doors.

The layers are the import-linter contract of pyproject.toml. A door is the ``__init__`` of a package or of one of its
rooms: ``from softmargin.solvers.svm import BoxQP`` is fine anywhere above, ``softmargin.solvers.svm.box_qp`` or
``softmargin.losses._base`` only inside their own package.

An editable install answers for ``softmargin`` with a finder that has no directory to walk, so it is set aside and the
package is read from ``src``.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "softmargin"


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Modules of softmargin that a file imports from, and the names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").startswith("softmargin"):
            for alias in node.names:
                yield node.module or "", alias.name
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("softmargin"):
                    yield alias.name, ""


def _at_a_door(module: str, name: str) -> bool:
    """Whether ``from module import name`` goes through the ``__init__`` of a public package or room."""
    parts = module.split(".")[1:]
    if not parts or parts[0] in ("_compiled", "_threads"):
        return True
    place = SOURCE.joinpath(*parts)
    if len(parts) > 1 and (not (place / "__init__.py").is_file() or any(part.startswith("_") for part in parts)):
        return False
    return not name.startswith("_")


def private_imports() -> list[str]:
    """Every import of one top-level package from inside another, as "file: import"."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        package = path.relative_to(SOURCE).parts[0]
        if package == "__init__.py":
            continue
        for module, name in _imported(ast.parse(path.read_text(encoding="utf-8"))):
            parts = module.split(".")
            foreign = len(parts) > 1 and parts[1] != package.removesuffix(".py")
            if foreign and not _at_a_door(module, name):
                found.append(f"{path.relative_to(SOURCE).as_posix()}: {module} {name}".strip())
    return found


def main() -> int:
    """Both checks; says what breaks them."""
    from importlinter.cli import lint_imports

    sys.meta_path = [finder for finder in sys.meta_path if "Mesonpy" not in type(finder).__name__]
    sys.path.insert(0, str(ROOT / "src"))
    broken = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True)
    private = private_imports()
    for line in private:
        print(f"private import from another package (use the door, the package's or room's __init__): {line}")
    return int(bool(broken) or bool(private))


if __name__ == "__main__":
    sys.exit(main())
