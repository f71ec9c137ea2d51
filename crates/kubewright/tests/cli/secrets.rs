//! Whatever a rule makes of a Secret, no output shows a value of it.

use std::fs;
use std::path::{Path, PathBuf};

use super::kubewright_in;

const PASSWORD: &str = "xylophone-4711";
const ENCODED: &str = "eHlsb3Bob25lLTQ3MTE=";

/// Rules that try to tell the password: of the object, of the one before, and of one that is looked up.
const RULES: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: object}
spec:
  rules:
  - name: message
    match: {any: [{resources: {kinds: [Secret]}}]}
    context: [{name: plain, variable: {jmesPath: base64_decode(request.object.data.password)}}]
    validate:
      message: "plain {{ plain }} encoded {{ request.object.data.password }} all {{ request.object }} part {{ split(plain, '-')[0] }}"
      deny: {}
  - name: pattern
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate: {message: wrong, pattern: {data: {password: 'other'}}}
  - name: loop
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      foreach:
      - list: request.object.data.*
        deny: {conditions: {any: [{key: '{{ element }}', operator: NotEquals, value: x, message: 'it is {{ element }}'}]}}
  - name: cel
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      cel:
        expressions:
        - {expression: "object.data.password == 'x'", messageExpression: "'it is ' + object.data.password"}
        - {expression: "int(object.data.password) > 1"}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: lookup}
spec:
  rules:
  - name: lookup
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    context:
    - name: secret
      apiCall: {urlPath: /api/v1/namespaces/shop/secrets/database}
    - name: plain
      variable: {value: "{{ base64_decode(secret.data.password) }}"}
    validate:
      message: "it is {{ plain }} or {{ secret.data.password }} or {{ to_upper(plain) }}"
      deny: {conditions: {any: [{key: "{{ plain }}", operator: NotEquals, value: x}]}}
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: expressions}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [secrets, configmaps]}]
  variables:
  - {name: secret, expression: "resource.Get('v1', 'secrets', 'shop', 'database')"}
  auditAnnotations:
  - {key: leak, valueExpression: "string(variables.secret.data.password)"}
  validations:
  - {expression: "variables.secret.data.password == 'x'", messageExpression: "'it is ' + string(variables.secret.data.password)"}
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: rejects, namespace: shop}
spec:
  type: Reject
  rejectMessage: 'it is {{ .Target.data.password }}'
  match: [{select: '$.kind', matchValue: Secret}]
"#;

const OBJECTS: &str = "
apiVersion: v1
kind: Secret
metadata: {name: database, namespace: shop}
data: {password: eHlsb3Bob25lLTQ3MTE=}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
";

/// A rule that changes the Secret.
const CHANGES: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: changes}
spec:
  rules:
  - name: copy
    match: {any: [{resources: {kinds: [Secret]}}]}
    mutate:
      patchStrategicMerge:
        metadata: {annotations: {reviewed: 'yes', copy: "{{ base64_decode(request.object.data.password) }}"}}
        data: {second: "{{ request.object.data.password }}"}
"#;

fn project(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("secrets").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("rules.yaml"), RULES).expect("a file");
    fs::write(folder.join("changes.yaml"), CHANGES).expect("a file");
    fs::write(folder.join("objects.yaml"), OBJECTS).expect("a file");
    folder
}

/// Runs a command and returns what it says, which is something and has no five letters of the password in a row.
#[track_caller]
fn check(folder: &Path, arguments: &str) -> String {
    let output = kubewright_in(folder, arguments, "");
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let is_about = ["database", "settings"].iter().any(|name| said.contains(name));
    assert!(is_about, "{arguments} says nothing of the objects: {said}");
    let lower = said.to_lowercase();
    for text in [PASSWORD, ENCODED] {
        let letters: Vec<char> = text.to_lowercase().chars().collect();
        for part in letters.windows(5).map(|window| window.iter().collect::<String>()) {
            assert!(!lower.contains(&part), "{arguments} says `{part}`:\n{said}");
        }
    }
    said
}

#[test]
fn no_report_shows_a_value_of_a_secret() {
    let folder = project("reports");
    for format in
        ["table", "json", "junit", "sarif", "github", "gitlab", "markdown", "policyreport", "openreports"]
    {
        let said = check(&folder, &format!("apply rules.yaml -r objects.yaml -o {format}"));
        assert!(said.contains("(secret)"), "{format}: {said}");
    }
}

#[test]
fn no_explanation_shows_a_value_of_a_secret() {
    let folder = project("explanations");
    for command in [
        "trace rules.yaml -r objects.yaml",
        "trace rules.yaml -r objects.yaml -o json",
        "why '*/*/database' rules.yaml -r objects.yaml",
        "why '*/*/settings' rules.yaml -r objects.yaml",
        "impact rules.yaml changes.yaml -r objects.yaml",
        "impact rules.yaml -r objects.yaml -o json",
    ] {
        check(&folder, command);
    }
}

#[test]
fn a_change_of_a_secret_is_shown_without_its_values() {
    let folder = project("changes");
    check(&folder, "apply changes.yaml -r objects.yaml -v");
    let said = check(&folder, "apply changes.yaml -r objects.yaml --diff");
    assert!(said.contains("+    copy: (secret)") && said.contains("+  second: (secret)"), "{said}");
    // What does not depend on a value is shown.
    assert!(said.contains("+    reviewed: \"yes\""), "{said}");
    check(&folder, "trace changes.yaml -r objects.yaml");
    // What is written is the object.
    let output = kubewright_in(&folder, "apply changes.yaml -r objects.yaml -o yaml", "");
    assert!(String::from_utf8_lossy(&output.stdout).contains(PASSWORD));
}
