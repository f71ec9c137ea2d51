//! An expression ends within its cost, twice with the same result.

use kubewright_cel::{CelBindings, CelCost, CelProgram};
use kubewright_value::json;

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;
use super::cel_parse::{ENVIRONMENT, SEEDS, WORDS};

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "cel_eval",
    run: fuzz_cel_eval,
    seeds: SEEDS,
    dictionaries: &[FuzzDictionary::Cel],
    words: WORDS,
};

const OBJECT: &str = r#"{"kind":"Pod","metadata":{"labels":{"a.b/c":"x","007":"y","app":"web"}},"spec":{"containers":[
    {"name":"a","image":"nginx:1.14","ports":[{"containerPort":80},{"containerPort":443}],"resources":{"limits":{}}},
    {"name":"b","n":9007199254740993,"resources":null}],"x":null,"t":true,"f":1.5,"u":18446744073709551615}}"#;

fn fuzz_cel_eval(data: &[u8]) {
    const LIMIT: u64 = 100_000;
    let Ok(text) = std::str::from_utf8(data) else { return };
    let object = json::parse(OBJECT).unwrap_or_default();
    let list = json::parse("[3, 1, 2]").unwrap_or_default();
    for environment in [ENVIRONMENT.clone(), ENVIRONMENT.clone().unchecked()] {
        let Ok(program) = CelProgram::compile(text, &environment) else { continue };
        let evaluate = || {
            let bindings = CelBindings::new().with("object", &object).with("x", &list);
            let mut cost = CelCost::new(LIMIT);
            let found = program.evaluate(&bindings, &mut cost);
            let shown = match &found {
                Ok(value) => format!("{} {:?}", value.type_name(), value.to_value()),
                Err(error) => error.message.clone(),
            };
            // The last charge may go over the limit, which then is an error.
            assert!(cost.used() <= LIMIT || found.is_err());
            (shown, cost.used())
        };
        assert_eq!(evaluate(), evaluate(), "evaluated twice");
    }
}
