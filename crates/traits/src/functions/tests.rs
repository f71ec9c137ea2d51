use kubewright_cel::{CelBindings, CelCost};
use kubewright_interpolate::{RenderedValue, ValueTemplate};
use kubewright_value::{Value, json};

use super::*;

fn render(template: &str) -> Result<RenderedValue, String> {
    let parameters =
        json::parse(r#"{"i": 3, "f": 1.5, "s": "str", "l": ["a", 1], "n": null, "m": {"a": 1, "b": 2}}"#)
            .unwrap();
    let derived =
        json::parse(r#"{"containerEnvFrom": [1], "endpointResources": {"web": [2]}, "servicePorts": []}"#);
    let derived = derived.unwrap();
    let environment = trait_environment().variable("parameters").variable("derived");
    let (template, problems) = ValueTemplate::compile(&Value::from(template), &environment);
    if let Some(problem) = problems.first() {
        return Err(problem.message.clone());
    }
    let bindings = CelBindings::new().with("parameters", &parameters).with("derived", &derived);
    template.render(&bindings, &mut CelCost::default()).map_err(|error| error.message)
}

#[track_caller]
fn check(template: &str, want: &str) {
    assert_eq!(render(template), Ok(RenderedValue::Value(json::parse(want).unwrap())), "{template}");
}

#[track_caller]
fn fails(template: &str, message: &str) {
    let error = render(template).unwrap_err();
    assert!(error.contains(message), "{error}");
}

#[test]
fn merging_keeps_the_order_of_keys_and_the_last_value() {
    let Ok(RenderedValue::Value(made)) = render("${oc_merge({'b': 1, 'a': 1}, {'c': 3}, parameters.m)}")
    else {
        panic!()
    };
    assert_eq!(json::to_string(&made), r#"{"b":2,"a":1,"c":3}"#);
    check("${oc_merge({'x': {'a': 1}}, {'x': {'b': 2}})}", r#"{"x": {"b": 2}}"#);
}

#[test]
fn merge_leaves_out_omitted_values() {
    check("${oc_merge({'x': 1, 'y': 2}, {'x': oc_omit()})}", r#"{"y": 2}"#);
}

#[test]
fn merging_takes_two_maps_or_more() {
    fails("${oc_merge({'a': 1})}", "oc_merge");
    fails("${oc_merge({'a': 1}, 'x')}", "oc_merge");
    fails("${oc_merge({'a': 1}, parameters.n)}", "oc_merge");
}

#[test]
fn names_are_made_of_texts_and_of_lists_of_texts() {
    check("${oc_generate_name('a', 'b', 'c')}", r#""a-b-c-cbd2be7b""#);
    check("${oc_generate_name(['a', 'b', 'c'])}", r#""a-b-c-cbd2be7b""#);
    check("${oc_generate_name('')}", r#""e3b0c442""#);
    check("${oc_dns_label('a.b.c')}", r#""a.b.c-845e3044""#);
}

#[test]
fn a_name_loses_none_of_its_parts() {
    fails("${oc_generate_name('a', 1)}", "does not take `string`, `int`");
    fails("${oc_generate_name(parameters.l)}", "found `int`; use `string(…)`");
    fails("${oc_generate_name([])}", "at least one part");
}

#[test]
fn older_names_of_functions_still_work() {
    check("${merge({'a': 1}, {'b': 2})}", r#"{"a": 1, "b": 2}"#);
    check(
        "${sanitizeK8sResourceName('a.b')}",
        &json::quote(&naming::hashed_name(&["a-b"], "", MAX_LABEL_CHARS).unwrap()),
    );
    assert_eq!(render("${omit()}"), Ok(RenderedValue::Omitted));
}

#[test]
fn hashes_take_text() {
    check("${oc_hash('test')}", r#""afd071e5""#);
    fails("${oc_hash(parameters.i)}", "oc_hash");
}

#[test]
fn numbers_are_integers_that_may_meet_doubles() {
    check("${parameters.i + 1}", "4");
    check("${parameters.i % 2}", "1");
    check("${parameters.i * 2.5}", "7.5");
    check("${1.0 + parameters.i / 2}", "2");
    check("${math.ceil(parameters.i)}", "3");
    check("${math.ceil(parameters.i * parameters.f)}", "5");
    check("${parameters.f > 1 && parameters.i == 3.0}", "true");
}

#[test]
fn function_outside_the_libraries_is_unknown() {
    fails("${cel.bind(x, 1, x + 1)}", "unknown");
    fails("${regex.replace('abc', 'b', 'x')}", "unknown");
    fails("${quantity('1Gi')}", "unknown");
}

#[test]
fn helpers_return_fields_of_derived() {
    check("${configurations.toContainerEnvFrom()}", "[1]");
    check("${configurations.toContainerEnvFrom(container.key).size()}", "1");
    check("${workload.toEndpointResources('web').orValue([]) + workload.toServicePorts()}", "[2]");
    check("${workload.toEndpointResources('api').hasValue()}", "false");
}

#[test]
fn helpers_are_methods_of_their_own_variable_alone() {
    fails("${parameters.toContainerEnvFrom()}", "unknown method `toContainerEnvFrom`");
    fails("${[1].map(configurations, configurations.toContainerEnvFrom())}", "unknown method");
    fails("${workload.toServicePorts(1)}", "takes no argument, not 1");
    fails("${workload.toEndpointResources()}", "takes one argument, not 0");
}
