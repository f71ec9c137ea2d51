//! Traits over manifests that somebody else made: a folder, a Helm chart, a pipe.

mod outcome;

use std::fmt;
use std::sync::Arc;

use kubewright_engine::{Diagnostic, DiagnosticLevel, TraceNode, TraceVerdict};
use kubewright_value::{Budget, Document, Location, Map, Step, Text, Value};

use super::compile::{self, program};
use super::diagnostics as code;
use super::evaluate::{Evaluator, Run, Said};
use super::manifest::{Manifest, Writer};
use super::schema::{Schema, Sections};
use super::source::{self, Resource};
use super::variables::Context;
pub(crate) use outcome::check;

/// A compiled Trait or ClusterTrait. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct Trait(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    document: Document,
    is_cluster: bool,
    name: Text,
    sections: Sections,
    program: program::Trait,
    /// Where each part that writes something stands.
    parts: Arc<[Location]>,
}

impl Trait {
    /// Compiles `document`, in which expressions may also use the variables `more`. Nothing where it is no trait.
    #[must_use]
    pub fn compile(document: &Document, more: &[Text]) -> (Option<Self>, Vec<Diagnostic>) {
        let (resource, mut diagnostics) = source::read(document);
        let Some(Resource::Trait(found)) = resource else { return (None, diagnostics) };
        let (program, wrong) = compile::compile_trait(&found, document, more);
        diagnostics.extend(wrong);
        (Some(Self::new(found, program, document)), diagnostics)
    }

    pub(crate) fn new(found: source::Trait, program: program::Trait, document: &Document) -> Self {
        let templates = program.creates.iter().map(|template| (template.part, &template.path));
        let operations = program.patches.iter().flat_map(|patch| &patch.operations);
        let operations = operations.map(|operation| (operation.part, &operation.path.path));
        let mut parts: Vec<(u32, &Vec<Step>)> = templates.chain(operations).collect();
        parts.sort_unstable_by_key(|(part, _)| *part);
        let parts = parts.into_iter().map(|(_, path)| document.locate(path)).collect();
        let source::Trait { metadata, is_cluster, sections, .. } = found;
        let name = metadata.name;
        Self(Arc::new(Inner { document: document.clone(), is_cluster, name, sections, program, parts }))
    }

    /// Returns `Trait` or `ClusterTrait`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        if self.0.is_cluster { "ClusterTrait" } else { "Trait" }
    }

    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &Text {
        &self.0.name
    }

    /// Returns what it was read from.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.0.document
    }

    /// Returns the schemas of what it can be given.
    #[must_use]
    pub fn sections(&self) -> &Sections {
        &self.0.sections
    }

    /// Applies this trait alone to `manifests`, with everything that its expressions see in `context`. What comes out is
    /// not checked.
    #[must_use]
    pub fn apply(&self, manifests: Vec<Manifest>, context: &Context, options: &RenderOptions) -> Rendering {
        let mut run = Run::new(options.trace);
        let writers = vec![Applied::of_trait(self, self.name())];
        let mut manifests = manifests;
        apply(self, context, 0, &writers, &mut manifests, &mut run);
        finish(manifests, writers, run, options)
    }

    /// Returns what expressions see as `trait` in the instance `name`.
    pub(crate) fn called(&self, name: &Text) -> Value {
        let names = [("name", self.name()), ("instanceName", name)];
        Map::from(names.map(|(key, name)| (key, Value::String(name.clone())))).into()
    }

    pub(crate) fn program(&self) -> &program::Trait {
        &self.0.program
    }
}

/// A trait with what it is given.
#[derive(Debug, Clone)]
pub struct Instance {
    /// The trait.
    pub of: Trait,
    /// What tells it from other instances of the same trait.
    pub name: Text,
    /// An object, or null for nothing.
    pub parameters: Document,
    /// An object, or null for nothing.
    pub environment_configs: Document,
}

/// How to render.
#[derive(Debug, Clone, Copy, Default)]
pub struct RenderOptions {
    /// A patch that hits nothing is an error, and so is a value that nothing reads.
    pub strict: bool,
    /// Say what was looked at and done.
    pub trace: bool,
}

/// What came out.
#[derive(Debug, Default)]
pub struct Rendering {
    /// The manifests; as far as it came, where something failed.
    pub manifests: Vec<Manifest>,
    /// Who wrote; [`Writer`]s are about these.
    pub writers: Vec<Applied>,
    /// Everything that is wrong, in the order in which it was met.
    pub diagnostics: Vec<Diagnostic>,
    /// What was looked at and done, if that was asked for: one node for each instance.
    pub trace: Vec<TraceNode>,
}

/// An instance that took part in a rendering.
#[derive(Debug, Clone)]
pub struct Applied {
    /// `Trait`, `ClusterTrait`, or the kind of another resource that makes manifests.
    pub kind: &'static str,
    /// The name of the trait.
    pub of: Text,
    /// The name of the instance.
    pub name: Text,
    /// Where it was written.
    start: Location,
    /// Where its parts were written.
    parts: Arc<[Location]>,
}

impl Applied {
    pub(crate) fn of_trait(of: &Trait, name: &Text) -> Self {
        let Inner { document, name: of_name, parts, .. } = &*of.0;
        let (start, parts) = (document.locate(&[]), Arc::clone(parts));
        Self { kind: of.kind(), of: of_name.clone(), name: name.clone(), start, parts }
    }

    /// Returns a writer that is no trait, whose parts stand at `parts`.
    pub(crate) fn other(kind: &'static str, of: Text, start: Location, parts: Arc<[Location]>) -> Self {
        Self { kind, of, name: Text::default(), start, parts }
    }

    /// Returns whether it is a trait, and not what made the manifests that traits change.
    pub(crate) fn is_trait(&self) -> bool {
        matches!(self.kind, "Trait" | "ClusterTrait")
    }

    /// Returns where part `part` stands.
    #[must_use]
    pub fn location(&self, part: u32) -> &Location {
        usize::try_from(part).ok().and_then(|part| self.parts.get(part)).unwrap_or(&self.start)
    }
}

/// How it is called in messages: ``Trait `logging` `` with its instance, if that has another name.
impl fmt::Display for Applied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{}`", self.kind, self.of)?;
        match self.name.as_str() {
            "" => Ok(()),
            name if name == self.of.as_str() => Ok(()),
            name => write!(f, " (instance `{name}`)"),
        }
    }
}

impl Rendering {
    /// Returns whether the manifests are not what was asked for.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Returns who `writer` is.
    #[must_use]
    pub fn writer(&self, writer: Writer) -> Option<&Applied> {
        self.writers.get(writer.instance as usize)
    }
}

/// Applies `instances` one after another to `base`, with what `context` says; then checks what came out.
#[must_use]
pub fn render(
    base: Vec<Manifest>,
    instances: &[Instance],
    context: &Context,
    options: &RenderOptions,
) -> Rendering {
    let mut run = Run::new(options.trace);
    let mut manifests = base;
    let writers: Vec<Applied> =
        instances.iter().map(|instance| Applied::of_trait(&instance.of, &instance.name)).collect();
    let mut contexts = Vec::with_capacity(instances.len());
    for (instance, about) in instances.iter().zip(&writers) {
        let (bound, wrong) = bind(instance, about, context);
        run.diagnostics.extend(wrong);
        contexts.push(bound);
    }
    let uses = (0..).zip(instances.iter().map(|instance| &instance.of).zip(&contexts));
    apply_all(uses.clone(), &writers, &mut manifests, &mut run);
    if !has_failed(&run) {
        assert_all(uses, &manifests, &mut run);
        check(&manifests, &writers, &mut run.diagnostics);
    }
    finish(manifests, writers, run, options)
}

/// Returns the rendering that `run` came to.
pub(crate) fn finish(
    manifests: Vec<Manifest>,
    writers: Vec<Applied>,
    run: Run,
    options: &RenderOptions,
) -> Rendering {
    let mut diagnostics = run.diagnostics;
    outcome::overlaps(&manifests, &writers, &mut diagnostics);
    if options.strict {
        raise(&mut diagnostics);
    }
    Rendering { manifests, writers, diagnostics, trace: run.story.finish() }
}

/// Makes errors of the warnings that strict rendering does not put up with: what reaches nothing, and what reaches more
/// than it says.
pub fn raise(diagnostics: &mut [Diagnostic]) {
    let raised = [&code::HITS_NOTHING, &code::WIDE_TARGET];
    for diagnostic in diagnostics {
        diagnostic.is_raised |= raised.contains(&diagnostic.code) || is_about_values(diagnostic);
    }
}

/// Returns whether `diagnostic` is about a value that was given: one that does not fit, or that nothing reads.
#[must_use]
pub fn is_about_values(diagnostic: &Diagnostic) -> bool {
    [&code::BAD_PARAMETER, &code::UNKNOWN_PARAMETER, &code::NOTHING_DECLARED, &code::UNKNOWN_INSTANCE]
        .contains(&diagnostic.code)
}

pub(crate) fn has_failed(run: &Run) -> bool {
    run.diagnostics.iter().any(Diagnostic::is_error)
}

/// Applies numbered traits, each with what its expressions see, until one fails; none where something has failed before.
pub(crate) fn apply_all<'u>(
    uses: impl Iterator<Item = (u32, (&'u Trait, &'u Context))>,
    writers: &[Applied],
    manifests: &mut Vec<Manifest>,
    run: &mut Run,
) {
    for (number, (of, context)) in uses {
        if has_failed(run) {
            return;
        }
        apply(of, context, number, writers, manifests, run);
    }
}

/// Looks whether what numbered traits say of the rendered manifests holds.
pub(crate) fn assert_all<'u>(
    uses: impl Iterator<Item = (u32, (&'u Trait, &'u Context))>,
    manifests: &[Manifest],
    run: &mut Run,
) {
    for (number, (of, context)) in uses {
        Evaluator::new(of.document(), context, number, run).assertions(&of.program().after, manifests);
    }
}

/// Applies one trait: its rules first, and nothing else where one does not hold.
fn apply(
    of: &Trait,
    context: &Context,
    number: u32,
    writers: &[Applied],
    manifests: &mut Vec<Manifest>,
    run: &mut Run,
) {
    run.story.open();
    let before = run.diagnostics.len();
    let mut evaluator = Evaluator::new(of.document(), context, number, run);
    if evaluator.rules(&of.program().before) {
        evaluator.apply(of.program(), manifests);
    }
    let failed = run.diagnostics.get(before..).unwrap_or_default().iter().any(Diagnostic::is_error);
    run.story.close(|| Said {
        what: writers.get(number as usize).map(ToString::to_string).unwrap_or_default(),
        found: String::new(),
        wanted: String::new(),
        verdict: if failed { TraceVerdict::Error } else { TraceVerdict::Done },
        location: Some(of.document().locate(&[])),
    });
}

/// Returns what the expressions of `instance` see, and what is wrong with what it is given.
fn bind(instance: &Instance, about: &Applied, context: &Context) -> (Context, Vec<Diagnostic>) {
    let sections = instance.of.sections();
    let (parameters, mut wrong) =
        section(sections.parameters.as_ref(), &instance.parameters, "parameters", about);
    let (configs, more) = section(
        sections.environment_configs.as_ref(),
        &instance.environment_configs,
        "environmentConfigs",
        about,
    );
    wrong.extend(more);
    let context = context
        .clone()
        .with("trait", instance.of.called(&instance.name))
        .with("parameters", parameters)
        .with("environmentConfigs", configs);
    (context, wrong)
}

/// Returns what is given with its defaults, and what is wrong with it. Without a schema it is as it is.
pub(crate) fn section(
    schema: Option<&Schema>,
    given: &Document,
    what: &str,
    about: &dyn fmt::Display,
) -> (Value, Vec<Diagnostic>) {
    let place = |path: &[Step], is_key| if is_key { given.locate_key(path) } else { given.locate(path) };
    section_at(schema, &given.value, &place, (what, about))
}

/// Returns the same for what stands at a `place` of its own, which is asked for a value or for its key; `what` of `about`
/// is how messages call it.
pub(crate) fn section_at(
    schema: Option<&Schema>,
    given: &Value,
    place: &dyn Fn(&[Step], bool) -> Location,
    (what, about): (&str, &dyn fmt::Display),
) -> (Value, Vec<Diagnostic>) {
    let empty = Value::object(Map::new());
    let value = if given.is_null() { &empty } else { given };
    let Some(schema) = schema else { return (value.clone(), Vec::new()) };
    let mut budget = Budget::default();
    let checked = schema
        .with_defaults(value, &mut budget)
        .and_then(|value| schema.check(&value, &mut budget).map(|wrong| (value, wrong)));
    match checked {
        Ok((value, wrong)) => {
            let diagnostic = |wrong: super::schema::Wrong| {
                let (code, is_key) = match wrong.severity {
                    DiagnosticLevel::Error => (&code::BAD_PARAMETER, false),
                    DiagnosticLevel::Warning | DiagnosticLevel::Hint => (&code::UNKNOWN_PARAMETER, true),
                };
                let message = format!("{what} of {about}: {}", wrong.message);
                Diagnostic::new(code, message, place(&wrong.path, is_key)).help(wrong.help)
            };
            (value, wrong.into_iter().map(diagnostic).collect())
        }
        Err(exhausted) => {
            let message = format!("{what} of {about}: {exhausted}");
            (empty, vec![Diagnostic::new(&code::LIMIT, message, place(&[], false))])
        }
    }
}
