//! Traits over manifests that somebody else made: a folder, a Helm chart, a pipe.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use kubewright_engine::{Diagnostic, Severity, TraceNode, Verdict};
use kubewright_lang::patch::Pointer;
use kubewright_lang::pathpatch::Op;
use kubewright_value::{Budget, Document, Location, Map, Step, Text, Value};

use super::compile::{self, program};
use super::diagnostics as code;
use super::evaluate::{Evaluator, Run, Said};
use super::manifest::{Manifest, Origin, Overlap, Plane, Writer, identity};
use super::schema::{Schema, Sections};
use super::source::{self, Resource};
use super::variables::Context;

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
    /// A patch that hits nothing is an error.
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

    /// Returns its [`Display`](fmt::Display) form: ``Trait `logging` `` with its instance, if that has another name.
    #[must_use]
    pub fn described(&self) -> String {
        self.to_string()
    }
}

/// How it is called in messages.
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
    for instance in instances {
        let (bound, wrong) = bind(instance, context);
        run.diagnostics.extend(wrong);
        contexts.push(bound);
    }
    if !has_failed(&run) {
        for (number, (instance, context)) in instances.iter().zip(&contexts).enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            apply(&instance.of, context, number, &writers, &mut manifests, &mut run);
            if has_failed(&run) {
                break;
            }
        }
    }
    if !has_failed(&run) {
        for (number, (instance, context)) in instances.iter().zip(&contexts).enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let (document, after) = (instance.of.document(), &instance.of.program().after);
            Evaluator::new(document, context, number, &mut run).assertions(after, &manifests);
        }
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
    overlaps(&manifests, &writers, &mut diagnostics);
    if options.strict {
        raise(&mut diagnostics);
    }
    Rendering { manifests, writers, diagnostics, trace: run.story.finish() }
}

/// Makes errors of the warnings that strict rendering does not put up with.
pub fn raise(diagnostics: &mut [Diagnostic]) {
    for diagnostic in diagnostics {
        if [code::HITS_NOTHING.id, code::WIDE_TARGET.id].contains(&diagnostic.code.id) {
            diagnostic.is_raised = true;
        }
    }
}

pub(crate) fn has_failed(run: &Run) -> bool {
    run.diagnostics.iter().any(Diagnostic::is_error)
}

/// Applies one trait: its rules first, and nothing else where one does not hold.
pub(crate) fn apply(
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
        what: writers.get(number as usize).map(Applied::described).unwrap_or_default(),
        found: String::new(),
        wanted: String::new(),
        verdict: if failed { Verdict::Error } else { Verdict::Done },
        location: Some(of.document().locate(&[])),
    });
}

/// Returns what the expressions of `instance` see, and what is wrong with what it is given.
fn bind(instance: &Instance, context: &Context) -> (Context, Vec<Diagnostic>) {
    let sections = instance.of.sections();
    let about = Applied::of_trait(&instance.of, &instance.name);
    let (parameters, mut wrong) =
        section(sections.parameters.as_ref(), &instance.parameters, "parameters", &about);
    let (configs, more) = section(
        sections.environment_configs.as_ref(),
        &instance.environment_configs,
        "environmentConfigs",
        &about,
    );
    wrong.extend(more);
    let names = Map::from([
        ("name", Value::String(instance.of.name().clone())),
        ("instanceName", Value::String(instance.name.clone())),
    ]);
    let context = context
        .clone()
        .with("trait", names.into())
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
    section_at(schema, &given.value, &|path| given.locate(path), (what, about))
}

/// Returns the same for what stands at a `place` of its own; `what` of `about` is how messages call it.
pub(crate) fn section_at(
    schema: Option<&Schema>,
    given: &Value,
    place: &dyn Fn(&[Step]) -> Location,
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
                let code = match wrong.severity {
                    Severity::Error => &code::BAD_PARAMETER,
                    Severity::Warning => &code::UNKNOWN_PARAMETER,
                };
                let message = format!("{what} of {about}: {}", wrong.message);
                Diagnostic::new(code, message, place(&wrong.path)).help(wrong.help)
            };
            (value, wrong.into_iter().map(diagnostic).collect())
        }
        Err(exhausted) => {
            let message = format!("{what} of {about}: {exhausted}");
            (empty, vec![Diagnostic::new(&code::LIMIT, message, place(&[]))])
        }
    }
}

/// Says what is no manifest, and what is there twice.
pub(crate) fn check(manifests: &[Manifest], writers: &[Applied], diagnostics: &mut Vec<Diagnostic>) {
    // Each plane is another cluster.
    let mut known: BTreeMap<(bool, [Text; 4]), &Manifest> = BTreeMap::new();
    for manifest in manifests {
        let made = match manifest.origin {
            Origin::Made(writer) => writers.get(writer.instance as usize).map(|made| (made, writer)),
            Origin::Given(_) => None,
        };
        let identity = identity(&manifest.object);
        let [version, kind, _, name] = &identity;
        let lacks = [("apiVersion", version), ("kind", kind), ("metadata.name", name)];
        let lacks = lacks.iter().find(|(_, text)| text.is_empty()).map(|(field, _)| *field);
        // What was given without a name, as with `generateName`, may stay so.
        let spoiled = || {
            let path: Vec<Step> = lacks?.split('.').map(Step::from).collect();
            let writer = manifest.last_at(&path)?;
            writers.get(writer.instance as usize).map(|by| (by, writer))
        };
        if let (Some(field), Some((by, writer))) = (lacks, made.or_else(spoiled)) {
            let message = match made {
                Some(_) => format!("what {} makes has no `{field}`", by.described()),
                None => format!("{} leaves a manifest without `{field}`", by.described()),
            };
            diagnostics.push(Diagnostic::new(&code::NO_MANIFEST, message, by.location(writer.part).clone()));
        } else if let Some(earlier) = known.insert((manifest.plane == Plane::Data, identity), manifest)
            && let Some((made, writer)) = made.or_else(|| maker(earlier, writers))
        {
            let message = format!("{} is there twice", manifest.label());
            diagnostics.push(
                Diagnostic::new(&code::TWICE, message, made.location(writer.part).clone())
                    .about(&manifest.object, "")
                    .help("the later one replaces the earlier in a cluster; give one another name"),
            );
        }
    }
}

/// Says what one instance wrote and another wrote over, once for each two operations.
fn overlaps(manifests: &[Manifest], writers: &[Applied], diagnostics: &mut Vec<Diagnostic>) {
    let mut told = BTreeSet::new();
    for manifest in manifests {
        for Overlap { lost, op, writer } in manifest.overlaps() {
            let at = |writer: Writer| writers.get(writer.instance as usize);
            // To change what a component type made is what traits are for.
            let earlier = at(lost.writer).filter(|earlier| earlier.is_trait());
            let (Some(earlier), Some(later)) = (earlier, at(writer)) else { continue };
            if !told.insert((lost.writer, writer)) {
                continue;
            }
            let path = Pointer::from_steps(&lost.place).to_string();
            let place = if path.is_empty() { "the whole".to_owned() } else { format!("`{path}`") };
            let verb = if op == Op::Remove { "removes" } else { "writes" };
            let message = format!(
                "{} {verb} {place} of {}, which {} wrote at {}",
                later.described(),
                manifest.label(),
                earlier.described(),
                earlier.location(lost.writer.part)
            );
            let location = later.location(writer.part).clone();
            let help = "the later trait wins; let one of the two write it, or give one a condition";
            let overlap = Diagnostic::new(&code::OVERLAP, message, location).about(&manifest.object, path);
            diagnostics.push(overlap.help(help));
        }
    }
}

fn maker<'w>(manifest: &Manifest, writers: &'w [Applied]) -> Option<(&'w Applied, Writer)> {
    match manifest.origin {
        Origin::Made(writer) => writers.get(writer.instance as usize).map(|made| (made, writer)),
        Origin::Given(_) => None,
    }
}
