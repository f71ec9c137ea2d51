//! Full mode: components among the files are rendered with their types, traits and environments.

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

use super::base::Base;
use super::context::Said;
use super::trace::Traced;
use super::write::{self, Part};
use super::{exit_of, selection, setting, trace};
use crate::arguments::Render;
use crate::failure::{Exit, Failure};
use crate::output::{ColorChoice, safe, tell};
use crate::rule_inputs::complain;

/// What was found and said, before anything is rendered.
pub(super) struct Found<'f> {
    pub(super) base: &'f Base,
    /// Files with more traits.
    pub(super) traits: &'f [Input],
    pub(super) said: Said,
    /// Settings that only a single trait can have.
    pub(super) own: &'f [setting::One],
    pub(super) problems: Vec<Diagnostic>,
}

/// Returns whether components are among `documents`.
pub(super) fn is_meant(documents: &[Document]) -> bool {
    let is_component = |document: &Document| {
        document.value.get("kind").and_then(Value::as_str) == Some("Component")
            && traits::is_trait_resource(document)
    };
    documents.iter().any(is_component)
}

/// Renders the components that were found.
///
/// # Errors
/// When what was asked for makes no sense or output cannot be written.
pub(super) fn full(arguments: &Render, found: Found<'_>, color: ColorChoice) -> Result<Exit, Failure> {
    refuse(arguments, found.own)?;
    let mut problems = found.problems;
    let mut documents = found.base.documents.clone();
    let more = files::read_documents(found.traits, &mut problems);
    documents.extend(files::objects_of(more, &mut problems));
    if let Some(component) = &arguments.names.component {
        selection::leave(&mut documents, component)?;
    }
    let others = documents.iter().filter(|document| !is_platform(document)).count();
    let (library, wrong) = ResourceLibrary::read(&documents, &found.said.more());
    problems.extend(wrong);
    let releases = releases(arguments, &library, &mut problems)?;
    let given = found.said.overrides(&mut problems);
    if arguments.strict {
        traits::raise_strict_warnings(&mut problems);
    }
    if problems.iter().any(Diagnostic::is_error) {
        complain(&problems, color.paint_errors());
        return Ok(Exit::BadInput);
    }
    let options = RenderOptions { strict: arguments.strict, trace: arguments.trace };
    let mut rendered = render(&library, &releases, &given, options)?;
    problems.extend(rendered.iter_mut().flat_map(|rendering| std::mem::take(&mut rendering.diagnostics)));
    once(&mut problems);
    if arguments.quiet {
        problems.retain(Diagnostic::is_error);
    }
    if arguments.trace {
        let all = releases.iter().zip(&rendered);
        let traced = all.map(|(release, rendering)| Traced {
            release: Some((release.component(), release.environment())),
            rendering,
            base: &[],
        });
        trace::write(&traced.collect::<Vec<_>>(), &problems, arguments.output, color.paint_output())?;
    }
    if complain(&problems, color.paint_errors()) {
        return Ok(exit_of(&problems));
    }
    if arguments.trace {
        return Ok(Exit::Clean);
    }
    write::manifests(arguments, &parts(&releases, &rendered))?;
    if !arguments.quiet {
        summarise(&releases, &rendered, others);
    }
    Ok(Exit::Clean)
}

/// Refuses what has no meaning for components.
fn refuse(arguments: &Render, own: &[setting::One]) -> Result<(), Failure> {
    let refused = [
        (arguments.stack.is_some(), "--stack", "a Component names its traits itself"),
        (!arguments.values.parameters.is_empty(), "--params", "they stand in the Component"),
        (
            !arguments.values.environment_configs.is_empty(),
            "--env-configs",
            "they stand in the ReleaseBinding",
        ),
        (!own.is_empty(), "--set of parameters", "they stand in the Component and its ReleaseBinding"),
        (arguments.diff, "--diff", "there are no manifests to compare with"),
        (
            arguments.check_idempotent,
            "--check-idempotent",
            "components are rendered from the start each time",
        ),
    ];
    match refused.into_iter().find(|(is_given, ..)| *is_given) {
        Some((_, option, help)) => {
            let message = format!("{option} is not for components, and there is one among the files");
            Err(Failure::usage(message).help(help))
        }
        None => Ok(()),
    }
}

/// Returns whether `document` belongs to the platform and not to what runs on it.
fn is_platform(document: &Document) -> bool {
    let version = document.value.str_at(&["apiVersion"]);
    traits::is_trait_resource(document) || version.starts_with(traits::GROUP)
}

/// Returns the releases that are asked for.
fn releases(
    arguments: &Render,
    library: &ResourceLibrary,
    problems: &mut Vec<Diagnostic>,
) -> Result<Vec<ComponentRelease>, Failure> {
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
        return Err(Failure::usage(format!("{what} released in {place}"))
            .help("the ReleaseBindings say where a component is"));
    }
    Ok(releases)
}

fn render(
    library: &ResourceLibrary,
    releases: &[ComponentRelease],
    given: &RenderContext,
    options: RenderOptions,
) -> Result<Vec<Rendering>, Failure> {
    Ok(workers::each(releases, |release| library.render(release, given, &options))?)
}

/// Leaves each diagnostic once: a trait that is wrong is wrong in every component.
fn once(problems: &mut Vec<Diagnostic>) {
    let mut told = HashSet::new();
    problems.retain(|problem| told.insert(problem.to_string()));
}

/// Returns what each release has come to, with its title and its folder.
fn parts<'r>(releases: &[ComponentRelease], rendered: &'r [Rendering]) -> Vec<Part<'r>> {
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
        Part {
            title: (releases.len() > 1).then(|| format!("component {component}, environment {environment}")),
            folder: PathBuf::from(safe(environment)).join(safe(&folder)),
            manifests: &rendering.manifests,
        }
    };
    releases.iter().zip(rendered).map(part).collect()
}

/// Says in a line what was done.
fn summarise(releases: &[ComponentRelease], rendered: &[Rendering], others: usize) {
    let components: BTreeSet<_> =
        releases.iter().map(|release| (release.namespace(), release.component())).collect();
    let environments: BTreeSet<_> = releases.iter().map(ComponentRelease::environment).collect();
    let manifests: usize = rendered.iter().map(|rendering| rendering.manifests.len()).sum();
    let left_out = match others {
        0 => String::new(),
        others => format!("; {} belonging to no component left out", plural(others, "document")),
    };
    tell(format_args!(
        "{} in {}: {}{left_out}",
        plural(components.len(), "component"),
        plural(environments.len(), "environment"),
        plural(manifests, "manifest")
    ));
}
