# `make test` passes the tests; `make check` is format, lints and licences. CI runs both.
# Nothing is needed besides Rust; what else a test needs it builds itself.

.PHONY: test check unit conformance bench fuzz fuzz-short

CORPUS ?= ../shared/conformance
SECONDS ?= 60

test: unit conformance fuzz-short

# The licences of all dependencies, the layers and the dialect names are tests too: the last line.
check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --locked -q -p kubewright-conformance --test architecture

unit:
	cargo test --workspace --locked

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
