//! What is wrong with a rule file or an input, and where.

use std::fmt;

use kubewright_value::{Location, ParseProblem, ParseProblemKind, Text, Value};

use kubewright_k8s::ObjectName;
use kubewright_packed::PackedTexts;

/// A stable name for one sort of mistake, with its page.
#[derive(Debug, PartialEq, Eq)]
pub struct Code {
    /// Such as `KW-Y001`. A promise: never reused for another mistake.
    pub id: &'static str,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// How bad it is.
    pub severity: DiagnosticLevel,
}

/// The pages of all codes, packed by the build script.
static PAGES: PackedTexts = PackedTexts::new(include_bytes!(concat!(env!("OUT_DIR"), "/pages.packed")));

impl Code {
    /// Returns what it means, why it matters and how to mend it, as Markdown.
    #[must_use]
    pub fn page(&self) -> &'static str {
        PAGES.get(self.id).unwrap_or_default()
    }
}

/// How bad a mistake is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DiagnosticLevel {
    /// Works as it says; worth knowing. Never refused, also where warnings are.
    Hint,
    /// Works, and is probably not what was meant.
    Warning,
    /// Does not work; the rule or document is left out.
    Error,
}

impl DiagnosticLevel {
    /// Returns the word for it in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hint => "hint",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for DiagnosticLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One mistake in one place.
#[derive(Debug, Clone)]
pub struct Diagnostic {
    /// Which sort.
    pub code: &'static Code,
    /// What was found and what was expected.
    pub message: String,
    /// Where.
    pub location: Location,
    /// What the place is, shown beside the caret; may be empty.
    pub label: Box<str>,
    /// The remedy; may be empty.
    pub help: String,
    /// Whether it counts as an error although its code is a warning, because the user asked for that.
    pub is_raised: bool,
    /// The key that an expression asked for and a map does not have, where that is the mistake.
    pub missing_key: Option<Box<Text>>,
    /// The words of the program that the rule language comes from, for those who look for them in an answer of a webhook.
    pub upstream_words: Option<Box<Text>>,
    /// The object that shows it, where that is another than what the place is in.
    pub subject: Option<Box<DiagnosticSubject>>,
}

/// The object that shows the mistake, where its cause is elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiagnosticSubject {
    /// Its `apiVersion`.
    pub api_version: Text,
    /// What it is called.
    pub name: ObjectName,
    /// The field, as its rule writes paths; empty for the whole object.
    pub path: String,
}

impl Diagnostic {
    /// Returns a diagnostic without label, help and subject.
    #[must_use]
    pub fn new(code: &'static Code, message: impl Into<String>, location: Location) -> Self {
        Self {
            code,
            message: message.into(),
            location,
            label: Box::default(),
            help: String::new(),
            is_raised: false,
            missing_key: None,
            upstream_words: None,
            subject: None,
        }
    }

    /// Returns this diagnostic with the remedy `help`.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Returns this diagnostic with the `words` in which the original program says it.
    #[must_use]
    pub fn upstream(mut self, words: impl Into<String>) -> Self {
        self.upstream_words = Some(Box::new(words.into().into()));
        self
    }

    /// Returns this diagnostic with `label` beside the caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into().into_boxed_str();
        self
    }

    /// Returns this diagnostic with `object` as its subject, in which it is about `path`.
    #[must_use]
    pub fn about(mut self, object: &Value, path: impl Into<String>) -> Self {
        let api_version = object.str_at(&["apiVersion"]).into();
        let subject = DiagnosticSubject { api_version, name: ObjectName::of(object), path: path.into() };
        self.subject = Some(Box::new(subject));
        self
    }

    /// Returns the word at its place and the right one, where the remedy is another word.
    #[must_use]
    pub fn correction(&self) -> Option<(String, String)> {
        let right = self.help.strip_prefix("did you mean `")?.strip_suffix("`?")?;
        let word = self.location.text()?;
        // The place is that of the word which the message quotes.
        let is_plain = !word.contains(char::is_whitespace) && self.message.contains(&format!("`{word}`"));
        (is_plain && word != right).then(|| (word, right.to_owned()))
    }

    /// Returns how bad it is.
    #[must_use]
    pub fn severity(&self) -> DiagnosticLevel {
        if self.is_raised { DiagnosticLevel::Error } else { self.code.severity }
    }

    /// Returns whether it is at least a warning.
    #[must_use]
    pub fn is_doubtful(&self) -> bool {
        self.severity() != DiagnosticLevel::Hint
    }

    /// Returns whether something was left out because of it.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity() == DiagnosticLevel::Error
    }
}

/// As one line: `severity[code]: message at place`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {} at {}", self.severity(), self.code.id, self.message, self.location)
    }
}

/// Declares a static [`Code`] for each line and one list of all of them, with the visibility written before the list.
///
/// The page of a code is the file of its name in `docs/diagnostics`.
#[macro_export]
macro_rules! codes {
    (
        $(#[$attribute:meta])*
        $visibility:vis static $list:ident;
        $($name:ident $id:literal $severity:ident $title:literal;)*
    ) => {
        $(
            #[doc = concat!($id, ": ", $title)]
            $visibility static $name: $crate::Code = $crate::Code {
                id: $id,
                title: $title,
                severity: $crate::DiagnosticLevel::$severity,
            };
        )*

        $(#[$attribute])*
        $visibility static $list: &[&$crate::Code] = &[$(&$name),*];
    };
}

codes! {
    /// The codes of everything that can be wrong with a text before it is a rule.
    static READING_CODES;

    SYNTAX "KW-Y001" Error "the text is not YAML or JSON";
    ENCODING "KW-Y002" Error "the text is not UTF-8";
    CONTROL "KW-Y003" Error "the text has a control character";
    DEPTH "KW-Y004" Error "the document is nested too deep";
    ALIASES "KW-Y005" Error "aliases expand beyond the limit";
    SIZE "KW-Y006" Error "the document is too large";
    DUPLICATE "KW-Y007" Warning "a duplicate key";
    KEY "KW-Y008" Error "a key is not text";
    NUMBER "KW-Y009" Error "a number cannot be written in JSON";
    TAG "KW-Y010" Error "a tag does not fit its value";
}

/// Returns the codes of everything that can be wrong with a text before it is a rule.
#[must_use]
pub fn reading_codes() -> Vec<&'static Code> {
    READING_CODES.to_vec()
}

/// A problem of a text is a diagnostic whose code follows from its kind.
impl From<ParseProblem> for Diagnostic {
    fn from(problem: ParseProblem) -> Self {
        let code = match problem.kind {
            ParseProblemKind::Syntax => &SYNTAX,
            ParseProblemKind::Encoding => &ENCODING,
            ParseProblemKind::ControlCharacter => &CONTROL,
            ParseProblemKind::Depth => &DEPTH,
            ParseProblemKind::AliasExpansion => &ALIASES,
            ParseProblemKind::Size => &SIZE,
            ParseProblemKind::DuplicateKey => &DUPLICATE,
            ParseProblemKind::Key => &KEY,
            ParseProblemKind::Number => &NUMBER,
            ParseProblemKind::Tag => &TAG,
        };
        Self::new(code, problem.message, problem.location)
    }
}
