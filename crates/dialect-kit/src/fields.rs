//! Reading the fields of a document, with a diagnostic for everything that is not as it should be.
//!
//! A typed document is made field by field, so that every mistake is found at once and has a place.

use kubewright_engine::{Code, Diagnostic, nearest_word};
use kubewright_value::{Document, Location, Map, Position, Step, Text, Value, ValueKind};

/// The mistakes that any field can have.
pub struct FieldCodes {
    /// A number or boolean where text is wanted; it is read as text.
    pub unquoted: &'static Code,
    /// A field that has no meaning where it stands.
    pub unknown: &'static Code,
    /// A value of another type than the field has.
    pub wrong_type: &'static Code,
    /// A required field that is not there.
    pub missing: &'static Code,
    /// A text that is not one of those the field can have.
    pub unknown_value: &'static Code,
}

/// A document being read.
pub struct Reader<'d> {
    /// The document.
    pub document: &'d Document,
    /// What is wrong with it so far.
    pub diagnostics: Vec<Diagnostic>,
    codes: FieldCodes,
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where it stands in the document.
    pub path: Vec<Step>,
}

/// An object in a document.
#[derive(Clone)]
pub struct Fields<'d> {
    /// Where the object stands in the document.
    pub path: Vec<Step>,
    map: &'d Map,
}

impl<'d> Reader<'d> {
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
    pub fn object_under(&self, path: &[Step]) -> Option<Fields<'d>> {
        let map = self.document.value.follow(path)?.as_object()?;
        Some(Fields { path: path.to_vec(), map })
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
    pub fn root(&mut self) -> Option<Fields<'d>> {
        self.object_at(Vec::new(), &self.document.value)
    }

    /// Returns the two parts of a Kubernetes object that has a `spec`; what else stands beside them is reported.
    pub fn metadata_and_spec(&mut self) -> Option<(Fields<'d>, Fields<'d>)> {
        let root = self.root()?;
        self.only(&root, &["apiVersion", "kind", "metadata", "spec", "status"]);
        let metadata = self.required_object(&root, "metadata");
        let spec = self.required_object(&root, "spec");
        Some((metadata?, spec?))
    }

    /// Reports every field that is not in `known`.
    pub fn only(&mut self, fields: &Fields<'d>, known: &[&str]) {
        self.only_or(fields, known, &[]);
    }

    /// Reports every field that is not in `known`; `elsewhere` says of some where they belong.
    pub fn only_or(&mut self, fields: &Fields<'d>, known: &[&str], elsewhere: &[(&str, &str)]) {
        for key in fields.map.keys().filter(|key| !known.contains(&key.as_str())) {
            let location = self.document.locate_key(&child(&fields.path, key.as_str()));
            let place = elsewhere.iter().find(|(name, _)| *name == key.as_str());
            let help = match (place, nearest_word(key, known.iter().copied())) {
                (Some((_, place)), _) => (*place).to_owned(),
                (None, Some(near)) => format!("did you mean `{near}`?"),
                (None, None) => format!("known here: {}", known.join(", ")),
            };
            self.report(
                Diagnostic::new(self.codes.unknown, format!("unknown field `{key}`"), location).help(help),
            );
        }
    }

    /// Returns the value of a field; null counts as absent.
    #[must_use]
    pub fn any(&self, fields: &Fields<'d>, key: &str) -> Option<Placed<&'d Value>> {
        let value = fields.map.get(key).filter(|value| !value.is_null())?;
        Some(Placed { value, path: child(&fields.path, key) })
    }

    /// Returns the text of a field; a value that is no text is reported.
    pub fn string(&mut self, fields: &Fields<'d>, key: &str) -> Option<Placed<Text>> {
        let found = self.any(fields, key)?;
        self.text(found, key)
    }

    /// Returns the text of a field that must be there.
    pub fn required_string(&mut self, fields: &Fields<'d>, key: &str) -> Option<Placed<Text>> {
        if self.any(fields, key).is_none() {
            self.missing(fields, key);
        }
        self.string(fields, key)
    }

    /// Returns the boolean of a field; another value is reported.
    pub fn boolean(&mut self, fields: &Fields<'d>, key: &str) -> Option<bool> {
        let found = self.any(fields, key)?;
        if found.value.as_bool().is_none() {
            self.wrong_type(&found, key, ValueKind::Bool, "use true or false, without quotes".to_owned());
        }
        found.value.as_bool()
    }

    /// Returns the whole number of a field; another value is reported.
    pub fn integer(&mut self, fields: &Fields<'d>, key: &str) -> Option<Placed<i64>> {
        let found = self.any(fields, key)?;
        if found.value.as_i64().is_none() {
            self.wrong_type(&found, key, ValueKind::Number, "use a whole number".to_owned());
        }
        found.value.as_i64().map(|value| Placed { value, path: found.path })
    }

    /// Returns the list of a field; another value is reported.
    pub fn array(&mut self, fields: &Fields<'d>, key: &str) -> Option<Placed<&'d [Value]>> {
        let found = self.any(fields, key)?;
        match found.value.as_array() {
            Some(items) => Some(Placed { value: items, path: found.path }),
            None => {
                self.wrong_type(&found, key, ValueKind::Array, String::new());
                None
            }
        }
    }

    /// Returns the object of a field; another value is reported.
    pub fn object(&mut self, fields: &Fields<'d>, key: &str) -> Option<Fields<'d>> {
        let found = self.any(fields, key)?;
        if found.value.as_object().is_none() {
            self.wrong_type(&found, key, ValueKind::Object, String::new());
        }
        found.value.as_object().map(|map| Fields { path: found.path, map })
    }

    /// Returns the object of a field that must be there.
    pub fn required_object(&mut self, fields: &Fields<'d>, key: &str) -> Option<Fields<'d>> {
        if self.any(fields, key).is_none() {
            self.missing(fields, key);
        }
        self.object(fields, key)
    }

    /// Returns the objects of an array; an item that is none is reported.
    pub fn objects(&mut self, fields: &Fields<'d>, key: &str) -> Option<Vec<Fields<'d>>> {
        let items = self.array(fields, key)?;
        let place = |i: usize| child(&items.path, i);
        Some(items.value.iter().enumerate().filter_map(|(i, item)| self.object_at(place(i), item)).collect())
    }

    /// Returns the texts of an array; an item that is none is reported.
    pub fn strings(&mut self, fields: &Fields<'d>, key: &str) -> Option<Vec<Placed<Text>>> {
        let items = self.array(fields, key)?;
        let place = |i: usize| child(&items.path, i);
        let texts = items.value.iter().enumerate();
        Some(texts.filter_map(|(i, value)| self.text(Placed { value, path: place(i) }, key)).collect())
    }

    /// Returns the texts of an object with free keys, as in `matchLabels`; a value that is no text is reported.
    pub fn texts(&mut self, fields: &Fields<'d>, key: &str) -> Option<Vec<(Text, Placed<Text>)>> {
        let object = self.object(fields, key)?;
        let mut texts = Vec::with_capacity(object.map.len());
        for (name, value) in object.map.iter() {
            let found = Placed { value, path: child(&object.path, name.as_str()) };
            if let Some(text) = self.text(found, name) {
                texts.push((name.clone(), text));
            }
        }
        Some(texts)
    }

    /// Returns the objects of an object with free keys; a value that is none is reported.
    pub fn each(&mut self, fields: &Fields<'d>) -> Vec<(Text, Fields<'d>)> {
        let entries = fields.map.iter();
        let place = |name: &Text| child(&fields.path, name.as_str());
        entries
            .filter_map(|(name, value)| Some((name.clone(), self.object_at(place(name), value)?)))
            .collect()
    }

    /// Returns the texts of an array, wherever they stand.
    pub fn plain(&mut self, fields: &Fields<'d>, key: &str) -> Vec<Text> {
        let texts = self.strings(fields, key).unwrap_or_default();
        texts.into_iter().map(|text| text.value).collect()
    }

    /// Returns the texts of an object with free keys, wherever they stand.
    pub fn pairs(&mut self, fields: &Fields<'d>, key: &str) -> Vec<(Text, Text)> {
        let texts = self.texts(fields, key).unwrap_or_default();
        texts.into_iter().map(|(name, text)| (name, text.value)).collect()
    }

    /// Returns a text that must be there and must not be empty.
    pub fn filled(&mut self, fields: &Fields<'d>, key: &str) -> Option<Placed<Text>> {
        let text = self.required_string(fields, key)?;
        if text.value.trim().is_empty() {
            self.missing(fields, key);
            return None;
        }
        Some(text)
    }

    /// Returns what `words` has for the text at `found`; a text that it does not have is reported as an unknown `what`.
    pub fn one_of<T: Copy>(&mut self, found: &Placed<Text>, what: &str, words: &[(&str, T)]) -> Option<T> {
        if let Some((_, meaning)) = words.iter().find(|(word, _)| *word == found.value) {
            return Some(*meaning);
        }
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        let help = match nearest_word(&found.value, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
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
    fn text(&mut self, found: Placed<&'d Value>, key: &str) -> Option<Placed<Text>> {
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
        Some(Placed { value: text, path: found.path })
    }

    /// Reports that a field is missing.
    pub fn missing(&mut self, fields: &Fields<'d>, key: &str) {
        let missing = self.lack(fields, key);
        self.report(missing);
    }

    /// Says that a field is missing, and what could stand there.
    pub fn missing_help(&mut self, fields: &Fields<'d>, key: &str, help: &str) {
        let missing = self.lack(fields, key).help(help);
        self.report(missing);
    }

    fn lack(&self, fields: &Fields<'d>, key: &str) -> Diagnostic {
        let location = match fields.path.is_empty() {
            true => self.place(&fields.path),
            false => self.document.locate_key(&fields.path),
        };
        Diagnostic::new(self.codes.missing, format!("field `{key}` is missing"), location)
    }

    fn object_at(&mut self, path: Vec<Step>, value: &'d Value) -> Option<Fields<'d>> {
        if let Value::Object(map) = value {
            return Some(Fields { path, map });
        }
        let name = match path.last() {
            Some(Step::Key(key)) => key.to_string(),
            Some(Step::Index(i)) => format!("item {i}"),
            None => "the document".to_owned(),
        };
        self.wrong_type(&Placed { value, path }, &name, ValueKind::Object, String::new());
        None
    }

    fn wrong_type(&mut self, found: &Placed<&Value>, key: &str, expected: ValueKind, help: String) {
        let message = format!("`{key}` is {}, expected {}", article(found.value.kind()), article(expected));
        let location = self.place(&found.path);
        self.report(Diagnostic::new(self.codes.wrong_type, message, location).help(help));
    }
}

impl Fields<'_> {
    /// Returns the values of an object with free keys, whatever they are.
    #[must_use]
    pub fn values(&self) -> Vec<(Text, Placed<Value>)> {
        let placed = |name: &Text, value: &Value| Placed {
            value: value.clone(),
            path: child(&self.path, name.as_str()),
        };
        self.map.iter().map(|(name, value)| (name.clone(), placed(name, value))).collect()
    }
}

/// Returns `path` and one more step.
pub fn child(path: &[Step], step: impl IntoStep) -> Vec<Step> {
    let mut longer = path.to_vec();
    longer.push(step.into_step());
    longer
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

/// Returns the place of `position` inside the text that stands at `path`.
///
/// Exact for plain text, for quoted text without escapes, and for block text; otherwise near.
pub fn within(document: &Document, path: &[Step], position: Position, length: u32) -> Location {
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
