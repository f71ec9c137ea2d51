//! `schema`: the JSON schemas of everything that is read.

use kubewright_value::{Value, json};

use crate::{check, kubewright};

#[test]
fn kinds_are_listed() {
    check("schema-list", "schema");
}

#[test]
fn an_unknown_kind_is_answered_with_the_nearest_one() {
    check("schema-unknown", "schema ClusterPolcy");
}

#[test]
fn every_schema_is_json_with_an_address_and_a_title() {
    let names = kubewright("schema", "").stdout;
    let names = String::from_utf8_lossy(&names).into_owned();
    assert!(names.lines().count() > 20, "{names}");
    for name in names.lines() {
        let text = kubewright(&format!("schema {name}"), "").stdout;
        let schema = json::parse(&String::from_utf8_lossy(&text)).expect("JSON");
        for key in ["$schema", "$id", "title"] {
            assert!(schema.get(key).and_then(Value::as_str).is_some(), "{name} has no {key}");
        }
    }
}
