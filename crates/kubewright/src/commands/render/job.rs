//! Applying the traits: the same whatever the manifests come from and wherever they go.

use kubewright_engine::Diagnostic;
use kubewright_files::workers;
use kubewright_k8s::ObjectName;
use kubewright_report::text::plural;
use kubewright_traits::{self as traits, Instance, Manifest, ManifestOrigin, RenderOptions, Rendering};
use kubewright_value::Document;

use super::context::{self, Given};
use super::idempotent;
use crate::codes::{self, ASSUMED_NAMESPACE, UNKNOWN_NAME};
use crate::failure::Failure;

/// The variables that hold the name of the component, or are made of it.
const NAME_KEYS: [&str; 2] = ["name", "componentName"];

/// Everything that rendering needs.
pub(in crate::commands) struct Job<'j> {
    pub(in crate::commands) base: &'j [Document],
    pub(in crate::commands) instances: &'j [Instance],
    pub(in crate::commands) given: &'j Given,
    pub(in crate::commands) options: RenderOptions,
    pub(in crate::commands) checks_idempotence: bool,
}

impl Job<'_> {
    /// Renders, and adds what is wrong to `problems`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(in crate::commands) fn run(&self, problems: &mut Vec<Diagnostic>) -> Result<Rendering, Failure> {
        let mut rendering = self.render(given_manifests(self.base), self.options)?;
        problems.append(&mut rendering.diagnostics);
        if let Some(workloads) = self.given.unnamed.filter(|_| problems.iter().any(is_missing_name)) {
            problems.push(unnamed(workloads));
        }
        if self.given.is_namespace_assumed {
            problems.extend(assumed(&rendering, self.options.strict));
        }
        if self.checks_idempotence && !problems.iter().any(Diagnostic::is_error) {
            // A condition that keeps a list from growing hits nothing the second time, and should.
            let options = RenderOptions { strict: false, ..self.options };
            let again = self.render(idempotent::again(&rendering), options)?;
            problems.extend(idempotent::differences(&rendering, &again));
        }
        Ok(rendering)
    }

    /// Renders on a stack that is large enough for whatever the readers let through.
    fn render(&self, manifests: Vec<Manifest>, options: RenderOptions) -> Result<Rendering, Failure> {
        let done = workers::each(&[manifests], |manifests| {
            traits::render_traits(manifests.clone(), self.instances, &self.given.context, &options)
        })?;
        Ok(done.into_iter().next().unwrap_or_default())
    }
}

/// Returns the manifests that were given.
pub(in crate::commands) fn given_manifests(base: &[Document]) -> Vec<Manifest> {
    let manifests = base.iter().enumerate();
    manifests.map(|(number, document)| Manifest::given(number, document.value.clone())).collect()
}

/// Returns whether an expression failed because the component has no name.
fn is_missing_name(problem: &Diagnostic) -> bool {
    problem.is_error() && problem.missing_key.as_ref().is_some_and(|key| NAME_KEYS.contains(&key.as_str()))
}

/// Says why `metadata.name` is missing.
fn unnamed(workloads: usize) -> Diagnostic {
    let found = match workloads {
        0 => "no workload".to_owned(),
        some => plural(some, "workload"),
    };
    let message = format!("`metadata.name` is not known: the manifests hold {found}");
    codes::about_path(&UNKNOWN_NAME, "--name", message).help("say it with --name")
}

/// Warns of the first manifest that is created in a namespace that nobody has named.
fn assumed(rendering: &Rendering, is_strict: bool) -> Option<Diagnostic> {
    let is_there = |manifest: &&Manifest| ObjectName::of(&manifest.object).namespace == context::ASSUMED;
    let mut made = rendering.manifests.iter().filter(is_there);
    let (manifest, writer) = made.find_map(|manifest| match manifest.origin {
        ManifestOrigin::Made(writer) => Some((manifest, writer)),
        ManifestOrigin::Given(_) => None,
    })?;
    let location = rendering.writer(writer)?.location(writer.part).clone();
    let message =
        format!("{} is created in `{}`, because no namespace is named", manifest.label(), context::ASSUMED);
    let problem = Diagnostic::new(&ASSUMED_NAMESPACE, message, location);
    let problem = problem.help("the manifests name no namespace, or more than one; say it with --namespace");
    Some(Diagnostic { is_raised: is_strict, ..problem })
}
