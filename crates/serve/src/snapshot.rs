//! All compiled rules of a server, arranged by webhook. A snapshot is never changed, only replaced as a whole.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use kubewright_dialects::DialectOptions;
use kubewright_engine::{
    AdmissionPhase, AdmissionPolicy, AdmissionPolicyState, BackgroundProgram, ClusterSupport, CompiledPolicy,
    Diagnostic, Dialect, Engine, FailurePolicy, Needs, Recompile, Rule, RuleAddress, RuleId, WebhookPlan,
};
use kubewright_golib::compile_budget::CompileBudget;
use kubewright_k8s::ObjectName;
use kubewright_value::{Document, Text, Value};

use crate::admission_policies::GenerationProgress;
use crate::handover::{HANDED_WEBHOOK, UNCHANGED_WEBHOOK};
use crate::metrics::AddressHasher;
use crate::review::{AdmissionReview, BadReview};
use kubewright_value::CompactSort as _;

/// All compiled rules of a server.
pub struct Snapshot {
    /// Counts the snapshots of this process.
    pub generation: u64,
    /// What became of each rule object, in the order in which they were given.
    pub states: Vec<RuleState>,
    /// The webhooks that these rules want, each with the engine that answers it.
    pub hooks: Vec<Hook>,
    /// What these rules read besides the request.
    pub needs: Needs,
    /// When the rules must be compiled again.
    pub recompile: Recompile,
    mutating: Engine,
    validating: Engine,
    dialects: Vec<Box<dyn Dialect>>,
    documents: RuleDocuments,
}

/// The rule object of each rule, by the address of its name, which is held as long as it is here.
type RuleDocuments = HashMap<RuleAddress, (Arc<RuleId>, usize), BuildHasherDefault<AddressHasher>>;

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
    /// Whether the API server asks about it at all.
    pub has_webhooks: bool,
    /// Fields of its status that follow from the document alone.
    pub status: Value,
    /// What the API server should enforce in place of a rule, or why it cannot; nothing where it never asks for that.
    pub admission_policy: Option<Result<Arc<AdmissionPolicy>, String>>,
    /// What its status says about that.
    pub admission_policy_state: Option<AdmissionPolicyState>,
}

/// Webhooks of one path, and the rules behind them.
#[derive(Debug)]
pub struct Hook {
    /// The path that the API server calls, without the leading slash: `mutate/ignore`, `validate/fail`, `validate/own/name`.
    pub path: String,
    /// Their configurations, each the union of what its policies ask for: one, or for policies of namespaces one for each
    /// demand, because a policy must not make the API server ask about objects of other namespaces.
    pub webhooks: Vec<WebhookPlan>,
    /// The rules.
    pub engine: Engine,
}

impl Snapshot {
    /// Returns a snapshot without rules.
    #[must_use]
    pub fn empty() -> Self {
        Self::of(&DialectOptions::default(), &[], &[], 0)
    }

    /// Compiles `documents` with the dialects called `names`, or all where there are none. A document that no dialect
    /// claims is left out; one that cannot be compiled does not affect the others.
    #[must_use]
    pub fn of(options: &DialectOptions, names: &[String], documents: &[Document], generation: u64) -> Self {
        Self::compile(cluster_dialects(options, names), documents, generation, &GenerationProgress::default())
    }

    /// Compiles `documents` with `dialects`, without the rules that the API server enforces itself.
    #[must_use]
    pub fn compile(
        dialects: Vec<Box<dyn Dialect>>,
        documents: impl IntoIterator<Item = impl Borrow<Document>>,
        generation: u64,
        progress: &GenerationProgress,
    ) -> Self {
        let mut building = Building::default();
        for document in documents {
            let document = document.borrow();
            if let Some(dialect) = dialects.iter().find(|dialect| dialect.claims(document)) {
                building.add(dialect.as_ref(), document, progress);
            }
        }
        let Building { states, mut hooks, needs, recompile, documents, mutating, validating, .. } = building;
        // The API server calls them in this order: what the last tiers do must see what the first ones did.
        hooks.compact_sort_by_key(|hook| hook.rules.iter().map(|rule| rule.tier).min());
        share_among_namespaces(&mut hooks);
        let hook =
            |HookDraft { path, webhooks, rules }| Hook { path, webhooks, engine: Engine::sharing(rules) };
        Self {
            generation,
            states,
            hooks: hooks.into_iter().map(hook).collect(),
            needs,
            recompile,
            mutating: Engine::sharing(mutating),
            validating: Engine::sharing(validating),
            dialects,
            documents,
        }
    }

    /// Returns a snapshot of rules that were compiled elsewhere, all in `phase`. They belong to no document.
    #[must_use]
    pub fn of_rules(phase: AdmissionPhase, rules: Vec<Rule>, generation: u64) -> Self {
        let engine = Engine::new(rules);
        let mut snapshot = Self { generation, ..Self::empty() };
        match phase {
            AdmissionPhase::Mutating => snapshot.mutating = engine,
            AdmissionPhase::Validating => snapshot.validating = engine,
        }
        snapshot
    }

    /// Returns the rules that answer `path`, which is `mutate`, `validate` or that of a [`Hook`].
    #[must_use]
    pub fn engine(&self, path: &str) -> Option<&Engine> {
        match path {
            "mutate" => Some(&self.mutating),
            "validate" => Some(&self.validating),
            path => self.hooks.iter().find(|hook| hook.path == path).map(|hook| &hook.engine),
        }
    }

    /// Reads `bytes`, an AdmissionReview for `path`. Of its objects, only what the rules behind `path` may read is kept; where
    /// there are none, all is.
    pub(crate) fn read_review(&self, path: &str, bytes: &[u8]) -> Result<AdmissionReview, BadReview> {
        let engine = self.engine(path);
        AdmissionReview::read_fields(bytes, |kind| match kind.as_str() {
            // Decisions about Secrets are made again with other contents.
            "Secret" => None,
            _ => engine.and_then(|engine| engine.read_fields(kind)),
        })
    }

    /// Returns the webhooks that these rules want, each with its path.
    pub fn webhooks(&self) -> impl Iterator<Item = (&str, &WebhookPlan)> {
        self.hooks.iter().flat_map(|hook| hook.webhooks.iter().map(|plan| (hook.path.as_str(), plan)))
    }

    /// Returns the rule object that `rule` was read from.
    #[must_use]
    pub fn document_of(&self, rule: &Arc<RuleId>) -> Option<&RuleState> {
        let (_, state) = self.documents.get(&RuleAddress::of(rule))?;
        self.states.get(*state)
    }

    /// Returns the cluster side of the dialect called `name`.
    #[must_use]
    pub fn language(&self, name: &str) -> Option<&dyn ClusterSupport> {
        self.dialects.iter().find(|dialect| dialect.name() == name)?.cluster_support()
    }

    /// Returns the dialects.
    pub fn dialects(&self) -> impl Iterator<Item = &dyn Dialect> {
        self.dialects.iter().map(AsRef::as_ref)
    }

    /// Returns the cluster sides of the dialects.
    pub fn languages(&self) -> impl Iterator<Item = &dyn ClusterSupport> {
        self.dialects.iter().filter_map(|dialect| dialect.cluster_support())
    }
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("generation", &self.generation).finish_non_exhaustive()
    }
}

/// Returns the dialects called `names`, or all where there are none, that run in a cluster.
#[must_use]
pub fn cluster_dialects(options: &DialectOptions, names: &[String]) -> Vec<Box<dyn Dialect>> {
    let mut dialects = kubewright_dialects::all_dialects(options);
    dialects.retain(|dialect| {
        dialect.cluster_support().is_some()
            && (names.is_empty() || names.iter().any(|name| name == dialect.name()))
    });
    dialects
}

/// How many dedicated webhooks there may be, and how many bytes all their match conditions may have. The API server
/// keeps all webhooks in one object of bounded size: without these bounds, a user who may create rules for one namespace
/// could fill it, and no rule at all would be asked any more.
const MAX_DEDICATED_WEBHOOKS: usize = 64;
const MAX_CONDITION_BYTES: usize = 192 << 10;
/// How many webhooks there may be for policies of namespaces, for the same reason.
const MAX_NAMESPACE_WEBHOOKS: usize = 64;

/// A snapshot under construction.
#[derive(Default)]
struct Building {
    states: Vec<RuleState>,
    hooks: Vec<HookDraft>,
    mutating: Vec<Arc<Rule>>,
    validating: Vec<Arc<Rule>>,
    needs: Needs,
    recompile: Recompile,
    documents: RuleDocuments,
    /// What compiling all rules together may take.
    budget: CompileBudget,
}

/// A hook under construction.
struct HookDraft {
    path: String,
    webhooks: Vec<WebhookPlan>,
    rules: Vec<Arc<Rule>>,
}

impl Building {
    fn add(&mut self, dialect: &dyn Dialect, document: &Document, progress: &GenerationProgress) {
        // Compiling never panics; if it does, only this document is lost.
        let budget = &mut self.budget;
        let compiled = catch_unwind(AssertUnwindSafe(|| {
            kubewright_dialects::compile_within_budget(dialect, document, &[], budget)
        }));
        let CompiledPolicy {
            rules, webhooks, needs, recompile, native, status, diagnostics, background, ..
        } = compiled.unwrap_or_default();
        let status = catch_unwind(AssertUnwindSafe(|| status.into_value())).unwrap_or_default();
        let name = ObjectName::of(&document.value);
        self.attach_handed(&background, &name.namespace);
        let (admission_policy, remaining_webhooks) = match native {
            Some(Ok(native)) => (Some(Ok(Arc::new(native.admission_policy))), native.remaining_webhooks),
            Some(Err(why)) => (Some(Err(why)), Vec::new()),
            None => (None, Vec::new()),
        };
        let enforced = match &admission_policy {
            Some(Ok(policy)) if progress.enforces(&name, policy) => Some(policy.rule.clone()),
            _ => None,
        };
        let state = self.states.len();
        self.states.push(RuleState {
            admission_policy_state: admission_policy.as_ref().map(|wanted| progress.state(&name, wanted)),
            admission_policy,
            name,
            generation: generation_of(document),
            dialect: dialect.name(),
            // Also those that the controller carries out in the background.
            rules: rules.len(),
            has_webhooks: webhooks.iter().any(|webhook| !webhook.rules.is_empty()),
            status,
            diagnostics,
        });
        if rules.is_empty() {
            return;
        }
        self.needs.add(needs);
        self.recompile = self.recompile.max(recompile);
        let (webhooks, rules) = match &enforced {
            None => (webhooks, rules),
            Some(name) => {
                let others = rules.into_iter().filter(|rule| rule.id.rule != *name).collect();
                (remaining_webhooks, others)
            }
        };
        // What rules write in the background is none of a review's business.
        let rules = rules.into_iter().filter(|rule| rule.action.is_at_admission());
        let rules: Vec<Arc<Rule>> = rules.map(Arc::new).collect();
        self.documents
            .extend(rules.iter().map(|rule| (RuleAddress::of(&rule.id), (Arc::clone(&rule.id), state))));
        self.attach(webhooks, rules);
    }

    /// Puts each rule behind the webhook of its phase.
    fn attach(&mut self, webhooks: Vec<WebhookPlan>, rules: Vec<Arc<Rule>>) {
        for webhook in webhooks {
            let own: Vec<Arc<Rule>> =
                rules.iter().filter(|rule| rule.phase == webhook.phase).map(Arc::clone).collect();
            if !own.is_empty() {
                self.attach_to(webhook, own);
            }
        }
        for rule in rules {
            match rule.phase {
                AdmissionPhase::Mutating => self.mutating.push(rule),
                AdmissionPhase::Validating => self.validating.push(rule),
            }
        }
    }

    /// Puts `rules` behind `webhook`, or behind the one that it can share.
    fn attach_to(&mut self, mut webhook: WebhookPlan, rules: Vec<Arc<Rule>>) {
        if webhook.dedicated_name.is_some() && !self.has_room(&webhook) {
            // The rules evaluate their match conditions themselves; they are only called more often.
            webhook.dedicated_name = None;
            webhook.object_selector = Value::Null;
            webhook.match_conditions.clear();
        }
        let path = webhook_path(&webhook);
        let Some(hook) = self.hooks.iter_mut().find(|hook| hook.path == path) else {
            self.hooks.push(HookDraft { path, webhooks: vec![webhook], rules });
            return;
        };
        hook.rules.extend(rules);
        match hook.webhooks.iter_mut().find(|other| other.namespaces == webhook.namespaces) {
            Some(shared) => unite(shared, webhook),
            None => hook.webhooks.push(webhook),
        }
    }

    /// Adds webhooks without rules for what runs in the background because of a policy in `namespace`: requests behind them
    /// are only taken note of.
    fn attach_handed(&mut self, background: &[BackgroundProgram], namespace: &Text) {
        let handed = [
            (
                HANDED_WEBHOOK,
                background.iter().flat_map(BackgroundProgram::handed_triggers).collect::<Vec<_>>(),
            ),
            (UNCHANGED_WEBHOOK, background.iter().flat_map(BackgroundProgram::unchanged_triggers).collect()),
        ];
        for (name, rules) in handed {
            if rules.is_empty() {
                continue;
            }
            let mut plan = WebhookPlan::new(AdmissionPhase::Validating, FailurePolicy::Ignore, rules);
            plan.rules.sort();
            plan.rules.dedup();
            plan.shared_name = Some(name.into());
            plan.namespaces = Some(namespace).filter(|name| !name.is_empty()).cloned().into_iter().collect();
            self.attach_to(plan, Vec::new());
        }
    }

    /// Returns whether there may be one more dedicated webhook.
    fn has_room(&self, webhook: &WebhookPlan) -> bool {
        let size = |plan: &WebhookPlan| -> usize {
            plan.match_conditions.iter().map(|(name, expression)| name.len() + expression.len()).sum()
        };
        let plans = || self.hooks.iter().flat_map(|hook| &hook.webhooks);
        let dedicated = || plans().filter(|plan| plan.dedicated_name.is_some());
        let bytes = dedicated().map(size).sum::<usize>();
        dedicated().count() < MAX_DEDICATED_WEBHOOKS
            && bytes.saturating_add(size(webhook)) <= MAX_CONDITION_BYTES
    }
}

/// Makes one webhook of those that differ in their namespaces only, as policies do that every team gets. Beyond
/// [`MAX_NAMESPACE_WEBHOOKS`] the other namespaces of a path share one webhook, whatever their policies ask for.
fn share_among_namespaces(hooks: &mut [HookDraft]) {
    let mut room = MAX_NAMESPACE_WEBHOOKS;
    for hook in hooks {
        let is_shared = |plan: &WebhookPlan| plan.dedicated_name.is_none() && !plan.namespaces.is_empty();
        if !hook.webhooks.iter().all(is_shared) {
            continue;
        }
        let mut plans = std::mem::take(&mut hook.webhooks);
        plans.sort_by(|one, other| one.namespaces.cmp(&other.namespaces));
        for plan in plans {
            let is_equal = |other: &WebhookPlan| {
                other.timeout_seconds == plan.timeout_seconds && other.rules == plan.rules
            };
            let place = match hook.webhooks.iter().position(is_equal) {
                None if room == 0 => hook.webhooks.len().checked_sub(1),
                place => place,
            };
            match place.and_then(|place| hook.webhooks.get_mut(place)) {
                Some(shared) => unite(shared, plan),
                None => {
                    room = room.saturating_sub(1);
                    hook.webhooks.push(plan);
                }
            }
        }
    }
}

/// Adds to `shared` what `plan` asks for.
fn unite(shared: &mut WebhookPlan, plan: WebhookPlan) {
    shared.timeout_seconds = shared.timeout_seconds.max(plan.timeout_seconds);
    shared.rules.extend(plan.rules);
    shared.rules.sort();
    shared.rules.dedup();
    shared.namespaces.extend(plan.namespaces);
    shared.namespaces.sort();
    shared.namespaces.dedup();
}

fn generation_of(document: &Document) -> i64 {
    document.value.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default()
}

fn webhook_path(webhook: &WebhookPlan) -> String {
    let phase = match webhook.phase {
        AdmissionPhase::Mutating => "mutate",
        AdmissionPhase::Validating => "validate",
    };
    let failure = match webhook.failure_policy {
        FailurePolicy::Fail => "fail",
        FailurePolicy::Ignore => "ignore",
    };
    // One path for all namespaces, so that no path vanishes while the API server still calls it.
    let namespaced = if webhook.namespaces.is_empty() { "" } else { "/namespaced" };
    match (&webhook.dedicated_name, &webhook.shared_name) {
        (Some(name), _) => format!("{phase}/own/{name}"),
        (None, Some(name)) => format!("{phase}/{failure}{namespaced}/{name}"),
        (None, None) => format!("{phase}/{failure}{namespaced}"),
    }
}

#[cfg(test)]
mod tests;
