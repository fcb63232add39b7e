# Everything runs in .venv, made on first use from python3, a C compiler and make.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.ready
BENCH_STAMP := $(VENV)/.ready-bench
DOCS_STAMP := $(VENV)/.ready-docs
SOURCES := $(wildcard src/softmargin/_compiled/*.pyx src/softmargin/_compiled/*.pxd) $(shell find . -name meson.build -not -path './build/*' -not -path './.venv/*')
export OPENBLAS_NUM_THREADS ?= 2

.PHONY: demo docs test portable fuzz boundscheck sanitize bench lint format clean

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
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m pip install --quiet --no-build-isolation --editable ".[bench]"
	-$(PY) -m pip install --quiet --no-deps "adelie>=1.1"  # pins numpy < 2 for no reason that shows; absent is fine
	touch $@

$(DOCS_STAMP): $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m pip install --quiet --no-build-isolation --editable ".[docs]"
	touch $@

# The documentation with its gallery in docs/_build/html; a warning is an error.
docs: $(DOCS_STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m sphinx -W --keep-going -q -b html docs docs/_build/html

demo: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/softmargin demo --output demo

test: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" OPENBLAS_NUM_THREADS=1 $(PY) -m pytest -q -n 2 --dist worksteal

# The rooms that compute, once more on the arithmetic of an older processor and with two BLAS threads: no test may depend
# on the machine. Left out is what tells nothing about arithmetic: scikit-learn's own checks and simulations of coverage.
PORTABLE := losses expansions smooth elasticnet svm paths robust multicategory rules probability tuning inference
portable: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" OPENBLAS_CORETYPE=Nehalem OPENBLAS_NUM_THREADS=2 \
	  NPY_DISABLE_CPU_FEATURES="$$($(PY) tools/cpu_features.py)" $(PY) -m pytest -q -n 2 --dist worksteal \
	  -k "not (checks or conventions or cover)" $(PORTABLE:%=tests/%)

# Random cases with oracles; SEED= repeats a run, a finding prints the command that repeats it.
SECONDS ?= 600
fuzz: $(STAMP)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(PY) -m tests.fuzz --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(CASES),--cases $(CASES))

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
	rm -rf build $(VENV)/.ready $(VENV)/.ready-bench demo
