//! Which of the policies beside the repository can be written in CEL.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use kubewright_lang::cel::{Environment, Program};
use kubewright_lang::jmespath::Functions;
use kubewright_value::{Source, yaml};

use crate::convert::expressions::expressions;
use crate::kyverno::source::{self, Method};

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            found.push(path);
        }
    }
}

#[test]
fn survey() {
    let Some(root) = option_env!("SURVEY") else { return };
    let mut all = Vec::new();
    files(Path::new(root), &mut all);
    let mut table: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut reasons: BTreeMap<(String, &str), Vec<String>> = BTreeMap::new();
    let environment = Environment::kubernetes()
        .variable("object")
        .variable("request")
        .variable("oldObject")
        .variable("variables");
    let functions = Functions::kubernetes();
    let mut agreement = super::rules::Agreement::default();
    let mut seen = std::collections::HashSet::new();
    for path in all {
        let text = fs::read_to_string(&path).unwrap_or_default();
        for document in yaml::read(&Source::new(path.display().to_string(), text)).documents {
            let kind = document.value.get("kind").and_then(|k| k.as_str());
            let api = document.value.get("apiVersion").and_then(|k| k.as_str()).unwrap_or_default();
            if !matches!(kind, Some("ClusterPolicy" | "Policy")) || !api.starts_with("kyverno.io/") {
                continue;
            }
            if !seen.insert(kubewright_value::json::to_string(&document.value)) {
                continue;
            }
            let (Some(policy), _) = source::read(&document) else { continue };
            for rule in &policy.rules {
                let method = match &rule.validate.method {
                    Method::Pattern(_) => "pattern",
                    Method::AnyPattern(_) => "anyPattern",
                    Method::Deny(_) => "deny",
                    Method::Foreach(_) => "foreach",
                    _ => continue,
                };
                let counts = table.entry(method).or_default();
                counts.1 += 1;
                match expressions(rule, &functions) {
                    Ok(made) => {
                        counts.0 += 1;
                        if option_env!("SHOW").is_some() {
                            println!(
                                "--- {} / {}",
                                path.strip_prefix(root).unwrap().display(),
                                rule.name.value
                            );
                            for (name, text) in &made.conditions {
                                println!("? {name}: {text}");
                            }
                        }
                        agreement.check(&path, &document, rule.name.value.as_str(), &made);
                        let texts = made
                            .conditions
                            .iter()
                            .map(|(_, text)| text)
                            .chain(made.validations.iter().map(|v| &v.expression));
                        for text in texts {
                            if let Err(errors) = Program::compile(text, &environment) {
                                println!("BAD {}\n{text}\n{errors:?}", path.display());
                            }
                        }
                        if option_env!("SHOW").is_some() {
                            for one in &made.validations {
                                println!("{}", one.expression);
                                if let Some(text) = &one.message_expression {
                                    println!("  : {text}");
                                }
                            }
                        }
                    }
                    Err(bad) => {
                        let name =
                            format!("{}/{}", path.strip_prefix(root).unwrap().display(), rule.name.value);
                        reasons.entry((bad.why, method)).or_default().push(name);
                    }
                }
            }
        }
    }
    println!(
        "AGREE {:?}, {} errors, {} different\n{table:#?}",
        agreement.same, agreement.errors, agreement.different
    );
    let mut reasons: Vec<_> = reasons.into_iter().collect();
    reasons.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    for ((why, method), names) in reasons {
        println!("{:4} {method:10} {why}   e.g. {}", names.len(), names.first().unwrap());
    }
}
