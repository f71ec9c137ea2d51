//! A ModRule as it is written to a rule that can run, with everything that is wrong with it.

mod criteria;
mod operations;

use std::sync::Arc;

use kubewright_engine::{
    AdmissionPhase, Code, CompiledPolicy, Diagnostic, EvaluationModes, KindScope, NamespaceScope, Needs,
    Recompile, RuleAction, RuleId, RuleProgram, RuleScope, ScopePlaces,
};
use kubewright_golib::regex::{self, Regex};
use kubewright_gotemplate::Inputs;
use kubewright_patch::KeyPositions;
use kubewright_value::{Document, Position, Step, Text};

use super::criterion::CompiledCriterion;
use super::evaluate::{ClusterTargets, ModRuleAction, ModRuleProgram, NamespaceReach};
use super::references::ReferenceSettings;
use super::shared::reach_number;
use super::source::{self, ModRuleSource, RuleType};
use super::unreadable::UnreadableRule;
use super::{ModRule, ModRuleOptions, cluster, diagnostics as code, idempotence};
use criteria::pinned_kinds;
use kubewright_dialect_kit::fields::{DocumentReader, Located, locate_within};
use kubewright_value::CompactSort as _;

/// Compiles `document`; a rule with an error is left out, unless `--fail-closed` rules must refuse instead.
pub(super) fn compile_modrule(dialect: &ModRule, document: &Document) -> CompiledPolicy {
    let (source, diagnostics) = source::read_modrule(document);
    let mut compiler = ModRuleCompiler { dialect, document, diagnostics, sees_references: false };
    let rule = source.as_ref().and_then(|source| compiler.rule(source));
    let mut diagnostics = compiler.diagnostics;
    if let Some(error) = diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        let unreadable =
            source.and_then(|source| compile_unreadable(dialect, document, source, &error.message));
        diagnostics.compact_sort_by_key(|diagnostic| diagnostic.location.position);
        return compiled_policy(dialect, unreadable, diagnostics);
    }
    if let Some((rule, program)) = &rule
        && let Some(warning) = idempotence::check_idempotence(rule, program)
    {
        diagnostics.push(warning);
    }
    diagnostics.compact_sort_by_key(|diagnostic| diagnostic.location.position);
    let rule = rule.map(|(header, program)| CompiledModRule {
        sees_references: program.sight.sees_references,
        rule: header.with(program),
    });
    compiled_policy(dialect, rule, diagnostics)
}

/// A rule, and whether it can see the namespace and the node of its object.
struct CompiledModRule {
    rule: kubewright_engine::Rule,
    sees_references: bool,
}

fn compiled_policy(
    dialect: &ModRule,
    made: Option<CompiledModRule>,
    diagnostics: Vec<Diagnostic>,
) -> CompiledPolicy {
    // Functions of the time and of chance are off unless they are allowed.
    let recompile = if dialect.has_allowed_functions { Recompile::Periodically } else { Recompile::OnChange };
    let nodes = made.as_ref().is_some_and(|made| made.sees_references);
    CompiledPolicy {
        webhooks: made.iter().map(|_| cluster::webhook(&dialect.resources)).collect(),
        rules: made.into_iter().map(|made| made.rule).collect(),
        needs: Needs { nodes, ..Needs::default() },
        recompile,
        ..CompiledPolicy::of_diagnostics(diagnostics)
    }
}

/// Returns the substitute for a rule with an error that must refuse the objects it cannot evaluate.
fn compile_unreadable(
    dialect: &ModRule,
    document: &Document,
    mut source: ModRuleSource,
    reason: &str,
) -> Option<CompiledModRule> {
    // Only its scope is used.
    source.reject_message = None;
    source.operations.clear();
    let mut compiler = ModRuleCompiler { dialect, document, diagnostics: Vec::new(), sees_references: false };
    let (header, rule) = compiler.rule(&source)?;
    let is_bounded = matches!(header.scope.kinds, KindScope::Named(_));
    (header.refuses_on_error && is_bounded).then(|| CompiledModRule {
        sees_references: rule.sight.sees_references,
        rule: header.with(UnreadableRule { rule, reason: reason.into() }),
    })
}

/// Compiles a single criterion, for trying it out.
///
/// # Errors
/// Everything that is wrong with it.
pub fn compile_criterion(document: &Document) -> Result<CompiledCriterion, Vec<Diagnostic>> {
    let mut reader = DocumentReader::new(document, source::FIELD_CODES);
    let source = reader.root().and_then(|fields| source::read_criterion(&mut reader, &fields));
    let dialect = ModRule::new(&ModRuleOptions::default(), Inputs::default());
    let mut compiler = ModRuleCompiler {
        dialect: &dialect,
        document,
        diagnostics: reader.diagnostics,
        sees_references: false,
    };
    let criterion = source.and_then(|source| compiler.criterion(&source));
    let errors: Vec<_> = compiler.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    criterion.filter(|_| errors.is_empty()).ok_or(errors)
}

/// A rule without its program, which the check for idempotence still wants to look into.
pub(super) struct RuleHeader {
    id: Arc<RuleId>,
    pub(super) scope: RuleScope,
    action: RuleAction,
    tier: i32,
    precedence: u32,
    refuses_on_error: bool,
    pub(super) location: kubewright_value::Location,
}

impl RuleHeader {
    fn with(self, program: impl RuleProgram + 'static) -> kubewright_engine::Rule {
        kubewright_engine::Rule {
            id: self.id,
            scope: self.scope,
            action: self.action,
            phase: AdmissionPhase::Mutating,
            tier: self.tier,
            precedence: self.precedence,
            position: 0,
            matches_current: false,
            metadata: Arc::default(),
            refuses_on_error: self.refuses_on_error,
            is_exclusive: false,
            reads_secrets: false,
            home: None,
            evaluation_modes: EvaluationModes::default(),
            location: self.location,
            program: Box::new(program),
        }
    }
}

struct ModRuleCompiler<'d> {
    dialect: &'d ModRule,
    document: &'d Document,
    diagnostics: Vec<Diagnostic>,
    sees_references: bool,
}

impl ModRuleCompiler<'_> {
    fn rule(&mut self, source: &ModRuleSource) -> Option<(RuleHeader, ModRuleProgram)> {
        let name = source.name.value.clone();
        let reach = self.reach(source);
        let criteria: Vec<_> =
            source.criteria.iter().filter_map(|criterion| self.criterion(criterion)).collect();
        let operations: Vec<_> =
            source.operations.iter().filter_map(|operation| self.operation(operation)).collect();
        let message = match &source.reject_message {
            Some(text) => Some(self.template(
                "rejectMessage",
                (text, &text.value),
                (&["Target", "Namespace"], &code::MESSAGE_ROOT),
            )?),
            None => None,
        };
        let action = match source.rule_type? {
            RuleType::Patch => ModRuleAction::Patch(operations),
            RuleType::Reject => ModRuleAction::Reject {
                message: message.map(Box::new),
                location: source.reject_message.as_ref().map(|text| self.document.locate(&text.path)),
            },
        };
        let reach = reach?;
        let places = self.scope_places(source, &reach);
        let namespaces_place = places.namespaces.as_ref().map(|(_, place)| place.clone());
        let header = RuleHeader {
            id: RuleId { dialect: "modrule", policy: reach.name(), rule: name.clone() }.into(),
            scope: RuleScope {
                kinds: pinned_kinds(&criteria),
                namespaces: reach.scope(),
                operations: source.admission_operations.iter().copied().collect(),
                payloads: false,
                places,
            },
            action: if matches!(action, ModRuleAction::Patch(_)) {
                RuleAction::Mutate
            } else {
                RuleAction::Validate
            },
            tier: source.tier,
            refuses_on_error: self.dialect.fails_closed && matches!(action, ModRuleAction::Reject { .. }),
            precedence: u32::from(!matches!(reach, NamespaceReach::Cluster { .. })),
            location: self.document.locate(&source.name.path),
        };
        let inputs = self.dialect.inputs;
        let rule = ModRuleProgram {
            name,
            reach_number: reach_number(&reach, &self.dialect.cluster_namespace, header.refuses_on_error),
            reach,
            namespaces_place,
            cluster_namespace: self.dialect.cluster_namespace.clone(),
            reads_metadata: criteria.iter().any(|criterion| criterion.select.reads_root_key("metadata")),
            criteria,
            action,
            key_positions: KeyPositions::default(),
            sight: ReferenceSettings {
                sees_references: self.sees_references,
                assumed_node: self.dialect.assumed_node.clone(),
                is_strict: header.refuses_on_error,
            },
            inputs,
            is_random: self.dialect.has_allowed_functions,
            sees_changes: self.dialect.follows_program,
        };
        Some((header, rule))
    }

    fn scope_places(&self, source: &ModRuleSource, reach: &NamespaceReach) -> ScopePlaces {
        let at = |keys: [&str; 2]| self.document.locate(&keys.map(Step::from));
        let regex = source.target_namespace_regex.as_ref();
        let namespaces = match (reach, regex) {
            (NamespaceReach::Cluster { .. }, Some(regex)) => {
                let what = format!("by targetNamespaceRegex `{}`", regex.value);
                Some((what.into(), self.document.locate(&regex.path)))
            }
            (NamespaceReach::Cluster { namespace, .. }, None) => {
                let what = format!("as a rule in `{namespace}` without targetNamespaceRegex");
                Some((what.into(), at(["metadata", "namespace"])))
            }
            (NamespaceReach::Own(_), _) => {
                Some((Text::new_static("that of the rule"), at(["metadata", "namespace"])))
            }
            (NamespaceReach::Every, _) => None,
        };
        ScopePlaces {
            operations: Some(at(["spec", "admissionOperations"])),
            namespaces,
            ..ScopePlaces::default()
        }
    }

    fn reach(&mut self, source: &ModRuleSource) -> Option<NamespaceReach> {
        let namespace = source.namespace.clone().or_else(|| self.dialect.default_namespace.clone());
        let regex = source.target_namespace_regex.as_ref().filter(|regex| !regex.value.is_empty());
        let compiled = match regex {
            Some(regex) => Some(self.regex(regex)?),
            None => None,
        };
        let is_cluster = namespace.as_ref() == Some(&self.dialect.cluster_namespace);
        if let Some(regex) = regex {
            match is_cluster {
                true if !is_anchored(&regex.value) => self.report(
                    &code::UNANCHORED_NAMESPACE,
                    regex,
                    format!("`{}` also matches namespaces that only contain it", regex.value),
                    format!(
                        "write `^{}$` to match whole names",
                        regex.value.trim_start_matches('^').trim_end_matches('$')
                    ),
                ),
                true => {}
                false => self.report(
                    &code::IGNORED_NAMESPACE_REGEX,
                    regex,
                    format!(
                        "targetNamespaceRegex counts only in namespace `{}`",
                        self.dialect.cluster_namespace
                    ),
                    "this rule matches only objects in its own namespace".to_owned(),
                ),
            }
        }
        Some(match namespace {
            Some(namespace) if is_cluster => {
                let targets = match compiled {
                    None => ClusterTargets::ClusterScoped,
                    Some(regex) if regex.as_str() == ".*" => ClusterTargets::Everything,
                    Some(regex) => ClusterTargets::Namespaces(regex),
                };
                NamespaceReach::Cluster { namespace, targets }
            }
            Some(namespace) => NamespaceReach::Own(namespace),
            None => NamespaceReach::Every,
        })
    }

    fn regex(&mut self, text: &Located<Text>) -> Option<Regex> {
        match regex::compile_regex(&text.value) {
            Ok(regex) => Some(regex),
            Err(error) => {
                self.report(
                    &code::BAD_REGEX,
                    text,
                    format!("`{}` is not a regular expression: {error}", text.value),
                    "the syntax is Go's (RE2)".to_owned(),
                );
                None
            }
        }
    }

    fn bad_select(&mut self, text: &Located<Text>, message: String, position: Position, length: u32) {
        let location = locate_within(self.document, &text.path, position, length);
        self.diagnostics.push(
            Diagnostic::new(&code::BAD_SELECT, message, location).label(format!("in `{}`", text.value)),
        );
    }

    fn report(&mut self, code: &'static Code, place: &Located<Text>, message: String, help: String) {
        let location = self.document.locate(&place.path);
        self.diagnostics.push(Diagnostic::new(code, message, location).help(help));
    }
}

impl NamespaceReach {
    /// Returns the middle part of the rule's id.
    pub(super) fn name(&self) -> Text {
        match self {
            Self::Own(namespace) | Self::Cluster { namespace, .. } => namespace.clone(),
            Self::Every => "*".into(),
        }
    }

    fn scope(&self) -> NamespaceScope {
        match self {
            Self::Own(namespace) => NamespaceScope::Named(vec![namespace.clone()]),
            Self::Every => NamespaceScope::Any,
            Self::Cluster { targets: ClusterTargets::ClusterScoped, .. } => {
                NamespaceScope::Named(vec![Text::default()])
            }
            Self::Cluster { targets: ClusterTargets::Everything, .. } => NamespaceScope::Any,
            Self::Cluster { targets: ClusterTargets::Namespaces(regex), .. } => {
                match exact_name(regex.as_str()) {
                    Some(name) => NamespaceScope::Named(vec![name.into()]),
                    None => NamespaceScope::Any,
                }
            }
        }
    }
}

/// Returns whether a namespace regex is anchored at its start, and at its end or with an explicit rest.
fn is_anchored(regex: &str) -> bool {
    let has_start = regex.starts_with('^') || regex.starts_with("\\A");
    let ends_in_word =
        regex.ends_with(|character: char| character.is_ascii_alphanumeric() || character == ')');
    matches!(regex, ".*" | ".+") || (has_start && (!ends_in_word || regex.ends_with("\\z")))
}

/// Returns the only text that an anchored regex without special characters matches.
fn exact_name(regex: &str) -> Option<&str> {
    let name = regex.strip_prefix('^')?.strip_suffix('$')?;
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-').then_some(name)
}
