//! Reading a file of declared references, and saying what is wrong with it and where.

use kubewright_engine::{Code, Diagnostic, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Map, Step, Text, Value};

use super::{DeclaredReference, KindName, ReferencePath, References, Whereabouts};
use crate::Strength;
use crate::edge::EDGE_TYPES;

const REFERENCES_API_VERSION: &str = "kubewright.dev/v1";
const REFERENCES_KIND: &str = "References";
const DOCUMENT_FIELDS: [&str; 5] = ["apiVersion", "kind", "metadata", "references", "volumesMatchByName"];
const REFERENCE_FIELDS: [&str; 7] =
    ["fromKind", "path", "toKind", "namespace", "type", "strength", "selector"];

kubewright_engine::codes! {
    /// The codes of everything that can be wrong with a file of references.
    static REFERENCE_CODES;

    UNKNOWN_FIELD "KW-G001" Error "unknown field in a References file";
    MISSING_FIELD "KW-G002" Error "a reference lacks a required field";
    WRONG_VALUE "KW-G003" Error "a field of a reference has an invalid value";
    WRONG_PATH "KW-G004" Error "the path of a reference cannot be parsed";
    TWICE "KW-G005" Warning "a reference is declared twice";
}

/// Returns the codes of everything that can be wrong with a file of references.
#[must_use]
pub fn codes() -> Vec<&'static Code> {
    REFERENCE_CODES.to_vec()
}

impl References {
    /// Returns whether `document` is a file of references.
    #[must_use]
    pub fn is_one(document: &Document) -> bool {
        let text = |key: &str| document.value.get(key).and_then(Value::as_str);
        text("apiVersion") == Some(REFERENCES_API_VERSION) && text("kind") == Some(REFERENCES_KIND)
    }

    /// Returns these references and those in `document`, and what is wrong with it. A reference with a mistake is left out.
    #[must_use]
    pub fn with(&self, document: &Document) -> (Self, Vec<Diagnostic>) {
        let mut reader = ReferencesReader { document, diagnostics: Vec::new() };
        let mut references = self.0.references.clone();
        reader.unknown_fields(document.value.as_object(), &DOCUMENT_FIELDS, &[]);
        let by_name = reader.flag(&document.value, "volumesMatchByName", &[]);
        for found in reader.references() {
            let (at, reference) = found;
            if references.contains(&reference) {
                let place = document.locate(&[Step::from("references"), Step::from(at)]);
                let message = format!(
                    "the reference from `{}` at `{}` is declared twice",
                    reference.from.kind, reference.path
                );
                reader.diagnostics.push(Diagnostic::new(&TWICE, message, place).help("remove one of them"));
            } else {
                references.push(reference);
            }
        }
        let by_name = by_name.unwrap_or(self.0.volumes_match_by_name);
        (Self::of(references, by_name), reader.diagnostics)
    }
}

struct ReferencesReader<'d> {
    document: &'d Document,
    diagnostics: Vec<Diagnostic>,
}

impl ReferencesReader<'_> {
    fn references(&mut self) -> Vec<(usize, DeclaredReference)> {
        let document = self.document;
        let path = [Step::from("references")];
        match document.value.get("references") {
            Some(Value::Array(items)) => {
                let read = items.iter().enumerate();
                read.filter_map(|(at, item)| Some((at, self.reference(item, at)?))).collect()
            }
            None | Some(Value::Null) => Vec::new(),
            Some(other) => {
                self.wrong(
                    &path,
                    format!("`references` is of type {}", other.kind()),
                    "write a list of references",
                );
                Vec::new()
            }
        }
    }

    fn reference(&mut self, item: &Value, at: usize) -> Option<DeclaredReference> {
        let place = vec![Step::from("references"), Step::from(at)];
        let Some(map) = item.as_object() else {
            self.wrong(
                &place,
                format!("a reference is of type {}", item.kind()),
                "write `fromKind`, `path` and `toKind`",
            );
            return None;
        };
        let before = self.diagnostics.iter().filter(|one| one.is_error()).count();
        self.unknown_fields(Some(map), &REFERENCE_FIELDS, &place);
        let from = self
            .required(map, "fromKind", &place)
            .and_then(|text| self.kind_name(text, &field_steps(&place, "fromKind"), true));
        let path =
            self.required(map, "path", &place).and_then(|text| self.path(text, &field_steps(&place, "path")));
        let to = self.targets(map, &place);
        let edge_type = self.edge_type(map, &place);
        let is_selector = self.flag(item, "selector", &place).unwrap_or(false);
        let namespace = self.word(
            map,
            "namespace",
            &place,
            &[("own", Whereabouts::Own), ("none", Whereabouts::None), ("any", Whereabouts::Any)],
        );
        if namespace == Some(Whereabouts::Any) && !is_selector {
            let message =
                "`namespace: any` is for selectors: a name is looked for in one namespace".to_owned();
            self.wrong(
                &field_steps(&place, "namespace"),
                message,
                "use `own` or `none`, or set `selector: true`",
            );
        }
        let strength = self.word(
            map,
            "strength",
            &place,
            &[
                ("required", Strength::Required),
                ("optional", Strength::Optional),
                ("preferred", Strength::Preferred),
            ],
        );
        let is_broken = self.diagnostics.iter().filter(|one| one.is_error()).count() > before;
        let (from, path, to, edge_type) = (from?, path?, to?, edge_type?);
        (!is_broken).then(|| DeclaredReference {
            from,
            path,
            to,
            edge_type,
            namespace: namespace.unwrap_or(Whereabouts::Usual),
            strength: strength.unwrap_or(Strength::Required),
            is_selector,
        })
    }

    fn targets(&mut self, map: &Map, place: &[Step]) -> Option<Vec<KindName>> {
        let place = field_steps(place, "toKind");
        match map.get("toKind") {
            Some(Value::String(text)) => self.kind_name(text, &place, false).map(|name| vec![name]),
            Some(Value::Array(items)) if !items.is_empty() => {
                let names = items.iter().enumerate().map(|(at, item)| {
                    let place: Vec<Step> = place.iter().cloned().chain([Step::from(at)]).collect();
                    self.kind_name(item.as_str().unwrap_or_default(), &place, false)
                });
                names.collect()
            }
            Some(_) => {
                self.wrong(
                    &place,
                    "`toKind` is not a kind".to_owned(),
                    "write `Kind`, `Kind.group` or a list of them",
                );
                None
            }
            None => {
                self.missing("toKind", &place);
                None
            }
        }
    }

    fn kind_name(&mut self, text: &str, place: &[Step], may_be_any: bool) -> Option<KindName> {
        let (kind, group) = text.split_once('.').map_or((text, None), |(kind, group)| (kind, Some(group)));
        let is_word = |text: &str| !text.is_empty() && text.chars().all(|one| one.is_ascii_alphanumeric());
        let is_group =
            |text: &str| text.chars().all(|one| one.is_ascii_alphanumeric() || one == '.' || one == '-');
        if (is_word(kind) || (may_be_any && kind == "*")) && group.is_none_or(is_group) {
            return Some(KindName { kind: kind.into(), group: group.map(Text::new) });
        }
        let message = format!("`{text}` is not a kind");
        self.wrong(place, message, "write `Kind`, or `Kind.group` such as `Certificate.cert-manager.io`; `Service.` is the Service of the core group");
        None
    }

    fn path(&mut self, text: &str, place: &[Step]) -> Option<ReferencePath> {
        match ReferencePath::parse(text) {
            Ok(path) => Some(path),
            Err((message, at)) => {
                let mut location = self.document.locate(place);
                let at = u32::try_from(at).unwrap_or(0);
                // A quoted text starts behind its quote; it is near enough.
                location.position.column = location.position.column.saturating_add(at);
                location.length = 1;
                let help = "write keys with dots, `[*]` for every item, `['a.b/c']` for a key with dots";
                let diagnostic = Diagnostic::new(
                    &WRONG_PATH,
                    format!("the path `{text}` cannot be read: {message}"),
                    location,
                );
                self.diagnostics.push(diagnostic.help(help));
                None
            }
        }
    }

    fn edge_type(&mut self, map: &Map, place: &[Step]) -> Option<Text> {
        let place = field_steps(place, "type");
        let Some(value) = map.get("type") else { return Some("REFERS_TO".into()) };
        let text = value.as_str().unwrap_or_default();
        let fits = |one: char| one.is_ascii_uppercase() || one.is_ascii_digit() || one == '_';
        if !text.is_empty() && text.len() <= 64 && text.chars().all(fits) {
            return Some(text.into());
        }
        let known = nearest_word(text, EDGE_TYPES.iter().map(|spec| spec.name));
        let help = known.map_or_else(|| "such as `BACKS_UP_TO`".to_owned(), did_you_mean);
        self.wrong(
            &place,
            format!("`{value}` is not a type: types are written in capitals, digits and `_`"),
            &help,
        );
        None
    }

    fn required<'v>(&mut self, map: &'v Map, key: &str, place: &[Step]) -> Option<&'v str> {
        match map.get(key) {
            None => {
                self.missing(key, &field_steps(place, key));
                None
            }
            Some(Value::String(text)) => Some(text),
            Some(other) => {
                self.wrong(
                    &field_steps(place, key),
                    format!("`{key}` is of type {}", other.kind()),
                    "write a text",
                );
                None
            }
        }
    }

    /// Reads a field that has one of a few words.
    fn word<T: Copy>(&mut self, map: &Map, key: &str, place: &[Step], words: &[(&str, T)]) -> Option<T> {
        let value = map.get(key)?;
        let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
        if found.is_none() {
            let known: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            self.wrong(
                &field_steps(place, key),
                format!("`{key}` cannot be {value}"),
                &format!("use one of {}", known.join(", ")),
            );
        }
        found.map(|(_, meaning)| *meaning)
    }

    fn flag(&mut self, holder: &Value, key: &str, place: &[Step]) -> Option<bool> {
        let value = holder.get(key)?;
        if value.as_bool().is_none() {
            self.wrong(
                &field_steps(place, key),
                format!("`{key}` is of type {}", value.kind()),
                "write `true` or `false`",
            );
        }
        value.as_bool()
    }

    fn unknown_fields(&mut self, map: Option<&Map>, known: &[&str], place: &[Step]) {
        for key in map.into_iter().flat_map(Map::keys).filter(|key| !known.contains(&key.as_str())) {
            let location = self.document.locate_key(&field_steps(place, key));
            let nearest = nearest_word(key, known.iter().copied());
            let help = match nearest {
                Some(nearest) => did_you_mean(nearest),
                None => format!("the fields are {}", known.join(", ")),
            };
            self.diagnostics
                .push(Diagnostic::new(&UNKNOWN_FIELD, format!("unknown field `{key}`"), location).help(help));
        }
    }

    fn missing(&mut self, key: &str, place: &[Step]) {
        let location = self.document.locate(place.get(..place.len().saturating_sub(1)).unwrap_or_default());
        let diagnostic = Diagnostic::new(&MISSING_FIELD, format!("the reference has no `{key}`"), location);
        self.diagnostics.push(diagnostic.help("a reference needs `fromKind`, `path` and `toKind`"));
    }

    fn wrong(&mut self, place: &[Step], message: String, help: &str) {
        self.diagnostics.push(Diagnostic::new(&WRONG_VALUE, message, self.document.locate(place)).help(help));
    }
}

fn field_steps(place: &[Step], key: &str) -> Vec<Step> {
    place.iter().cloned().chain([Step::from(key)]).collect()
}
