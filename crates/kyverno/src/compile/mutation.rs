//! The parts of a mutate rule, parsed once; a rule for controllers is built from the same ones.

use std::sync::Arc;

use kubewright_engine::{BackgroundProgram, KindOrResource, MutateProgram, WebhookRule};
use kubewright_patch::Pointer;
use kubewright_value::{Location, Step, Text, Value};

use super::PolicyCompiler;
use crate::cluster::targets;
use crate::conditions::ConditionSet;
use crate::context::CompiledContextEntry;
use crate::evaluate::Rooted;
use crate::mutate::operations::{OperationList, OperationTemplate, WrittenOperation, read_operations};
use crate::mutate::overlay::OverlayNode;
use crate::mutate::targets::{MutationTarget, TargetSelector};
use crate::mutate::{Mutation, MutationLoop, MutationPatch, OverlaySource, StrategicOverlay};
use crate::source::{
    ElementOrder, Match, Mutate, MutateForeach, MutatePatch, MutateTarget, ResourceFilter, RuleSource,
};
use crate::tainted::{Tainted, TaintedPart};
use crate::template::{TemplateHome, TemplateVariable, VariableQuery, VariableTemplate};
use kubewright_dialect_kit::fields::{Located, child_path, locate_within};
use kubewright_k8s::{Operation, Operations, PodTemplatePath};

/// Everything in a mutate rule that had to be parsed.
pub(super) struct MutationParts {
    pub(super) patch: MutationPatchParts,
    pub(super) targets: Vec<TargetParts>,
    is_for_deletions: bool,
}

pub(super) enum MutationPatchParts {
    StrategicMerge { template: VariableTemplate, constant: Option<Arc<OverlayNode>>, path: Vec<Step> },
    Json6902 { operations: OperationList, path: Vec<Step>, places: Vec<Location> },
    Foreach(Vec<MutationLoopParts>),
}

pub(super) struct MutationLoopParts {
    pub(super) path: Vec<Step>,
    pub(super) list: VariableQuery,
    pub(super) list_path: Vec<Step>,
    pub(super) entries: Vec<(CompiledContextEntry, Vec<Step>)>,
    pub(super) preconditions: Option<Rooted<ConditionSet>>,
    order: ElementOrder,
    pub(super) patch: MutationPatchParts,
}

pub(super) struct TargetParts {
    pub(super) path: Vec<Step>,
    /// `apiVersion`, `kind`, `name`, `namespace` and `uid`.
    pub(super) texts: [Option<VariableTemplate>; 5],
    selector: Option<(Vec<(Text, VariableTemplate)>, MutateTarget)>,
    pub(super) entries: Vec<(CompiledContextEntry, Vec<Step>)>,
    pub(super) preconditions: Option<Rooted<ConditionSet>>,
}

/// Where a patch is: what messages show before its paths, and what `@` is below.
#[derive(Clone, Copy)]
struct PatchHome {
    is_in_loop: bool,
    at: &'static str,
}

impl PolicyCompiler<'_> {
    /// Parses everything in `mutate`, whose rule matches `matching`.
    pub(super) fn mutation(&mut self, mutate: &Mutate, matching: &Match) -> MutationParts {
        let at = if mutate.targets.is_empty() { "request.object" } else { "target" };
        let home = PatchHome { is_in_loop: false, at };
        let filters = matching.any.iter().chain(&matching.all).chain(&matching.flat);
        let lists_deletions = |filter: &ResourceFilter| filter.operations.contains(&Operation::Delete);
        MutationParts {
            targets: mutate.targets.iter().map(|target| self.target(target)).collect(),
            patch: self.mutation_patch(&mutate.patch, home),
            is_for_deletions: !mutate.targets.is_empty() && filters.into_iter().any(lists_deletions),
        }
    }

    /// Returns what a controller has to know about a rule with targets.
    pub(super) fn mutate_program(&self, rule: &RuleSource, mutate: &Mutate) -> BackgroundProgram {
        let mut triggers = targets::matched_resources(&rule.matching, rule.exclude.as_ref());
        let filters = rule.matching.any.iter().chain(&rule.matching.all).chain(&rule.matching.flat);
        if !filters.into_iter().any(|filter| filter.operations.contains(&Operation::Delete)) {
            let usual = [Operation::Create, Operation::Update, Operation::Connect];
            for trigger in &mut triggers {
                let kept = usual.into_iter().filter(|operation| trigger.operations.contains(*operation));
                trigger.operations = kept.collect();
            }
        }
        let of_policy = self.document.value.at(&["spec", "mutateExistingOnPolicyUpdate"]);
        BackgroundProgram::Mutate(MutateProgram {
            rule: self.id(&rule.name.value),
            triggers,
            targets: mutate.targets.iter().filter_map(target_resource).collect(),
            mutates_existing: mutate
                .is_run_on_policy_update
                .or_else(|| of_policy.and_then(Value::as_bool))
                .unwrap_or(false),
            skips_background_requests: rule.skips_background_requests,
            reads_requester: self.reads_requester(rule),
            is_judged_by_targets: false,
        })
    }

    fn mutation_patch(&mut self, patch: &MutatePatch, home: PatchHome) -> MutationPatchParts {
        match patch {
            MutatePatch::StrategicMerge(patch) => {
                let prefix =
                    if home.is_in_loop { "/patchStrategicMerge" } else { "/mutate/patchStrategicMerge" };
                let template_home = TemplateHome { prefix, at: Some(home.at), ..TemplateHome::default() };
                let template = self.template_at(patch, template_home);
                let constant = template
                    .constant()
                    .map(|value| Arc::new(OverlayNode::compile(&Tainted::Trusted(value.clone()))));
                MutationPatchParts::StrategicMerge { template, constant, path: patch.path.clone() }
            }
            MutatePatch::Json6902(text) => MutationPatchParts::Json6902 {
                operations: self.operations(text, home),
                path: text.path.clone(),
                places: read_operations(&text.value)
                    .unwrap_or_default()
                    .iter()
                    .map(|operation| locate_within(&self.document, &text.path, operation.position, 1))
                    .collect(),
            },
            MutatePatch::Foreach(loops) => {
                MutationPatchParts::Foreach(loops.iter().map(|one| self.mutation_loop(one, home)).collect())
            }
        }
    }

    fn mutation_loop(&mut self, one: &MutateForeach, home: PatchHome) -> MutationLoopParts {
        let (list, problems) = VariableQuery::parse(&one.list.value, &self.dialect.functions);
        self.report(&one.list.path, problems);
        let usual = match one.patch {
            // New elements come first, so the last one must be the first to be added.
            MutatePatch::StrategicMerge(_) => ElementOrder::Descending,
            MutatePatch::Json6902(_) | MutatePatch::Foreach(_) => ElementOrder::Ascending,
        };
        MutationLoopParts {
            path: one.path.clone(),
            list,
            list_path: one.list.path.clone(),
            entries: one.context.iter().map(|entry| self.entry(entry)).collect(),
            preconditions: one.preconditions.as_ref().map(|conditions| self.conditions(conditions)),
            order: one.order.unwrap_or(usual),
            patch: self.mutation_patch(&one.patch, PatchHome { is_in_loop: true, ..home }),
        }
    }

    fn target(&mut self, target: &MutateTarget) -> TargetParts {
        let mut text = |text: &Option<Located<Text>>| {
            text.as_ref().map(|text| {
                self.template(&Located { value: text.value.clone().into(), path: text.path.clone() })
            })
        };
        let texts =
            [&target.api_version, &target.kind, &target.name, &target.namespace, &target.uid].map(&mut text);
        let selector = target.selector.as_ref().map(|selector| {
            let path = child_path(&selector.path, "matchLabels");
            let labels = selector.labels.iter().map(|(key, value)| {
                let value = Located { value: value.clone().into(), path: child_path(&path, key.as_str()) };
                (key.clone(), self.template(&value))
            });
            (labels.collect(), target.clone())
        });
        TargetParts {
            path: target.path.clone(),
            texts,
            selector,
            entries: target.context.iter().map(|entry| self.entry(entry)).collect(),
            preconditions: target.preconditions.as_ref().map(|conditions| self.conditions(conditions)),
        }
    }

    /// Parses the operations in `text`; what is wrong with them has been reported.
    fn operations(&mut self, text: &Located<Text>, home: PatchHome) -> OperationList {
        let written = read_operations(&text.value).unwrap_or_default();
        let constant: Option<Vec<_>> = written.iter().map(constant_operation).collect();
        match constant {
            Some(operations) => OperationList::Constant(operations),
            None => {
                let each = written.iter().map(|operation| self.operation(operation, text, home));
                OperationList::Variable(each.collect())
            }
        }
    }

    fn operation(
        &mut self,
        operation: &WrittenOperation,
        text: &Located<Text>,
        home: PatchHome,
    ) -> OperationTemplate {
        let prefix = if home.is_in_loop { "/patchesJson6902" } else { "/mutate/patchesJson6902" };
        let mut template = |value: &Value, texts: &[Vec<Step>]| {
            let template_home = TemplateHome { prefix, is_text: true, at: Some(home.at), texts };
            let (template, problems) =
                VariableTemplate::parse_at(value, &self.dialect.functions, template_home);
            // Places in the text are not those of the document.
            let problems = problems.into_iter().map(|problem| crate::template::VariableProblem {
                path: Vec::new(),
                is_key: false,
                position: operation.position,
                ..problem
            });
            self.report(&text.path, problems.collect());
            template
        };
        let mut pointer = |path: &Text| template(&path.clone().into(), &[]);
        OperationTemplate {
            kind: operation.kind,
            path: pointer(&operation.path),
            from: operation.from.as_ref().map(&mut pointer),
            value: operation.value.as_ref().map(|value| template(value, &operation.texts)),
        }
    }
}

/// Returns an operation without variables.
fn constant_operation(operation: &WrittenOperation) -> Option<kubewright_patch::JsonPatchOperation> {
    let has_variable = |text: &Text| text.contains("{{") || text.contains("$(");
    let pointer = |text: &Text| {
        let own = [TaintedPart { text: text.clone(), is_own: true }];
        crate::mutate::operations::pointer_of(&own).ok().filter(|_| !has_variable(text))
    };
    let mut is_constant = true;
    if let Some(value) = &operation.value {
        crate::check::each_text(value, &mut Vec::new(), &mut |_, text| {
            is_constant &= !text.contains("{{") && !text.contains("$(");
        });
    }
    let from = match &operation.from {
        Some(from) => pointer(from)?,
        None => Pointer::root(),
    };
    let path = pointer(&operation.path).filter(|_| is_constant)?;
    Some(operation.kind.operation(path, from, operation.value.clone().unwrap_or_default()))
}

impl MutationParts {
    /// Returns the mutation for `workload`.
    pub(super) fn build(&self, workload: PodTemplatePath) -> Mutation {
        Mutation {
            patch: self.patch.build(workload),
            targets: self.targets.iter().map(TargetParts::build).collect(),
            is_for_deletions: self.is_for_deletions,
        }
    }
}

impl MutationPatchParts {
    fn build(&self, workload: PodTemplatePath) -> MutationPatch {
        match self {
            Self::StrategicMerge { template, constant, path } => {
                let source = match constant {
                    Some(node) => OverlaySource::Constant(Arc::clone(node)),
                    None => OverlaySource::Variable(template.rebased(workload)),
                };
                MutationPatch::StrategicMerge(StrategicOverlay { source, workload, path: path.clone() })
            }
            // A policy with one is never rewritten.
            Self::Json6902 { operations, path, places } => {
                let (path, places) = (path.clone(), places.clone());
                MutationPatch::Json6902 { operations: operations.clone(), path, places }
            }
            Self::Foreach(loops) => {
                MutationPatch::Foreach(loops.iter().map(|one| one.build(workload)).collect())
            }
        }
    }

    /// Returns all variables, each with the path of the part that it is in.
    pub(super) fn variables(&self) -> Vec<(Vec<&TemplateVariable>, &[Step])> {
        match self {
            Self::StrategicMerge { template, path, .. } => vec![(template.variables(), path.as_slice())],
            Self::Json6902 { operations: OperationList::Variable(operations), path, .. } => {
                operations.iter().map(|operation| (operation_variables(operation), path.as_slice())).collect()
            }
            Self::Json6902 { .. } | Self::Foreach(_) => Vec::new(),
        }
    }
}

fn operation_variables(operation: &OperationTemplate) -> Vec<&TemplateVariable> {
    let templates = [Some(&operation.path), operation.from.as_ref(), operation.value.as_ref()];
    templates.into_iter().flatten().flat_map(VariableTemplate::variables).collect()
}

impl MutationLoopParts {
    fn build(&self, workload: PodTemplatePath) -> MutationLoop {
        MutationLoop {
            path: self.path.clone(),
            list: self.list.rebased(workload),
            entries: self.entries.iter().map(|(entry, _)| entry.rebased(workload)).collect(),
            preconditions: self.preconditions.as_ref().map(|conditions| conditions.rebased(workload)),
            order: self.order,
            patch: self.patch.build(workload),
        }
    }
}

impl TargetParts {
    fn build(&self) -> MutationTarget {
        let [api_version, kind, name, namespace, uid] = self.texts.clone();
        let selector = self.selector.as_ref().map(|(labels, target)| TargetSelector {
            labels: labels.clone(),
            source: target.selector.clone().unwrap_or_default(),
        });
        MutationTarget {
            path: self.path.clone(),
            api_version,
            kind: kind.unwrap_or_else(VariableTemplate::empty),
            name,
            namespace,
            uid,
            selector,
            entries: self.entries.iter().map(|(entry, _)| entry.clone()).collect(),
            preconditions: self
                .preconditions
                .as_ref()
                .map(|conditions| conditions.rebased(PodTemplatePath::Pod)),
        }
    }
}

/// Returns the kind of a target, if the policy itself says it.
fn target_resource(target: &MutateTarget) -> Option<WebhookRule> {
    let literal = |text: &Text| (!text.contains("{{") && !text.contains("$(")).then(|| text.clone());
    let kind = literal(&target.kind.as_ref()?.value)?;
    let (kind, subresource) = kind.split_once('/').unwrap_or((&kind, ""));
    let api_version = match &target.api_version {
        Some(api_version) => literal(&api_version.value)?,
        None => "*/*".into(),
    };
    let (group, version) = match api_version.as_str() {
        "*" => ("*", "*"),
        api_version => api_version.rsplit_once('/').unwrap_or(("", api_version)),
    };
    Some(WebhookRule {
        group: group.into(),
        version: version.into(),
        name: KindOrResource::Kind(kind.into()),
        subresource: subresource.into(),
        operations: Operations::ALL,
    })
}
