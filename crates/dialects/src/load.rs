//! Documents to rules, whatever language each is written in.

use std::borrow::Cow;
use std::collections::HashMap;

use kubewright_dialect_kit::bounded;
use kubewright_engine::{Code, Diagnostic, Dialect, Rule, SetProgram, reading_codes};
use kubewright_golib::compile_budget::{CompileBudget, CompileLimits};
use kubewright_value::{Document, Value};

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
    let mut loaded = LoadedRules::default();
    let mut budget = CompileBudget::new(limits);
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
        compile_one(dialects, &document, &auxiliaries, &mut budget, &mut loaded);
    }
    for (position, dialect) in dialects.iter().enumerate() {
        let Some(auxiliaries) = auxiliaries.get(&position) else { continue };
        loaded.diagnostics.extend(dialect.check_auxiliaries(auxiliaries, &loaded.rules));
    }
    report_duplicates(&mut loaded);
    loaded
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
    budget: &mut CompileBudget,
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
    loaded.diagnostics.extend(typos::check_kinds(document));
    let auxiliaries = auxiliaries.get(&position).map(Vec::as_slice).unwrap_or_default();
    let compiled = bounded::compile_within_budget(dialect.as_ref(), document, auxiliaries, budget);
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

fn report_duplicates(loaded: &mut LoadedRules) {
    let (mut known, mut count) = (HashMap::new(), 0);
    for rule in &loaded.rules {
        if let Some(earlier) = known.insert((rule.id.to_string(), rule.action), &rule.location) {
            count += 1;
            if count > bounded::MAX_DIAGNOSTICS {
                continue;
            }
            let message = format!("`{}` was already defined at {earlier}, and this one replaces it", rule.id);
            loaded.diagnostics.push(
                Diagnostic::new(&DUPLICATE_RULE, message, rule.location.clone())
                    .help("give one of the two another name"),
            );
        }
    }
}
