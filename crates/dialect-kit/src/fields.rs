//! Reading the fields of a document, with a diagnostic for everything that is not as it should be.
//!
//! A typed document is made field by field, so that every mistake is found at once and has a place.

use kubewright_engine::{Code, Diagnostic, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Location, Map, Position, Step, Text, Value, ValueKind};

/// The mistakes that any field can have.
pub struct FieldCodes {
    /// A number or boolean where text is wanted; it is read as text.
    pub unquoted: &'static Code,
    /// A field that has no meaning at its place.
    pub unknown: &'static Code,
    /// A value of another type than the field has.
    pub wrong_type: &'static Code,
    /// A required field that is not there.
    pub missing: &'static Code,
    /// A text that is not one of those the field can have.
    pub unknown_value: &'static Code,
}

/// A document being read.
pub struct DocumentReader<'d> {
    /// The document.
    pub document: &'d Document,
    /// The diagnostics found so far.
    pub diagnostics: Vec<Diagnostic>,
    codes: FieldCodes,
}

/// A value and its path in the document.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// The path of the value in the document.
    pub path: Vec<Step>,
}

/// An object in a document.
#[derive(Clone)]
pub struct DocumentFields<'d> {
    /// The path of the object in the document.
    pub path: Vec<Step>,
    map: &'d Map,
}

impl<'d> DocumentReader<'d> {
    /// Reads `document` with `read`. Returns what it gives, and the diagnostics of the fields.
    pub fn read<T>(
        document: &'d Document,
        codes: FieldCodes,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> (Option<T>, Vec<Diagnostic>) {
        let mut reader = Self::new(document, codes);
        let found = read(&mut reader);
        (found, reader.diagnostics)
    }

    /// Returns a reader of `document` that reports mistakes with `codes`.
    pub fn new(document: &'d Document, codes: FieldCodes) -> Self {
        Self { document, diagnostics: Vec::new(), codes }
    }

    /// Adds a diagnostic.
    pub fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Returns the object at `path`; nothing where there is none.
    #[must_use]
    pub fn object_under(&self, path: &[Step]) -> Option<DocumentFields<'d>> {
        let map = self.document.value.follow(path)?.as_object()?;
        Some(DocumentFields { path: path.to_vec(), map })
    }

    /// Returns whether there is an error behind the first `mark` diagnostics.
    pub fn has_error_since(&self, mark: usize) -> bool {
        self.diagnostics.iter().skip(mark).any(Diagnostic::is_error)
    }

    /// Returns the location of `path`.
    #[must_use]
    pub fn place(&self, path: &[Step]) -> Location {
        self.document.locate(path)
    }

    /// Returns the root object.
    pub fn root(&mut self) -> Option<DocumentFields<'d>> {
        self.object_at(Vec::new(), &self.document.value)
    }

    /// Returns the two parts of a Kubernetes object that has a `spec`; other fields beside them are reported.
    pub fn metadata_and_spec(&mut self) -> Option<(DocumentFields<'d>, DocumentFields<'d>)> {
        let root = self.root()?;
        self.only(&root, &["apiVersion", "kind", "metadata", "spec", "status"]);
        let metadata = self.required_object(&root, "metadata");
        let spec = self.required_object(&root, "spec");
        Some((metadata?, spec?))
    }

    /// Reports every field that is not in `known`.
    pub fn only(&mut self, fields: &DocumentFields<'d>, known: &[&str]) {
        self.only_or(fields, known, &[]);
    }

    /// Reports every field that is not in `known`; `elsewhere` names the right place of some of them.
    pub fn only_or(&mut self, fields: &DocumentFields<'d>, known: &[&str], elsewhere: &[(&str, &str)]) {
        for key in fields.map.keys().filter(|key| !known.contains(&key.as_str())) {
            let location = self.document.locate_key(&child_path(&fields.path, key.as_str()));
            let place = elsewhere.iter().find(|(name, _)| *name == key.as_str());
            let help = match (place, nearest_word(key, known.iter().copied())) {
                (Some((_, place)), _) => (*place).to_owned(),
                (None, Some(near)) => did_you_mean(near),
                (None, None) => format!("known here: {}", known.join(", ")),
            };
            self.report(
                Diagnostic::new(self.codes.unknown, format!("unknown field `{key}`"), location).help(help),
            );
        }
    }

    /// Returns the value of a field; null counts as absent.
    #[must_use]
    pub fn any(&self, fields: &DocumentFields<'d>, key: &str) -> Option<Located<&'d Value>> {
        let value = fields.map.get(key).filter(|value| !value.is_null())?;
        Some(Located { value, path: child_path(&fields.path, key) })
    }

    /// Returns the text of a field; another type is reported.
    pub fn string(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<Located<Text>> {
        let found = self.any(fields, key)?;
        self.text(found, key)
    }

    /// Returns the text of a field that must be there.
    pub fn required_string(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<Located<Text>> {
        if self.any(fields, key).is_none() {
            self.missing(fields, key);
        }
        self.string(fields, key)
    }

    /// Returns the boolean of a field; another value is reported.
    pub fn boolean(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<bool> {
        let found = self.any(fields, key)?;
        if found.value.as_bool().is_none() {
            self.wrong_type(&found, key, ValueKind::Bool, "use true or false, without quotes".to_owned());
        }
        found.value.as_bool()
    }

    /// Returns the whole number of a field; another value is reported.
    pub fn integer(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<Located<i64>> {
        let found = self.any(fields, key)?;
        if found.value.as_i64().is_none() {
            self.wrong_type(&found, key, ValueKind::Number, "use a whole number".to_owned());
        }
        found.value.as_i64().map(|value| Located { value, path: found.path })
    }

    /// Returns the list of a field; another value is reported.
    pub fn array(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<Located<&'d [Value]>> {
        let found = self.any(fields, key)?;
        match found.value.as_array() {
            Some(items) => Some(Located { value: items, path: found.path }),
            None => {
                self.wrong_type(&found, key, ValueKind::Array, String::new());
                None
            }
        }
    }

    /// Returns the object of a field; another value is reported.
    pub fn object(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<DocumentFields<'d>> {
        let found = self.any(fields, key)?;
        if found.value.as_object().is_none() {
            self.wrong_type(&found, key, ValueKind::Object, String::new());
        }
        found.value.as_object().map(|map| DocumentFields { path: found.path, map })
    }

    /// Returns the object of a field that must be there.
    pub fn required_object(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<DocumentFields<'d>> {
        if self.any(fields, key).is_none() {
            self.missing(fields, key);
        }
        self.object(fields, key)
    }

    /// Returns the objects of an array; an item that is none is reported.
    pub fn objects(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<Vec<DocumentFields<'d>>> {
        let items = self.array(fields, key)?;
        let place = |i: usize| child_path(&items.path, i);
        Some(items.value.iter().enumerate().filter_map(|(i, item)| self.object_at(place(i), item)).collect())
    }

    /// Returns the texts of an array; an item that is none is reported.
    pub fn strings(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<Vec<Located<Text>>> {
        let items = self.array(fields, key)?;
        let place = |i: usize| child_path(&items.path, i);
        let texts = items.value.iter().enumerate();
        Some(texts.filter_map(|(i, value)| self.text(Located { value, path: place(i) }, key)).collect())
    }

    /// Returns the texts of an object with free keys, as in `matchLabels`; other types are reported.
    pub fn texts(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<Vec<(Text, Located<Text>)>> {
        let object = self.object(fields, key)?;
        let mut texts = Vec::with_capacity(object.map.len());
        for (name, value) in object.map.iter() {
            let found = Located { value, path: child_path(&object.path, name.as_str()) };
            if let Some(text) = self.text(found, name) {
                texts.push((name.clone(), text));
            }
        }
        Some(texts)
    }

    /// Returns the objects of an object with free keys; a value that is none is reported.
    pub fn each(&mut self, fields: &DocumentFields<'d>) -> Vec<(Text, DocumentFields<'d>)> {
        let entries = fields.map.iter();
        let place = |name: &Text| child_path(&fields.path, name.as_str());
        entries
            .filter_map(|(name, value)| Some((name.clone(), self.object_at(place(name), value)?)))
            .collect()
    }

    /// Returns the texts of an array, without their paths.
    pub fn plain(&mut self, fields: &DocumentFields<'d>, key: &str) -> Vec<Text> {
        let texts = self.strings(fields, key).unwrap_or_default();
        texts.into_iter().map(|text| text.value).collect()
    }

    /// Returns the texts of an object with free keys, without their paths.
    pub fn pairs(&mut self, fields: &DocumentFields<'d>, key: &str) -> Vec<(Text, Text)> {
        let texts = self.texts(fields, key).unwrap_or_default();
        texts.into_iter().map(|(name, text)| (name, text.value)).collect()
    }

    /// Returns a text that must be there and must not be empty.
    pub fn filled(&mut self, fields: &DocumentFields<'d>, key: &str) -> Option<Located<Text>> {
        let text = self.required_string(fields, key)?;
        if text.value.trim().is_empty() {
            self.missing(fields, key);
            return None;
        }
        Some(text)
    }

    /// Returns the meaning of the text at `found` in `words`; any other text is reported as an unknown `what`.
    pub fn one_of<T: Copy>(&mut self, found: &Located<Text>, what: &str, words: &[(&str, T)]) -> Option<T> {
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == found.value) {
            return Some(*meaning);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let help = match nearest_word(&found.value, known.iter().copied()) {
            Some(near) => did_you_mean(near),
            None => {
                let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
                format!("use one of {}", known.join(", "))
            }
        };
        let location = self.place(&found.path);
        let message = format!("unknown {what} `{}`", found.value);
        self.report(Diagnostic::new(self.codes.unknown_value, message, location).help(help));
        None
    }

    /// Returns a value as text. A number or boolean is read as it would be written, with a warning.
    fn text(&mut self, found: Located<&'d Value>, key: &str) -> Option<Located<Text>> {
        let text = match found.value {
            Value::String(text) => text.clone(),
            Value::Array(_) | Value::Object(_) | Value::Null => {
                self.wrong_type(
                    &found,
                    key,
                    ValueKind::String,
                    "write it as text, for example after `|-`".to_owned(),
                );
                return None;
            }
            scalar => {
                let message = format!("`{key}` is {}, read as the text `{scalar}`", article(scalar.kind()));
                let location = self.place(&found.path);
                let written = location.text().unwrap_or_else(|| scalar.to_string());
                self.report(
                    Diagnostic::new(self.codes.unquoted, message, location)
                        .help(format!("quote it: '{written}'")),
                );
                scalar.to_string().into()
            }
        };
        Some(Located { value: text, path: found.path })
    }

    /// Reports that a field is missing.
    pub fn missing(&mut self, fields: &DocumentFields<'d>, key: &str) {
        let missing = self.lack(fields, key);
        self.report(missing);
    }

    /// Reports that a field is missing, with a suggestion.
    pub fn missing_help(&mut self, fields: &DocumentFields<'d>, key: &str, help: &str) {
        let missing = self.lack(fields, key).help(help);
        self.report(missing);
    }

    fn lack(&self, fields: &DocumentFields<'d>, key: &str) -> Diagnostic {
        let location = match fields.path.is_empty() {
            true => self.place(&fields.path),
            false => self.document.locate_key(&fields.path),
        };
        Diagnostic::new(self.codes.missing, format!("field `{key}` is missing"), location)
    }

    fn object_at(&mut self, path: Vec<Step>, value: &'d Value) -> Option<DocumentFields<'d>> {
        if let Value::Object(map) = value {
            return Some(DocumentFields { path, map });
        }
        let name = match path.last() {
            Some(Step::Key(key)) => key.to_string(),
            Some(Step::Index(i)) => format!("item {i}"),
            None => "the document".to_owned(),
        };
        self.wrong_type(&Located { value, path }, &name, ValueKind::Object, String::new());
        None
    }

    fn wrong_type(&mut self, found: &Located<&Value>, key: &str, expected: ValueKind, help: String) {
        let message = format!("`{key}` is {}, expected {}", article(found.value.kind()), article(expected));
        let location = self.place(&found.path);
        self.report(Diagnostic::new(self.codes.wrong_type, message, location).help(help));
    }
}

impl DocumentFields<'_> {
    /// Returns the values of an object with free keys, whatever they are.
    #[must_use]
    pub fn values(&self) -> Vec<(Text, Located<Value>)> {
        let placed = |name: &Text, value: &Value| Located {
            value: value.clone(),
            path: child_path(&self.path, name.as_str()),
        };
        self.map.iter().map(|(name, value)| (name.clone(), placed(name, value))).collect()
    }
}

/// Returns `path` and one more step.
pub fn child_path(path: &[Step], step: impl IntoStep) -> Vec<Step> {
    // Rules keep many paths, so none has spare room.
    path.iter().cloned().chain(std::iter::once(step.into_step())).collect()
}

/// A key or an index, as one step of a path.
pub trait IntoStep {
    /// Returns the step.
    fn into_step(self) -> Step;
}

impl IntoStep for &str {
    fn into_step(self) -> Step {
        Step::from(self)
    }
}

impl IntoStep for usize {
    fn into_step(self) -> Step {
        Step::Index(self)
    }
}

/// Returns the name of a kind with its article.
#[must_use]
pub fn article(kind: ValueKind) -> String {
    match kind {
        ValueKind::Null => "null".to_owned(),
        ValueKind::Array | ValueKind::Object => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

/// Up to which column it is looked how a text is quoted. Lines that are longer are JSON on one line; to walk such a line
/// for each of its texts takes quadratic time.
const MAX_SEARCHED_COLUMNS: usize = 1000;

/// Returns the location of `position` inside the text at `path`.
///
/// Exact for plain text, for quoted text without escapes, and for block text; otherwise near.
pub fn locate_within(document: &Document, path: &[Step], position: Position, length: u32) -> Location {
    let start = document.locate(path);
    let first = start.source.line(start.position.line).unwrap_or_default();
    let column = usize::try_from(start.position.column).unwrap_or(1);
    let opening = match column > MAX_SEARCHED_COLUMNS {
        true => Some('"'),
        false => first.chars().nth(column - 1),
    };
    let (line, column) = match opening {
        Some('|' | '>') => {
            let line = start.position.line + position.line;
            let text = start.source.line(start.position.line + 1).unwrap_or_default();
            let indent = text.chars().take_while(|character| *character == ' ').count();
            (line, u32::try_from(indent).unwrap_or(0) + position.column)
        }
        Some('\'' | '"') if position.line == 1 => {
            (start.position.line, start.position.column + position.column)
        }
        _ if position.line == 1 => (start.position.line, start.position.column + position.column - 1),
        _ => (start.position.line, start.position.column),
    };
    Location { source: start.source, position: Position { line, column }, length: length.max(1) }
}
