//! From policies with patterns and expressions to policies in CEL.

use std::fs;
use std::path::Path;

use super::{check, check_with, kubewright};

#[test]
fn a_policy_becomes_one_in_cel_that_covers_controllers_by_itself() {
    check("convert-pods", "convert convert/pods --to validatingpolicy");
}

#[test]
fn a_rule_that_cannot_be_expressed_is_named_with_its_place_and_the_others_are_written() {
    check("convert-several", "convert convert/several --to validatingpolicy");
}

#[test]
fn names_users_and_annotations_become_conditions() {
    check("convert-who", "convert convert/who --to validatingpolicy");
}

#[test]
fn what_differs_on_a_test_of_the_source_is_not_written() {
    check("convert-differs", "convert convert/differs --to validatingpolicy");
    check("generate-vap-differs", "generate vap convert/differs convert/cluster/policy.yaml");
}

#[test]
fn what_no_test_judges_is_left_out_on_demand() {
    check(
        "convert-require-tests",
        "convert convert/several convert/pods --to validatingpolicy --require-tests",
    );
}

#[test]
fn a_pattern_becomes_an_admission_policy_for_pods_and_for_controllers() {
    check("generate-vap-pods", "generate vap convert/pods");
}

#[test]
fn a_rule_in_cel_becomes_what_the_cluster_would_make_of_it() {
    check("generate-vap-cluster", "generate vap convert/cluster/policy.yaml");
    check(
        "generate-vap-exceptions",
        "generate vap convert/cluster/policy.yaml -e convert/cluster/exception.yaml",
    );
}

#[test]
fn a_namespaced_policy_becomes_no_admission_policy() {
    check("generate-vap-namespaced", "generate vap convert/who");
}

#[test]
fn the_summary_counts_policies_rules_and_reasons() {
    check("convert-summary", "convert convert --to validatingpolicy --summary");
    check("convert-summary-json", "convert convert --to validatingpolicy --summary -o json");
    check("convert-json", "convert convert/several convert/pods --to validatingpolicy -o json");
}

#[test]
fn nothing_to_convert_is_bad_input() {
    check("convert-nothing", "convert convert/pods/resources.yaml --to validatingpolicy");
    check_with("convert-standard-input", "convert - --to validatingpolicy", POLICY);
}

#[test]
fn what_is_written_is_read_back_and_decides_the_same() {
    for command in ["convert convert/pods --to validatingpolicy", "generate vap convert/pods"] {
        let written = kubewright(command, "");
        let text = String::from_utf8(written.stdout).expect("text");
        let applied = kubewright("apply - -r convert/pods/resources.yaml -o json", &text);
        let said = String::from_utf8(applied.stdout).expect("text");
        assert_eq!(said.matches("\"status\":\"fail\"").count(), 2, "{command}: {said}");
    }
}

const POLICY: &str = "\
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: piped}
spec:
  rules:
    - name: one
      match: {any: [{resources: {kinds: [Widget]}}]}
      validate: {message: too large, pattern: {spec: {size: \"<5\"}}}
";

#[test]
fn what_is_written_takes_the_place_of_no_policy_that_was_read() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("convert-in-place");
    fs::create_dir_all(folder.join("out")).expect("a folder");
    let source = POLICY.replace("kind: ClusterPolicy", "# mine\nkind: ClusterPolicy");
    let file = folder.join("piped.yaml");
    fs::write(&file, &source).expect("a file");
    let convert = |to: &str| {
        kubewright(&format!("convert {0} --to validatingpolicy --output-dir {0}/{to}", folder.display()), "")
    };
    let output = convert(".");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains("would be written over"), "{said}");
    assert_eq!(fs::read_to_string(&file).expect("the policy"), source);
    for _ in ["first", "again, over what was written before"] {
        assert!(convert("out").status.success());
    }
}

#[test]
fn what_becomes_of_two_rules_never_has_one_name() {
    let policy = |name: &str, rules: [&str; 2]| {
        let [one, other] = rules.map(|rule| {
            let kind = if rule == "other" { "Secret" } else { "ConfigMap" };
            format!(
                "{{name: {rule}, match: {{any: [{{resources: {{kinds: [{kind}]}}}}]}}, \
                 validate: {{message: m, pattern: {{data: {{{rule}: '?*'}}}}}}}}"
            )
        });
        format!(
            "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: {name}}}, \
             spec: {{rules: [{one}, {other}]}}}}\n"
        )
    };
    let policies = format!("{}---\n{}", policy("a-b", ["c", "other"]), policy("a", ["b-c", "other"]));
    for (command, name) in [("convert - --to validatingpolicy", "a-b-c"), ("generate vap -", "cpol-a-b-c")] {
        let output = kubewright(command, &policies);
        let (said, written) =
            (String::from_utf8_lossy(&output.stderr), String::from_utf8_lossy(&output.stdout));
        let want = format!(
            "rule `b-c` of `a` is not converted: its name would be `{name}`, which rule `c` of `a-b` already has"
        );
        assert!(said.contains(&want), "{said}");
        assert_eq!(written.matches(&format!("  name: {name}\n")).count(), 1, "{written}");
        assert_eq!(output.status.code(), Some(1));
    }
}
