//! Traits and their resources: any document is read and its expressions and paths are checked, the same way every time.

use kubewright_dialects::traits;
use kubewright_value::{Source, yaml};

use super::Target;

pub(crate) const TARGET: Target = Target {
    name: "traits",
    run,
    seeds: &[
        "apiVersion: v1alpha1\nkind: Trait\nmetadata: {name: t}\nspec:\n  schema: {tier: 'string | default=a', ports: '[]Port', $types: {Port: {number: integer}}}\n  validations: [{rule: '${parameters.tier == \"a\"}', message: m}]\n  creates: [{includeWhen: '${true}', template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${metadata.name}'}}}]\n  patches:\n  - target: {group: apps, version: v1, kind: Deployment, where: '${resource.spec.replicas > 1}'}\n    forEach: ${parameters.ports}\n    var: port\n    operations: [{op: add, path: \"/spec/containers[?(@.name=='${metadata.name}')]/ports/-\", value: {containerPort: '${port.number}'}}]\n  removes: [{target: {group: '', version: v1, kind: Service}}]\n",
        "apiVersion: openchoreo.dev/v1alpha1\nkind: ComponentType\nmetadata: {name: t}\nspec:\n  workloadType: deployment\n  allowedTraits: [{kind: ClusterTrait, name: a}]\n  traits: [{name: a, instanceName: b, parameters: {x: '${parameters.y}'}}]\n  parameters: {openAPIV3Schema: {type: object, properties: {y: {type: string}}}}\n  resources: [{id: deployment, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: '${metadata.name}'}}}]\n  postRenderValidations: [{target: {group: apps, version: v1, kind: Deployment, mustMatch: false}, rule: '${resource.kind != \"\"}', message: m}]\n",
        "apiVersion: openchoreo.dev/v1alpha1\nkind: Workload\nmetadata: {name: w}\nspec:\n  owner: {projectName: p, componentName: c}\n  container: {image: a, env: [{key: A, value: b}], files: [{key: f, mountPath: /a, valueFrom: {secretKeyRef: {name: s, key: k}}}]}\n  endpoints: {http: {type: HTTP, port: 80, visibility: [external]}}\n  dependencies: {endpoints: [{component: d, name: e, visibility: project, envBindings: {host: H}}]}\n",
    ],
    words: &[
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

fn run(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let reading = yaml::read(&Source::new("input", text));
    let told =
        |document| -> Vec<String> { traits::check(document).iter().map(ToString::to_string).collect() };
    for document in &reading.documents {
        assert_eq!(told(document), told(document));
    }
    if let [first, second, ..] = reading.documents.as_slice() {
        let _ = traits::check_traits(first, second);
    }
}
