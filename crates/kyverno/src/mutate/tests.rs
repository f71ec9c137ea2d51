//! Tests of patches on objects, from the policy to the changed object.

use kubewright_engine::{
    ClosedWorld, Decision, DecisionSettings, Dialect as _, Engine, RuleAction, RuleStatus, WriteVerb,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Source, Value, json, yaml};

use crate::Kyverno;

fn parse(text: &str) -> Value {
    yaml::parse(text).expect("YAML")
}

/// Decides about `object` with rules that each have one of `mutates`, in a world with `others`.
fn decide(mutates: &[&str], object: &str, others: &[&str]) -> Decision {
    let rules: String = mutates
        .iter()
        .enumerate()
        .map(|(i, mutate)| {
            format!("- {{name: r{i}, match: {{any: [{{resources: {{kinds: ['*'], operations: [CREATE]}}}}]}}, mutate: {mutate}}}\n")
        })
        .collect();
    let text = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  background: false\n  rules:\n  {}",
        rules.replace('\n', "\n  ")
    );
    let document = yaml::read(&Source::new("policy.yaml", text)).documents.remove(0);
    let compiled = Kyverno::new(&[], kubewright_jmespath::Inputs::default()).compile(&document, &[]);
    let request = AdmissionRequest::for_object(parse(object), Operation::Create, "default");
    let world = ClosedWorld::new(others.iter().map(|text| parse(text)));
    Engine::new(compiled.rules).decide(&request, &world, &DecisionSettings::default())
}

/// Checks the `spec` that `mutate` makes of an object of a kind that Kubernetes does not know.
#[track_caller]
fn check(mutate: &str, spec: &str, want: &str) {
    let object = format!("{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: w}}, spec: {spec}}}");
    let decision = decide(&[mutate], &object, &[]);
    let outcome = decision.outcomes.first().expect("an outcome");
    let found = decision.object.get("spec").cloned().unwrap_or_default();
    assert_eq!(json::to_string(&found), json::to_string(&parse(want)), "{mutate}: {}", outcome.message);
    let status = if parse(spec) == parse(want) { RuleStatus::Skip } else { RuleStatus::Pass };
    assert_eq!(outcome.status, status, "{mutate}: {}", outcome.message);
}

/// Checks the message of a rule that fails, and that the object stays as it was.
#[track_caller]
fn check_error(mutate: &str, spec: &str, want: &str) {
    let object = format!("{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: w}}, spec: {spec}}}");
    let decision = decide(&[mutate], &object, &[]);
    let outcome = decision.outcomes.first().expect("an outcome");
    assert_eq!((outcome.status, outcome.message.as_str()), (RuleStatus::Error, want));
    assert_eq!(decision.object, parse(&object));
}

#[test]
fn a_condition_ends_the_patch_or_the_element() {
    let patch = "{patchStrategicMerge: {spec: {(a): '1', b: 2}}}";
    check(patch, "{a: '1'}", "{a: '1', b: 2}");
    check(patch, "{a: 1}", "{a: 1, b: 2}");
    check(patch, "{a: 2}", "{a: 2}");
    check(patch, "{}", "{}");
    let list = "{patchStrategicMerge: {spec: {l: [{(name): 'a*', x: 1}], y: 2}}}";
    check(list, "{l: [{name: ab}, {name: b}]}", "{l: [{name: ab, x: 1}, {name: b}], y: 2}");
    check(list, "{}", "{y: 2}");
    check(list, "{l: null}", "{l: null, y: 2}");
    let reason = "failed to patch resource: failed to preProcess rule: wrong node kind: expected SequenceNode but got ScalarNode: node contents:\n\"x\"\n";
    check_error(list, "{l: x}", reason);
}

#[test]
fn a_global_condition_ends_the_whole_patch() {
    let patch = "{patchStrategicMerge: {spec: {l: [{<(name): a}], y: 2}}}";
    check(patch, "{l: [{name: b}, {name: a}]}", "{l: [{name: b}, {name: a}], y: 2}");
    check(patch, "{l: [{name: b}]}", "{l: [{name: b}]}");
    check(patch, "{l: []}", "{l: [], y: 2}");
    check(patch, "{l: null}", "{l: null, y: 2}");
    check(patch, "{}", "{}");
}

#[test]
fn a_field_is_added_where_it_is_missing() {
    let patch = "{patchStrategicMerge: {spec: {+(a): {b: 1}, c: {+(d): 2}}}}";
    check(patch, "{}", "{a: {b: 1}, c: {d: 2}}");
    check(patch, "{a: null, c: {d: 0}}", "{a: null, c: {d: 0}}");
    check("{patchStrategicMerge: {spec: {+(a): {(b): 1, c: 2}}}}", "{}", "{}");
}

#[test]
fn a_condition_around_what_is_added_is_about_the_key() {
    let patch = "{patchStrategicMerge: {spec: {(a): {+(b): q, c: 1}, z: 2}}}";
    check(patch, "{a: {d: 0}}", "{a: {d: 0, b: q, c: 1}, z: 2}");
    check(patch, "{a: {b: x, c: 3}}", "{a: {b: x, c: 1}, z: 2}");
    check(patch, "{a: null}", "{a: {b: q, c: 1}, z: 2}");
    check(patch, "{}", "{}");
    check("{patchStrategicMerge: {spec: {<(a): {+(b): q}}}}", "{a: {c: 1}}", "{a: {c: 1, b: q}}");
    let inner = "{patchStrategicMerge: {spec: {(a): {+(b): q, (c): x}, z: 2}}}";
    check(inner, "{a: {c: x}}", "{a: {c: x, b: q}, z: 2}");
    check(inner, "{a: {c: y}}", "{a: {c: y}}");
    let list = "{patchStrategicMerge: {spec: {l: [{(m): {+(b): q}}]}}}";
    check(list, "{l: [{name: k, m: {c: 1}}, {name: j}]}", "{l: [{name: k, m: {c: 1, b: q}}, {name: j}]}");
    let reason = "failed to patch resource: wrong node kind: expected ScalarNode but got MappingNode: node contents:\n{\"b\": \"q\", \"c\": 1}\n";
    check_error(patch, "{a: text}", reason);
}

/// A condition that was compiled twice would be compiled a billion times in the thirtieth.
#[test]
fn conditions_in_conditions_are_compiled_once() {
    let nested = (0..60).fold("x".to_owned(), |inner, _| {
        format!(r#"{{(a): {inner}, "+(": 1, "{{{{ request.object.metadata.name }}}}": 2}}"#)
    });
    check(&format!("{{patchStrategicMerge: {{spec: {nested}}}}}"), "{a: 1}", "{a: 1}");
}

#[test]
fn elements_are_decided_one_by_one() {
    let patch = "{patchStrategicMerge: {spec: {l: [{(name): '*', +(x): 1}]}}}";
    check(patch, "{l: [{name: a, x: 0}, {name: b}]}", "{l: [{name: a, x: 0}, {name: b, x: 1}]}");
    check(patch, "{l: [{name: a}, {name: b, x: 0}]}", "{l: [{name: a, x: 1}, {name: b, x: 0}]}");
    check(patch, "{l: [{x: 0}, {y: 0}]}", "{l: [{x: 0}, {y: 0}]}");
}

#[test]
fn other_anchors_are_keys_like_others() {
    check("{patchStrategicMerge: {spec: {=(a): 1}}}", "{}", "{=(a): 1}");
    check("{patchStrategicMerge: {spec: {X(a): null}}}", "{a: 1}", "{a: 1}");
    check("{patchStrategicMerge: {spec: {a(b): 1}}}", "{}", "{a(b): 1}");
}

#[test]
fn what_is_not_anchored_below_a_condition_is_written() {
    check("{patchStrategicMerge: {spec: {(a): {b: '1*'}}}}", "{a: {b: '12'}}", "{a: {b: '1*'}}");
    check(
        "{patchStrategicMerge: {spec: {(a): {(b): '1*'}, c: 1}}}",
        "{a: {b: '12'}}",
        "{a: {b: '12'}, c: 1}",
    );
}

#[test]
fn variables_keep_their_type_and_are_not_marks() {
    let patch = r#"{patchStrategicMerge: {spec: {b: "{{ request.object.spec.a }}"}}}"#;
    check(patch, "{a: {x: 1}}", "{a: {x: 1}, b: {x: 1}}");
    check(patch, "{a: {$patch: delete}}", "{a: {$patch: delete}, b: {$patch: delete}}");
    check(patch, "{a: null, b: 1}", "{a: null}");
    let key = r#"{patchStrategicMerge: {spec: {"{{ request.object.spec.a }}": 1}}}"#;
    check(key, "{a: (x)}", "{a: (x), (x): 1}");
    check(r#"{patchStrategicMerge: {spec: {a: "{{ @ }}-x"}}}"#, "{a: b}", "{a: b-x}");
}

#[test]
fn operations_are_applied_as_kyverno_does() {
    let patch = |operations: &str| format!("{{patchesJson6902: {}}}", json::quote(operations));
    check(&patch("- {op: add, path: /spec/a/b/1, value: x}"), "{}", "{a: {b: [null, x]}}");
    check(&patch("- {op: remove, path: /spec/zz/y}"), "{a: 1}", "{a: 1}");
    check(&patch("- {op: add, path: /spec/l/-2, value: x}"), "{l: [1, 2]}", "{l: [1, x, 2]}");
    check(
        &patch("[{\"op\":\"replace\",\"path\":\"/spec/a\",\"value\":{{ request.object.spec.b }}}]"),
        "{a: 1, b: [2]}",
        "{a: [2], b: [2]}",
    );
    check(
        &patch("- {op: add, path: /spec/a, value: '{{ request.object.spec.b }}'}"),
        "{b: 2}",
        "{b: 2, a: '2'}",
    );
    check_error(
        &patch("- {op: add, path: /spec/b, value: 1}\n- {op: replace, path: /spec/zz, value: 1}"),
        "{a: 1}",
        "failed to patch resource: replace operation does not apply: doc is missing key: /spec/zz: missing value",
    );
    check_error(
        &patch("- {op: add, path: /spec/a/b, value: 1}"),
        "{a: 1}",
        "failed to patch resource: invalid state detected",
    );
    check_error(
        &patch("- {op: add, path: /spec/a/-/b, value: 1}"),
        "{}",
        "failed to patch resource: add operation does not apply: doc is missing path: \"/spec/a/-/b\": missing value",
    );
}

#[test]
fn loops_accumulate_and_the_next_one_sees_the_result() {
    let append = |list: &str| {
        format!(
            "{{list: {list}, patchesJson6902: {}}}",
            json::quote("- {op: add, path: /spec/out/-, value: '{{ element }}{{ elementIndex }}'}")
        )
    };
    let one = append("request.object.spec.l");
    check(&format!("{{foreach: [{one}]}}"), "{l: [a, null, b]}", "{l: [a, null, b], out: [a0, b2]}");
    let two = append("request.object.spec.out");
    check(&format!("{{foreach: [{one}, {two}]}}"), "{l: [a]}", "{l: [a], out: [a0, a00]}");
    let ordered = one.replacen('{', "{order: Descending, ", 1);
    check(&format!("{{foreach: [{ordered}]}}"), "{l: [a, b]}", "{l: [a, b], out: [b1, a0]}");
}

#[test]
fn loops_in_loops_see_both_elements() {
    let patch = "- {op: add, path: '/spec/out/-', value: '{{ element0.id }}{{ element }}'}";
    let mutate = format!(
        "{{foreach: [{{list: request.object.spec.l, foreach: [{{list: element.m, patchesJson6902: {}}}]}}]}}",
        json::quote(patch)
    );
    check(
        &mutate,
        "{l: [{id: a, m: [x, z]}, {id: b, m: []}]}",
        "{l: [{id: a, m: [x, z]}, {id: b, m: []}], out: [ax, az]}",
    );
}

#[test]
fn a_list_that_does_not_exist_is_an_error() {
    let error = "Unknown key \"zz\" in path";
    check_error(
        "{foreach: [{list: request.object.spec.zz, patchStrategicMerge: {spec: {a: 1}}}]}",
        "{}",
        &format!(
            "failed to evaluate list request.object.spec.zz: JMESPath query failed: {error}: JMESPath query failed: {error}"
        ),
    );
}

#[test]
fn a_value_in_a_path_is_one_segment_unless_it_is_the_whole_path() {
    let path = |parts: &[(&str, bool)]| {
        let part = |(text, is_own): &(&str, bool)| crate::tainted::TaintedPart {
            text: (*text).into(),
            is_own: *is_own,
        };
        let parts: Vec<_> = parts.iter().map(part).collect();
        super::operations::pointer_of(&parts).map(|pointer| pointer.to_string())
    };
    assert_eq!(path(&[("/a/", true), ("b/c", false)]).as_deref(), Ok("/a/b~1c"));
    assert_eq!(path(&[("/a/", true), ("b~1c", false), ("/d", true)]).as_deref(), Ok("/a/b~1c/d"));
    assert_eq!(path(&[("/spec/x/0", false), ("/image", true)]).as_deref(), Ok("/spec/x/0/image"));
    assert!(path(&[("a", true)]).is_err());
}

#[test]
fn targets_are_changed_in_place_of_the_object() {
    let mutate = r#"{targets: [{apiVersion: v1, kind: ConfigMap, name: 'c*', namespace: default,
        preconditions: {all: [{key: "{{ target.data.a }}", operator: NotEquals, value: keep}]}}],
        patchStrategicMerge: {data: {from: "{{ request.object.metadata.name }}", was: "{{ target.data.a }}"}}}"#;
    let map = |name: &str, a: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default}}, data: {{a: {a}}}}}"
        )
    };
    let others = [map("c1", "x"), map("c2", "keep"), map("d", "x")];
    let others: Vec<&str> = others.iter().map(String::as_str).collect();
    let object = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: default}}";
    let decision = decide(&[mutate], object, &others);
    let said: Vec<_> = decision.outcomes.iter().map(|o| (o.status, o.message.to_string())).collect();
    assert_eq!(
        said,
        [
            (RuleStatus::Pass, "mutated ConfigMap/c1 in namespace default".to_owned()),
            (RuleStatus::Skip, "preconditions not met".to_owned()),
        ]
    );
    let writes: Vec<_> = decision.outcomes.iter().flat_map(|outcome| &outcome.writes).collect();
    assert_eq!(writes.len(), 1);
    assert_eq!(writes[0].verb, WriteVerb::Update);
    assert_eq!(
        json::to_string(&writes[0].object.get("data").cloned().unwrap_or_default()),
        r#"{"a":"x","from":"s","was":"x"}"#
    );
    assert_eq!(decision.object, parse(object));
}

#[test]
fn targets_may_be_of_any_kind_that_wildcards_match() {
    let object = "{apiVersion: v1, kind: ConfigMap, metadata: {name: s, namespace: default}}";
    let others = [
        "{apiVersion: v1, kind: Service, metadata: {name: a, namespace: default}}",
        "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, namespace: default}}",
        "{apiVersion: example.com/v1, kind: ServiceMesh, metadata: {name: a, namespace: default}}",
        "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: servicemeshes.example.com}, spec: {group: \
         example.com, names: {kind: ServiceMesh, plural: servicemeshes}, versions: [{name: v1, served: true}]}}",
    ];
    let changed = |version: &str, kind: &str| -> Vec<String> {
        let mutate = format!(
            "{{targets: [{{apiVersion: '{version}', kind: '{kind}', name: a, namespace: default}}], patchStrategicMerge: {{metadata: \
             {{labels: {{a: b}}}}}}}}"
        );
        let decision = decide(&[&mutate], object, &others);
        decision.outcomes.iter().flat_map(|outcome| &outcome.written).map(ToString::to_string).collect()
    };
    assert_eq!(changed("*", "Service"), ["update Service default/a"]);
    assert_eq!(changed("v1", "Service*"), ["update Service default/a", "update ServiceAccount default/a"]);
    assert_eq!(changed("example.com/*", "*"), ["update ServiceMesh default/a"]);
}

#[test]
fn each_rule_sees_what_the_one_before_it_left() {
    let decision = decide(
        &[
            "{patchStrategicMerge: {metadata: {labels: {a: b}}}}",
            r#"{patchStrategicMerge: {metadata: {labels: {c: "{{ request.object.metadata.labels.a }}"}}}}"#,
        ],
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: m}}",
        &[],
    );
    assert_eq!(decision.object.str_at(&["metadata", "labels", "c"]), "b");
}

#[test]
fn rules_with_targets_write_and_others_change() {
    let action = |mutate: &str| {
        let text = format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{rules: [{{name: r, \
             match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}, mutate: {mutate}}}]}}}}"
        );
        let document = yaml::read(&Source::new("policy.yaml", text)).documents.remove(0);
        let compiled = Kyverno::new(&[], kubewright_jmespath::Inputs::default()).compile(&document, &[]);
        compiled.rules.iter().map(|rule| rule.action).collect::<Vec<_>>()
    };
    assert_eq!(action("{patchStrategicMerge: {data: {a: b}}}"), [RuleAction::Mutate]);
    assert_eq!(
        action("{targets: [{apiVersion: v1, kind: Secret}], patchStrategicMerge: {data: {a: b}}}"),
        [RuleAction::Generate]
    );
}

/// Returns what reports say of an object that a rule leaves as it is.
fn settled(mutate: &str, spec: &str) -> Option<String> {
    let object = format!("{{apiVersion: example.com/v1, kind: Widget, metadata: {{name: w}}, spec: {spec}}}");
    let decision = decide(&[mutate], &object, &[]);
    let outcome = decision.outcomes.first().expect("an outcome");
    assert_eq!(outcome.status, RuleStatus::Skip, "{mutate}: {}", outcome.message);
    outcome.settled.as_ref().map(ToString::to_string)
}

#[test]
fn object_that_has_what_the_patch_adds_is_settled() {
    let list = "{c: [{name: a, image: x, b: 2}, {name: b, image: y}]}";
    let is_there = Some("mutated Widget/w".to_owned());
    for (mutate, spec) in [
        ("{patchStrategicMerge: {spec: {b: 2}}}", "{b: 2}"),
        ("{patchStrategicMerge: {spec: {(a): '1', b: 2}}}", "{a: '1', b: 2}"),
        ("{patchStrategicMerge: {spec: {+(b): 3}}}", "{b: 2}"),
        ("{patchStrategicMerge: {spec: {c: [{(image): x, b: 2}]}}}", list),
        ("{patchesJson6902: '[{op: add, path: /spec/b, value: 2}]'}", "{b: 2}"),
        ("{foreach: [{list: request.object.spec.l, patchStrategicMerge: {spec: {b: 2}}}]}", "{b: 2, l: [1]}"),
    ] {
        assert_eq!(settled(mutate, spec), is_there, "{mutate}");
    }
    for (mutate, spec) in [
        ("{patchStrategicMerge: {spec: {(a): '1', b: 2}}}", "{a: '2', b: 2}"),
        ("{patchStrategicMerge: {spec: {c: [{(image): z, b: 2}]}}}", list),
        ("{foreach: [{list: request.object.spec.l, patchStrategicMerge: {spec: {b: 2}}}]}", "{b: 2, l: []}"),
    ] {
        assert_eq!(settled(mutate, spec), None, "{mutate}");
    }
}

#[test]
fn target_that_has_what_the_patch_adds_is_named() {
    let mutate = "{targets: [{apiVersion: v1, kind: ConfigMap, name: c, namespace: default}], patchStrategicMerge: {data: {a: b}}}";
    let target = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}, data: {a: b}}";
    let trigger = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: w}}";
    let decision = decide(&[mutate], trigger, &[target]);
    let outcome = decision.outcomes.first().expect("an outcome");
    assert_eq!((outcome.status, outcome.message.as_str()), (RuleStatus::Skip, "no patches applied"));
    assert_eq!(outcome.settled.as_deref(), Some("mutated ConfigMap/c in namespace default"));
    assert_eq!(outcome.references, ["/v1, Kind=ConfigMap Name=c Namespace=default"]);
}
