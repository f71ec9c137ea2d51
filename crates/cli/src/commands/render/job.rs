//! Applies traits to manifests, independently of input and output.

use kubewright_engine::Diagnostic;
use kubewright_files::workers;
use kubewright_k8s::ObjectName;
use kubewright_report::text::plural;
use kubewright_traits::{self as traits, Instance, Manifest, ManifestOrigin, RenderOptions, Rendering};
use kubewright_value::Document;

use super::context::{self, InstanceContext};
use super::idempotent;
use crate::codes::{self, ASSUMED_NAMESPACE, UNKNOWN_NAME};
use crate::failure::CommandFailure;

/// The variables that contain the name of the component, or are derived from it.
const NAME_KEYS: [&str; 2] = ["name", "componentName"];

/// Everything that rendering needs.
pub(in crate::commands) struct RenderJob<'j> {
    pub(in crate::commands) base: &'j [Document],
    pub(in crate::commands) instances: &'j [Instance],
    pub(in crate::commands) given: &'j InstanceContext,
    pub(in crate::commands) options: RenderOptions,
    pub(in crate::commands) checks_idempotence: bool,
}

impl RenderJob<'_> {
    /// Renders, and adds diagnostics to `problems`.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(in crate::commands) fn run(
        &self,
        problems: &mut Vec<Diagnostic>,
    ) -> Result<Rendering, CommandFailure> {
        let mut rendering = self.render(given_manifests(self.base), self.options)?;
        problems.append(&mut rendering.diagnostics);
        if let Some(workloads) = self.given.unnamed.filter(|_| problems.iter().any(is_missing_name)) {
            problems.push(unnamed_component(workloads));
        }
        if self.given.is_namespace_assumed {
            problems.extend(assumed_namespace_warning(&rendering, self.options.strict));
        }
        if self.checks_idempotence && !problems.iter().any(Diagnostic::is_error) {
            // A condition that keeps a list from growing rightly matches nothing the second time.
            let options = RenderOptions { strict: false, ..self.options };
            let again = self.render(idempotent::render_again(&rendering), options)?;
            problems.extend(idempotent::second_run_differences(&rendering, &again));
        }
        Ok(rendering)
    }

    /// Renders on a thread whose stack is large enough for the deepest document that can be read.
    fn render(&self, manifests: Vec<Manifest>, options: RenderOptions) -> Result<Rendering, CommandFailure> {
        let done = workers::run_on_workers(&[manifests], |manifests| {
            traits::render_traits(manifests.clone(), self.instances, &self.given.context, &options)
        })?;
        Ok(done.into_iter().next().unwrap_or_default())
    }
}

/// Returns the given manifests.
pub(in crate::commands) fn given_manifests(base: &[Document]) -> Vec<Manifest> {
    let manifests = base.iter().enumerate();
    manifests.map(|(number, document)| Manifest::given(number, document.value.clone())).collect()
}

/// Returns whether an expression failed because the component has no name.
fn is_missing_name(problem: &Diagnostic) -> bool {
    problem.is_error() && problem.missing_key.as_ref().is_some_and(|key| NAME_KEYS.contains(&key.as_str()))
}

/// Returns the diagnostic for a missing `metadata.name`.
fn unnamed_component(workloads: usize) -> Diagnostic {
    let found = match workloads {
        0 => "no workload".to_owned(),
        some => plural(some, "workload"),
    };
    let message = format!("`metadata.name` is unknown: the manifests contain {found}");
    codes::about_path(&UNKNOWN_NAME, "--name", message).help("set it with --name")
}

/// Warns of the first manifest that is created in an assumed namespace.
fn assumed_namespace_warning(rendering: &Rendering, is_strict: bool) -> Option<Diagnostic> {
    let is_there = |manifest: &&Manifest| ObjectName::of(&manifest.object).namespace == context::ASSUMED_NAME;
    let mut made = rendering.manifests.iter().filter(is_there);
    let (manifest, writer) = made.find_map(|manifest| match manifest.origin {
        ManifestOrigin::Made(writer) => Some((manifest, writer)),
        ManifestOrigin::Given(_) => None,
    })?;
    let location = rendering.writer(writer)?.location(writer.part).clone();
    let message = format!(
        "{} is created in `{}`, because no namespace is given",
        manifest.label(),
        context::ASSUMED_NAME
    );
    let problem = Diagnostic::new(&ASSUMED_NAMESPACE, message, location);
    let problem = problem.help("the manifests have no namespace, or more than one; set it with --namespace");
    Some(Diagnostic { is_raised: is_strict, ..problem })
}
