//! A ModRule as it is written to a rule that can run, with everything that is wrong with it.

use std::sync::Arc;

use kubewright_engine::{
    Code, Compiled, Diagnostic, KindScope, NamespaceScope, Phase, Program, RuleId, Scope, nearest,
};
use kubewright_lang::goregex::{self, Regex};
use kubewright_lang::gotemplate::Template;
use kubewright_lang::jsonpath::{Expression, Lint, Select};
use kubewright_value::{Document, Position, Text, Value, yaml};

use super::criterion::{Criterion, Test};
use super::evaluate::{Action, PatchOperation, Reach, Rule};
use super::path::{PathTemplate, expand_shorthand};
use super::references::{REFERENCES, hidden_field};
use super::source::{self, Op, RuleType, Source, SourceCriterion, SourceOperation};
use super::value::PatchValue;
use super::{ModRule, diagnostics as code, idempotence};
use crate::fields::{Placed, Reader, child, within};

/// Compiles `document`; a rule with an error is left out.
pub(super) fn compile(dialect: &ModRule, document: &Document) -> Compiled {
    let (source, diagnostics) = source::read(document);
    let mut compiler = Compiler { dialect, document, diagnostics, sees_references: false };
    let rule = source.and_then(|source| compiler.rule(&source));
    let mut diagnostics = compiler.diagnostics;
    let has_error = diagnostics.iter().any(Diagnostic::is_error);
    let rule = rule.filter(|_| !has_error);
    if let Some((rule, program)) = &rule
        && let Some(warning) = idempotence::check(rule, program)
    {
        diagnostics.push(warning);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.location.position);
    let rules = rule.into_iter().map(|(rule, program)| rule.with(program)).collect();
    Compiled { rules, diagnostics }
}

/// Compiles one criterion that stands alone, for trying it out.
///
/// # Errors
/// Everything that is wrong with it.
pub fn compile_criterion(document: &Document) -> Result<Criterion, Vec<Diagnostic>> {
    let mut reader = Reader::new(document, source::FIELD_CODES);
    let source = reader.root().and_then(|fields| source::criterion(&mut reader, &fields));
    let dialect = ModRule::new(&crate::Options::default());
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
    phase: Phase,
    tier: i32,
    precedence: u32,
    pub(super) location: kubewright_value::Location,
}

impl Header {
    fn with(self, program: Rule) -> kubewright_engine::Rule {
        kubewright_engine::Rule {
            id: self.id,
            scope: self.scope,
            phase: self.phase,
            tier: self.tier,
            precedence: self.precedence,
            location: self.location,
            program: Program::OnRequest(Box::new(program)),
        }
    }
}

struct Compiler<'d> {
    dialect: &'d ModRule,
    document: &'d Document,
    diagnostics: Vec<Diagnostic>,
    sees_references: bool,
}

impl<'d> Compiler<'d> {
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
            },
            phase: if matches!(action, Action::Patch(_)) { Phase::Patch } else { Phase::Judge },
            tier: source.tier,
            precedence: u32::from(!matches!(reach, Reach::Cluster { .. })),
            location: self.document.locate(&source.name.path),
        };
        let inputs = self.dialect.inputs;
        let rule = Rule { name, reach, criteria, action, sees_references: self.sees_references, inputs };
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
            Some(namespace) if is_cluster => Reach::Cluster { namespace, regex: compiled },
            Some(namespace) => Reach::Own(namespace),
            None => Reach::Every,
        })
    }

    fn criterion(&mut self, source: &SourceCriterion) -> Option<Criterion> {
        let select = self.expression(&source.select);
        let test = self.test(source);
        let select = select?;
        self.lints(&source.select, select.lints());
        self.sees_references |= select.reads_root_key(REFERENCES);
        Some(Criterion {
            text: source.select.value.to_string(),
            path: Select::parse(&source.select.value).ok(),
            select,
            test: test?,
            match_for: source.match_for,
            is_negated: source.is_negated,
            location: self.document.locate(&source.select.path),
            unmet: format!("not met: {}", source.select.value).into(),
        })
    }

    fn test(&mut self, source: &SourceCriterion) -> Option<Test> {
        let regex = match &source.match_regex {
            Some(regex) => Some(self.regex(regex)?),
            None => None,
        };
        let named = [
            ("matchValue", source.match_value.as_ref()),
            ("matchValues", source.match_values.first()),
            ("matchRegex", source.match_regex.as_ref()),
        ];
        let mut named = named.into_iter().filter_map(|(name, value)| value.map(|value| (name, value)));
        let first = named.next();
        if let (Some((first, _)), Some((second, place))) = (first, named.next()) {
            self.report(
                &code::SHADOWED_TEST,
                place,
                format!("`{second}` is never looked at, because `{first}` decides alone"),
                "split it into two criteria".to_owned(),
            );
        }
        for value in source.match_value.iter().chain(&source.match_values) {
            let is_quoted =
                value.value.len() > 1 && value.value.starts_with('"') && value.value.ends_with('"');
            if is_quoted {
                self.report(
                    &code::QUOTED_MATCH,
                    value,
                    format!("only text with quotes in it equals `{}`", value.value),
                    format!("matchValue is compared as it stands; write '{}'", value.value.trim_matches('"')),
                );
            }
        }
        let texts = || source.match_values.iter().map(|value| value.value.clone()).collect();
        Some(match (&source.match_value, source.match_values.is_empty(), regex) {
            (Some(value), _, _) => Test::Equals(value.value.clone()),
            (None, false, _) => Test::OneOf(texts()),
            (None, true, Some(regex)) => Test::Matches(regex),
            (None, true, None) => Test::Present,
        })
    }

    fn operation(&mut self, source: &SourceOperation) -> Option<PatchOperation> {
        let path = self.path(source);
        let value = self.value(source);
        let select = match &source.select {
            Some(select) => Some(self.select(select)?),
            None => None,
        };
        let path = path?;
        if let (Some(select), Some(highest)) = (&select, path.highest_placeholder()) {
            self.check_placeholder(select, highest, &source.path);
        }
        let written_path = source.path.value.clone();
        Some(PatchOperation {
            op: source.op,
            select,
            path,
            written_path,
            value: value?,
            location: self.document.locate(&source.path_in_rule),
        })
    }

    fn path(&mut self, source: &SourceOperation) -> Option<PathTemplate> {
        let text = &source.path;
        let parsed = if source.select.is_some() {
            PathTemplate::parse(&text.value)
        } else {
            PathTemplate::literal(&text.value)
        };
        let path = match parsed {
            Ok(_) if text.value.is_empty() => {
                self.report(
                    &code::BAD_PATH,
                    text,
                    "a patch cannot replace the whole object".to_owned(),
                    "name a field, such as /metadata/labels/x".to_owned(),
                );
                return None;
            }
            Ok(path) => path,
            Err(error) => {
                let help = if text.value.starts_with('/') {
                    "write `~1` for a slash in a key and `~0` for a tilde"
                } else {
                    "a path starts with `/`"
                };
                self.report(
                    &code::BAD_PATH,
                    text,
                    format!("`{}` is not a path: {error}", text.value),
                    help.to_owned(),
                );
                return None;
            }
        };
        if let Some(field) = hidden_field(path.fixed_start()) {
            self.report(
                &code::HIDDEN_FIELD,
                text,
                format!("`{field}` cannot be changed by a rule"),
                "remove this operation".to_owned(),
            );
        }
        if source.op == Op::Add && path.last_fixed() == Some("-") {
            self.report(
                &code::DASH_APPEND,
                text,
                "where the list is missing, `/-` makes an object with the key `-`".to_owned(),
                "write `/-1`, which makes the list".to_owned(),
            );
        }
        Some(path)
    }

    fn value(&mut self, source: &SourceOperation) -> Option<PatchValue> {
        if source.op == Op::Remove {
            return Some(PatchValue::Constant(Value::Null));
        }
        let Some(text) = source.value.as_ref() else {
            // A value of the wrong type was reported when it was read.
            if self.document.value.follow(&child(&source.path_in_rule, "value")).is_none_or(Value::is_null) {
                self.report(
                    &code::NO_VALUE,
                    &source.path,
                    "the operation has no value, so it sets null".to_owned(),
                    "add a `value`, or write value: 'null' if null is meant".to_owned(),
                );
            }
            return Some(PatchValue::Constant(Value::Null));
        };
        let expanded = expand_shorthand(&text.value);
        if let (Some(select), Some(highest)) = (&source.select, highest_shorthand(&text.value))
            && let Ok(select) = Select::parse(&select.value)
        {
            self.check_placeholder(&select, highest, text);
        }
        let given = &["Target", "Namespace", "SelectedItem", "SelectKeyParts"];
        let template = self.template(&source.path.value, (text, &expanded), (given, &code::UNKNOWN_ROOT))?;
        let Some(constant) = template.literal() else {
            let location = within(self.document, &text.path, Position::START, 1);
            return Some(PatchValue::Template { template: Box::new(template), location });
        };
        match yaml::parse(constant) {
            Ok(value) => Some(PatchValue::Constant(value)),
            Err(error) => {
                let location = within(self.document, &text.path, error.position, 1);
                self.diagnostics.push(
                    Diagnostic::new(
                        &code::BAD_VALUE,
                        format!("the value is not YAML: {}", error.message),
                        location,
                    )
                    .help(
                        "text that starts with a special character needs quotes inside the quotes: '\"@x\"'",
                    ),
                );
                None
            }
        }
    }

    /// Reads a template; `given` is what it sees, and `code` is for asking for anything else.
    fn template(
        &mut self,
        name: &str,
        (place, text): (&Placed<Text>, &str),
        (given, code): (&[&str], &'static Code),
    ) -> Option<Template> {
        match Template::parse(name, text, &self.dialect.functions) {
            Ok(template) => {
                self.sees_references |= template.root_reads().may_read(&["Target", REFERENCES]);
                let roots = template.root_reads().paths().filter_map(<[Text]>::first);
                let unknown = roots.filter(|root| !given.contains(&root.as_str())).min();
                if let Some(unknown) = unknown {
                    let help = match nearest(unknown, given.iter().copied()) {
                        Some(near) => format!("did you mean `.{near}`?"),
                        None => format!(
                            "it is given .{}; fields of the object are below .Target",
                            given.join(", .")
                        ),
                    };
                    self.report(code, place, format!("the template is not given `.{unknown}`"), help);
                }
                Some(template)
            }
            Err(error) => {
                let location = within(self.document, &place.path, error.position, 1);
                let help = if error.message.contains("refused") {
                    "allow it with --allow-function, if the rule can live with a new result each time"
                } else {
                    ""
                };
                self.diagnostics
                    .push(Diagnostic::new(&code::BAD_TEMPLATE, error.message, location).help(help));
                None
            }
        }
    }

    fn expression(&mut self, text: &Placed<Text>) -> Option<Expression> {
        let parsed = Expression::parse(&text.value);
        parsed.map_err(|error| self.bad_select(text, error.message, error.position, error.length)).ok()
    }

    fn lints(&mut self, text: &Placed<Text>, lints: Vec<(Lint, Position)>) {
        for (lint, position) in lints {
            let location = within(self.document, &text.path, position, 1);
            let code = match lint {
                Lint::PresenceFilter | Lint::ListFilter => &code::PRESENCE_FILTER,
                _ => &code::ODD_EXPRESSION,
            };
            self.diagnostics.push(Diagnostic::new(code, lint.to_string(), location));
        }
    }

    fn select(&mut self, text: &Placed<Text>) -> Option<Select> {
        let select = Select::parse(&text.value)
            .map_err(|error| self.bad_select(text, error.message, error.position, error.length))
            .ok()?;
        self.sees_references |= select.reads_root_key(REFERENCES);
        Some(select)
    }

    fn bad_select(&mut self, text: &Placed<Text>, message: String, position: Position, length: u32) {
        let location = within(self.document, &text.path, position, length);
        self.diagnostics.push(
            Diagnostic::new(&code::BAD_SELECT, message, location).label(format!("in `{}`", text.value)),
        );
    }

    fn regex(&mut self, text: &Placed<Text>) -> Option<Regex> {
        match goregex::compile(&text.value) {
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

    fn check_placeholder(&mut self, select: &Select, highest: usize, place: &Placed<Text>) {
        let (_, most) = select.captures();
        if let Some(most) = most.filter(|most| highest >= *most) {
            let captured = match most {
                0 => "the select captures no key".to_owned(),
                1 => "the select captures one key, `#0`".to_owned(),
                more => format!("the select captures {more} keys, `#0` to `#{}`", more - 1),
            };
            self.report(
                &code::BAD_PLACEHOLDER,
                place,
                format!("placeholder `#{highest}` stands for nothing"),
                captured,
            );
        }
    }

    fn report(&mut self, code: &'static Code, place: &Placed<Text>, message: String, help: String) {
        let location = self.document.locate(&place.path);
        self.diagnostics.push(Diagnostic::new(code, message, location).help(help));
    }
}

impl Reach {
    /// Returns the middle part of the rule's id.
    fn name(&self) -> Text {
        match self {
            Self::Own(namespace) | Self::Cluster { namespace, .. } => namespace.clone(),
            Self::Every => "*".into(),
        }
    }

    fn scope(&self) -> NamespaceScope {
        match self {
            Self::Own(namespace) => NamespaceScope::Named(vec![namespace.clone()]),
            Self::Every => NamespaceScope::Any,
            Self::Cluster { namespace, regex: None } => {
                NamespaceScope::Named(vec![Text::default(), namespace.clone()])
            }
            Self::Cluster { namespace, regex: Some(regex) } => match exact_name(regex.as_str()) {
                Some(name) => NamespaceScope::Named(vec![name.into(), namespace.clone()]),
                None => NamespaceScope::Any,
            },
        }
    }
}

/// Returns the kinds outside of which the criteria cannot all be met.
fn pinned_kinds(criteria: &[Criterion]) -> KindScope {
    let pinned = criteria.iter().filter(|criterion| !criterion.is_negated).find_map(|criterion| {
        let is_kind = criterion
            .select
            .plain_path()
            .is_some_and(|steps| matches!(steps, [step] if *step == "kind".into()));
        match &criterion.test {
            Test::Equals(kind) if is_kind => Some(vec![kind.clone()]),
            Test::OneOf(kinds) if is_kind => Some(kinds.clone()),
            _ => criterion.select.pinned().into_iter().find_map(|(steps, value)| {
                match (steps.as_slice(), value) {
                    ([step], Value::String(kind)) if *step == "kind".into() => Some(vec![kind]),
                    _ => None,
                }
            }),
        }
    });
    pinned.map_or(KindScope::Any, KindScope::Named)
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

/// Returns the highest N of the `.#N` in a template.
fn highest_shorthand(text: &str) -> Option<usize> {
    text.match_indices(".#")
        .filter_map(|(at, _)| {
            let tail = text.get(at + 2..)?;
            let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
            tail.get(..digits)?.parse().ok()
        })
        .max()
}
