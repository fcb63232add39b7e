"""Build what is published, and hold it to what users do with it: install it somewhere clean, and run its tests there.

The sdist is made from the last commit, the wheel from the sdist. Both are read by ``twine check``, and the files of the
sdist are compared with the repository's. Then a new environment gets the wheel and what tests need, the sdist is
unpacked *without its sources*, so that nothing but the installed package can be imported, and the suite runs from
there. Tests about the repository itself skip. ``--suite-only`` runs the last step with the package this Python has.
"""

import argparse
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = "plot,cli,data,dask,export,test"
IN_WHEEL = ("softmargin/py.typed", "softmargin/_compiled/__init__.py", "entry_points.txt", "licenses/LICENSE")
NEVER_IN_WHEEL = (".pyx", ".pyc", "meson.build", "tests/")


def run(*command: str | Path, cwd: Path = ROOT, **variables: str) -> None:
    """A command that must succeed."""
    print("+", *command, flush=True)
    subprocess.run([str(part) for part in command], cwd=cwd, check=True, env=os.environ | variables)


def build(folder: Path) -> tuple[Path, Path]:
    """The sdist and the wheel made from it."""
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def check_manifest(sdist: Path) -> None:
    """The sdist holds what the repository holds (check-manifest itself builds outside of git, where meson cannot)."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split(
        "\n"
    )
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames() if archive.getmember(name).isfile()}
    difference = (packed ^ set(filter(None, listed))) - {"PKG-INFO"}
    if difference:
        raise SystemExit(f"{sdist.name} and the repository differ in {sorted(difference)}")


def check_files(sdist: Path, wheel: Path) -> None:
    """Metadata that an index accepts, the repository's files in the sdist, the package's and no others in the wheel."""
    run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
    check_manifest(sdist)
    names = zipfile.ZipFile(wheel).namelist()
    missing = [one for one in IN_WHEEL if not any(name.endswith(one) for name in names)]
    stray = [name for name in names if name.endswith(NEVER_IN_WHEEL[:3]) or NEVER_IN_WHEEL[3] in name]
    if missing or stray:
        raise SystemExit(f"{wheel.name} lacks {missing} and should not hold {stray}")


def whole_suite() -> list[str]:
    """What ``make test`` runs, with the installed package in place of the sources."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    paths = settings["tool"]["pytest"]["ini_options"]["testpaths"]
    return ["--pyargs", *("softmargin" if path == "src/softmargin" else path for path in paths)]


def run_suite(python: str | Path, unpacked: Path, tests: list[str], jobs: int) -> None:
    """Pytest on an unpacked sdist whose sources are taken away, so that the installed package answers."""
    shutil.rmtree(unpacked / "src")
    run(python, "-c", "import softmargin; assert 'site-packages' in softmargin.__file__", cwd=unpacked)
    parallel = ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
    run(python, "-m", "pytest", "-q", *parallel, *(tests or whole_suite()), cwd=unpacked, OPENBLAS_NUM_THREADS="1")


def test_installed(sdist: Path, wheel: Path, tests: list[str], jobs: int) -> None:
    """The suite of the sdist, against the wheel in an environment of its own."""
    with tempfile.TemporaryDirectory(prefix="softmargin-dist-") as name:
        place = Path(name)
        venv.create(place / "env", with_pip=True)
        python = place / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
        run(python, "-m", "pip", "install", "--quiet", f"{wheel}[{EXTRAS}]", cwd=place)
        with tarfile.open(sdist) as archive:
            archive.extractall(place, filter="data")
        says = f"import softmargin as s; assert s.__version__ == {wheel.name.split('-')[1]!r}, s.__version__"
        run(python, "-c", says, cwd=place)
        run_suite(python, place / sdist.name.removesuffix(".tar.gz"), tests, jobs)


def test_here(tests: list[str], jobs: int) -> None:
    """The suite of the last commit, against the package that is installed for this Python."""
    with tempfile.TemporaryDirectory(prefix="softmargin-suite-") as name:
        packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(name, filter="data")
        run_suite(sys.executable, Path(name), tests, jobs)


def main() -> None:
    """Build, read, install, test."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", help="what pytest is given; everything by default")
    parser.add_argument("--jobs", type=int, default=2, help="processes for the tests")
    parser.add_argument("--folder", type=Path, default=ROOT / "dist", help="where sdist and wheel are written")
    parser.add_argument("--suite-only", action="store_true", help="build nothing; test what this Python has installed")
    options = parser.parse_args()
    if options.suite_only:
        return test_here(options.tests, options.jobs)
    sdist, wheel = build(options.folder)
    check_files(sdist, wheel)
    test_installed(sdist, wheel, options.tests, options.jobs)
    print(f"{sdist.name} and {wheel.name} are fit to be published")


if __name__ == "__main__":
    main()
