//! The schemas of kinds without a definition, compared with what their readers accept.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

use kubewright_dialects::{DialectOptions, all_dialects, compile_document};
use kubewright_engine::Diagnostic;
use kubewright_schemas::schema_of;
use kubewright_value::{Document, Map, Source, Step, Text, Value, json};

/// A kind, an object of it without mistakes, and the code of its unknown fields.
struct ReadKind {
    kind: &'static str,
    object: &'static str,
    unknown: &'static str,
}

/// A mistake in the schema of a trait's parameters, such as an unknown field beside it.
const WRONG_SCHEMA: &str = "KW-R005";

const KINDS: [ReadKind; 3] = [
    ReadKind {
        kind: "Pattern",
        object: r#"{"version": "kubepattern.it/v1", "kind": "Pattern",
            "metadata": {"name": "a", "displayName": "A", "patternType": "STRUCTURAL", "severity": "INFO", "category": "c"},
            "spec": {"message": "m", "topology": "SINGLE", "resources": [{"resource": "Pod", "id": "pod", "leader": true}]}}"#,
        unknown: "KW-P001",
    },
    ReadKind {
        kind: "Trait",
        object: r#"{"apiVersion": "openchoreo.dev/v1alpha1", "kind": "Trait", "metadata": {"name": "a"},
            "spec": {"removes": [{"target": {"kind": "Pod"}}]}}"#,
        unknown: "KW-R001",
    },
    ReadKind {
        kind: "ClusterTrait",
        object: r#"{"apiVersion": "openchoreo.dev/v1alpha1", "kind": "ClusterTrait", "metadata": {"name": "a"},
            "spec": {"removes": [{"target": {"kind": "Pod"}}]}}"#,
        unknown: "KW-R001",
    },
];

/// A place in a schema: the way to it, and the schema there.
type SchemaPlace = (Vec<Step>, &'static Value);

/// Returns every place of a schema; items of lists are the first one.
fn places(path: &[Step], schema: &'static Value, found: &mut Vec<SchemaPlace>) {
    found.push((path.to_vec(), schema));
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, child) in properties.into_iter().flat_map(Map::iter) {
        places(&[path, &[Step::from(name.as_str())]].concat(), child, found);
    }
    if let Some(items) = schema.get("items") {
        places(&[path, &[Step::Index(0)]].concat(), items, found);
    }
}

/// Returns `value` with `new` at the end of a path; what is missing on the way is made.
fn with(value: &Value, path: &[Step], new: Value) -> Value {
    match path.split_first() {
        None => new,
        Some((Step::Key(key), rest)) => {
            let mut map = value.as_object().cloned().unwrap_or_default();
            let child = with(map.get(key).unwrap_or(&Value::Null), rest, new);
            map.insert(Text::from(key.as_str()), child);
            map.into()
        }
        Some((Step::Index(_), rest)) => {
            Value::array(vec![with(value.item(0).unwrap_or(&Value::Null), rest, new)])
        }
    }
}

impl ReadKind {
    fn places(&self) -> Vec<SchemaPlace> {
        let mut found = Vec::new();
        places(&[], schema_of(self.kind).expect("a schema"), &mut found);
        found
    }

    /// Returns what the reader says about the object with a value at a path.
    fn read_with(&self, path: &[Step], new: Value) -> (Document, Vec<Diagnostic>) {
        let object = json::parse(self.object).expect("an object");
        let text = with(&object, path, new).to_string();
        let document = json::read(&Source::new("a.json", text)).expect("a document");
        let dialects = all_dialects(&DialectOptions::default());
        let diagnostics = compile_document(&dialects, &document, &[]).diagnostics;
        (document, diagnostics)
    }

    fn has_unknown_field(&self, diagnostics: &[Diagnostic]) -> bool {
        diagnostics.iter().any(|diagnostic| diagnostic.code.id == self.unknown)
    }
}

#[test]
fn the_objects_have_no_mistakes() {
    for kind in KINDS {
        let (_, diagnostics) = kind.read_with(&[], json::parse(kind.object).expect("an object"));
        let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|one| one.is_error()).collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", kind.kind);
    }
}

#[test]
fn every_field_of_a_schema_is_read() {
    for kind in KINDS {
        for (path, _) in
            kind.places().into_iter().filter(|(path, _)| matches!(path.last(), Some(Step::Key(_))))
        {
            let (_, diagnostics) = kind.read_with(&path, "x".into());
            assert!(!kind.has_unknown_field(&diagnostics), "{} {path:?}: {diagnostics:#?}", kind.kind);
        }
    }
}

#[test]
fn a_field_that_is_in_no_schema_is_told() {
    for kind in KINDS {
        // What Kubernetes itself reads is not checked.
        let is_own = |(path, schema): &SchemaPlace| {
            path.first() != Some(&Step::from("metadata")) && schema.get("properties").is_some()
        };
        for (path, _) in kind.places().into_iter().filter(is_own) {
            let (_, diagnostics) = kind.read_with(&[path.as_slice(), &["zzz".into()]].concat(), "x".into());
            let is_schema = |one: &Diagnostic| one.code.id == WRONG_SCHEMA;
            let is_told = kind.has_unknown_field(&diagnostics) || diagnostics.iter().any(is_schema);
            assert!(is_told, "{} {path:?}: {diagnostics:#?}", kind.kind);
        }
    }
}

#[test]
fn every_value_of_an_enumeration_is_read_and_no_other() {
    for kind in KINDS {
        for (path, schema) in kind.places() {
            let Some(values) = schema.get("enum").and_then(Value::as_array) else { continue };
            // What the document is, is decided before its values are read.
            if matches!(path.as_slice(), [Step::Key(key)] if ["apiVersion", "kind", "version"].contains(&key.as_str()))
            {
                continue;
            }
            for value in values {
                let told = diagnostics_at(&kind, &path, value.clone());
                assert!(told.is_empty(), "{} {path:?} {value}: {told:#?}", kind.kind);
            }
            let told = diagnostics_at(&kind, &path, "zzz".into());
            assert!(!told.is_empty(), "{} {path:?} takes any value", kind.kind);
        }
    }
}

/// Returns what the reader says about the value at a path itself.
fn diagnostics_at(kind: &ReadKind, path: &[Step], value: Value) -> Vec<Diagnostic> {
    let (document, diagnostics) = kind.read_with(path, value);
    let place = document.locate(path).position;
    diagnostics.into_iter().filter(|one| one.location.position == place).collect()
}
