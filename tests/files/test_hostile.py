"""No file, however damaged or clever, crashes the reader, runs code, allocates without limit or gives another model."""

import builtins
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest
from tests.files import models
from tests.files.test_save import rewritten

import softmargin as sm

N_MUTATED = 10_000


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "model"
    sm.save(models.make("table"), path)
    return path


def _loads_or_is_refused(path, expected):
    try:
        again = sm.load(path)
    except sm.InvalidModelFile:
        return
    np.testing.assert_array_equal(again.decision_function(models.TABLE), expected)


def test_damaged_files_are_refused_or_unharmed(written, tmp_path):
    """Truncated, flipped, overwritten, spliced: the model is the old one, or there is none."""
    content = written.read_bytes()
    expected = sm.load(written).decision_function(models.TABLE)
    rng = np.random.default_rng(0)
    path = tmp_path / "mutated"
    for number in range(N_MUTATED):
        damaged = bytearray(content)
        for _ in range(int(rng.integers(1, 4))):
            kind, place = number % 5, int(rng.integers(len(damaged)))
            if kind == 0:
                del damaged[place:]
            elif kind == 1:
                damaged[place] ^= 1 << int(rng.integers(8))
            elif kind == 2:
                length = int(rng.integers(1, 50))
                damaged[place : place + length] = rng.bytes(length)
            elif kind == 3:
                del damaged[place : place + int(rng.integers(1, 200))]
            else:
                other = int(rng.integers(len(damaged)))
                damaged[place:place] = damaged[other : other + int(rng.integers(1, 200))]
            if not damaged:
                break
        path.write_bytes(damaged)
        _loads_or_is_refused(path, expected)


def _nodes(node):
    """Every dictionary and list of a graph."""
    if isinstance(node, dict):
        yield node
        for item in node.values():
            yield from _nodes(item)
    elif isinstance(node, list):
        yield node
        for item in node:
            yield from _nodes(item)


STRANGE = (
    None, True, -1, 10**30, 0.5, "", "os.system", [], {}, [[]], {"ref": 0}, {"ref": 99}, {"array": 0}, {"array": -1},
    {"known": "builtins.eval"}, {"known": "numpy.load"}, {"function": "os:system"}, {"dtype": "O"}, {"dtype": "f8,f8"},
    {"object": "subprocess.Popen", "state": {"dict": []}, "id": 1000},
    {"object": "softmargin.MarginClassifier", "state": {"dict": [["predict", None]]}, "id": 1001},
    {"object": "softmargin.MarginClassifier", "state": {"dict": [["__class__", 1]]}, "id": 1002},
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
def test_clever_files_are_refused_or_give_a_plain_error(written, tmp_path, monkeypatch):
    """Graphs changed by someone who can compute digests: nothing is imported, nothing but ordinary errors is raised."""
    allowed = importlib.import_module

    def watched(name, package=None):
        assert name.split(".")[0] in ("softmargin", "sklearn", "scipy", "numpy"), f"a file imported {name}"
        return allowed(name, package)

    monkeypatch.setattr(importlib, "import_module", watched)
    monkeypatch.setattr(builtins, "eval", lambda *a: pytest.fail("a file called eval"))
    monkeypatch.setattr(os, "system", lambda *a: pytest.fail("a file called os.system"))
    with zipfile.ZipFile(written) as archive:
        graph = archive.read("graph.json").decode()
    rng = np.random.default_rng(1)
    for _ in range(300):
        tree = json.loads(graph)
        places = list(_nodes(tree))
        place = places[int(rng.integers(len(places)))]
        strange = STRANGE[int(rng.integers(len(STRANGE)))]
        if isinstance(place, dict):
            place[list(place)[int(rng.integers(len(place)))]] = strange
        elif place:
            place[int(rng.integers(len(place)))] = strange

        def change(manifest, members, tree=tree):
            members["graph.json"] = json.dumps(tree).encode()

        try:
            model = sm.load(rewritten(written, tmp_path / "clever", change))
        except sm.InvalidModelFile:
            continue
        with contextlib.suppress(Exception):  # an odd model may fail in any ordinary way
            model.decision_function(models.TABLE)


def test_bombs_are_refused_before_they_unfold(written, tmp_path):
    def bomb(manifest, members):
        members["arrays/0.npy"] = bytes(1 << 28)

    rewritten(written, tmp_path / "bomb", bomb)
    assert (tmp_path / "bomb").stat().st_size < 1 << 20
    tracemalloc.start()
    with pytest.raises(sm.InvalidModelFile, match="max_bytes"):
        sm.load(tmp_path / "bomb", max_bytes=1 << 24)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 24


def test_arrays_that_claim_to_be_larger_than_they_are_are_refused(written, tmp_path):
    def lie(manifest, members):
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
        members["arrays/0.npy"] = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header

    with pytest.raises(sm.InvalidModelFile, match="size"):
        sm.load(rewritten(written, tmp_path / "lie", lie))


def test_pickled_arrays_are_refused(written, tmp_path):
    def smuggle(manifest, members):
        header = b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
        members["arrays/0.npy"] = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"cos\nsystem\n."

    with pytest.raises(sm.InvalidModelFile, match="dtype"):
        sm.load(rewritten(written, tmp_path / "smuggled", smuggle))


@pytest.mark.parametrize("header", [b"{'descr': '<f8'", b"(\n", b"{'descr': (, 'shape': ()}", b"\x00\xff", b""])
def test_headers_that_say_nothing_are_refused(written, tmp_path, header):
    def garble(manifest, members):
        members["arrays/0.npy"] = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header

    with pytest.raises(sm.InvalidModelFile, match="header"):
        sm.load(rewritten(written, tmp_path / "garbled", garble))


@pytest.mark.parametrize("name", ["../escape.npy", "/tmp/escape.npy", "arrays/../../escape.npy"])
def test_members_with_paths_write_nothing(written, tmp_path, name):
    def escape(manifest, members):
        members[name] = b"x"

    with pytest.raises(sm.InvalidModelFile):
        sm.load(rewritten(written, tmp_path / "escape", escape))
    assert sorted(os.listdir(tmp_path)) == ["escape"]


def test_deep_graphs_are_refused(written, tmp_path):
    def deepen(manifest, members):
        members["graph.json"] = b"[" * 200_000 + b"]" * 200_000

    with pytest.raises(sm.InvalidModelFile):
        sm.load(rewritten(written, tmp_path / "deep", deepen))


WRITER = """
import sys, numpy as np, softmargin as sm
from sklearn.datasets import make_classification
X, y = make_classification(300, 20, random_state=0)
models = [sm.MarginClassifier(kernel="rbf", C=C).fit(X, y) for C in (0.1, 1.0)]
print("ready", flush=True)
while True:
    for model in models:
        sm.save(model, sys.argv[1])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
def test_a_killed_writer_leaves_a_whole_file(tmp_path):
    """kill -9 at any moment: the old file or the new one, never a part."""
    path = tmp_path / "model"
    rng = np.random.default_rng(0)
    for _ in range(3):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
        assert writer.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 30
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(float(rng.uniform(0, 0.05)))
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert sm.load(path).C in (0.1, 1.0)
