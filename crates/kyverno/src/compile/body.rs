//! The parts of a rule, parsed once; a rule for controllers is built from the same ones.

use std::sync::Arc;

use kubewright_engine::{Diagnostic, Recompile, RuleAction};
use kubewright_value::{Step, Text, Value};

use super::PolicyCompiler;
use super::generate::GenerateParts;
use super::mutation::MutationParts;
use crate::cel;
use crate::conditions::ConditionSet;
use crate::context::CompiledContextEntry;
use crate::diagnostics as code;
use crate::evaluate::patterns::{AnyPattern, OnePattern, PatternSource, compile_pattern};
use crate::evaluate::{ForeachLoop, Rooted, RuleBody, ValidateCheck};
use crate::manifests::ManifestCheck;
use crate::pattern::ValidatePattern;
use crate::pod_security::Profile;
use crate::source::{Cel, ContextEntry, Foreach, Method, RuleSource};
use crate::tainted::Tainted;
use crate::template::{TemplateHome, TemplateProblemKind, VariableProblem, VariableQuery, VariableTemplate};
use crate::verify_images::{ImageChecks, ImageParts, compile_images};
use kubewright_cel_rules::ExpressionProblem;
use kubewright_dialect_kit::fields::{Located, child_path, locate_within};
use kubewright_jmespath::JmesPathParseErrorKind;
use kubewright_k8s::PodTemplatePath;

/// Everything in a rule that had to be parsed.
pub(super) struct RuleParts {
    pub(super) message: VariableTemplate,
    pub(super) body: BodyParts,
}

/// The same for all variants of the rule, which may be built later.
pub(super) struct SharedRuleParts {
    pub(super) message: VariableTemplate,
    pub(super) body: Arc<BodyParts>,
}

pub(super) struct BodyParts {
    pub(super) entries: Vec<(CompiledContextEntry, Vec<Step>)>,
    pub(super) preconditions: Option<Rooted<ConditionSet>>,
    pub(super) check: CheckParts,
}

pub(super) enum CheckParts {
    Pattern(PatternParts),
    AnyPattern(Vec<PatternParts>),
    Deny(Option<Rooted<ConditionSet>>),
    Foreach(Vec<LoopParts>),
    Both(Box<[Self; 2]>),
    Cel(Box<cel::CelParts>),
    PodSecurity(Arc<Profile>),
    Manifests(Arc<ManifestCheck>),
    Generate(Vec<GenerateParts>),
    Mutate(Box<MutationParts>),
    Images(Box<ImageChecks>),
    Impossible(Text),
}

pub(super) struct PatternParts {
    pub(super) template: VariableTemplate,
    /// Where it has no variables.
    pub(super) constant: Option<Arc<ValidatePattern>>,
    /// Whether it is one of an `anyPattern`.
    is_entry: bool,
    pub(super) path: Vec<Step>,
}

pub(super) struct LoopParts {
    pub(super) path: Vec<Step>,
    pub(super) list: VariableQuery,
    pub(super) list_path: Vec<Step>,
    pub(super) element_scope: Option<bool>,
    pub(super) body: BodyParts,
}

impl PolicyCompiler<'_> {
    /// Parses everything in `rule`.
    pub(super) fn parts(&mut self, rule: &RuleSource) -> RuleParts {
        let message = match &rule.validate.message {
            // The message of a CEL rule is computed in CEL.
            Some(message) if !matches!(rule.validate.method, Method::Cel(_)) => {
                self.template(&Located { value: message.value.clone().into(), path: message.path.clone() })
            }
            _ => VariableTemplate::parse(&Value::from(""), &self.dialect.functions).0,
        };
        let mut body = self.body(&rule.context, rule.preconditions.as_ref(), &rule.validate.method);
        if let Method::Cel(cel) = &rule.validate.method {
            body.check = CheckParts::Cel(Box::new(self.cel(rule, cel)));
        }
        if let Method::Mutate(mutate) = &rule.validate.method {
            body.check = CheckParts::Mutate(Box::new(self.mutation(mutate, &rule.matching)));
        }
        RuleParts { message, body }
    }

    fn cel(&mut self, rule: &RuleSource, cel: &Cel) -> cel::CelParts {
        let message = rule.validate.message.as_ref();
        let about = &rule.matching;
        let filters = about.any.iter().chain(&about.all).chain(&about.flat);
        // The kinds are for warnings alone.
        let filters = filters.filter(|_| !self.dialect.rules_only);
        let kinds: Vec<&str> =
            filters.flat_map(|filter| &filter.kinds).map(|kind| kind.value.as_str()).collect();
        let preconditions = &rule.cel_preconditions;
        let (mut parts, problems) =
            cel::compile_cel_rule(&self.dialect.cel, cel, preconditions, message, &kinds);
        self.report_cel(problems);
        parts.is_elsewhere = self.policy.settings.is_generated;
        parts
    }

    pub(super) fn report_cel(&mut self, problems: Vec<ExpressionProblem>) {
        let document = &self.document;
        self.diagnostics.extend(problems.into_iter().map(|problem| problem.diagnostic(document)));
    }

    fn body(
        &mut self,
        context: &[ContextEntry],
        preconditions: Option<&Located<Value>>,
        method: &Method,
    ) -> BodyParts {
        BodyParts {
            entries: context.iter().map(|entry| self.entry(entry)).collect(),
            preconditions: preconditions.map(|conditions| self.conditions(conditions)),
            check: self.check(method),
        }
    }

    fn check(&mut self, method: &Method) -> CheckParts {
        match method {
            Method::Pattern(pattern) => CheckParts::Pattern(self.pattern(pattern, false)),
            Method::AnyPattern(patterns) => {
                let items = patterns.value.as_array().unwrap_or_default().iter().enumerate();
                let place = |i| child_path(&patterns.path, i);
                let each = items
                    .map(|(i, value)| self.pattern(&Located { value: value.clone(), path: place(i) }, true));
                CheckParts::AnyPattern(each.collect())
            }
            Method::Deny(conditions) => {
                CheckParts::Deny(conditions.as_ref().map(|conditions| self.conditions(conditions)))
            }
            Method::Foreach(loops) => {
                CheckParts::Foreach(loops.iter().map(|one| self.foreach(one)).collect())
            }
            Method::Both(both) => {
                let [whole, loops] = both.as_ref();
                CheckParts::Both(Box::new([self.check(whole), self.check(loops)]))
            }
            // Of a whole rule only, which has the preconditions that belong to it.
            Method::Cel(_) => CheckParts::Impossible("CEL in a loop".into()),
            Method::Mutate(_) => CheckParts::Impossible("mutate in a loop".into()),
            Method::PodSecurity(profile) => CheckParts::PodSecurity(Profile::compile(profile).into()),
            Method::Manifests(manifests) => CheckParts::Manifests(ManifestCheck::compile(manifests).into()),
            Method::Generate(generate) => {
                CheckParts::Generate(generate.downstreams.iter().map(|one| self.downstream(one)).collect())
            }
            Method::Images(images) => {
                let ImageParts { checks, problems, is_timed } =
                    compile_images(images, &self.dialect.functions, self.dialect.now);
                for (path, problems) in problems {
                    self.report(&path, problems);
                }
                if is_timed {
                    self.recompile = Recompile::Periodically;
                }
                CheckParts::Images(Box::new(checks))
            }
        }
    }

    fn foreach(&mut self, one: &Foreach) -> LoopParts {
        let (list, problems) = VariableQuery::parse(&one.list.value, &self.dialect.functions);
        self.report(&one.list.path, problems);
        LoopParts {
            path: one.path.clone(),
            list,
            list_path: one.list.path.clone(),
            element_scope: one.element_scope,
            body: self.body(&one.context, one.preconditions.as_ref(), &one.method),
        }
    }

    pub(super) fn entry(&mut self, entry: &ContextEntry) -> (CompiledContextEntry, Vec<Step>) {
        let (compiled, problems) = CompiledContextEntry::compile(entry, &self.dialect.functions);
        // Places of an entry are those of the document already.
        self.report(&[], problems);
        (compiled, entry.path.clone())
    }

    pub(super) fn conditions(&mut self, conditions: &Located<Value>) -> Rooted<ConditionSet> {
        let (value, problems) = ConditionSet::compile(conditions, &self.dialect.functions);
        self.report(&conditions.path, problems);
        Rooted { value, path: conditions.path.clone() }
    }

    fn pattern(&mut self, pattern: &Located<Value>, is_entry: bool) -> PatternParts {
        let template = self.template(pattern);
        let constant = template
            .constant()
            .map(|value| Arc::new(compile_pattern(&Tainted::Trusted(value.clone()), is_entry)));
        PatternParts { template, constant, is_entry, path: pattern.path.clone() }
    }

    pub(super) fn template(&mut self, value: &Located<Value>) -> VariableTemplate {
        self.template_at(value, TemplateHome::default())
    }

    pub(super) fn template_at(&mut self, value: &Located<Value>, home: TemplateHome<'_>) -> VariableTemplate {
        let (template, problems) = VariableTemplate::parse_at(&value.value, &self.dialect.functions, home);
        self.report(&value.path, problems);
        template
    }

    pub(super) fn report(&mut self, path: &[Step], problems: Vec<VariableProblem>) {
        for problem in problems {
            let place = [path, &problem.path].concat();
            let location = match problem.is_key {
                true => self.document.locate_key(&place),
                false => locate_within(&self.document, &place, problem.position, problem.length),
            };
            let code = match problem.kind {
                TemplateProblemKind::Expression(JmesPathParseErrorKind::UnknownFunction) => {
                    &code::UNKNOWN_FUNCTION
                }
                _ => &code::BAD_JMESPATH,
            };
            self.diagnostics.push(Diagnostic::new(code, problem.message, location));
        }
    }
}

/// The value that a pattern applies to, and so its place in a rule for controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PatternPlace {
    /// The object, of which it describes the template.
    Object,
    /// An element of a loop, which is the same wherever it comes from.
    Element,
}

impl BodyParts {
    /// Returns the check for `workload`.
    pub(super) fn build(&self, workload: PodTemplatePath, place: PatternPlace) -> RuleBody {
        RuleBody {
            entries: self.entries.iter().map(|(entry, _)| entry.rebased(workload)).collect(),
            preconditions: self.preconditions.as_ref().map(|conditions| conditions.rebased(workload)),
            check: self.check.build(workload, place),
        }
    }
}

impl CheckParts {
    /// Returns what a rule with this check does.
    pub(super) fn action(&self) -> RuleAction {
        match self {
            Self::Mutate(mutation) if mutation.targets.is_empty() => RuleAction::Mutate,
            Self::Mutate(_) => RuleAction::Generate,
            _ => RuleAction::Validate,
        }
    }

    /// Returns whether the message of an object that passes has the name of the rule alone.
    pub(super) fn names_rule_that_passes(&self) -> bool {
        matches!(self, Self::PodSecurity(_) | Self::Cel(_))
    }

    fn build(&self, workload: PodTemplatePath, place: PatternPlace) -> ValidateCheck {
        match self {
            CheckParts::Pattern(pattern) => ValidateCheck::Pattern(pattern.build(workload, place, None)),
            CheckParts::AnyPattern(patterns) => ValidateCheck::AnyPattern(AnyPattern {
                patterns: patterns
                    .iter()
                    .enumerate()
                    .map(|(item, pattern)| pattern.build(workload, place, Some(item)))
                    .collect(),
            }),
            CheckParts::Deny(conditions) => {
                ValidateCheck::Deny(conditions.as_ref().map(|conditions| conditions.rebased(workload)))
            }
            CheckParts::Foreach(loops) => {
                ValidateCheck::Foreach(loops.iter().map(|one| one.build(workload)).collect())
            }
            CheckParts::Both(both) => {
                ValidateCheck::Both(Box::new(both.each_ref().map(|one| one.build(workload, place))))
            }
            CheckParts::Cel(parts) => ValidateCheck::Cel(Box::new(parts.build(workload))),
            // It finds out itself where the object describes a Pod.
            CheckParts::PodSecurity(profile) => ValidateCheck::PodSecurity(Arc::clone(profile)),
            CheckParts::Manifests(manifests) => ValidateCheck::Manifests(Arc::clone(manifests)),
            CheckParts::Generate(_) => ValidateCheck::Impossible("a generate rule checks nothing".into()),
            CheckParts::Mutate(parts) => ValidateCheck::Mutate(Box::new(parts.build(workload))),
            CheckParts::Images(images) => ValidateCheck::Images(images.rebased(workload).into()),
            CheckParts::Impossible(reason) => ValidateCheck::Impossible(reason.clone()),
        }
    }
}

impl Rooted<ConditionSet> {
    pub(crate) fn rebased(&self, workload: PodTemplatePath) -> Self {
        Self { value: self.value.rebased(workload), path: self.path.clone() }
    }
}

impl PatternParts {
    fn build(&self, workload: PodTemplatePath, place: PatternPlace, item: Option<usize>) -> OnePattern {
        let below = match place {
            PatternPlace::Object => workload,
            PatternPlace::Element => PodTemplatePath::Pod,
        };
        let source = match &self.constant {
            Some(pattern) => PatternSource::Constant(Arc::clone(pattern).under(below)),
            None => PatternSource::Variable {
                template: self.template.rebased_below(workload, below, item),
                workload: below,
                is_entry: self.is_entry,
            },
        };
        OnePattern { source, path: self.path.clone() }
    }
}

impl LoopParts {
    fn build(&self, workload: PodTemplatePath) -> ForeachLoop {
        ForeachLoop {
            path: self.path.clone(),
            keys: object_path(self.list.text(), workload),
            list: self.list.rebased(workload),
            element_scope: self.element_scope,
            body: self.body.build(workload, PatternPlace::Element),
        }
    }
}

/// Returns the keys of a list that is a plain path in the object, such as `request.object.spec.containers`.
fn object_path(list: &str, workload: PodTemplatePath) -> Option<Vec<Step>> {
    let path = list.trim().strip_prefix("request.object.")?.trim_end_matches("[]");
    let is_key = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let keys: Vec<&str> = path.split('.').collect();
    let prefix = if keys.first() == Some(&"spec") { workload.keys() } else { &[] };
    keys.iter()
        .all(|key| is_key(key))
        .then(|| prefix.iter().chain(&keys).map(|key| Step::from(*key)).collect())
}
