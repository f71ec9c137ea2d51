# `make test` passes the tests; `make check` is format, lints and licences. CI runs both.
# Nothing is needed besides Rust, and Go for the tests in a cluster; what else a test needs it builds itself.

.PHONY: test check unit conformance bench fuzz fuzz-short test-cluster skipped

CORPUS ?= ../shared/conformance
SECONDS ?= 60

# Tests that this machine cannot run add a line here, which is shown at the end.
export KUBEWRIGHT_CLUSTER_SKIPPED := $(CURDIR)/target/skipped

test:
	@mkdir -p target && rm -f "$(KUBEWRIGHT_CLUSTER_SKIPPED)"
	@$(MAKE) --no-print-directory unit conformance fuzz-short test-cluster
	@$(MAKE) --no-print-directory skipped

# The licences of all dependencies, the layers and the dialect names are tests too: the last line.
check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --locked -q -p kubewright-conformance --test architecture

unit:
	cargo test --workspace --exclude kubewright-cluster --locked

# A real control plane. The first time it is built, which takes minutes: see tests/cluster/README.md.
test-cluster:
	cargo test --locked -p kubewright-cluster

skipped:
	@if [ -s "$(KUBEWRIGHT_CLUSTER_SKIPPED)" ]; then printf '\nNOT TESTED on this machine:\n'; cat "$(KUBEWRIGHT_CLUSTER_SKIPPED)"; fi

# Fails when a suite passes fewer cases than conformance/scores.json records.
conformance:
	@if [ -d "$(CORPUS)" ]; then \
		cargo run --release --locked -q -p kubewright-conformance -- --corpus "$(CORPUS)" --floor conformance/scores.json; \
	else echo "SKIPPED: no conformance corpus at $(CORPUS)"; fi

bench:
	cargo bench -p kubewright-bench

# Every target for a while: `make fuzz SECONDS=600` for longer.
fuzz:
	cargo run --release --locked -q -p kubewright-fuzz -- --seconds $(SECONDS)

fuzz-short:
	cargo run --release --locked -q -p kubewright-fuzz -- --seconds 3
