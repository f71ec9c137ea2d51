//! `/why`: what the rules of the cluster say about a live object now, with traces, and where that differs from the reports.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_engine::RuleOutcome;
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_report::cluster_report::result_of_outcome;
use kubewright_report::{ObjectRow, OutcomeCounts, Totals};
use kubewright_ui::{PageContent, PageRequest};
use kubewright_value::{Document, Location, Map, Source, Text, Value, yaml};

use super::super::attempt::judged_fields;
use super::ClusterPage;
use super::masking::{is_secret, masked};
use super::report_rows::PageRow;
use crate::commands::scan::{ObjectJudge, ScanRuleSet};
use crate::commands::trace::out_of_scope_rules_of;
use crate::output::{Columns, yaml_text};

/// What answers call the text of the object.
const OBJECT_FILE: &str = "object.yaml";

impl ClusterPage {
    /// Answers a request about one object.
    pub(super) fn answer_why(&self, request: &PageRequest) -> Result<Value, PageContent> {
        let object = self.live_object(request)?;
        let rules = self.rules()?;
        let is_asked = |outcome: &RuleOutcome| is_asked(outcome, request);
        let judge = ObjectJudge {
            rules: &rules.set.compiled,
            world: &rules.world,
            columns: Columns {
                all_outcomes: true,
                trace: true,
                // A Secret with changes would be shown with its values.
                patch: !is_secret(&object),
                objects: !is_secret(&object),
                ..Columns::default()
            },
            is_lenient: false,
            is_traced: true,
        };
        let mut decision = judge.decide(&object);
        let differs = self.differences(&object, &decision.outcomes)?;
        decision.outcomes.retain(is_asked);
        let admission = AdmissionRequest::for_object(object.clone(), Operation::Create, "");
        let document = shown_document(object);
        let row = judge.row_of(&document, &admission, decision);
        let mut outside = out_of_scope_rules_of(&rules.set.all, &admission, &document);
        outside.retain(|rule| names_rule(rule.rule(), request));
        let files = file_values(&rules.set, &row, &document);
        let counts = row.counts;
        let rows = vec![(row, outside)];
        let mut answer = judged_fields(&rules.set.all, &rows);
        answer.insert("summary".into(), summary(&rules.set, counts));
        answer.insert("files".into(), files);
        answer.insert("differs".into(), differs);
        answer.insert(
            "diagnostics".into(),
            Value::array(super::super::traced::diagnostic_values(&rules.set.diagnostics)),
        );
        Ok(answer.into())
    }

    /// Returns the rules whose verdict about `object` in reports is not the one of `outcomes`.
    fn differences(&self, object: &Value, outcomes: &[RuleOutcome]) -> Result<Value, PageContent> {
        let reports = self.all_reports()?;
        let text = |keys: &[&str]| object.str_at(keys);
        let is_about = |row: &&PageRow| {
            row.kind == text(&["kind"])
                && row.name == text(&["metadata", "name"])
                && row.namespace == text(&["metadata", "namespace"])
        };
        // Rules that other programs evaluate are compared too; patterns are no rules.
        let mut reported: BTreeMap<(Text, Text), Text> = BTreeMap::new();
        for row in reports.rows.iter().filter(is_about).filter(|row| row.source != "kubewright-patterns") {
            // The worst comes first.
            reported.entry((row.policy.clone(), row.rule.clone())).or_insert_with(|| row.result.clone());
        }
        let mut now: BTreeMap<(Text, Text), &'static str> = BTreeMap::new();
        for outcome in outcomes {
            let row = result_of_outcome(outcome, 0);
            let verdict = now.entry((row.policy, row.rule)).or_insert(outcome.status.name());
            if rank(outcome.status.name()) < rank(verdict) {
                *verdict = outcome.status.name();
            }
        }
        let mut differs = Vec::new();
        for (key, report) in &reported {
            let now = now.get(key).copied().unwrap_or("none");
            if now != report.as_str() {
                differs.push(difference(key, report, now));
            }
        }
        for (key, now) in now.iter().filter(|(key, _)| !reported.contains_key(*key)) {
            // Passes have no row unless that is asked for.
            if matches!(*now, "fail" | "error" | "warn") {
                differs.push(difference(key, "none", now));
            }
        }
        Ok(Value::array(differs))
    }
}

fn difference((policy, rule): &(Text, Text), report: &str, now: &str) -> Value {
    Map::from([
        ("policy", Value::from(policy.clone())),
        ("rule", rule.clone().into()),
        ("report", report.into()),
        ("now", now.into()),
    ])
    .into()
}

/// Returns how bad a verdict is, the worst first.
fn rank(verdict: &str) -> usize {
    ["fail", "error", "warn", "skip", "pass"].iter().position(|one| *one == verdict).unwrap_or(9)
}

/// Returns whether a request asks for the rule of an outcome; without a policy it asks for all.
fn is_asked(outcome: &RuleOutcome, request: &PageRequest) -> bool {
    let (policy, rule) = (request.query_value("policy"), request.query_value("rule"));
    let row = result_of_outcome(outcome, 0);
    (policy.is_empty() || row.policy == policy) && (rule.is_empty() || row.rule == rule)
}

/// Returns whether a request asks for the rule with `id`, which has the policy and the rule in it.
fn names_rule(id: &str, request: &PageRequest) -> bool {
    let policy = request.query_value("policy");
    let name = policy.rsplit('/').next().unwrap_or(policy);
    name.is_empty() || id.split('/').any(|part| part == name)
}

/// Returns the object as a text with lines; without values if it is a Secret.
fn shown_document(object: Value) -> Document {
    let shown = masked(object);
    let source = Source::new(OBJECT_FILE, yaml_text(&shown));
    yaml::read(&source).documents.into_iter().next().unwrap_or_else(|| Document::made(shown, source))
}

/// Returns the texts that places of the answer refer to.
fn file_values(rules: &ScanRuleSet, row: &ObjectRow, document: &Document) -> Value {
    let mut sources: BTreeMap<String, Arc<Source>> = BTreeMap::new();
    let mut add = |place: &Location| {
        sources.entry(place.source.name.clone()).or_insert_with(|| Arc::clone(&place.source));
    };
    for outcome in &row.outcomes {
        outcome.rule_location.iter().for_each(&mut add);
        let rule = rules.all.iter().find(|rule| *rule.id == *outcome.rule);
        rule.iter().for_each(|rule| add(&rule.location));
    }
    let file = |name: &str, role: &str, text: &str| -> Value {
        Map::from([("name", Value::from(name)), ("role", role.into()), ("text", text.into())]).into()
    };
    let mut files: Vec<Value> =
        sources.iter().map(|(name, source)| file(name, "rules", &source.text)).collect();
    files.push(file(OBJECT_FILE, "objects", &document.source.text));
    Value::array(files)
}

fn summary(rules: &ScanRuleSet, counts: OutcomeCounts) -> Value {
    kubewright_report::render::totals_value(&Totals { rules: &rules.all, objects: 1, counts, findings: None })
}
