//! Cases about traits: manifests, traits with what they are given, and what should come of it; or a component with
//! everything that it is rendered with.
//!
//! What is wrong with a trait belongs to the cases that use it, so that a case can expect it.

mod component;
pub(super) mod file;
mod hint;
mod judge;

use std::path::Path;

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_report::{CaseResult, CaseRule};
use kubewright_traits::{self as traits, CompiledTrait, Instance, RenderContext, RenderOptions, Rendering};
use kubewright_value::{Document, Map, Source, Text};

use super::coverage::Coverage;
use super::file::TestFile;
use super::run::Bench;
use crate::commands::render::context::Said;
use crate::commands::render::library::{Library, is_trait};
use crate::commands::render::stack::{self, Stack, Use};
use crate::commands::render::{given_manifests, idempotent};
use component::Platform;
use file::{Given, Subject, TraitCase};
use judge::Judged;

/// The traits and manifests of a test file.
pub(super) struct TraitBench<'a> {
    file: &'a TestFile,
    folder: &'a Path,
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
    context: RenderContext,
    /// What is wrong with the traits.
    wrong: Vec<Diagnostic>,
}

/// What came of it.
struct Rendered {
    rendering: Rendering,
    /// What came of rendering the result once more, if that is asked.
    again: Option<Rendering>,
    /// What rules about manifests see.
    context: RenderContext,
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
        let is_needed = file.trait_cases().next().is_some();
        let base = if is_needed { bench.objects.clone() } else { Vec::new() };
        Self { file, folder, more, base, known, platform, coverage }
    }

    /// Runs one case.
    pub(super) fn run(&mut self, case: &TraitCase) -> CaseResult {
        let done = match &case.subject {
            Subject::Component(name, environment) => self.component(case, name, environment.as_deref()),
            Subject::Instances(_) | Subject::Stack(_) => self.stacked(case),
        };
        let Rendered { rendering, again, context } = match done {
            Ok(done) => done,
            Err(message) => return CaseResult { message, ..result(case) },
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
            hint: hint::command(case, self.file, self.folder, self.known.file(&case.subject)),
            ..result(case)
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
            traits::render_traits(again, &set.instances, &set.context, &RenderOptions::default())
        });
        Ok(Rendered { rendering, again, context: set.context })
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
        let said = said(&self.file.context, case, stack.as_ref(), &mut problems);
        let (instances, wrong) = match (&case.subject, stack.as_ref()) {
            (Subject::Instances(uses), _) => self.known.instances(uses)?,
            (Subject::Stack(path), Some(stack)) => {
                let file = files::relative_path(self.folder, path);
                let paths = stack.paths(&file, &mut problems);
                self.known.read(&paths, &stack.inline, &self.more, &mut problems);
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
        let file = files::resolve_path(self.folder, path).map_err(|problem| judge::told(&problem))?;
        let stack = stack::read(&file, &mut problems);
        refused(&problems)?;
        stack.ok_or_else(|| format!("there is no stack in `{path}`"))
    }

    /// Returns the manifests that `given` are or name.
    fn objects(&self, given: &[Given], what: &str) -> Result<Vec<Document>, String> {
        Given::read(given, self.folder).map_err(|problem| format!("`{what}`: {}", judge::told(&problem)))
    }
}

impl Known {
    /// Compiles the traits among `documents`; two of one name are a mistake.
    fn compile(documents: &[Document], more: &[Text], problems: &mut Vec<Diagnostic>) -> Self {
        let mut known = Self::default();
        known.add(documents, more, problems);
        known
    }

    /// Adds the traits in the files that `paths` name, and those of `inline`, where they are not known yet.
    fn read(&mut self, paths: &[String], inline: &[Document], more: &[Text], problems: &mut Vec<Diagnostic>) {
        let found = files::find(paths);
        problems.extend(found.problems);
        let documents = files::read_documents(&found.inputs, problems);
        self.add(&files::objects_of(documents, &mut Vec::new()), more, &mut Vec::new());
        self.add(inline, more, &mut Vec::new());
    }

    fn add(&mut self, documents: &[Document], more: &[Text], problems: &mut Vec<Diagnostic>) {
        for document in documents.iter().filter(|document| is_trait(document)) {
            let (compiled, wrong) = CompiledTrait::compile(document, more);
            let before = self.library.traits.len();
            self.library.add(compiled, problems);
            if self.library.traits.len() > before {
                self.wrong.push(wrong);
                self.is_used.push(false);
            }
        }
    }

    /// Returns the file of the only trait that a case is about, if no other trait stands in it.
    fn file(&self, subject: &Subject) -> Option<&str> {
        let Subject::Instances(uses) = subject else { return None };
        let [used] = uses.as_slice() else { return None };
        let source = |one: &CompiledTrait| one.document().source.name.clone();
        let of = self.library.traits.iter().find(|one| one.name() == used.of.as_str())?;
        let is_alone = self.library.traits.iter().filter(|one| source(one) == source(of)).count() == 1;
        is_alone.then(|| of.document().source.name.as_str())
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
            let is_it = |one: &CompiledTrait| one.kind() == of.kind() && one.name() == of.name();
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
        traits::raise_strict_warnings(&mut wrong);
    }
    if wrong.iter().any(Diagnostic::is_error) {
        return Rendering { diagnostics: wrong, ..Rendering::default() };
    }
    let mut rendering =
        traits::render_traits(given_manifests(&set.base), &set.instances, &set.context, options);
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
            Subject::Stack(path) => {
                files::resolve_path(folder, path).ok().and_then(|path| stack::read(&path, &mut problems))
            }
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
fn cover(coverage: Option<&mut Coverage>, of: &CompiledTrait, rendering: Option<&Rendering>) {
    let Some(coverage) = coverage else { return };
    let parts = of.parts(rendering.map_or(&[], |rendering| &rendering.trace));
    coverage.add_parts(&format!("trait/{}", of.name()), of.document(), rendering.is_some(), parts);
}

/// Returns a result that says nothing yet.
fn result(case: &TraitCase) -> CaseResult {
    let expected = if case.expects_failure() { "fails" } else { "renders" };
    let (sort, names) = subject(case);
    let rule_text = format!("{sort} {names}");
    CaseResult {
        case: case.name.clone().unwrap_or_else(|| rule_text.clone()),
        is_named: case.name.is_some(),
        rule_text,
        rule: Some(CaseRule {
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

/// Returns what sort of thing a case is about, and its name.
fn subject(case: &TraitCase) -> (&'static str, String) {
    match &case.subject {
        Subject::Stack(path) => ("stack", path.clone()),
        Subject::Component(name, None) => ("component", name.clone()),
        Subject::Component(name, Some(environment)) => ("component", format!("{name} in {environment}")),
        Subject::Instances(uses) => {
            ("trait", uses.iter().map(|used| used.of.as_str()).collect::<Vec<_>>().join(" + "))
        }
    }
}
