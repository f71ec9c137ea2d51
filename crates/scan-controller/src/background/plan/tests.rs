use std::collections::BTreeMap;

use kubewright_value::json;

use super::*;
use crate::background::labels::{DownstreamLabels, LabelledRule};

const SYNCHRONIZED: DownstreamCare = DownstreamCare { synchronizes: true, deletes_stale: false };
const STRICT: DownstreamCare = DownstreamCare { synchronizes: true, deletes_stale: true };
const ONCE: DownstreamCare = DownstreamCare { synchronizes: false, deletes_stale: false };

fn key(name: &str) -> ObjectKey {
    ObjectKey { kind: "ConfigMap".into(), namespace: "a".into(), name: name.into(), ..ObjectKey::default() }
}

fn wanted(name: &str) -> Value {
    let text =
        format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","namespace":"a"}}}}"#);
    json::parse(&text).expect("an object")
}

/// Returns a downstream called `name[<source][!]`; with `!` it goes with its policy.
fn made(text: &str) -> Downstream {
    let (name, kept_for) = match text.strip_suffix('!') {
        Some(name) => (name, "ClusterPolicy"),
        None => (text, ""),
    };
    let (name, source) = name.split_once('<').unwrap_or((name, ""));
    let rule = LabelledRule { policy: "p".into(), rule: "r".into(), ..LabelledRule::default() };
    let labels = DownstreamLabels {
        rule,
        trigger_uid: "t".into(),
        source_uid: source.into(),
        kept_for: kept_for.into(),
        ..DownstreamLabels::default()
    };
    Downstream { key: key(name), uid: name.into(), resource_version: "1".into(), labels }
}

fn shown(step: &DownstreamStep) -> String {
    match step {
        DownstreamStep::Make { object, replaces: true } => format!("apply {}", ObjectKey::of(object).name),
        DownstreamStep::Make { object, .. } => format!("create {}", ObjectKey::of(object).name),
        DownstreamStep::Delete(found) => format!("delete {}", found.key.name),
        DownstreamStep::Release(found) => format!("release {}", found.key.name),
        DownstreamStep::Unkeep(found) => format!("unkeep {}", found.key.name),
    }
}

#[track_caller]
fn check(care: DownstreamCare, answer: RuleAnswer, observed: &[&str], gone: &[&str], want: &[&str]) {
    let observed: Vec<Downstream> = observed.iter().map(|text| made(text)).collect();
    let gone = gone.iter().map(|uid| Text::from(*uid)).collect();
    let steps: Vec<String> = plan_downstreams(care, answer, &observed, &gone).iter().map(shown).collect();
    assert_eq!(steps, want);
}

fn wants(names: &[&str]) -> RuleAnswer {
    RuleAnswer::Wants(names.iter().map(|name| wanted(name)).collect())
}

#[test]
fn a_synchronized_downstream_is_made_kept_and_deleted_with_its_trigger() {
    check(SYNCHRONIZED, wants(&["x"]), &[], &[], &["apply x"]);
    check(SYNCHRONIZED, wants(&["x"]), &["x!"], &[], &["apply x"]);
    check(SYNCHRONIZED, RuleAnswer::NotTriggered, &["x!", "y"], &[], &["delete x", "delete y"]);
}

#[test]
fn what_is_not_synchronized_is_created_once_and_never_deleted() {
    check(ONCE, wants(&["x"]), &[], &[], &["create x"]);
    check(ONCE, wants(&["x"]), &["x"], &[], &["create x"]);
    check(ONCE, RuleAnswer::NotTriggered, &["x"], &[], &[]);
    check(ONCE, wants(&[]), &["x<s"], &["s"], &[]);
    check(ONCE, RuleAnswer::NotTriggered, &["x!"], &[], &["unkeep x"]);
    check(ONCE, wants(&["x"]), &["x!"], &[], &["unkeep x", "create x"]);
}

#[test]
fn a_downstream_under_another_name_is_let_go_or_deleted() {
    check(SYNCHRONIZED, wants(&["y"]), &["x!"], &[], &["release x", "apply y"]);
    check(STRICT, wants(&["y"]), &["x!"], &[], &["delete x", "apply y"]);
}

#[test]
fn a_copy_goes_only_if_its_own_source_is_gone() {
    let unknown = || RuleAnswer::WantsAtLeast(Vec::new());
    check(SYNCHRONIZED, unknown(), &["x<s!", "y<t!"], &["s"], &["delete x"]);
    check(SYNCHRONIZED, unknown(), &["x<s!", "y<t!"], &[], &[]);
    check(SYNCHRONIZED, wants(&["x"]), &["x<s!"], &["s"], &["apply x"]);
    check(STRICT, unknown(), &["x!"], &[], &[]);
}

/// A stand-in for a cluster with the downstreams of one trigger.
#[derive(Clone, Default, PartialEq, Debug)]
struct FakeCluster {
    ours: BTreeMap<Text, bool>,
    others: BTreeSet<Text>,
}

impl FakeCluster {
    fn observed(&self) -> Vec<Downstream> {
        let shown =
            |(name, is_kept): (&Text, &bool)| made(&format!("{name}{}", if *is_kept { "!" } else { "" }));
        self.ours.iter().map(shown).collect()
    }

    fn carry_out(&mut self, step: &DownstreamStep, care: DownstreamCare) {
        match step {
            DownstreamStep::Make { object, replaces } => {
                let name = ObjectKey::of(object).name;
                let is_there = self.ours.contains_key(&name) || self.others.contains(&name);
                if *replaces || !is_there {
                    self.others.remove(&name);
                    self.ours.insert(name, care.synchronizes);
                }
            }
            DownstreamStep::Delete(found) => {
                assert!(self.ours.remove(&found.key.name).is_some(), "deleted what is not ours: {found:?}");
            }
            DownstreamStep::Release(found) => {
                self.ours.remove(&found.key.name);
                self.others.insert(found.key.name.clone());
            }
            DownstreamStep::Unkeep(found) => drop(self.ours.insert(found.key.name.clone(), false)),
        }
    }
}

/// A small generator of numbers: the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn names(&mut self) -> Vec<&'static str> {
        ["a", "b", "c", "d", "e"].into_iter().filter(|_| self.below(2) == 0).collect()
    }
}

/// However often a plan is broken off, made again and repeated, it ends in the same state; and objects of others that the
/// rule does not want are as they were.
#[test]
fn plans_end_in_the_same_state_wherever_they_are_broken_off() {
    let mut numbers = Numbers(7);
    for _ in 0..5_000 {
        let care = [SYNCHRONIZED, STRICT, ONCE][usize::try_from(numbers.below(3)).unwrap_or_default()];
        let mut cluster = FakeCluster::default();
        for name in numbers.names() {
            match numbers.below(2) {
                0 => drop(cluster.ours.insert(name.into(), numbers.below(2) == 0)),
                _ => drop(cluster.others.insert(name.into())),
            }
        }
        let names = numbers.names();
        let answer = || match names.is_empty() {
            true => RuleAnswer::NotTriggered,
            false => wants(&names),
        };
        let whole = |mut cluster: FakeCluster| {
            for step in plan_downstreams(care, answer(), &cluster.observed(), &BTreeSet::new()) {
                cluster.carry_out(&step, care);
            }
            cluster
        };
        let before = cluster.clone();
        let end = whole(cluster.clone());
        // Broken off after some steps, then made again.
        let steps = plan_downstreams(care, answer(), &cluster.observed(), &BTreeSet::new());
        let done = usize::try_from(numbers.below(steps.len() as u64 + 1)).unwrap_or_default();
        steps.iter().take(done).for_each(|step| cluster.carry_out(step, care));
        assert_eq!(whole(cluster), end, "{before:?} {names:?}");
        assert_eq!(whole(end.clone()), end, "repeated");
        let is_untouched = |name: &&Text| names.contains(&name.as_str()) || end.others.contains(*name);
        assert!(before.others.iter().all(|name| is_untouched(&name)), "an object of others is gone");
        if care.synchronizes && !names.is_empty() {
            let ours: Vec<&str> = end.ours.keys().map(Text::as_str).collect();
            assert_eq!(ours, names);
        }
    }
}
