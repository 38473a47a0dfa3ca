# Every target sets up what it needs by itself. `make` alone lists them.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PYTEST := $(BIN)/python -m pytest
# Each of two test processes has an API server of its own; on a cluster that was given there is but one.
PARALLEL := $(if $(KUBECONFIG),,-n 2 --dist loadfile)
export PYTHONDONTWRITEBYTECODE := 1

# These kill servers and operators by the hundred and want the machine for themselves.
CHAOS := $(addprefix tests/cluster/,test_killed_at_every_call.py test_faults.py test_restarts_after_a_crash.py test_two_operators.py)

# These hold the embedded API server's parts, and our reading of kubectl, against the real thing.
AGREEMENT := $(filter-out %test_admission_agrees.py,$(wildcard tests/cluster/*_agree*.py)) $(addprefix tests/cluster/test_,builtins.py patches_of_kubectl.py kubelet_streams.py access_kubectl.py gang_scheduled.py)

# Tests of the operator that `make test` runs on the embedded API server; kubectl is used where it is there already.
SAMPLE := $(addprefix tests/cluster/,test_first_job.py test_pytorch.py test_tensorflow.py test_mpi.py test_mpi_v2beta1.py test_restarts.py test_status.py)
ON_EMBEDDED := KUBE=embedded TRAINCREW_WITHOUT_BUILDS=1
CORE := torch tensorflow horovod-tensorflow openmpi4 jax xgboost paddle
LIGHT := tests $(addprefix --ignore=tests/,cluster differential embedded/clients frameworks seeds)
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-chaos test-embedded test-differential test-cluster test-frameworks test-frameworks-core frameworks test-all check contract golden generate schemas bench kube lock clean

help: ## this list
	@grep -hE '^[a-z% -]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{sub("%", "NAME", $$1); n = split($$1, names, " "); for (i = 1; i <= n; i++) printf "  make %-16s %s\n", names[i], $$2}'

$(READY): requirements/dev.txt pyproject.toml
	@echo "== setting up .venv: downloads and installs what requirements/dev.txt pins; nothing more is said for up to two minutes"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@
	@echo "== ready: $(BIN)/traincrew --help"

setup: $(READY) ## .venv with the traincrew command

test: $(READY) ## everything that needs no long build: unit tests, the planner's laws, golden files, the embedded cluster
	$(PYTEST) $(LIGHT) -q --durations=10 -n 2 --dist loadfile
	$(ON_EMBEDDED) TRAINCREW_OPERATOR=inside $(PYTEST) $(SAMPLE) -q -n 2 --dist loadfile

kube: $(READY) ## kube-apiserver, etcd, kubectl and controllers: from KUBEBUILDER_ASSETS, the cache, or built once
	$(BIN)/python tools/kube/build.py

test-cluster: kube ## the operator on a real kube-apiserver (KUBECONFIG, else one started for the tests), and as root the node agent on one of its own
	$(PYTEST) tests/cluster -q --durations=10 $(PARALLEL) $(addprefix --ignore=,$(CHAOS) $(AGREEMENT))

test-chaos: kube ## the operator killed at every call, a failing network and API server, two operators at once (5 minutes)
	$(PYTEST) $(CHAOS) -q --durations=10

test-embedded: kube ## the operator's whole suite on the embedded API server, over HTTPS and from within its process
	KUBE=embedded $(PYTEST) tests/cluster -q -n 2 --dist loadfile $(addprefix --ignore=,$(CHAOS) $(AGREEMENT))
	KUBE=embedded TRAINCREW_OPERATOR=inside $(PYTEST) tests/cluster -q -n 2 --dist loadfile $(addprefix --ignore=,$(CHAOS) $(AGREEMENT)) \
	  --ignore=tests/cluster/test_operator_process.py

test-agreement: kube ## each part of the embedded API server against a real one; kubectls of several versions (builds two more)
	$(PYTEST) $(AGREEMENT) tests/embedded/clients -q --durations=10 $(PARALLEL)

test-differential: kube ## the embedded API server and a real one answer the same to the same requests (docs/compatibility.md has the differences)
	$(PYTEST) tests/differential -q

test-all: test test-cluster test-chaos test-embedded test-agreement test-differential ## all of them

demo: $(READY) ## a cluster on this machine, a small real training job on three pods, one of them killed (half a minute)
	@$(BIN)/python examples/demo/demo.py

test-frameworks: kube frameworks ## real frameworks on the cluster of this machine: every job of the seeds, and the examples as plain processes (an hour)
	$(PYTEST) tests/seeds tests/frameworks -q --durations=0 --durations-min=5

test-frameworks-core: $(READY) ## of these one job of each kind, and the elastic one (builds the environments that they need)
	@$(BIN)/python tools/kube/build.py kubectl
	@$(BIN)/python -m tools.frameworks.build $(CORE)
	$(PYTEST) tests/seeds -m core -q --durations=0 --durations-min=5

frameworks: $(READY) ## the environments that stand in for images, built once into the cache (10 minutes, 9 GB)
	@$(BIN)/python -m tools.frameworks.build

framework-%: $(READY) ## of these one, such as framework-torch (docs/frameworks.md has the names)
	@$(BIN)/python -m tools.frameworks.build $*

check: $(READY) ## ruff, mypy --strict, import-linter, generated files current
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.flaky_tests
	$(MAKE) --no-print-directory generate
	@git diff --exit-code --stat -- manifests docs || { echo "generated files were not current: commit them"; exit 1; }

generate: $(READY) ## CRDs, RBAC and the reference page from the code
	@$(BIN)/traincrew manifests crds --write manifests/crds
	@$(BIN)/traincrew manifests rbac --write manifests/rbac.yaml
	@$(BIN)/python tools/reference.py

schemas: kube ## what a real API server knows of the built-in kinds, for the embedded one (needs Go)
	@$(BIN)/python -m tools.kube.builtins
	@$(BIN)/python -m tools.kube.protobuf

golden: $(READY) ## the golden plans anew; read the diff
	@$(BIN)/python -m tests.golden.regenerate

contract: kube ## C1–C202 with the tests that prove them
	$(BIN)/python tools/contract.py $(PARALLEL)

bench: kube ## the comparison tables
	$(BIN)/python -m bench.operator
	$(BIN)/python -m bench.apiserver
	@$(BIN)/python -m tools.frameworks.build horovod-tensorflow
	$(BIN)/python -m bench.elastic
	$(BIN)/python -m bench.node

lock: $(READY) ## requirements/*.txt from requirements/*.in
	@$(BIN)/python -m pip install --quiet uv
	@for name in runtime dev; do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-annotate --no-header requirements/$$name.in -o requirements/$$name.txt; done
	@$(BIN)/python -m tools.frameworks.locks

clean: ## remove .venv and caches of this tree
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
