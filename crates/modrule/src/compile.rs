//! A ModRule as it is written to a rule that can run, with everything that is wrong with it.

mod criteria;
mod operations;

use std::sync::Arc;

use kubewright_engine::{
    AdmissionPhase, Code, CompiledPolicy, Diagnostic, EvaluationModes, KindScope, NamespaceScope, Needs,
    Program, Recompile, RuleAction, RuleId, Scope,
};
use kubewright_golib::regex::{self, Regex};
use kubewright_gotemplate::Inputs;
use kubewright_value::{Document, Position, Text};

use super::criterion::Criterion;
use super::evaluate::{Action, ClusterTargets, Reach, Rule};
use super::references::Sight;
use super::source::{self, RuleType, Source};
use super::unreadable::Unreadable;
use super::{ModRule, ModRuleOptions, cluster, diagnostics as code, idempotence};
use criteria::pinned_kinds;
use kubewright_dialect_kit::fields::{Placed, Reader, within};

/// Compiles `document`; a rule with an error is left out, unless it is to refuse what it cannot answer.
pub(super) fn compile(dialect: &ModRule, document: &Document) -> CompiledPolicy {
    let (source, diagnostics) = source::read(document);
    let mut compiler = Compiler { dialect, document, diagnostics, sees_references: false };
    let rule = source.as_ref().and_then(|source| compiler.rule(source));
    let mut diagnostics = compiler.diagnostics;
    if let Some(error) = diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        let unreadable = source.and_then(|source| unreadable(dialect, document, source, &error.message));
        diagnostics.sort_by_key(|diagnostic| diagnostic.location.position);
        return compiled(dialect, unreadable, diagnostics);
    }
    if let Some((rule, program)) = &rule
        && let Some(warning) = idempotence::check(rule, program)
    {
        diagnostics.push(warning);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.location.position);
    let rule = rule.map(|(header, program)| Made {
        sees_references: program.sight.sees_references,
        rule: header.with(program),
    });
    compiled(dialect, rule, diagnostics)
}

/// A rule, and whether it can see the namespace and the node of its object.
struct Made {
    rule: kubewright_engine::Rule,
    sees_references: bool,
}

fn compiled(dialect: &ModRule, made: Option<Made>, diagnostics: Vec<Diagnostic>) -> CompiledPolicy {
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

/// Returns what stands for a rule with an error that is to refuse what it cannot answer.
fn unreadable(dialect: &ModRule, document: &Document, mut source: Source, reason: &str) -> Option<Made> {
    // Only what it is about counts.
    source.reject_message = None;
    source.operations.clear();
    let mut compiler = Compiler { dialect, document, diagnostics: Vec::new(), sees_references: false };
    let (header, rule) = compiler.rule(&source)?;
    let is_bounded = matches!(header.scope.kinds, KindScope::Named(_));
    (header.refuses_on_error && is_bounded).then(|| Made {
        sees_references: rule.sight.sees_references,
        rule: header.with(Unreadable { rule, reason: reason.into() }),
    })
}

/// Compiles one criterion that stands alone, for trying it out.
///
/// # Errors
/// Everything that is wrong with it.
pub fn compile_criterion(document: &Document) -> Result<Criterion, Vec<Diagnostic>> {
    let mut reader = Reader::new(document, source::FIELD_CODES);
    let source = reader.root().and_then(|fields| source::criterion(&mut reader, &fields));
    let dialect = ModRule::new(&ModRuleOptions::default(), Inputs::default());
    let mut compiler =
        Compiler { dialect: &dialect, document, diagnostics: reader.diagnostics, sees_references: false };
    let criterion = source.and_then(|source| compiler.criterion(&source));
    let errors: Vec<_> = compiler.diagnostics.into_iter().filter(Diagnostic::is_error).collect();
    criterion.filter(|_| errors.is_empty()).ok_or(errors)
}

/// A rule without its program, which the check for idempotence still wants to look into.
pub(super) struct Header {
    id: Arc<RuleId>,
    pub(super) scope: Scope,
    action: RuleAction,
    tier: i32,
    precedence: u32,
    refuses_on_error: bool,
    pub(super) location: kubewright_value::Location,
}

impl Header {
    fn with(self, program: impl Program + 'static) -> kubewright_engine::Rule {
        kubewright_engine::Rule {
            id: self.id,
            scope: self.scope,
            action: self.action,
            phase: AdmissionPhase::Mutating,
            tier: self.tier,
            precedence: self.precedence,
            position: 0,
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

struct Compiler<'d> {
    dialect: &'d ModRule,
    document: &'d Document,
    diagnostics: Vec<Diagnostic>,
    sees_references: bool,
}

impl Compiler<'_> {
    fn rule(&mut self, source: &Source) -> Option<(Header, Rule)> {
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
            RuleType::Patch => Action::Patch(operations),
            RuleType::Reject => Action::Reject { message: message.map(Box::new) },
        };
        let reach = reach?;
        let header = Header {
            id: RuleId { dialect: "modrule", policy: reach.name(), rule: name.clone() }.into(),
            scope: Scope {
                kinds: pinned_kinds(&criteria),
                namespaces: reach.scope(),
                operations: source.admission_operations.iter().copied().collect(),
                payloads: false,
            },
            action: if matches!(action, Action::Patch(_)) {
                RuleAction::Mutate
            } else {
                RuleAction::Validate
            },
            tier: source.tier,
            refuses_on_error: self.dialect.fails_closed && matches!(action, Action::Reject { .. }),
            precedence: u32::from(!matches!(reach, Reach::Cluster { .. })),
            location: self.document.locate(&source.name.path),
        };
        let inputs = self.dialect.inputs;
        let rule = Rule {
            name,
            reach,
            cluster_namespace: self.dialect.cluster_namespace.clone(),
            criteria,
            action,
            sight: Sight {
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

    fn reach(&mut self, source: &Source) -> Option<Reach> {
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
                        "write `^{}$` if whole names are meant",
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
                    "this rule is about objects in its own namespace".to_owned(),
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
                Reach::Cluster { namespace, targets }
            }
            Some(namespace) => Reach::Own(namespace),
            None => Reach::Every,
        })
    }

    fn regex(&mut self, text: &Placed<Text>) -> Option<Regex> {
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

    fn bad_select(&mut self, text: &Placed<Text>, message: String, position: Position, length: u32) {
        let location = within(self.document, &text.path, position, length);
        self.diagnostics.push(
            Diagnostic::new(&code::BAD_SELECT, message, location).label(format!("in `{}`", text.value)),
        );
    }

    fn report(&mut self, code: &'static Code, place: &Placed<Text>, message: String, help: String) {
        let location = self.document.locate(&place.path);
        self.diagnostics.push(Diagnostic::new(code, message, location).help(help));
    }
}

impl Reach {
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

/// Returns whether a namespace regex says where a name begins, and either where it ends or that it goes on.
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
