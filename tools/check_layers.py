"""Check the import-linter contract of pyproject.toml against the source tree.

An editable install answers for ``softmargin`` with a finder that has no directory to walk, so it is set aside and the
package is read from ``src``.
"""

import sys
from pathlib import Path

from importlinter.cli import lint_imports

ROOT = Path(__file__).resolve().parent.parent

if __name__ == "__main__":
    sys.meta_path = [finder for finder in sys.meta_path if "Mesonpy" not in type(finder).__name__]
    sys.path.insert(0, str(ROOT / "src"))
    sys.exit(lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True))
