//! What every command that runs rules on objects needs: rules, a world and the question to ask.

use kubewright_engine::{Diagnostic, Engine, EvaluationMode};
use kubewright_k8s::{Operation, UserInfo};

use crate::arguments::{ObjectArguments, RuleArguments};
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::Failure;
use crate::given::{self, Answers, GivenWorld, OldObjects, Values};
use crate::load::{self, Input, Wanted};
use crate::output::{Needs, Paint, Tally, snippet, tell};
use crate::review::Question;
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
    world: GivenWorld,
    operation: Operation,
    namespace: String,
    old: OldObjects,
    user: UserInfo,
    evaluation_mode: Option<EvaluationMode>,
}

impl Session {
    /// Loads rules and world, and finds the manifests.
    ///
    /// # Errors
    /// When what was asked for makes no sense.
    pub(crate) fn open(rules: &RuleArguments, objects: &ObjectArguments) -> Result<Self, Failure> {
        let files = objects.values.iter().chain(&objects.userinfo);
        let judged: Vec<String> = objects.resources.iter().chain(&objects.payloads).cloned().collect();
        let paths = rules.rules.iter().chain(&rules.exceptions).chain(&judged);
        let paths = paths.chain(&objects.world).chain(&objects.old).chain(files);
        if paths.filter(|path| *path == "-").count() > 1 {
            return Err(Failure::usage("`-` stands twice, and standard input can be read only once"));
        }
        let loaded = rules::load(&with_exceptions(rules, objects), objects.namespace.as_deref());
        let mut diagnostics = loaded.diagnostics;
        let chosen = rules::only(loaded.rules, &objects.only).inspect_err(|_| {
            // The rule that is missed may be among those that did not compile.
            complain(&diagnostics, Paint::OFF);
        })?;
        let engine = Engine::new(chosen);
        let mut values = values(objects, &mut diagnostics);
        values.set(objects.set.iter().flat_map(|setting| setting.0.iter().cloned()));
        let world = world(&objects.world, values, &mut diagnostics);
        let user = given::file(objects.userinfo.as_deref(), given::read_user_info, &mut diagnostics);
        let found = load::find_manifests(&judged);
        diagnostics.extend(found.problems);
        let namespace = objects.namespace.clone().unwrap_or_else(|| "default".to_owned());
        let world = world.with(&found.inputs, &namespace);
        let old = OldObjects::read(&objects.old, &namespace, &mut diagnostics);
        Ok(Self {
            engine,
            diagnostics,
            inputs: found.inputs,
            world,
            operation: Operation::named(&objects.operation.to_uppercase()).unwrap_or(Operation::Create),
            namespace,
            old,
            user: user.unwrap_or_default().renamed(objects.user.as_deref(), &objects.groups),
            evaluation_mode: objects.background.then_some(EvaluationMode::Background),
        })
    }

    /// Returns what the rules are about.
    pub(crate) fn wanted(&self) -> Wanted {
        Wanted::by(&self.engine)
    }

    /// Returns the question to ask about every object.
    pub(crate) fn question(&self, needs: Needs) -> Question<'_> {
        Question {
            engine: &self.engine,
            world: &self.world,
            operation: self.operation,
            namespace: &self.namespace,
            old: &self.old,
            user: &self.user,
            is_lenient: false,
            evaluation_mode: self.evaluation_mode,
            needs,
        }
    }
}

/// Returns `rules` with the places besides where exceptions may stand. Standard input can be read only once.
fn with_exceptions(rules: &RuleArguments, objects: &ObjectArguments) -> RuleArguments {
    let mut rules = rules.clone();
    let within_rules = rules.rules.iter().filter(|_| objects.exceptions_within_policies);
    let within_resources = objects.resources.iter().filter(|_| objects.exceptions_within_resources);
    let further = within_rules.chain(within_resources).filter(|path| *path != "-").cloned().collect();
    rules.further_exceptions = further;
    rules
}

/// Reads what rules may look up.
pub(crate) fn world(paths: &[String], values: Values, diagnostics: &mut Vec<Diagnostic>) -> GivenWorld {
    let found = load::find(paths);
    diagnostics.extend(found.problems);
    let documents = load::documents(&found.inputs, diagnostics);
    let mut answers = Answers::default();
    let objects = given::objects(documents, &mut answers, diagnostics);
    GivenWorld::new(objects, answers, values).alone(paths.is_empty())
}

fn values(objects: &ObjectArguments, diagnostics: &mut Vec<Diagnostic>) -> Values {
    given::file(objects.values.as_deref(), Values::read, diagnostics).unwrap_or_default()
}

/// Says that there were manifests without any object in them.
pub(crate) fn no_objects(paths: &[String]) -> Diagnostic {
    let message = format!("no objects found in {}", listed(paths));
    codes::about_path(&NOTHING_FOUND, &paths.join(" "), message)
        .help("an object has an apiVersion and a kind; documents are separated by `---`")
}

/// Lists what is wrong with the input on standard error; returns whether anything was left out because of it.
pub(crate) fn complain(diagnostics: &[Diagnostic], paint: Paint) -> bool {
    // Hints are about how a rule is written, which is for `lint` to say.
    let doubtful = || diagnostics.iter().filter(|diagnostic| diagnostic.is_doubtful());
    for diagnostic in doubtful().take(SHOWN) {
        tell(snippet(diagnostic, paint));
    }
    if doubtful().count() > SHOWN {
        tell(format_args!("… and more: {} in all\n", Tally::of(diagnostics)));
    }
    diagnostics.iter().any(Diagnostic::is_error)
}
