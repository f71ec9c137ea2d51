# `make test` runs the tests; `make check` runs format, lints and licences. CI runs both.
# Requires Rust, and Go for the cluster tests, which build everything else they need.

.PHONY: editors test check unit conformance bench fuzz fuzz-short pictures browser test-browser look test-cluster skipped chart static bench-webhook bench-watch bench-scan bench-background try-cluster test-faults test-versions test-chainsaw test-cosign chainsaw-short build-times docs deny package msrv archive

CORPUS ?= ../shared/conformance
SECONDS ?= 60

# Tests that cannot run on this machine add a line to this file, which is printed at the end.
export KUBEWRIGHT_CLUSTER_SKIPPED := $(CURDIR)/target/skipped

test:
	@mkdir -p target && rm -f "$(KUBEWRIGHT_CLUSTER_SKIPPED)"
	@$(MAKE) --no-print-directory unit conformance fuzz-short browser test-cluster chainsaw-short
	@$(MAKE) --no-print-directory skipped

# Layers, names and the licences of all dependencies are tests (crates/conformance/tests/architecture.rs).
check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --locked -q -p kubewright --no-default-features -- -D warnings
	cargo test --locked -q -p kubewright-conformance --test architecture --test vocabulary --test layering --test recipes
	@$(MAKE) --no-print-directory docs deny

# The documentation of every crate; a broken link is an error.
docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked -q

# Advisories, licences, duplicates and sources of dependencies: deny.toml. The advisory database is fetched from
# GitHub; `make deny DENY="bans licenses sources"` needs no network.
DENY ?=

deny:
	@if cargo deny --version > /dev/null 2>&1; then cargo deny --locked check $(DENY); \
	else echo "SKIPPED: cargo-deny is not installed, so dependencies were not checked (cargo install --locked cargo-deny)"; fi

# Packages every library crate as crates.io would receive it, and builds it without the rest of the repository.
# `make package PACKAGE=--no-verify` skips the build.
package:
	cargo package --locked --allow-dirty $(PACKAGE) $$(.ci/published-crates | sed 's/^/-p /')

# Checks the binary with the oldest supported Rust (`rust-version` of Cargo.toml).
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

msrv:
	rustup toolchain install $(MSRV) --profile minimal --no-self-update
	cargo +$(MSRV) check --locked -p kubewright --target-dir target/msrv

# The archive of a release: binary, licence, completions and manual pages. Static on Linux.
ARCHIVE_OS ?= $(shell uname -s | tr A-Z a-z)
ARCHIVE_ARCH ?= $(shell uname -m | sed 's/x86_64/amd64/; s/aarch64/arm64/')
VERSION = $(shell sed -n '/^\[workspace.package\]/,/^$$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
ARCHIVE = kubewright_$(VERSION)_$(ARCHIVE_OS)_$(ARCHIVE_ARCH)

archive:
	@if [ "$(ARCHIVE_OS)" = linux ]; then $(MAKE) --no-print-directory static; else \
		cargo build --locked --profile $(PROFILE) -p kubewright --target $(HOST) && mkdir -p target/static && cp "$(BUILT)" target/static/kubewright; fi
	rm -rf target/archive && mkdir -p target/archive/$(ARCHIVE)/completions target/archive/$(ARCHIVE)/man
	cp target/static/kubewright LICENSE README.md CHANGELOG.md target/archive/$(ARCHIVE)/
	for shell in bash zsh fish; do target/static/kubewright completions $$shell > target/archive/$(ARCHIVE)/completions/kubewright.$$shell || exit 1; done
	target/static/kubewright man target/archive/$(ARCHIVE)/man > /dev/null
	tar -C target/archive -czf target/archive/$(ARCHIVE).tar.gz $(ARCHIVE)
	@echo target/archive/$(ARCHIVE).tar.gz

unit:
	cargo test --workspace --exclude kubewright-controlplane --locked --no-fail-fast

# Tests of the control plane. The first run builds it, which takes minutes: see tests/cluster/README.md.
test-cluster:
	cargo test --locked -p kubewright-controlplane

skipped:
	@if [ -s "$(KUBEWRIGHT_CLUSTER_SKIPPED)" ]; then printf '\nNOT TESTED on this machine:\n'; cat "$(KUBEWRIGHT_CLUSTER_SKIPPED)"; fi

# Fails when a suite passes fewer cases than conformance/scores.json records.
conformance:
	@if [ -d "$(CORPUS)" ]; then \
		cargo run --profile quick --locked -q -p kubewright-conformance -- --corpus "$(CORPUS)" --floor conformance/scores.json; \
	else echo "SKIPPED: no conformance corpus at $(CORPUS)"; fi

# Benches measure the shipped profile `dist` (fat LTO), not `release`, which is built for short build times.
bench:
	cargo bench --profile dist --locked -p kubewright-bench

# CPU seconds and peak memory of a clean release build, and the seconds of a debug build after an edit in one
# dialect. Uses its own target folder; takes minutes.
build-times:
	.ci/build-times

# Compares the webhook under load with a server that allows everything, and checks its limits. Run it on an idle
# machine; `make bench-webhook LOAD="--seconds 30 --soak 60"` runs longer, `PROFILE=quick` builds faster.
PROFILE ?= dist

bench-webhook:
	cargo run --profile $(PROFILE) --locked -q -p kubewright-load --bin bench-webhook -- $(LOAD)

# Compares lists and watches of crates/cluster with those of the crate `kube` on a real API server with 100,000 Pods.
# Builds for minutes; `make bench-watch WATCH="--pods 5000"` runs shorter.
bench-watch:
	cargo run --release --locked -q --manifest-path bench/kube-comparison/Cargo.toml --target-dir target/kube-comparison -- $(WATCH)

# Measures the scanner on a real control plane with 100,000 objects, and checks its limits. Takes about ten minutes on an
# idle machine; `make bench-scan SCAN="--objects 20000 --parts cluster"` measures less.
bench-scan:
	cargo run --profile $(PROFILE) --locked -q -p kubewright-bench --bin bench-scan -- $(SCAN)

# Copies a ConfigMap into 10,000 namespaces on a real API server, and checks that each copy is written once.
bench-background:
	KUBEWRIGHT_FAULTS=long cargo test --profile $(PROFILE) --locked -p kubewright-scan-controller --test background many_triggers -- --nocapture

# Starts a control plane with rules, the scanner and a shop that breaks some of them, and shows the reports. Ctrl-C
# removes everything.
try-cluster:
	cargo build --locked -p kubewright -p kubewright-load --bin kubewright --bin try-cluster
	@"$$(cargo metadata --locked --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/try-cluster"

# Fault tests with realistic durations; `make test` has short versions. `make test-faults FAULT=certificates` runs those
# whose names contain the word.
test-faults:
	KUBEWRIGHT_FAULTS=long cargo test --locked -p kubewright --test faults --test scanning -- $(FAULT)

# A smoke test on every Kubernetes version that `tests/cluster` can build, the oldest first. Builds for minutes if the
# binaries are not cached.
test-versions:
	for version in $$(ls tests/cluster/versions/*.mod | sed 's/.*v//; s/.mod//' | sort -V) ''; do \
		KUBEWRIGHT_CLUSTER=required KUBEWRIGHT_CLUSTER_VERSION=$$version cargo test --locked -p kubewright --test versions -- --nocapture || exit 1; \
	done

# Runs the chainsaw suites of CORPUS (`CORPUS/chainsaw/**/chainsaw-test.yaml`) against real control planes with `kubewright` in
# place of Kyverno. Fails when fewer suites of a folder pass than conformance/chainsaw.json says; conformance/chainsaw-skipped.yaml
# lists suites that are not run. `make test-chainsaw CHAINSAW="--only validate/anchors --workers 1"` runs some of them,
# `CHAINSAW=--write-floor` writes the floor. The output of each suite is in target/chainsaw.
CHAINSAW ?=

test-chainsaw:
	cargo build --locked -p kubewright -p kubewright-load --bin kubewright --bin test-chainsaw
	@"$$(cargo metadata --locked --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/test-chainsaw" --corpus "$(CORPUS)" --floor conformance/chainsaw.json $(CHAINSAW)

# Signatures by the real cosign, and ours verified by it. The first run builds cosign, which takes minutes.
test-cosign:
	KUBEWRIGHT_COSIGN=build cargo test --locked -p kubewright --test cosign

# A dozen of these suites, as part of `test`.
CHAINSAW_SHORT = validate/anchors/conditional,validate/e2e/global-anchor,validate/clusterpolicy/standard/gvk,validating-policies/validation-rules,validating-policies/validation-actions/warn,exceptions/with-wildcard,autogen/only-cronjob,filter/match/user,rangeoperators,policy-validation/cluster-policy/invalid-timeout

chainsaw-short:
	@if [ ! -d "$(CORPUS)/chainsaw" ]; then echo "SKIPPED: no chainsaw suites at $(CORPUS)"; \
	elif ! command -v go > /dev/null; then echo "SKIPPED: no Go to build chainsaw"; \
	else $(MAKE) --no-print-directory test-chainsaw CHAINSAW="--workers 2 --patience 60s --only $(CHAINSAW_SHORT)"; fi

# Runs every fuzz target for SECONDS: `make fuzz SECONDS=600`.
fuzz:
	cargo run --profile quick --locked -q -p kubewright-fuzz -- --seconds $(SECONDS)

fuzz-short:
	cargo run --profile quick --locked -q -p kubewright-fuzz -- --seconds 3

# Redraws the pictures of the documentation; a test fails if they are outdated.
KUBEWRIGHT = cargo run --locked -q -p kubewright --

pictures:
	$(KUBEWRIGHT) graph -r examples/pattern/shop.yaml -o svg=docs/pictures/shop.svg
	$(KUBEWRIGHT) graph -r examples/pattern/shop.yaml --pattern orphan-service -o svg=docs/pictures/orphan-service.svg

# Writes the parts of the Helm chart that follow from the rule languages and from the flags that `install` and `serve`
# share; a test fails if they are outdated.
chart:
	UPDATE_CHART=1 cargo test --locked -q -p kubewright --bin kubewright install::tests::the_chart

# The static binary of the image: `target/static/kubewright`, at most MAX_STATIC_BYTES. As root it is also run in a
# chroot that contains nothing else. `make static PROFILE=quick` builds faster.
MAX_STATIC_BYTES = 20000000
HOST = $(shell rustc -vV | sed -n 's/^host: //p')
BUILT = $(shell cargo metadata --locked --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/$(HOST)/$(PROFILE)/kubewright

static:
	RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols -C link-arg=-Wl,-z,pack-relative-relocs -C link-arg=-Wl,--icf=all" cargo build --locked --profile $(PROFILE) -p kubewright --target $(HOST)
	mkdir -p target/static && cp "$(BUILT)" target/static/kubewright
	@if ldd target/static/kubewright 2>&1 | grep -q '=>'; then echo "the binary needs shared libraries:"; ldd target/static/kubewright; exit 1; fi
	@bytes=$$(wc -c < target/static/kubewright); echo "target/static/kubewright: $$bytes bytes"; \
	if [ $$bytes -gt $(MAX_STATIC_BYTES) ]; then echo "more than $(MAX_STATIC_BYTES) bytes"; exit 1; fi
	target/static/kubewright --version
	@if [ "$$(id -u)" = 0 ] && command -v chroot > /dev/null; then chroot --userspec=65532:65532 target/static /kubewright demo > /dev/null && echo "the binary runs without any other file"; fi

# Tests the page of `graph -o html` in a browser. `test-browser` installs Chromium if it may install packages, and the
# driver. `browser`, which is part of `test`, uses an installed Chromium.
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
PLAYWRIGHT = 1.65.0

browser:
	@if [ -n "$(CHROMIUM)" ] && command -v npm > /dev/null; then $(MAKE) --no-print-directory test-browser; \
	else echo "SKIPPED: no Chromium or no npm, so the HTML page was not tested in a browser (make test-browser)"; fi

# The extension of VS Code (`editors/vscode/kubewright.vsix`), checked, and the server in a headless Neovim if there is one.
editors:
	@if ! command -v npm > /dev/null; then echo "SKIPPED: npm is needed for the extension of VS Code"; else \
		cd editors/vscode && mkdir -p schemas && cp ../../docs/kubewright-test.schema.json ../../docs/kubewright.schema.json schemas/ && \
		cp ../../LICENSE LICENSE && npm ci --no-audit --no-fund && npm run compile && npm run bundle && npm test && npm run package; fi
	cargo test --locked -p kubewright --test lsp -- neovim

test-browser:
	@if [ -z "$(CHROMIUM)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && apt-get install -y -qq chromium; fi
	@chromium="$(CHROMIUM)"; [ -n "$$chromium" ] || chromium="$$(command -v chromium)"; \
	if [ -z "$$chromium" ] || ! command -v npm > /dev/null; then \
		echo "SKIPPED: Chromium and npm are needed, and cannot be installed here, so the HTML page was not tested in a browser"; \
	else CHROMIUM="$$chromium" $(MAKE) --no-print-directory look; fi

look:
	cd tests/browser && npm install --no-save --no-package-lock --no-audit --no-fund --silent playwright-core@$(PLAYWRIGHT)
	cargo build --locked -q -p kubewright
	node tests/browser/page.test.mjs "$$(cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')/debug/kubewright"
