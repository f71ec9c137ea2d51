use kubewright_value::{Source, yaml};

use super::*;

#[test]
fn a_path_of_an_operation_is_written_with_dots() {
    let check = |path: &str, want: &str| assert_eq!(dotted_operation_path(path), want);
    check("", "");
    check("/spec/replicas", "spec.replicas");
    check("/spec/containers/0/image", "spec.containers[0].image");
    check("/spec/ports/-", "spec.ports[-]");
    check("/spec/ports[?(@.name=='a/b')]/port", "spec.ports[?(@.name=='a/b')].port");
    check("/spec/containers/[*]/env", "spec.containers[*].env");
    check("/metadata/annotations/shop.example~1a~0b", "metadata.annotations[shop.example/a~b]");
}

/// Checks the path of the value at `position` with `length` characters.
#[track_caller]
fn check(position: (u32, u32), length: u32, want: &str) {
    let text = "kind: Trait\nspec:\n  patches:\n  - target: {kind: Pod}\n    path: /a\n  - path: '${x}'\n";
    let document = yaml::read(&Source::new("-", text)).documents.remove(0);
    let position = Position { line: position.0, column: position.1 };
    let location = Location { source: Arc::clone(&document.source), position, length };
    assert_eq!(joined_steps(&path_at(&document, &location)), want);
}

#[test]
fn a_place_in_a_text_is_the_innermost_thing_there() {
    check((1, 1), 1, "");
    check((1, 1), 4, "kind");
    check((1, 7), 5, "kind");
    check((3, 3), 1, "spec");
    check((3, 3), 7, "spec.patches");
    check((4, 5), 1, "spec.patches[0]");
    check((4, 14), 4, "spec.patches[0].target.kind");
    check((5, 11), 2, "spec.patches[0].path");
    check((6, 12), 1, "spec.patches[1].path");
    check((6, 14), 1, "spec.patches[1].path");
}
