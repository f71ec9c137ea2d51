//! Rendering of components with their types, traits and environments.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use kubewright_engine::Diagnostic;
use kubewright_files::workers;
use kubewright_files::{self as files, Input};
use kubewright_report::text::plural;
use kubewright_traits::{
    self as traits, ComponentRelease, RenderContext, RenderOptions, Rendering, ResourceLibrary,
};
use kubewright_value::{Document, Value};

use super::base::BaseManifests;
use super::context::ContextLayers;
use super::trace::TracedRendering;
use super::write::{self, ManifestGroup};
use super::{exit_of, selection, setting, trace};
use crate::arguments::RenderArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, print_stderr, safe_file_name};
use crate::rule_inputs::print_diagnostics;

/// Inputs of rendering components.
pub(super) struct ComponentInputs<'f> {
    pub(super) base: &'f BaseManifests,
    /// Files with more traits.
    pub(super) traits: &'f [Input],
    pub(super) said: ContextLayers,
    /// Settings that only a single trait can have.
    pub(super) own: &'f [setting::PathSetting],
    pub(super) problems: Vec<Diagnostic>,
}

/// Returns whether components are among `documents`.
pub(super) fn has_components(documents: &[Document]) -> bool {
    let is_component = |document: &Document| {
        document.value.get("kind").and_then(Value::as_str) == Some("Component")
            && traits::is_trait_resource(document)
    };
    documents.iter().any(is_component)
}

/// Renders the components.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(super) fn render_components(
    arguments: &RenderArguments,
    found: ComponentInputs<'_>,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    refuse_component_options(arguments, found.own)?;
    let mut problems = found.problems;
    let mut documents = found.base.documents.clone();
    let more = files::read_documents(found.traits, &mut problems);
    documents.extend(files::objects_of(more, &mut problems));
    if let Some(component) = &arguments.names.component {
        selection::retain_selected(&mut documents, component)?;
    }
    let others = documents.iter().filter(|document| !is_platform(document)).count();
    let (library, wrong) = ResourceLibrary::read(&documents, &found.said.more());
    problems.extend(wrong);
    let releases = build_releases(arguments, &library, &mut problems)?;
    let given = found.said.overrides(&mut problems);
    if arguments.strict {
        traits::raise_strict_warnings(&mut problems);
    }
    if problems.iter().any(Diagnostic::is_error) {
        print_diagnostics(&problems, color.paint_errors());
        return Ok(ExitStatus::BadInput);
    }
    let options = RenderOptions { strict: arguments.strict, trace: arguments.trace };
    let mut rendered = render_releases(&library, &releases, &given, options)?;
    problems.extend(rendered.iter_mut().flat_map(|rendering| std::mem::take(&mut rendering.diagnostics)));
    keep_diagnostics_once(&mut problems);
    if arguments.quiet {
        problems.retain(Diagnostic::is_error);
    }
    if arguments.trace {
        let all = releases.iter().zip(&rendered);
        let traced = all.map(|(release, rendering)| TracedRendering {
            release: Some((release.component(), release.environment())),
            rendering,
            base: &[],
        });
        trace::write_render_trace(
            &traced.collect::<Vec<_>>(),
            &problems,
            arguments.output,
            color.paint_output(),
        )?;
    }
    if print_diagnostics(&problems, color.paint_errors()) {
        return Ok(exit_of(&problems));
    }
    if arguments.trace {
        return Ok(ExitStatus::Clean);
    }
    write::manifests(arguments, &release_groups(&releases, &rendered))?;
    if !arguments.quiet {
        summarise_releases(&releases, &rendered, others);
    }
    Ok(ExitStatus::Clean)
}

/// Refuses options that do not apply to components.
fn refuse_component_options(
    arguments: &RenderArguments,
    own: &[setting::PathSetting],
) -> Result<(), CommandFailure> {
    let refused = [
        (arguments.stack.is_some(), "--stack", "a Component lists its own traits"),
        (!arguments.values.parameters.is_empty(), "--params", "they are in the Component"),
        (!arguments.values.environment_configs.is_empty(), "--env-configs", "they are in the ReleaseBinding"),
        (!own.is_empty(), "--set of parameters", "they are in the Component and its ReleaseBinding"),
        (arguments.diff, "--diff", "there are no manifests to compare with"),
        (arguments.check_idempotent, "--check-idempotent", "components are always rendered from scratch"),
    ];
    match refused.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, option, help)) => {
            let message = format!("{option} does not apply to components, and the files contain one");
            Err(CommandFailure::usage(message).help(help))
        }
        None => Ok(()),
    }
}

/// Returns whether `document` belongs to the platform and not to an application.
fn is_platform(document: &Document) -> bool {
    let version = document.value.str_at(&["apiVersion"]);
    traits::is_trait_resource(document) || version.starts_with(traits::GROUP)
}

/// Returns the requested releases.
fn build_releases(
    arguments: &RenderArguments,
    library: &ResourceLibrary,
    problems: &mut Vec<Diagnostic>,
) -> Result<Vec<ComponentRelease>, CommandFailure> {
    let releases = match &arguments.names.environment {
        Some(environment) => {
            let (releases, wrong) = library.releases_in(environment);
            problems.extend(wrong);
            releases
        }
        None => {
            problems.extend(library.unreleased());
            library.releases().to_vec()
        }
    };
    // Nothing to write looks like a folder that was emptied on purpose.
    if releases.is_empty() && !problems.iter().any(Diagnostic::is_error) {
        let what = match &arguments.names.component {
            Some(component) => format!("the component `{component}` is not"),
            None => "no component is".to_owned(),
        };
        let place = match &arguments.names.environment {
            Some(environment) => format!("`{environment}`"),
            None => "any environment".to_owned(),
        };
        return Err(CommandFailure::usage(format!("{what} released in {place}"))
            .help("a component is released where a ReleaseBinding exists"));
    }
    Ok(releases)
}

fn render_releases(
    library: &ResourceLibrary,
    releases: &[ComponentRelease],
    given: &RenderContext,
    options: RenderOptions,
) -> Result<Vec<Rendering>, CommandFailure> {
    Ok(workers::run_on_workers(releases, |release| library.render(release, given, &options))?)
}

/// Removes duplicate diagnostics: an invalid trait is reported for every component.
fn keep_diagnostics_once(problems: &mut Vec<Diagnostic>) {
    let mut told = HashSet::new();
    problems.retain(|problem| told.insert(problem.to_string()));
}

/// Returns the manifests of each release, with title and folder.
fn release_groups<'r>(releases: &[ComponentRelease], rendered: &'r [Rendering]) -> Vec<ManifestGroup<'r>> {
    let mut same: HashMap<(&str, &str), usize> = HashMap::new();
    for release in releases {
        *same.entry((release.environment(), release.component())).or_default() += 1;
    }
    let part = |(release, rendering): (&ComponentRelease, &'r Rendering)| {
        let (environment, component) = (release.environment(), release.component());
        let is_double = same.get(&(environment, component)).is_some_and(|count| *count > 1);
        let folder = match release.namespace().filter(|_| is_double) {
            Some(namespace) => format!("{namespace}-{component}"),
            None => component.to_owned(),
        };
        ManifestGroup {
            title: (releases.len() > 1).then(|| format!("component {component}, environment {environment}")),
            folder: PathBuf::from(safe_file_name(environment)).join(safe_file_name(&folder)),
            manifests: &rendering.manifests,
        }
    };
    releases.iter().zip(rendered).map(part).collect()
}

/// Prints a one-line summary.
fn summarise_releases(releases: &[ComponentRelease], rendered: &[Rendering], others: usize) {
    let components: BTreeSet<_> =
        releases.iter().map(|release| (release.namespace(), release.component())).collect();
    let environments: BTreeSet<_> = releases.iter().map(ComponentRelease::environment).collect();
    let manifests: usize = rendered.iter().map(|rendering| rendering.manifests.len()).sum();
    let left_out = match others {
        0 => String::new(),
        others => format!("; left out {} without a component", plural(others, "document")),
    };
    print_stderr(format_args!(
        "{} in {}: {}{left_out}",
        plural(components.len(), "component"),
        plural(environments.len(), "environment"),
        plural(manifests, "manifest")
    ));
}
