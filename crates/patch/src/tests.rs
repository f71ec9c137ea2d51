use kubewright_value::{Budget, Limits, Map, Step, Value, json};

use super::*;

fn value(text: &str) -> Value {
    json::parse(text).unwrap()
}

fn run(document: &str, patch: &str, options: &PatchOptions) -> Result<Value, PatchError> {
    let mut document = value(document);
    let before = document.clone();
    let applied = apply_patch(
        &mut document,
        &JsonPatchOperation::list(&value(patch))?,
        options,
        &mut Budget::default(),
    );
    assert!(applied.is_ok() || document == before, "a failed patch must change nothing");
    applied.map(|_| document)
}

/// Applies `op path value` to `document` under the lenient options.
#[track_caller]
fn check(document: &str, operation: &str, want: &str) {
    assert_eq!(
        run(document, &patch_of(operation), &PatchOptions::lenient()).map(|v| v.to_string()),
        Ok(value(want).to_string())
    );
}

#[track_caller]
fn check_fails(document: &str, operation: &str, want: PatchErrorKind) {
    assert_eq!(run(document, &patch_of(operation), &PatchOptions::lenient()).map_err(|e| e.kind), Err(want));
}

#[track_caller]
fn check_standard(document: &str, operation: &str, want: &str) {
    let result = run(document, &patch_of(operation), &PatchOptions::rfc6902());
    assert_eq!(result.map(|v| v.to_string()), Ok(value(want).to_string()));
}

#[track_caller]
fn check_standard_fails(document: &str, operation: &str, want: PatchErrorKind) {
    assert_eq!(run(document, &patch_of(operation), &PatchOptions::rfc6902()).map_err(|e| e.kind), Err(want));
}

/// Makes `add /a 1`, `remove /a`, `move /a /b` a patch.
fn patch_of(operation: &str) -> String {
    let mut words = operation.splitn(3, ' ');
    let (op, path) = (words.next().unwrap(), json::quote(words.next().unwrap().trim_matches('\'')));
    match (op, words.next()) {
        ("move" | "copy", Some(to)) => format!(r#"[{{"op":"{op}","from":{path},"path":"{to}"}}]"#),
        (_, Some(value)) => format!(r#"[{{"op":"{op}","path":{path},"value":{value}}}]"#),
        (_, None) => format!(r#"[{{"op":"{op}","path":{path}}}]"#),
    }
}

#[test]
fn pointers_decode_and_encode() {
    let pointer = Pointer::parse("/a~1b/~01//x").unwrap();
    assert_eq!(pointer.tokens(), ["a/b", "~1", "", "x"]);
    assert_eq!(pointer.to_string(), "/a~1b/~01//x");
    assert_eq!(Pointer::parse("").unwrap(), Pointer::root());
    assert_eq!(Pointer::from_steps(&[Step::from("a/~"), Step::from(3)]).to_string(), "/a~1~0/3");
    let mut pushed = Pointer::root();
    pushed.push("k8s.io/x");
    assert_eq!(pushed.to_string(), "/k8s.io~1x");
}

#[test]
fn pointers_reject_a_missing_slash_and_stray_tildes() {
    assert_eq!(Pointer::parse("a/b"), Err(PointerError::NoSlash("a/b".into())));
    assert_eq!(Pointer::parse("/a~"), Err(PointerError::Escape("/a~".into())));
    assert_eq!(Pointer::parse("/a~2"), Err(PointerError::Escape("/a~2".into())));
}

#[test]
fn malformed_operations_are_syntax_errors() {
    for text in [
        "{}",
        "[1]",
        r#"[{"path":"/a","value":1}]"#,
        r#"[{"op":"add","value":1}]"#,
        r#"[{"op":"add","path":null,"value":1}]"#,
        r#"[{"op":"add","path":"/a"}]"#,
        r#"[{"op":"test","path":"/a"}]"#,
        r#"[{"op":"replace","path":"/a"}]"#,
        r#"[{"op":"move","path":"/a"}]"#,
        r#"[{"op":"copy","path":"/a","from":1}]"#,
        r#"[{"op":"spam","path":"/a"}]"#,
        r#"[{"op":"remove","path":"a"}]"#,
    ] {
        assert_eq!(
            JsonPatchOperation::list(&value(text)).unwrap_err().kind,
            PatchErrorKind::Syntax,
            "{text}"
        );
    }
}

#[test]
fn operations_survive_a_round_trip() {
    let text = r#"[{"op":"add","path":"/a~1","value":null},{"op":"remove","path":""},{"op":"move","from":"/a","path":"/b"},{"op":"test","path":"/x","value":[1]}]"#;
    let operations = JsonPatchOperation::list(&value(text)).unwrap();
    assert_eq!(Value::array(operations.iter().map(JsonPatchOperation::to_value).collect()).to_string(), text);
}

#[test]
fn standard_operations_do_what_the_standard_says() {
    check_standard(r#"{"a":1}"#, "add /b 2", r#"{"a":1,"b":2}"#);
    check_standard(r#"{"a":1}"#, "add '' [1]", "[1]");
    check_standard("[1,2]", "add /1 9", "[1,9,2]");
    check_standard("[1,2]", "add /- 9", "[1,2,9]");
    check_standard("[1,2]", "remove /0", "[2]");
    check_standard(r#"{"a":null}"#, "replace /a 1", r#"{"a":1}"#);
    check_standard(r#"{"a":{"b":1},"c":{}}"#, "move /a/b /c/d", r#"{"a":{},"c":{"d":1}}"#);
    check_standard("[1,2,3]", "move /0 /2", "[2,3,1]");
    check_standard(r#"{"a":[1]}"#, "copy /a /b", r#"{"a":[1],"b":[1]}"#);
    check_standard(r#"{"a":1.0}"#, "test /a 1", r#"{"a":1.0}"#);
    check_standard(r#"{"a":1}"#, "move /a /a", r#"{"a":1}"#);
}

#[test]
fn standard_operations_fail_where_the_standard_says() {
    check_standard_fails("{}", "add /a/b 1", PatchErrorKind::Missing);
    check_standard_fails("[1]", "add /2 1", PatchErrorKind::OutOfRange);
    check_standard_fails("[1]", "add /-1 1", PatchErrorKind::BadIndex);
    check_standard_fails("[1]", "add /01 1", PatchErrorKind::BadIndex);
    check_standard_fails("[1]", "add /+1 1", PatchErrorKind::BadIndex);
    check_standard_fails("[1]", "replace /1e0 1", PatchErrorKind::BadIndex);
    check_standard_fails("[1]", "remove /-", PatchErrorKind::OutOfRange);
    check_standard_fails("{}", "remove /a", PatchErrorKind::Missing);
    check_standard_fails("{}", "replace /a 1", PatchErrorKind::Missing);
    check_standard_fails(r#"{"a":1}"#, "add /a/b 1", PatchErrorKind::NotAContainer);
    check_standard_fails(r#"{"a":{}}"#, "move /a /a/b", PatchErrorKind::IntoItself);
    check_standard_fails(r#"{"a":1}"#, "test /a 2", PatchErrorKind::TestFailed);
    check_standard_fails("{}", "test /a null", PatchErrorKind::Missing);
}

#[test]
fn missing_parents_are_made_of_what_the_next_segment_needs() {
    check("{}", "add /x/y/z 1", r#"{"x":{"y":{"z":1}}}"#);
    check("{}", "add /x/0 1", r#"{"x":[1]}"#);
    check("{}", "add /x/2/k 1", r#"{"x":[null,null,{"k":1}]}"#);
    check("{}", "add /x/-1 1", r#"{"x":[1]}"#);
    check("{}", "add /x/-1/k 1", r#"{"x":[{"k":1}]}"#);
    check("{}", "add /x/- 1", r#"{"x":{"-":1}}"#);
    check("{}", "add /m/x~1y/z 1", r#"{"m":{"x/y":{"z":1}}}"#);
    check(r#"{"n":null}"#, "add /n/k 1", r#"{"n":{"k":1}}"#);
    check(r#"{"n":null}"#, "add /n/1 1", r#"{"n":[null,1]}"#);
    check(r#"{"l":[null]}"#, "add /l/0/k 1", r#"{"l":[{"k":1}]}"#);
    check_fails("{}", "add /x/-2 1", PatchErrorKind::OutOfRange);
    check_fails(r#"{"a":1}"#, "add /a/k 1", PatchErrorKind::NotAContainer);
    check_fails(r#"{"a":1}"#, "add /a/k/j 1", PatchErrorKind::NotAContainer);
}

#[test]
fn a_dash_makes_a_list_unless_told_otherwise() {
    let options = PatchOptions { create_parents: true, ..PatchOptions::rfc6902() };
    assert_eq!(run("{}", &patch_of("add /x/- 1"), &options), Ok(value(r#"{"x":[1]}"#)));
}

#[test]
fn lists_take_indices_from_both_ends() {
    check("[1,2,3]", "add /-1 9", "[1,2,3,9]");
    check("[1,2,3]", "add /-2 9", "[1,2,9,3]");
    check("[1,2,3]", "add /-4 9", "[9,1,2,3]");
    check("[1,2,3]", "add /+1 9", "[1,9,2,3]");
    check_fails("[1,2,3]", "add /-5 9", PatchErrorKind::OutOfRange);
    check_fails("[1,2,3]", "add /4 9", PatchErrorKind::OutOfRange);
    check_fails("[1,2,3]", "add /x 9", PatchErrorKind::BadIndex);
    check("[1,2,3]", "replace /-1 9", "[1,2,9]");
    check("[1,2,3]", "remove /-3", "[2,3]");
    check(r#"[{"a":1}]"#, "add /-1/k 9", r#"[{"a":1,"k":9}]"#);
    check("[]", "add /-1/k 9", r#"[{"k":9}]"#);
    check("[1]", "add /3/k 9", r#"[1,null,null,{"k":9}]"#);
}

#[test]
fn without_minus_one_appends_negative_indices_count_from_the_last_item() {
    let options = PatchOptions { minus_one_appends: false, ..PatchOptions::lenient() };
    assert_eq!(run("[1,2]", &patch_of("add /-1 9"), &options), Ok(value("[1,9,2]")));
}

#[test]
fn missing_things_are_removed_without_complaint() {
    for operation in
        ["remove /zz", "remove /a/b/c", "remove /l/9", "remove /l/-9", "remove /n/k", "remove ''"]
    {
        let document = r#"{"a":{"b":1},"l":[1],"n":null}"#;
        check(document, operation, document);
    }
    check_fails(r#"{"l":[1]}"#, "remove /l/x", PatchErrorKind::BadIndex);
    check_fails(r#"{"l":[1]}"#, "remove /l/-", PatchErrorKind::OutOfRange);
}

#[test]
fn a_fixed_root_is_never_set() {
    check_fails("{}", "add '' {}", PatchErrorKind::Root);
    check_fails("{}", "replace '' {}", PatchErrorKind::Root);
}

#[test]
fn a_null_is_found_where_a_key_is_missing() {
    check("{}", "test /a null", "{}");
    check_fails("{}", "test /a 1", PatchErrorKind::Missing);
    check_fails("{}", "test /a/b null", PatchErrorKind::Missing);
}

#[test]
fn an_error_names_its_operation_and_path() {
    let patch = r#"[{"op":"add","path":"/q","value":1},{"op":"replace","path":"/z~1z","value":1}]"#;
    let error = run("{}", patch, &PatchOptions::rfc6902()).unwrap_err();
    assert_eq!((error.operation, error.path.as_str()), (1, "/z~1z"));
    assert_eq!(error.message, "cannot replace `/z~1z`: there is no key `z/z`");
}

#[test]
fn hostile_patches_meet_the_budget() {
    check_fails("{}", "add /x/1000000000 1", PatchErrorKind::Limit);
    check_fails("[]", "add /1000000000/x 1", PatchErrorKind::Limit);
    check_fails("{}", &format!("add {} 1", "/a".repeat(1000)), PatchErrorKind::Limit);
    let doubling = r#"{"op":"copy","from":"/a","path":"/a/-"}"#;
    let patch = format!("[{}]", [doubling; 200].join(","));
    assert_eq!(
        run(r#"{"a":[1]}"#, &patch, &PatchOptions::rfc6902()).unwrap_err().kind,
        PatchErrorKind::Limit
    );
}

#[test]
fn removing_every_item_of_a_long_list_copies_nothing() {
    let mut document = Value::array(vec![Value::from(1_u64); 300_000]);
    let path = |number: usize| Pointer::parse(&format!("/{number}")).unwrap();
    let operations: Vec<_> =
        (0..300_000).rev().map(|n| JsonPatchOperation::Remove { path: path(n) }).collect();
    let applied = apply_patch(&mut document, &operations, &PatchOptions::rfc6902(), &mut Budget::default());
    assert_eq!((applied, document), (Ok(300_000), value("[]")));
}

#[test]
fn what_was_removed_comes_back_where_it_stood() {
    let before = r#"{"a":1,"b":[1,2,3],"c":2}"#;
    let patch = r#"[{"op":"remove","path":"/a"},{"op":"remove","path":"/b/1"},{"op":"remove","path":"/b/0"},
        {"op":"add","path":"/a","value":9},{"op":"remove","path":"/b"},{"op":"remove","path":"/x"}]"#;
    let mut document = value(before);
    let operations = JsonPatchOperation::list(&value(patch)).unwrap();
    assert!(
        apply_patch(&mut document, &operations, &PatchOptions::rfc6902(), &mut Budget::default()).is_err()
    );
    assert_eq!(document.to_string(), before);
}

#[test]
fn the_budget_comes_back_to_its_level() {
    let mut budget = Budget::new(Limits { steps: 1000, bytes: 10_000, depth: 3 });
    for _ in 0..10 {
        let mut document = value("{}");
        let operations =
            JsonPatchOperation::list(&value(r#"[{"op":"add","path":"/a","value":[[1]]}]"#)).unwrap();
        apply_patch(&mut document, &operations, &PatchOptions::rfc6902(), &mut budget).unwrap();
        let operations =
            JsonPatchOperation::list(&value(r#"[{"op":"add","path":"/a","value":[[[1]]]}]"#)).unwrap();
        let error =
            apply_patch(&mut document, &operations, &PatchOptions::rfc6902(), &mut budget).unwrap_err();
        assert_eq!(error.kind, PatchErrorKind::Limit);
    }
}

/// Compares the patch with `want`, written as `op path [value]`, and applies it.
#[track_caller]
fn check_diff(before: &str, after: &str, want: &[&str]) {
    let operations = diff_values(&value(before), &value(after));
    let written: Vec<String> = operations
        .iter()
        .map(|operation| match operation {
            JsonPatchOperation::Add { path, value } | JsonPatchOperation::Replace { path, value } => {
                format!("{} {path} {value}", operation.name())
            }
            _ => format!("{} {}", operation.name(), operation.path()),
        })
        .collect();
    assert_eq!(written, want);
    check_round_trip(&value(before), &value(after));
}

#[track_caller]
fn check_round_trip(before: &Value, after: &Value) {
    let operations = diff_values(before, after);
    let mut document = before.clone();
    apply_patch(&mut document, &operations, &PatchOptions::rfc6902(), &mut Budget::default()).unwrap();
    assert_eq!(&document, after, "from {before} by {operations:?}");
}

#[test]
fn what_differs_in_very_many_places_is_replaced_as_a_whole() {
    let object = |image: &str| {
        let containers = (0..5000).map(|_| Map::from([("image", image.into())]).into()).collect();
        let spec = Map::from([("containers", Value::array(containers)), ("nodeName", image.into())]);
        Value::from(Map::from([("kind", "Pod".into()), ("spec", spec.into())]))
    };
    let (before, after) = (object("a"), object("b"));
    let operations = diff_values(&before, &after);
    let paths: Vec<String> = operations.iter().map(|operation| operation.path().to_string()).collect();
    assert_eq!(paths, ["/spec/containers", "/spec/nodeName"]);
    let mut patched = before;
    apply_patch(&mut patched, &operations, &PatchOptions::rfc6902(), &mut Budget::default())
        .expect("a patch");
    assert_eq!(patched, after);
}

#[test]
fn a_diff_names_only_what_changed() {
    check_diff("1", "1.0", &[]);
    check_diff("1", "[]", &["replace  []"]);
    check_diff(
        r#"{"a":1,"b":2,"d":null}"#,
        r#"{"b":3,"c":4}"#,
        &["remove /a", "replace /b 3", "remove /d", "add /c 4"],
    );
    check_diff(r#"{"a":{"b/c":[1]}}"#, r#"{"a":{"b/c":[2]}}"#, &["replace /a/b~1c/0 2"]);
}

#[test]
fn lists_are_aligned_before_they_are_compared() {
    check_diff("[1,2,3]", "[0,1,2,3]", &["add /0 0"]);
    check_diff("[1,2,3,4]", "[1,4]", &["remove /2", "remove /1"]);
    check_diff("[1,2,3]", "[1,9,3]", &["replace /1 9"]);
    check_diff(
        r#"[{"name":"a","image":"x"},{"name":"b"}]"#,
        r#"[{"name":"s","image":"q"},{"name":"a","image":"y"},{"name":"b"}]"#,
        &[r#"add /0 {"name":"s","image":"q"}"#, r#"replace /1/image "y""#],
    );
}

#[test]
fn long_lists_are_compared_place_by_place() {
    let before = Value::from((0..2000_i64).collect::<Vec<_>>());
    let after = Value::from((1..1500_i64).map(|i| i * 2).collect::<Vec<_>>());
    check_round_trip(&before, &after);
    check_round_trip(&after, &before);
}

#[test]
fn any_two_values_are_bridged() {
    let mut random = Random(7);
    for _ in 0..3000 {
        let before = random.value(4);
        let after = if random.below(3) == 0 { random.value(4) } else { random.changed(&before) };
        check_round_trip(&before, &after);
    }
}

#[test]
fn no_random_patch_breaks_anything() {
    let mut random = Random(11);
    for _ in 0..3000 {
        let before = random.value(4);
        let operations: Vec<JsonPatchOperation> = (0..3).map(|_| random.operation()).collect();
        let options = if random.below(2) == 0 { PatchOptions::lenient() } else { PatchOptions::rfc6902() };
        let mut document = before.clone();
        if apply_patch(&mut document, &operations, &options, &mut Budget::default()).is_err() {
            assert_eq!(document, before);
        }
    }
}

/// A small generator, so that runs repeat.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth == 0 { 4 } else { 8 }) {
            0 => Value::Null,
            1 => Value::from(self.below(2) == 0),
            2 => Value::from(i64::try_from(self.below(4)).unwrap()),
            3 => Value::from(["", "x", "~/"][usize::try_from(self.below(3)).unwrap()]),
            4 | 5 => Value::array((0..self.below(5)).map(|_| self.value(depth - 1)).collect()),
            _ => Value::object(
                (0..self.below(5)).map(|_| (self.token().into(), self.value(depth - 1))).collect(),
            ),
        }
    }

    fn changed(&mut self, from: &Value) -> Value {
        let operations = [self.operation(), self.operation(), self.operation()];
        let mut changed = from.clone();
        for operation in operations {
            let _ = apply_patch(&mut changed, &[operation], &PatchOptions::lenient(), &mut Budget::default());
        }
        changed
    }

    fn operation(&mut self) -> JsonPatchOperation {
        let (path, from) = (self.pointer(), self.pointer());
        match self.below(6) {
            0 | 1 => JsonPatchOperation::Add { path, value: self.value(2) },
            2 => JsonPatchOperation::Remove { path },
            3 => JsonPatchOperation::Replace { path, value: self.value(2) },
            4 => JsonPatchOperation::Copy { from, path },
            _ => JsonPatchOperation::Move { from, path },
        }
    }

    fn pointer(&mut self) -> Pointer {
        let mut pointer = Pointer::root();
        for _ in 0..self.below(4) {
            pointer.push(self.token());
        }
        pointer
    }

    fn token(&mut self) -> &'static str {
        let tokens = ["a", "b", "0", "1", "2", "-1", "-2", "-", "", "~", "/"];
        tokens[usize::try_from(self.below(11)).unwrap()]
    }
}
