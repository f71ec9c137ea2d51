//! What must not happen between the crates. `ARCHITECTURE.md` says why.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kubewright_value::{Value, json};

/// Each crate may depend on those of the layers before its own, never on others: no dialect depends on another one.
const LAYERS: &[&[&str]] = &[
    &["kubewright-value", "kubewright-packed", "kubewright-controlplane"],
    &["kubewright-k8s", "kubewright-golib", "kubewright-load"],
    &["kubewright-signatures"],
    // Languages do not know each other, except that `interpolate` is CEL inside of texts.
    &[
        "kubewright-cel",
        "kubewright-gotemplate",
        "kubewright-jmespath",
        "kubewright-jsonpath",
        "kubewright-patch",
    ],
    &["kubewright-interpolate"],
    &["kubewright-engine"],
    &[
        "kubewright-graph",
        "kubewright-cluster",
        "kubewright-dialect-kit",
        "kubewright-files",
        "kubewright-remedy",
    ],
    &[
        "kubewright-cel-rules",
        "kubewright-modrule",
        "kubewright-traits",
        "kubewright-patterns",
        "kubewright-draw",
    ],
    &["kubewright-kyverno", "kubewright-admission"],
    &["kubewright-convert"],
    &["kubewright-dialects"],
    &["kubewright-report", "kubewright-schemas"],
    &["kubewright-scan", "kubewright-lsp", "kubewright-serve", "kubewright-ui"],
    &["kubewright-scan-controller"],
    &["kubewright-cli"],
    &["kubewright"],
    &["kubewright-conformance", "kubewright-bench", "kubewright-fuzz"],
];

/// The crates below `dialects`, and itself.
const DIALECTS: &[&str] = &[
    "dialect-kit",
    "cel-rules",
    "modrule",
    "kyverno",
    "admission",
    "traits",
    "patterns",
    "convert",
    "dialects",
];

/// The crates that only compute, as those of [`DIALECTS`] do, and the words by which they would reach outside.
const PURE: &[&str] = &["value", "k8s", "signatures", "engine", "graph", "report", "scan"];

/// The expression and patch languages, and what they share. They only compute, too.
const LANGUAGES: &[&str] = &["golib", "cel", "gotemplate", "interpolate", "jmespath", "jsonpath", "patch"];

const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::net::Tcp",
    "std::net::Udp",
    "std::net::ToSocketAddrs",
    "std::env",
    "std::process",
    "std::time::Instant",
    "std::time::SystemTime",
    "SystemTime::now",
    "Instant::now",
    // A scope ends with its threads, and what they compute does not depend on how many there are.
    "use std::thread",
    "thread::spawn",
    "thread::sleep",
    "thread::park",
    "thread::Builder",
    "tokio::",
    "std::io::stdin",
    "std::io::stdout",
    "println!",
    "eprintln!",
    "OsRng",
    "thread_rng",
    "getrandom",
];

/// What writes or reads a whole value without a budget. While a rule is evaluated, `kubewright_value::bounded` does it.
const UNBOUNDED: &[&str] =
    &[" json::to_string(", "(json::to_string(", "json::to_pretty(", " json::write(", "yaml::write("];

/// Where it may stand all the same, and why.
const UNBOUNDED_IN: &[(&str, &str)] = &[
    ("convert/src/", "writes what a policy file says"),
    ("dialect-kit/src/fields.rs", "shows a scalar of a rule file"),
    ("kyverno/src/manifests/", "what was signed is unpacked within limits of its own"),
    ("kyverno/src/signing.rs", "signs a file"),
    ("modrule/src/dry_run.rs", "measures the objects first"),
    ("traits/src/pipeline/", "writes the files of a component"),
    ("engine/src/secrets/substitute.rs", "writes a copy of an annotation that was read from text"),
    ("gotemplate/src/functions/helm.rs", "writes what was counted as JSON, for templates of charts only"),
    ("interpolate/src/output.rs", "writes a scalar, which was counted"),
];

/// The words that name a dialect. They may stand in its crate, in the registry, and where the binary reads its files.
const DIALECT_WORDS: &[&str] = &["modrule", "kubemod", "kyverno", "kubepattern", "openchoreo"];

const PERMISSIVE: &[&str] = &[
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "0BSD",
    "Unlicense",
    "Unicode-3.0",
    "CC0-1.0",
    "BSL-1.0",
    "MIT-0",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn sources(folder: &Path, into: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("text");
            into.push((path, text));
        }
    }
}

fn sources_of(name: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    sources(&root().join("crates").join(name).join("src"), &mut found);
    assert!(!found.is_empty(), "no sources of {name}");
    found
}

fn metadata(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(arguments)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    json::parse(&String::from_utf8(output.stdout).expect("text")).expect("JSON")
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[test]
fn no_crate_depends_upwards() {
    let layer = |name: &str| LAYERS.iter().position(|layer| layer.contains(&name));
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata.get("packages").and_then(Value::as_array).expect("packages");
    let mut wrong = Vec::new();
    for package in packages {
        let name = text(package, "name");
        let own = layer(name).unwrap_or_else(|| panic!("{name} has no layer: put it into LAYERS"));
        for dependency in package.get("dependencies").and_then(Value::as_array).expect("dependencies") {
            let dependency = text(dependency, "name");
            if layer(dependency).is_some_and(|other| other >= own) {
                wrong.push(format!("{name} depends on {dependency}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn pure_crates_do_not_reach_outside() {
    let mut wrong = Vec::new();
    for name in PURE.iter().chain(LANGUAGES).chain(DIALECTS) {
        for (path, content) in sources_of(name) {
            if path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests") {
                continue;
            }
            let code = content.split("#[cfg(test)]").next().unwrap_or_default();
            for (number, line) in
                code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
            {
                for word in OUTSIDE.iter().filter(|word| line.contains(**word)) {
                    wrong.push(format!("{}:{}: {word}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rules_write_and_read_whole_values_within_a_budget() {
    let mut wrong = Vec::new();
    for name in ["engine"].iter().chain(LANGUAGES).chain(DIALECTS) {
        for (path, content) in sources_of(name) {
            let shown = path.to_string_lossy();
            let is_test =
                path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests");
            if is_test || UNBOUNDED_IN.iter().any(|(place, _)| shown.contains(place)) {
                continue;
            }
            let code = content.split("#[cfg(test)]").next().unwrap_or_default();
            let lines = code.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
            for (number, line) in lines {
                for call in UNBOUNDED.iter().filter(|call| line.contains(**call)) {
                    wrong.push(format!("{shown}:{}: {call}", number + 1));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "use `kubewright_value::bounded`, or say in UNBOUNDED_IN why not: {wrong:#?}");
}

/// What decides by the words of a message, which may change at any time, where a type should decide.
const MESSAGE_DECISIONS: &[&str] = &[
    "message.contains(",
    "message.starts_with(",
    "message.ends_with(",
    "message().contains(",
    "message().starts_with(",
    "message == \"",
    "message.as_str() == \"",
    "to_string().contains(",
    "to_string().starts_with(",
    "to_string().ends_with(",
    ".id.starts_with(\"KW-",
    ".id.contains(\"KW-",
];

/// Where words decide all the same, and why.
const MESSAGE_DECISIONS_IN: &[(&str, &str)] = &[
    ("cli/src/commands/test/", "compares with what a test file expects"),
    ("cli/src/commands/doctor/webhooks.rs", "the API server says that a webhook failed in words only"),
    ("cli/src/commands/rescue.rs", "the API server says that a webhook failed in words only"),
    ("cli/src/commands/fix/misspelt.rs", "a word is corrected only where the message quotes it"),
    ("engine/src/diagnostic.rs", "a word is corrected only where the message quotes it"),
    ("lsp/src/diagnostics.rs", "a place that a message names is shown beside it"),
    ("cli/src/commands/trace.rs", "the words of the original stand for several reasons; the tree says which"),
    (
        "cel-rules/src/reasons.rs",
        "the API server's words for a variable without a value, which has a note of its own",
    ),
    ("snippet.rs", "a message that names its file is not followed by the name again"),
    ("convert/src/checks.rs", "the message that a policy writes, not one of ours"),
];

#[test]
fn nothing_decides_by_the_words_of_a_message() {
    let mut all = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("a folder") {
        let folder = entry.expect("an entry").path();
        if folder.join("src").is_dir() && !folder.ends_with("conformance") {
            sources(&folder.join("src"), &mut all);
        }
    }
    let mut wrong = Vec::new();
    for (path, content) in &all {
        let place = path.to_string_lossy().replace('\\', "/");
        let is_test = place.ends_with("/tests.rs") || place.contains("/tests/");
        if is_test || MESSAGE_DECISIONS_IN.iter().any(|(allowed, _)| place.contains(allowed)) {
            continue;
        }
        let production = content.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (number, line) in production.lines().enumerate() {
            if MESSAGE_DECISIONS.iter().any(|words| line.contains(words)) {
                wrong.push(format!("{place}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "carry a kind instead, or say in MESSAGE_DECISIONS_IN why not: {wrong:#?}");
}

#[test]
fn shared_crates_and_the_binary_name_no_dialect() {
    let mut wrong = Vec::new();
    let shared =
        ["value", "k8s", "signatures", "engine", "graph", "cluster", "serve", "dialect-kit", "cel-rules"];
    for name in shared.iter().chain(LANGUAGES) {
        for (path, content) in sources_of(name) {
            let lower = content.to_lowercase();
            wrong.extend(
                DIALECT_WORDS
                    .iter()
                    .filter(|word| lower.contains(**word))
                    .map(|word| format!("{}: {word}", path.display())),
            );
        }
    }
    // The binary shows examples of dialects, writes first rules in them, reads the files of Kyverno's command line, also where
    // the page sorts what it was sent, and Events under Kyverno's name. It knows no rules.
    let reads_their_files = |path: &Path| {
        let path = path.to_string_lossy();
        let places = [
            "src/commands/test",
            "src/commands/ui/workspace",
            "src/commands/why/past.rs",
            "src/fixtures",
            "src/commands/new.rs",
            "src/arguments/scaffold.rs",
        ];
        places.iter().any(|place| path.contains(place))
    };
    for (path, content) in sources_of("cli").into_iter().filter(|(path, _)| !reads_their_files(path)) {
        let lower = content.to_lowercase();
        let is_ours = |line: &str| ["/rules/", "kyverno-test.yaml"].iter().any(|text| line.contains(text));
        // The crate of a dialect and its options are named in order to be used.
        let names = |line: &str| {
            let uses = [
                "kubewright_modrule",
                "kubewright_kyverno",
                "modruleoptions",
                ".modrule",
                "modrule:",
                "is_kyverno_test",
            ];
            uses.iter().fold(line.to_owned(), |line, name| line.replace(name, ""))
        };
        let mut lines = lower.lines().filter(|line| !is_ours(line)).map(names);
        if lines.any(|line| DIALECT_WORDS.iter().any(|word| line.contains(word))) {
            wrong.push(format!("{} names a dialect", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn dependencies_have_permissive_licences() {
    let metadata = metadata(&[]);
    let mut wrong = BTreeMap::new();
    for package in metadata.get("packages").and_then(Value::as_array).expect("packages") {
        let licence = text(package, "license");
        // Every alternative of an `OR` may be chosen; all parts of an `AND` must be fine.
        let is_fine = licence
            .replace(['(', ')'], "")
            .replace('/', " OR ")
            .split(" OR ")
            .any(|choice| choice.split(" AND ").all(|part| PERMISSIVE.contains(&part.trim())));
        if !is_fine {
            wrong.insert(text(package, "name").to_owned(), licence.to_owned());
        }
    }
    assert!(wrong.is_empty(), "not permissive: {wrong:#?}");
}

#[test]
fn no_file_is_named_or_marked_against_the_style() {
    let mut wrong = Vec::new();
    let others = [
        "files",
        "cluster",
        "serve",
        "scan-controller",
        "cli",
        "kubewright",
        "controlplane",
        "load",
        "conformance",
    ];
    for name in PURE.iter().chain(DIALECTS).chain(&others) {
        for (path, content) in sources_of(name) {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if ["mod.rs", "utils.rs", "helpers.rs", "common.rs", "misc.rs"].contains(&file.as_str()) {
                wrong.push(format!("{} is not a name", path.display()));
            }
            let marks = ["todo", "unimplemented"].iter().any(|word| content.contains(&format!("{word}!(")));
            if marks || content.contains(concat!("#[", "ignore")) {
                wrong.push(format!("{} has a stub or an ignored test", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_definition_fills_in_defaults() {
    let dialects = kubewright_dialects::all_dialects(&kubewright_dialects::DialectOptions::default());
    let languages = dialects.iter().filter_map(|dialect| dialect.cluster_support());
    let definitions: Vec<&str> =
        languages.flat_map(|language| language.custom_resource_definitions()).collect();
    assert!(definitions.len() >= 5, "only {} definitions", definitions.len());
    for definition in definitions {
        let definition = kubewright_value::yaml::parse(definition).expect("YAML");
        let versions = definition.at(&["spec", "versions"]).and_then(Value::as_array).expect("versions");
        for version in versions {
            let schema = version.at(&["schema", "openAPIV3Schema"]).expect("a schema");
            let name = definition.at(&["metadata", "name"]).and_then(Value::as_str).unwrap_or_default();
            assert_eq!(default_in(schema, ""), None, "{name}");
        }
    }
}

/// Returns the place of a `default` in `schema`. A property may be called so; it then holds a schema.
fn default_in(schema: &Value, place: &str) -> Option<String> {
    if schema.get("default").is_some() {
        return Some(place.to_owned());
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let named = properties.into_iter().flat_map(|properties| properties.iter());
    let below = ["items", "additionalProperties"].into_iter();
    let below = below.filter_map(|key| Some((key.to_owned(), schema.get(key)?)));
    let mut all = named.map(|(name, schema)| (name.to_string(), schema)).chain(below);
    all.find_map(|(name, schema)| default_in(schema, &format!("{place}/{name}")))
}

/// The page that says where each section of the contracts is implemented and tested names files that are there.
#[test]
fn what_the_contract_page_names_exists() {
    let page = std::fs::read_to_string(root().join("docs/contract.md")).expect("docs/contract.md");
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| section")) {
        let columns: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [_, implemented, tested] = columns.as_slice() else { panic!("three columns: {row}") };
        for path in quoted(implemented) {
            count += 1;
            if !root().join("crates").join(path).exists() {
                wrong.push(path.to_owned());
            }
        }
        for path in quoted(tested) {
            count += 1;
            let base = if path.starts_with("crates/") { "" } else { "tests" };
            if !root().join(base).join(path).exists() {
                wrong.push(path.to_owned());
            }
        }
    }
    assert!(count > 100, "only {count} paths were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Each promise of the threat model names tests that are there: a file below `crates`, then tests in it. Fuzz targets are
/// tests too.
#[test]
fn the_tests_of_the_threat_model_exist() {
    let page = std::fs::read_to_string(root().join("docs/security.md")).expect("docs/security.md");
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in page.lines() {
        let (mut file, before) = (None, count);
        for name in quoted(line) {
            if name.contains('/') && name.ends_with(".rs") {
                file = Some((
                    name,
                    std::fs::read_to_string(root().join("crates").join(name)).unwrap_or_default(),
                ));
            } else if let Some((path, text)) = &file
                && name.contains('_')
            {
                count += 1;
                if !has_test(text, name) {
                    wrong.push(format!("{path}: {name}"));
                }
            }
        }
        let is_promise = line.starts_with("| ") && !line.ends_with("| test |");
        if is_promise && count == before && !line.contains("`make fuzz-short`") {
            wrong.push(format!("without a test: {line}"));
        }
    }
    assert!(count > 75, "only {count} tests were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn has_test(source: &str, name: &str) -> bool {
    let before = source.split_once(&format!("fn {name}(")).map(|(before, _)| before);
    before.and_then(|before| before.rsplit("\n\n").next()).is_some_and(|head| head.contains("#[test]"))
}

/// What is built elsewhere is built with the compiler that the crates need, and what libFuzzer tries is of the versions
/// that ship.
#[test]
fn other_builds_have_the_compiler_and_the_crates_of_this_one() {
    let read =
        |path: &str| fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let manifest = read("Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).expect("a version");
    let version = version.trim_matches('"');
    for (path, line) in [
        ("Dockerfile", format!("FROM rust:{version}-bookworm AS build")),
        ("fuzz/oss-fuzz/Dockerfile", format!("ENV RUSTUP_TOOLCHAIN={version}")),
    ] {
        assert!(read(path).lines().any(|found| found == line), "{path}: no line `{line}`");
    }
    let locked = |path: &str| {
        let mut found = BTreeMap::<String, Vec<String>>::new();
        for package in read(path).split("[[package]]").skip(1) {
            let mut fields = package.lines().skip(1).map(str::to_owned);
            found.entry(fields.next().expect("a name")).or_default().extend(fields.next());
        }
        found
    };
    let (shipped, fuzzed) = (locked("Cargo.lock"), locked("fuzz/guided/Cargo.lock"));
    let common: Vec<_> =
        fuzzed.iter().filter_map(|(name, versions)| Some((name, versions, shipped.get(name)?))).collect();
    assert!(common.len() > 100, "only {} crates are in both", common.len());
    for (name, versions, ours) in common {
        assert!(ours.iter().any(|version| versions.contains(version)), "fuzz/guided: {name} {versions:?}");
    }
}

/// The workspaces beside this one have lock files of their own, which name what our crates depend on. One that is outdated
/// stops `--locked` builds.
#[test]
fn locks_of_other_workspaces_have_what_our_crates_need() {
    let read =
        |path: &str| fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    for path in ["fuzz/guided/Cargo.lock", "bench/kube-comparison/Cargo.lock"] {
        let lock = read(path);
        let ours = lock.split("[[package]]").filter_map(|package| {
            let name = package.lines().find_map(|line| line.strip_prefix("name = \"kubewright-"))?;
            Some((name.trim_end_matches('"'), package))
        });
        let mut looked_at = 0;
        for (name, package) in ours {
            let manifest = format!("crates/{name}/Cargo.toml");
            if !root().join(&manifest).is_file() {
                continue;
            }
            looked_at += 1;
            let manifest = read(&manifest);
            let dependencies = manifest.split("\n[").find_map(|table| table.strip_prefix("dependencies]\n"));
            for line in
                dependencies.unwrap_or_default().lines().filter(|line| !line.contains("optional = true"))
            {
                let needed = line.split(['.', ' ', '=']).next().unwrap_or_default();
                let is_there = |quote: &str| package.contains(&format!(" \"{needed}{quote}"));
                assert!(
                    needed.is_empty() || needed.starts_with('#') || is_there("\"") || is_there(" "),
                    "{path}: kubewright-{name} lacks {needed}; run `cargo metadata` in its folder"
                );
            }
        }
        assert!(looked_at > 2, "{path} has only {looked_at} of our crates");
    }
}

/// Returns the texts between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// How many production files may name a workload kind: its definition, the table of built-in kinds, and two tables of
/// the pictures.
const MAX_FILES_WITH_WORKLOAD_KIND: usize = 4;

#[test]
fn workload_kinds_are_listed_in_one_place() {
    // Crates that are not shipped have none of the product's facts.
    let is_shipped = |path: &Path| {
        !["conformance", "controlplane", "load"].iter().any(|name| path.ends_with(format!("crates/{name}")))
    };
    let mut files = Vec::new();
    for entry in fs::read_dir(root().join("crates")).expect("crates") {
        let folder = entry.expect("an entry").path();
        if is_shipped(&folder) && folder.join("src").is_dir() {
            sources(&folder.join("src"), &mut files);
        }
    }
    let is_test =
        |path: &Path| path.ends_with("tests.rs") || path.components().any(|part| part.as_os_str() == "tests");
    let names_kind = |content: &str| {
        let code = content.split("#[cfg(test)]").next().unwrap_or_default();
        code.contains("\"DaemonSet\"")
    };
    let found: Vec<String> = files
        .iter()
        .filter(|(path, content)| !is_test(path) && names_kind(content))
        .map(|(path, _)| path.display().to_string())
        .collect();
    assert!(
        found.len() <= MAX_FILES_WITH_WORKLOAD_KIND,
        "use `kubewright_k8s::WorkloadKind` instead of a list of kinds: {found:#?}"
    );
}

#[test]
fn facts_about_kubernetes_and_the_client_need_no_engine() {
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata.get("packages").and_then(Value::as_array).expect("packages");
    let dependencies = |name: &str| -> Vec<String> {
        let package = packages.iter().find(|package| text(package, "name") == name).expect("a package");
        let all = package.get("dependencies").and_then(Value::as_array).expect("dependencies");
        let is_normal = |dependency: &&Value| dependency.get("kind").is_none_or(Value::is_null);
        let names = all.iter().filter(is_normal).map(|dependency| text(dependency, "name").to_owned());
        names.filter(|name| name.starts_with("kubewright")).collect()
    };
    assert_eq!(dependencies("kubewright-k8s"), ["kubewright-value"]);
    assert_eq!(
        dependencies("kubewright-cluster"),
        ["kubewright-golib", "kubewright-k8s", "kubewright-value"]
    );
}

/// Extensions by which a word in backticks is the name of a file.
const FILE_EXTENSIONS: &[&str] = &["json", "jsonl", "md", "rs", "toml", "txt", "yaml", "yml"];

#[test]
fn paths_in_architecture_and_contributing_exist() {
    let mut files = Vec::new();
    list_repository(&root(), "", &mut files);
    let mut missing = Vec::new();
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).expect(page);
        let paths: Vec<&str> = paths_in(&text).collect();
        assert!(paths.len() > 20, "{page}: only {} paths were found", paths.len());
        let absent = paths.into_iter().filter(|path| !is_repository_path(path, &files));
        missing.extend(absent.map(|path| format!("{page}: {path}")));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// The recipes for rows of a table, and how many files each may name.
const TABLE_RECIPES: &[&str] = &[
    "### Add a diagnostic",
    "### Add a metric",
    "### Add an edge type",
    "### Add a flag shared by install and serve",
];
const MAX_RECIPE_STEPS: usize = 3;

#[test]
fn recipes_for_rows_of_a_table_have_at_most_three_steps() {
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    for title in TABLE_RECIPES {
        let recipe = text.split_once(&format!("{title}\n")).expect(title).1;
        let recipe = recipe.split("\n#").next().unwrap_or_default();
        // One step is one file.
        let steps =
            recipe.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).count();
        assert!((1..=MAX_RECIPE_STEPS).contains(&steps), "{title}: {steps} steps");
    }
}

/// Adds all files and folders of the repository below `folder`, relative to its root. Links are not followed.
fn list_repository(folder: &Path, prefix: &str, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        if matches!(name.as_str(), ".git" | "target" | "node_modules") {
            continue;
        }
        let path = format!("{prefix}{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            list_repository(&entry.path(), &format!("{path}/"), into);
        }
        into.push(path);
    }
}

/// Returns the words in backticks of a page that look like paths of the repository, outside of code blocks.
fn paths_in(page: &str) -> impl Iterator<Item = &str> {
    let prose = page.split("```").step_by(2);
    prose.flat_map(quoted).filter(|word| looks_like_path(word) && !has_placeholder(word))
}

fn looks_like_path(word: &str) -> bool {
    let is_plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    let has_extension = FILE_EXTENSIONS.iter().any(|extension| word.ends_with(&format!(".{extension}")));
    let first = word.split('/').next().unwrap_or_default();
    let starts_in_repository = word.contains('/')
        && !first.is_empty()
        && (root().join(first).exists() || root().join("crates").join(first).exists());
    // What is built is not in the repository.
    is_plain && first != "target" && (has_extension || starts_in_repository)
}

/// Returns whether a part of `path` is a word that the reader replaces, such as `CODE.md`.
fn has_placeholder(path: &str) -> bool {
    let is_page = |part: &str| root().join(part).exists() || part == "README.md";
    path.split('/').any(|part| {
        let stem = part.split('.').next().unwrap_or_default();
        !stem.is_empty() && stem.chars().all(|c| c.is_ascii_uppercase()) && !is_page(part)
    })
}

/// Returns whether `path` is the end of the path of a file or folder.
fn is_repository_path(path: &str, files: &[String]) -> bool {
    let path = path.trim_end_matches('/');
    files
        .iter()
        .any(|file| file == path || file.strip_suffix(path).is_some_and(|before| before.ends_with('/')))
}
