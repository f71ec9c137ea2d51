//! Every function of every language is charged for the time it takes.
//!
//! Functions come from the tables of the languages, so a new one is here by itself. Each is called with large
//! arguments, all of them or one at a time, and the time for each step that it was charged is compared with that of
//! the median. A function that takes more than ten times as long for a step lets a rule run longer than its budget
//! says. The other direction is no danger and is not looked at.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test may panic")]

use std::fmt::Write as _;
use std::rc::Rc;
use std::time::{Duration, Instant};

use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelProgram, WORK_PER_STEP};
use kubewright_gotemplate as gotemplate;
use kubewright_jmespath as jmespath;
use kubewright_jsonpath as jsonpath;
use kubewright_value::{Budget, Limits, Map, Value};

/// How much longer than usual a step may take.
const BAND: f64 = 10.0;

/// What takes less than this is noise.
const FLOOR: Duration = Duration::from_millis(2);

/// How often a function that takes too long is measured again before that is believed.
const REPEATS: usize = 3;

/// How large an argument is: characters, items, keys.
const LARGE: usize = 10_000;

const LIMITS: Limits = Limits { steps: 100_000, bytes: 8 << 20, depth: 256 };

/// A call of a function.
struct CalibrationCase {
    name: String,
    arity: usize,
    /// Makes everything that the call needs of its arguments, which is not measured.
    prepare: Prepare,
}

type Prepare = Box<dyn Fn(&[Value]) -> Run>;

/// Calls the function. Returns the steps that were charged; nothing where it does not take such arguments.
type Run = Box<dyn Fn() -> Option<u64>>;

#[test]
fn cel_functions_are_charged_for_their_time() {
    check(&cel_cases());
}

#[test]
fn jmespath_functions_are_charged_for_their_time() {
    check(&jmespath_cases());
}

#[test]
fn template_functions_are_charged_for_their_time() {
    check(&template_cases());
}

#[test]
fn jsonpath_operators_are_charged_for_their_time() {
    check(&jsonpath_cases());
}

fn check(cases: &[CalibrationCase]) {
    let mut measured = Vec::new();
    for case in cases {
        for arguments in all_arguments(case) {
            if let Some(each) = per_step(case, &arguments) {
                measured.push((each, case, arguments));
            }
        }
    }
    let mut times: Vec<f64> = measured.iter().map(|(each, ..)| *each).collect();
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2).copied().unwrap_or(0.0).max(cheap_step());
    let is_slow = |case: &CalibrationCase, arguments: &[Value]| {
        (0..REPEATS).all(|_| per_step(case, arguments).is_some_and(|each| each > median * BAND))
    };
    let mut slow = String::new();
    for (each, case, arguments) in &measured {
        if *each > median * BAND && is_slow(case, arguments) {
            let shown: Vec<String> = arguments.iter().map(shape).collect();
            let _ = writeln!(slow, "{}({}): {:.1} times", case.name, shown.join(", "), each / median);
        }
    }
    assert!(slow.is_empty(), "time for a step, compared with {:.0} ns:\n{slow}", median * 1e9);
}

/// Returns the seconds that a step of ordinary evaluation takes in this build, so that a median of very cheap calls
/// does not make ordinary ones look slow.
fn cheap_step() -> f64 {
    let expression =
        jmespath::JmesPathExpression::parse("[?a > `1`].b", &jmespath::JmesPathFunctions::kubernetes())
            .unwrap();
    let item = Value::from(Map::from([("a", Value::from(2_i64)), ("b", Value::from("x"))]));
    let items = Value::array(vec![item; 10_000]);
    let (taken, steps) = timed(|| {
        let mut budget = Budget::default();
        let _ = expression.evaluate(&items, &mut budget);
        Some(budget.steps_used())
    });
    taken.as_secs_f64() / steps.unwrap_or(1).max(1) as f64
}

/// Returns the seconds for each step, where the call takes long enough to be measured.
fn per_step(case: &CalibrationCase, arguments: &[Value]) -> Option<f64> {
    let (taken, steps) = timed((case.prepare)(arguments));
    let steps = steps?;
    (taken >= FLOOR).then(|| taken.as_secs_f64() / steps.max(1) as f64)
}

fn timed(run: impl Fn() -> Option<u64>) -> (Duration, Option<u64>) {
    let begun = processor_time();
    let steps = run();
    (processor_time().saturating_sub(begun), steps)
}

/// Returns the CPU time of this thread, or wall time if the system does not report it.
fn processor_time() -> Duration {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = counted.and_then(|text| text.split(' ').next()?.parse().ok());
    match nanoseconds {
        Some(nanoseconds) => Duration::from_nanos(nanoseconds),
        None => {
            static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
            START.get_or_init(Instant::now).elapsed()
        }
    }
}

/// Returns arguments that the function takes: all large, and each large beside small ones.
fn all_arguments(case: &CalibrationCase) -> Vec<Vec<Value>> {
    let mut all = Vec::new();
    let (large, small) = (large(), small());
    // The kinds of texts and of lists are not told apart where that would be too many calls.
    let kinds: &[usize] = if case.arity < 3 { &[0, 1, 2, 3, 4, 5] } else { &[0, 2, 4, 5] };
    for number in 0..kinds.len().pow(u32::try_from(case.arity).unwrap()) {
        let digit = |place: usize| number / kinds.len().pow(u32::try_from(place).unwrap()) % kinds.len();
        let chosen: Vec<usize> = (0..case.arity).map(|place| kinds[digit(place)]).collect();
        let few: Vec<Value> = chosen.iter().map(|kind| small[*kind].clone()).collect();
        if (case.prepare)(&few)().is_none() {
            continue;
        }
        all.push(chosen.iter().map(|kind| large[*kind].clone()).collect());
        for place in 0..case.arity {
            let mut one = few.clone();
            one[place] = large[chosen[place]].clone();
            all.push(one);
        }
    }
    all
}

/// Values of every kind: texts of several sorts, a number, a list of texts, one of numbers, and an object.
fn large() -> Vec<Value> {
    let numbers = Value::array((0..LARGE / 4).map(|n| Value::from(n as i64)).collect());
    let texts = Value::array((0..LARGE / 4).map(|n| Value::from(format!("x{n}"))).collect());
    let object =
        Value::from((0..LARGE / 4).map(|n| (format!("k{n}").into(), Value::from("v"))).collect::<Map>());
    vec![
        "a".repeat(LARGE).into(),
        "é, 1".repeat(LARGE / 4).into(),
        Value::from(40_i64),
        numbers,
        texts,
        object,
    ]
}

/// Values of the same kinds, in the same order.
fn small() -> Vec<Value> {
    let list = |item: Value| Value::array(vec![item]);
    let object = Value::from(Map::from([("k", Value::from("v"))]));
    vec!["a".into(), "1".into(), Value::from(2_i64), list(Value::from(1_i64)), list("x".into()), object]
}

fn shape(value: &Value) -> String {
    match value {
        Value::String(text) => {
            format!("{} bytes of `{}`", text.len(), text.chars().take(4).collect::<String>())
        }
        Value::Array(items) => format!("{} items", items.len()),
        Value::Object(map) => format!("{} keys", map.len()),
        other => other.to_string(),
    }
}

fn names(arity: usize) -> Vec<String> {
    (0..arity).map(|number| format!("x{number}")).collect()
}

/// Returns the object that has the arguments as its fields.
fn root(arguments: &[Value]) -> Value {
    let fields = names(arguments.len()).into_iter().zip(arguments);
    Value::from(fields.map(|(name, value)| (name.into(), value.clone())).collect::<Map>())
}

fn cel_cases() -> Vec<CalibrationCase> {
    const NAMES: [&str; 4] = ["x0", "x1", "x2", "x3"];
    let environment =
        NAMES.iter().fold(CelEnvironment::policy(), |environment, name| environment.variable(*name));
    let mut calls: Vec<(String, usize)> = Vec::new();
    for overload in environment.functions().iter() {
        let signature = overload.signature();
        let Some((head, rest)) = signature.split_once('(') else { continue };
        let parameters = rest.split_once(')').map_or("", |(inside, _)| inside);
        let count = parameters.split(", ").filter(|kind| !kind.is_empty() && *kind != "...").count();
        // A receiver is written as its type.
        let receiver = ["string.", "bytes.", "list.", "map.", "any.", "dyn."];
        let call = match receiver.iter().find_map(|kind| head.strip_prefix(kind)) {
            Some(name) if count <= 2 => {
                (format!("x0.{name}({})", names(count + 1)[1..].join(", ")), count + 1)
            }
            None if (1..=3).contains(&count) => (format!("{head}({})", names(count).join(", ")), count),
            _ => continue,
        };
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    let case = |(name, arity): (String, usize)| {
        let program = CelProgram::compile(&name, &environment).ok()?;
        let program = Rc::new(program);
        let prepare = move |arguments: &[Value]| -> Run {
            let (program, arguments) = (Rc::clone(&program), arguments.to_vec());
            Box::new(move || {
                let bindings = NAMES
                    .iter()
                    .zip(&arguments)
                    .fold(CelBindings::new(), |all, (name, value)| all.with(name, value));
                let mut cost = CelCost::new(LIMITS.steps * 2).with_work(LIMITS.steps * WORK_PER_STEP);
                let before = cost.work_left();
                let result = program.evaluate(&bindings, &mut cost);
                let is_taken =
                    result.as_ref().err().is_none_or(|error| !error.message.contains("no such overload"));
                let work = (before - cost.work_left()) / WORK_PER_STEP;
                is_taken.then(|| work.max(cost.used() / 2))
            })
        };
        Some(CalibrationCase { name, arity, prepare: Box::new(prepare) })
    };
    calls.into_iter().filter_map(case).collect()
}

fn jmespath_cases() -> Vec<CalibrationCase> {
    let functions = jmespath::JmesPathFunctions::kubernetes();
    let mut cases = Vec::new();
    for name in functions.names() {
        for arity in 1..=3 {
            let call = format!("{name}({})", names(arity).join(", "));
            let Ok(expression) = jmespath::JmesPathExpression::parse(&call, &functions) else { continue };
            let expression = Rc::new(expression);
            let prepare = move |arguments: &[Value]| -> Run {
                let (expression, root) = (Rc::clone(&expression), root(arguments));
                Box::new(move || {
                    let mut budget = Budget::new(LIMITS);
                    let result = expression.evaluate(&root, &mut budget);
                    let is_taken = result.err().is_none_or(|error| !error.message.contains("must be"));
                    is_taken.then(|| charged(&budget))
                })
            };
            cases.push(CalibrationCase { name: call, arity, prepare: Box::new(prepare) });
        }
    }
    cases
}

fn template_cases() -> Vec<CalibrationCase> {
    let functions = gotemplate::FunctionSet::rules();
    let mut cases = Vec::new();
    for name in functions.names() {
        for arity in 1..=3 {
            let arguments: Vec<String> = names(arity).iter().map(|name| format!(".{name}")).collect();
            // What a function gives is dropped, so that printing it is not measured.
            let text = format!("{{{{ $made := {name} {} }}}}", arguments.join(" "));
            let Ok(template) = gotemplate::GoTemplate::parse("t", &text, &functions) else { continue };
            let template = Rc::new(template);
            let prepare = move |arguments: &[Value]| -> Run {
                let fields = names(arity).into_iter().zip(arguments);
                let context = fields.fold(gotemplate::TemplateContext::new(), |context, (name, value)| {
                    context.json(name, value.clone())
                });
                let template = Rc::clone(&template);
                Box::new(move || {
                    let mut budget = Budget::new(LIMITS);
                    let result = template.render(&context, &gotemplate::Inputs::default(), &mut budget);
                    let is_taken = result.err().is_none_or(|error| {
                        !["wrong type", "wrong number of args", "expected", "can't"]
                            .iter()
                            .any(|word| error.message.contains(word))
                    });
                    is_taken.then(|| charged(&budget))
                })
            };
            cases.push(CalibrationCase {
                name: format!("{name}/{arity}"),
                arity,
                prepare: Box::new(prepare),
            });
        }
    }
    cases
}

fn jsonpath_cases() -> Vec<CalibrationCase> {
    let operators =
        ["+", "==", "!=", "<", "=~", "!~", "in", "??", "&&", "||", "-", "*", "/", "%", "&", "|", "^"];
    let mut calls: Vec<(String, usize)> =
        operators.iter().map(|word| (format!("$.x0 {word} $.x1"), 2)).collect();
    for path in [
        "$..k1",
        "$.x0[*]",
        "$.x0..*",
        "$.x0[0:9999:2]",
        "$.x0[?(@ == 1)]",
        "$.x0[?(@ =~ '(a|b)*a(a|b){90}c')]",
    ] {
        calls.push((path.to_owned(), 1));
    }
    let case = |(name, arity): (String, usize)| {
        let expression = jsonpath::JsonPathExpression::parse(&name).ok()?;
        let expression = Rc::new(expression);
        let prepare = move |arguments: &[Value]| -> Run {
            let (expression, root) = (Rc::clone(&expression), root(arguments));
            Box::new(move || {
                let mut budget = Budget::new(LIMITS);
                let _ = expression.evaluate(&root, &mut budget);
                Some(charged(&budget))
            })
        };
        Some(CalibrationCase { name, arity, prepare: Box::new(prepare) })
    };
    calls.into_iter().filter_map(case).collect()
}

/// Returns the steps that were taken; bytes count as well, at the ratio of the limits of a rule.
fn charged(budget: &Budget) -> u64 {
    let limits = Limits::default();
    budget.steps_used().max(budget.bytes_used() / (limits.bytes / limits.steps))
}
