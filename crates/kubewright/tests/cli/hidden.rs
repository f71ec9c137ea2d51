//! Characters that are not seen as themselves stand in no output, whatever the format; in JSON and YAML the value stays exact.

use std::fs;
use std::path::{Path, PathBuf};

use kubewright_value::{Value, json, yaml};

use super::kubewright_in;

/// No width, order of bytes, separators of lines, C1, DEL, direction, tags.
const HIDDEN: &str = "a\u{200b}\u{200c}\u{200d}\u{feff}\u{2028}\u{2029}\u{9b}\u{7f}\u{202e}\u{2066}\u{ad}\u{61c}\u{2060}\u{e0041}z";

fn project() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hidden");
    fs::create_dir_all(&folder).expect("a folder");
    let quoted = json::quote(HIDDEN);
    let pod = format!(
        "{{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{{\"name\":{quoted},\"namespace\":{quoted},\"labels\":{{{quoted}:{quoted}}}}},\"spec\":{{\"containers\":[{{\"name\":{quoted},\"image\":{quoted}}}]}}}}"
    );
    fs::write(folder.join("pod.json"), pod).expect("a file");
    let name = "{{request.object.metadata.name}}";
    let rule = format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: no}}\nspec:\n  validationFailureAction: Enforce\n  rules:\n  - name: r\n    match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}\n    validate: {{message: 'no {name}', deny: {{conditions: {{any: [{{key: '{name}', operator: Equals, value: '{name}'}}]}}}}}}\n"
    );
    fs::write(folder.join("rule.yaml"), rule).expect("a file");
    let trait_file = "apiVersion: v1alpha1\nkind: Trait\nmetadata: {name: t}\nspec: {patches: [{target: {kind: Pod, group: '', version: v1}, operations: [{op: add, path: /metadata/labels/a, value: b}]}]}\n";
    fs::write(folder.join("trait.yaml"), trait_file).expect("a file");
    folder
}

#[test]
fn no_output_has_a_hidden_character() {
    let folder = project();
    let mut commands: Vec<String> = Vec::new();
    for format in
        ["table", "json", "yaml", "junit", "sarif", "github", "markdown", "policyreport", "openreports"]
    {
        commands.push(format!("apply rule.yaml -r pod.json -o {format}"));
        commands.push(format!("detect -r pod.json -o {format}"));
    }
    commands.extend(
        ["svg", "html", "json", "dot", "mermaid"].map(|format| format!("graph -r pod.json -o {format}")),
    );
    commands.extend(
        ["", "-o json", "--diff", "--trace", "--trace -o json"]
            .map(|more| format!("render -f pod.json --trait trait.yaml {more}")),
    );
    for rules in ["rule.yaml", "trait.yaml", "naked-pod"] {
        commands.push(format!("trace {rules} -r pod.json"));
    }
    commands.extend(["rule.yaml", "naked-pod"].map(|rules| format!("trace {rules} -r pod.json -o json")));
    commands.push("eval jmespath metadata -f pod.json".to_owned());
    commands.push("eval cel object.metadata.name -f pod.json".to_owned());
    commands.push("lint pod.json".to_owned());
    for command in commands {
        let output = kubewright_in(&folder, &command, "");
        for bytes in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(bytes);
            let is_hidden =
                |c: char| kubewright_value::display::is_hidden(c) && !matches!(c, '\n' | '\t' | '\r');
            let found: Vec<u32> = text.chars().filter(|c| is_hidden(*c)).map(u32::from).collect();
            assert!(found.is_empty(), "{command}: {found:x?}");
        }
        assert!(!output.stdout.is_empty(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn values_stay_exact_in_json_and_yaml() {
    let folder = project();
    let output = |command: &str| {
        let output = kubewright_in(&folder, command, "");
        String::from_utf8(output.stdout).expect("text")
    };
    let rendered = yaml::parse(&output("render -f pod.json --trait trait.yaml -q")).expect("YAML");
    assert_eq!(rendered.at(&["metadata", "name"]).and_then(Value::as_str), Some(HIDDEN));
    let rendered = json::parse(&output("render -f pod.json --trait trait.yaml -o json -q")).expect("JSON");
    let name = rendered
        .get("items")
        .and_then(Value::as_array)
        .and_then(|items| items.first()?.at(&["metadata", "name"]));
    assert_eq!(name.and_then(Value::as_str), Some(HIDDEN));
    let applied = json::parse(&output("apply rule.yaml -r pod.json -o json")).expect("JSON");
    let name =
        applied.get("objects").and_then(Value::as_array).and_then(|objects| objects.first()?.get("name"));
    assert_eq!(name.and_then(Value::as_str), Some(HIDDEN));
}
