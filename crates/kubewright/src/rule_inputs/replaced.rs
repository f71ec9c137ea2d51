//! Loads a few rule files again, while everything else stays as it is.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use kubewright_engine::{Diagnostic, Engine, Rule, RuleAction};
use kubewright_files::{self as files, Input};
use kubewright_value::CompactSort as _;

use super::RuleInputs;
use crate::arguments::{ObjectArguments, RuleArguments};
use crate::rules;

/// Validating rules of a few files, before and after these files changed.
pub(crate) struct ReplacedRules {
    /// Their rules before, and those that change objects.
    pub(crate) before: Engine,
    /// Their rules now, and those that change objects.
    pub(crate) after: Engine,
    /// The files.
    pub(crate) files: HashSet<String>,
}

impl ReplacedRules {
    /// Returns whether a rule is of one of the files.
    pub(crate) fn has(&self, rule: &Rule) -> bool {
        self.files.contains(&rule.location.source.name)
    }
}

impl RuleInputs {
    /// Loads the rules of `changed` files again, where nothing else has to be loaded again because of that: they are
    /// validating rules, before and now, and independent of other files.
    pub(crate) fn replace_rules(
        &mut self,
        changed: &[PathBuf],
        rules: &RuleArguments,
        objects: &ObjectArguments,
    ) -> Option<ReplacedRules> {
        let known = self.separable.as_ref().filter(|_| !objects.selection.is_partial(&objects.only))?;
        let changed: Vec<Input> =
            changed.iter().filter(|path| !path.is_dir()).cloned().map(Input::File).collect();
        let names: HashSet<String> = changed.iter().map(Input::name).collect();
        let found: Vec<String> = files::find_files(&rules.rules).inputs.iter().map(Input::name).collect();
        if found != *known || names.is_empty() || !names.iter().all(|name| known.contains(name)) {
            return None;
        }
        let loaded = rules::load_separate_rules(&changed, rules, objects.namespace.as_deref())?;
        let chosen = rules::choose_rules(loaded.rules, &[], &objects.selection).ok()?;
        let replaced = self.replace_in_engine(chosen, names)?;
        for list in [&mut self.opened_with, &mut self.diagnostics] {
            list.retain(|one| !replaced.files.contains(&one.location.source.name));
            list.extend(loaded.diagnostics.iter().cloned());
            sort_by_file(list, &found);
        }
        Some(replaced)
    }

    /// Puts rules into the engine in place of those of `files`; nothing where others depend on them.
    fn replace_in_engine(&mut self, chosen: Vec<Rule>, files: HashSet<String>) -> Option<ReplacedRules> {
        let after: Vec<Arc<Rule>> = chosen.into_iter().map(Arc::new).collect();
        let (before, others): (Vec<Arc<Rule>>, Vec<Arc<Rule>>) =
            self.engine.rules().iter().cloned().partition(|rule| files.contains(&rule.location.source.name));
        let is_validating = |rule: &Arc<Rule>| rule.action == RuleAction::Validate && !rule.matches_current;
        let is_known = |rule: &Arc<Rule>| others.iter().any(|other| other.id == rule.id);
        if !before.iter().chain(&after).all(is_validating) || after.iter().any(is_known) {
            return None;
        }
        let changing: Vec<Arc<Rule>> =
            others.iter().filter(|rule| rule.action != RuleAction::Validate).cloned().collect();
        let with = |own: Vec<Arc<Rule>>| Engine::sharing(changing.iter().cloned().chain(own).collect());
        self.engine = Engine::sharing(others.iter().cloned().chain(after.iter().cloned()).collect());
        Some(ReplacedRules { before: with(before), after: with(after), files })
    }
}

/// Sorts diagnostics by the place of their file among `names`, then by line.
fn sort_by_file(diagnostics: &mut [Diagnostic], names: &[String]) {
    diagnostics.compact_sort_by_cached_key(|one| {
        let place = names.iter().position(|name| *name == one.location.source.name);
        (place.unwrap_or(usize::MAX), one.location.position)
    });
}
