//! Documents to rules, whatever language each is written in.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use kubewright_dialect_kit::bounded;
use kubewright_engine::{Code, Diagnostic, Dialect, Rule, RuleAction, RuleId, SetProgram, reading_codes};
use kubewright_golib::compile_budget::{CompileBudget, CompileLimits, SharedRegexes};
use kubewright_value::{Document, Location, Text, Value};

use crate::{DialectOptions, all_dialects, typos};

kubewright_engine::codes! {
    /// The codes of documents that no dialect reads alone.
    static LOADING_CODES;

    UNCLAIMED "KW-L001" Error "no rule language claims the document";
    DUPLICATE_RULE "KW-L002" Warning "two rules have one name";
}

/// The rules of all documents, and their diagnostics.
#[derive(Debug, Default)]
pub struct LoadedRules {
    /// The valid rules, in document order.
    pub rules: Vec<Rule>,
    /// All diagnostics, in document order.
    pub diagnostics: Vec<Diagnostic>,
    /// The programs about sets of objects.
    pub set_programs: Vec<SetProgram>,
    /// The documents that are not rules. This is an error where a file was named as a rule file, but not in a
    /// folder, where rules may be stored beside other objects.
    pub unclaimed: Vec<Diagnostic>,
}

/// Compiles `documents`; a Kubernetes `List` is replaced by its items.
#[must_use]
pub fn load_documents(dialects: &[Box<dyn Dialect>], documents: &[Document]) -> LoadedRules {
    load_documents_within(dialects, documents, CompileLimits::default())
}

/// Compiles `documents` within `limits`. A document over the limits is reported and left out; the others are compiled.
#[must_use]
pub fn load_documents_within(
    dialects: &[Box<dyn Dialect>],
    documents: &[Document],
    limits: CompileLimits,
) -> LoadedRules {
    let budget = CompileBudget::new(limits);
    load_with(dialects, documents, Loading { budget, has_warnings: true, is_kept: true })
}

/// Does what [`load_documents`] does for rules that are not kept, without compiling regular expressions that are among
/// `regexes`, and without warnings about documents that no dialect finds alone.
#[must_use]
pub fn load_rules_sharing(
    dialects: &[Box<dyn Dialect>],
    documents: &[Document],
    regexes: &SharedRegexes,
) -> LoadedRules {
    let budget = CompileBudget::default().sharing(regexes);
    load_with(dialects, documents, Loading { budget, has_warnings: false, is_kept: false })
}

/// How documents are compiled.
struct Loading {
    budget: CompileBudget,
    /// Whether warnings are given that no dialect finds alone.
    has_warnings: bool,
    /// Whether the rules are kept for long, so that their documents should take little memory.
    is_kept: bool,
}

fn load_with(dialects: &[Box<dyn Dialect>], documents: &[Document], mut loading: Loading) -> LoadedRules {
    let mut loaded = LoadedRules::default();
    let (mut rules, mut auxiliaries) = (Vec::new(), Auxiliaries::new());
    for document in documents {
        match list_documents(document) {
            Some(items) => {
                items.for_each(|item| {
                    sort_by_dialect(dialects, Cow::Owned(item), &mut rules, &mut auxiliaries);
                });
            }
            None => sort_by_dialect(dialects, Cow::Borrowed(document), &mut rules, &mut auxiliaries),
        }
    }
    for document in rules {
        compile_one(dialects, &document, &auxiliaries, &mut loading, &mut loaded);
    }
    for (position, dialect) in dialects.iter().enumerate() {
        let Some(auxiliaries) = auxiliaries.get(&position) else { continue };
        let ids: Vec<Arc<RuleId>> = loaded.rules.iter().map(|rule| Arc::clone(&rule.id)).collect();
        loaded.diagnostics.extend(dialect.check_auxiliaries(auxiliaries, &ids));
    }
    if loading.has_warnings {
        let rules = loaded.rules.iter().map(|rule| (&*rule.id, rule.action, &rule.location));
        loaded.diagnostics.extend(duplicate_rules(rules));
    }
    loaded
}

/// What a document is to the rule languages, each named by its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentRole {
    /// It has rules of this language.
    Rule(usize),
    /// It changes how rules of this language work.
    Auxiliary(usize),
    /// It was probably meant to be one of these.
    Attempt,
    /// It is something else.
    Other,
}

/// Returns what `document` is to `dialects`.
#[must_use]
pub fn document_role(dialects: &[Box<dyn Dialect>], document: &Document) -> DocumentRole {
    if let Some(position) = dialects.iter().position(|dialect| dialect.is_auxiliary(document)) {
        return DocumentRole::Auxiliary(position);
    }
    match dialects.iter().position(|dialect| dialect.claims(document)) {
        Some(position) => DocumentRole::Rule(position),
        None if dialects.iter().any(|dialect| dialect.looks_like(document)) => DocumentRole::Attempt,
        None => DocumentRole::Other,
    }
}

/// Compiles one document, which is no list, beside `auxiliaries` of its language. What can only be said of all documents
/// together is left out: [`Dialect::check_auxiliaries`] and [`duplicate_rules`] say it.
#[must_use]
pub fn compile_document(
    dialects: &[Box<dyn Dialect>],
    document: &Document,
    auxiliaries: &[Document],
) -> LoadedRules {
    let mut loaded = LoadedRules::default();
    let budget = CompileBudget::new(CompileLimits::default());
    let mut loading = Loading { budget, has_warnings: true, is_kept: true };
    let position = dialects.iter().position(|dialect| dialect.claims(document)).unwrap_or_default();
    let auxiliaries = Auxiliaries::from([(position, auxiliaries.to_vec())]);
    compile_one(dialects, document, &auxiliaries, &mut loading, &mut loaded);
    loaded
}

/// Lets rules that run one after the other do so in the order in which their policies are given.
pub fn run_in_given_order<'r>(rules: impl Iterator<Item = &'r mut Rule>) {
    let mut policies: HashMap<Text, u32> = HashMap::new();
    for rule in rules.filter(|rule| rule.matches_current) {
        let next = u32::try_from(policies.len()).unwrap_or(u32::MAX);
        rule.precedence = *policies.entry(rule.id.policy.clone()).or_insert(next);
    }
}

/// Auxiliary documents, by the position of their dialect.
type Auxiliaries = HashMap<usize, Vec<Document>>;

fn sort_by_dialect<'d>(
    dialects: &[Box<dyn Dialect>],
    document: Cow<'d, Document>,
    rules: &mut Vec<Cow<'d, Document>>,
    auxiliaries: &mut Auxiliaries,
) {
    match dialects.iter().position(|dialect| dialect.is_auxiliary(&document)) {
        Some(dialect) => auxiliaries.entry(dialect).or_default().push(document.into_owned()),
        None => rules.push(document),
    }
}

/// Returns the codes of all diagnostics of rule files.
#[must_use]
pub fn rule_file_codes() -> Vec<&'static Code> {
    let mut codes = reading_codes();
    codes.extend(LOADING_CODES);
    codes.extend(typos::TYPO_CODES);
    codes.extend(bounded::CODES);
    codes.extend(kubewright_cel_rules::diagnostics::CODES);
    codes.extend(all_dialects(&DialectOptions::default()).iter().flat_map(|dialect| dialect.codes()));
    codes
}

fn compile_one(
    dialects: &[Box<dyn Dialect>],
    document: &Document,
    auxiliaries: &Auxiliaries,
    loading: &mut Loading,
    loaded: &mut LoadedRules,
) {
    let Some((position, dialect)) = dialects.iter().enumerate().find(|(_, dialect)| dialect.claims(document))
    else {
        let is_attempt = dialects.iter().any(|dialect| dialect.looks_like(document));
        let list = if is_attempt { &mut loaded.diagnostics } else { &mut loaded.unclaimed };
        list.push(unclaimed_diagnostic(document));
        return;
    };
    loaded.diagnostics.extend(typos::check_version(document));
    if loading.has_warnings {
        loaded.diagnostics.extend(typos::check_kinds(document));
    }
    let auxiliaries = auxiliaries.get(&position).map(Vec::as_slice).unwrap_or_default();
    let compile = if loading.is_kept { bounded::compile_within_budget } else { bounded::compile_in_place };
    let compiled = compile(dialect.as_ref(), document, auxiliaries, &mut loading.budget);
    loaded.rules.extend(compiled.rules);
    loaded.diagnostics.extend(compiled.diagnostics);
    loaded.set_programs.extend(compiled.set_programs);
}

/// Returns the items of a Kubernetes list, each a document of its own.
pub fn list_documents(document: &Document) -> Option<impl Iterator<Item = Document>> {
    let kind = document.value.get("kind").and_then(Value::as_str)?;
    document.value.get("items").and_then(Value::as_array)?;
    kind.ends_with("List").then(|| document.items(&["items".into()]))
}

fn unclaimed_diagnostic(document: &Document) -> Diagnostic {
    let text = |key: &str| document.value.get(key).and_then(Value::as_str).unwrap_or("(none)").to_owned();
    let message = match document.value {
        Value::Object(_) => {
            format!("`{}` of `{}` is not a rule that kubewright reads", text("kind"), text("apiVersion"))
        }
        ref other => format!("expected a rule, found {}", other.kind()),
    };
    let meant = typos::meant_kind(document);
    let help = match crate::is_exception_document(document) {
        true => {
            "exceptions are passed with `--exceptions`; `--exceptions-within-policies` takes those among rules"
        }
        false => "resources are passed with `-r`, objects that rules look up with `--world`",
    };
    let help = meant.unwrap_or_else(|| help.to_owned());
    Diagnostic::new(&UNCLAIMED, message, document.locate(&["kind".into()])).help(help)
}

/// Returns a warning for every rule that replaces an earlier one of its name.
pub fn duplicate_rules<'r>(
    rules: impl Iterator<Item = (&'r RuleId, RuleAction, &'r Location)>,
) -> Vec<Diagnostic> {
    let (mut known, mut diagnostics) = (HashMap::new(), Vec::new());
    for (id, action, location) in rules {
        let Some(earlier) = known.insert((id, action), location) else { continue };
        if diagnostics.len() >= bounded::MAX_DIAGNOSTICS {
            continue;
        }
        let message = format!("`{id}` was already defined at {earlier}, and this one replaces it");
        let diagnostic = Diagnostic::new(&DUPLICATE_RULE, message, location.clone());
        diagnostics.push(diagnostic.help("give one of the two another name"));
    }
    diagnostics
}
