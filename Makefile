# One command per chore, the same here and in CI. Each builds what it needs of .venv by itself.
PYTHON ?= python3
BIN := .venv/bin
# A folder with real data, laid out as docs/experiments.md says; used if it is set.
export NICECF_DATA
# Of make fuzz: how long, from which seed, and a file to go on from (STATE=campaign.json).
MINUTES ?= 10
SEED ?= 0
STATE ?=

# One worker for each core: threads of the libraries would only be in each other's way.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

.PHONY: demo test test-deep fuzz check format docs paper bench bench-alibi bench-donors bench-engines bench-found bench-geco bench-large bench-neighbors bench-optimum bench-page bench-rivals bench-service bench-suggestions test-oldest clean help

help:            ## show this list
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed 's/:.*##/:/' | column -t -s ':'

demo: .venv/demo.done            ## one person's counterfactuals side by side, then a test set by both searches
	$(BIN)/python -m nicecf.cli.showcase

test: .venv/test.done            ## everything that can fail (five to six minutes on two cores)
	@command -v chromium >/dev/null || echo 'No browser: the tests of the page are skipped. To have them: apt-get install chromium'
	@command -v java >/dev/null || echo 'No Java: the tests of Spark are skipped. To have them: apt-get install openjdk-17-jre-headless'
	$(PYTEST)

test-deep: .venv/test.done       ## the same with many examples, every kill, memory, and on the oldest versions
	$(PYTEST) -m "deep or not deep" --hypothesis-profile deep
	$(MAKE) test-oldest

fuzz: .venv/test.done            ## random tables, models, options and rules, every answer checked (MINUTES=10 SEED=0 STATE=)
	$(BIN)/python -m fuzz --minutes $(MINUTES) --seed $(SEED) $(if $(STATE),--state $(STATE))

check: .venv/check.done          ## style, types, imports, spelling
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/typos

format: .venv/check.done         ## let ruff write the style
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/docs.done            ## this documentation as a site, into site/; open site/index.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

FAST := nice-none nice-spars nice-prox nice-plaus nice-thorough nice-thorough-spars nice-thorough-prox wit cbr sedc
SPLITS := results/paper/split-0 results/paper/split-1 results/paper/split-2

paper: .venv/paper.done          ## the experiment of the paper, into results/paper and docs/results/paper
	@echo 'From nothing this takes about ten processor hours, and the measures besides; tables that are finished are not run again.'
	$(BIN)/nicecf benchmark run --profile paper --out results/paper/split-0 --alone 2 --time-limit 60 --jobs 2
	for seed in 1 2; do $(BIN)/nicecf benchmark run --profile paper --out results/paper/split-$$seed --alone 2 \
	  --time-limit 60 --jobs 2 --seed $$seed --tuned results/paper/split-0 --methods $(FAST) || exit 1; done
	$(BIN)/nicecf benchmark growth --out results/paper/split-0
	$(BIN)/nicecf benchmark report $(SPLITS) --out docs/results/paper

bench: .venv/bench.done          ## speed beside NICEx, the baselines, growth of time and memory, rules, quality
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/baselines.py
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/constraints.py
	$(BIN)/python benchmarks/privacy.py
	$(BIN)/python benchmarks/quality.py --limit
	$(BIN)/python benchmarks/quality.py

bench-alibi: .venv/demo.done .venv-alibi/bench.done ## CFproto beside alibi 0.9.4, which needs an environment of its own
	$(BIN)/python benchmarks/cfproto_alibi.py --alibi .venv-alibi/bin/python

bench-engines: .venv/demo.done     ## one process, Spark and Dask, and the bill for a billion rows (ten minutes; needs Java)
	$(BIN)/pip install --quiet --editable '.[spark,dask]'
	$(BIN)/python -W ignore benchmarks/engines.py

bench-found: .venv/demo.done       ## found by the default search where the exact one finds something (twenty minutes)
	$(BIN)/pip install --quiet ortools
	$(BIN)/python -W ignore benchmarks/found.py

bench-geco: .venv/paper.done       ## the thorough search beside GeCo, on the paper's 40 datasets (twenty minutes)
	$(BIN)/python benchmarks/geco.py

bench-optimum: .venv/demo.done .venv-treecf/bench.done ## beside the proven optimum on boosted trees, and treecf (ten minutes)
	$(BIN)/pip install --quiet xgboost-cpu lightgbm
	$(BIN)/python benchmarks/optimum.py --treecf .venv-treecf/bin/python

bench-page: .venv/demo.done        ## the page in a browser: from a touch to its answer (two minutes; needs chromium)
	$(BIN)/pip install --quiet --editable '.[serve]' playwright
	$(BIN)/python -W ignore benchmarks/page.py

# oceanpy needs Python 3.12 or later; where there is none, the report says so.
bench-rivals: .venv/bench.done .venv-treecf/bench.done ## beside NICEx, DiCE, treecf and oceanpy (hours; goes on where it stopped; needs NICECF_DATA)
	$(BIN)/pip install --quiet xgboost-cpu ortools
	-test -e .venv-ocean/bench.done || $(MAKE) .venv-ocean/bench.done
	$(BIN)/python -W ignore benchmarks/rivals.py --state results/rivals --treecf .venv-treecf/bin/python \
	  $$(test -e .venv-ocean/bench.done && echo --ocean .venv-ocean/bin/python) --out results/rivals.md

bench-service: .venv/demo.done     ## the service under load: clients on this machine, merged and not (ten minutes)
	$(BIN)/pip install --quiet --editable '.[serve]'
	$(BIN)/python -W ignore benchmarks/service.py

bench-suggestions: .venv/paper.done ## suggested rules on real tables, with a verdict on each line (needs NICECF_DATA)
	$(BIN)/python benchmarks/suggestions.py

bench-donors: .venv/demo.done      ## the donor search with numba, without, and as it was before (needs the history; ten minutes)
	$(BIN)/pip install --quiet --editable '.[fast]'
	$(BIN)/python benchmarks/donors.py

bench-large: .venv/demo.done        ## a training table of 10^7 rows in parts: time and memory (three minutes, 6 GB of disk)
	$(BIN)/pip install --quiet --editable '.[files,fast]'
	$(BIN)/python benchmarks/large.py

bench-neighbors: .venv/bench.done ## the options for nearest neighbors, side by side
	$(BIN)/pip install --quiet numba faiss-cpu
	$(BIN)/python benchmarks/neighbors.py

test-oldest: .venv-oldest/test.done ## the tests on the oldest versions that pyproject.toml allows
	$(subst $(BIN),.venv-oldest/bin,$(PYTEST))

clean:           ## remove what the commands above built
	rm -rf .venv .venv-alibi .venv-ocean .venv-oldest .venv-treecf site

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/demo.done: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	touch $@

# Without its dependencies: through xgboost, dice-ml pulls a GPU library of 470 MB that it does not need.
DICE := 'dice-ml>=0.12' raiutils
DICE_NEEDS := jsonschema tqdm requests

.venv/test.done: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable '.[test]' $(DICE_NEEDS)
	$(BIN)/pip install --quiet --no-deps $(DICE)
	touch $@

.venv/dice.done: .venv/demo.done
	$(BIN)/pip install --quiet $(DICE_NEEDS)
	$(BIN)/pip install --quiet --no-deps $(DICE)
	touch $@

.venv/paper.done: .venv/dice.done pyproject.toml
	$(BIN)/pip install --quiet --editable '.[benchmark]'
	touch $@

.venv/check.done: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable '.[check]'
	touch $@

.venv/docs.done: .venv/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable '.[docs]'
	touch $@

# Without its dependencies: NICEx pins numpy < 2 and pandas < 2, but runs on today's.
.venv/bench.done: .venv/demo.done .venv/dice.done
	$(BIN)/pip install --quiet --no-deps NICEx==0.2.3
	touch $@

# The last version under the Apache licence; it wants numpy < 2, and spacy imports click without asking for it.
.venv-alibi/bench.done:
	$(PYTHON) -m venv .venv-alibi
	.venv-alibi/bin/pip install --quiet 'alibi==0.9.4' 'tensorflow-cpu<2.15' 'numpy<2' click
	touch $@

.venv-treecf/bench.done:
	$(PYTHON) -m venv .venv-treecf
	.venv-treecf/bin/pip install --quiet treecf==0.3.2
	touch $@

# With 1 GB, a GPU library of xgboost among it.
.venv-ocean/bench.done:
	python3.12 -m venv .venv-ocean
	.venv-ocean/bin/pip install --quiet oceanpy==2.0.7 scikit-learn==$(shell $(BIN)/python -c 'import sklearn; print(sklearn.__version__)')
	touch $@

# Newer pyarrow wants numpy 2.
.venv-oldest/test.done: pyproject.toml
	$(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/pip install --quiet --editable '.[test]' 'pyarrow<19' $(shell sed -n 's/^dependencies = \[\(.*\)\]/\1/p' pyproject.toml | tr -d '",' | sed 's/>=/==/g')
	touch $@
