//! `podsecurity`: Pods that meet a Pod Security level or do not, as `LEVEL/VERSION/{pass,fail}/CONTROL*.yaml`.
//!
//! Each is evaluated by a policy with only that level and version.

use std::path::{Path, PathBuf};

use kubewright_dialects::{DialectOptions, all_dialects, load_documents};
use kubewright_engine::{ClosedWorld, DecisionSettings, Engine, RuleOutcome, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Source, Value, yaml};

use super::{SuiteCaseResult, SuiteResult};

/// The controls: the start of the file name, and the message of a violation.
const CONTROLS: [(&str, &str); 19] = [
    ("allowprivilegeescalation", "allowPrivilegeEscalation != false"),
    ("apparmorprofile", "forbidden AppArmor profile"),
    ("capabilities_baseline", "non-default capabilities"),
    ("capabilities_restricted", "unrestricted capabilities"),
    ("hostnamespaces", "host namespaces"),
    ("hostpathvolumes", "hostPath volumes"),
    ("hostports", "hostPort"),
    ("hostprobesandhostlifecycle", "probe or lifecycle host"),
    ("privileged", "privileged"),
    ("procmount_restricted", "procMount"),
    ("procmount", "procMount"),
    ("restrictedvolumes", "restricted volume types"),
    ("runasnonroot", "runAsNonRoot != true"),
    ("runasuser", "runAsUser=0"),
    ("seccompprofile_baseline", "seccompProfile"),
    ("seccompprofile_restricted", "seccompProfile"),
    ("selinuxoptions", "seLinuxOptions"),
    ("sysctls", "forbidden sysctls"),
    ("windowshostprocess", "hostProcess"),
];

/// Runs the suites of `folder` whose names start with `prefix`: one for each level and version.
pub(super) fn run_pod_security_suites(folder: &Path, prefix: &str) -> Result<Vec<SuiteResult>, String> {
    let mut results = Vec::new();
    for level in sorted_files(folder) {
        for version in sorted_files(&level) {
            let (level, version_name) = (file_name_text(&level), file_name_text(&version));
            let suite = format!("podsecurity/{level}/{version_name}");
            if suite.starts_with(prefix) {
                results.push(run_pod_security_suite(suite, &level, &version_name, &version)?);
            }
        }
    }
    Ok(results)
}

fn run_pod_security_suite(
    suite: String,
    level: &str,
    version: &str,
    folder: &Path,
) -> Result<SuiteResult, String> {
    let engine = engine(level, version)?;
    let mut cases = Vec::new();
    for expected in ["pass", "fail"] {
        for file in sorted_files(&folder.join(expected)) {
            let failure = check_pod_file(&engine, &file, expected).err();
            cases.push(SuiteCaseResult { name: format!("{expected}/{}", file_name_text(&file)), failure });
        }
    }
    Ok(SuiteResult { name: suite, cases, uncounted: 0 })
}

/// Returns an engine with a policy for `level` at `version`.
fn engine(level: &str, version: &str) -> Result<Engine, String> {
    let policy = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{rules: [{{name: r, \
         match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, \
         validate: {{podSecurity: {{level: {level}, version: {version}}}}}}}]}}}}"
    );
    let documents = yaml::read(&Source::new("policy.yaml", &policy)).documents;
    let loaded = load_documents(&all_dialects(&DialectOptions::default()), &documents);
    match loaded.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        Some(error) => Err(format!("podsecurity/{level}/{version}: {}", error.message)),
        None => Ok(Engine::new(loaded.rules)),
    }
}

fn check_pod_file(engine: &Engine, file: &Path, expected: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string())?;
    let pod: Value = yaml::parse(&text).map_err(|problem| problem.to_string())?;
    let request = AdmissionRequest::for_object(pod, Operation::Create, "default");
    let outcomes = engine.decide(&request, &ClosedWorld::default(), &DecisionSettings::default()).outcomes;
    let [outcome] = outcomes.as_slice() else {
        return Err(format!("expected one outcome, got {}", outcomes.len()));
    };
    match (expected, outcome.status) {
        ("pass", RuleStatus::Pass) => Ok(()),
        ("fail", RuleStatus::Fail) => blamed_controls(outcome, &file_name_text(file)),
        _ => Err(format!("expected {expected}, got {:?}: {}", outcome.status, outcome.message)),
    }
}

/// Passes when the control that the file is named by is one of those that are violated.
fn blamed_controls(outcome: &RuleOutcome, file: &str) -> Result<(), String> {
    let control = file.trim_end_matches(".yaml").trim_end_matches(|c: char| c.is_ascii_digit());
    let Some((_, reason)) = CONTROLS.iter().find(|(name, _)| *name == control) else {
        return Err(format!("unknown control {control}"));
    };
    match outcome.message.contains(&format!("Forbidden reason: {reason}")) {
        true => Ok(()),
        false => Err(format!("expected {reason}, got {}", outcome.message)),
    }
}

/// Returns the sorted entries of `folder`; none if it does not exist.
fn sorted_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn file_name_text(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
