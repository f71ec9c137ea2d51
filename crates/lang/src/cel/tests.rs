//! The language as a whole.

use kubewright_value::json;

use super::*;

fn environment() -> Environment {
    Environment::standard().variable("object")
}

/// Evaluates `text` with `object` bound, and compares how the result is printed.
#[track_caller]
fn gives(text: &str, want: &str) {
    let object = json::parse(r#"{"spec":{"n":3,"list":[1,2,3],"name":"web"}}"#).expect("JSON");
    let program = Program::compile(text, &environment()).expect(text);
    let bindings = Bindings::new().with("object", &object);
    let found = program.evaluate(&bindings, &mut Cost::default());
    assert_eq!(found.map_or_else(|error| error.message, |value| format!("{value:?}")), want, "{text}");
}

#[test]
fn objects_are_read_without_a_copy() {
    gives("object.spec.n + 1", "4");
    gives("object.spec.list.all(x, x > 0)", "true");
    gives("object.spec.list.map(x, x * 2)", "[2, 4, 6]");
    gives("has(object.spec.name) && !has(object.spec.other)", "true");
    gives("object.spec['name'] == 'web'", "true");
    gives("object.spec.missing", "no such key: missing");
}
