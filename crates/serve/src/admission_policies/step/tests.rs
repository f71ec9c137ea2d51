use kubewright_value::{Map, yaml};

use super::super::compare::with_api_defaults;
use super::*;

fn wanted() -> AdmissionPolicy {
    let object = |kind: &str, name: &str, spec: &str| {
        let text = format!(
            "{{apiVersion: admissionregistration.k8s.io/v1, kind: {kind}, metadata: {{name: {name}, labels: {{kubewright.dev/generated: 'true'}}, \
             ownerReferences: [{{kind: ClusterPolicy, name: p, uid: u1}}]}}, spec: {spec}}}"
        );
        with_api_defaults(&yaml::parse(&text).expect("YAML"))
    };
    AdmissionPolicy {
        rule: "r".into(),
        policy: object(
            "ValidatingAdmissionPolicy",
            "cpol-p",
            "{matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}, validations: [{expression: 'true'}]}",
        ),
        binding: object(
            "ValidatingAdmissionPolicyBinding",
            "cpol-p-binding",
            "{policyName: cpol-p, validationActions: [Deny]}",
        ),
    }
}

/// Returns `object` as it is stored in generation 2, of which `seen` is what was checked.
fn stored(object: &Value, seen: i64, warnings: &str) -> Value {
    let mut object = object.clone();
    let map = object.as_object_mut().expect("an object");
    let metadata = map.get_mut("metadata").and_then(Value::as_object_mut).expect("metadata");
    metadata.insert("generation".into(), 2_i64.into());
    metadata.insert("resourceVersion".into(), "9".into());
    let checking = Map::from([("expressionWarnings", yaml::parse(warnings).expect("YAML"))]);
    let status = Map::from([("observedGeneration", seen.into()), ("typeChecking", checking.into())]);
    map.insert("status".into(), status.into());
    object
}

fn edited(object: &Value, key: &str, value: Value) -> Value {
    let mut object = object.clone();
    let spec = object.as_object_mut().and_then(|map| map.get_mut("spec")).and_then(Value::as_object_mut);
    spec.expect("a spec").insert(key.into(), value);
    object
}

#[test]
fn the_policy_is_written_first_and_bound_when_its_types_are_checked() {
    let wanted = wanted();
    assert_eq!(
        next_policy_step(&wanted, ExistingObjects::default()),
        PolicyStep::Write(PolicyPart::Policy, wanted.policy.clone())
    );
    let policy = stored(&wanted.policy, 1, "[]");
    let found = ExistingObjects { policy: Some(&policy), ..ExistingObjects::default() };
    assert!(matches!(next_policy_step(&wanted, found), PolicyStep::Wait(why) if why.contains("not checked")));
    let policy = stored(&wanted.policy, 2, "[]");
    let found = ExistingObjects { policy: Some(&policy), ..ExistingObjects::default() };
    assert_eq!(
        next_policy_step(&wanted, found),
        PolicyStep::Write(PolicyPart::Binding, wanted.binding.clone())
    );
    let binding = stored(&wanted.binding, 2, "[]");
    let found =
        ExistingObjects { policy: Some(&policy), binding: Some(&binding), ..ExistingObjects::default() };
    assert_eq!(next_policy_step(&wanted, found), PolicyStep::SettledPolicy);
}

#[test]
fn a_policy_whose_types_are_wrong_is_not_bound() {
    let wanted = wanted();
    let policy = stored(
        &wanted.policy,
        2,
        "[{fieldRef: 'spec.validations[0].expression', warning: \"no such\\nfield\"}]",
    );
    let found = ExistingObjects { policy: Some(&policy), ..ExistingObjects::default() };
    let why = "the type check of the API server warns: spec.validations[0].expression: no such field";
    assert_eq!(next_policy_step(&wanted, found), PolicyStep::Wait(why.to_owned()));
    let binding = stored(&wanted.binding, 2, "[]");
    let found = ExistingObjects { binding: Some(&binding), ..found };
    assert_eq!(next_policy_step(&wanted, found), PolicyStep::Unbind(why.to_owned()));
}

#[test]
fn policy_step_restores_foreign_changes() {
    let wanted = wanted();
    let policy = stored(&wanted.policy, 2, "[]");
    let open =
        edited(&policy, "matchConditions", yaml::parse("[{name: off, expression: 'false'}]").expect("YAML"));
    let found = ExistingObjects { policy: Some(&open), ..ExistingObjects::default() };
    let PolicyStep::Write(PolicyPart::Policy, object) = next_policy_step(&wanted, found) else {
        panic!("it is written")
    };
    assert_eq!(object.get("spec"), wanted.policy.get("spec"));
    assert_eq!(object.at(&["metadata", "resourceVersion"]).and_then(Value::as_str), Some("9"));
    let binding = stored(&wanted.binding, 2, "[]");
    let warned = edited(&binding, "validationActions", vec!["Warn"].into());
    let found =
        ExistingObjects { policy: Some(&policy), binding: Some(&warned), ..ExistingObjects::default() };
    assert!(matches!(next_policy_step(&wanted, found), PolicyStep::Write(PolicyPart::Binding, _)));
}

#[test]
fn what_the_api_server_fills_in_is_no_change() {
    let wanted = wanted();
    let more = edited(&stored(&wanted.policy, 2, "[]"), "newField", "default".into());
    let found = ExistingObjects { policy: Some(&more), ..ExistingObjects::default() };
    assert!(matches!(next_policy_step(&wanted, found), PolicyStep::Write(PolicyPart::Policy, _)));
    let found = ExistingObjects { answered_policy: more.get("spec"), ..found };
    assert!(matches!(next_policy_step(&wanted, found), PolicyStep::Write(PolicyPart::Binding, _)));
}

#[test]
fn policy_step_leaves_objects_of_other_owners_alone() {
    let mut wanted = wanted();
    let policy = stored(&wanted.policy, 2, "[]");
    let metadata = wanted.policy.as_object_mut().and_then(|map| map.get_mut("metadata"));
    let owners = yaml::parse("[{kind: ClusterPolicy, name: p, uid: u2}]").expect("YAML");
    metadata.and_then(Value::as_object_mut).expect("metadata").insert("ownerReferences".into(), owners);
    let found = ExistingObjects { policy: Some(&policy), ..ExistingObjects::default() };
    assert!(
        matches!(next_policy_step(&wanted, found), PolicyStep::Wait(why) if why.contains("`cpol-p` is there already"))
    );
}

#[test]
fn a_policy_that_changes_objects_is_bound_without_a_type_check() {
    let object = |kind: &str, name: &str, spec: &str| {
        let text = format!(
            "{{kind: {kind}, metadata: {{name: {name}, ownerReferences: [{{kind: MutatingPolicy, name: p, uid: u1}}]}}, spec: {spec}}}"
        );
        yaml::parse(&text).expect("YAML")
    };
    let wanted = AdmissionPolicy {
        rule: "".into(),
        policy: object("MutatingAdmissionPolicy", "mpol-p", "{mutations: []}"),
        binding: object("MutatingAdmissionPolicyBinding", "mpol-p-binding", "{policyName: mpol-p}"),
    };
    let found = ExistingObjects { policy: Some(&wanted.policy), ..ExistingObjects::default() };
    assert!(matches!(next_policy_step(&wanted, found), PolicyStep::Write(PolicyPart::Binding, _)));
    let found = ExistingObjects { binding: Some(&wanted.binding), ..found };
    assert_eq!(next_policy_step(&wanted, found), PolicyStep::SettledPolicy);
}
