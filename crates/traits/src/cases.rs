//! What tests of traits ask: whether an expression holds of a manifest, and which parts of a trait were at work.

use std::collections::HashSet;

use kubewright_cel::{CelBindings, CelCost, CelError, CelProgram, FieldRead, Val};
use kubewright_engine::{TraceNode, TraceVerdict};
use kubewright_value::{Document, Location, Position, Step, Value};

use super::compile::program::{Assertion, Rule, Template};
use super::functions;
use super::pipeline::ComponentType;
use super::render::Trait;
use super::variables::{Context, Names};

/// How many of the values that an expression read are told.
const TOLD: usize = 4;

/// What came of an expression about a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Whether it holds.
    pub holds: bool,
    /// What it read, where that is one place: `resource.spec.replicas is 2`.
    pub read: Vec<String>,
}

/// A part of a trait that a test can set to work or leave out.
#[derive(Debug, Clone)]
pub struct Part {
    /// What it is: `patch 2: add /spec/replicas`.
    pub what: String,
    /// Where it stands.
    pub location: Location,
    /// Whether it was at work.
    pub is_exercised: bool,
}

/// Returns whether `rule` holds of `resource`. The expression may stand in `${…}`, as traits write theirs, and sees what
/// `context` has beside `resource`.
///
/// # Errors
/// When it is no expression, fails, or gives something else than a boolean.
pub fn holds(rule: &str, resource: &Value, context: &Context) -> Result<Held, String> {
    let mut environment = functions::environment().variable("resource");
    for name in context.names() {
        environment = environment.variable(name.as_str());
    }
    let program = CelProgram::compile(bare(rule), &environment).map_err(|errors| {
        let errors = errors.iter().map(|error| format!("{} at {}", error.message, error.position));
        errors.collect::<Vec<_>>().join("; ")
    })?;
    let names = Names { resource: Some(resource), ..Names::of(context) };
    let bindings = CelBindings::new().with_variables(&names);
    let given = program.evaluate(&bindings, &mut CelCost::default());
    let holds = match given.map_err(|error: CelError| error.to_string())? {
        Val::Bool(holds) => holds,
        other => return Err(format!("it gives {}, expected a boolean", other.type_name())),
    };
    Ok(Held { holds, read: found(&program.reads(), resource) })
}

impl Trait {
    /// Returns the parts of the trait, and which of them were at work in a rendering with this trace.
    ///
    /// An operation is at work when it is done to a manifest, a `creates` when it makes one, a `removes` when it takes
    /// one away, and a rule when it is asked.
    #[must_use]
    pub fn parts(&self, trace: &[TraceNode]) -> Vec<Part> {
        let program = self.program();
        let mut found = rules(&program.before, &program.after);
        found.extend(templates(&program.creates, "create"));
        for (number, patch) in program.patches.iter().enumerate() {
            found.extend(patch.operations.iter().map(|operate| {
                let what = format!("patch {}: {} {}", number + 1, operate.op.name(), operate.written);
                Found { what, path: &operate.path.path, makes: false }
            }));
        }
        for (number, removal) in program.removes.iter().enumerate() {
            let what = format!("remove {}", number + 1);
            found.push(Found { what, path: &removal.path, makes: true });
        }
        parts(found, self.document(), trace)
    }
}

impl ComponentType {
    /// Returns its rules and resources, and which of them were at work, as [`Trait::parts`] does.
    #[must_use]
    pub fn parts(&self, trace: &[TraceNode]) -> Vec<Part> {
        let program = self.program();
        let mut found = rules(&program.before, &program.after);
        found.extend(templates(&program.resources, "resource"));
        parts(found, self.document(), trace)
    }
}

/// A part of a program.
struct Found<'p> {
    what: String,
    path: &'p [Step],
    /// Whether it is at work only when something comes of it.
    makes: bool,
}

fn rules<'p>(before: &'p [Rule], after: &'p [Assertion]) -> Vec<Found<'p>> {
    let rules = before.iter().chain(after.iter().map(|assertion| &assertion.rule));
    let found = rules.map(|rule| {
        let what = format!("rule: {}", rule.written.trim());
        Found { what, path: &rule.condition.path, makes: false }
    });
    found.collect()
}

fn templates<'p>(templates: &'p [Template], word: &str) -> impl Iterator<Item = Found<'p>> {
    templates.iter().enumerate().map(move |(number, template)| {
        let id = template.id.as_ref().map_or_else(String::new, |id| format!(": {id}"));
        Found { what: format!("{word} {}{id}", number + 1), path: &template.path, makes: true }
    })
}

fn parts(found: Vec<Found<'_>>, document: &Document, trace: &[TraceNode]) -> Vec<Part> {
    let worked = Worked::of(trace);
    let part = |found: Found<'_>| {
        let location = document.locate(found.path);
        let places = if found.makes { &worked.done } else { &worked.met };
        let is_exercised = places.contains(&spot(&location));
        Part { what: found.what, location, is_exercised }
    };
    found.into_iter().map(part).collect()
}

/// The places of a trace.
#[derive(Default)]
struct Worked {
    /// Something was looked at or done there.
    met: HashSet<(String, Position)>,
    /// Something was done there, or could not be.
    done: HashSet<(String, Position)>,
}

impl Worked {
    fn of(trace: &[TraceNode]) -> Self {
        let mut worked = Self::default();
        let mut open: Vec<&TraceNode> = trace.iter().collect();
        while let Some(node) = open.pop() {
            open.extend(&node.children);
            let Some(location) = node.location.as_ref().filter(|_| node.verdict != TraceVerdict::NotLooked)
            else {
                continue;
            };
            worked.met.insert(spot(location));
            if matches!(node.verdict, TraceVerdict::Done | TraceVerdict::Error) {
                worked.done.insert(spot(location));
            }
        }
        worked
    }
}

fn spot(location: &Location) -> (String, Position) {
    (location.source.name.clone(), location.position)
}

/// Returns the expression without the `${` and `}` around it.
fn bare(rule: &str) -> &str {
    let rule = rule.trim();
    rule.strip_prefix("${").and_then(|rule| rule.strip_suffix('}')).unwrap_or(rule)
}

/// Returns what stands at the places of `resource` that an expression read, the longest of each.
fn found(reads: &[FieldRead], resource: &Value) -> Vec<String> {
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
        if !told.contains(&text) && told.len() < TOLD {
            told.push(text);
        }
    }
    told
}

#[cfg(test)]
mod tests;
