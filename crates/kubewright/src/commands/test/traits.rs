//! Cases about traits: manifests, traits with what they are given, and what should come of it; or a component with
//! everything that it is rendered with.
//!
//! What is wrong with a trait belongs to the cases that use it, so that a case can expect it.

mod component;
pub(super) mod file;
mod judge;

use std::path::Path;

use kubewright_dialects::traits::{self, Context, Instance, RenderOptions, Rendering, Trait};
use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Map, Source, Text};

use super::coverage::Coverage;
use super::file::TestFile;
use super::run::{Bench, CaseResult, RuleName};
use crate::commands::render::context::Said;
use crate::commands::render::library::{Library, is_trait};
use crate::commands::render::stack::{self, Stack, Use};
use crate::commands::render::{given_manifests, idempotent};
use crate::load;
use component::Platform;
use file::{Given, Subject, TraitCase};
use judge::Judged;

/// The traits and manifests of a test file.
pub(super) struct TraitBench<'a> {
    folder: &'a Path,
    /// What expressions see in all cases.
    context: &'a Document,
    /// The names besides the usual ones that expressions see in some case.
    more: Vec<Text>,
    /// The manifests of cases that name none.
    base: Vec<Document>,
    known: Known,
    platform: Platform,
    /// Which of the traits a case was about; nothing if nobody asks.
    coverage: Option<Coverage>,
}

/// Traits, and what is wrong with each.
#[derive(Default)]
struct Known {
    library: Library,
    wrong: Vec<Vec<Diagnostic>>,
    is_used: Vec<bool>,
}

/// What a case renders.
struct Setting {
    instances: Vec<Instance>,
    base: Vec<Document>,
    context: Context,
    /// What is wrong with the traits.
    wrong: Vec<Diagnostic>,
}

/// What came of it.
struct Rendered {
    rendering: Rendering,
    /// What came of rendering the result once more, if that is asked.
    again: Option<Rendering>,
    /// What rules about manifests see.
    context: Context,
    /// What was rendered, in a few words.
    subject: String,
}

impl<'a> TraitBench<'a> {
    /// Compiles the traits among the rules of `bench`.
    pub(super) fn new(
        file: &'a TestFile,
        folder: &'a Path,
        bench: &Bench<'_>,
        has_coverage: bool,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let more = more(file, folder);
        let known = Known::compile(&bench.platform, &more, problems);
        let mut coverage = has_coverage.then(Coverage::default);
        for one in &known.library.traits {
            cover(coverage.as_mut(), one, None);
        }
        let platform = Platform::new(&bench.platform);
        if let Some(coverage) = &mut coverage {
            platform.count(&more, coverage);
        }
        let (context, base) = (&file.context, bench.objects.clone());
        Self { folder, context, more, base, known, platform, coverage }
    }

    /// Runs one case.
    pub(super) fn run(&mut self, case: &TraitCase) -> CaseResult {
        let done = match &case.subject {
            Subject::Component(name, environment) => self.component(case, name, environment.as_deref()),
            Subject::Instances(_) | Subject::Stack(_) => self.stacked(case),
        };
        let Rendered { rendering, again, context, subject } = match done {
            Ok(done) => done,
            Err(message) => return CaseResult { message, ..result(case, &subject(case)) },
        };
        let judged = Judged {
            case,
            context: &context,
            rendering: &rendering,
            again: again.as_ref(),
            expected: case.manifests.as_ref().map(|given| self.objects(given, "manifests")),
        };
        let problems = judged.problems();
        CaseResult {
            actual: if rendering.has_failed() { "fails" } else { "renders" }.to_owned(),
            is_ok: problems.is_empty(),
            message: problems.join("\n"),
            ..result(case, &subject)
        }
    }

    /// Applies the traits of a case.
    fn stacked(&mut self, case: &TraitCase) -> Result<Rendered, String> {
        let set = self.set(case)?;
        let options = RenderOptions { strict: case.is_strict, trace: self.coverage.is_some() };
        let rendering = rendered(&set, &options);
        for instance in &set.instances {
            cover(self.coverage.as_mut(), &instance.of, Some(&rendering));
        }
        let again = (case.is_idempotent && !rendering.has_failed()).then(|| {
            let again = idempotent::again(&rendering);
            traits::render(again, &set.instances, &set.context, &RenderOptions::default())
        });
        let names: Vec<&str> = set.instances.iter().map(|one| one.of.name().as_str()).collect();
        let subject = format!("trait {}", names.join(" + "));
        Ok(Rendered { rendering, again, context: set.context, subject })
    }

    /// Adds the mistakes of traits that no case is about.
    pub(super) fn finish(self, problems: &mut Vec<Diagnostic>) -> Coverage {
        // A component is rendered with all there is.
        if !self.platform.is_used() {
            let unused = self.known.wrong.into_iter().zip(self.known.is_used).filter(|(_, is_used)| !is_used);
            problems.extend(unused.flat_map(|(wrong, _)| wrong));
            problems.extend(self.platform.mistakes());
        }
        self.coverage.unwrap_or_default()
    }

    fn set(&mut self, case: &TraitCase) -> Result<Setting, String> {
        let stack = match &case.subject {
            Subject::Stack(path) => Some(self.stack(path)?),
            Subject::Instances(_) | Subject::Component(..) => None,
        };
        let base = match &case.base {
            Some(given) => self.objects(given, "base")?,
            None => self.base.clone(),
        };
        let mut problems = Vec::new();
        let said = said(self.context, case, stack.as_ref(), &mut problems);
        let (instances, wrong) = match (&case.subject, stack.as_ref()) {
            (Subject::Instances(uses), _) => self.known.instances(uses)?,
            (Subject::Stack(path), Some(stack)) => {
                let file = load::relative(self.folder, path);
                self.known.add(stack, &file, &said.more(), &mut problems);
                self.known.instances(&stack.instances)?
            }
            (Subject::Stack(_) | Subject::Component(..), _) => (Vec::new(), Vec::new()),
        };
        let given = said.given(&base, &mut problems);
        refused(&problems)?;
        Ok(Setting { instances, base, context: given.context, wrong })
    }

    fn stack(&self, path: &str) -> Result<Stack, String> {
        let mut problems = Vec::new();
        let stack = stack::read(&load::relative(self.folder, path), &mut problems);
        refused(&problems)?;
        stack.ok_or_else(|| format!("there is no stack in `{path}`"))
    }

    /// Returns the manifests that `given` are or name.
    fn objects(&self, given: &[Given], what: &str) -> Result<Vec<Document>, String> {
        let mut problems = Vec::new();
        let mut documents = Vec::new();
        for given in given {
            match given {
                Given::Inline(document) => documents.push(document.clone()),
                Given::Files(path) => {
                    let found = load::find(&[load::relative(self.folder, path)]);
                    problems.extend(found.problems);
                    documents.extend(load::documents(&found.inputs, &mut problems));
                }
            }
        }
        let objects = load::objects_of(documents, &mut problems);
        match problems.first() {
            None => Ok(objects),
            Some(problem) => Err(format!("`{what}`: {}", judge::told(problem))),
        }
    }
}

impl Known {
    fn compile(documents: &[Document], more: &[Text], problems: &mut Vec<Diagnostic>) -> Self {
        let mut known = Self::default();
        for document in documents.iter().filter(|document| is_trait(document)) {
            let (compiled, wrong) = Trait::compile(document, more);
            let before = known.library.traits.len();
            known.library.add(compiled, problems);
            if known.library.traits.len() > before {
                known.wrong.push(wrong);
                known.is_used.push(false);
            }
        }
        known
    }

    /// Adds the traits of `stack`, which stands in `file`, where they are not known yet.
    fn add(&mut self, stack: &Stack, file: &str, more: &[Text], problems: &mut Vec<Diagnostic>) {
        let paths: Vec<String> = stack.paths(file).collect();
        let found = load::find(&paths);
        problems.extend(found.problems);
        let library = Library::load(&found.inputs, &paths, &stack.inline, more, problems);
        for one in library.traits {
            let is_known = |known: &Trait| known.kind() == one.kind() && known.name() == one.name();
            if !self.library.traits.iter().any(is_known) {
                self.library.traits.push(one);
                self.wrong.push(Vec::new());
                self.is_used.push(false);
            }
        }
    }

    /// Returns the instances that `uses` describe, and what is wrong with their traits.
    fn instances(&mut self, uses: &[Use]) -> Result<(Vec<Instance>, Vec<Diagnostic>), String> {
        let mut instances = Vec::new();
        let mut wrong = Vec::new();
        for used in uses {
            let mut problems = Vec::new();
            let Some(of) = self.library.find(used, &mut problems).cloned() else {
                return Err(problems.iter().map(judge::said).collect::<Vec<_>>().join("\n"));
            };
            let is_it = |one: &Trait| one.kind() == of.kind() && one.name() == of.name();
            let place = self.library.traits.iter().position(is_it).unwrap_or_default();
            wrong.extend(self.wrong.get(place).into_iter().flatten().cloned());
            if let Some(is_used) = self.is_used.get_mut(place) {
                *is_used = true;
            }
            instances.push(Instance {
                of,
                name: used.name.as_str().into(),
                parameters: used.parameters.clone(),
                environment_configs: used.environment_configs.clone(),
            });
        }
        Ok((instances, wrong))
    }
}

/// Renders, unless something is wrong with the traits.
fn rendered(set: &Setting, options: &RenderOptions) -> Rendering {
    let mut wrong = set.wrong.clone();
    if options.strict {
        traits::raise(&mut wrong);
    }
    if wrong.iter().any(Diagnostic::is_error) {
        return Rendering { diagnostics: wrong, ..Rendering::default() };
    }
    let mut rendering = traits::render(given_manifests(&set.base), &set.instances, &set.context, options);
    wrong.append(&mut rendering.diagnostics);
    rendering.diagnostics = wrong;
    rendering
}

/// Returns what is said about the context, for all cases and for this one.
fn said(all: &Document, case: &TraitCase, stack: Option<&Stack>, problems: &mut Vec<Diagnostic>) -> Said {
    let metadata = Map::from([("metadata", case.metadata.value.clone())]);
    let metadata = Document::made(metadata.into(), Source::new("metadata", ""));
    Said::layered(stack, &[all.clone(), case.context.clone(), metadata], problems)
}

/// Returns the names besides the usual ones that expressions see in some case.
fn more(file: &TestFile, folder: &Path) -> Vec<Text> {
    let mut more: Vec<Text> = Vec::new();
    for case in file.trait_cases() {
        let mut problems = Vec::new();
        let stack = match &case.subject {
            Subject::Stack(path) => stack::read(&load::relative(folder, path), &mut problems),
            Subject::Instances(_) | Subject::Component(..) => None,
        };
        more.extend(said(&file.context, case, stack.as_ref(), &mut problems).more());
    }
    more.sort();
    more.dedup();
    more
}

fn refused(problems: &[Diagnostic]) -> Result<(), String> {
    let errors: Vec<String> = problems.iter().filter(|problem| problem.is_error()).map(judge::told).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

/// Counts the parts of `of` that were at work; without a rendering, that they are there.
fn cover(coverage: Option<&mut Coverage>, of: &Trait, rendering: Option<&Rendering>) {
    let Some(coverage) = coverage else { return };
    let parts = of.parts(rendering.map_or(&[], |rendering| &rendering.trace));
    coverage.add_parts(&format!("trait/{}", of.name()), of.document(), rendering.is_some(), parts);
}

/// Returns a result that says nothing yet.
fn result(case: &TraitCase, subject: &str) -> CaseResult {
    let expected = if case.expects_failure() { "fails" } else { "renders" };
    let (sort, names) = subject.split_once(' ').unwrap_or(("trait", subject));
    CaseResult {
        case: case.name.clone().unwrap_or_else(|| subject.to_owned()),
        is_named: case.name.is_some(),
        rule_text: subject.to_owned(),
        rule: Some(RuleName {
            dialect: "trait",
            policy: names.into(),
            rule: None,
            sort: Some(sort.into()),
            method: None,
            traced: String::new(),
        }),
        expected: expected.to_owned(),
        place: case.location.to_string(),
        ..CaseResult::default()
    }
}

/// Returns what a case is about as it says it.
fn subject(case: &TraitCase) -> String {
    match &case.subject {
        Subject::Stack(path) => format!("stack {path}"),
        Subject::Component(name, None) => format!("component {name}"),
        Subject::Component(name, Some(environment)) => format!("component {name} in {environment}"),
        Subject::Instances(uses) => {
            format!("trait {}", uses.iter().map(|used| used.of.as_str()).collect::<Vec<_>>().join(" + "))
        }
    }
}
