//! One component in one environment.

use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Map, Step, Text, Value};

use super::super::context::{
    self, Given, Named, Secrets, Setting, Surroundings, configurations_of, declared, declared_dependencies,
    endpoint_resources_of, merged, missing_metadata, workload_of,
};
use super::super::diagnostics as code;
use super::super::evaluate::Run;
use super::super::render::{self, Applied, RenderOptions, Rendering, Trait, has_failed};
use super::super::schema::Sections;
use super::super::source::{ReleaseBinding, TraitUse, Variable, Workload};
use super::super::variables::Context;
use super::member::{Member, Place, Read};
use super::{ComponentType, Library, finish};
use kubewright_dialect_kit::fields::Located;

/// A component in an environment, with everything that it is rendered with.
#[derive(Debug, Clone)]
pub struct Release {
    member: Arc<Member>,
    place: Arc<Place>,
    binding: Option<Arc<Read<ReleaseBinding>>>,
}

impl Release {
    pub(super) fn new(
        member: &Arc<Member>,
        place: &Arc<Place>,
        binding: Option<&Arc<Read<ReleaseBinding>>>,
    ) -> Self {
        Self { member: Arc::clone(member), place: Arc::clone(place), binding: binding.cloned() }
    }

    /// Returns the name of the component.
    #[must_use]
    pub fn component(&self) -> &str {
        &self.member.found.metadata.name
    }

    /// Returns the namespace that the component's file names.
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
    pub fn component_type(&self) -> &ComponentType {
        &self.member.of
    }

    /// Returns the traits that are applied, in their order.
    pub fn traits(&self) -> impl Iterator<Item = &Trait> {
        self.member.embedded.iter().chain(&self.member.traits)
    }

    pub(super) fn context(&self, library: &Library, given: &Context) -> (Context, Vec<Diagnostic>) {
        let (surroundings, mut diagnostics) = self.surroundings(library, given);
        let mut context = Context::new();
        for (name, value) in surroundings.variables() {
            context.set(name, value);
        }
        for name in given.names() {
            // What is computed is already mixed with what is given.
            if let (None, Some(value)) = (context.get(name), given.get(name)) {
                context.set(name, value.clone());
            }
        }
        let component = &self.member.found;
        let about = format!("Component `{}`", component.metadata.name);
        let parameters = component.parameters.as_ref().map(|found| Given {
            value: &found.value,
            document: &self.member.document,
            path: &found.path,
        });
        let configs = self.binding.as_deref().and_then(|binding| {
            let found = binding.found.component_type_configs.as_ref()?;
            Some(Given { value: &found.value, document: &binding.document, path: &found.path })
        });
        let sections = self.member.of.sections();
        diagnostics.extend(self.bind(&mut context, sections, (parameters, configs), &about));
        (context, diagnostics)
    }

    pub(super) fn render(&self, library: &Library, given: &Context, options: &RenderOptions) -> Rendering {
        let mut run = Run::new(options.trace);
        let (context, diagnostics) = self.context(library, given);
        run.diagnostics.extend(diagnostics);
        let mut writers = vec![self.member.of.applied()];
        let uses = self.uses();
        writers.extend(uses.iter().map(|(of, used)| Applied::of_trait(of, &used.instance.value)));
        let mut manifests = Vec::new();
        if !has_failed(&run) {
            manifests = self.member.of.make(&context, &writers, &mut run);
        }
        if !has_failed(&run) {
            let contexts = self.contexts(&context, &uses, &mut run);
            // The component type is the first of the writers.
            let numbered = (1..).zip(uses.iter().map(|(of, _)| *of).zip(&contexts));
            render::apply_all(numbered.clone(), &writers, &mut manifests, &mut run);
            if !has_failed(&run) {
                self.member.of.assert(&manifests, &context, &mut run);
                render::assert_all(numbered, &manifests, &mut run);
                render::check(&manifests, &writers, &mut run.diagnostics);
                let labels = context.get("metadata").and_then(|metadata| metadata.get("labels"));
                finish::label(&mut manifests, labels.unwrap_or(&Value::Null));
                let workload_type = self.member.of.found().workload_type.as_ref();
                finish::note_hash(&mut manifests, workload_type.map(|found| found.value.as_str()));
                finish::sort(&mut manifests);
            }
        }
        render::finish(manifests, writers, run, options)
    }

    /// Returns the traits in their order: those of the type, then those of the component.
    fn uses(&self) -> Vec<(&Trait, &TraitUse)> {
        let embedded = self.member.embedded.iter().zip(&self.member.of.found().traits);
        embedded.chain(self.member.traits.iter().zip(&self.member.found.traits)).collect()
    }

    /// Returns what the expressions of each trait see.
    fn contexts<'a>(
        &self,
        context: &Context,
        uses: &[(&'a Trait, &'a TraitUse)],
        run: &mut Run,
    ) -> Vec<Context> {
        let bound = self.member.of.bound(context, run);
        let mut contexts = Vec::with_capacity(uses.len());
        for (number, (of, used)) in uses.iter().enumerate() {
            let about = Applied::of_trait(of, &used.instance.value).to_string();
            let given = match bound.get(number) {
                Some((parameters, configs)) => {
                    let document = self.member.of.document();
                    let placed = |value, found: Option<&'a Located<Value>>| {
                        let path = found.map_or(&used.path, |found| &found.path);
                        Given { value, document, path }
                    };
                    let parameters = placed(parameters, used.parameters.as_ref());
                    let configs = placed(configs, used.environment_configs.as_ref());
                    (Some(parameters), Some(configs))
                }
                None => (self.own_parameters(used), self.own_configs(used)),
            };
            let mut context = context.clone().with("trait", of.called(&used.instance.value));
            let wrong = self.bind(&mut context, of.sections(), given, &about);
            run.diagnostics.extend(wrong);
            contexts.push(context);
        }
        contexts
    }

    fn own_parameters<'r>(&'r self, used: &'r TraitUse) -> Option<Given<'r>> {
        let found = used.parameters.as_ref()?;
        Some(Given { value: &found.value, document: &self.member.document, path: &found.path })
    }

    fn own_configs<'r>(&'r self, used: &TraitUse) -> Option<Given<'r>> {
        let binding = self.binding.as_deref()?;
        let (_, found) = binding.found.trait_configs.iter().find(|(name, _)| *name == used.instance.value)?;
        Some(Given { value: &found.value, document: &binding.document, path: &found.path })
    }

    /// Puts `parameters` and `environmentConfigs` into `context`, and returns what is wrong with them.
    fn bind(
        &self,
        context: &mut Context,
        sections: &Sections,
        (parameters, configs): (Option<Given<'_>>, Option<Given<'_>>),
        about: &str,
    ) -> Vec<Diagnostic> {
        let component = self.member.document.locate(&[]);
        let binding = self.binding.as_deref().map(|binding| binding.document.locate(&[]));
        let (value, mut wrong) =
            declared(sections.parameters.as_ref(), parameters, &component, ("parameters", about));
        context.set("parameters", value);
        let (value, more) = declared(
            sections.environment_configs.as_ref(),
            configs,
            &binding.unwrap_or(component),
            ("environmentConfigs", about),
        );
        context.set("environmentConfigs", value);
        wrong.extend(more);
        wrong
    }

    fn surroundings(&self, library: &Library, given: &Context) -> (Surroundings, Vec<Diagnostic>) {
        let (member, place) = (&*self.member, &*self.place);
        let metadata = context::metadata(&Named {
            component: &member.found.metadata,
            project: member.found.project.as_deref(),
            environment: &place.environment,
            data_plane: &place.data_plane,
        });
        let (configurations, mut diagnostics) = self.configurations(library);
        let workload = member.workload.as_deref();
        let mut endpoint_resources = Value::object(Map::new());
        if let Some(workload) = workload.filter(|_| library.reads_endpoints) {
            let (found, wrong) = endpoint_resources_of(&workload.found, &workload.document);
            endpoint_resources = found;
            diagnostics.extend(wrong);
        }
        let dependencies = match given.get("dependencies") {
            Some(given) => {
                let list = |key| given.get(key).and_then(Value::as_array).unwrap_or_default();
                context::dependencies(list("items"), list("resources"))
            }
            None => {
                diagnostics.extend(workload.into_iter().flat_map(unresolved));
                let word = |key| metadata.str_at(&[key]);
                let (namespace, project) = (word("componentNamespace"), word("projectName"));
                let declared = workload
                    .map(|workload| declared_dependencies(&workload.found, namespace, project))
                    .unwrap_or_default();
                context::dependencies(&declared.0, &declared.1)
            }
        };
        let mixed = |name: &str, computed: &Value| mixed(computed, given.get(name));
        let surroundings = Surroundings {
            metadata: mixed("metadata", &metadata),
            data_plane: mixed("dataplane", &place.data_plane_value),
            environment: mixed("environment", &place.environment_value),
            workload: mixed("workload", &workload_of(workload.map(|workload| &workload.found))),
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

    /// Returns the variables and files of the workload, with those of the ReleaseBinding in their places.
    fn configurations(&self, library: &Library) -> (Value, Vec<Diagnostic>) {
        let workload = self.member.workload.as_deref();
        let binding = self.binding.as_deref();
        let secrets = Secrets { all: &library.secrets, namespace: self.namespace() };
        let env = merged(
            &settings(workload.map(|found| (&found.document, found.found.env.as_slice()))),
            &settings(binding.map(|found| (&found.document, found.found.env.as_slice()))),
            |setting| &setting.variable.key,
        );
        let files = merged(
            &settings(workload.map(|found| (&found.document, found.found.files.as_slice()))),
            &settings(binding.map(|found| (&found.document, found.found.files.as_slice()))),
            |setting| &setting.variable.key,
        );
        configurations_of(&env, &files, secrets)
    }
}

fn settings<'a>(found: Option<(&'a Document, &'a [Variable])>) -> Vec<Setting<'a>> {
    let placed = |(document, variables): (&'a Document, &'a [Variable])| {
        variables.iter().map(move |variable| Setting { variable, document })
    };
    found.into_iter().flat_map(placed).collect()
}

/// Returns `computed` with the entries of `given` in place of its own.
fn mixed(computed: &Value, given: Option<&Value>) -> Value {
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

/// Says which variables and files of `workload` only a cluster could fill.
fn unresolved(workload: &Read<Workload>) -> Vec<Diagnostic> {
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
