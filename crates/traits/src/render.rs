//! Rendering of traits over given manifests: a folder, a Helm chart, a pipe.

mod outcome;

use std::fmt;
use std::sync::Arc;

use kubewright_engine::{Diagnostic, DiagnosticLevel, TraceNode, TraceVerdict};
use kubewright_value::{Budget, Document, Location, Map, Step, Text, Value};

use super::compile::{self, program};
use super::diagnostics as code;
use super::evaluate::{Evaluator, RenderRun, TraceEntry};
use super::manifest::{Manifest, ManifestWriter};
use super::schema::{Schema, Sections};
use super::source::{self, OpenChoreoResource};
use super::variables::RenderContext;
use kubewright_value::CompactSort as _;
pub(crate) use outcome::check_rendered_manifests;

/// A compiled Trait or ClusterTrait. Cloning it is cheap.
#[derive(Debug, Clone)]
pub struct CompiledTrait(Arc<SharedTrait>);

#[derive(Debug)]
struct SharedTrait {
    document: Document,
    is_cluster: bool,
    name: Text,
    sections: Sections,
    program: program::TraitProgram,
    /// The place of each writing part.
    parts: Arc<[Location]>,
}

impl CompiledTrait {
    /// Compiles `document`, in which expressions may also use the variables `more`. Returns `None` for other kinds.
    #[must_use]
    pub fn compile(document: &Document, more: &[Text]) -> (Option<Self>, Vec<Diagnostic>) {
        let (resource, mut diagnostics) = source::read_openchoreo_document(document);
        let Some(OpenChoreoResource::Trait(found)) = resource else { return (None, diagnostics) };
        let (program, wrong) = compile::compile_trait(&found, document, more);
        diagnostics.extend(wrong);
        (Some(Self::new(found, program, document)), diagnostics)
    }

    pub(crate) fn new(
        found: source::TraitDefinition,
        program: program::TraitProgram,
        document: &Document,
    ) -> Self {
        let templates = program.creates.iter().map(|template| (template.part, &template.path));
        let operations = program.patches.iter().flat_map(|patch| &patch.operations);
        let operations = operations.map(|operation| (operation.part, &operation.path.path));
        let mut parts: Vec<(u32, &Vec<Step>)> = templates.chain(operations).collect();
        parts.compact_sort_by_key(|(part, _)| *part);
        let parts = parts.into_iter().map(|(_, path)| document.locate(path)).collect();
        let source::TraitDefinition { metadata, is_cluster, sections, .. } = found;
        let name = metadata.name;
        Self(Arc::new(SharedTrait { document: document.clone(), is_cluster, name, sections, program, parts }))
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

    /// Returns its document.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.0.document
    }

    /// Returns the schemas of its parameters.
    #[must_use]
    pub fn sections(&self) -> &Sections {
        &self.0.sections
    }

    /// Applies this trait alone to `manifests`, with the variables in `context`. The result is not checked.
    #[must_use]
    pub fn apply(
        &self,
        manifests: Vec<Manifest>,
        context: &RenderContext,
        options: &RenderOptions,
    ) -> Rendering {
        let mut run = RenderRun::new(options.trace);
        let writers = vec![AppliedInstance::of_trait(self, self.name())];
        let mut manifests = manifests;
        apply_trait(self, context, 0, &writers, &mut manifests, &mut run);
        finish_rendering(manifests, writers, run, options)
    }

    /// Returns the variable `trait` of the instance `name`.
    pub(crate) fn trait_variable(&self, name: &Text) -> Value {
        let names = [("name", self.name()), ("instanceName", name)];
        Map::from(names.map(|(key, name)| (key, Value::String(name.clone())))).into()
    }

    pub(crate) fn program(&self) -> &program::TraitProgram {
        &self.0.program
    }
}

/// A trait with its parameters.
#[derive(Debug, Clone)]
pub struct Instance {
    /// The trait.
    pub of: CompiledTrait,
    /// The name, unique among the instances.
    pub name: Text,
    /// An object, or null for nothing.
    pub parameters: Document,
    /// An object, or null for nothing.
    pub environment_configs: Document,
}

/// The options of a rendering.
#[derive(Debug, Clone, Copy, Default)]
pub struct RenderOptions {
    /// Whether a patch that matches nothing, or a value that nothing reads, is an error.
    pub strict: bool,
    /// Whether to record a trace.
    pub trace: bool,
}

/// The result of a rendering.
#[derive(Debug, Default)]
pub struct Rendering {
    /// The manifests; incomplete if something failed.
    pub manifests: Vec<Manifest>,
    /// The instances, in the order of [`ManifestWriter::instance`].
    pub writers: Vec<AppliedInstance>,
    /// The diagnostics, in order of occurrence.
    pub diagnostics: Vec<Diagnostic>,
    /// The trace, if requested: one node per instance.
    pub trace: Vec<TraceNode>,
}

/// An instance that took part in a rendering.
#[derive(Debug, Clone)]
pub struct AppliedInstance {
    /// `Trait`, `ClusterTrait`, or the kind of another resource that creates manifests.
    pub kind: &'static str,
    /// The name of the trait.
    pub of: Text,
    /// The name of the instance.
    pub name: Text,
    /// Its place.
    start: Location,
    /// The places of its parts.
    parts: Arc<[Location]>,
}

impl AppliedInstance {
    pub(crate) fn of_trait(of: &CompiledTrait, name: &Text) -> Self {
        let SharedTrait { document, name: of_name, parts, .. } = &*of.0;
        let (start, parts) = (document.locate(&[]), Arc::clone(parts));
        Self { kind: of.kind(), of: of_name.clone(), name: name.clone(), start, parts }
    }

    /// Returns a writer of another kind, with the places of its parts.
    pub(crate) fn other(kind: &'static str, of: Text, start: Location, parts: Arc<[Location]>) -> Self {
        Self { kind, of, name: Text::default(), start, parts }
    }

    /// Returns whether it is a trait, and not the component type.
    pub(crate) fn is_trait(&self) -> bool {
        matches!(self.kind, "Trait" | "ClusterTrait")
    }

    /// Returns the place of part `part`.
    #[must_use]
    pub fn location(&self, part: u32) -> &Location {
        usize::try_from(part).ok().and_then(|part| self.parts.get(part)).unwrap_or(&self.start)
    }
}

/// Its name in messages: ``Trait `logging` `` with its instance, if that has another name.
impl fmt::Display for AppliedInstance {
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
    /// Returns whether there is an error.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Returns the instance of `writer`.
    #[must_use]
    pub fn writer(&self, writer: ManifestWriter) -> Option<&AppliedInstance> {
        self.writers.get(writer.instance as usize)
    }
}

/// Applies `instances` in order to `base`, with the variables in `context`, and checks the result.
#[must_use]
pub fn render_traits(
    base: Vec<Manifest>,
    instances: &[Instance],
    context: &RenderContext,
    options: &RenderOptions,
) -> Rendering {
    let mut run = RenderRun::new(options.trace);
    let mut manifests = base;
    let writers: Vec<AppliedInstance> =
        instances.iter().map(|instance| AppliedInstance::of_trait(&instance.of, &instance.name)).collect();
    let mut contexts = Vec::with_capacity(instances.len());
    for (instance, about) in instances.iter().zip(&writers) {
        let (bound, wrong) = bind_instance(instance, about, context);
        run.diagnostics.extend(wrong);
        contexts.push(bound);
    }
    let uses = (0..).zip(instances.iter().map(|instance| &instance.of).zip(&contexts));
    apply_all_traits(uses.clone(), &writers, &mut manifests, &mut run);
    if !has_failed(&run) {
        check_all_assertions(uses, &manifests, &mut run);
        check_rendered_manifests(&manifests, &writers, &mut run.diagnostics);
    }
    finish_rendering(manifests, writers, run, options)
}

/// Returns the rendering of a completed `run`.
pub(crate) fn finish_rendering(
    manifests: Vec<Manifest>,
    writers: Vec<AppliedInstance>,
    run: RenderRun,
    options: &RenderOptions,
) -> Rendering {
    let mut diagnostics = run.diagnostics;
    outcome::report_overlaps(&manifests, &writers, &mut diagnostics);
    if options.strict {
        raise_strict_warnings(&mut diagnostics);
    }
    Rendering { manifests, writers, diagnostics, trace: run.trace.finish() }
}

/// Raises the warnings that `--strict` treats as errors: patches and values without effect, and targets that are too wide.
pub fn raise_strict_warnings(diagnostics: &mut [Diagnostic]) {
    let raised = [&code::HITS_NOTHING, &code::WIDE_TARGET];
    for diagnostic in diagnostics {
        diagnostic.is_raised |= raised.contains(&diagnostic.code) || is_about_values(diagnostic);
    }
}

/// Returns whether `diagnostic` is about a given value: one that violates its schema, or that nothing reads.
#[must_use]
pub fn is_about_values(diagnostic: &Diagnostic) -> bool {
    [&code::BAD_PARAMETER, &code::UNKNOWN_PARAMETER, &code::NOTHING_DECLARED, &code::UNKNOWN_INSTANCE]
        .contains(&diagnostic.code)
}

pub(crate) fn has_failed(run: &RenderRun) -> bool {
    run.diagnostics.iter().any(Diagnostic::is_error)
}

/// Applies numbered traits, each with its variables, until one fails; none if something failed before.
pub(crate) fn apply_all_traits<'u>(
    uses: impl Iterator<Item = (u32, (&'u CompiledTrait, &'u RenderContext))>,
    writers: &[AppliedInstance],
    manifests: &mut Vec<Manifest>,
    run: &mut RenderRun,
) {
    for (number, (of, context)) in uses {
        if has_failed(run) {
            return;
        }
        apply_trait(of, context, number, writers, manifests, run);
    }
}

/// Evaluates the `postRenderValidations` of numbered traits.
pub(crate) fn check_all_assertions<'u>(
    uses: impl Iterator<Item = (u32, (&'u CompiledTrait, &'u RenderContext))>,
    manifests: &[Manifest],
    run: &mut RenderRun,
) {
    for (number, (of, context)) in uses {
        Evaluator::new(of.document(), context, number, run).assertions(&of.program().after, manifests);
    }
}

/// Applies one trait, if its `preRenderValidations` hold.
fn apply_trait(
    of: &CompiledTrait,
    context: &RenderContext,
    number: u32,
    writers: &[AppliedInstance],
    manifests: &mut Vec<Manifest>,
    run: &mut RenderRun,
) {
    run.trace.open();
    let before = run.diagnostics.len();
    let mut evaluator = Evaluator::new(of.document(), context, number, run);
    if evaluator.rules(&of.program().before) {
        evaluator.apply(of.program(), manifests);
    }
    let failed = run.diagnostics.get(before..).unwrap_or_default().iter().any(Diagnostic::is_error);
    run.trace.close(|| TraceEntry {
        what: writers.get(number as usize).map(ToString::to_string).unwrap_or_default(),
        found: String::new(),
        wanted: String::new(),
        verdict: if failed { TraceVerdict::Error } else { TraceVerdict::Done },
        location: Some(of.document().locate(&[])),
    });
}

/// Returns the variables of `instance`, and the mistakes in its parameters.
fn bind_instance(
    instance: &Instance,
    about: &AppliedInstance,
    context: &RenderContext,
) -> (RenderContext, Vec<Diagnostic>) {
    let sections = instance.of.sections();
    let (parameters, mut wrong) =
        bind_section(sections.parameters.as_ref(), &instance.parameters, "parameters", about);
    let (configs, more) = bind_section(
        sections.environment_configs.as_ref(),
        &instance.environment_configs,
        "environmentConfigs",
        about,
    );
    wrong.extend(more);
    let context = context
        .clone()
        .with("trait", instance.of.trait_variable(&instance.name))
        .with("parameters", parameters)
        .with("environmentConfigs", configs);
    (context, wrong)
}

/// Returns the given values with defaults, and the violations. Without a schema they are returned unchanged.
pub(crate) fn bind_section(
    schema: Option<&Schema>,
    given: &Document,
    what: &str,
    about: &dyn fmt::Display,
) -> (Value, Vec<Diagnostic>) {
    let place = |path: &[Step], is_key| if is_key { given.locate_key(path) } else { given.locate(path) };
    bind_section_at(schema, &given.value, &place, (what, about))
}

/// Returns the same, with a function from a path to the `place` of its value or key; messages call it `what` of `about`.
pub(crate) fn bind_section_at(
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
            let diagnostic = |wrong: super::schema::ValueViolation| {
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
