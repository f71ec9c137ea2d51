//! Cases about traits: manifests, traits with values, and the expected result; or a component with everything that it
//! needs.
//!
//! Errors in a trait are attributed to the cases that use it, so that a case can expect them.

mod component;
pub(super) mod file;
mod hint;
mod judge;

use std::path::Path;

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_report::{CaseRule, TestCaseResult};
use kubewright_traits::{self as traits, CompiledTrait, Instance, RenderContext, RenderOptions, Rendering};
use kubewright_value::{Document, Map, Source, Text};

use super::coverage::Coverage;
use super::file::TestCaseFile;
use super::run::RuleTestRun;
use crate::commands::render::context::ContextLayers;
use crate::commands::render::library::{TraitLibrary, is_trait};
use crate::commands::render::stack::{self, Stack, StackInstance};
use crate::commands::render::{given_manifests, idempotent};
use component::CasePlatform;
use file::{CaseManifests, TraitCase, TraitSubject};
use judge::JudgedTraitCase;

/// The traits and manifests of a test file.
pub(super) struct TraitTestRun<'a> {
    file: &'a TestCaseFile,
    folder: &'a Path,
    /// Non-standard names of the context in any case.
    more: Vec<Text>,
    /// The manifests of cases without a base.
    base: Vec<Document>,
    known: LoadedTraits,
    platform: CasePlatform,
    /// Exercised traits, if coverage is recorded.
    coverage: Option<Coverage>,
}

/// Traits, each with its diagnostics.
#[derive(Default)]
struct LoadedTraits {
    library: TraitLibrary,
    wrong: Vec<Vec<Diagnostic>>,
    is_used: Vec<bool>,
}

/// Inputs of the rendering of a case.
struct RenderSetup {
    instances: Vec<Instance>,
    base: Vec<Document>,
    context: RenderContext,
    /// Diagnostics of the traits.
    wrong: Vec<Diagnostic>,
}

/// The result of the rendering.
struct RenderedCase {
    rendering: Rendering,
    /// The result of rendering once more, if `idempotent` is expected.
    again: Option<Rendering>,
    /// The context of rules about manifests.
    context: RenderContext,
}

impl<'a> TraitTestRun<'a> {
    /// Compiles the traits among the rules of `bench`.
    pub(super) fn new(
        file: &'a TestCaseFile,
        folder: &'a Path,
        bench: &RuleTestRun<'_>,
        has_coverage: bool,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let more = extra_context_names(file, folder);
        let known = LoadedTraits::compile(&bench.platform, &more, problems);
        let mut coverage = has_coverage.then(Coverage::default);
        for one in &known.library.traits {
            cover(coverage.as_mut(), one, None);
        }
        let platform = CasePlatform::new(&bench.platform);
        if let Some(coverage) = &mut coverage {
            platform.count(&more, coverage);
        }
        let is_needed = file.trait_cases().next().is_some();
        let base = if is_needed { bench.objects.clone() } else { Vec::new() };
        Self { file, folder, more, base, known, platform, coverage }
    }

    /// Runs one case.
    pub(super) fn run(&mut self, case: &TraitCase) -> TestCaseResult {
        let done = match &case.subject {
            TraitSubject::Component(name, environment) => self.component(case, name, environment.as_deref()),
            TraitSubject::Instances(_) | TraitSubject::Stack(_) => self.stacked(case),
        };
        let RenderedCase { rendering, again, context } = match done {
            Ok(done) => done,
            Err(message) => return TestCaseResult { message, ..empty_trait_result(case) },
        };
        let judged = JudgedTraitCase {
            case,
            context: &context,
            rendering: &rendering,
            again: again.as_ref(),
            expected: case.manifests.as_ref().map(|given| self.objects(given, "manifests")),
        };
        let problems = judged.problems();
        TestCaseResult {
            actual: if rendering.has_failed() { "fails" } else { "renders" }.to_owned(),
            is_ok: problems.is_empty(),
            message: problems.join("\n"),
            hint: hint::render_command(case, self.file, self.folder, self.known.file(&case.subject)),
            ..empty_trait_result(case)
        }
    }

    /// Applies the traits of a case.
    fn stacked(&mut self, case: &TraitCase) -> Result<RenderedCase, String> {
        let set = self.set(case)?;
        let options = RenderOptions { strict: case.is_strict, trace: self.coverage.is_some() };
        let rendering = render_unless_broken(&set, &options);
        for instance in &set.instances {
            cover(self.coverage.as_mut(), &instance.of, Some(&rendering));
        }
        let again = (case.is_idempotent && !rendering.has_failed()).then(|| {
            let again = idempotent::render_again(&rendering);
            traits::render_traits(again, &set.instances, &set.context, &RenderOptions::default())
        });
        Ok(RenderedCase { rendering, again, context: set.context })
    }

    /// Adds the errors of traits that no case uses.
    pub(super) fn finish(self, problems: &mut Vec<Diagnostic>) -> Coverage {
        // A component may use any of the traits.
        if !self.platform.is_used() {
            let unused = self.known.wrong.into_iter().zip(self.known.is_used).filter(|(_, is_used)| !is_used);
            problems.extend(unused.flat_map(|(wrong, _)| wrong));
            problems.extend(self.platform.mistakes());
        }
        self.coverage.unwrap_or_default()
    }

    fn set(&mut self, case: &TraitCase) -> Result<RenderSetup, String> {
        let stack = match &case.subject {
            TraitSubject::Stack(path) => Some(self.stack(path)?),
            TraitSubject::Instances(_) | TraitSubject::Component(..) => None,
        };
        let base = match &case.base {
            Some(given) => self.objects(given, "base")?,
            None => self.base.clone(),
        };
        let mut problems = Vec::new();
        let said = context_layers(&self.file.context, case, stack.as_ref(), &mut problems);
        let (instances, wrong) = match (&case.subject, stack.as_ref()) {
            (TraitSubject::Instances(uses), _) => self.known.instances(uses)?,
            (TraitSubject::Stack(path), Some(stack)) => {
                let file = files::relative_path(self.folder, path);
                let paths = stack.paths(&file, &mut problems);
                self.known.read(&paths, &stack.inline, &self.more, &mut problems);
                self.known.instances(&stack.instances)?
            }
            (TraitSubject::Stack(_) | TraitSubject::Component(..), _) => (Vec::new(), Vec::new()),
        };
        let given = said.given(&base, &mut problems);
        refuse_errors(&problems)?;
        Ok(RenderSetup { instances, base, context: given.context, wrong })
    }

    fn stack(&self, path: &str) -> Result<Stack, String> {
        let mut problems = Vec::new();
        let file = files::resolve_path(self.folder, path)
            .map_err(|problem| judge::trait_diagnostic_line(&problem))?;
        let stack = stack::read_stack_file(&file, &mut problems);
        refuse_errors(&problems)?;
        stack.ok_or_else(|| format!("there is no stack in `{path}`"))
    }

    /// Returns the manifests in `given`, inline or from files.
    fn objects(&self, given: &[CaseManifests], what: &str) -> Result<Vec<Document>, String> {
        CaseManifests::read(given, self.folder)
            .map_err(|problem| format!("`{what}`: {}", judge::trait_diagnostic_line(&problem)))
    }
}

impl LoadedTraits {
    /// Compiles the traits among `documents`; duplicate names are an error.
    fn compile(documents: &[Document], more: &[Text], problems: &mut Vec<Diagnostic>) -> Self {
        let mut known = Self::default();
        known.add(documents, more, problems);
        known
    }

    /// Adds the traits in `paths` and `inline` that are not known yet.
    fn read(&mut self, paths: &[String], inline: &[Document], more: &[Text], problems: &mut Vec<Diagnostic>) {
        let found = files::find_files(paths);
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

    /// Returns the file of the only trait of a case, if it contains no other trait.
    fn file(&self, subject: &TraitSubject) -> Option<&str> {
        let TraitSubject::Instances(uses) = subject else { return None };
        let [used] = uses.as_slice() else { return None };
        let source = |one: &CompiledTrait| one.document().source.name.clone();
        let of = self.library.traits.iter().find(|one| one.name() == used.of.as_str())?;
        let is_alone = self.library.traits.iter().filter(|one| source(one) == source(of)).count() == 1;
        is_alone.then(|| of.document().source.name.as_str())
    }

    /// Returns the instances of `uses`, and the diagnostics of their traits.
    fn instances(&mut self, uses: &[StackInstance]) -> Result<(Vec<Instance>, Vec<Diagnostic>), String> {
        let mut instances = Vec::new();
        let mut wrong = Vec::new();
        for used in uses {
            let mut problems = Vec::new();
            let Some(of) = self.library.find(used, &mut problems).cloned() else {
                return Err(problems.iter().map(judge::diagnostic_with_help).collect::<Vec<_>>().join("\n"));
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

/// Renders, unless the traits have errors.
fn render_unless_broken(set: &RenderSetup, options: &RenderOptions) -> Rendering {
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

/// Returns the context of all cases and of this one.
fn context_layers(
    all: &Document,
    case: &TraitCase,
    stack: Option<&Stack>,
    problems: &mut Vec<Diagnostic>,
) -> ContextLayers {
    let metadata = Map::from([("metadata", case.metadata.value.clone())]);
    let metadata = Document::made(metadata.into(), Source::new("metadata", ""));
    ContextLayers::layered(stack, &[all.clone(), case.context.clone(), metadata], problems)
}

/// Returns the non-standard names of the context in any case.
fn extra_context_names(file: &TestCaseFile, folder: &Path) -> Vec<Text> {
    let mut more: Vec<Text> = Vec::new();
    for case in file.trait_cases() {
        let mut problems = Vec::new();
        let stack = match &case.subject {
            TraitSubject::Stack(path) => files::resolve_path(folder, path)
                .ok()
                .and_then(|path| stack::read_stack_file(&path, &mut problems)),
            TraitSubject::Instances(_) | TraitSubject::Component(..) => None,
        };
        more.extend(context_layers(&file.context, case, stack.as_ref(), &mut problems).more());
    }
    more.sort();
    more.dedup();
    more
}

fn refuse_errors(problems: &[Diagnostic]) -> Result<(), String> {
    let errors: Vec<String> =
        problems.iter().filter(|problem| problem.is_error()).map(judge::trait_diagnostic_line).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

/// Adds the parts of `of` to the coverage, exercised if the rendering used them.
fn cover(coverage: Option<&mut Coverage>, of: &CompiledTrait, rendering: Option<&Rendering>) {
    let Some(coverage) = coverage else { return };
    let parts = of.parts(rendering.map_or(&[], |rendering| &rendering.trace));
    coverage.add_parts(&format!("trait/{}", of.name()), of.document(), rendering.is_some(), parts);
}

/// Returns an empty result.
fn empty_trait_result(case: &TraitCase) -> TestCaseResult {
    let expected = if case.expects_failure() { "fails" } else { "renders" };
    let (sort, names) = case_subject(case);
    let rule_text = format!("{sort} {names}");
    TestCaseResult {
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
            severity: Text::default(),
            category: Text::default(),
        }),
        expected: expected.to_owned(),
        place: case.location.to_string(),
        ..TestCaseResult::default()
    }
}

/// Returns the kind and name of a case's subject.
fn case_subject(case: &TraitCase) -> (&'static str, String) {
    match &case.subject {
        TraitSubject::Stack(path) => ("stack", path.clone()),
        TraitSubject::Component(name, None) => ("component", name.clone()),
        TraitSubject::Component(name, Some(environment)) => ("component", format!("{name} in {environment}")),
        TraitSubject::Instances(uses) => {
            ("trait", uses.iter().map(|used| used.of.as_str()).collect::<Vec<_>>().join(" + "))
        }
    }
}
