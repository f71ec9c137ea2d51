//! Reading of patterns, field by field. Both dialects give the same [`Definition`].

mod conditions;
mod contract;
mod criteria;
mod options;
mod successor;
#[cfg(test)]
mod tests;

use kubewright_engine::Diagnostic;
use kubewright_graph::Strength;
use kubewright_value::duration::Duration;
use kubewright_value::{Document, Step, Text, Value};

use super::criteria::{CriterionSide, ValueCriterion};
use super::diagnostics as code;
use super::filter::Quantifier;
use super::operator::ConditionOperator;
use super::pattern::{EdgeDirection, KindRef, Level, Presence, RelationshipList, Topology};
use super::points::Points;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, FieldCodes, Located};

/// The version of the contract.
pub(crate) const CONTRACT_VERSION: &str = "kubepattern.it/v1";
/// The former version of the contract.
pub(crate) const OLD_CONTRACT_VERSION: &str = "kubepattern.sigemi.it/v1";
/// The version of the dialect with a target and its dependencies.
pub(crate) const SUCCESSOR_VERSION: &str = "kubepattern.dev/v1";

/// A pattern as it is written.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) version: Text,
    pub(crate) name: Text,
    pub(crate) display_name: Text,
    pub(crate) pattern_type: Text,
    pub(crate) severity: Level,
    pub(crate) category: Text,
    pub(crate) description: Text,
    pub(crate) doc_url: Text,
    pub(crate) git_url: Text,
    pub(crate) message: Located<Text>,
    pub(crate) topology: Topology,
    pub(crate) resources: Vec<WrittenResource>,
    /// Position of the leader.
    pub(crate) leader: usize,
    pub(crate) actors: Vec<Located<Text>>,
    pub(crate) entries: Vec<WrittenRelationship>,
    pub(crate) minimum: Option<Located<Points>>,
    pub(crate) common_minimum: Option<Points>,
    pub(crate) emits_on_empty: bool,
    /// `for`, in seconds.
    pub(crate) lasting_seconds: i64,
    /// Whether the same objects in other roles count as the same finding.
    pub(crate) is_unordered: bool,
    /// Whether it is written in the dialect with a target.
    pub(crate) is_successor: bool,
}

/// One of the resources.
#[derive(Debug, Clone)]
pub(crate) struct WrittenResource {
    pub(crate) path: Vec<Step>,
    pub(crate) id: Text,
    pub(crate) kinds: Vec<KindRef>,
    pub(crate) presence: Presence,
    pub(crate) if_listed: Vec<Text>,
    /// Where the target says which kind it is: the paths of its version and its kind.
    pub(crate) from_target: Option<(Located<Text>, Located<Text>)>,
    pub(crate) all: Vec<WrittenCondition>,
    pub(crate) any: Vec<WrittenCondition>,
    pub(crate) none: Vec<WrittenCondition>,
}

/// One condition of a filter.
#[derive(Debug, Clone)]
pub(crate) struct WrittenCondition {
    pub(crate) key: Located<Text>,
    pub(crate) operator: ConditionOperator,
    pub(crate) values: Vec<Located<Value>>,
    pub(crate) values_from: Option<Located<Text>>,
    pub(crate) quantifier: Option<Located<Quantifier>>,
}

/// One of the relationships.
#[derive(Debug, Clone)]
pub(crate) struct WrittenRelationship {
    pub(crate) path: Vec<Step>,
    pub(crate) id: Text,
    pub(crate) list: RelationshipList,
    pub(crate) ids: Vec<Located<Text>>,
    pub(crate) link: WrittenLink,
    pub(crate) at_least: Option<Located<usize>>,
    pub(crate) rule: WrittenEffect,
    pub(crate) weight: Option<Located<Points>>,
    pub(crate) description: Option<Located<Text>>,
}

/// When a relationship holds.
#[derive(Debug, Clone)]
pub(crate) enum WrittenLink {
    Typed { names: Vec<Located<Text>>, options: WrittenEdgeOptions },
    Custom(Vec<WrittenCriterion>),
    Owns,
    OwnedBy,
    Selects(Located<Text>, Vec<WrittenCriterion>),
    SelectedBy(Located<Text>, Vec<WrittenCriterion>),
}

/// The options of an edge besides its type.
#[derive(Debug, Clone)]
pub(crate) struct WrittenEdgeOptions {
    /// Nothing where it is not written.
    pub(crate) direction: Option<EdgeDirection>,
    pub(crate) strengths: Vec<Strength>,
    pub(crate) via: Vec<Text>,
    pub(crate) by_name: bool,
    pub(crate) is_transitive: bool,
    /// Between the first object, which is called target, and the second, which is called dependency.
    pub(crate) criteria: Vec<WrittenCriterion>,
}

/// The effect of a relationship.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrittenEffect {
    Matrix {
        required: bool,
        shared: bool,
    },
    /// One of a group must hold.
    OneOf,
}

/// A criterion whose paths are not compiled yet.
pub(crate) type WrittenCriterion = ValueCriterion<Located<Text>>;

/// A side of a criterion whose paths are not compiled yet.
type WrittenSide = CriterionSide<Located<Text>>;

/// Returns the version of `document`, from `apiVersion` or `version`.
pub(crate) fn pattern_version(document: &Document) -> Option<&str> {
    let named = |key: &str| document.value.get(key).and_then(Value::as_str);
    named("apiVersion").or_else(|| named("version"))
}

/// Reads `document`. Where something is wrong there may be a definition all the same, for finding what else is.
pub(crate) fn read_definition(document: &Document) -> (Option<Definition>, Vec<Diagnostic>) {
    let codes = FieldCodes {
        unquoted: &code::UNQUOTED_TEXT,
        unknown: &code::UNKNOWN_FIELD,
        wrong_type: &code::WRONG_TYPE,
        missing: &code::MISSING_FIELD,
        unknown_value: &code::UNKNOWN_VALUE,
    };
    let mut reader = DocumentReader::new(document, codes);
    let definition = read_definition_of(&mut reader);
    (definition, reader.diagnostics)
}

fn read_definition_of(reader: &mut DocumentReader<'_>) -> Option<Definition> {
    let root = reader.root()?;
    reader.only(&root, &["version", "apiVersion", "kind", "metadata", "spec", "status"]);
    let key = if reader.any(&root, "apiVersion").is_some() { "apiVersion" } else { "version" };
    let version = match reader.any(&root, key) {
        None => {
            reader.missing(&root, "apiVersion");
            None
        }
        Some(_) => reader.filled(&root, key),
    };
    let kind = reader.filled(&root, "kind");
    if let Some(kind) = &kind {
        reader.one_of(kind, "kind", &[("Pattern", ()), ("PatternAsCode", ())]);
    }
    let metadata = reader.required_object(&root, "metadata");
    let spec = reader.required_object(&root, "spec");
    let version = version?;
    match version.value.as_str() {
        SUCCESSOR_VERSION => successor::read_successor(reader, version.value, &metadata?, &spec?),
        CONTRACT_VERSION => contract::read_contract(reader, version.value, &metadata?, &spec?),
        OLD_CONTRACT_VERSION => {
            let location = reader.place(&version.path);
            let message = format!("`{OLD_CONTRACT_VERSION}` is read as `{CONTRACT_VERSION}`");
            let help = format!("write `{CONTRACT_VERSION}`");
            reader.report(Diagnostic::new(&code::OLD_VERSION, message, location).help(help));
            contract::read_contract(reader, version.value, &metadata?, &spec?)
        }
        other => {
            let location = reader.place(&version.path);
            let message = format!("unknown version `{other}`");
            let help =
                format!("use `{CONTRACT_VERSION}`, or `{SUCCESSOR_VERSION}` for patterns with a target");
            reader.report(Diagnostic::new(&code::UNKNOWN_VERSION, message, location).help(help));
            None
        }
    }
}

/// Reads `metadata.name`, of which names of findings are made.
fn read_pattern_name<'d>(reader: &mut DocumentReader<'d>, metadata: &DocumentFields<'d>) -> Option<Text> {
    let name = reader.filled(metadata, "name")?;
    let is_fine = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '-';
    if !name.value.chars().all(is_fine) {
        let message = format!("the name `{}` has characters that are not allowed", name.value);
        let location = reader.place(&name.path);
        let help = "use letters, digits, `-` and `.`";
        reader.report(Diagnostic::new(&code::BAD_NAME, message, location).help(help));
    }
    Some(name.value)
}

/// Reads a word, in whatever case it is written and with or without `_`.
fn read_word<'d, T: Copy>(
    reader: &mut DocumentReader<'d>,
    found: &Located<Text>,
    what: &str,
    words: &[(&str, T)],
) -> Option<T> {
    let plain = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
    let wanted = plain(&found.value);
    match words.iter().find(|(word, _)| plain(word) == wanted) {
        Some((_, meaning)) => Some(*meaning),
        None => reader.one_of(found, what, words),
    }
}

/// Reads a number of points.
fn read_points<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Option<Located<Points>> {
    let found = reader.any(fields, key)?;
    let points = found.value.as_number().and_then(Points::of);
    if points.is_none() {
        let message = format!("`{key}` is `{}`, expected a number of zero or more", found.value);
        let location = reader.place(&found.path);
        reader.report(Diagnostic::new(&code::BAD_NUMBER, message, location).help("write for example `0.5`"));
    }
    points.map(|value| Located { value, path: found.path })
}

/// Reads `for`, the duration for which a condition must hold, in whole seconds; zero where it is not written.
fn read_lasting_seconds<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> i64 {
    let Some(found) = reader.string(spec, "for") else { return 0 };
    let parsed = Duration::parse(&found.value).ok().filter(|duration| duration.nanoseconds() >= 0);
    if parsed.is_none() {
        let message = format!("`for` is `{}`, expected a duration", found.value);
        let location = reader.place(&found.path);
        reader.report(
            Diagnostic::new(&code::UNKNOWN_VALUE, message, location)
                .help("write for example `5m` or `1h30m`"),
        );
    }
    // A part of a second counts as one: a condition never counts too early.
    parsed.map_or(0, |duration| {
        let nanoseconds = duration.nanoseconds();
        nanoseconds / NANOSECONDS_PER_SECOND + i64::from(nanoseconds % NANOSECONDS_PER_SECOND > 0)
    })
}

const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// Returns `group/version` in its two parts.
fn split_api_version(api_version: &str) -> (Option<Text>, Option<Text>) {
    match api_version.rsplit_once('/') {
        Some((group, version)) => (Some(group.into()), Some(version.into())),
        None => (Some(Text::default()), Some(api_version.into())),
    }
}
