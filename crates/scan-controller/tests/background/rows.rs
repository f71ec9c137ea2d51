//! What reports say about rules that write in the background.

use kubewright_report::cluster_report::StatusFilter;
use kubewright_scan_controller::ScanControllerSettings;
use kubewright_value::Value;

use crate::objects::{QUIET, SOON};
use crate::stage::{Scan, Stage};

/// Makes a ConfigMap for each Service of the namespace `rows`.
const GENERATING: &str = r#"{apiVersion: policies.kyverno.io/v1, kind: GeneratingPolicy, metadata: {name: made}, spec:
  {matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [services]}]},
  matchConditions: [{name: here, expression: "object.metadata.namespace == 'rows'"}],
  generate: [{expression: 'generator.Apply("rows", [{"apiVersion": dyn("v1"), "kind": dyn("ConfigMap"), "metadata":
  dyn({"name": "of-" + object.metadata.name}), "data": dyn({"a": "b"})}])'}]}}"#;

/// Excuses one of them.
const EXCEPTION: &str = r#"{apiVersion: policies.kyverno.io/v1beta1, kind: PolicyException, metadata: {name: excused, namespace: rows},
  spec: {policyRefs: [{name: made, kind: GeneratingPolicy}], matchConditions: [{name: web, expression: "object.metadata.name == 'web'"}]}}"#;

/// Gives a label to a ConfigMap because of Services.
const MUTATING: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: labels}, spec: {rules: [{name: label, \
     match: {any: [{resources: {kinds: [Service], namespaces: [rows]}}]}, mutate: {targets: [{apiVersion: v1, kind: ConfigMap, \
     name: target, namespace: rows}], patchStrategicMerge: {metadata: {labels: {seen: 'yes'}}}}}]}}";

/// Copies what is not there.
const COPYING: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: copies}, spec: {rules: [{name: copy, \
     match: {any: [{resources: {kinds: [Service], namespaces: [rows], names: [api]}}]}, generate: {apiVersion: v1, kind: ConfigMap, \
     name: copy, namespace: rows, clone: {name: source, namespace: rows}}}]}}";

fn scan(stage: &Stage, identity: &str) -> Scan {
    let shows_passes =
        |settings: &mut ScanControllerSettings| settings.scan.report_results = StatusFilter::ALL;
    let scan = stage.scan_with(identity, shows_passes);
    stage.within("the first pass ends", 3 * SOON, || scan.is_ready());
    scan
}

fn writes(scan: &Scan) -> u64 {
    let verbs = ["create", "update", "delete"];
    verbs.map(|verb| scan.metric(&format!("kubewright_report_writes_total{{verb=\"{verb}\"}}"))).iter().sum()
}

/// Returns a property of the row of `policy` about the object called `name`.
fn property(stage: &Stage, name: &str, policy: &str, property: &str) -> String {
    let reports = stage.reports();
    let report = reports.iter().find(|report| report.str_at(&["scope", "name"]) == name);
    let rows = report.and_then(|report| report.get("results")).and_then(Value::as_array).unwrap_or_default();
    let row = rows.iter().find(|row| row.str_at(&["policy"]) == policy).cloned().unwrap_or_default();
    row.str_at(&["properties", property]).to_owned()
}

#[test]
fn rows_of_rules_that_write_follow_exceptions_sources_and_policies() {
    let Some(stage) = Stage::for_background() else { return };
    stage.namespace("rows", "{}");
    stage.put_config_map("rows", "target", "{}", "{}");
    stage.service("rows", "old", "{}");
    // Times have seconds.
    std::thread::sleep(QUIET);
    let running = scan(&stage, "one");
    [GENERATING, MUTATING, COPYING].iter().for_each(|policy| stage.apply(policy));
    std::thread::sleep(QUIET);
    stage.service("rows", "web", "{}");
    stage.service("rows", "api", "{}");
    let (made, labelled) =
        ("pass made policy evaluated successfully", "pass labels mutated ConfigMap/target in namespace rows");
    stage.within("rows say what the rules do", SOON, || stage.rows("web") == [labelled, made]);
    assert_eq!(
        property(&stage, "web", "made", "generated-resources"),
        "/v1, Kind=ConfigMap Name=of-web Namespace=rows"
    );
    assert_eq!(
        property(&stage, "web", "labels", "patched-target"),
        "/v1, Kind=ConfigMap Name=target Namespace=rows"
    );
    stage.within("and the rules do it", SOON, || {
        let target = stage.config_map("rows", "target").unwrap_or_default();
        target.str_at(&["metadata", "labels", "seen"]) == "yes" && stage.data("rows", "of-web", "a") == "b"
    });
    assert_eq!(stage.rows("old"), Vec::<String>::new(), "it is older than the policies");

    let of_copy = |stage: &Stage| stage.rows("api").into_iter().find(|row| row.contains(" copies "));
    stage.within("a source that is missing is an error", SOON, || {
        of_copy(&stage).is_some_and(|row| row.starts_with("error copies source resource"))
    });
    stage.put_config_map("rows", "source", "{}", "{}");
    stage.within("until it is there", SOON, || {
        of_copy(&stage).is_some_and(|row| row.starts_with("pass copies"))
    });

    stage.apply(EXCEPTION);
    stage.within("an exception counts", SOON, || {
        stage.rows("web").iter().any(|row| row.starts_with("skip made"))
            && property(&stage, "web", "made", "exceptions") == "excused"
            && stage.rows("api").contains(&made.to_owned())
    });
    running.stop();
    let before = stage.reports();
    let running = scan(&stage, "two");
    std::thread::sleep(QUIET);
    assert_eq!(writes(&running), 0, "writes of a second start");
    assert_eq!(stage.reports(), before, "not even a version has changed");

    stage.delete("policyexceptions.policies.kyverno.io", "rows", "excused");
    stage.within("and counts no more", SOON, || stage.rows("web") == [labelled, made]);
    stage.delete("generatingpolicies.policies.kyverno.io", "", "made");
    stage.within("a row goes with its policy", SOON, || stage.rows("web") == [labelled]);
    ["labels", "copies"].iter().for_each(|policy| stage.delete("clusterpolicies.kyverno.io", "", policy));
    stage.within("and the report with its last row", SOON, || stage.reports().is_empty());
    running.stop();
}
