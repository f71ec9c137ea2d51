//! How long the longest chain of dependent crates is: an edit at its bottom recompiles all of it, one after the other.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use kubewright_conformance::workspace::{
    DEVELOPMENT_PACKAGES, cargo_metadata, files_below, is_test_file, without_test_module,
};
use kubewright_value::Value;

/// How many of a hundred shipped lines the longest chain may hold.
const MAX_CHAIN_PERCENT: usize = 60;

/// A shipped package: its production lines and the packages it depends on.
struct ShippedPackage {
    lines: usize,
    dependencies: Vec<String>,
}

#[test]
fn the_longest_dependency_chain_is_short() {
    let packages = shipped_packages();
    let total: usize = packages.values().map(|package| package.lines).sum();
    let chains = packages.keys().map(|name| longest_chain(name, &packages));
    let (lines, chain) = chains.max().expect("a package");
    let percent = lines * 100 / total;
    println!("longest chain: {lines} of {total} lines ({percent} %): {chain:?}");
    assert!(percent < MAX_CHAIN_PERCENT, "{percent} % of all lines depend on each other: {chain:?}");
}

#[test]
fn only_patterns_and_what_shows_them_depend_on_the_graph() {
    let users: Vec<String> = shipped_packages()
        .into_iter()
        .filter(|(_, package)| package.dependencies.iter().any(|name| name == "kubewright-graph"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        users,
        ["kubewright-cli", "kubewright-draw", "kubewright-patterns", "kubewright-report", "kubewright-scan"]
    );
}

fn shipped_packages() -> BTreeMap<String, ShippedPackage> {
    let metadata = cargo_metadata(&["--no-deps"]);
    let packages = metadata.get("packages").and_then(Value::as_array).expect("packages");
    let text = |value: &Value, key: &str| value.str_at(&[key]).to_owned();
    let mut shipped = BTreeMap::new();
    for package in packages {
        let name = text(package, "name");
        if DEVELOPMENT_PACKAGES.contains(&name.as_str()) {
            continue;
        }
        let manifest = text(package, "manifest_path");
        let sources = files_below(&Path::new(&manifest).with_file_name("src"), "rs").into_iter();
        let production = sources.filter(|(path, _)| !is_test_file(path));
        let lines = production.map(|(_, text)| without_test_module(&text).lines().count()).sum();
        let dependencies = package.get("dependencies").and_then(Value::as_array).expect("dependencies");
        let dependencies = dependencies.iter().filter(|dependency| text(dependency, "kind").is_empty());
        let dependencies = dependencies.map(|dependency| text(dependency, "name")).collect();
        shipped.insert(name, ShippedPackage { lines, dependencies });
    }
    shipped
}

/// Returns the lines of the longest chain that ends with `name`, and the packages in it.
fn longest_chain(name: &str, packages: &BTreeMap<String, ShippedPackage>) -> (usize, Vec<String>) {
    let Some(package) = packages.get(name) else { return (0, Vec::new()) };
    let below = package.dependencies.iter().map(|dependency| longest_chain(dependency, packages));
    let (lines, mut chain) = below.max().unwrap_or_default();
    chain.push(name.to_owned());
    (lines + package.lines, chain)
}
