//! Traits and their resources: any document is read, checked and rendered, the same way every time.

use kubewright_traits::{
    self as traits, CompiledTrait, Instance, Manifest, RenderContext, RenderOptions, Rendering,
    ResourceLibrary,
};
use kubewright_value::{Document, Source, Value, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "traits",
    run: fuzz_traits,
    seeds: &[
        "apiVersion: openchoreo.dev/v1alpha1\nkind: Component\nmetadata: {name: web}\nspec:\n  owner: {projectName: shop}\n  componentType: {name: service}\n  traits: [{name: one, instanceName: a, parameters: {size: 2}}]\n---\napiVersion: openchoreo.dev/v1alpha1\nkind: Workload\nmetadata: {name: web}\nspec:\n  owner: {projectName: shop, componentName: web}\n  container: {image: web, env: [{key: A, value: b}], files: [{key: c, mountPath: /d, value: e}]}\n  endpoints: {http: {type: HTTP, port: 80, schema: {type: REST, content: 'openapi: 3.0.0'}}}\n---\napiVersion: openchoreo.dev/v1alpha1\nkind: ComponentType\nmetadata: {name: service}\nspec:\n  allowedTraits: [{name: one}]\n  resources:\n  - {id: deployment, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: '${metadata.name}'}, spec: {containers: [{name: main, image: '${workload.container.image}', envFrom: '${configurations.toContainerEnvFrom()}', ports: '${workload.toServicePorts()}'}]}}}\n---\napiVersion: openchoreo.dev/v1alpha1\nkind: Trait\nmetadata: {name: one}\nspec:\n  schema: {size: integer}\n  patches:\n  - target: {group: apps, version: v1, kind: Deployment}\n    operations: [{op: add, path: /spec/replicas, value: '${parameters.size}'}]\n---\napiVersion: openchoreo.dev/v1alpha1\nkind: Environment\nmetadata: {name: dev}\nspec: {dataPlaneRef: {name: here}}\n---\napiVersion: openchoreo.dev/v1alpha1\nkind: DataPlane\nmetadata: {name: here}\nspec: {secretStoreRef: {name: vault}}\n",
        "apiVersion: v1alpha1\nkind: Trait\nmetadata: {name: t}\nspec:\n  schema: {tier: 'string | default=a', ports: '[]Port', $types: {Port: {number: integer}}}\n  validations: [{rule: '${parameters.tier == \"a\"}', message: m}]\n  creates: [{includeWhen: '${true}', template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${metadata.name}'}}}]\n  patches:\n  - target: {group: apps, version: v1, kind: Deployment, where: '${resource.spec.replicas > 1}'}\n    forEach: ${parameters.ports}\n    var: port\n    operations: [{op: add, path: \"/spec/containers[?(@.name=='${metadata.name}')]/ports/-\", value: {containerPort: '${port.number}'}}]\n  removes: [{target: {group: '', version: v1, kind: Service}}]\n",
        "apiVersion: openchoreo.dev/v1alpha1\nkind: ComponentType\nmetadata: {name: t}\nspec:\n  workloadType: deployment\n  allowedTraits: [{kind: ClusterTrait, name: a}]\n  traits: [{name: a, instanceName: b, parameters: {x: '${parameters.y}'}}]\n  parameters: {openAPIV3Schema: {type: object, properties: {y: {type: string}}}}\n  resources: [{id: deployment, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: '${metadata.name}'}}}]\n  postRenderValidations: [{target: {group: apps, version: v1, kind: Deployment, mustMatch: false}, rule: '${resource.kind != \"\"}', message: m}]\n",
        "apiVersion: openchoreo.dev/v1alpha1\nkind: Workload\nmetadata: {name: w}\nspec:\n  owner: {projectName: p, componentName: c}\n  container: {image: a, env: [{key: A, value: b}], files: [{key: f, mountPath: /a, valueFrom: {secretKeyRef: {name: s, key: k}}}]}\n  endpoints: {http: {type: HTTP, port: 80, visibility: [external]}}\n  dependencies: {endpoints: [{component: d, name: e, visibility: project, envBindings: {host: H}}]}\n",
    ],
    dictionaries: &[FuzzDictionary::Yaml, FuzzDictionary::Cel, FuzzDictionary::JsonPatch],
    words: &[
        "---\n",
        "schema: {type: REST, content: \"openapi: 3.0.0\\npaths: {/a: {get: {}}}\"}",
        "schema: {type: GRPC, content: \"package a; service B { rpc C(D) returns (E); }\"}",
        "${",
        "}",
        "parameters.",
        "resource.",
        "metadata.",
        "forEach: ",
        "var: ",
        "where: ",
        "op: ",
        "path: ",
        "value: ",
        "[*]",
        "[?(@.a=='b')]",
        "/-",
        "~1",
        "kind: Component\n",
        "kind: ReleaseBinding\n",
        "kind: Environment\n",
        "kind: DataPlane\n",
        "kind: SecretReference\n",
        "openAPIV3Schema: ",
        "\n  ",
        "\n- ",
        ": ",
        "{",
        "[",
        "'",
        "\"",
        "|-\n",
    ],
};

fn fuzz_traits(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let reading = yaml::read(&Source::new("input", text));
    let told = |document| -> Vec<String> {
        traits::check_trait_document(document).iter().map(ToString::to_string).collect()
    };
    for document in &reading.documents {
        assert_eq!(told(document), told(document));
        render_twice(document, BASE);
    }
    if let [first, second, ..] = reading.documents.as_slice() {
        let _ = traits::check_component_traits(first, second);
    }
    components(&reading.documents);
}

/// Renders a trait over manifests, twice with the same result; what fails leaves what was given.
pub(super) fn render_twice(document: &Document, manifests: &str) {
    let (Some(of), _) = CompiledTrait::compile(document, &[]) else { return };
    let nothing = || Document::made(Value::Null, Source::new("none", ""));
    let instance = Instance { of, name: "one".into(), parameters: nothing(), environment_configs: nothing() };
    let base = yaml::read(&Source::new("base", manifests)).documents;
    let rendered = || {
        let base =
            base.iter().enumerate().map(|(number, document)| Manifest::given(number, document.value.clone()));
        let metadata = yaml::parse("{name: a, namespace: b, labels: {}}").unwrap_or_default();
        let context = RenderContext::new().with("metadata", metadata);
        let options = RenderOptions { trace: true, ..RenderOptions::default() };
        traits::render_traits(base.collect(), std::slice::from_ref(&instance), &context, &options)
    };
    let (first, second) = (rendered(), rendered());
    let shown = |rendering: &Rendering| -> Vec<String> {
        let manifests = rendering.manifests.iter().map(|manifest| manifest.object.to_string());
        manifests.chain(rendering.diagnostics.iter().map(ToString::to_string)).collect()
    };
    assert_eq!(shown(&first), shown(&second));
    for manifest in &first.manifests {
        // The writer of a place must be one of the instances.
        for (_, writer) in manifest.writers().places() {
            assert!(first.writer(*writer).is_some());
        }
    }
}

/// Renders all components that there are.
fn components(documents: &[Document]) {
    let (library, _) = ResourceLibrary::read(documents, &[]);
    for release in library.releases() {
        let _ = library.render(release, &RenderContext::new(), &RenderOptions::default());
    }
}

const BASE: &str = "
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {replicas: 2, containers: [{name: a, image: b, ports: [{containerPort: 1}]}, {name: c}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80}]}}
";
