//! Compiled rules that are kept between keystrokes: while a person edits objects, the rules stay the same.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kubewright_value::Source;

use super::deadline::check_time;
use super::workspace::PageWorkspace;
use crate::arguments::ApplyArguments;
use crate::failure::CommandFailure;
use crate::rule_inputs::LoadedEngine;

/// How many sets of rules are kept.
const MAX_KEPT_SETS: usize = 4;

/// How long rules are kept: they were compiled with the time of then, which functions may show.
const MAX_AGE: Duration = Duration::from_secs(10);

/// The sets of rules that were compiled last, the newest first.
#[derive(Default)]
pub(super) struct CompiledCache(Mutex<Vec<CompiledSet>>);

/// A set of rules, and what it was made of.
struct CompiledSet {
    texts: Vec<Arc<Source>>,
    namespace: Option<String>,
    since: Instant,
    loaded: LoadedEngine,
}

impl CompiledSet {
    fn is_of(&self, texts: &[Arc<Source>], namespace: Option<&String>) -> bool {
        let is_same =
            |(one, other): (&Arc<Source>, &Arc<Source>)| one.name == other.name && one.text == other.text;
        self.since.elapsed() < MAX_AGE
            && self.namespace.as_ref() == namespace
            && self.texts.len() == texts.len()
            && self.texts.iter().zip(texts).all(is_same)
    }
}

impl CompiledCache {
    /// Returns the rules of `space`, compiled now or a moment ago.
    ///
    /// # Errors
    /// As [`LoadedEngine::load`].
    pub(super) fn load(
        &self,
        space: &PageWorkspace,
        arguments: &ApplyArguments,
    ) -> Result<LoadedEngine, CommandFailure> {
        let (texts, namespace) = (space.rule_texts(), arguments.objects.namespace.as_ref());
        if let Some(kept) = self.kept(&texts, namespace) {
            return Ok(kept);
        }
        // Not under the lock: other requests need not wait for these rules.
        let loaded = LoadedEngine::load(&arguments.rules, &arguments.objects)?;
        // Rules that were not compiled to their end are not kept.
        if check_time().is_err() {
            return Ok(loaded);
        }
        let set = CompiledSet {
            texts,
            namespace: namespace.cloned(),
            since: Instant::now(),
            loaded: loaded.clone(),
        };
        let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sets.insert(0, set);
        sets.truncate(MAX_KEPT_SETS);
        Ok(loaded)
    }

    fn kept(&self, texts: &[Arc<Source>], namespace: Option<&String>) -> Option<LoadedEngine> {
        let sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sets.iter().find(|set| set.is_of(texts, namespace)).map(|set| set.loaded.clone())
    }
}
