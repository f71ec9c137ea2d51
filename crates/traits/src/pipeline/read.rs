//! The reader of a library: it collects the resources of files and resolves their references.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Step, Text, Value, json};

use super::super::admission::{PROXY, check_trait_uses};
use super::super::diagnostics as code;
use super::super::named_resources::{NamedResources, is_namespace_visible};
use super::super::render::CompiledTrait;
use super::super::source::{
    self, ComponentDefinition, DataPlane, EnvironmentDefinition, Metadata, OpenChoreoResource,
    ReleaseBinding, SecretReference, TraitName, TraitUse, Workload,
};
use super::kinds::{MissingResource, ScopedResources};
use super::member::{DEFAULT_PLANE, EnvironmentPlane, LibraryComponent, SourcedResource, bare_plane};
use super::{CompiledComponentType, ComponentRelease, ResourceLibrary};

/// The state of a ReleaseBinding that removes a component from an environment.
const UNDEPLOY_STATE: &str = "Undeploy";
/// The names in expressions that read the operations of endpoints.
const ENDPOINTS: [&str; 2] = ["toEndpointResources", "endpointResources"];

/// The resources read so far.
pub(super) struct LibraryReader<'m> {
    more: &'m [Text],
    diagnostics: Vec<Diagnostic>,
    reads_endpoints: bool,
    types: ScopedResources<CompiledComponentType>,
    traits: ScopedResources<CompiledTrait>,
    planes: ScopedResources<DataPlane>,
    secrets: NamedResources<SecretReference>,
    components: Vec<SourcedResource<ComponentDefinition>>,
    /// By component.
    workloads: NamedResources<Arc<SourcedResource<Workload>>>,
    bindings: Vec<Arc<SourcedResource<ReleaseBinding>>>,
    environments: Vec<SourcedResource<EnvironmentDefinition>>,
    names: SeenNames,
}

/// The names already seen of kinds that are only checked for duplicates.
#[derive(Default)]
struct SeenNames {
    components: NamedResources<()>,
    environments: NamedResources<()>,
}

/// A component type with the traits that are built into it.
type TypeParts = Option<Arc<[CompiledTrait]>>;

impl<'m> LibraryReader<'m> {
    pub(super) fn new(more: &'m [Text]) -> Self {
        Self {
            more,
            diagnostics: Vec::new(),
            reads_endpoints: false,
            types: ScopedResources::default(),
            traits: ScopedResources::default(),
            planes: ScopedResources::default(),
            secrets: NamedResources::default(),
            components: Vec::new(),
            workloads: NamedResources::default(),
            bindings: Vec::new(),
            environments: Vec::new(),
            names: SeenNames::default(),
        }
    }

    pub(super) fn read(mut self, documents: &[Document]) -> (ResourceLibrary, Vec<Diagnostic>) {
        let mut planes = Vec::new();
        for document in documents.iter().filter(|document| source::is_openchoreo_document(document)) {
            self.document(document, &mut planes);
        }
        let mut library = ResourceLibrary {
            has_environments: !self.environments.is_empty(),
            bare_plane: if let [plane] = planes.as_slice() { Some(plane.clone()) } else { None },
            reads_endpoints: self.reads_endpoints,
            secrets: std::mem::take(&mut self.secrets),
            ..ResourceLibrary::default()
        };
        library.places = self.places();
        let members = self.members();
        self.release(&mut library, members);
        (library, self.diagnostics)
    }

    /// Adds one resource.
    fn document(&mut self, document: &Document, planes: &mut Vec<DataPlane>) {
        let kind = document.value.str_at(&["kind"]);
        match kind {
            "Trait" | "ClusterTrait" => self.of_trait(document, kind == "ClusterTrait"),
            "ComponentType" | "ClusterComponentType" => self.of_type(document, kind),
            _ => self.resource(document, kind, planes),
        }
    }

    fn of_trait(&mut self, document: &Document, is_cluster: bool) {
        let (compiled, diagnostics) = CompiledTrait::compile(document, self.more);
        self.diagnostics.extend(diagnostics);
        self.notice_endpoints(document);
        let Some(compiled) = compiled else { return };
        let metadata = Metadata {
            name: compiled.name().clone(),
            namespace: document_namespace(document),
            ..Metadata::default()
        };
        let is_free = self.traits.put(is_cluster, &metadata, compiled);
        self.twice(is_free, document, &metadata.name);
    }

    fn of_type(&mut self, document: &Document, kind: &str) {
        let (compiled, diagnostics) = CompiledComponentType::compile(document, self.more);
        self.diagnostics.extend(diagnostics);
        self.notice_endpoints(document);
        let Some(compiled) = compiled else { return };
        let metadata = compiled.found().metadata.clone();
        if compiled.found().resources.is_empty() {
            let message = format!("the {kind} `{}` has no resources", metadata.name);
            let location = document.locate_key(&key_path(&["spec", "resources"]));
            self.diagnostics.push(Diagnostic::new(&code::MISSING_FIELD, message, location));
        }
        let is_free = self.types.put(compiled.found().is_cluster, &metadata, compiled);
        self.twice(is_free, document, &metadata.name);
    }

    /// Adds a resource that is not compiled.
    fn resource(&mut self, document: &Document, kind: &str, planes: &mut Vec<DataPlane>) {
        let (resource, diagnostics) = source::read_openchoreo_document(document);
        self.diagnostics.extend(diagnostics);
        let document = document.clone();
        match resource {
            Some(OpenChoreoResource::Component(found)) => {
                let Metadata { name, namespace, .. } = found.metadata.clone();
                let is_free = self.names.components.put(name.clone(), namespace, ());
                self.twice(is_free, &document, &name);
                if is_free {
                    self.components.push(SourcedResource { document, found });
                }
            }
            Some(OpenChoreoResource::Workload(found)) => {
                let owner = found.owner.component.clone().unwrap_or_default();
                let namespace = found.metadata.namespace.clone();
                let copy = document.clone();
                let is_free = self.workloads.put(
                    owner.clone(),
                    namespace,
                    Arc::new(SourcedResource { document, found }),
                );
                if !is_free {
                    let message = format!("the component `{owner}` has two Workloads");
                    let location = copy.locate_key(&key_path(&["spec", "owner", "componentName"]));
                    self.diagnostics.push(Diagnostic::new(&code::TWO_RESOURCES, message, location));
                }
            }
            Some(OpenChoreoResource::ReleaseBinding(found)) => {
                self.bindings.push(Arc::new(SourcedResource { document, found }));
            }
            Some(OpenChoreoResource::Environment(found)) => {
                let Metadata { name, namespace, .. } = found.metadata.clone();
                let is_free = self.names.environments.put(name.clone(), namespace, ());
                self.twice(is_free, &document, &name);
                if is_free {
                    self.environments.push(SourcedResource { document, found });
                }
            }
            Some(OpenChoreoResource::DataPlane(found)) => {
                planes.push(found.clone());
                let metadata = found.metadata.clone();
                let is_free = self.planes.put(kind == "ClusterDataPlane", &metadata, found);
                self.twice(is_free, &document, &metadata.name);
            }
            Some(OpenChoreoResource::SecretReference(found)) => {
                let Metadata { name, namespace, .. } = found.metadata.clone();
                let is_free = self.secrets.put(name.clone(), namespace, found);
                self.twice(is_free, &document, &name);
            }
            Some(OpenChoreoResource::Trait(_) | OpenChoreoResource::ComponentType(_)) | None => {}
        }
    }

    fn notice_endpoints(&mut self, document: &Document) {
        if !self.reads_endpoints {
            let written = json::to_string(&document.value);
            self.reads_endpoints = ENDPOINTS.iter().any(|word| written.contains(word));
        }
    }

    fn twice(&mut self, is_free: bool, document: &Document, name: &str) {
        if !is_free {
            let kind = document.value.str_at(&["kind"]);
            let message = format!("the {kind} `{name}` is there twice");
            let location = document.locate(&key_path(&["metadata", "name"]));
            self.diagnostics.push(Diagnostic::new(&code::TWO_RESOURCES, message, location));
        }
    }

    /// Resolves the data planes of the environments.
    fn places(&mut self) -> Vec<Arc<EnvironmentPlane>> {
        let mut places = Vec::with_capacity(self.environments.len());
        for SourcedResource { document, found } in &self.environments {
            let named = found.data_plane.as_ref().map(|(is_cluster, name)| (*is_cluster, name.as_str()));
            let (is_cluster, name) = named.unwrap_or((false, DEFAULT_PLANE));
            match self.planes.find("DataPlane", is_cluster, name, found.metadata.namespace.as_deref()) {
                Ok(plane) => places.push(Arc::new(EnvironmentPlane::new(found, plane))),
                Err(MissingResource { message, help }) => {
                    // Often only the platform's own files contain it, and most traits do not need it.
                    let location = document.locate(&key_path(&["spec", "dataPlaneRef"]));
                    let diagnostic = Diagnostic::new(&code::NO_DATA_PLANE, message, location).help(help);
                    self.diagnostics.push(diagnostic);
                    places.push(Arc::new(EnvironmentPlane::new(found, &bare_plane(name))));
                }
            }
        }
        places
    }

    /// Resolves the references of the components. A component with a missing reference is left out.
    fn members(&mut self) -> Vec<Arc<LibraryComponent>> {
        // For each used type its own traits, or `None` if one of them is missing.
        let mut parts: HashMap<(&'static str, Text, Option<Text>), TypeParts> = HashMap::new();
        let mut members = Vec::with_capacity(self.components.len());
        for SourcedResource { document, found } in std::mem::take(&mut self.components) {
            let namespace = found.metadata.namespace.as_deref();
            let of = self.component_type(&document, &found);
            let traits = self.uses(&document, &found.traits, namespace);
            let Some(of) = of else { continue };
            let key = (of.kind(), of.name().clone(), found.metadata.namespace.clone());
            let embedded = parts
                .entry(key)
                .or_insert_with(|| self.uses(of.document(), &of.found().traits, namespace).map(Arc::from));
            let unfit = check_trait_uses(of.found(), &found, &document);
            let is_fit = unfit.is_empty();
            self.diagnostics.extend(unfit);
            let workload = self.workloads.find(&found.metadata.name, namespace).cloned();
            let runs_nothing = of.found().workload_type.as_ref().is_some_and(|kind| kind.value == PROXY);
            if workload.is_none() && !runs_nothing {
                let message = format!("the component `{}` has no Workload", found.metadata.name);
                let location = document.locate(&key_path(&["metadata", "name"]));
                let help = match self.workloads.nearest(&found.metadata.name).filter(|near| !near.is_empty())
                {
                    Some(near) => format!("there is one of the component `{near}`"),
                    None => "add a Workload with this component as its `spec.owner`".to_owned(),
                };
                self.diagnostics.push(Diagnostic::new(&code::NOT_FOUND, message, location).help(help));
                continue;
            }
            if let (Some(traits), Some(embedded), true) = (traits, embedded.clone(), is_fit) {
                members.push(Arc::new(LibraryComponent { document, found, of, embedded, traits, workload }));
            }
        }
        members
    }

    fn component_type(
        &mut self,
        document: &Document,
        found: &ComponentDefinition,
    ) -> Option<CompiledComponentType> {
        let Some((is_cluster, name)) = &found.component_type else {
            let message = format!("the component `{}` names no component type", found.metadata.name);
            let location = document.locate_key(&key_path(&["spec"]));
            let help = "write `componentType: {kind, name}`";
            self.diagnostics.push(Diagnostic::new(&code::NOT_FOUND, message, location).help(help));
            return None;
        };
        let namespace = found.metadata.namespace.as_deref();
        match self.types.find("ComponentType", *is_cluster, &name.value, namespace) {
            Ok(of) => Some(of.clone()),
            Err(missing) => {
                self.diagnostics.push(missing.at(document.locate(&name.path)));
                None
            }
        }
    }

    /// Returns the used traits; `None` if one is missing.
    fn uses(
        &mut self,
        document: &Document,
        uses: &[TraitUse],
        namespace: Option<&str>,
    ) -> Option<Vec<CompiledTrait>> {
        let mut traits = Vec::with_capacity(uses.len());
        for used in uses {
            let TraitName { is_cluster, name } = &used.name;
            match self.traits.find("Trait", *is_cluster, name, namespace) {
                Ok(found) => traits.push(found.clone()),
                Err(missing) => {
                    let mut path = used.path.clone();
                    path.push(Step::from("name"));
                    self.diagnostics.push(missing.at(document.locate(&path)));
                }
            }
        }
        (traits.len() == uses.len()).then_some(traits)
    }

    /// Creates the releases of the components.
    fn release(&mut self, library: &mut ResourceLibrary, members: Vec<Arc<LibraryComponent>>) {
        let mut places: NamedResources<Arc<EnvironmentPlane>> = NamedResources::default();
        for place in &library.places {
            let Metadata { name, namespace, .. } = place.environment.clone();
            places.put(name, namespace, Arc::clone(place));
        }
        let mut by_component: HashMap<Text, Vec<Arc<SourcedResource<ReleaseBinding>>>> = HashMap::new();
        for binding in std::mem::take(&mut self.bindings) {
            let component = binding.found.owner.component.clone().unwrap_or_default();
            if self.names.components.find(&component, binding.found.metadata.namespace.as_deref()).is_none() {
                let message = format!("there is no Component `{component}`");
                let help = match self.names.components.nearest(&component) {
                    Some(near) => did_you_mean(near),
                    None => "add the Component to the files that are read".to_owned(),
                };
                let location = binding.document.locate(&key_path(&["spec", "owner", "componentName"]));
                self.diagnostics.push(MissingResource { message, help }.at(location));
            }
            by_component.entry(component).or_default().push(binding);
        }
        for member in members {
            let namespace = member.found.metadata.namespace.as_deref();
            let bindings = by_component.get(&member.found.metadata.name).map(Vec::as_slice);
            let fits = |binding: &&Arc<SourcedResource<ReleaseBinding>>| {
                is_namespace_visible(binding.found.metadata.namespace.as_deref(), namespace)
            };
            let bindings: Vec<_> = bindings.unwrap_or_default().iter().filter(fits).collect();
            if bindings.is_empty() {
                let there = |place: &&Arc<EnvironmentPlane>| {
                    is_namespace_visible(place.environment.namespace.as_deref(), namespace)
                };
                let there = library.places.iter().filter(there);
                library.releases.extend(there.map(|place| ComponentRelease::new(&member, place, None)));
                library.unbound.push(member);
                continue;
            }
            for binding in bindings {
                self.bound(library, &places, &member, binding);
            }
        }
    }

    /// Creates the release of a ReleaseBinding.
    fn bound(
        &mut self,
        library: &mut ResourceLibrary,
        places: &NamedResources<Arc<EnvironmentPlane>>,
        member: &Arc<LibraryComponent>,
        binding: &Arc<SourcedResource<ReleaseBinding>>,
    ) {
        self.configured(member, binding);
        if binding.document.value.at(&["spec", "state"]).and_then(Value::as_str) == Some(UNDEPLOY_STATE) {
            return;
        }
        let name = binding.found.environment.clone().unwrap_or_default();
        let namespace = binding.found.metadata.namespace.as_deref();
        if let Some(place) = places.find(&name, namespace) {
            library.releases.push(ComponentRelease::new(member, place, Some(binding)));
            return;
        }
        // An environment without its data plane was already reported.
        if self.names.environments.find(&name, namespace).is_none() {
            let message = format!("there is no Environment `{name}`");
            let help = match self.names.environments.nearest(&name) {
                Some(near) => did_you_mean(near),
                None => "add the Environment to the files that are read".to_owned(),
            };
            let location = binding.document.locate(&key_path(&["spec", "environment"]));
            self.diagnostics.push(MissingResource { message, help }.at(location));
        }
    }

    /// Warns of values for traits that the component does not have.
    fn configured(&mut self, member: &LibraryComponent, binding: &SourcedResource<ReleaseBinding>) {
        let own = || member.found.traits.iter().map(|used| used.instance.value.as_str());
        for (name, given) in &binding.found.trait_configs {
            if own().any(|known| known == name.as_str()) {
                continue;
            }
            let is_embedded = member.of.found().traits.iter().any(|used| used.instance.value == *name);
            let component = &member.found.metadata.name;
            let help = match kubewright_engine::nearest_word(name, own()) {
                _ if is_embedded => {
                    "it is built into the component type, which gives it its values".to_owned()
                }
                Some(near) => did_you_mean(near),
                None => String::new(),
            };
            let message = format!("the component `{component}` has no trait with the instance name `{name}`");
            let location = binding.document.locate_key(&given.path);
            self.diagnostics.push(Diagnostic::new(&code::UNKNOWN_INSTANCE, message, location).help(help));
        }
    }
}

fn document_namespace(document: &Document) -> Option<Text> {
    let namespace = document.value.at(&["metadata", "namespace"]).and_then(Value::as_str);
    namespace.filter(|namespace| !namespace.is_empty()).map(Text::new)
}

fn key_path(keys: &[&str]) -> Vec<Step> {
    keys.iter().map(|key| Step::from(*key)).collect()
}
