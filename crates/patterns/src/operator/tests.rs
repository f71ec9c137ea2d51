use kubewright_value::yaml;

use super::super::key::{ElementFrame, FieldKey};
use super::*;

/// Says whether `path operator values` holds for an object; values are separated by spaces.
#[track_caller]
fn holds(object: &str, condition: &str) -> bool {
    let object = yaml::parse(object).expect("YAML");
    let mut words = condition.split_whitespace();
    let (path, name) = (words.next().expect("a path"), words.next().expect("an operator"));
    let operator = OPERATOR_NAMES.iter().find(|(known, _)| *known == name).expect("an operator").1;
    let operands: Vec<ConditionOperand> = words
        .map(|word| {
            let mut operand = ConditionOperand::new(word);
            operand.regex =
                operator.is_regex().then(|| kubewright_golib::regex::compile_regex(word).expect("a regex"));
            operand
        })
        .collect();
    let mut key = FieldKey::parse(path).expect("a path");
    if matches!(operator, ConditionOperator::Size(_)) {
        key = key.without_each();
    }
    let budget = &mut Budget::default();
    let values = key.values(&object, &ElementFrame::default(), budget).expect("enough budget");
    operator.holds(&values, &operands, budget, &mut false).expect("enough budget")
}

#[track_caller]
fn yes(object: &str, conditions: &[&str]) {
    for condition in conditions {
        assert!(holds(object, condition), "{condition} for {object}");
    }
}

#[track_caller]
fn no(object: &str, conditions: &[&str]) {
    for condition in conditions {
        assert!(!holds(object, condition), "{condition} for {object}");
    }
}

#[test]
fn equality_of_texts_numbers_and_booleans() {
    yes("{a: x}", &["a EQUALS x", "a EQUALS y x", "a IN y x"]);
    no("{a: x}", &["a EQUALS X", "a EQUALS y", "b EQUALS x", "a IN y"]);
    yes("{a: 3}", &["a EQUALS 3", "a EQUALS 3.0", "a EQUALS 3e0"]);
    no("{a: 3}", &["a EQUALS x", "a EQUALS 4", "a EQUALS true"]);
    yes("{a: '3'}", &["a EQUALS 3"]);
    no("{a: '3'}", &["a EQUALS 3.0"]);
    no("{a: '1.0'}", &["a EQUALS 1"]);
    yes("{a: true}", &["a EQUALS true"]);
    no("{a: true}", &["a EQUALS True", "a EQUALS 1"]);
    no("{a: {b: 1}, c: [{d: 1}]}", &["a EQUALS 1", "c EQUALS 1"]);
}

#[test]
fn an_array_of_scalars_stands_for_its_elements_when_it_is_compared() {
    yes("{a: [x, w]}", &["a EQUALS w", "a MATCHES ^w$"]);
    yes("{a: [1, 5]}", &["a GREATER_THAN 4"]);
    no("{a: [x, w]}", &["a EQUALS z", "a NOT_EQUALS w", "a IS_EMPTY"]);
    yes("{a: [{k: x}, {k: w}]}", &["a[*].k EQUALS w"]);
}

#[test]
fn each_negative_operator_is_the_opposite_of_its_positive_one() {
    let objects = [
        "{}",
        "{a: null}",
        "{a: x}",
        "{a: ''}",
        "{a: []}",
        "{a: {}}",
        "{a: [x]}",
        "{a: [w, x]}",
        "{a: [w]}",
        "{a: {x: 1}}",
        "{a: 1}",
        "{a: true}",
        "{a: [{x: 1}]}",
    ];
    let pairs = [
        ("EQUALS", "NOT_EQUALS"),
        ("IN", "NOT_IN"),
        ("EXISTS", "NOT_EXISTS"),
        ("CONTAINS", "NOT_CONTAINS"),
        ("MATCHES", "NOT_MATCHES"),
    ];
    for object in objects {
        for (positive, negative) in pairs {
            for path in ["a", "a[*]"] {
                let (one, other) = (format!("{path} {positive} x"), format!("{path} {negative} x"));
                assert_ne!(holds(object, &one), holds(object, &other), "{one} for {object}");
            }
        }
    }
}

#[test]
fn no_element_equals_is_what_not_equals_says() {
    yes("{}", &["a NOT_EQUALS x", "a[*].b NOT_EQUALS x"]);
    no("{a: [{b: x}, {b: w}]}", &["a[*].b NOT_EQUALS x", "a[*].b NOT_EXISTS"]);
    yes("{a: [{c: x}]}", &["a[*].b NOT_EXISTS"]);
}

#[test]
fn existence_and_emptiness() {
    for object in ["{}", "{a: null}", "{a: ''}", "{a: []}", "{a: {}}"] {
        yes(object, &["a IS_EMPTY"]);
    }
    for object in ["{a: 0}", "{a: false}", "{a: x}", "{a: [null]}", "{a: {b: null}}"] {
        no(object, &["a IS_EMPTY"]);
    }
    yes("{a: [], b: '', c: {}}", &["a EXISTS", "b EXISTS", "c EXISTS"]);
    no("{a: null}", &["a EXISTS", "b EXISTS"]);
    yes("{a: [null]}", &["a[*] IS_EMPTY", "a EXISTS"]);
    no("{a: ['', x]}", &["a[*] IS_EMPTY"]);
}

#[test]
fn order_of_numbers_quantities_and_times() {
    yes(
        "{a: 3}",
        &[
            "a GREATER_THAN 2",
            "a GREATER_OR_EQUAL 3",
            "a LESS_THAN 5",
            "a LESS_OR_EQUAL 3",
            "a GREATER_THAN 2.5",
        ],
    );
    no(
        "{a: 3}",
        &[
            "a GREATER_THAN 3",
            "a LESS_THAN 3",
            "a GREATER_OR_EQUAL 4",
            "a LESS_OR_EQUAL 2",
            "a GREATER_THAN abc",
        ],
    );
    yes("{a: '10'}", &["a GREATER_THAN 9"]);
    yes("{a: 500m}", &["a GREATER_THAN 0.4", "a LESS_THAN 1"]);
    yes("{a: 1Gi}", &["a GREATER_THAN 1000Mi"]);
    no("{a: 1Gi}", &["a GREATER_THAN 1024Mi"]);
    yes(
        "{a: '2026-01-02T00:00:00Z'}",
        &["a GREATER_THAN 2026-01-01T23:59:59Z", "a LESS_THAN 2026-01-02T01:00:01+01:00"],
    );
    no("{a: b}", &["a GREATER_THAN a", "a LESS_THAN c"]);
    no("{a: true}", &["a GREATER_THAN 0"]);
    no("{}", &["a GREATER_THAN 0", "a LESS_THAN 9"]);
    yes("{a: [{k: 0}, {k: 7}]}", &["a[*].k GREATER_THAN 3"]);
    no("{a: 3}", &["a GREATER_THAN 4 1"]);
}

#[test]
fn what_cannot_be_compared_is_noticed() {
    let value = Value::from("abc");
    let mut incomparable = false;
    let order = ConditionOperator::Is(NumericOrder::Greater);
    let held =
        order.holds(&[&value], &[ConditionOperand::new("1")], &mut Budget::default(), &mut incomparable);
    assert_eq!((held, incomparable), (Ok(false), true));
}

#[test]
fn containing() {
    yes("{a: 'nginx:1.2'}", &["a CONTAINS nginx", "a CONTAINS x 1.2"]);
    yes("{a: [{i: 'a/nginx'}, {i: b}]}", &["a[*].i CONTAINS nginx"]);
    yes("{a: [ReadWriteMany]}", &["a CONTAINS ReadWriteMany"]);
    no("{a: [ReadWriteMany]}", &["a CONTAINS ReadWrite"]);
    yes("{a: [ReadWriteMany]}", &["a[*] CONTAINS ReadWrite"]);
    yes("{a: {k: 1}}", &["a CONTAINS k"]);
    no("{a: {k: v}}", &["a CONTAINS v"]);
    no(
        "{a: 123, b: true, c: [{d: x}]}",
        &["a CONTAINS 2", "b CONTAINS true", "c CONTAINS x", "e CONTAINS x"],
    );
    yes("{a: [1, 2]}", &["a CONTAINS 2.0"]);
}

#[test]
fn expressions_match_anywhere_unless_they_say_otherwise() {
    yes("{a: web-1}", &["a MATCHES ^web-[0-9]+$", "a MATCHES eb"]);
    no("{a: web-x}", &["a MATCHES ^web-[0-9]+$", "b MATCHES .*"]);
    yes("{a: 42}", &["a MATCHES ^4"]);
}

#[test]
fn sizes_are_of_arrays_alone() {
    let object = "{a: [1, null], e: [], t: text, m: {x: 1}, k: [{p: [1]}]}";
    yes(object, &["a ARRAY_SIZE_EQUALS 2", "a[*] ARRAY_SIZE_EQUALS 2", "e ARRAY_SIZE_EQUALS 0"]);
    yes(
        object,
        &[
            "a ARRAY_SIZE_GREATER_THAN 1",
            "a ARRAY_SIZE_GREATER_OR_EQUAL 2",
            "a ARRAY_SIZE_LESS_THAN 3",
            "a ARRAY_SIZE_LESS_OR_EQUAL 2",
        ],
    );
    no(
        object,
        &[
            "a ARRAY_SIZE_GREATER_THAN 2",
            "a ARRAY_SIZE_GREATER_OR_EQUAL 3",
            "a ARRAY_SIZE_LESS_THAN 2",
            "a ARRAY_SIZE_LESS_OR_EQUAL 1",
        ],
    );
    no(
        object,
        &[
            "z ARRAY_SIZE_EQUALS 0",
            "t ARRAY_SIZE_EQUALS 4",
            "m ARRAY_SIZE_EQUALS 1",
            "a ARRAY_SIZE_EQUALS xyz",
            "k[*].p ARRAY_SIZE_EQUALS 1",
        ],
    );
}

#[test]
fn searching_long_texts_for_many_values_is_charged() {
    let text = Value::from("a".repeat(1 << 20).as_str());
    let operands: Vec<ConditionOperand> =
        (0..1_000).map(|at| ConditionOperand::new(&format!("b{at}"))).collect();
    let found = ConditionOperator::Contains.holds(&[&text], &operands, &mut Budget::default(), &mut false);
    assert!(found.is_err());
}

#[test]
fn a_text_of_a_million_digits_is_no_number() {
    let text = Value::from("9".repeat(1 << 20).as_str());
    let mut incomparable = false;
    let operator = ConditionOperator::Is(NumericOrder::Greater);
    let found =
        operator.holds(&[&text], &[ConditionOperand::new("1")], &mut Budget::default(), &mut incomparable);
    assert_eq!((found, incomparable), (Ok(false), true));
}
