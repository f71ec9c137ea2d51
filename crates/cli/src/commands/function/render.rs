//! What the traits make of the manifests of a list.

use std::collections::HashSet;

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_k8s::ObjectName;
use kubewright_traits::{self as traits, Instance, ManifestOrigin, RenderOptions, Rendering};
use kubewright_value::{Document, Source, Value};

use super::config::FunctionConfig;
use super::list::{LOCAL, ResourceList};
use super::place;
use crate::arguments::FunctionArguments;
use crate::codes::{ASSUMED_NAMESPACE, NO_TRAIT, UNKNOWN_NAME, UNKNOWN_TRAIT};
use crate::commands::render::context::ContextLayers;
use crate::commands::render::library::{TraitLibrary, is_trait};
use crate::commands::render::{RenderJob, instances};
use crate::failure::CommandFailure;

/// Returns what comes of the manifests of `list`, of which those are left out that are created anew; nothing where
/// something is wrong.
///
/// # Errors
/// When no thread can be started.
pub(super) fn render_list(
    arguments: &FunctionArguments,
    wish: &FunctionConfig,
    list: &ResourceList,
    problems: &mut Vec<Diagnostic>,
) -> Result<Option<Rendering>, CommandFailure> {
    let said = ContextLayers::layered(wish.stack.as_ref(), &wish.context, problems).with(wish.shared.clone());
    let library = list_traits(wish, list, &said, problems);
    let instances = instances::instances_with_values(&wish.values, wish.stack.as_ref(), &library, problems);
    hint_missing_trait(wish, list, problems);
    let is_strict = arguments.strict || wish.is_strict;
    if is_strict {
        traits::raise_strict_warnings(problems);
    }
    let work = FunctionWork {
        said: &said,
        instances: &instances,
        options: RenderOptions { strict: is_strict, trace: false },
        checks_idempotence: arguments.check_idempotent,
    };
    let RenderAttempt { rendering, found } = work.alone(&list.base, problems)?;
    *problems = found;
    relocate_to_config(list, problems);
    Ok(rendering.filter(|_| !problems.iter().any(Diagnostic::is_error)))
}

/// What is the same for every run.
struct FunctionWork<'w> {
    said: &'w ContextLayers,
    instances: &'w [Instance],
    options: RenderOptions,
    checks_idempotence: bool,
}

/// What came of one run.
struct RenderAttempt {
    /// Nothing where something was wrong before.
    rendering: Option<Rendering>,
    /// All that is wrong.
    found: Vec<Diagnostic>,
}

impl FunctionWork<'_> {
    /// Renders `base` without the manifests that the traits create: those that an earlier run created and that were kept
    /// are not patched again and cause no conflict. A manifest that the traits do not create again stays.
    fn alone(&self, base: &[Document], problems: &[Diagnostic]) -> Result<RenderAttempt, CommandFailure> {
        let mut kept: Vec<usize> = (0..base.len()).collect();
        let mut last = self.on(base, &kept, problems)?;
        // What one trait creates may have kept the next one from creating anything.
        for _ in self.instances {
            let made = last.made();
            let name = |number: &usize| base.get(*number).map(|document| ObjectName::of(&document.value));
            let is_made = |number: &usize| name(number).is_some_and(|name| made.contains(&name));
            let (created, rest): (Vec<usize>, Vec<usize>) = kept.iter().partition(|number| is_made(number));
            if created.is_empty() {
                break;
            }
            let next = self.on(base, &rest, problems)?;
            let made = next.made();
            if !created.iter().filter_map(name).all(|name| made.contains(&name)) {
                break;
            }
            (last, kept) = (next, rest);
        }
        Ok(last)
    }

    /// Renders those of `base` whose numbers are `kept`.
    fn on(
        &self,
        base: &[Document],
        kept: &[usize],
        problems: &[Diagnostic],
    ) -> Result<RenderAttempt, CommandFailure> {
        let base: Vec<Document> = kept.iter().filter_map(|number| base.get(*number)).cloned().collect();
        let mut found = problems.to_vec();
        let given = &self.said.given(&base, &mut found);
        if found.iter().any(Diagnostic::is_error) {
            return Ok(RenderAttempt { rendering: None, found });
        }
        let Self { instances, options, checks_idempotence, .. } = *self;
        let mut rendering =
            RenderJob { base: &base, instances, given, options, checks_idempotence }.run(&mut found)?;
        for manifest in &mut rendering.manifests {
            if let ManifestOrigin::Given(place) = manifest.origin {
                manifest.origin = ManifestOrigin::Given(kept.get(place).copied().unwrap_or(place));
            }
        }
        Ok(RenderAttempt { rendering: Some(rendering), found })
    }
}

impl RenderAttempt {
    /// Returns the names of what was created, as far as it came.
    fn made(&self) -> HashSet<ObjectName> {
        let manifests = self.rendering.iter().flat_map(|rendering| &rendering.manifests);
        let made = manifests.filter(|manifest| matches!(manifest.origin, ManifestOrigin::Made(_)));
        made.map(|manifest| ObjectName::of(&manifest.object)).collect()
    }
}

fn list_traits(
    wish: &FunctionConfig,
    list: &ResourceList,
    said: &ContextLayers,
    problems: &mut Vec<Diagnostic>,
) -> TraitLibrary {
    let found = files::find_files(&wish.paths);
    problems.extend(found.problems);
    let library = TraitLibrary::load(&found.inputs, &wish.paths, &wish.traits, &said.more(), problems);
    if library.traits.is_empty() && wish.stack.is_none() && !problems.iter().any(Diagnostic::is_error) {
        let problem = Diagnostic::new(&NO_TRAIT, "there is no trait to apply", list.config.locate(&[]));
        let help =
            format!("name files in `data.traits`, or mark traits among the items with `{LOCAL}: \"true\"`");
        problems.push(problem.help(help));
    }
    library
}

/// Says where things are said that options say elsewhere.
fn relocate_to_config(list: &ResourceList, problems: &mut [Diagnostic]) {
    let is_stack = list.config.value.get("kind").and_then(Value::as_str) == Some("TraitStack");
    for problem in problems {
        if problem.location.source.name.contains("--set") {
            let Source { name, text, .. } = &*problem.location.source;
            let name = name.replace("--set", &place::text_of_config(&["data".into()]));
            problem.location.source = Source::new(name, text.as_str());
        }
        let name = match problem.code {
            code if code == &UNKNOWN_NAME => "name",
            code if code == &ASSUMED_NAMESPACE => "namespace",
            _ => continue,
        };
        if problem.location.source.text.is_empty() {
            problem.location = list.config.locate(&[]);
        }
        problem.help = match is_stack {
            true => format!("say it in `spec.metadata.{name}` of the TraitStack"),
            false => format!(
                "say it in the functionConfig: `{name}` of a ConfigMap, or `metadata.{name}` of its context"
            ),
        };
    }
}

/// Says which of the items would be the trait that is missing.
fn hint_missing_trait(wish: &FunctionConfig, list: &ResourceList, problems: &mut [Diagnostic]) {
    for problem in problems.iter_mut().filter(|problem| problem.code == &UNKNOWN_TRAIT) {
        let mut uses = wish.stack.iter().flat_map(|stack| &stack.instances);
        let used = uses.find(|used| used.location.position == problem.location.position);
        let is_meant = |item: &&Document| {
            let name = ObjectName::of(&item.value).name;
            is_trait(item) && used.is_some_and(|used| name == used.of.as_str())
        };
        if list.base.iter().any(|item| is_meant(&item)) {
            problem.help = format!("one is among the items; mark it with the annotation `{LOCAL}: \"true\"`");
        }
    }
}
