"""A PostgreSQL server for the tests of queries, where its programs are installed."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest


def _postgres_programs():
    folders = [os.path.dirname(shutil.which("initdb") or "")]
    if os.path.isdir("/usr/lib/postgresql"):
        folders += [f"/usr/lib/postgresql/{number}/bin" for number in sorted(os.listdir("/usr/lib/postgresql"))]
    return next((folder for folder in folders if folder and os.path.exists(f"{folder}/initdb")), None)


@pytest.fixture(scope="module")
def postgres():
    """A temporary cluster on a socket of its own; a function that runs SQL and returns the lines."""
    programs = _postgres_programs()
    shell = next((one for one in (shutil.which("psql"), f"{programs}/psql") if one and os.path.exists(one)), None)
    if programs is None or shell is None or sys.platform == "win32":
        pytest.skip("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pg"))  # short, as sockets want it, and with parents that everybody may pass
    user = []
    if os.geteuid() == 0:  # the server refuses to run as root
        if shutil.which("runuser") is None or subprocess.run(["id", "postgres"], capture_output=True).returncode:
            pytest.skip("PostgreSQL does not run as root, and there is no user postgres")
        user = ["runuser", "-u", "postgres", "--"]
        os.chmod(folder, 0o755)
        shutil.chown(folder, "postgres")
    data, socket = folder / "data", folder
    environment = {**os.environ, "LC_ALL": "C"}
    made = subprocess.run(
        [*user, f"{programs}/initdb", "-D", data, "-U", "me", "-A", "trust", "-E", "UTF8", "--no-sync"],
        capture_output=True,
        env=environment,
        cwd=folder,
    )
    if made.returncode:
        pytest.skip(f"initdb failed: {made.stderr.decode()[-200:]}")
    control = [*user, f"{programs}/pg_ctl", "-D", data, "-w", "-l", folder / "log"]
    options = f"-c listen_addresses='' -c unix_socket_directories={socket} -c fsync=off"
    started = subprocess.run([*control, "-o", options, "start"], capture_output=True, env=environment, cwd=folder)
    if started.returncode:
        pytest.skip(f"the server did not start: {(folder / 'log').read_text()[-200:]}")

    def run(text):
        command = [*user, shell, "-h", socket, "-U", "me", "-d", "postgres", "-qAt", "-F", "\x1f"]
        done = subprocess.run(
            [*command, "-v", "ON_ERROR_STOP=1"], input=text, capture_output=True, text=True, env=environment, cwd=folder
        )
        assert done.returncode == 0, done.stderr
        return [line.split("\x1f") for line in done.stdout.splitlines()]

    yield run
    subprocess.run([*control, "-m", "immediate", "stop"], capture_output=True, env=environment, cwd=folder)
    shutil.rmtree(folder, ignore_errors=True)
