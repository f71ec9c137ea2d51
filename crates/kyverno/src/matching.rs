//! Matches objects and users: a `match` without its `exclude`.
//!
//! Within one entry all filters must hold, of the items of one list any. While the user is not known, the user filters
//! of a `match` entry are ignored, and an `exclude` entry with user filters matches nothing.

mod clause;
pub mod kind;
mod overrides;

use std::sync::{Arc, LazyLock};

use kubewright_engine::{
    EvalError, Evaluation, KindScope, NamespaceScope, RuleScope, ScopePlaces, TraceVerdict,
};
use kubewright_k8s::{Operation, Operations};
use kubewright_value::{Document, FieldSet, Step, Text, Value};

use super::source::{self, Match};
use clause::{Clause, ClauseInput, ClauseTest, matched_namespace};
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
use kubewright_dialect_kit::shared::SharedParts;
pub(super) use overrides::Overrides;

/// The compiled `match` and `exclude` of a rule, or the `match` of an exception.
#[derive(Debug, Clone)]
pub(super) struct MatchExclude {
    matching: Arc<MatchBlock>,
    exclude: Option<Arc<MatchBlock>>,
    /// The namespace of a Policy, which matches no other.
    home: Option<Text>,
}

#[derive(Debug, Clone)]
struct MatchBlock {
    mode: MatchMode,
    entries: Vec<MatchEntry>,
    /// Whether user filters are ignored while the user is unknown.
    is_lenient: bool,
    /// Whether objects that fit are left out.
    is_exclude: bool,
    what: &'static str,
    path: Vec<Step>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MatchMode {
    Any,
    All,
}

#[derive(Debug, Clone)]
struct MatchEntry {
    clauses: Vec<Clause>,
    /// Whether it filters objects.
    has_resources: bool,
    /// Whether it filters users.
    has_users: bool,
    /// Whether it filters only users, while other required entries filter objects.
    is_for_users_of_others: bool,
    /// `any[0]`; empty for the older form, which has one entry.
    what: String,
    /// The reason for a rule whose `exclude` matches an object.
    excluded: Text,
    path: Vec<Step>,
}

/// How comparing went.
#[derive(Clone, Copy)]
enum Fit<'m> {
    /// This entry fits, or all of them and this last.
    Yes(&'m MatchEntry),
    /// None fits, and here is why.
    No(&'static str),
}

/// Why it could not be compared; small, as it is handed up through every match.
type MatchError = Box<EvalError>;

impl MatchExclude {
    /// Returns the matcher of a rule. `home` is the namespace of a Policy.
    pub(super) fn compile(matching: &Match, exclude: Option<&Match>, home: Option<&Text>) -> Self {
        Self::made(matching, exclude, home, MatchBlock::shared)
    }

    /// Returns the matcher of a rule that shares nothing with others, because few are compiled or none for long.
    pub(super) fn compile_alone(matching: &Match, exclude: Option<&Match>, home: Option<&Text>) -> Self {
        let alone = |written: &Match, what: &'static str, is_lenient: bool| {
            Arc::new(MatchBlock::compile(written, what, is_lenient))
        };
        Self::made(matching, exclude, home, alone)
    }

    fn made(
        matching: &Match,
        exclude: Option<&Match>,
        home: Option<&Text>,
        block: impl Fn(&Match, &'static str, bool) -> Arc<MatchBlock>,
    ) -> Self {
        let exclude = exclude.map(|exclude| block(exclude, "exclude", false));
        Self {
            matching: block(matching, "match", true),
            exclude: exclude.filter(|exclude| !exclude.is_empty()),
            home: home.cloned(),
        }
    }

    /// Returns the matcher of an exception. An exception for some users does not apply while the user is unknown.
    pub(super) fn of_exception(matching: &Match) -> Self {
        Self { matching: MatchBlock::shared(matching, "match", false), exclude: None, home: None }
    }

    /// Returns `None` when the rule matches `object`, otherwise the reason.
    ///
    /// Places in the notes are places in the document.
    ///
    /// # Errors
    /// When the labels of a namespace matter and are not known yet, or the budget is used up.
    pub(super) fn matches(
        &self,
        object: &Value,
        operation: Operation,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Option<Text>, EvalError> {
        if let Some(home) = &self.home
            && home != matched_namespace(evaluation.request)
        {
            return Ok(Some(Text::new_static("it is about the namespace of its policy only")));
        }
        let asked = ClauseInput { object, operation };
        if let Fit::No(reason) = self.matching.compare(asked, evaluation, notes).map_err(|error| *error)? {
            return Ok(Some(Text::new_static(reason)));
        }
        let Some(exclude) = &self.exclude else { return Ok(None) };
        Ok(match exclude.compare(asked, evaluation, notes).map_err(|error| *error)? {
            Fit::Yes(entry) => Some(entry.excluded.clone()),
            Fit::No(_) => None,
        })
    }

    /// Adds the fields of an object that decide whether it matches, besides its name.
    pub(super) fn add_fields(&self, fields: &mut FieldSet) {
        let blocks = std::iter::once(&self.matching).chain(&self.exclude);
        for clause in blocks.flat_map(|block| &block.entries).flat_map(|entry| &entry.clauses) {
            match clause.test {
                ClauseTest::Annotations(_) => fields.add(&["metadata", "annotations"]),
                ClauseTest::Labels(_) => fields.add(&["metadata", "labels"]),
                ClauseTest::Operations(_)
                | ClauseTest::Kinds(_)
                | ClauseTest::Names(_)
                | ClauseTest::Namespaces(_)
                | ClauseTest::Roles(_)
                | ClauseTest::ClusterRoles(_)
                | ClauseTest::Subjects(_)
                | ClauseTest::NamespaceLabels(_) => {}
            }
        }
    }

    /// Returns the index scope of the rule; it may be wider than the rule.
    pub(super) fn scope(&self) -> RuleScope {
        let kinds = self.matching.kinds();
        let is_about_namespaces = match &kinds {
            KindScope::Any => true,
            KindScope::Named(kinds) => kinds.iter().any(|kind| kind == "Namespace"),
        };
        let namespaces = match &self.home {
            Some(home) => NamespaceScope::Named(vec![home.clone()]),
            // The namespaces of a Namespace are its own name, which the index does not know.
            None if is_about_namespaces => NamespaceScope::Any,
            None => self.matching.namespaces(),
        };
        let operations = self.matching.operations();
        RuleScope { kinds, namespaces, operations, ..RuleScope::default() }
    }

    /// Returns the index scope of the rule, which is written in `document`, with its places.
    pub(super) fn scope_in(&self, document: &Document) -> RuleScope {
        let place = |is_it: fn(&ClauseTest) -> bool| {
            let mut clauses = self.matching.entries.iter().flat_map(|entry| &entry.clauses);
            clauses.find(|clause| is_it(&clause.test)).map(|clause| document.locate(&clause.path))
        };
        let namespaces = match self.home {
            Some(_) => {
                let home = ["metadata", "namespace"].map(Step::from);
                Some((Text::new_static("that of its policy"), document.locate(&home)))
            }
            None => {
                place(|test| matches!(test, ClauseTest::Namespaces(_))).map(|place| (Text::default(), place))
            }
        };
        let places = ScopePlaces {
            kinds: place(|test| matches!(test, ClauseTest::Kinds(_))),
            operations: place(|test| matches!(test, ClauseTest::Operations(_))),
            namespaces,
            pod_controllers: None,
        };
        RuleScope { places, ..self.scope() }
    }
}

/// The blocks by what they were compiled from. Most rules of a cluster match the same kinds.
static SHARED: LazyLock<SharedParts<(Match, &'static str, bool), MatchBlock>> =
    LazyLock::new(SharedParts::default);

impl MatchBlock {
    fn shared(written: &Match, what: &'static str, is_lenient: bool) -> Arc<Self> {
        let key = (written.clone(), what, is_lenient);
        SHARED.find(&key).unwrap_or_else(|| SHARED.add(key, Self::compile(written, what, is_lenient)))
    }

    fn compile(written: &Match, what: &'static str, is_lenient: bool) -> Self {
        let named = |list: &[source::ResourceFilter], mode: &str| {
            let entry = |(place, filter)| MatchEntry::compile(filter, format!("{mode}[{place}]"), what);
            list.iter().enumerate().map(entry).collect()
        };
        let (mode, entries) = match (written.any.as_slice(), written.all.as_slice()) {
            ([], []) => {
                let flat = written.flat.iter();
                (
                    MatchMode::All,
                    flat.map(|filter| MatchEntry::compile(filter, String::new(), what)).collect(),
                )
            }
            ([], all) => (MatchMode::All, named(all, "all")),
            (any, _) => (MatchMode::Any, named(any, "any")),
        };
        let entries: Vec<MatchEntry> = entries;
        let has_resources = mode == MatchMode::All && entries.iter().any(|entry| entry.has_resources);
        let entries = entries.into_iter().map(|entry| MatchEntry {
            is_for_users_of_others: has_resources && !entry.has_resources && entry.has_users,
            ..entry
        });
        let is_exclude = what == "exclude";
        Self { mode, entries: entries.collect(), is_lenient, is_exclude, what, path: written.path.clone() }
    }

    fn is_empty(&self) -> bool {
        self.entries.iter().all(|entry| entry.clauses.is_empty())
    }

    fn compare(
        &self,
        asked: ClauseInput<'_>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Fit<'_>, MatchError> {
        if !notes.is_on() {
            return self.compare_entries(asked, evaluation, notes);
        }
        notes.open();
        let fit = self.compare_entries(asked, evaluation, notes);
        notes.close(|| {
            let mut note = TraceNote::new(self.what.to_owned(), match_verdict(&fit), self.path.clone());
            if self.is_exclude && matches!(fit, Ok(Fit::Yes(_))) {
                (note.verdict, note.found) =
                    (TraceVerdict::No, "it fits, so the rule does not apply".to_owned());
            } else if self.is_exclude && matches!(fit, Ok(Fit::No(_))) {
                note.verdict = TraceVerdict::Yes;
            }
            note
        });
        fit
    }

    fn compare_entries(
        &self,
        asked: ClauseInput<'_>,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Fit<'_>, MatchError> {
        let mut fit = Fit::No("its match is empty");
        let mut entries = self.entries.iter();
        for entry in entries.by_ref() {
            fit = entry.compare(asked, self.is_lenient, evaluation, notes)?;
            if matches!(fit, Fit::Yes(_)) == (self.mode == MatchMode::Any) {
                break;
            }
        }
        for entry in entries {
            notes.say(|| TraceNote::new(entry.what.clone(), TraceVerdict::NotLooked, entry.path.clone()));
        }
        Ok(match fit {
            Fit::No(_) if self.mode == MatchMode::Any && self.entries.len() > 1 => {
                Fit::No("it is about other objects")
            }
            fit => fit,
        })
    }

    fn kinds(&self) -> KindScope {
        let exact = |test: &ClauseTest| match test {
            ClauseTest::Kinds(kinds) => {
                Some(kinds.iter().map(|kind| kind.only_kind().map(Text::from)).collect())
            }
            _ => None,
        };
        self.names(exact).map_or(KindScope::Any, KindScope::Named)
    }

    fn namespaces(&self) -> NamespaceScope {
        let exact = |test: &ClauseTest| match test {
            ClauseTest::Namespaces(names) => {
                Some(names.iter().map(|name| name.as_exact().map(Text::from)).collect())
            }
            _ => None,
        };
        self.names(exact).map_or(NamespaceScope::Any, NamespaceScope::Named)
    }

    /// Returns the names that the entries admit together; nothing when they admit any. `exact` says whether a test is
    /// about such names at all, and which it admits, unless it admits more than names.
    fn names(&self, exact: impl Fn(&ClauseTest) -> Option<Option<Vec<Text>>>) -> Option<Vec<Text>> {
        let of = |entry: &MatchEntry| entry.clauses.iter().find_map(|clause| exact(&clause.test)).flatten();
        let mut names: Vec<Text> = match self.mode {
            MatchMode::Any => self.entries.iter().map(of).collect::<Option<Vec<_>>>()?.concat(),
            MatchMode::All => self.entries.iter().find_map(of)?,
        };
        names.sort();
        names.dedup();
        Some(names)
    }

    fn operations(&self) -> Operations {
        let of = |entry: &MatchEntry| {
            entry.clauses.iter().find_map(|clause| match clause.test {
                ClauseTest::Operations(operations) => Some(operations),
                _ => None,
            })
        };
        let admits = |operation: &Operation| {
            let admits =
                |entry: &MatchEntry| of(entry).is_none_or(|operations| operations.contains(*operation));
            match self.mode {
                MatchMode::Any => self.entries.iter().any(admits),
                MatchMode::All => self.entries.iter().all(admits),
            }
        };
        Operation::ALL.into_iter().filter(admits).collect()
    }
}

impl MatchEntry {
    fn compile(filter: &source::ResourceFilter, what: String, side: &str) -> Self {
        let clauses = Clause::compile(filter);
        let excluded = match what.as_str() {
            "" => format!("excluded by `{side}`"),
            what => format!("excluded by `{side}.{what}`"),
        };
        Self {
            has_resources: clauses.iter().any(|clause| !clause.is_about_user()),
            has_users: clauses.iter().any(Clause::is_about_user),
            is_for_users_of_others: false,
            clauses,
            what,
            excluded: excluded.into(),
            path: filter.path.clone(),
        }
    }

    fn compare(
        &self,
        asked: ClauseInput<'_>,
        is_lenient: bool,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Fit<'_>, MatchError> {
        if self.what.is_empty() || !notes.is_on() {
            return self.compare_clauses(asked, is_lenient, evaluation, notes);
        }
        notes.open();
        let fit = self.compare_clauses(asked, is_lenient, evaluation, notes);
        notes.close(|| TraceNote::new(self.what.clone(), match_verdict(&fit), self.path.clone()));
        fit
    }

    fn compare_clauses(
        &self,
        asked: ClauseInput<'_>,
        is_lenient: bool,
        evaluation: &mut Evaluation<'_>,
        notes: &mut TraceNotes,
    ) -> Result<Fit<'_>, MatchError> {
        let ignores_users = self.has_users && is_lenient && !evaluation.request.has_user();
        let has_rest = self.has_resources || (self.has_users && !ignores_users);
        let mut fit = match has_rest || self.is_for_users_of_others {
            true => Fit::Yes(self),
            false => Fit::No("its match is empty"),
        };
        for clause in &self.clauses {
            if matches!(fit, Fit::No(_)) || (ignores_users && clause.is_about_user()) {
                if !notes.is_on() && matches!(fit, Fit::No(_)) {
                    break;
                }
                notes.say(|| {
                    TraceNote::new(clause.what.clone(), TraceVerdict::NotLooked, clause.path.clone())
                });
                continue;
            }
            let holds = clause.holds(asked, evaluation);
            notes.say(|| TraceNote {
                found: clause.found(asked, evaluation),
                subject: clause.subject(asked, evaluation.request),
                help: match &holds {
                    Ok(false) => clause.help(asked, evaluation),
                    _ => String::new(),
                },
                ..TraceNote::new(clause.what.clone(), verdict_of(&holds), clause.path.clone())
            });
            if !holds.map_err(Box::new)? {
                fit = Fit::No(clause.reason());
            }
        }
        Ok(fit)
    }
}

fn match_verdict(fit: &Result<Fit<'_>, MatchError>) -> TraceVerdict {
    match fit {
        Ok(Fit::Yes(_)) => TraceVerdict::Yes,
        Ok(Fit::No(_)) => TraceVerdict::No,
        Err(_) => TraceVerdict::Error,
    }
}

fn verdict_of(holds: &Result<bool, EvalError>) -> TraceVerdict {
    match holds {
        Ok(true) => TraceVerdict::Yes,
        Ok(false) => TraceVerdict::No,
        Err(_) => TraceVerdict::Error,
    }
}

#[cfg(test)]
mod tests;
