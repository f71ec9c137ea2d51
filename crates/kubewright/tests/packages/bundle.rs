//! The bundle for the Operator Lifecycle Manager, made from what `kubewright install` prints.
//!
//! OLM wants to own webhooks and their certificates. The server owns both itself, so the ClusterServiceVersion has no
//! `webhookdefinitions`; OLM installs Deployments, rights and definitions only.

use std::process::Command;

use kubewright_value::{Map, Value, yaml};

use super::{BINARY, VERSION, check_generated, documents, items, read_yaml, repository};

const NAMESPACE: &str = "kubewright-system";
/// What a bundle may have besides the ClusterServiceVersion and definitions, of what `install` prints.
const PLAIN_KINDS: [&str; 2] = ["Service", "PodDisruptionBudget"];

/// What `kubewright install` prints for the image of this version.
fn installed() -> Vec<Value> {
    let image = format!("ghcr.io/OWNER/kubewright:{VERSION}");
    let output = Command::new(BINARY).args(["install", "--image", &image]).output().expect("a run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    documents(&String::from_utf8(output.stdout).expect("text"))
}

fn named<'o>(objects: &'o [Value], kind: &'o str) -> impl Iterator<Item = &'o Value> {
    objects.iter().filter(move |object| object.str_at(&["kind"]) == kind)
}

fn name(object: &Value) -> &str {
    object.str_at(&["metadata", "name"])
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::object(Map::from(entries))
}

fn list(items: impl IntoIterator<Item = Value>) -> Value {
    Value::array(items.into_iter().collect())
}

/// The rights of a kind of role for each ServiceAccount that a binding gives them to.
fn permissions(objects: &[Value], role: &str) -> Value {
    let binding = format!("{role}Binding");
    let bindings = objects.iter().filter(|object| object.str_at(&["kind"]) == binding);
    let rows = bindings.filter_map(|binding| {
        let role = named(objects, role).find(|role| name(role) == binding.str_at(&["roleRef", "name"]))?;
        let rules = role.get("rules").cloned().unwrap_or_else(|| list([]));
        let account = items(binding, &["subjects"]).first()?.str_at(&["name"]);
        Some(map([("serviceAccountName", account.into()), ("rules", rules)]))
    });
    list(rows)
}

fn deployments(objects: &[Value]) -> Value {
    list(named(objects, "Deployment").map(|deployment| {
        let spec = deployment.get("spec").cloned().expect("a spec");
        let label = deployment.at(&["metadata", "labels"]).cloned().expect("labels");
        map([("name", name(deployment).into()), ("label", label), ("spec", spec)])
    }))
}

fn owned(objects: &[Value]) -> Value {
    let definitions = named(objects, "CustomResourceDefinition");
    list(definitions.flat_map(|definition| {
        items(definition, &["spec", "versions"])
            .iter()
            .map(|version| {
                let kind = definition.str_at(&["spec", "names", "kind"]);
                map([
                    ("name", name(definition).into()),
                    ("version", version.str_at(&["name"]).into()),
                    ("kind", kind.into()),
                    ("displayName", kind.into()),
                    ("description", format!("{kind} of {}", definition.str_at(&["spec", "group"])).into()),
                ])
            })
            .collect::<Vec<_>>()
    }))
}

fn cluster_service_version(objects: &[Value]) -> Value {
    let chart = read_yaml("charts/kubewright/Chart.yaml");
    let modes = ["OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces"];
    let modes =
        modes.map(|mode| map([("type", mode.into()), ("supported", (mode == "AllNamespaces").into())]));
    let install = map([
        ("strategy", "deployment".into()),
        (
            "spec",
            map([
                ("permissions", permissions(objects, "Role")),
                ("clusterPermissions", permissions(objects, "ClusterRole")),
                ("deployments", deployments(objects)),
            ]),
        ),
    ]);
    let image = format!("ghcr.io/OWNER/kubewright:{VERSION}");
    let annotations = map([
        ("capabilities", "Deep Insights".into()),
        ("categories", "Security".into()),
        ("containerImage", image.into()),
        ("description", chart.str_at(&["description"]).into()),
        ("repository", chart.str_at(&["home"]).into()),
        ("operatorframework.io/suggested-namespace", NAMESPACE.into()),
    ]);
    let description = "The admission webhook and the scanner of kubewright. It manages its certificates and webhook \
        configurations itself; OLM installs its Deployments, rights and definitions. ModRules of the whole cluster are \
        in the namespace kubemod-system, which has to exist.";
    map([
        ("apiVersion", "operators.coreos.com/v1alpha1".into()),
        ("kind", "ClusterServiceVersion".into()),
        (
            "metadata",
            map([
                ("name", format!("kubewright.v{VERSION}").into()),
                ("namespace", "placeholder".into()),
                ("annotations", annotations),
            ]),
        ),
        (
            "spec",
            map([
                ("displayName", "kubewright".into()),
                ("description", description.into()),
                ("version", VERSION.into()),
                ("maturity", "alpha".into()),
                ("minKubeVersion", "1.28.0".into()),
                ("keywords", chart.get("keywords").cloned().expect("keywords")),
                ("provider", map([("name", "kubewright".into()), ("url", chart.str_at(&["home"]).into())])),
                ("links", list([map([("name", "Source".into()), ("url", chart.str_at(&["home"]).into())])])),
                ("installModes", list(modes)),
                ("install", install),
                ("customresourcedefinitions", map([("owned", owned(objects))])),
            ]),
        ),
    ])
}

/// The files of the bundle by their names.
fn bundle() -> Vec<(String, String)> {
    let objects = installed();
    let head = "# Made from `kubewright install` by `make packages`.\n";
    let mut files =
        vec![("kubewright.clusterserviceversion.yaml".to_owned(), cluster_service_version(&objects))];
    for definition in named(&objects, "CustomResourceDefinition") {
        files.push((format!("{}.crd.yaml", name(definition)), definition.clone()));
    }
    for object in objects.iter().filter(|object| PLAIN_KINDS.contains(&object.str_at(&["kind"]))) {
        let mut object = object.clone();
        // OLM puts objects into the namespace of the operator.
        let metadata = object.as_object_mut().and_then(|object| object.get_mut("metadata"));
        metadata.and_then(Value::as_object_mut).expect("metadata").remove("namespace");
        let file = format!("{}.{}.yaml", name(&object), object.str_at(&["kind"]).to_lowercase());
        files.push((file, object));
    }
    files.into_iter().map(|(name, value)| (name, format!("{head}{}", yaml::write(&value)))).collect()
}

#[test]
fn the_bundle_has_what_install_prints() {
    let mut outdated = Vec::new();
    let files = bundle();
    for (name, text) in &files {
        check_generated(&repository("bundle/manifests").join(name), text, &mut outdated);
    }
    assert!(outdated.is_empty(), "run `make packages`: {outdated:?}");
    let there = std::fs::read_dir(repository("bundle/manifests")).expect("the bundle").count();
    assert_eq!(there, files.len(), "bundle/manifests has files that nothing makes");
}

#[test]
fn the_cluster_service_version_has_one_row_for_each_object() {
    let objects = installed();
    let version = cluster_service_version(&objects);
    let spec = ["spec", "install", "spec"];
    let count = |part: &str| items(&version, &[spec.as_slice(), &[part]].concat()).len();
    assert_eq!(count("deployments"), named(&objects, "Deployment").count());
    assert_eq!(count("permissions"), named(&objects, "RoleBinding").count());
    assert_eq!(count("clusterPermissions"), named(&objects, "ClusterRoleBinding").count());
    assert!(version.at(&["spec", "webhookdefinitions"]).is_none());
    let owned = items(&version, &["spec", "customresourcedefinitions", "owned"]);
    for definition in named(&objects, "CustomResourceDefinition") {
        assert!(
            owned.iter().any(|row| row.str_at(&["name"]) == name(definition)),
            "{} is not owned",
            name(definition)
        );
    }
}

#[test]
fn the_metadata_names_the_folders_and_channels() {
    let annotations = read_yaml("bundle/metadata/annotations.yaml");
    let value = |key: &str| {
        let key = format!("operators.operatorframework.io.bundle.{key}");
        annotations.str_at(&["annotations", &key]).to_owned()
    };
    let keys =
        ["mediatype.v1", "manifests.v1", "metadata.v1", "package.v1", "channels.v1", "channel.default.v1"];
    let found = keys.map(value);
    assert_eq!(found, ["registry+v1", "manifests/", "metadata/", "kubewright", "alpha", "alpha"]);
    let dockerfile = super::read("bundle/bundle.Dockerfile");
    for (key, value) in keys.iter().zip(&found) {
        assert!(
            dockerfile.contains(&format!("LABEL operators.operatorframework.io.bundle.{key}={value}\n")),
            "{key}"
        );
    }
}
