//! What every command that runs rules on objects needs: rules, a world and the question to ask.

use kubewright_engine::{ClosedWorld, Diagnostic, Engine, Operation};
use kubewright_value::Value;

use crate::arguments::{ObjectArguments, RuleArguments};
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::Failure;
use crate::load::{self, Input};
use crate::output::{Needs, Paint, Tally, snippet, tell};
use crate::review::{self, Question};
use crate::rules;
use crate::words::listed;

/// How many diagnostics are shown beside results.
const SHOWN: usize = 100;

/// Everything loaded, nothing asked yet.
pub(crate) struct Session {
    /// The rules.
    pub(crate) engine: Engine,
    /// What could not be read or compiled so far.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The manifests.
    pub(crate) inputs: Vec<Input>,
    world: ClosedWorld,
    operation: Operation,
    namespace: String,
    user: Value,
}

impl Session {
    /// Loads rules and world, and finds the manifests.
    ///
    /// # Errors
    /// When what was asked for makes no sense.
    pub(crate) fn open(rules: &RuleArguments, objects: &ObjectArguments) -> Result<Self, Failure> {
        let paths = rules.rules.iter().chain(&objects.resources).chain(&objects.world);
        if paths.filter(|path| *path == "-").count() > 1 {
            return Err(Failure::usage("`-` stands twice, and standard input can be read only once"));
        }
        let loaded = rules::load(&rules.rules, &rules.options, objects.namespace.as_deref());
        let mut diagnostics = loaded.diagnostics;
        let chosen = rules::only(loaded.rules, &objects.only).inspect_err(|_| {
            // The rule that is missed may be among those that did not compile.
            complain(&diagnostics, Paint::OFF);
        })?;
        let engine = Engine::new(chosen);
        let world = world(&objects.world, &mut diagnostics);
        let found = load::find(&objects.resources);
        diagnostics.extend(found.problems);
        Ok(Self {
            engine,
            diagnostics,
            inputs: found.inputs,
            world,
            operation: Operation::named(&objects.operation.to_uppercase()).unwrap_or(Operation::Create),
            namespace: objects.namespace.clone().unwrap_or_else(|| "default".to_owned()),
            user: review::user(objects.user.as_deref(), &objects.groups),
        })
    }

    /// Returns the question to ask about every object.
    pub(crate) fn question(&self, needs: Needs) -> Question<'_> {
        Question {
            engine: &self.engine,
            world: &self.world,
            operation: self.operation,
            namespace: &self.namespace,
            user: self.user.clone(),
            needs,
        }
    }
}

/// Reads the objects that rules may look up.
pub(crate) fn world(paths: &[String], diagnostics: &mut Vec<Diagnostic>) -> ClosedWorld {
    let found = load::find(paths);
    diagnostics.extend(found.problems);
    let documents = load::documents(&found.inputs, diagnostics);
    let objects = load::objects_of(documents, diagnostics);
    ClosedWorld::new(objects.into_iter().map(|document| document.value))
}

/// Says that there were manifests without any object in them.
pub(crate) fn no_objects(paths: &[String]) -> Diagnostic {
    let message = format!("no objects found in {}", listed(paths));
    codes::about_path(&NOTHING_FOUND, &paths.join(" "), message)
        .help("an object has an apiVersion and a kind; documents are separated by `---`")
}

/// Lists what is wrong with the input on standard error; returns whether anything was left out because of it.
pub(crate) fn complain(diagnostics: &[Diagnostic], paint: Paint) -> bool {
    for diagnostic in diagnostics.iter().take(SHOWN) {
        tell(snippet(diagnostic, paint));
    }
    if diagnostics.len() > SHOWN {
        tell(format_args!("… and more: {} in all\n", Tally::of(diagnostics)));
    }
    diagnostics.iter().any(Diagnostic::is_error)
}
