//! The rules of one moment: compiled, arranged by webhook, and never changed afterwards.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kubewright_dialects::Options;
use kubewright_engine::{
    AdmissionPolicy, AdmissionPolicyState, Diagnostic, Dialect, Door, Engine, InCluster, Needs, ObjectName,
    Rule, RuleId, Webhook,
};
use kubewright_lang::CompileBudget;
use kubewright_value::{Document, Text, Value};

use crate::admission_policies::GenerationProgress;

/// The rules of one moment.
pub struct Snapshot {
    /// Counts the snapshots of this process.
    pub generation: u64,
    /// What became of each rule object, in the order in which they were given.
    pub states: Vec<RuleState>,
    /// The webhooks that these rules want, each with the engine that answers it.
    pub hooks: Vec<Hook>,
    /// What these rules look at besides the request.
    pub needs: Needs,
    /// Whether some of them have to be compiled anew from time to time.
    pub goes_stale: bool,
    mutate: Engine,
    validate: Engine,
    dialects: Vec<Box<dyn Dialect>>,
    documents: HashMap<Arc<RuleId>, usize>,
}

/// What became of a rule object.
#[derive(Debug)]
pub struct RuleState {
    /// The object.
    pub name: ObjectName,
    /// Its `metadata.generation`, which its status repeats; 0 when it says none.
    pub generation: i64,
    /// The name of its language.
    pub dialect: &'static str,
    /// How many rules of it run.
    pub rules: usize,
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    /// What the API server should enforce in place of a rule of it, or why nothing; nothing where it never asks.
    pub admission_policy: Option<Result<Arc<AdmissionPolicy>, String>>,
    /// What its status says of that.
    pub admission_policy_state: Option<AdmissionPolicyState>,
}

/// A webhook, and the rules behind it.
#[derive(Debug)]
pub struct Hook {
    /// The path that the API server calls, without the leading slash: `mutate/ignore`, `validate/fail`, `validate/own/name`.
    pub path: String,
    /// When it is asked: the targets of all its rules.
    pub webhook: Webhook,
    /// The rules.
    pub engine: Engine,
}

impl Snapshot {
    /// Returns a snapshot without rules.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(&Options::default(), &[], &[], 0)
    }

    /// Compiles `documents` with the languages called `names`, or all where there are none. A document that no
    /// language reads is left out; one that cannot be compiled leaves its neighbours standing.
    #[must_use]
    pub fn of(options: &Options, names: &[String], documents: &[Document], generation: u64) -> Self {
        Self::beside(options, names, documents, generation, &GenerationProgress::default())
    }

    /// Compiles `documents` as [`of`](Self::of) does, without the rules that the API server enforces itself.
    #[must_use]
    pub fn beside(
        options: &Options,
        names: &[String],
        documents: &[Document],
        generation: u64,
        progress: &GenerationProgress,
    ) -> Self {
        let mut dialects = kubewright_dialects::all(options);
        dialects.retain(|dialect| {
            dialect.in_cluster().is_some()
                && (names.is_empty() || names.iter().any(|name| name == dialect.name()))
        });
        let mut building = Building::default();
        for document in documents {
            let Some(dialect) = dialects.iter().find(|dialect| dialect.claims(document)) else { continue };
            if let Some(cluster) = dialect.in_cluster() {
                building.add(dialect.as_ref(), cluster, document, progress);
            }
        }
        let Building { states, rules, hooks, needs, goes_stale, documents, .. } = building;
        let behind = |door: Door| {
            let hooks = rules.iter().filter(|(hook, _)| hook.door == door);
            Engine::sharing(hooks.flat_map(|(_, rules)| rules.iter().cloned()).collect())
        };
        let (mutate, validate) = (behind(Door::Mutate), behind(Door::Validate));
        let engines = rules.into_iter().map(|(_, rules)| Engine::sharing(rules));
        let hooks = hooks.into_iter().zip(engines);
        let hooks =
            hooks.map(|(webhook, engine)| Hook { path: webhook_path(&webhook), webhook, engine }).collect();
        Self { generation, states, hooks, needs, goes_stale, mutate, validate, dialects, documents }
    }

    /// Returns a snapshot of rules that were compiled elsewhere, all behind `door`. They are of no document, and where
    /// their language is not one of ours, of no words of their own.
    #[must_use]
    pub fn of_rules(door: Door, rules: Vec<Rule>, generation: u64) -> Self {
        let engine = Engine::new(rules);
        let mut snapshot = Self { generation, ..Self::empty() };
        match door {
            Door::Mutate => snapshot.mutate = engine,
            Door::Validate => snapshot.validate = engine,
        }
        snapshot
    }

    /// Returns the rules that answer `path`, which is `mutate`, `validate` or that of a [`Hook`].
    #[must_use]
    pub fn engine(&self, path: &str) -> Option<&Engine> {
        match path {
            "mutate" => Some(&self.mutate),
            "validate" => Some(&self.validate),
            path => self.hooks.iter().find(|hook| hook.path == path).map(|hook| &hook.engine),
        }
    }

    /// Returns the rule object that `rule` was read from.
    #[must_use]
    pub fn document_of(&self, rule: &RuleId) -> Option<&RuleState> {
        self.states.get(*self.documents.get(rule)?)
    }

    /// Returns the language called `name`, where it lives in a cluster.
    #[must_use]
    pub fn language(&self, name: &str) -> Option<&dyn InCluster> {
        self.dialects.iter().find(|dialect| dialect.name() == name)?.in_cluster()
    }

    /// Returns the languages as they compile rules.
    pub fn dialects(&self) -> impl Iterator<Item = &dyn Dialect> {
        self.dialects.iter().map(AsRef::as_ref)
    }

    /// Returns the languages.
    pub fn languages(&self) -> impl Iterator<Item = &dyn InCluster> {
        self.dialects.iter().filter_map(|dialect| dialect.in_cluster())
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("generation", &self.generation).finish_non_exhaustive()
    }
}

/// How many webhooks of their own rules may have, and how many bytes all conditions of these. The API server keeps all
/// webhooks in one object of bounded size: without these bounds, a user who may create rules in one namespace could fill
/// it, and no other rule would be enforced.
const MAX_DEDICATED_WEBHOOKS: usize = 64;
const MAX_CONDITIONS_BYTES: usize = 192 << 10;

/// A snapshot that is being made. `rules` and `hooks` run in parallel.
#[derive(Default)]
struct Building {
    states: Vec<RuleState>,
    rules: Vec<(HookKey, Vec<Arc<Rule>>)>,
    hooks: Vec<Webhook>,
    needs: Needs,
    goes_stale: bool,
    documents: HashMap<Arc<RuleId>, usize>,
    /// What all rules together may take.
    budget: CompileBudget,
}

/// What rules must have in common to share a webhook.
#[derive(Debug, Clone, PartialEq)]
struct HookKey {
    door: Door,
    fails: bool,
    own: Option<Text>,
}

impl Building {
    fn add(
        &mut self,
        dialect: &dyn Dialect,
        cluster: &dyn InCluster,
        document: &Document,
        progress: &GenerationProgress,
    ) {
        // Nothing in a rule should panic; if it does, only that rule is left out.
        let budget = &mut self.budget;
        let compiled =
            catch_unwind(AssertUnwindSafe(|| kubewright_dialects::compile(dialect, document, &[], budget)));
        let compiled = compiled.unwrap_or_default();
        let place = self.states.len();
        let name = ObjectName::of(&document.value);
        let asked = catch_unwind(AssertUnwindSafe(|| cluster.admission_policy(document))).unwrap_or_default();
        let asked = asked.map(|asked| asked.map(Arc::new));
        let native = match &asked {
            Some(Ok(policy)) if progress.enforces(&name, policy) => Some(policy.rule.clone()),
            _ => None,
        };
        self.states.push(RuleState {
            admission_policy_state: asked.as_ref().map(|asked| progress.state(&name, asked)),
            admission_policy: asked,
            name,
            generation: document
                .value
                .at(&["metadata", "generation"])
                .and_then(Value::as_i64)
                .unwrap_or_default(),
            dialect: dialect.name(),
            rules: compiled.rules.len(),
            diagnostics: compiled.diagnostics,
        });
        if compiled.rules.is_empty() {
            return;
        }
        self.needs.add(cluster.needs(document));
        self.goes_stale |= cluster.goes_stale(document);
        let left = compiled.rules.into_iter().filter(|rule| Some(&rule.id.rule) != native.as_ref());
        let rules: Vec<Arc<Rule>> = left.map(Arc::new).collect();
        if rules.is_empty() {
            return;
        }
        self.documents.extend(rules.iter().map(|rule| (Arc::clone(&rule.id), place)));
        let webhook = match &native {
            Some(rule) => cluster.webhook_without(document, rule),
            None => cluster.webhook(document),
        };
        self.hang(webhook, rules);
    }

    /// Puts `rules` behind `webhook`, or behind the one that is like it.
    fn hang(&mut self, mut webhook: Webhook, rules: Vec<Arc<Rule>>) {
        if webhook.own.is_some() && !self.has_room(&webhook) {
            // The rules look at their conditions themselves; they are only asked more often.
            (webhook.own, webhook.namespaces, webhook.objects) = (None, Value::Null, Value::Null);
            webhook.conditions.clear();
        }
        let key = HookKey { door: webhook.door, fails: webhook.fails, own: webhook.own.clone() };
        let like = self.rules.iter_mut().zip(&mut self.hooks).find(|((other, _), _)| *other == key);
        match like {
            Some(((_, behind), shared)) => {
                behind.extend(rules);
                shared.timeout = shared.timeout.max(webhook.timeout);
                shared.targets.extend(webhook.targets);
                shared.targets.sort();
                shared.targets.dedup();
            }
            None => {
                self.rules.push((key, rules));
                self.hooks.push(webhook);
            }
        }
    }
}

impl Building {
    /// Returns whether there may be one more webhook for certain rules alone.
    fn has_room(&self, webhook: &Webhook) -> bool {
        let size = |webhook: &Webhook| -> usize {
            webhook.conditions.iter().map(|(name, expression)| name.len() + expression.len()).sum()
        };
        let own: Vec<&Webhook> = self.hooks.iter().filter(|hook| hook.own.is_some()).collect();
        own.len() < MAX_DEDICATED_WEBHOOKS
            && own.into_iter().map(size).sum::<usize>().saturating_add(size(webhook)) <= MAX_CONDITIONS_BYTES
    }
}

fn webhook_path(webhook: &Webhook) -> String {
    let door = match webhook.door {
        Door::Mutate => "mutate",
        Door::Validate => "validate",
    };
    match (&webhook.own, webhook.fails) {
        (Some(own), _) => format!("{door}/own/{own}"),
        (None, true) => format!("{door}/fail"),
        (None, false) => format!("{door}/ignore"),
    }
}
