# Everything from a fresh clone: `make demo`, `make test`. Needs Python 3.10 to 3.13, g++ 12 or later, make.
#
# $(PYTHON) is used as it is if it can import torch (a GPU machine, an activated environment), and given the small tools
# it lacks; otherwise .venv is made with torch $(TORCH_VERSION). nvcc is used if it is found; without one the package
# holds the emulator only, and says so.
PYTHON ?= python3
TORCH_VERSION ?= 2.13.0
TOOLS = "setuptools>=77" wheel build "cmake>=3.26" ninja numpy scipy lightgbm typer rich matplotlib pytest hypothesis ruff mypy nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm
HAS_TORCH := $(shell $(PYTHON) -c "import torch" 2>/dev/null && echo yes)
HAS_TOOLS := $(shell $(PYTHON) -c "import setuptools, numpy, scipy, typer, rich, matplotlib, pytest, hypothesis" 2>/dev/null && echo yes)

ifeq ($(HAS_TORCH)$(HAS_TOOLS),yesyes)
PY := $(PYTHON)
SETUP :=
else ifeq ($(HAS_TORCH),yes)
PY := $(PYTHON)
SETUP := tools-only
else
PY := .venv/bin/python
SETUP := .venv/ready
endif

# Installed by `make docs` and `make format` alone.
DOCS = "mkdocs>=1.6" "mkdocstrings[python]>=0.27"
FORMAT = clang-format==23.1.5
CPP = $(shell git ls-files 'include/*.h' 'csrc/*.h' 'csrc/*.cpp' 'tests/cpp/*' 'tests/parity/*.h' 'examples/*.cpp' 'examples/*.cu' 'tools/*.cpp')

.PHONY: demo test build lint format format-check docs dist clean tools-only must-fail check-kernels fuzz

demo: build
	$(PY) -m hopper_gemm demo

test: build
	$(PY) -m pytest tests -q -p no:cacheprovider

build: $(SETUP)
	$(PY) setup.py -q build_ext --inplace
	@$(PY) -c "import hopper_gemm as h; k = h.kernels(); c = sum(x.compiled for x in k); \
	print(f'hopper_gemm: {c} kernels for the GPU, {sum(x.emulated for x in k)} for the emulator' + ('' if c else ' (nvcc was not found)'))"

lint: $(SETUP) format-check
	$(PY) tools/lint.py
	$(PY) -m ruff check .
	$(PY) -m mypy

# The C++ sources in the style of .clang-format; the version is fixed, because versions differ in small things.
format: $(SETUP)
	@$(PY) -m pip install -q --disable-pip-version-check $(FORMAT)
	$(PY) -c "import clang_format as f; f.clang_format()" -i $(CPP)

format-check: $(SETUP)
	@$(PY) -m pip install -q --disable-pip-version-check $(FORMAT)
	$(PY) -c "import clang_format as f; f.clang_format()" --dry-run --Werror $(CPP)

# The documentation as a site in build/site: every link and anchor must lead somewhere.
docs: build
	@$(PY) -c "import mkdocs, mkdocstrings" 2>/dev/null || $(PY) -m pip install -q --disable-pip-version-check $(DOCS)
	$(PY) tools/render_docs.py --check
	$(PY) -m mkdocs build --strict --site-dir build/site

# A source archive and a wheel for this Python and torch in dist/, checked for what they must hold and for their size.
dist: $(SETUP)
	rm -rf dist
	$(PY) -m build --no-isolation --outdir dist .
	$(PY) tools/check_dist.py dist

# The emulator as a proof: every seeded fault must be found; every kernel must be silent; random kernels, shapes and seeds.
must-fail: $(SETUP)
	$(PY) tests/faults/must_fail.py

check-kernels: build
	PYTHONPATH=. $(PY) tools/check_kernels.py $(ARGS)

fuzz: build
	PYTHONPATH=. $(PY) tools/fuzz.py $(ARGS)

# The marker is written last: an interrupted set-up starts again.
.venv/ready:
	$(PYTHON) -m venv .venv
	.venv/bin/python -m pip install -q --disable-pip-version-check torch==$(TORCH_VERSION) $(TOOLS)
	touch $@

tools-only:
	$(PY) -m pip install -q --disable-pip-version-check $(TOOLS)

clean:
	rm -rf build .venv hopper_gemm/lib hopper_gemm/include hopper_gemm/*.so
