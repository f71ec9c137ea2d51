//! The life of what rules make: one test for each cause.

use crate::objects::{DataPolicy, QUIET, SOON, copying_policy};
use crate::stage::Stage;

fn data_policy<'p>(name: &'p str, value: &'p str, options: &'p str) -> DataPolicy<'p> {
    DataPolicy { name, downstream: name, value, options }
}

fn ready(stage: &Stage) -> crate::stage::Scan {
    let scan = stage.scan("one");
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    scan
}

#[test]
fn what_data_describes_is_made_kept_and_deleted() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("life-data", "{}");
    let scan = ready(&stage);
    stage.put_config_map("life-data", "early", "{app: kept}", "{}");
    let policy = data_policy("kept", "one", "synchronize: true").manifest();
    stage.apply(&policy);
    std::thread::sleep(QUIET);
    assert_eq!(stage.data("life-data", "kept", "value"), "", "what is older than the policy is no trigger");

    stage.put_config_map("life-data", "trigger", "{app: kept}", "{}");
    stage.within("a trigger makes it", SOON, || stage.data("life-data", "kept", "value") == "one");
    let made = stage.config_map("life-data", "kept").expect("a downstream");
    let label = |key: &str| made.str_at(&["metadata", "labels", key]).to_owned();
    assert_eq!(label("app.kubernetes.io/managed-by"), "kyverno");
    assert_eq!(label("generate.kyverno.io/policy-name"), "kept");
    assert_eq!(label("generate.kyverno.io/rule-name"), "make");
    assert_eq!(label("generate.kubewright.dev/kept-for"), "ClusterPolicy");

    stage.kubectl(&[
        "patch",
        "configmap",
        "kept",
        "-n",
        "life-data",
        "-p",
        r#"{"data":{"value":"edited","more":"x"}}"#,
    ]);
    stage.within("an edit is undone", SOON, || {
        stage.data("life-data", "kept", "value") == "one"
            && stage.data("life-data", "kept", "more").is_empty()
    });
    stage.delete("configmap", "life-data", "kept");
    stage.within("what is deleted is made again", SOON, || stage.data("life-data", "kept", "value") == "one");
    stage.kubectl(&["label", "configmap", "kept", "-n", "life-data", "app.kubernetes.io/managed-by-"]);
    stage.within("a label that is removed is put back", SOON, || {
        let found = stage.config_map("life-data", "kept").unwrap_or_default();
        found.str_at(&["metadata", "labels", "app.kubernetes.io/managed-by"]) == "kyverno"
    });

    stage.apply(&data_policy("kept", "two", "synchronize: true").manifest());
    stage.within("other data is written", SOON, || stage.data("life-data", "kept", "value") == "two");

    stage.put_config_map("life-data", "trigger", "{app: other}", "{}");
    stage.within("it goes when the trigger no longer matches", SOON, || {
        stage.config_map("life-data", "kept").is_none()
    });
    stage.put_config_map("life-data", "trigger", "{app: kept}", "{}");
    stage.within("and comes back", SOON, || stage.data("life-data", "kept", "value") == "two");
    stage.delete("configmap", "life-data", "trigger");
    stage.within("it goes with its trigger", SOON, || stage.config_map("life-data", "kept").is_none());
    assert!(stage.config_map("life-data", "early").is_some(), "nothing else was deleted");
    scan.stop();
}

#[test]
fn what_is_not_synchronized_is_made_once_and_stays() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("life-once", "{}");
    let scan = ready(&stage);
    stage.apply(&data_policy("once", "one", "synchronize: false").manifest());
    std::thread::sleep(QUIET);
    stage.put_config_map("life-once", "trigger", "{app: once}", "{}");
    stage.within("a trigger makes it", SOON, || stage.data("life-once", "once", "value") == "one");

    stage.kubectl(&["patch", "configmap", "once", "-n", "life-once", "-p", r#"{"data":{"value":"edited"}}"#]);
    stage.apply(&data_policy("once", "two", "synchronize: false").manifest());
    std::thread::sleep(QUIET);
    assert_eq!(
        stage.data("life-once", "once", "value"),
        "edited",
        "neither an edit nor the policy is followed"
    );
    stage.put_config_map("life-once", "trigger", "{app: other}", "{}");
    stage.delete("configmap", "life-once", "trigger");
    std::thread::sleep(QUIET);
    assert_eq!(stage.data("life-once", "once", "value"), "edited", "it stays without its trigger");
    stage.delete("clusterpolicy", "", "once");
    std::thread::sleep(QUIET);
    assert_eq!(stage.data("life-once", "once", "value"), "edited", "it stays without its policy");

    stage.apply(&data_policy("once", "one", "synchronize: false").manifest());
    std::thread::sleep(QUIET);
    stage.put_config_map("life-once", "second", "{app: once}", "{}");
    std::thread::sleep(QUIET);
    stage.delete("configmap", "life-once", "once");
    std::thread::sleep(QUIET);
    assert!(stage.config_map("life-once", "once").is_none(), "what was deleted is not made again");
    scan.stop();

    let scan = ready(&stage);
    std::thread::sleep(QUIET);
    assert!(stage.config_map("life-once", "once").is_none(), "not after a restart either");
    scan.stop();
}

#[test]
fn downstreams_go_with_their_policy_or_rule_unless_they_are_orphaned() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("life-orphans", "{}");
    let scan = ready(&stage);
    let orphaning = "synchronize: true, orphanDownstreamOnPolicyDelete: true";
    for (name, options) in
        [("gone", "synchronize: true"), ("orphan", orphaning), ("freed", "synchronize: true")]
    {
        stage.apply(&data_policy(name, "one", options).manifest());
    }
    let rule = |name: &str, downstream: &str| {
        format!(
            "{{name: {name}, match: {{any: [{{resources: {{kinds: [ConfigMap], selector: {{matchLabels: {{app: rules}}}}}}}}]}}, \
             generate: {{apiVersion: v1, kind: ConfigMap, name: {downstream}, namespace: life-orphans, synchronize: true, data: {{data: \
             {{value: one}}}}}}}}"
        )
    };
    let policy = |rules: &[String]| {
        let rules = rules.join(", ");
        format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: rules}}, spec: {{rules: [{rules}]}}}}"
        )
    };
    stage.apply(&policy(&[rule("make", "rules"), rule("second", "rules-b")]));
    std::thread::sleep(QUIET);
    for name in ["gone", "orphan", "freed", "rules"] {
        stage.put_config_map("life-orphans", &format!("trigger-{name}"), &format!("{{app: {name}}}"), "{}");
    }
    stage.within("all are made", SOON, || {
        ["gone", "orphan", "freed", "rules", "rules-b"]
            .iter()
            .all(|name| stage.config_map("life-orphans", name).is_some())
    });

    stage.apply(&data_policy("freed", "one", "synchronize: false").manifest());
    stage.within("a downstream that is synchronized no more stays with its policy no more", SOON, || {
        let found = stage.config_map("life-orphans", "freed").unwrap_or_default();
        found.at(&["metadata", "labels", "generate.kubewright.dev/kept-for"]).is_none() && !found.is_null()
    });
    stage.apply(&policy(&[rule("make", "rules")]));
    stage.within("what a removed rule made goes", SOON, || {
        stage.config_map("life-orphans", "rules-b").is_none()
    });
    assert!(stage.config_map("life-orphans", "rules").is_some(), "what the other rule made stays");
    for name in ["gone", "orphan", "freed"] {
        stage.delete("clusterpolicy", "", name);
    }
    stage.within("a downstream goes with its policy", SOON, || {
        stage.config_map("life-orphans", "gone").is_none()
    });
    std::thread::sleep(QUIET);
    assert_eq!(stage.data("life-orphans", "orphan", "value"), "one", "an orphan stays");
    assert_eq!(stage.data("life-orphans", "freed", "value"), "one", "what was freed stays");
    scan.stop();

    // A policy that is deleted while no controller runs.
    stage.delete("clusterpolicy", "", "rules");
    let scan = ready(&stage);
    stage.within("a downstream goes though the policy went unseen", SOON, || {
        stage.config_map("life-orphans", "rules").is_none()
    });
    assert!(stage.config_map("life-orphans", "orphan").is_some());
    scan.stop();
}

#[test]
fn another_name_leaves_the_old_object_without_the_labels_of_the_policy() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("life-names", "{}");
    let scan = ready(&stage);
    stage.apply(&data_policy("named", "one", "synchronize: true").manifest());
    std::thread::sleep(QUIET);
    stage.put_config_map("life-names", "trigger", "{app: named}", "{}");
    stage.within("it is made", SOON, || stage.data("life-names", "named", "value") == "one");
    let renamed = DataPolicy { downstream: "other", ..data_policy("named", "two", "synchronize: true") };
    stage.apply(&renamed.manifest());
    stage.within("the new one is made", SOON, || stage.data("life-names", "other", "value") == "two");
    stage.within("the old one is let go", SOON, || {
        let old = stage.config_map("life-names", "named").unwrap_or_default();
        !old.is_null() && old.at(&["metadata", "labels", "generate.kyverno.io/policy-name"]).is_none()
    });
    stage.delete("clusterpolicy", "", "named");
    stage.within("the new one goes with the policy", SOON, || {
        stage.config_map("life-names", "other").is_none()
    });
    assert_eq!(stage.data("life-names", "named", "value"), "one", "the old one stays");
    scan.stop();
}

#[test]
fn existing_triggers_count_where_the_policy_says_so() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("life-existing", "{}");
    for number in 0..3 {
        stage.namespace(&format!("life-existing-{number}"), "{}");
        stage.put_config_map(&format!("life-existing-{number}"), "trigger", "{app: existing}", "{}");
    }
    stage.apply(&data_policy("existing", "one", "synchronize: true, generateExisting: true").manifest());
    let scan = ready(&stage);
    let all = |value: &str| {
        (0..3).all(|number| stage.data(&format!("life-existing-{number}"), "existing", "value") == value)
    };
    stage.within("existing triggers count", SOON, || all("one"));
    let writes = scan.metric("kubewright_background_writes_total{verb=\"create\"}");
    assert_eq!(writes, 3, "one write each");
    scan.stop();

    // Edits and deletions while no controller runs.
    stage.kubectl(&[
        "patch",
        "configmap",
        "existing",
        "-n",
        "life-existing-0",
        "-p",
        r#"{"data":{"value":"edited"}}"#,
    ]);
    stage.delete("configmap", "life-existing-1", "trigger");
    stage.delete("configmap", "life-existing-2", "existing");
    let scan = ready(&stage);
    stage.within("all is found out at the start", SOON, || {
        stage.data("life-existing-0", "existing", "value") == "one"
            && stage.config_map("life-existing-1", "existing").is_none()
            && stage.data("life-existing-2", "existing", "value") == "one"
    });
    scan.stop();

    let scan = ready(&stage);
    std::thread::sleep(QUIET);
    let updates = scan.metric("kubewright_background_writes_total{verb=\"update\"}");
    let creations = scan.metric("kubewright_background_writes_total{verb=\"create\"}");
    assert_eq!((creations, updates), (0, 0), "a start without a change writes nothing");
    scan.stop();
}

#[test]
fn copies_follow_their_sources() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("sources", "{}");
    stage.put_config_map("sources", "settings", "{team: a}", "{value: one}");
    let scan = ready(&stage);
    stage.apply(&copying_policy("copies", "ConfigMap", "settings", "synchronize: true"));
    stage.apply(&copying_policy("copied-once", "ConfigMap", "settings", "synchronize: false"));
    stage.apply(
        "{apiVersion: v1, kind: Secret, metadata: {name: token, namespace: sources}, stringData: {token: hidden}}",
    );
    stage.apply(&copying_policy("tokens", "Secret", "token", "synchronize: true"));
    std::thread::sleep(QUIET);
    stage.namespace("one", "{app: copies}");
    stage.namespace("two", "{app: copies}");
    stage.namespace("three", "{app: copied-once}");
    stage.namespace("four", "{app: tokens}");
    let all = |value: &str| {
        ["one", "two"].iter().all(|namespace| stage.data(namespace, "settings", "value") == value)
    };
    stage.within("copies are made", SOON, || all("one") && stage.data("three", "settings", "value") == "one");
    let copy = stage.config_map("one", "settings").expect("a copy");
    assert_eq!(copy.str_at(&["metadata", "labels", "team"]), "a", "labels are copied");
    stage.within("a Secret is copied with its content", SOON, || {
        let secret = stage.get("", "v1", "secrets", ("four", "token")).unwrap_or_default();
        secret.str_at(&["data", "token"]) == "aGlkZGVu"
    });

    stage.put_config_map("sources", "settings", "{team: a}", "{value: two}");
    stage.within("copies follow", SOON, || all("two"));
    stage.kubectl(&["patch", "configmap", "settings", "-n", "one", "-p", r#"{"data":{"value":"edited"}}"#]);
    stage.within("an edit is undone", SOON, || all("two"));
    assert_eq!(stage.data("three", "settings", "value"), "one", "what is not synchronized does not follow");

    stage.delete("configmap", "sources", "settings");
    stage.within("copies go with their source", SOON, || {
        ["one", "two"].iter().all(|namespace| stage.config_map(namespace, "settings").is_none())
    });
    assert_eq!(stage.data("three", "settings", "value"), "one", "what is not synchronized stays");
    stage.within("the policy says that its source is missing", SOON, || {
        stage.problem_of("copies").contains("not found")
    });
    stage.put_config_map("sources", "settings", "{team: a}", "{value: three}");
    stage.within("copies come back with their source", SOON, || all("three"));
    stage.within("and nothing is wrong any more", SOON, || stage.problem_of("copies").starts_with("True"));
    scan.stop();

    // A source that goes while no controller runs.
    stage.delete("configmap", "sources", "settings");
    let scan = ready(&stage);
    stage.within("copies go with their source at the start", SOON, || {
        ["one", "two"].iter().all(|namespace| stage.config_map(namespace, "settings").is_none())
    });
    scan.stop();
}

#[test]
fn lists_and_loops_make_several_objects() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("sources", "{}");
    for name in ["a", "b"] {
        stage.put_config_map("sources", name, "{share: 'yes'}", "{value: one}");
    }
    let scan = ready(&stage);
    stage.apply(
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: listed}, spec: {rules: [{name: copy, match: {any: \
         [{resources: {kinds: [Namespace], selector: {matchLabels: {app: listed}}}}]}, generate: {namespace: \
         '{{request.object.metadata.name}}', synchronize: true, cloneList: {namespace: sources, kinds: [v1/ConfigMap], selector: \
         {matchLabels: {share: 'yes'}}}}}]}}",
    );
    stage.apply(
        "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: looped}, spec: {rules: [{name: make, match: {any: \
         [{resources: {kinds: [ConfigMap], selector: {matchLabels: {app: looped}}}}]}, generate: {synchronize: true, foreach: \
         [{list: \"request.object.data.names | split(@, ',')\", apiVersion: v1, kind: ConfigMap, name: '{{element}}', namespace: \
         '{{request.namespace}}', data: {data: {index: 'n{{elementIndex}}'}}}]}}]}}",
    );
    std::thread::sleep(QUIET);
    stage.namespace("target", "{app: listed}");
    stage.put_config_map("target", "names", "{app: looped}", "{names: 'x,y'}");
    stage.within("all of the list and of the loop are made", SOON, || {
        stage.data("target", "a", "value") == "one"
            && stage.data("target", "b", "value") == "one"
            && stage.data("target", "x", "index") == "n0"
            && stage.data("target", "y", "index") == "n1"
    });
    stage.put_config_map("sources", "c", "{share: 'yes'}", "{value: one}");
    stage.within("a new source is copied", SOON, || stage.data("target", "c", "value") == "one");
    stage.delete("configmap", "sources", "a");
    stage.within("a copy goes with its own source", SOON, || stage.config_map("target", "a").is_none());
    assert_eq!(stage.data("target", "b", "value"), "one", "others stay");
    stage.delete("configmap", "target", "names");
    stage.within("what the loop made goes with its trigger", SOON, || {
        stage.config_map("target", "x").is_none() && stage.config_map("target", "y").is_none()
    });
    scan.stop();
}

#[test]
fn a_deletion_is_a_trigger_where_the_rule_lists_it() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("life-ended", "{}");
    let scan = ready(&stage);
    let policy = data_policy("ended", "one", "synchronize: true").manifest();
    stage.apply(&policy.replace("kinds: [ConfigMap]", "operations: [DELETE], kinds: [ConfigMap]"));
    std::thread::sleep(QUIET);
    stage.put_config_map("life-ended", "trigger", "{app: ended}", "{}");
    std::thread::sleep(QUIET);
    assert!(stage.config_map("life-ended", "ended").is_none(), "a creation is none");
    stage.delete("configmap", "life-ended", "trigger");
    stage.within("a deletion makes it", SOON, || stage.data("life-ended", "ended", "value") == "one");
    std::thread::sleep(QUIET);
    assert_eq!(stage.data("life-ended", "ended", "value"), "one", "and it stays");
    scan.stop();
}
