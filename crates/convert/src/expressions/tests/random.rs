//! Patterns and objects at random: the original and its translation must say the same. Longer runs are compiled with
//! `ROUNDS` and `SEED` set.

use kubewright_value::{Map, Number, Value};

use super::{compiled, in_cel, verdict};
use crate::expressions::shape::{self, ValueShape, object_shape};

/// Numbers that look random and are the same every time.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    pub(super) fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }

    pub(super) fn is(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

const KEYS: &[&str] = &["a", "b", "c"];
const ANCHORS: &[&str] = &["", "", "", "(", "=(", "X(", "^(", "<("];
const TEXTS: &[&str] = &[
    "x",
    "y",
    "x*",
    "*x",
    "*x*",
    "?*",
    "*",
    "?",
    "x?y",
    "!x",
    "!x*",
    "x | y",
    "x|!y",
    "!x & !y",
    "5",
    ">5",
    "<5",
    ">=5",
    "<=5",
    "!5",
    "1-10",
    "1!-10",
    "1h",
    ">1h",
    "<=90m",
    "5m",
    ">5m",
    "500m",
    "<1Gi",
    ">=1Mi",
    "1Mi-1Gi",
    "",
    "true",
    "!true",
    "t*",
    "0",
    "!0",
    "0.5",
    ">0.5",
    "x & y | z",
    "<0",
    "a\"b",
    "x*y",
    "1h-2h",
    "-1",
    "> 5",
    "10m!-2h",
    "!?*",
    "!*",
    "5.0",
];
pub(super) const VALUES: &[&str] = &[
    "x", "y", "z", "xy", "yx", "xzy", "5", "6", "4", "5.0", "05", "+5", "1h", "60m", "90m", "5m", "6m",
    "1Gi", "2Mi", "", "0", "true", "false", "500m", "x | y", "x|!y", "1-10", "a\"b", "-1", ">5", "*", "0.5",
    "1e3", "5e0", "1h30m", "0s", "+1.5h", "100", "10", "?*", "nan", "x\ny",
];

fn leaf(dice: &mut Dice) -> Value {
    match dice.below(10) {
        0 => Value::Null,
        1 => Value::from(dice.is(50)),
        2 => Value::from(*dice.one(&[0_i64, 1, 5, -1])),
        3 => Value::from(*dice.one(&[0.5_f64, 5.0, -1.5])),
        _ => Value::from(*dice.one(TEXTS)),
    }
}

fn pattern(dice: &mut Dice, depth: usize) -> Value {
    match dice.below(if depth == 0 { 6 } else { 10 }) {
        0..=4 => leaf(dice),
        5 => Value::array(if dice.is(10) { vec![] } else { vec![leaf(dice)] }),
        6 | 7 => Value::array(vec![map(dice, depth - 1)]),
        _ => map(dice, depth - 1),
    }
}

fn map(dice: &mut Dice, depth: usize) -> Value {
    let mut map = Map::new();
    for _ in 0..dice.below(4) {
        let anchor = dice.one(ANCHORS);
        let key = dice.one(KEYS);
        let key = if anchor.is_empty() { (*key).to_owned() } else { format!("{anchor}{key})") };
        let value = match *anchor {
            "^(" if dice.is(90) && depth > 0 => {
                Value::array((0..dice.below(3)).map(|_| self::map(dice, depth - 1)).collect())
            }
            _ => pattern(dice, depth),
        };
        map.insert(key.into(), value);
    }
    map.into()
}

fn scalar(dice: &mut Dice) -> Value {
    match dice.below(10) {
        0 => Value::Null,
        1 => Value::from(dice.is(50)),
        2 => Value::from(*dice.one(&[0_i64, 1, 4, 5, 6, 10, -1])),
        3 => Value::from(*dice.one(&[0.5_f64, 5.0, -1.5, 0.0, 5.5])),
        _ => Value::from(*dice.one(VALUES)),
    }
}

/// Returns something that may fit `pattern`.
fn object(dice: &mut Dice, pattern: &Value) -> Value {
    if dice.is(6) {
        return match dice.below(3) {
            0 => Value::array(vec![scalar(dice)]),
            1 => Value::from(Map::new()),
            _ => scalar(dice),
        };
    }
    match pattern {
        Value::Object(entries) => {
            let mut map = Map::new();
            for (key, below) in entries.iter() {
                if dice.is(80) {
                    let bare = key.trim_start_matches(['<', '=', 'X', '^', '(']).trim_end_matches(')');
                    map.insert(bare.into(), object(dice, below));
                }
            }
            map.into()
        }
        Value::Array(items) => {
            let Some(first) = items.first() else { return Value::array(vec![]) };
            Value::array((0..dice.below(3)).map(|_| object(dice, first)).collect())
        }
        _ if dice.is(10) => Value::array((0..dice.below(3)).map(|_| scalar(dice)).collect()),
        Value::String(text) if dice.is(20) => Value::from(text.as_str()),
        _ => scalar(dice),
    }
}

#[test]
fn translations_say_the_same_as_patterns() {
    let rounds: usize = option_env!("ROUNDS").and_then(|n| n.parse().ok()).unwrap_or(600);
    let seed: u64 = option_env!("SEED").and_then(|n| n.parse().ok()).unwrap_or(7);
    let mut dice = Dice(seed);
    let (mut compared, mut refused, mut errors) = (0, 0, 0);
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for _ in 0..rounds {
        let pattern = map(&mut dice, 3);
        let (pass, skip) = match compiled(&pattern, object_shape()) {
            Ok(programs) => programs,
            Err(why) => {
                assert!(why.starts_with("the pattern") || why.starts_with("a global"), "{pattern:?}: {why}");
                refused += 1;
                continue;
            }
        };
        for _ in 0..20 {
            let object = loop {
                let object = object(&mut dice, &pattern);
                if object.as_object().is_some() {
                    break object;
                }
            };
            let want = verdict(&pattern, &object);
            *counts.entry(want).or_default() += 1;
            let got = in_cel(&pass, &skip, &object);
            if got.is_err() {
                errors += 1;
            }
            assert_eq!(
                got.as_deref(),
                Ok(want),
                "\npattern {}\nobject {}\npass {}\nskip {}",
                kubewright_value::json::to_string(&pattern),
                kubewright_value::json::to_string(&object),
                pass.source(),
                skip.source()
            );
            compared += 1;
        }
    }
    println!("{compared} compared, {refused} refused, {errors} errors, {counts:?}");
    assert!(compared > rounds * 10);
}

/// Returns a pattern for something of `shape`, mostly one that could fit.
fn pattern_for(dice: &mut Dice, shape: ValueShape, depth: usize) -> Value {
    if dice.is(4) {
        return leaf(dice);
    }
    match shape {
        ValueShape::Required(shape) => pattern_for(dice, *shape, depth),
        ValueShape::Map(fields) if depth > 0 && !fields.is_empty() => {
            let mut map = Map::new();
            for _ in 0..=dice.below(3) {
                let (key, shape) = dice.one(fields);
                let (key, anchor) = anchored(dice, key);
                map.insert(key.into(), value_for(dice, anchor, *shape, depth - 1));
            }
            map.into()
        }
        ValueShape::MapOf(shape) if depth > 0 => {
            let mut map = Map::new();
            for _ in 0..=dice.below(2) {
                let key = *dice.one(&["app", "a/b", "a*", "x?", "cpu", "memory"]);
                let (key, anchor) = anchored(dice, key);
                map.insert(key.into(), value_for(dice, anchor, *shape, 0));
            }
            map.into()
        }
        ValueShape::List(shape) if depth > 0 => Value::array(vec![pattern_for(dice, *shape, depth - 1)]),
        ValueShape::Bool if dice.is(70) => Value::from(dice.is(50)),
        ValueShape::Int if dice.is(50) => Value::from(*dice.one(&[0_i64, 1, 5, -1])),
        _ => leaf(dice),
    }
}

fn value_for(dice: &mut Dice, anchor: &str, shape: ValueShape, depth: usize) -> Value {
    match (anchor, shape) {
        ("^(", ValueShape::List(shape)) => {
            Value::array((0..=dice.below(2)).map(|_| pattern_for(dice, *shape, depth)).collect())
        }
        _ => pattern_for(dice, shape, depth),
    }
}

fn anchored(dice: &mut Dice, key: &str) -> (String, &'static str) {
    let anchor = *dice.one(ANCHORS);
    (if anchor.is_empty() { key.to_owned() } else { format!("{anchor}{key})") }, anchor)
}

fn bare(key: &str) -> &str {
    key.trim_start_matches(['<', '=', 'X', '^', '(']).trim_end_matches(')')
}

/// Returns something of `shape`, mostly with what `pattern` speaks of.
pub(super) fn object_for(dice: &mut Dice, shape: ValueShape, pattern: &Value) -> Value {
    let wanted = |key: &str| match pattern {
        Value::Object(map) => map.iter().find(|(raw, _)| bare(raw) == key).map(|(_, value)| value),
        _ => None,
    };
    let is_word =
        |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:@".contains(&byte));
    match (shape, pattern) {
        (ValueShape::Bool, Value::Bool(_)) | (ValueShape::Int, Value::Number(Number::Int(_)))
            if dice.is(60) =>
        {
            return pattern.clone();
        }
        (ValueShape::Word | ValueShape::Text, Value::String(text)) if dice.is(60) => {
            let text = text.split('|').next().unwrap_or_default().trim().replace('*', "").replace('?', "x");
            if shape == ValueShape::Text || is_word(&text) {
                return Value::from(text.as_str());
            }
        }
        _ => {}
    }
    match shape {
        ValueShape::Required(shape) => object_for(dice, *shape, pattern),
        ValueShape::Map(fields) => {
            let mut map = Map::new();
            for (key, shape) in fields {
                let is_there = match (shape, wanted(key)) {
                    (ValueShape::Required(_), _) => true,
                    (_, Some(_)) => dice.is(75),
                    _ => dice.is(3),
                };
                if is_there {
                    map.insert((*key).into(), object_for(dice, *shape, wanted(key).unwrap_or(&Value::Null)));
                }
            }
            map.into()
        }
        ValueShape::MapOf(shape) => {
            let mut map = Map::new();
            for key in ["app", "a/b", "a1", "a2", "xy", "cpu", "memory"] {
                if dice.is(40) {
                    map.insert(key.into(), object_for(dice, *shape, wanted(key).unwrap_or(&Value::Null)));
                }
            }
            map.into()
        }
        ValueShape::List(shape) => {
            let first = pattern.as_array().and_then(<[Value]>::first).unwrap_or(&Value::Null);
            Value::array((0..dice.below(3)).map(|_| object_for(dice, *shape, first)).collect())
        }
        ValueShape::Bool => Value::from(dice.is(50)),
        ValueShape::Int => Value::from(*dice.one(&[0_i64, 1, 4, 5, 6, 10, -1, 3600])),
        ValueShape::Word => loop {
            let text = dice.one(VALUES);
            if is_word(text) {
                break Value::from(*text);
            }
        },
        ValueShape::Amount => {
            Value::from(*dice.one(&["0", "1", "5", "500m", "5m", "1Gi", "2Mi", "0.5", "1e3", "100"]))
        }
        ValueShape::Port if dice.is(50) => Value::from(*dice.one(&[0_i64, 1, 5, 80])),
        ValueShape::Port => Value::from(*dice.one(&["50%", "http", "0%", "5", "a-b"])),
        ValueShape::Text => Value::from(*dice.one(VALUES)),
        ValueShape::Any => scalar(dice),
    }
}

#[test]
fn translations_for_known_kinds_say_the_same_as_patterns() {
    let rounds: usize = option_env!("ROUNDS").and_then(|n| n.parse().ok()).unwrap_or(200);
    let seed: u64 = option_env!("SEED").and_then(|n| n.parse().ok()).unwrap_or(7);
    let mut dice = Dice(seed);
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    let kinds =
        ["Pod", "Deployment", "CronJob", "Service", "Ingress", "ConfigMap", "PersistentVolumeClaim", "Role"];
    for _ in 0..rounds {
        let kind = *dice.one(&kinds);
        let shape = shape::shape_of_kinds([kind, "Pod"].into_iter().take(if dice.is(5) { 2 } else { 1 }));
        let pattern = pattern_for(&mut dice, shape, 6);
        let Value::Object(_) = &pattern else { continue };
        let (pass, skip) = match compiled(&pattern, shape) {
            Ok(programs) => programs,
            Err(why) => {
                let is_known =
                    ["the pattern", "a global", "a key"].iter().any(|start| why.starts_with(start));
                assert!(is_known, "{}: {why}", kubewright_value::json::to_string(&pattern));
                *counts.entry("refused").or_default() += 1;
                continue;
            }
        };
        for _ in 0..20 {
            let object = object_for(&mut dice, shape, &pattern);
            let want = verdict(&pattern, &object);
            *counts.entry(want).or_default() += 1;
            let got = in_cel(&pass, &skip, &object);
            assert_eq!(
                got.as_deref(),
                Ok(want),
                "\n{kind}\npattern {}\nobject {}\npass {}\nskip {}",
                kubewright_value::json::to_string(&pattern),
                kubewright_value::json::to_string(&object),
                pass.source(),
                skip.source()
            );
        }
    }
    println!("{counts:?}");
    assert!(counts["pass"] > rounds && counts["fail"] > rounds && counts["skip"] > rounds / 2);
}
