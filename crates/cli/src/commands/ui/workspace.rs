//! The texts of a request as files in memory, each document where it belongs.
//!
//! A person may paste everything into one box. So documents are sorted: one that is no rule is an object, also where the
//! rules are, and rules are taken from the objects where the rules have none. What does not belong to a file is turned
//! into comments, so that every place in an answer is a place in the text that was sent.

use std::sync::Arc;

use kubewright_dialects::{DialectOptions, all_dialects, is_exception_document};
use kubewright_engine::{Diagnostic, Dialect};
use kubewright_files::{self as files, MemoryFiles, ObjectFilter};
use kubewright_graph::References;
use kubewright_traits::is_trait_resource;
use kubewright_value::{Document, Source, yaml};

use crate::commands::render::library::is_trait;
use kubewright_ui::{PageText, TextRole};

/// What a text is told that has no rule.
const RULE_HELP: &str = "rules are documents such as a ClusterPolicy, a ValidatingPolicy, a ModRule, a Pattern or a Trait, \
    with at least one rule; the examples have all of them";

/// Files in memory by what they are for.
#[derive(Debug, Default)]
pub(super) struct PageWorkspace {
    files: Arc<MemoryFiles>,
    /// Files with rules.
    pub(super) rules: Vec<String>,
    /// Files with traits and what belongs to them.
    pub(super) traits: Vec<String>,
    /// Files with patterns and references.
    pub(super) patterns: Vec<String>,
    pub(super) objects: Vec<String>,
    pub(super) exceptions: Vec<String>,
    pub(super) world: Vec<String>,
    pub(super) old: Vec<String>,
    pub(super) parameters: Vec<String>,
    pub(super) user: Vec<String>,
    pub(super) values: Vec<String>,
    /// What traits are given: flags of `render` with their files.
    pub(super) trait_values: Vec<String>,
    /// The names of the rule languages that were met, in their order.
    pub(super) languages: Vec<&'static str>,
}

/// What a document is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DocumentSort {
    Rule,
    Trait,
    Pattern,
    Exception,
    Values,
    User,
    World,
    Object,
    /// Something that cannot be told, which is judged by the role of its file.
    Unknown,
}

/// The sorts that have files of their own, by the folder in memory.
const SORTED: [(&str, DocumentSort); 8] = [
    ("rules", DocumentSort::Rule),
    ("traits", DocumentSort::Trait),
    ("patterns", DocumentSort::Pattern),
    ("exceptions", DocumentSort::Exception),
    ("values", DocumentSort::Values),
    ("user", DocumentSort::User),
    ("world", DocumentSort::World),
    ("objects", DocumentSort::Object),
];

impl PageWorkspace {
    /// Sorts `texts`.
    pub(super) fn new(texts: &[PageText]) -> Self {
        let dialects = all_dialects(&DialectOptions::default());
        let sorted: Vec<Vec<SortedPart>> = texts.iter().map(|text| sort_parts(text, &dialects)).collect();
        let has_program = |role: TextRole| {
            let own = texts.iter().zip(&sorted).filter(|(text, _)| text.role == role);
            own.flat_map(|(_, parts)| parts).any(|part| part.sort.is_program())
        };
        let known = KnownPrograms {
            among_rules: has_program(TextRole::Rules),
            among_objects: has_program(TextRole::Objects),
        };
        let mut space = Self::default();
        let mut memory = MemoryFiles::default();
        for (number, (text, parts)) in texts.iter().zip(&sorted).enumerate() {
            space.note_languages(parts);
            if text.role == TextRole::Parameters {
                space.trait_values.extend(trait_values(text, number, &mut memory));
            }
            for (folder, sort) in SORTED {
                let keeps = |part: &SortedPart| part.place(text.role, known) == sort;
                if let Some(kept) = keep_parts(&text.text, parts, keeps) {
                    let path = format!("{folder}/{number}");
                    memory.insert(path.clone(), Source::new(&text.name, kept));
                    space.list(sort, text.role).push(path);
                }
            }
        }
        space.languages.sort_by_key(|name| dialects.iter().position(|dialect| dialect.name() == *name));
        space.files = Arc::new(memory);
        space
    }

    /// Returns the texts as files called by their names, for test files that name others.
    pub(super) fn by_name(texts: &[PageText]) -> Self {
        let mut memory = MemoryFiles::default();
        for text in texts {
            memory.insert(&text.name, Source::new(&text.name, &text.text));
        }
        Self { files: Arc::new(memory), ..Self::default() }
    }

    /// Returns the names and texts that decide how rules are compiled.
    pub(super) fn rule_texts(&self) -> Vec<Arc<Source>> {
        self.rules.iter().chain(&self.exceptions).filter_map(|path| self.files.source(path)).collect()
    }

    /// Returns all files with rules, traits and patterns.
    pub(super) fn programs(&self) -> impl Iterator<Item = &String> {
        self.rules.iter().chain(&self.traits).chain(&self.patterns)
    }

    /// Calls the texts of the request by their names where a diagnostic is about whole files, and says what is looked for.
    pub(super) fn restore_names(&self, diagnostic: &mut Diagnostic) {
        let paths: Vec<String> = diagnostic.location.source.name.split(' ').map(str::to_owned).collect();
        let sources: Vec<_> =
            paths.iter().filter_map(|path| Some((path, self.files.source(path)?))).collect();
        for (path, source) in &sources {
            diagnostic.message =
                diagnostic.message.replace(&format!("`{path}`"), &format!("`{}`", source.name));
        }
        let Some((_, first)) = sources.into_iter().next() else { return };
        diagnostic.location.source = first;
        let is_about_rules = paths.first().is_some_and(|path| self.rules.contains(path));
        if is_about_rules && diagnostic.help.is_empty() {
            RULE_HELP.clone_into(&mut diagnostic.help);
        }
    }

    /// Does `work`, which reads these files and no others.
    pub(super) fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        self.files.in_place_of_all(work)
    }

    fn note_languages(&mut self, parts: &[SortedPart]) {
        for name in parts.iter().flat_map(|part| &part.languages) {
            if !self.languages.contains(name) {
                self.languages.push(name);
            }
        }
    }

    fn list(&mut self, sort: DocumentSort, role: TextRole) -> &mut Vec<String> {
        match (sort, role) {
            (DocumentSort::Rule, _) => &mut self.rules,
            (DocumentSort::Trait, _) => &mut self.traits,
            (DocumentSort::Pattern, _) => &mut self.patterns,
            (DocumentSort::Exception, _) => &mut self.exceptions,
            (DocumentSort::Values, _) => &mut self.values,
            (DocumentSort::User, _) => &mut self.user,
            (DocumentSort::World, _) => &mut self.world,
            (_, TextRole::Old) => &mut self.old,
            (_, TextRole::Parameters) => &mut self.parameters,
            (DocumentSort::Object | DocumentSort::Unknown, _) => &mut self.objects,
        }
    }
}

impl DocumentSort {
    /// Returns whether it says what to do with objects.
    fn is_program(self) -> bool {
        matches!(self, Self::Rule | Self::Trait | Self::Pattern)
    }

    fn of(document: &Document, dialects: &[Box<dyn Dialect>]) -> (Self, Option<&'static str>) {
        let text = |key| document.value.str_at(&[key]);
        let (version, kind) = (text("apiVersion"), text("kind"));
        if is_exception_document(document) {
            return (Self::Exception, None);
        }
        if version.starts_with("cli.kyverno.io/") {
            return match kind {
                "Values" => (Self::Values, None),
                "UserInfo" => (Self::User, None),
                _ => (Self::World, None),
            };
        }
        let own = dialects.iter().find(|dialect| dialect.claims(document));
        let name = own.map(|dialect| dialect.name());
        if References::is_one(document) || kubewright_patterns::is_pattern_document(document) {
            return (Self::Pattern, name);
        }
        if is_trait(document) {
            return (Self::Trait, name);
        }
        // Components are what traits are applied to.
        if is_trait_resource(document) {
            return (Self::Object, name);
        }
        let is_rule = name.is_some()
            || dialects.iter().any(|dialect| dialect.is_auxiliary(document) || dialect.looks_like(document));
        match (is_rule, version.is_empty() || kind.is_empty()) {
            (true, _) => (Self::Rule, name),
            (false, true) => (Self::Unknown, None),
            (false, false) => (Self::Object, None),
        }
    }
}

/// The fields of a file with everything that traits are given, and the flags of `render` for them.
const TRAIT_FIELDS: [(&str, &str); 3] =
    [("parameters", "--params"), ("environmentConfigs", "--env-configs"), ("context", "--context")];

/// Returns the flags of `render` for a text of parameters: a stack, a map with the three sorts of values, or parameters.
fn trait_values(text: &PageText, number: usize, memory: &mut MemoryFiles) -> Vec<String> {
    let Some(document) = files::parse_documents(&text.name, &text.text).into_iter().next() else {
        return Vec::new();
    };
    let path = format!("parameters/{number}");
    if document.value.str_at(&["kind"]) == "TraitStack" {
        memory.insert(path.clone(), Source::new(&text.name, &text.text));
        return vec![format!("--stack={path}")];
    }
    let is_field = |name: &str| TRAIT_FIELDS.iter().any(|(field, _)| *field == name);
    let map =
        document.value.as_object().filter(|map| !map.is_empty() && map.keys().all(|name| is_field(name)));
    let Some(map) = map else {
        memory.insert(path.clone(), Source::new(&text.name, &text.text));
        return vec![format!("--params={path}")];
    };
    let mut flags = Vec::new();
    for (field, flag) in TRAIT_FIELDS {
        let Some(value) = map.get(field) else { continue };
        let path = format!("{path}.{field}");
        memory.insert(path.clone(), Source::new(&text.name, yaml::write(value)));
        flags.push(format!("{flag}={path}"));
    }
    flags
}

/// Where there are rules, traits or patterns.
#[derive(Clone, Copy)]
struct KnownPrograms {
    among_rules: bool,
    among_objects: bool,
}

impl KnownPrograms {
    fn any(self) -> bool {
        self.among_rules || self.among_objects
    }
}

/// A part of a text, mostly one document.
struct SortedPart {
    range: std::ops::Range<usize>,
    sort: DocumentSort,
    languages: Vec<&'static str>,
}

impl SortedPart {
    /// Returns among which files the part is, for a file with `role`.
    fn place(&self, role: TextRole, known: KnownPrograms) -> DocumentSort {
        match role {
            TextRole::Rules if self.sort == DocumentSort::Unknown => DocumentSort::Rule,
            // Where nothing is a rule, one of these was meant to be one.
            TextRole::Rules if self.sort == DocumentSort::Object && !known.any() => DocumentSort::Rule,
            TextRole::Rules => self.sort,
            TextRole::Objects if self.sort.is_program() && known.among_rules => DocumentSort::Object,
            TextRole::Objects if self.sort == DocumentSort::Unknown => DocumentSort::Object,
            TextRole::Objects => self.sort,
            TextRole::Exceptions => DocumentSort::Exception,
            TextRole::World => DocumentSort::World,
            TextRole::User => DocumentSort::User,
            TextRole::Parameters if self.sort == DocumentSort::Values => DocumentSort::Values,
            TextRole::Old | TextRole::Parameters | TextRole::Test => DocumentSort::Object,
        }
    }
}

fn sort_parts(text: &PageText, dialects: &[Box<dyn Dialect>]) -> Vec<SortedPart> {
    if text.name.ends_with(".json") {
        let documents = files::parse_documents("text", &text.text);
        return vec![sort_part(0..text.text.len(), documents, dialects)];
    }
    let source = Source::new(&text.name, &text.text);
    let chunks = yaml::split(&text.text).into_iter();
    chunks
        .map(|chunk| {
            let documents = yaml::read_chunk(&source, &chunk).documents;
            sort_part(chunk.range, documents, dialects)
        })
        .collect()
}

/// Sorts a part by its documents: a list by its items, and a part with several by the first that is not unknown.
fn sort_part(
    range: std::ops::Range<usize>,
    documents: Vec<Document>,
    dialects: &[Box<dyn Dialect>],
) -> SortedPart {
    let items = files::wanted_objects(documents, ObjectFilter::Payloads, &mut Vec::new());
    let mut part = SortedPart { range, sort: DocumentSort::Unknown, languages: Vec::new() };
    for item in &items {
        let (sort, name) = DocumentSort::of(item, dialects);
        if part.sort == DocumentSort::Unknown || sort.is_program() {
            part.sort = sort;
        }
        part.languages.extend(name);
    }
    part
}

/// What starts a line that belongs to another file. A person does not type this character.
const ELSEWHERE: &str = "#\u{e000}";

/// Returns a text that was made of the text of a request, without the marks of what belongs to other files.
pub(super) fn restored(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| line.strip_prefix(ELSEWHERE).unwrap_or(line));
    lines.collect()
}

/// Returns `text` with the parts that are not kept as comments; nothing where none is kept.
fn keep_parts(text: &str, parts: &[SortedPart], keeps: impl Fn(&SortedPart) -> bool) -> Option<String> {
    if !parts.iter().any(&keeps) {
        return None;
    }
    let mut kept = String::with_capacity(text.len());
    for part in parts {
        let own = text.get(part.range.clone()).unwrap_or_default();
        match keeps(part) {
            true => kept.push_str(own),
            false => own.split_inclusive('\n').for_each(|line| {
                kept.push_str(ELSEWHERE);
                kept.push_str(line);
            }),
        }
    }
    Some(kept)
}

#[cfg(test)]
mod tests;
