//! Reading the fields of a document that people write for this program, with a diagnostic for everything that is
//! not as it should be.

use kubewright_engine::{Code, Diagnostic, nearest_word};
use kubewright_k8s::Operation;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Location, Step, Text, Value};

use crate::codes::{TEST_FIELD, TEST_MISSING, TEST_VALUE};
use kubewright_value::CompactSort as _;

/// Diagnostic codes for invalid fields in one type of file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputFieldCodes {
    /// A field means nothing.
    pub(crate) unknown: &'static Code,
    /// A field is missing.
    pub(crate) missing: &'static Code,
    /// A value does not fit its field.
    pub(crate) value: &'static Code,
}

/// Of test files, and of what they name.
const TEST: InputFieldCodes =
    InputFieldCodes { unknown: &TEST_FIELD, missing: &TEST_MISSING, value: &TEST_VALUE };

/// Reads fields at a position of a document and collects diagnostics.
pub(crate) struct InputFieldReader<'a> {
    document: &'a Document,
    codes: InputFieldCodes,
    path: Vec<Step>,
    // INVARIANT: what is at `path`, if there is something.
    value: Option<&'a Value>,
    problems: Vec<Diagnostic>,
    // Go's readers take `isMUtatingPolicy` for `isMutatingPolicy`, and people have files with it.
    ignores_case: bool,
    // Whether a field here may be written in another case. Most files have none, so that one look at all fields saves many.
    may_differ_in_case: bool,
}

impl<'a> InputFieldReader<'a> {
    /// Returns a reader at the root of `document`.
    pub(crate) fn new(document: &'a Document) -> Self {
        Self::of(TEST, document)
    }

    /// Returns a reader at the root of `document` that reports with `codes`.
    pub(crate) fn of(codes: InputFieldCodes, document: &'a Document) -> Self {
        let value = Some(&document.value);
        Self {
            document,
            codes,
            path: Vec::new(),
            value,
            problems: Vec::new(),
            ignores_case: false,
            may_differ_in_case: false,
        }
    }

    /// Returns a reader with case-insensitive field names.
    pub(crate) fn ignoring_case(document: &'a Document) -> Self {
        Self { ignores_case: true, may_differ_in_case: true, ..Self::new(document) }
    }

    /// Returns what was read.
    ///
    /// # Errors
    /// With all diagnostics, in document order.
    pub(crate) fn finish<T>(mut self, read: T) -> Result<T, Vec<Diagnostic>> {
        self.problems.compact_sort_by_key(|problem| problem.location.position);
        if self.problems.is_empty() { Ok(read) } else { Err(self.problems) }
    }

    /// Returns where the reader is.
    pub(crate) fn location(&self) -> Location {
        self.document.locate(&self.path)
    }

    /// Returns the way from the root to where the reader is.
    pub(crate) fn path(&self) -> &[Step] {
        &self.path
    }

    /// Reads at `steps` below this place.
    pub(crate) fn within<T>(&mut self, steps: &[Step], read: impl FnOnce(&mut Self) -> T) -> T {
        let (depth, value, may_differ_in_case) = (self.path.len(), self.value, self.may_differ_in_case);
        self.path.extend_from_slice(steps);
        self.value = value.and_then(|value| value.follow(steps));
        self.may_differ_in_case = self.ignores_case;
        let read = read(self);
        self.path.truncate(depth);
        self.value = value;
        self.may_differ_in_case = may_differ_in_case;
        read
    }

    /// Reads at a field, if it is there.
    pub(crate) fn field<T>(&mut self, field: &str, read: impl FnOnce(&mut Self) -> T) -> Option<T> {
        let key = self.entry(field)?.0.clone();
        Some(self.within(&[Step::Key(key)], read))
    }

    /// Reads each item of the list at a field; without the field there are none.
    pub(crate) fn each<T>(&mut self, field: &str, mut read: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let Some((key, value)) = self.entry(field) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            let message = format!("`{field}` is a list, this is of type {}", value.kind());
            self.wrong(field, message);
            return Vec::new();
        };
        let (key, count) = (key.clone(), items.len());
        (0..count).map(|index| self.within(&[Step::Key(key.clone()), index.into()], &mut read)).collect()
    }

    /// Returns the value of a field; null counts as absent.
    pub(crate) fn value(&self, field: &str) -> Option<&'a Value> {
        self.entry(field).map(|(_, value)| value)
    }

    /// Returns the items of the list at a field.
    pub(crate) fn values(&mut self, field: &str) -> Vec<Value> {
        let Some(value) = self.value(field) else { return Vec::new() };
        let Some(items) = value.as_array() else {
            let message = format!("`{field}` is a list, this is of type {}", value.kind());
            self.wrong(field, message);
            return Vec::new();
        };
        items.to_vec()
    }

    /// Returns the entries of the object at a field.
    pub(crate) fn entries(&mut self, field: &str) -> Vec<(Text, Value)> {
        let Some(value) = self.value(field) else { return Vec::new() };
        let Some(map) = value.as_object() else {
            let message = format!("`{field}` is an object, this is of type {}", value.kind());
            self.wrong(field, message);
            return Vec::new();
        };
        map.iter().map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Returns the text of a field.
    pub(crate) fn text(&mut self, field: &str) -> Option<String> {
        let value = self.value(field)?;
        match value.as_str() {
            Some(text) => Some(text.to_owned()),
            None => {
                let message = format!("`{field}` is text, this is of type {}", value.kind());
                self.wrong(field, message);
                None
            }
        }
    }

    /// Returns the text of a field that must be there.
    pub(crate) fn required_text(&mut self, field: &str, owner: &str) -> String {
        if self.value(field).is_none() {
            self.missing(field, &format!("{owner} needs `{field}`"));
        }
        self.text(field).unwrap_or_default()
    }

    /// Returns whether a field is true.
    pub(crate) fn flag(&mut self, field: &str) -> Option<bool> {
        let value = self.value(field)?;
        if value.as_bool().is_none() {
            let message = format!("`{field}` is true or false, this is of type {}", value.kind());
            self.wrong(field, message);
            return None;
        }
        value.as_bool()
    }

    /// Returns a list of texts; a single text is a list of one.
    pub(crate) fn texts(&mut self, field: &str) -> Vec<String> {
        let Some(value) = self.value(field) else { return Vec::new() };
        if let Some(text) = value.as_str() {
            return vec![text.to_owned()];
        }
        let texts: Option<Vec<String>> = value
            .as_array()
            .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        texts.unwrap_or_else(|| {
            self.wrong(field, format!("`{field}` is a list of texts, this is of type {}", value.kind()));
            Vec::new()
        })
    }

    /// Returns a list of texts that must be there.
    pub(crate) fn required_texts(&mut self, field: &str, owner: &str) -> Vec<String> {
        if self.value(field).is_none() {
            self.missing(field, &format!("{owner} needs `{field}`"));
        }
        self.texts(field)
    }

    /// Returns the word of a field, which must be one of `words`.
    pub(crate) fn word(&mut self, field: &str, what: &str, words: &[&str]) -> Option<String> {
        let word = self.text(field)?;
        if !words.contains(&word.as_str()) {
            let help = match nearest_word(&word, words.iter().copied()) {
                Some(near) => did_you_mean(near),
                None => format!("use one of {}", words.join(", ")),
            };
            self.problem(self.codes.value, field, format!("unknown {what} `{word}`"), help);
        }
        Some(word)
    }

    /// Returns what `operation` says.
    pub(crate) fn operation(&mut self) -> Option<Operation> {
        let word = self.text("operation")?;
        let operation = Operation::named(&word);
        if operation.is_none() {
            self.problem(
                self.codes.value,
                "operation",
                format!("unknown operation `{word}`"),
                "use one of CREATE, UPDATE, DELETE, CONNECT".to_owned(),
            );
        }
        operation
    }

    /// Reports every field that is not in `known`, and whatever is no object.
    pub(crate) fn check_fields(&mut self, known: &[&str]) {
        let Some(value) = self.value else { return };
        let Some(map) = value.as_object() else {
            let message = format!("expected an object with fields, found {}", value.kind());
            self.problems.push(Diagnostic::new(self.codes.value, message, self.location()));
            return;
        };
        let mut unknown: Vec<&Text> = map.keys().filter(|field| !known.contains(&field.as_str())).collect();
        self.may_differ_in_case &= !unknown.is_empty();
        unknown.retain(|field| !known.iter().any(|known| self.is_called(known, field)));
        for field in unknown {
            let mut path = self.path.clone();
            path.push(Step::Key(field.clone()));
            let problem = Diagnostic::new(
                self.codes.unknown,
                format!("unknown field `{field}`"),
                self.document.locate_key(&path),
            );
            self.problems.push(problem.help(match nearest_word(field, known.iter().copied()) {
                Some(near) => did_you_mean(near),
                None => format!("the fields here are {}", known.join(", ")),
            }));
        }
    }

    /// Reports that a field is missing.
    pub(crate) fn missing(&mut self, field: &str, message: &str) {
        self.problem(self.codes.missing, field, message.to_owned(), String::new());
    }

    /// Reports that the value of a field does not fit.
    pub(crate) fn wrong(&mut self, field: &str, message: String) {
        self.problem(self.codes.value, field, message, String::new());
    }

    /// Reports that the value here is invalid.
    pub(crate) fn wrong_here(&mut self, message: String) {
        let location = self.location();
        self.problems.push(Diagnostic::new(self.codes.value, message, location));
    }

    /// Reports that a key means nothing as it is written.
    pub(crate) fn wrong_key(&mut self, key: &Text, message: String, help: Option<String>) {
        let mut path = self.path.clone();
        path.push(Step::Key(key.clone()));
        let problem = Diagnostic::new(self.codes.value, message, self.document.locate_key(&path));
        self.problems.push(problem.help(help.unwrap_or_default()));
    }

    /// Reports something else.
    pub(crate) fn report(&mut self, problem: Diagnostic) {
        self.problems.push(problem);
    }

    fn problem(&mut self, code: &'static Code, field: &str, message: String, help: String) {
        let key = self.entry(field).map_or_else(|| field.into(), |(key, _)| Step::Key(key.clone()));
        let mut path = self.path.clone();
        path.push(key);
        self.problems.push(Diagnostic::new(code, message, self.document.locate(&path)).help(help));
    }

    fn entry(&self, field: &str) -> Option<(&'a Text, &'a Value)> {
        let map = self.value?.as_object()?;
        let in_other_case = || map.keys().position(|key| self.is_called(field, key));
        let place = map.position(field).or_else(|| self.may_differ_in_case.then(in_other_case).flatten())?;
        map.entry(place).filter(|(_, value)| !value.is_null())
    }

    fn is_called(&self, known: &str, field: &str) -> bool {
        // Most names differ in their lengths already.
        known.len() == field.len()
            && (known == field || (self.ignores_case && known.eq_ignore_ascii_case(field)))
    }
}
