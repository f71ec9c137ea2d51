use kubewright_engine::RuleStatus;
use kubewright_report::OutcomeCounts;
use kubewright_report::cluster_report::{
    ObjectResults, ReportResult, ReportScope, ReportSource, StatusFilter,
};
use kubewright_serve::Notice;
use kubewright_value::{Document, json};
use tokio::sync::mpsc::Receiver;

use super::ViolationEvents;

const POLICY: &str =
    r#"{"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p", "uid": "u"}}"#;

fn events() -> (ViolationEvents, Receiver<Notice>) {
    let (events, notices) = ViolationEvents::new(true);
    events.set_rules(&[Document::written(json::parse(POLICY).expect("JSON"), "p".to_owned())]);
    (events, notices)
}

/// The results of one object of `kind`, with one row that is so since `since`.
fn results(kind: &str, result: RuleStatus, since: i64) -> ObjectResults {
    let row = ReportResult {
        policy: "p".into(),
        rule: "r".into(),
        message: "no team".into(),
        category: "".into(),
        severity: "".into(),
        result,
        is_scored: true,
        properties: vec![("dialect".into(), "kyverno".into())],
        since,
    };
    ObjectResults {
        scope: ReportScope {
            api_version: "v1".into(),
            kind: kind.into(),
            namespace: "shop".into(),
            name: "a".into(),
            uid: "1".into(),
        },
        source: ReportSource::Rules,
        counts: OutcomeCounts::default(),
        statuses: StatusFilter::default(),
        results: vec![row],
    }
}

/// What is told about `results` at the second 1000.
fn told((events, notices): &mut (ViolationEvents, Receiver<Notice>), results: &ObjectResults) -> Vec<String> {
    events.add(results, 1000, false);
    let mut texts = Vec::new();
    while let Ok(notice) = notices.try_recv() {
        let words = notice.words().expect("words");
        texts.push(format!("{} {}: {}", words.component, notice.document.kind, words.message));
    }
    texts
}

#[test]
fn a_new_violation_is_told_about_the_policy_and_about_the_object_once() {
    let mut events = events();
    let expected = [
        "kyverno-scan ClusterPolicy: Pod shop/a: [r] fail; no team",
        "kyverno-scan Pod: policy p/r fail: no team",
    ];
    assert_eq!(told(&mut events, &results("Pod", RuleStatus::Fail, 1000)), expected);
    assert_eq!(told(&mut events, &results("Pod", RuleStatus::Fail, 1000)), Vec::<String>::new());
    // It was fine in between.
    assert_eq!(told(&mut events, &results("Pod", RuleStatus::Fail, 1001)), expected);
}

#[test]
fn what_was_so_before_is_not_told() {
    assert_eq!(told(&mut events(), &results("Pod", RuleStatus::Fail, 900)), Vec::<String>::new());
    assert_eq!(told(&mut events(), &results("Pod", RuleStatus::Pass, 1000)), Vec::<String>::new());
    assert_eq!(told(&mut events(), &results("Event", RuleStatus::Fail, 1000)), Vec::<String>::new());
    let mut change = results("Pod", RuleStatus::Warn, 1000);
    change.results.iter_mut().for_each(|row| row.properties.push(("patch".into(), "[]".into())));
    assert_eq!(
        told(&mut events(), &change),
        Vec::<String>::new(),
        "a rule that would change it objects to nothing"
    );
}

#[test]
fn what_the_first_pass_finds_is_not_told() {
    let mut events = events();
    events.0.add(&results("Pod", RuleStatus::Fail, 1000), 1000, true);
    assert_eq!(told(&mut events, &results("Pod", RuleStatus::Fail, 1000)), Vec::<String>::new());
}

#[test]
fn nothing_that_a_rule_says_about_a_secret_is_told() {
    let expected =
        ["kyverno-scan ClusterPolicy: Secret shop/a: [r] fail", "kyverno-scan Secret: policy p/r fail"];
    assert_eq!(told(&mut events(), &results("Secret", RuleStatus::Fail, 1000)), expected);
}
