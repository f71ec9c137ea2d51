//! Behaviour by data: each line of the `.jsonl` files is a template and what Go makes of it.
//! An empty error text means that only the failure is compared.

mod facts;
mod limits;

use kubewright_value::{Budget, Value, json};

use super::*;

/// A context with one of everything: strings, whole and other numbers, null, lists, native values.
pub(super) fn context() -> TemplateContext {
    let text = r#"{
        "SelectedItem": {"name": "sidecar", "image": "quay.io/team/proxy:2.7.1", "ports": [{"containerPort": 8443}]},
        "Target": {"kind": "StatefulSet",
            "metadata": {"name": "db", "labels": {"tier": "back", "x.y/z": "9", "app": "q"},
                "annotations": {"json": "{\"k\":[5,6]}"}},
            "spec": {"replicas": 4, "uid": 2000100000, "f": 2.25, "t": true, "n": null, "list": ["n", "m", "o"],
                "cpu": "250m",
                "containers": [{"name": "main", "image": "lib/m:3"}, {"name": "sidecar", "image": "s"}]}}}"#;
    let values = json::parse(text).unwrap();
    let field = |name: &str| values.get(name).cloned().unwrap_or_default();
    TemplateContext::new()
        .json("Target", field("Target"))
        .json("SelectedItem", field("SelectedItem"))
        .native("Namespace", "shop")
        .native("SelectKeyParts", vec![Value::from(1_i64), Value::from("abc")])
}

/// Renders `text` with the functions that rules have.
pub(super) fn render(text: &str) -> Result<String, GoTemplateError> {
    let template = GoTemplate::parse("t", text, &FunctionSet::rules())?;
    template.render(&context(), &Inputs::default(), &mut Budget::default())
}

#[track_caller]
fn check(text: &str, want: &str) {
    assert_eq!(render(text).map_err(|error| error.to_string()).as_deref(), Ok(want), "{text}");
}

#[track_caller]
fn check_error(text: &str, want: &str) {
    assert_eq!(render(text).map_err(|error| error.to_string()), Err(want.to_owned()), "{text}");
}

#[track_caller]
fn check_file(lines: &str) {
    let mut wrong = Vec::new();
    for line in lines.lines() {
        let case = json::parse(line).unwrap();
        let part = |name: &str| case.get(name).and_then(Value::as_str);
        let text = part("template").unwrap();
        let got = render(text);
        let fits = match (&got, part("output")) {
            (Ok(got), Some(want)) => got == want,
            (Err(error), None) => {
                let (name, is_parse) =
                    if part("parseError").is_some() { ("parseError", true) } else { ("error", false) };
                let want = part(name).unwrap();
                matches!(error.kind, GoTemplateErrorKind::Parse | GoTemplateErrorKind::Refused) == is_parse
                    && (want.is_empty() || error.to_string() == want)
            }
            _ => false,
        };
        if !fits {
            wrong.push(format!("{case}\n   got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_template_language_is_go_s() {
    check_file(include_str!("tests/syntax.jsonl"));
}

#[test]
fn every_function_answers_as_sprig_does() {
    check_file(include_str!("tests/functions.jsonl"));
}

#[test]
fn changed_dictionaries_and_raw_bytes_are_kept_as_go_keeps_them() {
    check_file(include_str!("tests/changes.jsonl"));
}

#[test]
fn functions_agree_with_sprig_on_sampled_arguments() {
    check_file(include_str!("tests/sampled.jsonl"));
}

#[test]
fn whole_json_numbers_print_without_exponent() {
    check("{{ .Target.spec.uid }}", "2000100000");
    check("{{ list .Target.spec.uid }} {{ .Target.spec.uid | quote }}", "[2000100000] \"2000100000\"");
    check(
        r#"{{ printf "%v %5d %g" .Target.spec.uid .Target.spec.replicas 2000100000.0 }}"#,
        "2000100000 %!d(float64=    4) 2.0001e+09",
    );
    check(r#"{{ fromJson "12345678901234567" | add1 }}"#, "12345678901234568");
    check("{{ float64 .Target.spec.uid }}", "2.0001e+09");
}

#[test]
fn errors_say_where_they_are() {
    let error = render("a\n  {{ .Target.spec.n.x }}").unwrap_err();
    assert_eq!(
        (error.kind, error.position.line, error.position.column),
        (GoTemplateErrorKind::Execute, 2, 13)
    );
    let error = render("a\nb {{ nofunc }}").unwrap_err();
    assert_eq!((error.kind, error.position.line, error.position.column), (GoTemplateErrorKind::Parse, 2, 6));
    check_error(
        "{{ .Other }}",
        "template: t:1:3: executing \"t\" at <.Other>: can't evaluate field Other in type template.Context",
    );
}

#[test]
fn changes_to_the_context_last_for_one_rendering() {
    let text = r#"{{ $_ := set .Target.metadata.labels "k" "v" }}{{ .Target.metadata.labels.k }}{{ len .Target.metadata.labels }}"#;
    let template = GoTemplate::parse("t", text, &FunctionSet::rules()).unwrap();
    let context = context();
    for _ in 0..2 {
        let got = template.render(&context, &Inputs::default(), &mut Budget::default());
        assert_eq!(got.unwrap(), "v4");
    }
    check("{{ .Target.metadata.labels.k }}", "<no value>");
}

#[test]
fn unrepeatable_functions_are_refused_until_allowed() {
    for name in [
        "now",
        "ago",
        "randAlpha",
        "uuidv4",
        "shuffle",
        "bcrypt",
        "htpasswd",
        "encryptAES",
        "derivePassword",
        "genCA",
    ] {
        let (kind, error) = FunctionSet::rules().find(name).unwrap_err();
        assert_eq!(kind, GoTemplateErrorKind::Refused);
        assert!(error.contains("can be allowed by name"), "{error}");
        assert!(FunctionSet::rules().allow(name).find(name).is_ok());
    }
    {
        let name = "getHostByName";
        let (kind, error) = FunctionSet::rules().allow(name).find(name).unwrap_err();
        assert_eq!(kind, GoTemplateErrorKind::Parse);
        assert!(error.contains("not available"), "{error}");
    }
    check_error("{{ env \"HOME\" }}", "template: t:1: function \"env\" not defined");
    assert_eq!(FunctionSet::rules().names().len() + FunctionSet::refusable().len(), 210 + 17);
}

#[test]
fn allowed_functions_take_time_and_chance_from_the_inputs() {
    let allowed = |text: &str| {
        let functions = FunctionSet::refusable().into_iter().fold(FunctionSet::rules(), FunctionSet::allow);
        let template = GoTemplate::parse("t", text, &functions).unwrap();
        let inputs = Inputs { now: Some(1_700_000_000_000_000_000), random_seed: Some(7), keys: None };
        template.render(&context(), &inputs, &mut Budget::default()).unwrap()
    };
    assert_eq!(allowed(r#"{{ now | date "2006-01-02 15:04:05" }}"#), "2023-11-14 22:13:20");
    assert_eq!(allowed("{{ ago 1699999905 }}"), "1m35s");
    assert_eq!(allowed("{{ randAlphaNum 8 | len }}"), "8");
    assert_eq!(allowed("{{ uuidv4 }}"), allowed("{{ uuidv4 }}"));
    assert_eq!(allowed(r#"{{ encryptAES "k" "plain" | decryptAES "k" }}"#), "plain");
    assert_eq!(allowed(r#"{{ shuffle "abc" | len }}"#), "3");
    assert!(allowed(r#"{{ htpasswd "u" "p" }}"#).starts_with("u:$2a$10$"));
}

#[test]
fn a_time_that_would_be_now_is_an_error() {
    let error = render(r#"{{ date "2006" "yesterday" }}"#).unwrap_err();
    assert!(error.message.contains("current time is not used"), "{error}");
    let error = render(r#"{{ dateInZone "2006" 0 "Europe/Vienna" }}"#).unwrap_err();
    assert!(error.message.contains("time zone `Europe/Vienna`"), "{error}");
}

/// Functions whose answer cannot be shown without a key or an error.
const WITHOUT_EXAMPLE: [&str; 4] = ["buildCustomCert", "call", "decryptAES", "fail"];

#[test]
fn every_function_has_help_and_an_example_that_is_true() {
    for name in FunctionSet::rules().names() {
        let help = FunctionSet::help(name).unwrap_or_else(|| panic!("{name} has no help"));
        assert!(!help.help.is_empty(), "{name}");
        assert_eq!(help.example.is_empty(), WITHOUT_EXAMPLE.contains(&name), "{name}");
        assert_eq!(render(&help.example).as_deref().ok(), Some(&*help.result), "{}", help.example);
    }
}

#[test]
fn help_names_as_many_arguments_as_functions_take() {
    for name in FunctionSet::rules().names() {
        let (least, is_variadic) = functions::arity(name).expect("a function");
        let call = &FunctionSet::help(name).expect("help").call;
        let named = call.split(' ').skip(1).count();
        assert!(named >= least && (is_variadic || named == least), "`{call}` has {least} parameters");
    }
}
