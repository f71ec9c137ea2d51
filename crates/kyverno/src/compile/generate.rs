//! `generate` to rules that can run, and to what a controller must know about them.

use std::sync::Arc;

use kubewright_engine::{
    BackgroundProgram, CloneSource, DownstreamTemplate, GenerateProgram, Rule, RuleAction,
};
use kubewright_k8s::{Operation, PodTemplatePath};
use kubewright_value::{Map, Step, Text, Value};

use super::PolicyCompiler;
use super::body::{BodyParts, CheckParts};
use crate::cluster::targets;
use crate::conditions::ConditionSet;
use crate::context::CompiledContextEntry;
use crate::evaluate::Rooted;
use crate::generate::{BLOCK_KEY, CompiledDownstream, CompiledGenerateLoop, GenerateRule};
use crate::matching::MatchExclude;
use crate::source::{
    BrokenRule, DOWNSTREAM_FIELDS, DownstreamContent, DownstreamSource, GenerateSource, Match, RuleSource,
};
use crate::template::{VariableProblem, VariableQuery, VariableTemplate};
use kubewright_cel_rules::DownstreamOrigin;
use kubewright_dialect_kit::fields::Located;

/// Everything in a downstream that had to be parsed.
pub(super) struct GenerateParts {
    pub(super) path: Vec<Step>,
    pub(super) each: Option<GenerateLoopParts>,
    pub(super) template: VariableTemplate,
}

/// Everything in a loop that had to be parsed.
pub(super) struct GenerateLoopParts {
    pub(super) list: VariableQuery,
    pub(super) list_path: Vec<Step>,
    pub(super) entries: Vec<(CompiledContextEntry, Vec<Step>)>,
    pub(super) preconditions: Option<Rooted<ConditionSet>>,
}

impl PolicyCompiler<'_> {
    /// Parses everything in a downstream.
    pub(super) fn downstream(&mut self, one: &DownstreamSource) -> GenerateParts {
        let each = one.each.as_ref().map(|each| {
            let (list, problems) = VariableQuery::parse(&each.list.value, &self.dialect.functions);
            self.report(&each.list.path, problems);
            GenerateLoopParts {
                list,
                list_path: each.list.path.clone(),
                entries: each.context.iter().map(|entry| self.entry(entry)).collect(),
                preconditions: each.preconditions.as_ref().map(|conditions| self.conditions(conditions)),
            }
        });
        let written = self.document.value.follow(&one.path).unwrap_or(&Value::Null);
        let field = |key: &&str| Some((Text::new(key), written.get(key)?.clone()));
        let block: Map = DOWNSTREAM_FIELDS.iter().filter_map(field).collect();
        let block = Value::from(Map::from([(BLOCK_KEY, block.into())]));
        let (template, problems) = VariableTemplate::parse(&block, &self.dialect.functions);
        self.report(&one.path, problems.into_iter().map(within_block).collect());
        GenerateParts { path: one.path.clone(), each, template }
    }

    /// Returns the rule that makes objects. One that is `broken` answers with that.
    pub(super) fn generate_rule(
        &mut self,
        rule: &RuleSource,
        generate: &GenerateSource,
        (body, broken): (BodyParts, Option<&str>),
        position: u32,
    ) -> Rule {
        let matcher = self.matcher(&rule.matching, rule.exclude.as_ref());
        let downstreams = match body.check {
            CheckParts::Generate(downstreams) => downstreams,
            _ => Vec::new(),
        };
        let program = GenerateRule {
            entries: body.entries.into_iter().map(|(entry, _)| entry).collect(),
            preconditions: body.preconditions,
            downstreams: downstreams.into_iter().map(GenerateParts::compiled).collect(),
            synchronizes: generate.synchronizes,
            generates_on_delete: lists_deletion(&rule.matching),
            skips_background_requests: rule.skips_background_requests,
            broken: broken.map(|reason| format!("the rule is not valid: {reason}").into()),
            ..self.empty_generate_rule(&rule.name.value, matcher)
        };
        if broken.is_none() {
            self.background.push(self.generate_program(rule, generate, &program));
        }
        let reads_secrets = copies_secrets(generate);
        let properties = rule.report_properties.clone();
        self.finish_generate(program, position, &rule.name.path, (properties, reads_secrets))
    }

    /// Returns the substitute of an invalid rule, which answers with `reason` and makes nothing.
    pub(super) fn broken_generate_rule(
        &mut self,
        broken: &BrokenRule,
        (matcher, reason): (MatchExclude, String),
        position: u32,
    ) -> Rule {
        let program =
            GenerateRule { broken: Some(reason.into()), ..self.empty_generate_rule(&broken.name, matcher) };
        self.finish_generate(program, position, &broken.path, (Vec::new(), false))
    }

    /// Returns whether the rule at `path` generates.
    pub(super) fn generates(&self, path: &[Step]) -> bool {
        let rule = self.document.value.follow(path);
        let has = |key: &str| rule.is_some_and(|rule| rule.get(key).is_some_and(|found| !found.is_null()));
        has("generate") && !has("validate") && !has("mutate") && !has("verifyImages")
    }

    fn empty_generate_rule(&mut self, name: &Text, matcher: MatchExclude) -> GenerateRule {
        let mut exceptions = self.exceptions(name);
        exceptions.retain(|exception| exception.pod_security.is_empty());
        GenerateRule {
            id: self.id(name),
            document: Arc::clone(&self.document),
            matcher,
            exceptions,
            gate: Arc::clone(&self.gate),
            skips_background_requests: false,
            entries: Vec::new(),
            preconditions: None,
            downstreams: Vec::new(),
            synchronizes: false,
            generates_on_delete: false,
            origin: DownstreamOrigin {
                prefix: "generate.kyverno.io/",
                manager: "kyverno",
                policy: self.policy.name.value.clone(),
                namespace: self.policy.namespace.clone().unwrap_or_default(),
                rule: name.clone(),
            },
            broken: None,
        }
    }

    fn finish_generate(
        &self,
        program: GenerateRule,
        position: u32,
        path: &[Step],
        (properties, reads_secrets): (Vec<(Text, Text)>, bool),
    ) -> Rule {
        let (id, mut scope) = (Arc::clone(&program.id), program.matcher.scope_in(&self.document));
        // An update may end the match, and a deletion what was made.
        for operation in [Operation::Update, Operation::Delete].into_iter().filter(|_| program.synchronizes) {
            scope.operations = scope.operations.and([operation].into_iter().collect());
        }
        let action = (RuleAction::Generate, properties);
        let mut rule = self.engine_rule((id, scope), position, path, action, Box::new(program));
        // It makes objects once the request is admitted, and refuses none.
        rule.refuses_on_error = false;
        rule.evaluation_modes.background = false;
        rule.reads_secrets |= reads_secrets;
        rule
    }

    fn generate_program(
        &self,
        rule: &RuleSource,
        generate: &GenerateSource,
        program: &GenerateRule,
    ) -> BackgroundProgram {
        let settings = &self.policy.settings;
        BackgroundProgram::Generate(GenerateProgram {
            rule: Arc::clone(&program.id),
            triggers: targets::matched_resources(&rule.matching, rule.exclude.as_ref()),
            downstreams: generate.downstreams.iter().flat_map(downstream_templates).collect(),
            synchronizes: generate.synchronizes,
            // Kyverno leaves copies of single objects behind, and deletes what `data` and `cloneList` made.
            orphans_downstream: generate.orphans_downstream || copies_single_objects(generate),
            generates_existing: generate.generates_existing.unwrap_or(settings.generates_existing),
            uses_server_side_apply: settings.uses_server_side_apply,
            generates_on_delete: program.generates_on_delete,
            deletes_stale_downstream: false,
            skips_background_requests: program.skips_background_requests,
            reapplies: false,
            reads_requester: self.reads_requester(rule),
        })
    }

    /// Returns whether a rule reads who made a request: in a filter, or in a variable.
    pub(super) fn reads_requester(&self, rule: &RuleSource) -> bool {
        let filters = std::iter::once(&rule.matching).chain(&rule.exclude);
        let names_user =
            filters.flat_map(|one| one.flat.iter().chain(&one.any).chain(&one.all)).any(|filter| {
                !filter.subjects.is_empty() || !filter.roles.is_empty() || !filter.cluster_roles.is_empty()
            });
        let written = self.document.value.follow(&rule.path);
        names_user || written.is_some_and(|rule| REQUESTER_WORDS.iter().any(|word| mentions(rule, word)))
    }
}

/// What variables call who made a request.
const REQUESTER_WORDS: [&str; 5] = [
    "request.userInfo",
    "request.roles",
    "request.clusterRoles",
    "{{serviceAccountName",
    "{{serviceAccountNamespace",
];

/// Returns whether a text in `value` contains `word`, spaces apart.
fn mentions(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => text.replace(' ', "").contains(word),
        Value::Array(items) => items.iter().any(|item| mentions(item, word)),
        Value::Object(map) => map.iter().any(|(key, item)| key.contains(word) || mentions(item, word)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

impl GenerateParts {
    fn compiled(self) -> CompiledDownstream {
        let each = self.each.map(|each| CompiledGenerateLoop {
            list: each.list.rebased(PodTemplatePath::Pod),
            entries: each.entries.into_iter().map(|(entry, _)| entry).collect(),
            preconditions: each.preconditions,
        });
        CompiledDownstream { path: self.path, each, template: self.template }
    }
}

/// A problem of a template without the key around its block.
fn within_block(mut problem: VariableProblem) -> VariableProblem {
    problem.path = problem.path.split_off(problem.path.len().min(1));
    problem
}

/// Returns whether a `match` lists the operation DELETE.
fn lists_deletion(matching: &Match) -> bool {
    let filters = matching.any.iter().chain(&matching.all).chain(&matching.flat);
    filters.into_iter().any(|filter| filter.operations.contains(&Operation::Delete))
}

/// Returns whether everything that the rule makes is a copy of an object that it names.
fn copies_single_objects(generate: &GenerateSource) -> bool {
    let is_copy = |one: &DownstreamSource| matches!(one.content, DownstreamContent::Clone { .. });
    !generate.downstreams.is_empty() && generate.downstreams.iter().all(is_copy)
}

/// Returns whether the rule copies Secrets: its own text says so, which allows it to read them.
fn copies_secrets(generate: &GenerateSource) -> bool {
    generate.downstreams.iter().any(|one| match &one.content {
        DownstreamContent::Clone { .. } => one.kind.as_ref().is_some_and(|kind| kind.value == "Secret"),
        DownstreamContent::CloneList { kinds, .. } => kinds.iter().any(|kind| kind.value == "v1/Secret"),
        DownstreamContent::Data(_) | DownstreamContent::Nothing => false,
    })
}

/// Returns what is made, as far as the policy itself says it.
fn downstream_templates(one: &DownstreamSource) -> Vec<DownstreamTemplate> {
    let literal = |text: &Text| (!text.contains("{{") && !text.contains("$(")).then(|| text.clone());
    let field = |found: &Option<Located<Text>>| match found {
        Some(found) => literal(&found.value),
        None => Some(Text::default()),
    };
    match &one.content {
        DownstreamContent::CloneList { kinds, namespace: from, .. } => {
            let of_kind = |kind: &Located<Text>| {
                let (version, kind) = kind.value.rsplit_once('/').unwrap_or(("v1", &kind.value));
                DownstreamTemplate {
                    api_version: literal(&version.into()),
                    kind: literal(&kind.into()),
                    namespace: field(&one.namespace),
                    name: None,
                    source: Some(CloneSource { namespace: field(from), name: None }),
                }
            };
            kinds.iter().map(of_kind).collect()
        }
        content => vec![DownstreamTemplate {
            api_version: field(&one.api_version),
            kind: field(&one.kind),
            namespace: field(&one.namespace),
            name: field(&one.name),
            source: match content {
                DownstreamContent::Clone { name, namespace, .. } => {
                    Some(CloneSource { namespace: field(namespace), name: field(name) })
                }
                _ => None,
            },
        }],
    }
}
