//! Reasons of expressions, as one line each.

use kubewright_value::json;

use crate::{CelBindings, CelCost, CelEnvironment, CelProgram, CelReason, library};

/// Writes a reason as `text=value`, with elements and children in brackets.
fn line(reason: &CelReason<'_>) -> String {
    let value = match &reason.value {
        Ok(value) => format!("{value:?}"),
        Err(error) => error.message.clone(),
    };
    let element = reason.element.as_ref().map_or(String::new(), |e| format!("{}[{}]: ", e.range, e.index));
    let children: Vec<String> = reason.children.iter().filter(|one| !one.is_constant).map(line).collect();
    let below = if children.is_empty() { String::new() } else { format!(" [{}]", children.join("; ")) };
    format!("{element}{}={value}{below}", reason.text)
}

const OBJECT: &str =
    r#"{"a": 1, "name": "x", "tags": [1], "list": [{"name": "one", "limits": {"cpu": 1}}, {"name": "two"}]}"#;

#[track_caller]
fn check(text: &str, want: &str, optional: &str) {
    let object = json::parse(OBJECT).unwrap();
    let all = library::EXTENSIONS.iter();
    let environment = all
        .fold(CelEnvironment::standard(), |environment, library| environment.with(library))
        .variable("object");
    let program = CelProgram::compile(text, &environment).unwrap();
    let bindings = CelBindings::new().with("object", &object);
    let reason = program.explain(&bindings, &mut CelCost::new(100_000));
    assert_eq!(line(&reason), want);
    let mut deepest = &reason;
    while let Some(child) = deepest.children.iter().find(|child| child.value.is_err()) {
        deepest = child;
    }
    assert_eq!(deepest.optional_form, optional);
}

#[test]
fn comparisons_show_both_sides() {
    check("object.a == 2", "object.a == 2=false [object.a=1]", "");
    check("size(object.tags) > 2", "size(object.tags) > 2=false [size(object.tags)=1 [object.tags=[1]]]", "");
}

#[test]
fn the_part_that_decides_is_the_reason() {
    check(
        "object.a == 1 && object.name.startsWith('y')",
        "(object.a == 1) && object.name.startsWith('y')=false [object.name.startsWith('y')=false [object.name=\"x\"]]",
        "",
    );
}

#[test]
fn the_element_that_decides_is_named() {
    check(
        "object.list.all(c, has(c.limits))",
        "object.list.all(c, …)=false [object.list[1]: has(c.limits)=false]",
        "",
    );
}

#[test]
fn a_missing_key_has_an_optional_form() {
    check(
        "object.b.c == 'x'",
        "object.b.c == 'x'=no such key: b [object.b.c=no such key: b]",
        "object.?b.?c.orValue('')",
    );
    check(
        "object.b['k'] > 1",
        "object.b['k'] > 1=no such key: b [object.b['k']=no such key: b]",
        "object.?b[?'k'].orValue(0)",
    );
    let missing = "no such key: limits";
    let want = format!("object.list.all(c, …)={missing} [object.list[1]: has(c.limits.cpu)={missing}]");
    check("object.list.all(c, has(c.limits.cpu))", &want, "c.?limits.?cpu.hasValue()");
}
