# Every target sets up what it needs. `make` lists the targets for everyday work, `make help-all` all of them.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
INSTALLED := .venv/.installed
NODE := .venv/.node
PLAYWRIGHT := .venv/.playwright
# kube-apiserver, etcd and kubectl collect garbage less often: a third less CPU time for the start of an API server, 100 MB more memory.
PYTEST := GOGC=400 $(BIN)/python -m pytest
TWO_PROCESSES := -n 2 --dist loadfile
# For tests that wait for clusters and pods more than they compute. In the order of collection: the long files come first.
FOUR_PROCESSES := -n 4 --dist loadfile --no-loadscope-reorder
# Each of the test processes has an API server of its own; a cluster named by KUBECONFIG is only one.
PARALLEL := $(if $(KUBECONFIG),,$(FOUR_PROCESSES))
# Tests start hundreds of processes. Without bytecode files, each of them would compile the modules that it imports.
unexport PYTHONDONTWRITEBYTECODE

# `make test`: packages that decide, the API server and controllers in the process of the test, and two light end-to-end tests
# (the operator on the embedded API server; `make demo`, in which a cluster on this machine runs a job).
UNIT := $(addprefix tests/,apimachinery client console/view diagnosis docs golden kinds model operator planner scheduling serving sharing tools validation)
EMBEDDED := $(addprefix tests/embedded/,apiserver controllers file_trees kubelet/lifecycle)
# Kills a process that writes, again and again.
CRASHES := tests/embedded/apiserver/storage/test_crashes.py
END_TO_END := tests/cluster/test_first_job.py tests/cli/test_demo.py
# Tests of the operator on the embedded API server. They use kubectl if it is built already.
ON_EMBEDDED := KUBE=embedded TRAINCREW_WITHOUT_BUILDS=1 TRAINCREW_OPERATOR=inside
OPERATOR := $(addprefix tests/cluster/,test_first_job.py test_pytorch.py test_tensorflow.py test_mpi.py test_mpi_v2beta1.py test_restarts.py test_status.py)

# Tests on a real kube-apiserver that kill servers and operators by the hundred: they run alone.
CHAOS := $(addprefix tests/cluster/,test_killed_at_every_call.py test_network_faults.py test_restarts_after_a_crash.py test_two_operators.py)
# Tests that compare parts of the embedded API server, and our reading of kubectl, with the real ones.
AGREEMENT := $(wildcard tests/cluster/*_agree*.py) $(addprefix tests/cluster/test_,builtins.py patches_of_kubectl.py kubelet_streams.py authorization_kubectl.py gang_scheduled.py)
# Runs in test-cluster with a part of its manifests, in test-agreement with all of them.
FUZZED := tests/cluster/test_job_validation.py
CLUSTER := tests/cluster $(addprefix --ignore=,$(CHAOS) $(AGREEMENT))
# What every change of chart, manifests or rights needs. The other tests of tests/install build releases and install them.
INSTALL := $(addprefix tests/install/test_,chart_values.py kustomize.py permissions.py recorder.py)
OLDEST := $(addprefix tests/install/test_,permissions.py doctor.py kustomize.py) tests/cluster/test_first_job.py
ECOSYSTEM := training-operator/manager mpi-operator/mpi-operator kueue/manager jobset/manager volcano/vc-scheduler volcano/vc-controller-manager scheduler-plugins/kube-scheduler
CORE := torch tensorflow horovod-tensorflow openmpi4 jax xgboost paddle

# A machine that has the packages is left alone; without root, apt-get says what is missing.
APT_INSTALL = { dpkg --status $(1) > /dev/null 2>&1 || { apt-get update -qq && apt-get install -qq -y --no-install-recommends $(1); }; }
KUBELET_PACKAGES := mmdebstrap containerd runc containernetworking-plugins iptables conntrack iproute2

.DEFAULT_GOAL := help
.PHONY: help help-all setup demo check test test-cli test-history test-postgres test-console test-console-browser test-console-browser-cluster test-console-cluster test-console-core test-node test-resilience test-hostile test-operator kube test-cluster test-chaos test-faults \
  test-monitoring test-ecosystem test-embedded test-agreement test-differential test-install test-release test-oldest test-clients test-all test-frameworks test-frameworks-core frameworks \
  console check-console screenshots checklist golden generate recording schemas bench bench-console image test-dockerfile test-kubelet release lock clean

# A target with "##" is for everyday work, one with "#:" for the rest.
LIST = awk -F':.*($(1)) ' '/^[a-z%-]+:.*($(1)) / {sub("%", "NAME", $$1); printf "  make %-22s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

help:
	@$(call LIST,\#\#)
	@echo "  make help-all               all targets, also those for rare work"

help-all: #: all targets
	@$(call LIST,\#\#|\#:)

# Two makes at once, such as a long build and the demo, do not write into .venv at the same time: the second one waits, and then
# finds what it needs.
LOCK = exec 9> .setup.lock; flock -n 9 || { echo "== waits for another make, which is setting up .venv"; flock 9; }
IS_CURRENT = test $@ -nt $(1) -a $@ -nt pyproject.toml

# Python 3.11 or later with venv. A half-made .venv would be taken for a complete one the next time.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "$(PYTHON) is $$($(PYTHON) --version 2>&1). Python 3.11 or later is required: make PYTHON=/path/to/python3"; exit 1; }
	@$(LOCK); test -x $@ || $(PYTHON) -m venv .venv || { rm -rf .venv; echo "On Debian and Ubuntu, install the package python3-venv."; exit 1; }

# For users: no tools of developers.
$(INSTALLED): requirements/user.txt pyproject.toml | .venv/bin/python
	@$(LOCK); $(call IS_CURRENT,requirements/user.txt) || { \
	  echo "== .venv: downloads and installs the $$(grep -c == requirements/user.txt) packages of requirements/user.txt (half a minute)" && \
	  $(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements/user.txt && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . && \
	  touch $@; }

$(READY): requirements/dev.txt pyproject.toml | .venv/bin/python
	@$(LOCK); $(call IS_CURRENT,requirements/dev.txt) || { \
	  echo "== .venv: downloads and installs the $$(grep -c == requirements/dev.txt) packages of requirements/dev.txt (one to two minutes)" && \
	  $(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements/dev.txt && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . && \
	  touch $(INSTALLED) $@ && \
	  echo "== ready. Run $(BIN)/traincrew --help"; }

setup: $(READY) ## create .venv with the traincrew command and the tools of developers

demo: $(INSTALLED) ## start a cluster on this machine, train on three pods, kill one of them (half a minute, and as much for the first set-up); STAY=1 keeps it with its console
	@STAY=$(STAY) $(BIN)/python examples/demo/demo.py

# Node.js comes from the package index into .venv: the machine needs none.
$(NODE): requirements/console.txt | $(INSTALLED)
	@$(LOCK); $(call IS_CURRENT,requirements/console.txt) || { \
	  echo "== .venv: downloads and installs Node.js (61 MB), which builds the page of the console" && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/console.txt && \
	  touch $@; }

console: $(INSTALLED) $(NODE) ## build the page of the web console, which `traincrew up` serves then (a minute, with 61 MB for Node.js; nothing if it is current)
	@$(BIN)/python -m tools.console.build

framework-%: $(INSTALLED) ## build the environment of a framework, which replaces its image: framework-torch for PyTorch (3 GB; docs/frameworks.md has the names)
	@$(BIN)/python -m tools.frameworks.build $*

check-console: $(READY) $(NODE) #: Biome, tsc and Vitest for the page of the console
	@$(BIN)/python -m tools.console.check

check: $(READY) ## ruff, mypy --strict, import-linter, flaky list, prose, generated files
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tools.flaky_tests
	$(BIN)/python -m tools.imports_in_strings
	$(BIN)/python -m tools.prose_width
	$(BIN)/python -m tools.private_words
	$(MAKE) --no-print-directory generate
	@git diff --exit-code --stat -- manifests charts docs web/src/api || { echo "Generated files are not current. Commit them."; exit 1; }

test: $(READY) ## unit tests, the planner's invariants, golden files, the API server, a job on a cluster (2 minutes)
	$(ON_EMBEDDED) $(PYTEST) -q $(TWO_PROCESSES) $(UNIT) $(EMBEDDED) $(END_TO_END) --ignore=$(CRASHES)

test-cli: $(READY) ## every command of the CLI against clusters and pods
	$(PYTEST) tests/cli tests/embedded/up -q --durations=10 $(FOUR_PROCESSES)

test-history: $(READY) #: the history of deleted jobs: recorder, store and commands, with clusters on this machine
	$(PYTEST) tests/history -q --durations=10 $(FOUR_PROCESSES)

test-postgres: $(READY) #: the store of the history in a real PostgreSQL server, which the tests start (Debian's package postgresql)
	@ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || { echo "PostgreSQL is not installed. Run: apt-get install postgresql"; exit 1; }
	$(PYTEST) tests/history -q -k postgres

test-console: $(READY) #: the web console's server against a cluster on this machine
	$(PYTEST) tests/console -q --durations=10 $(FOUR_PROCESSES)

test-console-cluster: kube console #: console and recorder of the chart as pods on a real kube-apiserver, with SQLite and PostgreSQL (root; 5 minutes; installs PostgreSQL)
	@$(call APT_INSTALL,postgresql)
	@$(BIN)/python -m tools.clients.go_programs helm
	$(PYTEST) tests/console_cluster -q --durations=10

$(PLAYWRIGHT): requirements/browser.txt | $(READY)
	@$(LOCK); $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/browser.txt && touch $@

test-console-browser: $(READY) $(PLAYWRIGHT) console #: the page of the console in Debian's Chromium, with real jobs (installs Chromium and a Chinese font)
	@$(call APT_INSTALL,chromium fonts-noto-cjk)
	$(PYTEST) tests/console_browser -q --durations=10

test-console-browser-cluster: kube $(PLAYWRIGHT) console #: the same tests on a real kube-apiserver with this machine as its node (root)
	@$(call APT_INSTALL,chromium fonts-noto-cjk)
	@$(BIN)/python -m tools.frameworks.build openmpi4
	TRAINCREW_BROWSER_CLUSTER=kubernetes $(PYTEST) tests/console_browser -q --durations=10

test-console-core: $(READY) $(PLAYWRIGHT) console #: one MPI job from the form to its logs in Chromium, and five pages checked with axe (installs Chromium)
	@$(call APT_INSTALL,chromium fonts-noto-cjk)
	@$(BIN)/python -m tools.frameworks.build openmpi4
	$(PYTEST) tests/console_browser -m core -q --durations=10

screenshots: $(READY) $(PLAYWRIGHT) console #: pictures of every page of the console in dist/screenshots, of a cluster with real jobs; DOCS=1 writes those of docs/, too
	@$(call APT_INSTALL,chromium fonts-noto-cjk)
	@$(BIN)/python -m tools.frameworks.build openmpi4
	@$(BIN)/python -m tools.console.screenshots $(if $(DOCS),--docs)

test-node: $(READY) ## the kubelet with real processes, namespaces, cgroups and networks (as root: more)
	$(PYTEST) tests/node tests/embedded/kubelet --ignore=tests/embedded/kubelet/lifecycle -q --durations=10 $(FOUR_PROCESSES)

test-resilience: $(READY) #: the embedded API server under load, invalid requests, crashes and full disks
	$(PYTEST) tests/embedded/resilience $(CRASHES) -q --durations=10 $(TWO_PROCESSES)

test-hostile: $(READY) #: attacks on whole clusters at levels root and user, and what they leave behind (docs/security.md)
	$(PYTEST) tests/hostile -q --durations=10 $(TWO_PROCESSES)

test-operator: $(READY) #: the operator's main tests on the embedded API server
	$(ON_EMBEDDED) $(PYTEST) $(OPERATOR) -q --durations=10 $(TWO_PROCESSES)

kube: $(READY) #: build kube-apiserver, etcd, kubectl and controllers once, or use KUBEBUILDER_ASSETS
	$(BIN)/python tools/kube/build.py

test-cluster: kube ## the operator on a real kube-apiserver (built once), and as root the kubelet, too
	$(PYTEST) $(CLUSTER) -q --durations=10 $(PARALLEL)

test-chaos: kube #: the operator killed at every call, a failing network and API server, two operators, the daemon of this machine killed at fifty moments (8 minutes)
	$(PYTEST) $(CHAOS) -q --durations=10
	TRAINCREW_EVERY_MOMENT=1 $(PYTEST) tests/node/test_killed_daemon.py -q

test-faults: kube #: twenty random faults on elastic jobs over three joined nodes, ten seeds (root; 35 minutes; TRAINCREW_FAULT_SEEDS=3,7 chooses seeds)
	$(PYTEST) tests/faults -q -s --durations=10

test-embedded: kube #: all tests of the operator on the embedded API server, over HTTPS and in its process
	KUBE=embedded $(PYTEST) $(CLUSTER) -q $(TWO_PROCESSES)
	KUBE=embedded TRAINCREW_OPERATOR=inside $(PYTEST) $(CLUSTER) -q $(TWO_PROCESSES) --ignore=tests/cluster/test_operator_process.py

test-agreement: kube #: parts of the embedded API server compared with a real one; kubectl of several versions (builds two more)
	TRAINCREW_FUZZ_MANIFESTS=10000 $(PYTEST) $(AGREEMENT) $(FUZZED) tests/embedded/clients -q --durations=10 $(PARALLEL)

test-install: kube #: the Helm chart, the kustomize directories and the operator's rights (builds helm and kustomize once)
	@$(BIN)/python -m tools.clients.go_programs helm kustomize
	$(PYTEST) $(INSTALL) -q --durations=10 $(FOUR_PROCESSES)

test-release: kube console #: the files of a release, installed: Helm releases, the wheel, the operator, the commands of the pages
	@$(BIN)/python -m tools.clients.go_programs helm kustomize
	$(PYTEST) tests/install $(addprefix --ignore=,$(INSTALL)) -q --durations=10 $(FOUR_PROCESSES)

test-oldest: $(READY) #: chart, manifests, rights, doctor and a job of every kind on Kubernetes 1.27, the oldest supported version (builds it once)
	@KUBE=1.27 $(BIN)/python tools/kube/build.py etcd kube-apiserver kubectl
	@$(BIN)/python -m tools.clients.go_programs helm kustomize
	KUBE=1.27 $(PYTEST) $(OLDEST) -q --durations=10 $(TWO_PROCESSES)

test-differential: kube #: the same requests to the embedded API server and a real one (docs/compatibility.md lists the differences)
	$(PYTEST) tests/differential -q

test-frameworks-core: $(READY) #: one job of each kind with its real framework, and Horovod Elastic (builds their environments)
	@$(BIN)/python tools/kube/build.py kubectl
	@$(BIN)/python -m tools.frameworks.build $(CORE)
	$(PYTEST) tests/seeds -m core -q --durations=0 --durations-min=5 $(FOUR_PROCESSES)

test-frameworks: kube frameworks #: every job of the seeds and every example with real frameworks (an hour)
	$(PYTEST) tests/seeds tests/frameworks -q --durations=0 --durations-min=5

test-clients: $(READY) #: tests of kr8s, lightkube, kopf and the official Python client, and commands of Helm and stern, with `traincrew up` (8 minutes, docs/clients.md)
	@$(BIN)/python tools/kube/build.py kubectl
	@$(BIN)/python -m tools.clients.run

test-monitoring: $(READY) #: alert rules and scrape configuration with promtool and Prometheus (of Debian's package prometheus)
	@$(BIN)/python -m tools.prometheus promtool check rules manifests/monitoring/alerts.yaml
	@$(BIN)/python -m tools.prometheus promtool test rules tests/monitoring/alerts_test.yaml
	@$(BIN)/python -m tools.prometheus promtool check config manifests/monitoring/prometheus.yaml
	$(PYTEST) tests/monitoring -q

test-ecosystem: kube #: the real Go operators, Kueue, Volcano and JobSet beside traincrew (builds them once: 30 minutes)
	@$(BIN)/python -m tools.ecosystem.programs $(ECOSYSTEM)
	$(PYTEST) tests/ecosystem -q --durations=10

test-all: test test-cli test-history test-console test-node test-resilience test-hostile test-operator test-cluster test-install test-release test-chaos test-embedded test-agreement test-differential ## most tests (an hour): none with browsers, the console as pods, containers, real frameworks, clients and operators of other projects, Prometheus, Kubernetes 1.27 or random faults

frameworks: $(INSTALLED) #: build the environments that replace images, once, into the cache (10 minutes, 9 GB)
	@$(BIN)/python -m tools.frameworks.build

generate: $(READY) ## write CRDs, RBAC, files of the chart, the reference page, the diagrams and the types of the console's page from the code
	@$(BIN)/python -m tools.dashboard
	@$(BIN)/python -m tools.install_files
	@$(BIN)/python tools/reference.py
	@$(BIN)/python -m tools.metrics_page
	@$(BIN)/python -m tools.console_contract
	@$(BIN)/python -m tools.diagrams
	@$(BIN)/python -m tools.recording draw

recording: $(READY) #: capture docs/first-steps.svg anew, from a real run (needs make framework-torch; read tools/recording/__main__.py)
	@$(BIN)/python -m tools.recording record

golden: $(READY) #: write the golden plans anew; read the diff
	@$(BIN)/python -m tests.golden.regenerate

schemas: kube #: extract the schemas of the built-in kinds from a real API server (needs Go)
	@$(BIN)/python -m tools.kube.builtins
	@$(BIN)/python -m tools.kube.protobuf

checklist: kube #: the compatibility checklist C1–C202 with the tests that prove each line
	$(BIN)/python tools/checklist.py $(PARALLEL)

bench: kube #: the benchmarks, each with its table
	$(BIN)/python -m bench.operator
	$(BIN)/python -m bench.apiserver
	@$(BIN)/python -m tools.frameworks.build horovod-tensorflow torch
	$(BIN)/python -m bench.elastic
	$(BIN)/python -m bench.node
	$(BIN)/python -m bench.sharing
	@$(MAKE) --no-print-directory bench-console

bench-console: $(READY) $(PLAYWRIGHT) console #: the page of the console in Chromium: first paint, transfer, 5,000 jobs, a million log lines, also in react-logviewer, 20 tabs
	@$(call APT_INSTALL,chromium)
	$(BIN)/python -m bench.console

image: $(READY) console #: build the operator's image, with the page of the console, as dist/traincrew-VERSION.oci.tar, without a registry (docs/operator-image.md)
	@command -v mmdebstrap > /dev/null || $(call APT_INSTALL,mmdebstrap)
	@$(BIN)/python -m tools.image.build $(IMAGE)

test-dockerfile: kube #: the Dockerfile built with buildah on Debian packages instead of base images, and run with runc; the image of make image pushed to a registry (root; 10 minutes)
	@$(call APT_INSTALL,buildah runc mmdebstrap skopeo)
	@$(BIN)/python -m tools.image.dockerfile
	@$(BIN)/python -m tools.image.build
	$(PYTEST) tests/dockerfile -q

test-kubelet: $(READY) #: the operator on a real kubelet with containerd, in containers (root; 20 minutes, downloads Debian packages)
	@$(call APT_INSTALL,$(KUBELET_PACKAGES))
	@$(BIN)/python tools/kube/build.py
	@$(BIN)/python tools/kube/build.py kubelet kube-proxy
	@$(BIN)/python -m tools.clients.go_programs helm
	@$(BIN)/python -m tools.image.build
	@$(BIN)/python -m tests.kubelet.images
	@$(BIN)/python -m tests.kubelet.run tests/kubelet --durations=10

release: $(READY) $(NODE) #: build sdist, wheel, chart, install.yaml, SBOM and checksums into dist/ (IMAGE=… sets the image in install.yaml)
	@$(BIN)/python -m tools.release $(if $(IMAGE),--image $(IMAGE))

lock: $(READY) #: pin requirements/*.in to requirements/*.txt
	@$(BIN)/python -m pip install --quiet uv
	@for name in runtime user dev console browser clients/kr8s clients/lightkube clients/kopf clients/kubernetes; do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-emit-find-links --no-annotate --no-header requirements/$$name.in -o requirements/$$name.txt; done
	@$(BIN)/python -m tools.frameworks.locks
	@$(MAKE) --no-print-directory $(NODE)
	@$(BIN)/python -m tools.console.lock

clean: #: remove .venv and caches of this tree
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
