"""Imports only point down the layers of the architecture."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="about the repository, which is not at hand")


def test_imports_only_point_down_the_layers():
    pytest.importorskip("importlinter")
    done = subprocess.run([sys.executable, str(ROOT / "tools" / "check_layers.py")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
