//! What a watched `apply` keeps from one run to the next: compiled rules, and the rows of files that did not change.
//!
//! Rows are kept only as long as nothing else can change them: the exceptions and fixtures are the same files as before,
//! and the rows of objects for which a rule asked about other manifests are made again with every change. If files with
//! validating rules changed, only what these rules say is replaced in the rows of the objects that they are about.

use std::collections::{HashMap, HashSet};
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input};
use kubewright_report::ObjectRow;
use kubewright_value::Document;

use super::rule_change;
use crate::arguments::ApplyArguments;
use crate::failure::CommandFailure;
use crate::fixtures::FileWorld;
use crate::output::Output;
use crate::review::Reviewer;
use crate::rule_inputs::{ReplacedRules, RuleInputs};
use crate::suppressions::Suppressions;
use crate::watch::{FileStamp, stamp};

/// The state of the last run.
static KEPT: Mutex<Option<Box<KeptReviews>>> = Mutex::new(None);

/// Rules, and the rows of files that they were run on.
pub(super) struct KeptReviews {
    /// The arguments, which the project file may have changed.
    arguments: String,
    pub(super) inputs: RuleInputs,
    pub(super) suppressions: Suppressions,
    /// What the suppressions said about their baseline.
    baseline_problems: Vec<Diagnostic>,
    /// Everything but manifests that was read, as it was.
    fixed: Vec<(PathBuf, Option<FileStamp>)>,
    files: HashMap<String, KeptFile>,
    /// The rules that changed since the rows were made.
    replaced: Option<ReplacedRules>,
}

#[derive(Default)]
pub(super) struct KeptFile {
    stamp: Option<FileStamp>,
    pub(super) rows: Vec<(ObjectRow, Vec<String>)>,
    /// The objects of the rows.
    pub(super) documents: Vec<Document>,
    problems: Vec<Diagnostic>,
    /// Whether a rule asked about other manifests.
    pub(super) is_dependent: bool,
}

impl KeptReviews {
    /// Returns the state of the last run as far as it still holds, or a new one.
    ///
    /// # Errors
    /// When the arguments are invalid.
    pub(super) fn open(arguments: &ApplyArguments) -> Result<Box<Self>, CommandFailure> {
        let said = format!("{arguments:?}");
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut kept) = kept.filter(|kept| kept.arguments == said)
            && kept.takes_up_changes(arguments)
        {
            kept.fixed.iter().for_each(|(path, _)| files::watch_path(path));
            kept.inputs.find_again(&arguments.objects)?;
            return Ok(kept);
        }
        let inputs = RuleInputs::open(&arguments.rules, &arguments.objects)?;
        let mut baseline_problems = Vec::new();
        let suppressions = Suppressions::open(&arguments.suppressions, &mut baseline_problems)?;
        let baseline = arguments.suppressions.baseline.iter().map(PathBuf::from);
        let fixed = inputs.fixed_paths().iter().cloned().chain(baseline);
        let fixed = fixed.map(|path| (path.clone(), stamp(&path))).collect();
        Ok(Box::new(Self {
            arguments: said,
            inputs,
            suppressions,
            baseline_problems,
            fixed,
            files: HashMap::new(),
            replaced: None,
        }))
    }

    /// Loads rules again whose files changed; returns whether the rest of the state still holds.
    fn takes_up_changes(&mut self, arguments: &ApplyArguments) -> bool {
        let is_changed = |(path, known): &&(PathBuf, Option<FileStamp>)| stamp(path) != *known;
        let changed: Vec<PathBuf> =
            self.fixed.iter().filter(is_changed).map(|(path, _)| path.clone()).collect();
        if changed.is_empty() {
            return true;
        }
        // Ignores and prepared texts are about all outcomes of an object together.
        let is_plain =
            |file: &KeptFile| file.rows.iter().all(|(_, prepared)| prepared.iter().all(String::is_empty));
        if self.suppressions.is_used() || !self.files.values().all(is_plain) {
            return false;
        }
        self.replaced = self.inputs.replace_rules(&changed, &arguments.rules, &arguments.objects);
        for (path, known) in &mut self.fixed {
            *known = stamp(path);
        }
        self.replaced.is_some()
    }

    /// Keeps the state for the next run.
    pub(super) fn keep(self: Box<Self>) {
        *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some(self);
    }

    /// Runs the rules on the files that changed, and returns what is wrong with inputs.
    ///
    /// # Errors
    /// When no worker can be started.
    pub(super) fn review_changed(
        &mut self,
        reviewer: impl Fn(&RuleInputs) -> Reviewer<'_>,
        outputs: (&[Output], bool),
    ) -> io::Result<Vec<Diagnostic>> {
        let stale = self.stale();
        for name in stale.iter().map(Input::name) {
            self.suppressions.forget_file(&name);
        }
        let mut made: HashMap<String, KeptFile> = HashMap::new();
        for input in &stale {
            let stamp = if let Input::File(path) = input { stamp(path) } else { None };
            made.insert(input.name(), KeptFile { stamp, ..KeptFile::default() });
        }
        let reviewer = reviewer(&self.inputs);
        if let Some(replaced) = self.replaced.take() {
            let others = self.files.iter_mut().filter(|(name, _)| !made.contains_key(*name));
            let mut files: Vec<&mut KeptFile> = others.map(|(_, file)| file).collect();
            rule_change::replace_outcomes(&mut files, &reviewer, &replaced);
        }
        let suppressions = &self.suppressions;
        let work = |document: &Document| {
            FileWorld::forget_questions();
            let (row, prepared) = super::review((&reviewer, suppressions), document, outputs);
            (document.clone(), row, prepared, FileWorld::was_asked())
        };
        let problems = files::stream_objects(
            &stale,
            self.inputs.wanted(),
            work,
            |(document, row, prepared, asked), _| {
                let file = made.entry(document.source.name.clone()).or_default();
                file.is_dependent |= asked;
                file.documents.push(document);
                file.rows.push((row, prepared));
                Ok(())
            },
        )?;
        for problem in problems {
            made.entry(problem.location.source.name.clone()).or_default().problems.push(problem);
        }
        self.files.extend(made);
        let mut diagnostics = self.inputs.diagnostics.clone();
        diagnostics.extend(self.baseline_problems.iter().cloned());
        let names: Vec<String> = self.inputs.manifests.iter().map(Input::name).collect();
        let known: HashSet<&String> = names.iter().collect();
        self.files.retain(|name, _| known.contains(name));
        diagnostics.extend(
            names.iter().filter_map(|name| self.files.get(name)).flat_map(|file| file.problems.clone()),
        );
        Ok(diagnostics)
    }

    /// Returns the rows of all objects, in the order of the input.
    pub(super) fn rows(&self) -> impl Iterator<Item = &(ObjectRow, Vec<String>)> {
        let files = self.inputs.manifests.iter().filter_map(|input| self.files.get(&input.name()));
        files.flat_map(|file| &file.rows)
    }

    /// Returns the files whose rows are not known.
    fn stale(&self) -> Vec<Input> {
        let is_changed = |input: &Input| match (input, self.files.get(&input.name())) {
            (Input::File(path), Some(known)) => known.stamp.is_none() || stamp(path) != known.stamp,
            _ => true,
        };
        let manifests = &self.inputs.manifests;
        let changed: Vec<bool> = manifests.iter().map(is_changed).collect();
        let known = manifests.iter().filter(|input| self.files.contains_key(&input.name())).count();
        let is_any_changed = changed.contains(&true) || self.files.len() > known;
        let is_dependent =
            |input: &Input| self.files.get(&input.name()).is_some_and(|known| known.is_dependent);
        let inputs = manifests.iter().zip(changed);
        inputs
            .filter(|(input, is_changed)| *is_changed || (is_any_changed && is_dependent(input)))
            .map(|(input, _)| input.clone())
            .collect()
    }
}
