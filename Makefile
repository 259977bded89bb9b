# test · lint · bench · clean. Everything starts from ./crumple, which sets up what is missing.

# Tools that ./crumple had to fetch, where the system has none that will do.
export PATH := $(CURDIR)/.bootstrap/tools:$(PATH):$(CURDIR)/.bootstrap/venv/bin:$(HOME)/.cargo/bin
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/.venv

PRETTIER := npx --yes prettier@3.6.2
# google-java-format, as a Maven plugin: Maven is there already, to build the servers.
JAVA_FORMAT := mvn --quiet --batch-mode com.spotify.fmt:fmt-maven-plugin:2.29:check

.PHONY: test lint lint-python lint-rust lint-shell lint-servers bench clean develop

test: develop
	@# 1: a runtime is not to be had here; the tests of its servers are skipped and say so.
	./crumple setup --yes || [ $$? -eq 1 ]
	.ci/test

# The environment of ./crumple, and in it what tests and linters need.
develop:
	@./crumple --help >/dev/null
	@uv sync --quiet --frozen

# make -k lint: all of them, whatever the first finds.
lint: lint-python lint-rust lint-shell lint-servers

lint-python: develop
	uv lock --check --quiet
	.venv/bin/ruff check --quiet
	.venv/bin/ruff format --check --quiet

lint-rust: develop
	cargo fmt --check --manifest-path engine/Cargo.toml
	cargo clippy --quiet --locked --all-targets --manifest-path engine/Cargo.toml -- -D warnings

lint-shell:
	shellcheck crumple .ci/run .ci/test

lint-servers:
	@unformatted=$$(gofmt -l servers); [ -z "$$unformatted" ] || { echo "to do: gofmt -w $$unformatted"; exit 1; }
	$(PRETTIER) --log-level warn --check 'servers/**/*.js' 'servers/**/package.json'
	for pom in servers/*/pom.xml; do $(JAVA_FORMAT) --file "$$pom" || exit 1; done

bench: develop
	.venv/bin/python bench/cpu_per_request.py
	.venv/bin/python bench/agreement.py
	.venv/bin/python bench/probe_cost.py

clean:
	rm -rf .venv .bootstrap engine/target .ruff_cache .pytest_cache
	find lab servers bench -name __pycache__ -prune -exec rm -rf {} +
