//! Random sequences of changes over the objects of the cases of all shipped patterns.

use std::path::Path;

use super::super::super::{ObjectTrimmer, SharedObjects};
use super::*;

/// The same seed gives the same numbers every time.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }
}

/// Returns the objects of every case of the shipped patterns.
fn cases() -> Vec<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../patterns");
    let mut all = Vec::new();
    for shipped in shipped_patterns() {
        let file = folder.join(shipped.name).join("kubewright-test.yaml");
        let text = std::fs::read_to_string(file).expect("a file of cases");
        for document in objects(&text) {
            for case in document.get("cases").and_then(Value::as_array).unwrap_or_default() {
                let objects = case.get("objects").and_then(Value::as_array).unwrap_or_default();
                all.push(objects.to_vec());
            }
        }
    }
    assert!(all.len() > 300, "{} cases", all.len());
    all
}

#[test]
fn the_cases_of_the_shipped_patterns_find_the_same() {
    let patterns = shipped();
    for (at, case) in cases().into_iter().enumerate().filter(|(at, _)| at % 3 == 0) {
        let mut live = live(patterns.clone());
        let mut kept: BTreeMap<ObjectName, Value> = BTreeMap::new();
        for object in case {
            live.insert(&object);
            kept.insert(ObjectName::of(&object), object);
        }
        let mut known = Known::default();
        let changes = live.refresh(0);
        known.take(&live, changes);
        assert_same(&known, &found_in(&patterns, kept.values()), || format!("case {at}: {kept:#?}"));
    }
}

#[test]
fn the_cases_of_the_shipped_patterns_find_the_same_in_trimmed_objects() {
    let patterns = shipped();
    let trimmer = ObjectTrimmer::new(&patterns, &References::default());
    for (at, case) in cases().into_iter().enumerate() {
        let mut shared = SharedObjects::default();
        let trimmed = case.iter().map(|object| shared.share(trimmer.trimmed(object)));
        let (graph, _) = trimmer.graph(trimmed);
        assert_eq!(found_in_graph(&patterns, &graph), found_in(&patterns, case.iter()), "case {at}");
    }
}

/// Changes something in `value`: takes a field out, or makes a text or number another one.
fn mutated(value: &Value, random: &mut Random) -> Value {
    let mut copy = value.clone();
    let paths = fields(value);
    if paths.is_empty() {
        return copy;
    }
    let path = &paths[random.below(paths.len())];
    let (last, way) = path.split_last().expect("a path");
    let mut at = &mut copy;
    for key in way {
        at = at.as_object_mut().and_then(|map| map.get_mut(key)).expect("the way");
    }
    let map = at.as_object_mut().expect("an object");
    let replacement = match (map.get(last), random.below(3)) {
        (Some(Value::String(_)), 0) => Some(Value::from(["web", "db", "shop", "x"][random.below(4)])),
        (Some(Value::Number(_)), 0) => Some(Value::from(i64::try_from(random.below(4)).unwrap())),
        _ => None,
    };
    match replacement {
        Some(new) => drop(map.insert(last.clone(), new)),
        None => drop(map.remove(last)),
    }
    copy
}

/// Returns the paths of all fields below objects that are not part of the name of an object.
fn fields(value: &Value) -> Vec<Vec<Text>> {
    let mut all = Vec::new();
    for (key, inner) in value.as_object().into_iter().flat_map(kubewright_value::Map::iter) {
        if ["apiVersion", "kind", "name", "namespace"].contains(&key.as_str()) {
            continue;
        }
        if key != "metadata" {
            all.push(vec![key.clone()]);
        }
        all.extend(fields(inner).into_iter().map(|rest| [vec![key.clone()], rest].concat()));
    }
    all
}

fn run_sequence(patterns: &[Pattern], cases: &[Vec<Value>], seed: u64, steps: usize) -> RedetectionCounts {
    let mut random = Random::new(seed);
    let pool: Vec<Value> = (0..5).flat_map(|_| cases[random.below(cases.len())].clone()).collect();
    let mut live = live(patterns.to_vec());
    let (mut known, mut present) = (Known::default(), BTreeMap::<ObjectName, Value>::new());
    let mut history = Vec::new();
    for step in 0..steps {
        for _ in 0..=random.below(3) {
            let names: Vec<&ObjectName> = present.keys().collect();
            if !names.is_empty() && random.below(4) == 0 {
                let name = names[random.below(names.len())].clone();
                history.push(format!("- {name}"));
                live.remove(&name);
                present.remove(&name);
            } else if !pool.is_empty() {
                let mut object = pool[random.below(pool.len())].clone();
                if random.below(2) == 0 {
                    object = mutated(&object, &mut random);
                }
                history.push(format!("+ {object}"));
                live.insert(&object);
                present.insert(ObjectName::of(&object), object);
            }
        }
        let changes = live.refresh(i64::try_from(step).unwrap());
        known.take(&live, changes);
        let want = found_in(patterns, present.values());
        assert_same(&known, &want, || format!("seed {seed} step {step}\n{}", history.join("\n")));
        assert_eq!(live.incomplete(), []);
    }
    live.redetections()
}

#[test]
fn after_any_changes_the_findings_are_those_of_a_new_search() {
    let (patterns, cases) = (shipped(), cases());
    let mut counts = RedetectionCounts::default();
    for seed in 0..sequences() {
        let more = run_sequence(&patterns, &cases, seed, 12);
        counts.leaders += more.leaders;
        counts.patterns += more.patterns;
    }
    assert!(counts.leaders > 0, "nothing was looked for leader by leader");
}

/// Returns how many sequences run; `KUBEWRIGHT_LIVE_SEQUENCES` asks for more after a change of the search.
fn sequences() -> u64 {
    std::env::var("KUBEWRIGHT_LIVE_SEQUENCES").ok().and_then(|count| count.parse().ok()).unwrap_or(25)
}
