"""``import softmargin`` stays light: what is heavy is imported when it is used.

Importing scikit-learn costs many times what a few modules of pure Python do, so it is enough to check which packages a
bare import pulls in.
"""

import subprocess
import sys

HEAVY = ("sklearn", "scipy", "numpy", "joblib", "matplotlib", "pandas", "polars", "typer", "rich")


def imported_by(statement):
    program = f"import sys; {statement}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_bare_import_loads_nothing_heavy():
    bare = imported_by("pass")
    assert not (imported_by("import softmargin; dir(softmargin)") - bare) & set(HEAVY)


def test_losses_need_no_scikit_learn():
    assert not imported_by("import softmargin; softmargin.losses.available()") & {"sklearn", "matplotlib", "pandas"}


def test_plots_load_matplotlib_only_when_drawing():
    assert "matplotlib" not in imported_by("import softmargin; softmargin.plots.PathDisplay")


def test_the_command_line_entry_is_light():
    assert not imported_by("import softmargin.cli") & {"sklearn", "matplotlib", "pandas", "typer", "rich"}
