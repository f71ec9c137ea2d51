use kubewright_value::{Document, Source, Value, json, yaml};

use super::super::{RenderContext, RenderOptions};
use super::{ComponentRelease, ResourceLibrary};

/// A component `shop` of the type `service` in the environments `dev` and `prod`.
const FILES: &str = r#"
apiVersion: openchoreo.dev/v1alpha1
kind: ComponentType
metadata: {name: service}
spec:
  workloadType: deployment
  parameters:
    openAPIV3Schema:
      type: object
      properties: {port: {type: integer, default: 80}, bad: {type: boolean, default: false}}
  environmentConfigs:
    openAPIV3Schema: {type: object, properties: {replicas: {type: integer, default: 1}}}
  preRenderValidations:
    - {rule: "${!parameters.bad}", message: it is bad}
  postRenderValidations:
    - target: {group: apps, version: v1, kind: Deployment}
      rule: ${resource.spec.replicas < 9}
      message: too many
  traits:
    - {name: label, instanceName: built-in, parameters: {key: first, value: "${metadata.componentName}"}}
  allowedTraits:
    - {name: label}
    - {kind: ClusterTrait, name: label}
  resources:
    - id: deployment
      template:
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: "${metadata.name}", namespace: "${metadata.namespace}"}
        spec:
          replicas: ${environmentConfigs.replicas}
          template:
            spec:
              containers: [{name: main, image: "${workload.container.image}", envFrom: "${configurations.toContainerEnvFrom()}"}]
    - id: service
      template:
        apiVersion: v1
        kind: Service
        metadata: {name: "${metadata.componentName}"}
        spec: {ports: "${workload.toServicePorts()}"}
---
apiVersion: openchoreo.dev/v1alpha1
kind: Trait
metadata: {name: label}
spec:
  parameters:
    openAPIV3Schema:
      type: object
      required: [key, value]
      properties: {key: {type: string}, value: {type: string}}
  environmentConfigs:
    openAPIV3Schema: {type: object, properties: {suffix: {type: string, default: ""}}}
  patches:
    - target: {group: apps, version: v1, kind: Deployment}
      operations:
        - {op: add, path: "/metadata/annotations/${parameters.key}", value: "${parameters.value}${environmentConfigs.suffix}"}
        - {op: add, path: /metadata/annotations/last, value: "${trait.instanceName}"}
---
apiVersion: openchoreo.dev/v1alpha1
kind: Component
metadata: {name: shop}
spec:
  owner: {projectName: store}
  componentType: {name: service}
  parameters: {port: 8080}
  traits:
    - {name: label, instanceName: own, parameters: {key: second, value: b}}
---
apiVersion: openchoreo.dev/v1alpha1
kind: Workload
metadata: {name: shop}
spec:
  owner: {projectName: store, componentName: shop}
  container: {image: shop:1, env: [{key: LEVEL, value: debug}]}
  endpoints: {http: {type: HTTP, port: 8080}}
---
apiVersion: openchoreo.dev/v1alpha1
kind: Environment
metadata: {name: dev}
spec: {dataPlaneRef: {kind: DataPlane, name: main}}
---
apiVersion: openchoreo.dev/v1alpha1
kind: Environment
metadata: {name: prod}
spec: {dataPlaneRef: {kind: DataPlane, name: main}}
---
apiVersion: openchoreo.dev/v1alpha1
kind: DataPlane
metadata: {name: main}
spec: {}
"#;

const BINDING: &str = r"
---
apiVersion: openchoreo.dev/v1alpha1
kind: ReleaseBinding
metadata: {name: shop-prod}
spec:
  owner: {projectName: store, componentName: shop}
  environment: prod
  componentTypeEnvironmentConfigs: {replicas: 3}
  traitEnvironmentConfigs: {own: {suffix: '!'}}
";

fn documents(text: &str) -> Vec<Document> {
    yaml::read(&Source::new("files.yaml", text)).documents
}

/// Reads `text`, and returns the diagnostics as `CODE message; help`.
fn read(text: &str) -> (ResourceLibrary, Vec<String>) {
    let (library, diagnostics) = ResourceLibrary::read(&documents(text), &[]);
    (
        library,
        diagnostics.into_iter().map(|one| format!("{} {}; {}", one.code.id, one.message, one.help)).collect(),
    )
}

#[track_caller]
fn check_diagnostics(text: &str, want: &[&str]) {
    assert_eq!(read(text).1, want);
}

/// Reads the files with `old` replaced.
#[track_caller]
fn check_changed(old: &str, new: &str, want: &[&str]) {
    assert!(FILES.contains(old), "{old}");
    check_diagnostics(&FILES.replacen(old, new, 1), want);
}

fn names(releases: &[ComponentRelease]) -> Vec<String> {
    releases.iter().map(|release| format!("{} in {}", release.component(), release.environment())).collect()
}

/// Renders the first release of `text`; the manifest of `kind`, or the diagnostics.
fn rendered(text: &str, kind: &str) -> Result<Value, Vec<String>> {
    let (library, told) = read(text);
    assert_eq!(told, [""; 0]);
    let release = library.releases().first().expect("a release");
    let rendering = library.render(release, &RenderContext::new(), &RenderOptions::default());
    if rendering.has_failed() {
        return Err(rendering
            .diagnostics
            .iter()
            .filter(|one| one.is_error())
            .map(|one| format!("{} {}", one.code.id, one.message))
            .collect());
    }
    let found = rendering.manifests.into_iter().map(|manifest| manifest.object);
    Ok(found.into_iter().find(|object| object.get("kind") == Some(&kind.into())).expect("the kind"))
}

#[track_caller]
fn check_part(text: &str, kind: &str, keys: &[&str], want: &str) {
    let object = rendered(text, kind).expect("it is rendered");
    let want = &documents(want).first().expect("a document").value.clone();
    assert_eq!(object.at(keys).map(json::to_string), Some(json::to_string(want)));
}

mod reading {
    use super::*;

    #[test]
    fn without_bindings_a_component_is_released_to_every_environment() {
        assert_eq!(names(read(FILES).0.releases()), ["shop in dev", "shop in prod"]);
    }

    #[test]
    fn bindings_alone_release_a_component_that_has_some() {
        assert_eq!(names(read(&format!("{FILES}{BINDING}")).0.releases()), ["shop in prod"]);
    }

    #[test]
    fn undeployed_component_has_no_release() {
        let text = format!("{FILES}{BINDING}  state: Undeploy\n");
        assert_eq!(names(read(&text).0.releases()), [""; 0]);
    }

    #[test]
    fn the_caller_may_name_one_of_the_environments() {
        let (found, told) = read(FILES).0.releases_in("prod");
        assert_eq!((names(&found), told.len()), (vec!["shop in prod".to_owned()], 0));
        let (found, told) = read(FILES).0.releases_in("prd");
        assert_eq!(
            (names(&found).len(), told.first().map(|one| one.help.as_str())),
            (0, Some("did you mean `prod`?"))
        );
    }

    #[test]
    fn without_environments_the_caller_may_name_an_undescribed_one() {
        let text = FILES.replace("kind: Environment", "kind: Nothing");
        let (library, told) = read(&text);
        assert_eq!((library.releases().len(), told.len(), library.unreleased().len()), (0, 0, 1));
        assert_eq!(names(&library.releases_in("any").0), ["shop in any"]);
    }

    #[test]
    fn missing_reference_suggests_the_nearest_name() {
        check_changed(
            "componentType: {name: service}",
            "componentType: {name: servise}",
            &["KW-R050 there is no ComponentType `servise`; did you mean `service`?"],
        );
        check_changed(
            "- {name: label, instanceName: built-in",
            "- {name: lable, instanceName: built-in",
            &["KW-R050 there is no Trait `lable`; did you mean `label`?"],
        );
        check_changed(
            "spec: {dataPlaneRef: {kind: DataPlane, name: main}}",
            "spec: {}",
            &["KW-R059 there is no DataPlane `default`; add the DataPlane to the files that are read"],
        );
        check_diagnostics(
            &format!("{FILES}{}", BINDING.replace("environment: prod", "environment: prd")),
            &["KW-R050 there is no Environment `prd`; did you mean `prod`?"],
        );
        check_diagnostics(
            &format!("{FILES}{}", BINDING.replace("componentName: shop", "componentName: shob")),
            &["KW-R050 there is no Component `shob`; did you mean `shop`?"],
        );
        check_changed(
            "owner: {projectName: store, componentName: shop}",
            "owner: {projectName: store, componentName: ship}",
            &["KW-R050 the component `shop` has no Workload; there is one of the component `ship`"],
        );
    }

    #[test]
    fn a_trait_of_the_other_kind_is_pointed_at() {
        check_changed(
            "- {name: label, instanceName: own",
            "- {kind: ClusterTrait, name: label, instanceName: own",
            &["KW-R050 there is no ClusterTrait `label`; there is a Trait of this name; write `kind: Trait`"],
        );
    }

    #[test]
    fn a_type_for_the_cluster_means_traits_for_the_cluster() {
        let text = FILES
            .replace("kind: ComponentType", "kind: ClusterComponentType")
            .replace("kind: Trait\n", "kind: ClusterTrait\n")
            .replace("componentType: {name", "componentType: {kind: ClusterComponentType, name")
            .replace(
                "- {name: label, instanceName: own",
                "- {kind: ClusterTrait, name: label, instanceName: own",
            );
        check_diagnostics(&text, &[]);
    }

    #[test]
    fn a_binding_may_have_its_newer_name() {
        let text =
            format!("{FILES}{}", BINDING.replace("kind: ReleaseBinding", "kind: ComponentReleaseBinding"));
        assert_eq!(names(read(&text).0.releases()), ["shop in prod"]);
    }

    #[test]
    fn a_trait_that_the_type_does_not_allow_keeps_the_component_out() {
        let text = FILES.replace("    - {name: label}\n", "");
        let (library, told) = read(&text);
        assert_eq!((library.releases().len(), told.len()), (0, 1));
        assert!(told.iter().all(|one| one.starts_with("KW-R012")), "{told:?}");
    }

    #[test]
    fn duplicate_resource_is_reported() {
        check_diagnostics(
            &format!("{FILES}---{FILES}"),
            &[
                "KW-R053 the ComponentType `service` is there twice; ",
                "KW-R053 the Trait `label` is there twice; ",
                "KW-R053 the Component `shop` is there twice; ",
                "KW-R053 the component `shop` has two Workloads; ",
                "KW-R053 the Environment `dev` is there twice; ",
                "KW-R053 the Environment `prod` is there twice; ",
                "KW-R053 the DataPlane `main` is there twice; ",
            ],
        );
    }

    #[test]
    fn values_for_an_unknown_instance_are_reported() {
        let own =
            "KW-R056 the component `shop` has no trait with the instance name `owm`; did you mean `own`?";
        check_diagnostics(&format!("{FILES}{}", BINDING.replace("own:", "owm:")), &[own]);
        let built_in = "KW-R056 the component `shop` has no trait with the instance name `built-in`; it is built into the component type, which gives it its values";
        check_diagnostics(&format!("{FILES}{}", BINDING.replace("own:", "built-in:")), &[built_in]);
    }

    #[test]
    fn a_namespace_that_a_file_leaves_out_fits_all() {
        let text = FILES.replacen("metadata: {name: shop}", "metadata: {name: shop, namespace: a}", 1);
        assert_eq!(names(read(&text).0.releases()), ["shop in dev", "shop in prod"]);
        let text = text.replace("metadata: {name: dev}", "metadata: {name: dev, namespace: b}");
        assert_eq!(names(read(&text).0.releases()), ["shop in prod"]);
    }
}

mod rendering {
    use super::*;

    #[test]
    fn manifests_are_sorted_and_labelled() {
        let library = read(FILES).0;
        let rendering =
            library.render(&library.releases()[0], &RenderContext::new(), &RenderOptions::default());
        let labels: Vec<String> =
            rendering.manifests.iter().map(super::super::super::Manifest::label).collect();
        assert_eq!(labels, ["Deployment `shop-dev-e9e1a2f6`", "Service `shop`"]);
        for manifest in &rendering.manifests {
            let label = manifest.object.at(&["metadata", "labels", "openchoreo.dev/project"]);
            assert_eq!(label, Some(&"store".into()));
        }
    }

    #[test]
    fn built_in_traits_come_before_those_of_the_component() {
        check_part(FILES, "Deployment", &["metadata", "annotations"], "{first: shop, last: own, second: b}");
    }

    #[test]
    fn release_binding_overrides_values_of_its_environment() {
        let text = format!("{FILES}{BINDING}");
        check_part(&text, "Deployment", &["spec", "replicas"], "3");
        check_part(&text, "Deployment", &["metadata", "annotations", "second"], "b!");
    }

    #[test]
    fn a_binding_overrides_variables_of_the_workload() {
        let over = "  workloadOverrides: {container: {env: [{key: LEVEL, valueFrom: {secretKeyRef: {name: s, key: k}}}]}}\n";
        let secret = "---\napiVersion: openchoreo.dev/v1alpha1\nkind: SecretReference\nmetadata: {name: s}\nspec: {data: [{secretKey: k, remoteRef: {key: r}}]}\n";
        let text = format!("{FILES}{BINDING}{over}{secret}");
        let object = rendered(&text, "Deployment").expect("it is rendered");
        let env = object
            .at(&["spec", "template", "spec", "containers"])
            .and_then(|list| list.item(0)?.get("envFrom"));
        let names: Vec<&str> = env
            .and_then(Value::as_array)
            .expect("a list")
            .iter()
            .flat_map(|one| one.as_object().expect("an object").keys().map(|key| key.as_str()))
            .collect();
        assert_eq!(names, ["secretRef"]);
        let missing = rendered(&format!("{FILES}{BINDING}{over}"), "Deployment");
        assert_eq!(missing.unwrap_err(), ["KW-R051 there is no SecretReference `s`"]);
    }

    #[test]
    fn pods_change_when_something_beside_them_does() {
        let hash = |text: &str| {
            let object = rendered(text, "Deployment").expect("it is rendered");
            let annotations = object.at(&["spec", "template", "metadata", "annotations"]).cloned();
            annotations
                .and_then(|found| found.get("openchoreo.dev/dp-resource-hash").cloned())
                .expect("a hash")
        };
        let other_port = FILES.replace("{type: HTTP, port: 8080}", "{type: HTTP, port: 8081}");
        assert_ne!(hash(FILES), hash(&other_port));
        let other_label = FILES.replace("{key: second, value: b}", "{key: second, value: c}");
        assert_eq!(hash(FILES), hash(&other_label));
    }

    #[test]
    fn a_workload_alone_has_no_hash() {
        let text = FILES.replace("        kind: Service\n", "        kind: Deployment\n");
        let alone = text.split("    - id: service").next().expect("a part").to_owned()
            + "---\n"
            + FILES.split_once("---\n").expect("parts").1;
        let object = rendered(&alone, "Deployment").expect("it is rendered");
        assert_eq!(object.at(&["spec", "template", "metadata"]), None);
    }

    #[test]
    fn rules_before_and_after_fail_the_rendering() {
        let bad = FILES.replace("parameters: {port: 8080}", "parameters: {bad: true}");
        assert_eq!(rendered(&bad, "Service").unwrap_err(), ["KW-R033 it is bad"]);
        let many = format!("{FILES}{}", BINDING.replace("replicas: 3", "replicas: 10"));
        let told = rendered(&many, "Service").unwrap_err();
        assert_eq!(told.len(), 1);
        assert!(told[0].ends_with(": too many"), "{told:?}");
    }

    #[test]
    fn parameter_violation_is_reported_at_its_place() {
        let text = FILES.replace("parameters: {port: 8080}", "parameters: {port: high}");
        let library = read(&text).0;
        let rendering =
            library.render(&library.releases()[0], &RenderContext::new(), &RenderOptions::default());
        let found = rendering.diagnostics.first().expect("a diagnostic");
        assert_eq!((found.code.id, found.location.text().as_deref()), ("KW-R036", Some("high")));
    }

    #[test]
    fn violation_in_a_trait_binding_is_reported_at_its_place() {
        let text = FILES.replace("value: \"${metadata.componentName}\"}}", "value: 3}}");
        let library = read(&text).0;
        let rendering =
            library.render(&library.releases()[0], &RenderContext::new(), &RenderOptions::default());
        let found = rendering.diagnostics.first().expect("a diagnostic");
        assert_eq!((found.code.id, found.location.text().as_deref()), ("KW-R036", Some("3")));
    }

    #[test]
    fn given_values_replace_computed_ones() {
        let library = read(FILES).0;
        let metadata = documents("{name: mine}").first().expect("a document").value.clone();
        let given = RenderContext::new().with("metadata", metadata).with("mine", true.into());
        let (context, told) = library.context(&library.releases()[0], &given);
        let metadata = context.get("metadata").expect("metadata");
        assert_eq!(metadata.get("name"), Some(&"mine".into()));
        assert_eq!(metadata.get("componentName"), Some(&"shop".into()));
        assert_eq!(context.get("mine"), Some(&true.into()));
        assert!(told.is_empty(), "{told:?}");
    }

    #[test]
    fn dependencies_are_listed_and_their_missing_values_reported() {
        let text = FILES.replace(
            "  endpoints: {http:",
            "  dependencies: {endpoints: [{component: db, name: tcp, envBindings: {host: DB_HOST}}]}\n  endpoints: {http:",
        );
        let library = read(&text).0;
        let (context, told) = library.context(&library.releases()[0], &RenderContext::new());
        let told: Vec<&str> = told.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(told, ["what the endpoint `tcp` of `db` gives is not known: `DB_HOST` is left out"]);
        let items = context.get("dependencies").and_then(|found| found.get("items")).expect("items");
        let project = items.item(0).and_then(|item| item.get("project"));
        assert_eq!(project, Some(&"store".into()));
    }

    #[test]
    fn the_order_of_files_does_not_matter() {
        let reversed: Vec<&str> = FILES.split("---").collect::<Vec<_>>().into_iter().rev().collect();
        let in_dev = |text: &str| {
            let library = read(text).0;
            let release = library.releases_in("dev").0.into_iter().next().expect("a release");
            let rendering = library.render(&release, &RenderContext::new(), &RenderOptions::default());
            rendering.manifests.into_iter().map(|manifest| manifest.object).collect::<Vec<_>>()
        };
        assert_eq!(in_dev(FILES), in_dev(&reversed.join("---")));
    }
}
