# Everything runs in .venv, made on first use from python3, a C compiler and make.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.ready
BENCH_STAMP := $(VENV)/.ready-bench
DOCS_STAMP := $(VENV)/.ready-docs
SOURCES := $(wildcard src/softmargin/_compiled/*.pyx src/softmargin/_compiled/*.pxi src/softmargin/_compiled/*.pxd) $(shell find . -name meson.build -not -path './build/*' -not -path './.venv/*')
export OPENBLAS_NUM_THREADS ?= 2

.PHONY: demo docs linkcheck test test-oldest test-free-threaded dist strict regression portable fuzz boundscheck sanitize bench lint format clean

$(VENV)/.tools: pyproject.toml
	test -x $(PY) || $(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --upgrade pip
	$(PY) -m pip install --quiet meson-python meson ninja cython numpy scipy scikit-learn joblib
	touch $@

# An editable build: Python edits need nothing, kernel edits are recompiled here.
$(STAMP): $(VENV)/.tools $(SOURCES)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m pip install --quiet --no-build-isolation --editable ".[plot,cli,data,test,lint]"
	touch $@

$(BENCH_STAMP): $(STAMP)
	$(PY) -m pip install --quiet "setuptools>=70.1" wheel  # peers without wheels are built in this environment
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m pip install --quiet --no-build-isolation --editable ".[bench]"
	-$(PY) -m pip install --quiet --no-deps "adelie>=1.1"  # pins numpy < 2 for no reason that shows; absent is fine
	touch $@

$(DOCS_STAMP): $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m pip install --quiet --no-build-isolation --editable ".[docs]"
	touch $@

# The documentation with its gallery in docs/_build/html; a warning is an error.
docs: $(DOCS_STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html

# Every link between the built pages, anchors included, leads somewhere; and so do those of the repository's documents.
linkcheck: docs
	$(PY) tools/check_links.py docs/_build/html

demo: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/softmargin demo --output demo

test: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -q -n 2 --dist worksteal

# The suite on the oldest dependencies that pyproject.toml allows, in an environment of its own; TESTS= names a part of it.
OLDEST := .venv-oldest
$(OLDEST)/.ready: pyproject.toml tools/oldest.py $(SOURCES) $(shell find src -name '*.py')
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python tools/oldest.py > $(OLDEST)/constraints.txt
	$(OLDEST)/bin/python -m pip install --quiet --constraint $(OLDEST)/constraints.txt ".[plot,cli,data,dask,test-core]"
	touch $@

test-oldest: $(OLDEST)/.ready
	$(OLDEST)/bin/python tools/check_dist.py --suite-only $(TESTS)

# On a Python without the lock (PYTHON=python3.14t): the rooms of the compiled loops, each test in several threads at once.
FREE := .venv-free-threaded
THREADED := svm paths elasticnet smooth multicategory rules robust
test-free-threaded:
	test -x $(FREE)/bin/python || $(PYTHON) -m venv $(FREE)
	$(FREE)/bin/python -m pip install --quiet . "pytest>=8" pytest-run-parallel hypothesis mpmath pandas
	PYTHON_GIL=0 OPENBLAS_NUM_THREADS=1 $(FREE)/bin/python -W error -c "import sys, softmargin._compiled.boxqp; sys.exit(sys._is_gil_enabled())"
	PYTHON_GIL=0 OPENBLAS_NUM_THREADS=1 $(FREE)/bin/python -m pytest -q --parallel-threads=4 \
	  -k "not scikit_learn_checks" $(THREADED:%=tests/%)  # those catch warnings, which threads share

# What is published: sdist and wheel, checked, installed in a clean environment, tested there; TESTS= names a part.
dist: $(STAMP)
	$(PY) -m pip install --quiet "build>=1.2" "twine>=6"
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) tools/check_dist.py $(TESTS)

# Our C by the letter of C11, and the compiled loops, without a warning; CC=clang for the other compiler.
STRICT := -std=c11 -Wall -Wextra -Werror -Wno-unused-function -O2 -fno-math-errno -fno-trapping-math
strict: $(STAMP)
	for header in src/softmargin/_compiled/*.h; do $(CC) $(STRICT) -x c -c -o /dev/null -include $$header /dev/null || exit 1; done
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" CC=$(CC) $(PY) tools/checked_build.py strict --seconds 0

# This commit against BASE (the last tag), fit by fit in turns on one machine.
regression: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) tools/regression.py $(if $(BASE),--base $(BASE))

# The rooms that compute, once more on the arithmetic of an older processor and with two BLAS threads: no test may depend
# on the machine. Left out is what tells nothing about arithmetic: scikit-learn's own checks and simulations of coverage.
PORTABLE := losses expansions smooth elasticnet svm paths robust multicategory rules probability tuning inference
portable: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" OPENBLAS_CORETYPE=Nehalem OPENBLAS_NUM_THREADS=2 \
	  NPY_DISABLE_CPU_FEATURES="$$($(PY) tools/cpu_features.py)" $(PY) -m pytest -q -n 2 --dist worksteal \
	  -k "not (checks or conventions or cover)" $(PORTABLE:%=tests/%)

# Random cases with oracles; SEED= repeats a run, a finding prints the command that repeats it; ROWS="700 2600" makes single
# fits of so many rows, among which hangs are found soonest, ONLY="RobustSVC" cases of that class, and TABLES=1 cases of
# real tables.
SECONDS ?= 600
fuzz: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m tests.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(CASES),--cases $(CASES)) $(if $(ROWS),--rows $(ROWS)) $(if $(ONLY),--only $(ONLY)) $(if $(TABLES),--tables)

# The compiled loops with every index checked, and under the address and undefined behaviour sanitizers.
boundscheck: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) tools/checked_build.py boundscheck --seconds $(CHECK_SECONDS)

CHECK_SECONDS ?= 120
sanitize: boundscheck
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) tools/checked_build.py sanitizers --seconds $(CHECK_SECONDS)

bench: $(BENCH_STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m benchmarks

lint: $(STAMP)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PY) tools/check_layers.py

format: $(STAMP)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

clean:
	rm -rf build dist $(OLDEST) $(FREE) $(VENV)/.ready $(VENV)/.ready-bench $(VENV)/.ready-docs demo docs/_build docs/gallery docs/generated
