//! The real binary, compared with snapshots of everything it prints.
//!
//! A snapshot is a file in `tests/snapshots`. `UPDATE_SNAPSHOTS=1 cargo test -p kubewright --test cli`
//! writes them anew; look at the difference before you keep it. Times are masked.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

#[path = "cli/admission.rs"]
mod admission;
#[path = "cli/convert.rs"]
mod convert;
#[path = "cli/detect.rs"]
mod detect;
#[path = "cli/files.rs"]
mod files;
#[path = "cli/fix.rs"]
mod fix;
#[path = "cli/function.rs"]
mod function;
#[path = "cli/graph.rs"]
mod graph;
#[path = "cli/hidden.rs"]
mod hidden;
#[path = "cli/inputs.rs"]
mod inputs;
#[path = "cli/install.rs"]
mod install;
#[path = "cli/kyverno.rs"]
mod kyverno;
#[path = "cli/mcp.rs"]
mod mcp;
#[cfg(feature = "serve")]
#[path = "cli/migrate.rs"]
mod migrate;
#[path = "cli/modrule.rs"]
mod modrule;
#[path = "cli/output_schemas.rs"]
mod output_schemas;
#[path = "cli/outputs.rs"]
mod outputs;
#[path = "cli/patterns.rs"]
mod patterns;
#[path = "cli/project.rs"]
mod project;
#[path = "cli/render.rs"]
mod render;
#[path = "cli/scaffold.rs"]
mod scaffold;
#[cfg(feature = "serve")]
#[path = "cli/scan.rs"]
mod scan;
#[path = "cli/schemas.rs"]
mod schemas;
#[path = "cli/secrets.rs"]
mod secrets;
#[path = "cli/traits.rs"]
mod traits;
#[cfg(all(unix, feature = "serve"))]
#[path = "cli/watch.rs"]
mod watch;
#[path = "cli/why.rs"]
mod why;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Runs `kubewright ARGUMENTS` in the folder of fixtures.
fn kubewright(arguments: &str, input: &str) -> Output {
    kubewright_in(&folder("fixtures"), arguments, input)
}

/// Runs `kubewright ARGUMENTS` in a folder.
fn kubewright_in(path: &Path, arguments: &str, input: &str) -> Output {
    let mut process = Command::new(env!("CARGO_BIN_EXE_kubewright"))
        .args(words(arguments))
        .current_dir(path)
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // A command that does not read its input may be gone before it is written.
    let _ = process.stdin.take().expect("an input").write_all(input.as_bytes());
    process.wait_with_output().expect("the binary ends")
}

/// Splits at spaces; what stands between single quotes is one word.
fn words(text: &str) -> Vec<String> {
    let parts = text.split('\'').enumerate();
    parts
        .flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Runs the binary and compares what it prints with the snapshot `name`.
#[track_caller]
fn check(name: &str, arguments: &str) {
    check_with(name, arguments, "");
}

#[track_caller]
fn check_with(name: &str, arguments: &str, input: &str) {
    let output = kubewright(arguments, input);
    let text = |bytes: &[u8]| masked(&String::from_utf8_lossy(bytes));
    let actual = format!(
        "$ kubewright {arguments}\nexit {}\n-- stdout\n{}-- stderr\n{}",
        output.status.code().expect("an exit code"),
        text(&output.stdout),
        text(&output.stderr)
    );
    let path = folder("snapshots").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, actual).expect("the snapshot is written");
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == actual, "{name} differs from its snapshot; it is now:\n{actual}");
}

/// Replaces times at the ends of lines, which come after five spaces.
fn masked(text: &str) -> String {
    let is_time = |text: &str| {
        let text = text.trim_start_matches("\u{1b}[2m").trim_end_matches("\u{1b}[0m");
        text.ends_with(" ms") || text.ends_with(" s")
    };
    let mut lines: Vec<String> = text
        .split('\n')
        .map(|line| match line.rsplit_once("     ") {
            Some((start, time)) if is_time(time) => format!("{start}     TIME"),
            _ => line.to_owned(),
        })
        .collect();
    if lines.last().is_some_and(|last| !last.is_empty()) {
        lines.push("(no line break at the end)\n".to_owned());
    }
    mask_durations(&lines.join("\n"))
}

/// Replaces the values of `time` attributes.
fn mask_durations(text: &str) -> String {
    let mut parts = text.split(" time=\"");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        masked.push_str(" time=\"TIME");
        masked.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'));
    }
    masked
}

#[test]
fn apply_shows_what_is_wrong_first_and_counts_the_rest() {
    check("apply", "apply rules -r manifests");
    check("apply-diff", "apply rules -r manifests/shop.yaml --diff");
    check("apply-quiet", "apply rules -r manifests -q");
    check("apply-clean", "apply rules -r manifests/shop.yaml --rule add-security-context -q");
    check("apply-delete", "apply rules -r manifests/shop.yaml --operation DELETE");
}

#[test]
fn every_format_shows_the_same_outcomes() {
    for format in ["json", "yaml", "junit", "sarif", "github", "markdown", "policyreport", "openreports"] {
        check(&format!("apply-{format}"), &format!("apply rules -r manifests -o {format}"));
    }
}

#[test]
fn reports_about_an_object_that_is_given_twice_have_two_names() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: web, namespace: shop}, spec: {containers: [{name: c, image: a:latest}]}}\n";
    let arguments = "apply rules -r - --rule no-latest -o openreports";
    check_with("apply-openreports-twice", arguments, &format!("{pod}---\n{pod}"));
}

#[test]
fn every_format_has_an_empty_form_that_is_still_well_formed() {
    for format in ["json", "yaml", "junit", "sarif", "github", "markdown", "policyreport", "openreports"] {
        check_with(&format!("empty-{format}"), &format!("apply rules -r - -o {format}"), "");
    }
}

#[test]
fn bad_input_is_listed_last_and_the_rest_is_done() {
    check("broken-resources", "apply rules -r broken manifests/shop.yaml --rule no-latest");
    check("broken-rules", "apply rules broken/broken.yaml lint -r manifests/shop.yaml --rule no-latest");
    check("missing-resources", "apply rules -r manifest");
    check("missing-pattern", "apply rules -r 'manifests/*.json'");
    check("no-rules", "apply - -r manifests/shop.yaml");
}

#[test]
fn a_misspelt_word_gets_the_right_one() {
    check("misspelt-rule", "apply rules -r manifests --rule no-lates");
    check("misspelt-flag", "apply rules -r manifests --dif");
    check("misspelt-command", "aply rules");
    check("misspelt-format", "apply rules -r manifests -o jsn");
    check("misspelt-code", "explain KW-Y0001");
}

#[test]
fn usage_that_makes_no_sense_is_refused() {
    check("two-outputs", "apply rules -r manifests -o json -o sarif");
    check("diff-and-json", "apply rules -r manifests -o json --diff");
    check("standard-input-twice", "apply - -r -");
}

#[test]
fn manifests_come_from_standard_input_and_patterns() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: piped}\n";
    check_with("standard-input", "apply rules -r - --namespace shop", pod);
    check("pattern", "apply rules -r '**/sh?p.yaml'");
}

#[test]
fn rules_look_up_what_the_world_holds() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: piped}\n";
    check_with(
        "world",
        "apply world/rule.yaml -r - --world world/namespaces.yaml --namespace shop --diff",
        pod,
    );
    check_with("world-empty", "apply world/rule.yaml -r - --namespace shop", pod);
}

#[test]
fn colours_are_used_only_when_asked_for() {
    check("color", "apply rules -r manifests/shop.yaml --diff --color always");
    let output = kubewright("apply rules -r manifests", "");
    assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b));
}

/// A rule with a doubtful field.
const WARNED: &str = "\
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: warned, namespace: shop}
spec:
  type: Reject
  match:
    - {select: $.spec.replicas, matchValue: 7}
";

#[test]
fn lint_shows_every_mistake_with_its_line() {
    for format in ["table", "json", "sarif", "github", "yaml", "junit", "markdown"] {
        check(&format!("lint-{format}"), &format!("lint lint -o {format}"));
    }
    check("lint-clean", "lint rules/shop.yaml");
    check("lint-missing", "lint rules/shop.yaml nowhere.yaml");
    check("lint-broken", "lint rules/shop.yaml broken");
    check_with("lint-warning", "lint -", WARNED);
    check_with("lint-deny-warnings", "lint - --deny-warnings -o github", WARNED);
}

#[test]
fn explain_shows_pages() {
    check("explain", "explain kw-f010");
    let list = String::from_utf8(kubewright("explain", "").stdout).expect("text");
    assert!(
        list.contains("KW-Y001")
            && list.contains("KW-R001")
            && list.contains("KW-T001")
            && list.contains("KW-F001")
    );
}

#[test]
fn trace_tells_why() {
    check("trace", "trace rules -r manifests/shop.yaml");
    check("trace-json", "trace rules -r manifests/shop.yaml --rule add-security-context -o json");
    check("trace-error", "trace rules -r manifests/list.yaml --rule replace-missing");
}

#[test]
fn cases_hold_or_tell_why_not() {
    check("test", "test cases --coverage");
    check("test-good", "test cases/good");
    check("test-quiet", "test cases/good -q");
    check("test-json", "test cases/failing/kubewright-test.yaml -o json");
    for format in ["junit", "sarif", "github"] {
        check(&format!("test-{format}"), &format!("test cases/failing cases/good -o {format}"));
    }
    check("test-nothing", "test rules");
}

#[test]
fn the_test_files_of_the_project_hold() {
    let output = kubewright("test ../../../../tests ../../../../examples ../../../../patterns", "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn expressions_can_be_tried() {
    let object = r#"{"kind": "Pod", "metadata": {"namespace": "shop"}, "items": [{"n": 1}, {"n": 2}, {}]}"#;
    check_with("eval-jsonpath", "eval jsonpath '$.items[*].n' -f -", object);
    check_with("eval-keys", "eval jsonpath '$.items[? @.n > 0].n' -f - --keys", object);
    check_with("eval-undefined", "eval jsonpath '$.status' -f -", object);
    check_with("eval-parse-error", "eval jsonpath '$.items[' -f -", object);
    check_with("eval-type-error", "eval jsonpath '$.kind.name' -f -", object);
    check_with(
        "eval-gotemplate",
        "eval gotemplate '{{ .Target.kind | lower }} in {{ .Namespace }}' -f -",
        object,
    );
    check_with("eval-template-error", "eval gotemplate '{{ .Target.kind | lowr }}' -f -", object);
}

#[test]
fn jmespath_can_be_tried_with_the_functions_of_policies() {
    let object = "kind: Pod\nspec:\n  containers:\n  - image: nginx\n  - image: ghcr.io/a/b:1\n";
    let check = |name: &str, expression: &str| {
        check_with(&format!("eval-jmespath{name}"), &format!("eval jmespath '{expression}' -f -"), object);
    };
    check("", "spec.containers[].image_normalize(image)");
    check("-missing", "spec.volumes[0].name");
    check("-parse-error", "spec.containers[?image == `1`].image | lenght(@)");
    check("-type-error", "kind && to_upper(spec.containers)");
    check_with("eval-jmespath-functions", "eval jmespath --list-functions", "");
    check_with("eval-no-functions", "eval jsonpath --list-functions", "");
    let output = kubewright("eval jmespath 'length(time_now()) == length(time_now_utc())' -f -", object);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "true\n");
}

#[test]
fn cel_can_be_tried_and_says_what_it_costs() {
    let object = "kind: Pod\nspec:\n  containers:\n  - name: a\n    image: nginx\n  - name: b\n    image: ghcr.io/a/b:1\n";
    let check = |name: &str, expression: &str| {
        check_with(&format!("eval-cel{name}"), &format!("eval cel '{expression}' -f - --cost"), object);
    };
    check("", "object.spec.containers.filter(c, c.image.contains(\"/\")).map(c, c.name)");
    check("-missing", "object.spec.volumes.size() > 0");
    check("-unknown", "object.spec.containers.all(c, cc.image != \"\")");
    check("-type", "object.kind + 1u == object.kind && 1 + \"a\" == 2");
    check_with("eval-cel-functions", "eval cel --list-functions", "");
    check_with("eval-cel-policy-functions", "eval cel --policy --list-functions", "");
    let images = "object.spec.containers.map(c, image(c.image).registry())";
    check_with("eval-cel-policy", &format!("eval cel '{images}' -f - --policy"), object);
    let output =
        kubewright("eval cel 'time.now() > timestamp(0) && random().size() == 8' -f - --policy", object);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "true\n");
    check_with("eval-cel-variable", "eval cel 'given.kind + object.kind' -f - --var given", object);
}

#[test]
fn the_demo_needs_no_file() {
    check("demo", "demo");
}

#[test]
fn the_examples_of_help_work_when_pasted() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo");
    let _ = fs::remove_dir_all(&folder);
    let shown = folder.display();
    assert!(kubewright(&format!("demo --save {shown}"), "").status.success());
    let output = kubewright(&format!("apply {shown}/rules -r {shown}/manifests --diff"), "");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn help_has_examples_and_exit_codes() {
    check("help", "--help");
    check("help-apply", "apply --help");
    check("help-serve", "serve --help");
    for command in ["test", "lint", "explain", "trace", "render", "eval", "demo", "completions", "man"] {
        let help = String::from_utf8(kubewright(&format!("{command} --help"), "").stdout).expect("text");
        assert!(help.contains("\nExamples:\n  "), "{command}");
    }
}

#[test]
fn completions_and_manual_pages_are_printed() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = kubewright(&format!("completions {shell}"), "");
        assert!(output.status.success() && output.stdout.len() > 1000, "{shell}");
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
    assert!(kubewright(&format!("man {}", folder.display()), "").status.success());
    assert!(folder.join("kubewright-apply.1").exists());
}

#[test]
fn objects_and_reports_go_to_files() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("objects");
    let _ = fs::remove_dir_all(&folder);
    let shown = folder.display();
    let arguments = format!("apply rules -r manifests --output-objects {shown} -o json={shown}-report.json");
    let output = kubewright(&arguments, "");
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let mut names: Vec<_> = fs::read_dir(&folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    let expected = [
        "configmap-shop-colours.yaml",
        "deployment-shop-inner.yaml",
        "deployment-shop-orders.yaml",
        "deployment-shop-web.yaml",
        "namespace-shop.yaml",
        "service-shop-web.yaml",
    ];
    assert_eq!(names, expected);
    let web = fs::read_to_string(folder.join("deployment-shop-web.yaml")).expect("the object");
    assert!(web.contains("runAsNonRoot: true"), "{web}");
    assert!(folder.with_file_name("objects-report.json").exists());
}

#[test]
fn an_output_takes_the_place_of_no_other_file() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (file, manifest) = (folder.join("twice.out"), folder.join("kept.yaml"));
    fs::write(&manifest, "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n").expect("a file");
    let twice = format!("-o json={0} -o yaml={1}/./twice.out", file.display(), folder.display());
    let over = format!("-o json={}", manifest.display());
    for (outputs, want) in [(twice, "two outputs would go to"), (over, "is read, and would be written over")]
    {
        let output = kubewright(&format!("apply rules -r {} {outputs}", manifest.display()), "");
        assert_eq!(output.status.code(), Some(2), "{outputs}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(want), "{outputs}");
    }
    assert!(fs::read_to_string(&manifest).expect("the manifest").contains("Pod"));
}

#[test]
fn a_test_file_does_not_show_what_is_no_object() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("leak");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("secret"), "s3cret words\n").expect("a file");
    fs::write(folder.join("pod.yaml"), "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n").expect("a file");
    let rules = self::folder("fixtures").join("rules");
    let text = format!(
        "apiVersion: kubewright.dev/v1alpha1\nkind: Test\nmetadata: {{name: t}}\nrules: ['{}']\nresources: [pod.yaml]\ncases: [{{resource: a, patched: secret}}]\n",
        rules.display()
    );
    fs::write(folder.join("kubewright-test.yaml"), text).expect("a file");
    let output = kubewright(&format!("test {}", folder.display()), "");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("is neither YAML nor JSON") && !shown.contains("s3cret"), "{shown}");
}

#[test]
fn a_comparison_without_end_is_an_error_of_its_rule() {
    let values: Vec<String> = (0..20_000).map(|number| format!("v{number}")).collect();
    let rule = format!(
        "apiVersion: api.kubemod.io/v1beta1\nkind: ModRule\nmetadata: {{name: r, namespace: default}}\nspec: {{type: Reject, match: [{{select: '$.l[*]', matchValues: {values:?}}}]}}\n"
    );
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("long-comparison.yaml");
    fs::write(&file, rule).expect("a file");
    let items: Vec<String> = (0..20_000).map(|number| format!("w{number}")).collect();
    let pod = format!("{{apiVersion: v1, kind: Pod, l: {items:?}}}");
    let output = kubewright(&format!("apply {} -r -", file.display()), &pod);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("steps is used up"));
}

#[cfg(unix)]
#[test]
fn a_pipe_in_a_folder_is_not_waited_for() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pipe");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let made = Command::new("mkfifo").arg(folder.join("p.yaml")).status().expect("mkfifo");
    assert!(made.success());
    let output = kubewright(&format!("apply rules -r {}", folder.display()), "");
    assert_eq!(output.status.code(), Some(2));
}

#[cfg(target_os = "linux")]
#[test]
fn a_source_without_an_end_is_given_up() {
    let output = kubewright("apply rules -r /dev/zero", "");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("it has more than 256 MiB"));
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_it_quietly() {
    let mut many = String::new();
    for number in 0..5000 {
        many.push_str(&format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{number}}}\n"));
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("many.yaml");
    fs::write(&file, many).expect("the file");
    let binary = env!("CARGO_BIN_EXE_kubewright");
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("({binary} apply rules -r {0} -v; echo $? >&3) 3>&2 | head -n 1", file.display()))
        .current_dir(folder("fixtures"))
        .output()
        .expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "0\n");
    // Standard error has no reader either.
    let output = Command::new("sh")
        .arg("-c")
        .arg(format!("({binary} apply broken -r broken 2>&1; echo $? >&3) 3>&2 | true"))
        .current_dir(folder("fixtures"))
        .output()
        .expect("a shell");
    let code = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(["0\n", "2\n"].contains(&code.as_str()), "{code}");
}

#[cfg(unix)]
#[test]
fn links_out_of_a_folder_are_followed_and_circles_are_not() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("links");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("inside/deep")).expect("folders");
    fs::write(folder.join("outside.yaml"), "apiVersion: v1\nkind: Pod\nmetadata: {name: outside}\n")
        .expect("a file");
    fs::write(folder.join("inside/a.yaml"), "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n")
        .expect("a file");
    std::os::unix::fs::symlink("../outside.yaml", folder.join("inside/leaves.yaml")).expect("a link");
    std::os::unix::fs::symlink("..", folder.join("inside/deep/circle")).expect("a link");
    let output = kubewright(&format!("apply rules -r {}", folder.join("inside").display()), "");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.contains("Pod default/a") && text.contains("Pod default/outside"), "{text}");
    assert!(text.contains("2 objects,"), "{text}");
}

#[test]
fn results_keep_the_order_of_the_input() {
    let mut many = String::new();
    for number in 0..2000 {
        many.push_str(&format!("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p{number}}}\n"));
    }
    let text = String::from_utf8(kubewright("apply rules -r - -o yaml", &many).stdout).expect("text");
    let names: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("  name: p")).collect();
    let expected: Vec<_> = (0..2000).map(|number| number.to_string()).collect();
    assert_eq!(names, expected);
}

#[test]
fn a_long_list_keeps_its_order_too() {
    let items: Vec<String> = (0..2000)
        .map(|number| format!(r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p{number}"}}}}"#))
        .collect();
    let pod = "\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p2000}\n";
    let list = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{}]}}{pod}"#, items.join(",\n"));
    let text = String::from_utf8(kubewright("apply rules -r - -o yaml", &list).stdout).expect("text");
    let names: Vec<_> = text.lines().filter_map(|line| line.strip_prefix("  name: p")).collect();
    let expected: Vec<_> = (0..2001).map(|number| number.to_string()).collect();
    assert_eq!(names, expected);
}

#[test]
fn a_check_that_looked_at_nothing_has_not_passed() {
    let output = kubewright("apply rules -r -", "values: [1]\n");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("KW-F003") && told.contains("no objects found in standard input"), "{told}");
}

#[test]
fn a_file_that_is_not_text_is_told_and_the_rest_is_done() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bytes");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("a.yaml"), b"kind: \xff\xff").expect("a file");
    fs::write(folder.join("b.yaml"), "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n").expect("a file");
    let output = kubewright(&format!("apply rules -r {}", folder.display()), "");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stdout).contains("Pod default/b"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("KW-Y002"));
}
