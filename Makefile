# check · test · lint · bench · contract · docs · wheels · release-check · image · image-check · clean. Everything starts
# from ./crumple, which sets up what is missing.

# Tools that ./crumple had to fetch, where the system has none that will do.
export PATH := $(CURDIR)/.bootstrap/tools:$(PATH):$(CURDIR)/.bootstrap/venv/bin:$(HOME)/.cargo/bin

PRETTIER := npx --yes prettier@3.6.2
# google-java-format, as a Maven plugin: Maven is there already, to build the servers.
JAVA_FORMAT := mvn --quiet --batch-mode com.spotify.fmt:fmt-maven-plugin:2.29:check

.PHONY: check test lint lint-python lint-rust lint-shell lint-servers bench contract docs wheels release-check image \
	image-check clean develop packages

# The tests that start no process and do not compute for long.
check: packages
	.ci/test quick

# Sets up what is missing, beside what can be done without it.
test:
	.ci/test

# The environment of ./crumple, and in it what tests and linters need.
packages:
	@CRUMPLE_SET_UP=tests ./crumple

develop: packages
	@CRUMPLE_SET_UP=engine ./crumple

# The Rust types → contract/schema.json → lab/crumple/contract.py.
contract: develop
	schema=$$(cargo run --quiet --locked --manifest-path engine/Cargo.toml -- schema) && printf '%s\n' "$$schema" > contract/schema.json
	.venv/bin/python contract/python_types.py

# make -k lint: all of them, whatever the first finds.
lint: lint-python lint-rust lint-shell lint-servers

lint-python: packages
	uv lock --check --quiet
	.venv/bin/ruff check --quiet
	.venv/bin/ruff format --check --quiet
	.venv/bin/mypy

lint-rust: packages
	cargo fmt --check --manifest-path engine/Cargo.toml
	cargo clippy --quiet --locked --all-targets --manifest-path engine/Cargo.toml -- -D warnings

lint-shell:
	shellcheck crumple .ci/run .ci/test .ci/publish
	@# Sourced and started by name: no line says for which shell. Their variables come from server.toml.
	shellcheck --shell=bash --external-sources --source-path=SCRIPTDIR --exclude=SC2153 $$(git ls-files 'servers/*.sh')

lint-servers:
	@unformatted=$$(gofmt -l servers); [ -z "$$unformatted" ] || { echo "to do: gofmt -w $$unformatted"; exit 1; }
	$(PRETTIER) --log-level warn --check 'servers/**/*.js' 'servers/**/package.json'
	cargo fmt --check --manifest-path servers/rust-hyper/Cargo.toml
	cargo clippy --quiet --locked --manifest-path servers/rust-hyper/Cargo.toml -- -D warnings
	for pom in servers/*/pom.xml; do $(JAVA_FORMAT) --file "$$pom" || exit 1; done

BENCHES := cpu_per_request large_answers lateness capture memory simulated start find live_view agreement probe_cost

# All of them, whatever the first finds.
bench: develop
	cargo build --release --quiet --locked --examples --manifest-path engine/Cargo.toml
	@missed=; \
	for bench in $(BENCHES); do \
		printf '\n== %s\n' $$bench; \
		.venv/bin/python bench/$$bench.py || missed="$$missed $$bench"; \
	done; \
	[ -z "$$missed" ] || { echo "not all met:$$missed"; exit 1; }

# The documentation as a site: open site/index.html. Its tools have an environment of their own, without the project.
DOCS := $(CURDIR)/.bootstrap/docs
docs: develop
	.venv/bin/python docs/command_line_page.py
	.venv/bin/python docs/coming_from_page.py
	.venv/bin/python docs/json_schemas.py
	.venv/bin/python docs/causes_page.py
	.venv/bin/python docs/calibration_page.py
	.venv/bin/python docs/validity_page.py
	.venv/bin/python docs/thresholds_page.py
	.venv/bin/python docs/modules_page.py
	.venv/bin/python docs/images/drawings.py
	.venv/bin/python docs/prose.py --check
	@UV_PROJECT_ENVIRONMENT=$(DOCS) uv sync --quiet --frozen --only-group docs
	$(DOCS)/bin/sphinx-build --quiet --fail-on-warning --keep-going --jobs auto --conf-dir docs --doctree-dir $(DOCS)/doctrees . site

# What is believed and said of the stored servers, and the pages made of it, after an intended change of lab/crumple/cause or what it reads.
judged: packages
	CRUMPLE_WRITE_GOLDEN=1 .venv/bin/pytest --quiet -k approved lab/tests/cause/test_stored.py
	.venv/bin/python docs/causes_page.py
	.venv/bin/python docs/calibration_page.py
	git diff --stat -- lab/tests/golden docs

# Wheels of lab and engine into dist/, to be installed without the checkout: docs/wheels.md.
# WHEELS='x86_64': for these kinds of machine only.
wheels: develop
	.venv/bin/python lab/build_wheels.py $(WHEELS)

# Installs the wheel of this kind of machine in other ways and with other Pythons, and uses it there. TAG: of the release.
PYTHONS := 3.11 3.13
release-check: develop
	.venv/bin/python lab/check_release.py wheel $(PYTHONS:%=--python %) $(if $(TAG),--tag "$(TAG)")

# An image with that wheel, and a check of it on this machine. CONTAINERS=podman: the program that builds and runs it.
CONTAINERS := docker
image:
	$(CONTAINERS) build --tag crumple --file Containerfile dist

image-check: develop
	.venv/bin/python lab/check_release.py image $(CONTAINERS) crumple

clean:
	rm -rf .venv .bootstrap dist site engine/target .ruff_cache .mypy_cache .pytest_cache
	find lab servers bench -name __pycache__ -prune -exec rm -rf {} +
