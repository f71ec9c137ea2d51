//! Generated rules × objects, in every language that makes values or text of an object.
//!
//! The generators know what is dangerous: parts that are shared many times, texts beside texts, loops around them, and
//! functions that make one text or value of many. Most of what they make stops at a budget; none of it may go around one.

use kubewright_value::{Limits, Map, Value};

use super::attacks::{cel, config_map, deny, mod_rule, policy};
use super::{Folder, holds};

/// Numbers that look random and are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        // SplitMix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap_or(0)
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of.get(self.below(of.len())).copied().unwrap_or_default()
    }
}

/// Runs `make` for each case; a failure names the case.
fn for_each_case(language: &str, make: impl Fn(&mut Random) -> Value) {
    let cases =
        std::env::var("KUBEWRIGHT_MEMORY_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(12);
    for case in 0..cases {
        let mut random = Random(case * 7919 + language.len() as u64);
        let name = format!("{language}-{case}");
        let folder = Folder::new(&name);
        let rule = folder.write("rule.json", &make(&mut random));
        let object = folder.write("object.json", &object(&mut random));
        let command = random.pick(&["apply", "apply", "trace"]);
        holds(&name, &[command, &rule, "-r", &object], Limits::default().bytes, &folder);
    }
}

/// Returns a ConfigMap with a large text, JSON that says many values, and perhaps many keys.
fn object(random: &mut Random) -> Value {
    let large = [1_000, 50_000, 400_000].get(random.below(3)).copied().unwrap_or(1);
    let letter = random.pick(&["x", "<", "`", "\"", "\u{1}", "é", "*"]);
    let mut data = vec![("big".to_owned(), letter.repeat(large / letter.len()))];
    let item = random.pick(&["0", "{}", "[]", "{\"a\":1}", "\"y\"", "[[1]]"]);
    let items = format!("{item},").repeat(random.below(30_000));
    data.push(("j".to_owned(), format!("[{items}{item}]")));
    data.extend((0..random.below(8_000)).map(|i| (format!("k{i}"), "v".to_owned())));
    config_map(data)
}

/// Returns an expression of JMESPath; `names` are context entries.
fn query(random: &mut Random, names: usize, depth: usize) -> String {
    if depth == 0 || random.below(8) == 0 {
        return match random.below(5) {
            0 if names > 0 => format!("v{}", random.below(names)),
            0 | 1 => "request.object.data.big".to_owned(),
            2 => "parse_json(request.object.data.j)".to_owned(),
            3 => "request.object".to_owned(),
            _ => "request.object.data".to_owned(),
        };
    }
    let a = query(random, names, depth - 1);
    let b = query(random, names, depth - 1);
    match random.below(18) {
        0 => format!("[{a}, {b}, {a}]"),
        1 => format!("{{a: {a}, b: {b}}}"),
        2 => format!("items({a}, request.object.data.big, 'v')"),
        3 => format!("to_string({a})"),
        4 => format!("merge({a}, {b})"),
        5 => format!("join(request.object.data.big, keys({a}))"),
        6 => format!("{a}.*.['{{{{ request.object.data.big }}}}']"),
        7 => format!("map(&[@, @, @], to_array({a}))"),
        8 => format!("replace_all(to_string({a}), 'v', request.object.data.big)"),
        9 => format!("values({a})"),
        10 => format!("base64_encode(to_string({a}))"),
        11 => format!("[{a}, {b}][]"),
        12 => format!("object_from_lists(keys(request.object.data), [{a}, {b}])"),
        13 => format!("to_array({a})[*].[@, @] | [@, @, @]"),
        14 => format!("split(to_string({a}), '')"),
        15 => format!("{a} == {b}"),
        16 => format!("parse_yaml(to_string({a}))"),
        _ => format!("contains(to_array({a}), {b})"),
    }
}

/// Returns a text with variables in it, or one that is a variable.
fn template(random: &mut Random, names: usize) -> String {
    let depth = random.below(3);
    let variable = format!("{{{{ {} }}}}", query(random, names, depth));
    match random.below(4) {
        0 => variable,
        1 => format!("a-{variable}-*"),
        2 => format!("{variable} | >{variable}"),
        _ => format!("{variable} ").repeat(1 + random.below(40)),
    }
}

fn context(random: &mut Random) -> Vec<Value> {
    let count = random.below(6);
    let entry = |i: usize, random: &mut Random| -> Value {
        let variable = match random.below(3) {
            0 => Map::from([("value", template(random, i).into())]),
            _ => {
                let depth = 1 + random.below(2);
                Map::from([("jmesPath", query(random, i, depth).into())])
            }
        };
        Map::from([("name", format!("v{i}").into()), ("variable", variable.into())]).into()
    };
    (0..count).map(|i| entry(i, random)).collect()
}

fn check(random: &mut Random, names: usize) -> Value {
    let message = Value::from(template(random, names));
    let operators = ["Equals", "NotEquals", "AnyIn", "AllIn", "AnyNotIn", "AllNotIn", "GreaterThan", "In"];
    let pattern = |random: &mut Random| -> Value {
        let entries = (0..1 + random.below(60)).map(|i| {
            let key = match random.below(4) {
                0 => format!("=(k{i})"),
                1 => format!("{i}{}", template(random, names)),
                _ => format!("k{i}"),
            };
            (key.into(), template(random, names).into())
        });
        Map::from([("data", entries.collect::<Map>().into())]).into()
    };
    let mut made = match random.below(4) {
        0 => Map::from([("pattern", pattern(random))]),
        1 => Map::from([("anyPattern", (0..3).map(|_| pattern(random)).collect::<Vec<_>>().into())]),
        2 => {
            let list = query(random, names, 1);
            let inner = deny(&template(random, names), random.pick(&operators), "{{ element }}".into());
            let mut one = inner.as_object().cloned().unwrap_or_default();
            one.remove("message");
            one.insert("list".into(), list.into());
            Map::from([("foreach", Value::array(vec![one.into()]))])
        }
        _ => {
            let wanted = template(random, names).into();
            let denied = deny(&template(random, names), random.pick(&operators), wanted);
            denied.as_object().cloned().unwrap_or_default()
        }
    };
    made.insert("message".into(), message);
    made.into()
}

#[test]
fn kyverno_rules_stay_within_their_budget() {
    for_each_case("kyverno", |random| {
        let context = context(random);
        let names = context.len();
        let check = check(random, names);
        policy(Value::array(context), check)
    });
}

/// Returns an expression of CEL; `names` are variables.
fn expression(random: &mut Random, names: usize, depth: usize) -> String {
    if depth == 0 {
        return match random.below(4) {
            0 if names > 0 => format!("variables.v{}", random.below(names)),
            0 | 1 => "object.data.big".to_owned(),
            2 => "object".to_owned(),
            _ => "object.data".to_owned(),
        };
    }
    let a = expression(random, names, depth - 1);
    match random.below(12) {
        0 => format!("[{a}, {a}, {a}]"),
        1 => format!("{{'a': {a}, 'b': {a}}}"),
        2 => format!("lists.range({}).map(i, {a})", random.below(20_000)),
        3 => format!("json.encode({a})"),
        4 => format!("json.marshal({a})"),
        5 => format!("'%s %s'.format([{a}, {a}])"),
        6 => format!("lists.range({}).map(i, string({a})).join(object.data.big)", random.below(2_000)),
        7 => format!("json.unmarshal(object.data.j).map(e, [e, {a}])"),
        8 => format!("(string({a}) + string({a})).replace('x', object.data.big)"),
        9 => format!("[{a}] + [{a}] + [{a}]"),
        10 => format!("string({a}).split('')"),
        _ => format!("base64.encode(bytes(string({a})))"),
    }
}

#[test]
fn cel_policies_stay_within_their_budget() {
    for_each_case("cel", |random| {
        let count = 1 + random.below(12);
        let variable = |i: usize, random: &mut Random| {
            let depth = random.below(3);
            (format!("v{i}"), expression(random, i, depth))
        };
        let variables: Vec<_> = (0..count).map(|i| variable(i, random)).collect();
        let left = expression(random, count, 1);
        let right = expression(random, count, 1);
        let compared = random.pick(&["==", "!="]);
        cel(&variables, &format!("dyn({left}) {compared} dyn({right})"))
    });
}

#[test]
fn templates_of_rules_stay_within_their_budget() {
    for_each_case("modrule", |random| {
        let mut text = "{{ $a := .Target.data }}{{ $b := list .Target.data.big }}".to_owned();
        for _ in 0..random.below(30) {
            text.push_str(match random.below(12) {
                0 => "{{ $a = list $a $a }}",
                1 => "{{ $a = dict \"a\" $a \"b\" $b }}",
                2 => "{{ range $i := until 500 }}{{ $b = append $b $a }}{{ end }}",
                3 => "{{ $b = concat $b $b }}",
                4 => "{{ $a = toJson $a }}",
                5 => "{{ $a = print $a $b }}",
                6 => "{{ $a = deepCopy $a }}",
                7 => "{{ $a = repeat 50 (print $a) }}",
                8 => "{{ $b = list (join $.Target.data.big (list $a $b)) }}",
                9 => "{{ $a = fromJson $.Target.data.j }}",
                10 => "{{ $a = splitList \"x\" (print $a) }}",
                _ => "{{ $a = replace \"x\" $.Target.data.big (print $b) }}",
            });
        }
        text.push_str(random.pick(&["{{ $a }}", "{{ toJson $b }}", "{{ eq (len (print $a)) 1 }}", "x"]));
        mod_rule(&text)
    });
}

/// The budget of the traits of one rendering, `LIMITS` in `traits/src/evaluate.rs`.
const TRAIT_BUDGET: u64 = 256 << 20;

#[test]
fn traits_stay_within_their_budget() {
    let cases =
        std::env::var("KUBEWRIGHT_MEMORY_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(6);
    for case in 0..cases {
        let mut random = Random(case * 6007 + 5);
        let name = format!("trait-{case}");
        let folder = Folder::new(&name);
        let base = folder.write("base.json", &object(&mut random));
        let made = folder.write("trait.json", &trait_of(&mut random));
        let large = "x".repeat(1 + random.below(300_000));
        let list: Vec<Value> = (0..random.below(3_000)).map(Value::from).collect();
        let parameters = Map::from([("big", large.into()), ("list", Value::array(list))]);
        let parameters = folder.write("parameters.json", &parameters.into());
        holds(&name, &["render", "-f", &base, "-t", &made, "-p", &parameters], TRAIT_BUDGET, &folder);
    }
}

/// Returns a trait that puts large values at many places.
fn trait_of(random: &mut Random) -> Value {
    let operations = (0..1 + random.below(40)).map(|i| {
        let text = match random.below(6) {
            0 => "${parameters.big}".to_owned(),
            1 => "${parameters.big}-".repeat(1 + random.below(50)),
            2 => "${parameters.list}".to_owned(),
            3 => "${parameters.list.map(i, parameters.big)}".to_owned(),
            4 => "${parameters.list.map(i, parameters.list)}".to_owned(),
            _ => "a ${parameters.list.map(i, {'k': parameters.big})}".to_owned(),
        };
        let operation =
            [("op", "add".into()), ("path", format!("/data/x{i}").into()), ("value", text.into())];
        Value::from(Map::from(operation))
    });
    let mut patch = Map::from([
        (
            "target",
            Map::from([("version", "v1".into()), ("kind", "ConfigMap".into()), ("group", "".into())]).into(),
        ),
        ("operations", Value::array(operations.collect())),
    ]);
    if random.below(2) == 0 {
        patch.insert("forEach".into(), "${parameters.list}".into());
        patch.insert("var".into(), "item".into());
    }
    let schema = Map::from([("big", "string".into()), ("list", "[]integer".into())]);
    let spec = Map::from([
        ("parameters", Map::from([("ocSchema", schema.into())]).into()),
        ("patches", Value::array(vec![patch.into()])),
    ]);
    Map::from([
        ("apiVersion", "openchoreo.dev/v1alpha1".into()),
        ("kind", "Trait".into()),
        ("metadata", Map::from([("name", "t".into())]).into()),
        ("spec", spec.into()),
    ])
    .into()
}

#[test]
fn patterns_stay_within_their_budget() {
    let cases =
        std::env::var("KUBEWRIGHT_MEMORY_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(6);
    for case in 0..cases {
        let mut random = Random(case * 5003 + 3);
        let name = format!("pattern-{case}");
        let folder = Folder::new(&name);
        let objects = folder.write("objects.json", &object(&mut random));
        let list = random.pick(&["matchAll", "matchAny", "matchNone"]);
        let conditions = (0..1 + random.below(300)).map(|_| {
            let key = random.pick(&["data.big", "data.j", "data", "metadata"]);
            let values = Value::array(vec![random.pick(&["x", "^x+$"]).into()]);
            let operator = random.pick(&["EXISTS", "MATCHES", "NOT_EQUALS", "EQUALS"]);
            Value::from(Map::from([("key", key.into()), ("operator", operator.into()), ("values", values)]))
        });
        let filters = Map::from([(list, Value::array(conditions.collect()))]);
        let resource = Map::from([
            ("resource", "ConfigMap".into()),
            ("id", "c".into()),
            ("leader", true.into()),
            ("filters", filters.into()),
        ]);
        let message = random.pick(&["{{c.data.big}} ", "{{c.data}} ", "{{c.metadata.name}}"]);
        let spec = Map::from([
            ("message", message.repeat(1 + random.below(200)).into()),
            ("topology", "SINGLE".into()),
            ("resources", Value::array(vec![resource.into()])),
            ("actors", Value::array(vec!["c".into()])),
        ]);
        let about = [
            ("name", "p"),
            ("displayName", "P"),
            ("patternType", "STRUCTURAL"),
            ("severity", "WARNING"),
            ("category", "c"),
        ];
        let metadata: Map = about.into_iter().map(|(key, text)| (key.into(), Value::from(text))).collect();
        let pattern = Map::from([
            ("version", "kubepattern.it/v1".into()),
            ("kind", "Pattern".into()),
            ("metadata", metadata.into()),
            ("spec", spec.into()),
        ]);
        let pattern = folder.write("pattern.json", &pattern.into());
        let output = random.pick(&["table", "json"]);
        holds(&name, &["detect", &pattern, "-r", &objects, "-o", output], Limits::default().bytes, &folder);
    }
}
