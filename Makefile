# One command per chore, the same here and in CI. Each builds what it needs of .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
# Real data, laid out as README.md says, is used where this names its folder.
export NICECF_DATA

.PHONY: demo test check format bench bench-neighbors test-oldest clean help

help:            ## show this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | column -t -s ':'

demo: .venv/demo.done            ## one person's four counterfactuals, then a whole test set
	$(BIN)/python -m nicecf.demo

test: .venv/test.done            ## everything that can fail
	$(BIN)/pytest -n auto

check: .venv/check.done          ## style, types, imports, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/typos

format: .venv/check.done         ## let ruff write the style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: .venv/bench.done          ## speed beside NICEx, growth of time and memory, rules, quality of the thorough search
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/constraints.py
	$(BIN)/python benchmarks/quality.py --limit
	$(BIN)/python benchmarks/quality.py

bench-neighbors: .venv/bench.done ## the options for nearest neighbors, side by side
	$(BIN)/pip install --quiet numba faiss-cpu
	$(BIN)/python benchmarks/neighbors.py

test-oldest: .venv-oldest/test.done ## the tests on the oldest versions that pyproject.toml allows
	.venv-oldest/bin/pytest -n auto

clean:           ## remove what the commands above built
	rm -rf .venv .venv-oldest

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo.done: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	touch $@

.venv/test.done: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable '.[test]'
	touch $@

.venv/check.done: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable '.[check]'
	touch $@

# Without its dependencies: NICEx pins numpy < 2 and pandas < 2, but runs on today's.
.venv/bench.done: .venv/demo.done
	$(BIN)/pip install --quiet --no-deps NICEx==0.2.3
	touch $@

# Newer pyarrow wants numpy 2.
.venv-oldest/test.done: pyproject.toml
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet --editable '.[test]' 'pyarrow<19' $(shell sed -n 's/^dependencies = \[\(.*\)\]/\1/p' pyproject.toml | tr -d '",' | sed 's/>=/==/g')
	touch $@
