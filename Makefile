# `make test` is what CI runs. Everything it needs besides Rust it installs itself.

.PHONY: test check unit conformance bench fuzz fuzz-short lint fmt

CORPUS ?= ../shared/conformance

test: check unit conformance fuzz-short

check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

unit:
	cargo test --workspace --locked

# Fails when a suite falls below the floor in conformance/scores.json.
conformance:
	@if [ -d "$(CORPUS)" ]; then \
		cargo run --release --locked -p kubewright-conformance -- --corpus "$(CORPUS)" --floor conformance/scores.json; \
	else echo "SKIPPED: no conformance corpus at $(CORPUS)"; fi

bench:
	cargo bench -p kubewright-bench

# Every target for a few seconds; `make fuzz SECONDS=600` for longer.
SECONDS ?= 60
fuzz:
	cargo run --release --locked -p kubewright-fuzz -- --seconds $(SECONDS)
fuzz-short:
	cargo run --release --locked -p kubewright-fuzz -- --seconds 3
