"""Build the compiled loops with checks, beside the ordinary build, and run their tests and the fuzzer on them.

``boundscheck`` compiles with Cython's index checks, ``sanitizers`` with the address and undefined behaviour sanitizers
of the C compiler, ``strict`` the ordinary way with warnings as errors, by the compiler that ``CC`` names. The package
is installed below ``build/NAME`` and found through ``PYTHONPATH``; ``-S`` keeps the finder of the editable install from
answering first.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILDS = {
    "boundscheck": ["-Dchecked=true"],
    "sanitizers": ["-Dchecked=true", "-Db_sanitize=address,undefined", "-Db_lundef=false", "-Dc_args=-g"],
    "strict": ["-Dwerror=true", "-Dwarning_level=1"],
}
# the tests that go through each compiled loop with small, awkward and random inputs
TESTS = [
    "tests/elasticnet/test_margin_path.py", "tests/elasticnet/test_solver.py", "tests/expansions/test_additive.py",
    "tests/elasticnet/test_concave.py", "tests/expansions/test_expansions.py",
    "tests/losses/test_exponentials.py", "tests/multicategory/test_awkward_classes.py",
    "tests/multicategory/test_multicategory_svc.py", "tests/multicategory/test_trust.py",
    "tests/paths/test_exactness.py", "tests/paths/test_golden.py", "tests/paths/test_products.py",
    "tests/rules/test_given_hypotheses.py", "tests/rules/test_leveraging.py",
    "tests/rules/test_rule_search.py", "tests/rules/test_rule_trust.py", "tests/rules/test_trees.py",
    "tests/svm/test_box_qp.py", "tests/svm/test_kinked_losses.py",
]  # fmt: skip


def build(name: str) -> Path:
    """Compile and install; returns the directory that holds the package."""
    compiled = f"{name}-{Path(os.environ.get('CC', 'cc')).name}" if name == "strict" else name
    place, target = ROOT / "build" / compiled, ROOT / "build" / f"{compiled}-package"
    if not (place / "build.ninja").is_file():
        subprocess.run(["meson", "setup", place, ROOT, f"--prefix={target}", *BUILDS[name]], check=True)
    subprocess.run(["meson", "compile", "-C", place], check=True)
    subprocess.run(["meson", "install", "--quiet", "-C", place], check=True)
    found = next(target.rglob("softmargin/__init__.py"), None)
    if found is None:
        raise SystemExit(f"{target} holds no softmargin after the installation")
    return found.parent.parent


def environment(name: str, package: Path) -> dict[str, str]:
    """Variables under which Python finds the checked package, and the sanitizers their library."""
    path = [str(package), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]]
    found = os.environ | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(path)), "OPENBLAS_NUM_THREADS": "1"}
    if name == "sanitizers":
        compiler = os.environ.get("CC", "gcc")
        asked = [compiler, "-print-file-name=libasan.so"]
        found |= {
            "LD_PRELOAD": subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip(),
            "ASAN_OPTIONS": "detect_leaks=0,allocator_may_return_null=1",
            "UBSAN_OPTIONS": "halt_on_error=1,print_stacktrace=1",
        }
    return found


def main() -> int:
    """Build, test, fuzz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=sorted(BUILDS))
    parser.add_argument("--seconds", type=int, default=120, help="of fuzzing after the tests")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    variables = environment(options.name, build(options.name))
    python = [sys.executable, "-S", "-m"]
    tests = [*python, "pytest", "-q", "-x", "-p", "no:cacheprovider", "-k", "not checks", *TESTS]
    tests += ["--dist", "worksteal", "--tx", f"2*popen//python={sys.executable} -S"]  # -n would leave out the -S
    fuzz = [*python, "tests.fuzz", "--seconds", str(options.seconds), "--seed", str(options.seed)]
    limits = ["--memory", "0"] if options.name == "sanitizers" else []  # shadow memory needs the address space
    for command in (tests, [*fuzz, *limits]):
        status = subprocess.run(command, env=variables, cwd=ROOT).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())
