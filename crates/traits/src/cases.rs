//! Support for `kubewright test`: assertions about rendered manifests, and the coverage of the parts of a trait.

use std::collections::HashSet;

use kubewright_cel::{CelBindings, CelCost, CelError, CelProgram, FieldRead, Val};
use kubewright_engine::{TraceNode, TraceVerdict};
use kubewright_value::{Document, Location, Position, Step, Value};

use super::compile::program::{PostRenderCheck, PreRenderCheck, TemplateProgram};
use super::functions;
use super::pipeline::CompiledComponentType;
use super::render::CompiledTrait;
use super::variables::{RenderContext, VariableScope};

/// The maximum number of read values in a test failure.
const MAX_DESCRIBED_READS: usize = 4;

/// The result of an assertion about a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssertionResult {
    /// Whether it holds.
    pub holds: bool,
    /// The values it read: `resource.spec.replicas is 2`.
    pub read: Vec<String>,
}

/// A part of a trait, and whether a test exercised it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TraitPart {
    /// The description: `patch 2: add /spec/replicas`.
    pub what: String,
    /// The place in the file.
    pub location: Location,
    /// Whether it was exercised.
    pub is_exercised: bool,
}

/// Evaluates the expression `rule`, with or without `${…}` around it. Its variables are `resource` and those of
/// `context`.
///
/// # Errors
/// When it does not compile, fails, or is not a boolean.
pub fn evaluate_assertion(
    rule: &str,
    resource: &Value,
    context: &RenderContext,
) -> Result<AssertionResult, String> {
    let mut environment = functions::trait_environment().variable("resource");
    for name in context.names() {
        environment = environment.variable(name.as_str());
    }
    let program = CelProgram::compile(strip_expression_marks(rule), &environment).map_err(|errors| {
        let errors = errors.iter().map(|error| format!("{} at {}", error.message, error.position));
        errors.collect::<Vec<_>>().join("; ")
    })?;
    let names = VariableScope { resource: Some(resource), ..VariableScope::of(context) };
    let bindings = CelBindings::new().with_variables(&names);
    let given = program.evaluate(&bindings, &mut CelCost::default());
    let holds = match given.map_err(|error: CelError| error.to_string())? {
        Val::Bool(holds) => holds,
        other => return Err(format!("it gives {}, expected a boolean", other.type_name())),
    };
    Ok(AssertionResult { holds, read: describe_reads(&program.reads(), resource) })
}

impl CompiledTrait {
    /// Returns the parts of the trait, and which of them were exercised in a rendering with this trace.
    ///
    /// An operation is exercised when it is applied to a manifest, a `creates` when it creates one, a `removes` when it
    /// removes one, and a rule when it is evaluated.
    #[must_use]
    pub fn parts(&self, trace: &[TraceNode]) -> Vec<TraitPart> {
        let program = self.program();
        let mut found = validation_parts(&program.before, &program.after);
        found.extend(template_parts(&program.creates, "create"));
        for (number, patch) in program.patches.iter().enumerate() {
            found.extend(patch.operations.iter().map(|operate| {
                let what = format!("patch {}: {} {}", number + 1, operate.op.name(), operate.written);
                ProgramPart { what, path: &operate.path.path, makes: false }
            }));
        }
        for (number, removal) in program.removes.iter().enumerate() {
            let what = format!("remove {}", number + 1);
            found.push(ProgramPart { what, path: &removal.path, makes: true });
        }
        describe_parts(found, self.document(), trace)
    }
}

impl CompiledComponentType {
    /// Returns its rules and resources, and which of them were exercised, as [`CompiledTrait::parts`] does.
    #[must_use]
    pub fn parts(&self, trace: &[TraceNode]) -> Vec<TraitPart> {
        let program = self.program();
        let mut found = validation_parts(&program.before, &program.after);
        found.extend(template_parts(&program.resources, "resource"));
        describe_parts(found, self.document(), trace)
    }
}

/// A part of a compiled trait or component type.
struct ProgramPart<'p> {
    what: String,
    path: &'p [Step],
    /// Whether it is exercised only when it created or removed something.
    makes: bool,
}

fn validation_parts<'p>(before: &'p [PreRenderCheck], after: &'p [PostRenderCheck]) -> Vec<ProgramPart<'p>> {
    let rules = before.iter().chain(after.iter().map(|assertion| &assertion.rule));
    let found = rules.map(|rule| {
        let what = format!("rule: {}", rule.written.trim());
        ProgramPart { what, path: &rule.condition.path, makes: false }
    });
    found.collect()
}

fn template_parts<'p>(templates: &'p [TemplateProgram], word: &str) -> impl Iterator<Item = ProgramPart<'p>> {
    templates.iter().enumerate().map(move |(number, template)| {
        let id = template.id.as_ref().map_or_else(String::new, |id| format!(": {id}"));
        ProgramPart { what: format!("{word} {}{id}", number + 1), path: &template.path, makes: true }
    })
}

fn describe_parts(found: Vec<ProgramPart<'_>>, document: &Document, trace: &[TraceNode]) -> Vec<TraitPart> {
    let worked = ExercisedPlaces::of(trace);
    let part = |found: ProgramPart<'_>| {
        let location = document.locate(found.path);
        let places = if found.makes { &worked.done } else { &worked.met };
        let is_exercised = places.contains(&location_key(&location));
        TraitPart { what: found.what, location, is_exercised }
    };
    found.into_iter().map(part).collect()
}

/// The places of the rule file that occur in a trace.
#[derive(Default)]
struct ExercisedPlaces {
    /// Places that were evaluated.
    met: HashSet<(String, Position)>,
    /// Places where something was done or failed.
    done: HashSet<(String, Position)>,
}

impl ExercisedPlaces {
    fn of(trace: &[TraceNode]) -> Self {
        let mut worked = Self::default();
        let mut open: Vec<&TraceNode> = trace.iter().collect();
        while let Some(node) = open.pop() {
            open.extend(&node.children);
            let Some(location) = node.location.as_ref().filter(|_| node.verdict != TraceVerdict::NotLooked)
            else {
                continue;
            };
            worked.met.insert(location_key(location));
            if matches!(node.verdict, TraceVerdict::Done | TraceVerdict::Error) {
                worked.done.insert(location_key(location));
            }
        }
        worked
    }
}

fn location_key(location: &Location) -> (String, Position) {
    (location.source.name.clone(), location.position)
}

/// Returns the expression without the `${` and `}` around it.
fn strip_expression_marks(rule: &str) -> &str {
    let rule = rule.trim();
    rule.strip_prefix("${").and_then(|rule| rule.strip_suffix('}')).unwrap_or(rule)
}

/// Returns the values of `resource` that an expression read, by the longest path of each.
fn describe_reads(reads: &[FieldRead], resource: &Value) -> Vec<String> {
    let paths: Vec<&[_]> =
        reads.iter().filter(|read| read.variable == "resource").map(|read| read.path.as_slice()).collect();
    let mut told = Vec::new();
    for path in &paths {
        let is_longest = !paths.iter().any(|other| other.len() > path.len() && other.starts_with(path));
        if !is_longest || path.iter().any(|step| step == kubewright_cel::ANY_STEP) {
            continue;
        }
        let place = path.iter().map(|step| step.as_str()).collect::<Vec<_>>();
        let text = match resource.at(&place) {
            Some(value) => format!("resource.{} is {}", place.join("."), TraceNode::show(value)),
            None => format!("resource.{} is not there", place.join(".")),
        };
        if !told.contains(&text) && told.len() < MAX_DESCRIBED_READS {
            told.push(text);
        }
    }
    told
}

#[cfg(test)]
mod tests;
