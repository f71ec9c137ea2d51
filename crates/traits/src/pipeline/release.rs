//! One component in one environment.

use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Map, Step, Text, Value};

use super::super::context::{
    self, ComponentContext, ComponentIdentity, GivenParameters, SourcedVariable, VisibleSecrets,
    bind_declared, declared_dependencies, list_endpoint_resources, merge_by_key, missing_metadata,
    resolve_configurations, workload_variable,
};
use super::super::diagnostics as code;
use super::super::evaluate::RenderRun;
use super::super::render::{self, AppliedInstance, CompiledTrait, RenderOptions, Rendering, has_failed};
use super::super::schema::Sections;
use super::super::source::{ConfigVariable, ReleaseBinding, TraitUse, Workload};
use super::super::variables::RenderContext;
use super::member::{EnvironmentPlane, LibraryComponent, SourcedResource};
use super::{CompiledComponentType, ResourceLibrary, finish};
use kubewright_dialect_kit::fields::Located;

/// A component in an environment, with all its references resolved.
#[derive(Debug, Clone)]
pub struct ComponentRelease {
    member: Arc<LibraryComponent>,
    place: Arc<EnvironmentPlane>,
    binding: Option<Arc<SourcedResource<ReleaseBinding>>>,
}

impl ComponentRelease {
    pub(super) fn new(
        member: &Arc<LibraryComponent>,
        place: &Arc<EnvironmentPlane>,
        binding: Option<&Arc<SourcedResource<ReleaseBinding>>>,
    ) -> Self {
        Self { member: Arc::clone(member), place: Arc::clone(place), binding: binding.cloned() }
    }

    /// Returns the name of the component.
    #[must_use]
    pub fn component(&self) -> &str {
        &self.member.found.metadata.name
    }

    /// Returns the namespace in the component's file.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.member.found.metadata.namespace.as_deref()
    }

    /// Returns the name of the environment.
    #[must_use]
    pub fn environment(&self) -> &str {
        self.place.name()
    }

    /// Returns the type of the component.
    #[must_use]
    pub fn component_type(&self) -> &CompiledComponentType {
        &self.member.of
    }

    /// Returns the applied traits, in order.
    pub fn traits(&self) -> impl Iterator<Item = &CompiledTrait> {
        self.member.embedded.iter().chain(&self.member.traits)
    }

    pub(super) fn context(
        &self,
        library: &ResourceLibrary,
        given: &RenderContext,
    ) -> (RenderContext, Vec<Diagnostic>) {
        let (surroundings, mut diagnostics) = self.component_context(library, given);
        let mut context = RenderContext::new();
        for (name, value) in surroundings.variables() {
            context.set(name, value);
        }
        for name in given.names() {
            // The computed values already contain the given ones.
            if let (None, Some(value)) = (context.get(name), given.get(name)) {
                context.set(name, value.clone());
            }
        }
        let component = &self.member.found;
        let about = format!("Component `{}`", component.metadata.name);
        let parameters = component.parameters.as_ref().map(|found| GivenParameters {
            value: &found.value,
            document: &self.member.document,
            path: &found.path,
        });
        let configs = self.binding.as_deref().and_then(|binding| {
            let found = binding.found.component_type_configs.as_ref()?;
            Some(GivenParameters { value: &found.value, document: &binding.document, path: &found.path })
        });
        let sections = self.member.of.sections();
        diagnostics.extend(self.bind(&mut context, sections, (parameters, configs), &about));
        (context, diagnostics)
    }

    pub(super) fn render(
        &self,
        library: &ResourceLibrary,
        given: &RenderContext,
        options: &RenderOptions,
    ) -> Rendering {
        let mut run = RenderRun::new(options.trace);
        let (context, diagnostics) = self.context(library, given);
        run.diagnostics.extend(diagnostics);
        let mut writers = vec![self.member.of.applied()];
        let uses = self.uses();
        writers.extend(uses.iter().map(|(of, used)| AppliedInstance::of_trait(of, &used.instance.value)));
        let mut manifests = Vec::new();
        if !has_failed(&run) {
            manifests = self.member.of.make(&context, &writers, &mut run);
        }
        if !has_failed(&run) {
            let contexts = self.contexts(&context, &uses, &mut run);
            // The component type is the first of the writers.
            let numbered = (1..).zip(uses.iter().map(|(of, _)| *of).zip(&contexts));
            render::apply_all_traits(numbered.clone(), &writers, &mut manifests, &mut run);
            if !has_failed(&run) {
                self.member.of.assert(&manifests, &context, &mut run);
                render::check_all_assertions(numbered, &manifests, &mut run);
                render::check_rendered_manifests(&manifests, &writers, &mut run.diagnostics);
                let labels = context.get("metadata").and_then(|metadata| metadata.get("labels"));
                finish::add_labels(&mut manifests, labels.unwrap_or(&Value::Null));
                let workload_type = self.member.of.found().workload_type.as_ref();
                finish::annotate_resource_hash(
                    &mut manifests,
                    workload_type.map(|found| found.value.as_str()),
                );
                finish::sort_manifests(&mut manifests);
            }
        }
        render::finish_rendering(manifests, writers, run, options)
    }

    /// Returns the traits in order: those of the type, then those of the component.
    fn uses(&self) -> Vec<(&CompiledTrait, &TraitUse)> {
        let embedded = self.member.embedded.iter().zip(&self.member.of.found().traits);
        embedded.chain(self.member.traits.iter().zip(&self.member.found.traits)).collect()
    }

    /// Returns the variables of each trait.
    fn contexts<'a>(
        &self,
        context: &RenderContext,
        uses: &[(&'a CompiledTrait, &'a TraitUse)],
        run: &mut RenderRun,
    ) -> Vec<RenderContext> {
        let bound = self.member.of.bound(context, run);
        let mut contexts = Vec::with_capacity(uses.len());
        for (number, (of, used)) in uses.iter().enumerate() {
            let about = AppliedInstance::of_trait(of, &used.instance.value).to_string();
            let given = match bound.get(number) {
                Some((parameters, configs)) => {
                    let document = self.member.of.document();
                    let placed = |value, found: Option<&'a Located<Value>>| {
                        let path = found.map_or(&used.path, |found| &found.path);
                        GivenParameters { value, document, path }
                    };
                    let parameters = placed(parameters, used.parameters.as_ref());
                    let configs = placed(configs, used.environment_configs.as_ref());
                    (Some(parameters), Some(configs))
                }
                None => (self.own_parameters(used), self.own_configs(used)),
            };
            let mut context = context.clone().with("trait", of.trait_variable(&used.instance.value));
            let wrong = self.bind(&mut context, of.sections(), given, &about);
            run.diagnostics.extend(wrong);
            contexts.push(context);
        }
        contexts
    }

    fn own_parameters<'r>(&'r self, used: &'r TraitUse) -> Option<GivenParameters<'r>> {
        let found = used.parameters.as_ref()?;
        Some(GivenParameters { value: &found.value, document: &self.member.document, path: &found.path })
    }

    fn own_configs<'r>(&'r self, used: &TraitUse) -> Option<GivenParameters<'r>> {
        let binding = self.binding.as_deref()?;
        let (_, found) = binding.found.trait_configs.iter().find(|(name, _)| *name == used.instance.value)?;
        Some(GivenParameters { value: &found.value, document: &binding.document, path: &found.path })
    }

    /// Adds `parameters` and `environmentConfigs` to `context`, and returns their mistakes.
    fn bind(
        &self,
        context: &mut RenderContext,
        sections: &Sections,
        (parameters, configs): (Option<GivenParameters<'_>>, Option<GivenParameters<'_>>),
        about: &str,
    ) -> Vec<Diagnostic> {
        let component = self.member.document.locate(&[]);
        let binding = self.binding.as_deref().map(|binding| binding.document.locate(&[]));
        let (value, mut wrong) =
            bind_declared(sections.parameters.as_ref(), parameters, &component, ("parameters", about));
        context.set("parameters", value);
        let (value, more) = bind_declared(
            sections.environment_configs.as_ref(),
            configs,
            &binding.unwrap_or(component),
            ("environmentConfigs", about),
        );
        context.set("environmentConfigs", value);
        wrong.extend(more);
        wrong
    }

    fn component_context(
        &self,
        library: &ResourceLibrary,
        given: &RenderContext,
    ) -> (ComponentContext, Vec<Diagnostic>) {
        let (member, place) = (&*self.member, &*self.place);
        let metadata = context::metadata_variable(&ComponentIdentity {
            component: &member.found.metadata,
            project: member.found.project.as_deref(),
            environment: &place.environment,
            data_plane: &place.data_plane,
        });
        let (configurations, mut diagnostics) = self.configurations(library);
        let workload = member.workload.as_deref();
        let mut endpoint_resources = Value::object(Map::new());
        if let Some(workload) = workload.filter(|_| library.reads_endpoints) {
            let (found, wrong) = list_endpoint_resources(&workload.found, &workload.document);
            endpoint_resources = found;
            diagnostics.extend(wrong);
        }
        let dependencies = match given.get("dependencies") {
            Some(given) => {
                let list = |key| given.get(key).and_then(Value::as_array).unwrap_or_default();
                context::dependencies_variable(list("items"), list("resources"))
            }
            None => {
                diagnostics.extend(workload.into_iter().flat_map(report_unresolved));
                let word = |key| metadata.str_at(&[key]);
                let (namespace, project) = (word("componentNamespace"), word("projectName"));
                let declared = workload
                    .map(|workload| declared_dependencies(&workload.found, namespace, project))
                    .unwrap_or_default();
                context::dependencies_variable(&declared.0, &declared.1)
            }
        };
        let mixed = |name: &str, computed: &Value| override_entries(computed, given.get(name));
        let surroundings = ComponentContext {
            metadata: mixed("metadata", &metadata),
            data_plane: mixed("dataplane", &place.data_plane_value),
            environment: mixed("environment", &place.environment_value),
            workload: mixed("workload", &workload_variable(workload.map(|workload| &workload.found))),
            configurations: mixed("configurations", &configurations),
            dependencies,
            endpoint_resources,
        };
        let missing = missing_metadata(&surroundings.metadata);
        if !missing.is_empty() {
            let missing: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
            let message = format!("the metadata of `{}` lack {}", self.component(), missing.join(", "));
            let location = member.document.locate(&[]);
            let help = "what is given as `metadata` takes the place of what is computed; give it a value, or leave it out";
            diagnostics.push(Diagnostic::new(&code::INCOMPLETE_METADATA, message, location).help(help));
        }
        (surroundings, diagnostics)
    }

    /// Returns the variables and files of the workload, overridden by those of the ReleaseBinding.
    fn configurations(&self, library: &ResourceLibrary) -> (Value, Vec<Diagnostic>) {
        let workload = self.member.workload.as_deref();
        let binding = self.binding.as_deref();
        let secrets = VisibleSecrets { all: &library.secrets, namespace: self.namespace() };
        let env = merge_by_key(
            &sourced_variables(workload.map(|found| (&found.document, found.found.env.as_slice()))),
            &sourced_variables(binding.map(|found| (&found.document, found.found.env.as_slice()))),
            |setting| &setting.variable.key,
        );
        let files = merge_by_key(
            &sourced_variables(workload.map(|found| (&found.document, found.found.files.as_slice()))),
            &sourced_variables(binding.map(|found| (&found.document, found.found.files.as_slice()))),
            |setting| &setting.variable.key,
        );
        resolve_configurations(&env, &files, secrets)
    }
}

fn sourced_variables<'a>(found: Option<(&'a Document, &'a [ConfigVariable])>) -> Vec<SourcedVariable<'a>> {
    let placed = |(document, variables): (&'a Document, &'a [ConfigVariable])| {
        variables.iter().map(move |variable| SourcedVariable { variable, document })
    };
    found.into_iter().flat_map(placed).collect()
}

/// Returns `computed`, overridden by the entries of `given`.
fn override_entries(computed: &Value, given: Option<&Value>) -> Value {
    let mut value = computed.clone();
    match (value.as_object_mut(), given.and_then(Value::as_object)) {
        (Some(own), Some(given)) => {
            for (key, value) in given.iter() {
                own.insert(key.clone(), value.clone());
            }
            value
        }
        _ => value,
    }
}

/// Reports the variables and files of `workload` whose values exist only in a cluster.
fn report_unresolved(workload: &SourcedResource<Workload>) -> Vec<Diagnostic> {
    let quoted = |names: &mut dyn Iterator<Item = &Text>| {
        names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    };
    let mut left_out = Vec::new();
    for connection in &workload.found.connections {
        let names = quoted(&mut connection.bindings.iter().map(|(_, variable)| variable));
        left_out.push((format!("endpoint `{}` of `{}`", connection.endpoint, connection.component), names));
    }
    for resource in &workload.found.resources {
        let names = quoted(&mut resource.env.iter().chain(&resource.files).map(|(_, target)| target));
        left_out.push((format!("resource `{}`", resource.resource), names));
    }
    let told = left_out.into_iter().filter(|(_, names)| !names.is_empty());
    told.map(|(what, names)| {
        let message = format!("what the {what} gives is not known: {names} is left out");
        let location = workload.document.locate_key(&["spec", "dependencies"].map(Step::from));
        let help = "give it as `dependencies` with `--context`";
        Diagnostic::new(&code::UNRESOLVED_DEPENDENCY, message, location).help(help)
    })
    .collect()
}
