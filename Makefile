# `make test` passes the tests; `make check` is format, lints and licences. CI runs both.
# Nothing is needed besides Rust; what else a test needs it builds itself.

.PHONY: test check unit conformance bench fuzz fuzz-short pictures browser test-browser

CORPUS ?= ../shared/conformance
SECONDS ?= 60

test: unit conformance fuzz-short browser

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
		cargo run --profile quick --locked -q -p kubewright-conformance -- --corpus "$(CORPUS)" --floor conformance/scores.json; \
	else echo "SKIPPED: no conformance corpus at $(CORPUS)"; fi

bench:
	cargo bench -p kubewright-bench

# Every target for a while: `make fuzz SECONDS=600` for longer.
fuzz:
	cargo run --profile quick --locked -q -p kubewright-fuzz -- --seconds $(SECONDS)

fuzz-short:
	cargo run --profile quick --locked -q -p kubewright-fuzz -- --seconds 3

# The pictures of the pages; a test says when they are older than the program.
KUBEWRIGHT = cargo run --locked -q -p kubewright --

pictures:
	$(KUBEWRIGHT) graph -r examples/pattern/shop.yaml -o svg=docs/pictures/shop.svg
	$(KUBEWRIGHT) graph -r examples/pattern/shop.yaml --pattern orphan-service -o svg=docs/pictures/orphan-service.svg

# The page of `graph -o html` in a real browser; `test-browser` gets what it needs, `browser` takes what is there.
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)

browser:
	@if [ -n "$(CHROMIUM)" ] && command -v npm > /dev/null; then $(MAKE) --no-print-directory test-browser; \
	else echo "SKIPPED: no Chromium or no npm, so the HTML page was looked at by no browser (make test-browser)"; fi

test-browser:
	cd tests/browser && npm install --no-save --no-audit --no-fund --silent playwright-core@1
	cargo build --locked -q -p kubewright
	CHROMIUM="$(CHROMIUM)" node tests/browser/page.test.mjs "$$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/kubewright"
