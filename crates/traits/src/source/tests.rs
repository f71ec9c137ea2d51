//! The reader of documents and its diagnostics.

use kubewright_value::{Document, Source, yaml};

use super::{OpenChoreoResource, PathOp, Plane, TraitDefinition, read_openchoreo_document};

fn document(text: &str) -> Document {
    let reading = yaml::read(&Source::new("t.yaml", text));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    reading.documents.into_iter().next().unwrap()
}

/// Returns a document of `kind` with the lines of `spec` under its spec.
fn with_spec(kind: &str, spec: &str) -> Document {
    let lines: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    document(&format!(
        "apiVersion: openchoreo.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n{lines}"
    ))
}

/// Compares the diagnostics about a `kind`, as `code line:column message`; the spec starts in line 5, column 3.
#[track_caller]
fn check(kind: &str, spec: &str, want: &[&str]) {
    let found: Vec<String> = read_openchoreo_document(&with_spec(kind, spec))
        .1
        .iter()
        .map(|found| format!("{} {} {}", found.code.id, found.location.position, found.message))
        .collect();
    assert_eq!(found, want, "{spec}");
}

#[track_caller]
fn a_trait(spec: &str) -> TraitDefinition {
    let (resource, diagnostics) = read_openchoreo_document(&with_spec("Trait", spec));
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    match resource {
        Some(OpenChoreoResource::Trait(found)) => found,
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_spellings_of_the_version_are_read() {
    for version in ["v1alpha1", "openchoreo.dev/v1alpha1"] {
        let text =
            format!("apiVersion: {version}\nkind: ClusterTrait\nmetadata: {{name: web}}\nspec: {{}}\n");
        let (resource, diagnostics) = read_openchoreo_document(&document(&text));
        assert!(matches!(resource, Some(OpenChoreoResource::Trait(found)) if found.is_cluster), "{version}");
        assert!(diagnostics.is_empty(), "{version}: {diagnostics:?}");
    }
    assert!(!super::is_openchoreo_document(&document("apiVersion: example.com/v1\nkind: Trait\n")));
}

#[test]
fn a_patch_has_its_target_loop_and_operations() {
    let found = a_trait(
        "patches:\n- target: {group: '', version: v1, kind: Service, name: '${metadata.name}', where: '${true}'}\n  targetPlane: observabilityplane\n  forEach: ${parameters.ports}\n  var: port\n  operations:\n  - {op: add, path: /spec/ports/-, value: null}\n  - {op: REMOVE, path: /spec/x}",
    );
    let [patch] = found.patches.as_slice() else { panic!("one patch") };
    assert_eq!(patch.plane, Plane::Observability);
    assert_eq!(patch.target.group.as_deref(), Some(""));
    assert_eq!(patch.target.name.as_ref().map(|name| name.value.as_str()), Some("${metadata.name}"));
    assert_eq!(patch.each.as_ref().map(|each| each.variable.as_str()), Some("port"));
    let [add, remove] = patch.operations.as_slice() else { panic!("two operations") };
    assert!(add.op == PathOp::Add && add.value.as_ref().is_some_and(|value| value.value.is_null()));
    assert!(remove.op == PathOp::Remove && remove.value.is_none());
}

#[test]
fn an_empty_condition_is_none() {
    let found = a_trait(
        "patches:\n- target: {group: apps, version: v1, kind: Deployment, where: ''}\n  operations: [{op: remove, path: /a}]",
    );
    assert!(found.patches.iter().all(|patch| patch.target.condition.is_none()));
}

#[test]
fn a_target_that_leaves_something_out_is_warned_of() {
    check(
        "Trait",
        "removes:\n- target: {kind: Service}",
        &["KW-R024 6:5 the target has no `group` and no `version`, so any fits"],
    );
}

#[test]
fn mistakes_in_operations_have_their_place() {
    check(
        "Trait",
        "patches:\n- target: {group: apps, version: v1, kind: Deployment}\n  operations:\n  - {op: set, path: /a, value: b}\n  - {op: add, path: /a}\n  - {op: remove, path: /a, value: b}\n  - {op: add, pth: /a, value: b}",
        &[
            "KW-R004 8:12 unknown operation `set`",
            "KW-R003 9:7 field `value` is missing",
            "KW-R026 10:30 `remove` reads no `value`",
            "KW-R001 11:17 unknown field `pth`",
            "KW-R003 11:7 field `path` is missing",
        ],
    );
}

#[test]
fn loops_are_checked() {
    check(
        "Trait",
        "creates:\n- {forEach: '${a}', template: '${b}'}\n- {forEach: '${a}', var: a-b, template: '${b}'}\n- {var: c, template: '${b}'}\n- {includeWhen: yes please, template: '${b}'}",
        &[
            "KW-R025 6:6 `forEach` without `var`: the variable is `item`",
            "KW-R006 7:28 `a-b` is not a valid variable name",
            "KW-R026 8:6 `var` without `forEach` names nothing",
            "KW-R007 9:19 `includeWhen` must be wrapped in `${…}`",
        ],
    );
}

#[test]
fn the_shorthand_is_pointed_into() {
    check(
        "Trait",
        "schema:\n  tier: \"string | enum=small,large defualt=small\"",
        &["KW-R005 6:38 unknown constraint marker `defualt`"],
    );
    check("Trait", "schema:\n  tier: strng | default=a", &["KW-R005 6:11 unknown type `strng`"]);
}

#[test]
fn json_schema_mistake_is_reported_at_its_place() {
    check(
        "ClusterTrait",
        "parameters:\n  openAPIV3Schema:\n    type: object\n    properties:\n      a: {type: strin}\n      b: {$ref: '#/$defs/B'}",
        &[
            "KW-R005 10:19 $ref `#/$defs/B` not found: there is no `$defs`",
            "KW-R005 9:19 unknown type `strin`",
        ],
    );
}

#[test]
fn rules_under_both_names_are_read_and_reported() {
    let spec =
        "validations: [{rule: '${true}', message: a}]\npreRenderValidations: [{rule: 'true', message: b}]";
    check(
        "Trait",
        spec,
        &[
            "KW-R008 5:3 `validations` and `preRenderValidations` are both set, and they are the same field",
            "KW-R007 6:34 `rule` must be wrapped in `${…}`",
        ],
    );
}

#[test]
fn a_trait_that_makes_or_drops_workloads_is_warned_of() {
    check(
        "Trait",
        "creates: [{template: {apiVersion: batch/v1, kind: Job, metadata: {name: a}}}]\nremoves: [{target: {group: apps, version: v1, kind: Deployment}}, {target: {group: x.io, version: v1, kind: Job}}]",
        &[
            "KW-R027 5:47 a trait creates a `Job`, which the cluster does not let it",
            "KW-R027 6:14 a trait removes the `Deployment`, which the cluster does not let it",
        ],
    );
}

#[test]
fn the_resources_of_a_component_type_fit_its_workload_type() {
    check(
        "ComponentType",
        "workloadType: deployment\nresources:\n- id: a\n  template: {apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, namespace: x}}",
        &[
            "KW-R028 8:76 the namespace is `x`, expected `${metadata.namespace}`",
            "KW-R010 8:37 `StatefulSet` is a workload and the workload type is `deployment`; there is only one",
            "KW-R010 6:3 no resource has the kind of the workload type `deployment`",
        ],
    );
}

#[test]
fn older_names_are_read_with_a_warning() {
    let spec = "environment: dev\ncomponentTypeEnvOverrides: {a: 1}\ntraitOverrides: {t: {b: 2}}";
    check(
        "ReleaseBinding",
        spec,
        &[
            "KW-R023 6:3 `componentTypeEnvOverrides` is called `componentTypeEnvironmentConfigs` now",
            "KW-R023 7:3 `traitOverrides` is called `traitEnvironmentConfigs` now",
        ],
    );
    let (Some(OpenChoreoResource::ReleaseBinding(found)), _) =
        read_openchoreo_document(&with_spec("ReleaseBinding", spec))
    else {
        panic!("a release binding")
    };
    assert!(found.component_type_configs.is_some());
    assert_eq!(found.trait_configs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["t"]);
}

#[test]
fn a_workload_has_variables_files_and_endpoints() {
    let spec = "owner: {projectName: p, componentName: c}\ncontainer:\n  image: nginx\n  env: [{key: A, value: '1'}, {key: B, valueFrom: {secretKeyRef: {name: s, key: k}}}]\n  files: [{key: f, mountPath: /etc, value: x}]\nendpoints: {http: {type: HTTP, port: 80, visibility: [external]}, bad: {type: http}}";
    check(
        "Workload",
        spec,
        &["KW-R004 10:81 unknown endpoint type `http`", "KW-R003 10:69 field `port` is missing"],
    );
    let (Some(OpenChoreoResource::Workload(found)), _) =
        read_openchoreo_document(&with_spec("Workload", spec))
    else {
        panic!("a workload")
    };
    assert_eq!(found.env.len(), 2);
    assert!(found.env.iter().any(|variable| variable.secret.as_ref().is_some_and(|(_, key)| key == "k")));
    assert!(found.files.iter().all(|file| file.mount_path.as_deref() == Some("/etc")));
    assert_eq!(found.endpoints.iter().map(|endpoint| endpoint.port).collect::<Vec<_>>(), [80]);
}

#[test]
fn newer_fields_of_other_resources_are_only_warned_of() {
    check("Environment", "dataPlaneRef: {name: d}\ncolour: red", &["KW-R021 6:3 unknown field `colour`"]);
}

#[test]
fn a_component_names_its_type_in_three_ways() {
    for (written, is_cluster) in [
        ("{kind: ClusterComponentType, name: deployment/web}", true),
        ("{name: web}", false),
        ("deployment/web", false),
    ] {
        let document = with_spec("Component", &format!("componentType: {written}"));
        let (Some(OpenChoreoResource::Component(found)), _) = read_openchoreo_document(&document) else {
            panic!("a component")
        };
        let (found_cluster, name) = found.component_type.unwrap();
        assert_eq!((found_cluster, name.value.as_str()), (is_cluster, "web"), "{written}");
    }
}

#[test]
fn traits_are_allowed_by_kind_and_name_and_instances_are_unique() {
    let kind = with_spec(
        "ComponentType",
        "allowedTraits: [{kind: Trait, name: a}]\ntraits: [{name: b, instanceName: data}]",
    );
    let component = with_spec(
        "Component",
        "traits: [{name: a, instanceName: data}, {kind: ClusterTrait, name: a, instanceName: x}]",
    );
    let found: Vec<String> = crate::check_component_traits(&kind, &component)
        .iter()
        .map(|found| format!("{} {}", found.code.id, found.message))
        .collect();
    assert_eq!(
        found,
        [
            "KW-R011 the instance name `data` is taken by Trait `b` of the component type",
            "KW-R012 the component type `web` does not allow ClusterTrait `a`",
        ]
    );
}

#[test]
fn every_code_has_a_page_that_starts_with_it() {
    for code in crate::diagnostics::CODES {
        assert!(code.page().starts_with(&format!("# {}: {}\n", code.id, code.title)), "{}", code.id);
    }
}

#[test]
fn a_target_without_a_kind_is_refused() {
    let message = "the target has no `kind`, so it would match everything";
    check("Trait", "removes: [{target: {group: apps, version: v1}}]", &[&format!("KW-R003 5:14 {message}")]);
    check(
        "Trait",
        "patches: [{target: {group: apps, version: v1, kind: ''}, operations: [{op: remove, path: /a}]}]",
        &[&format!("KW-R003 5:14 {message}")],
    );
    check(
        "Trait",
        "postRenderValidations: [{target: {name: web}, rule: '${true}', message: m}]",
        &[
            &format!("KW-R003 5:28 {message}"),
            "KW-R024 5:28 the target has no `group` and no `version`, so any fits",
        ],
    );
}

#[test]
fn a_template_that_can_never_be_a_manifest_is_refused() {
    check(
        "Trait",
        "creates: [{template: text}, {template: []}, {template: '${{}}'}, {template: {}}]",
        &[
            "KW-R009 5:14 the template is a string, expected an object",
            "KW-R009 5:32 the template is an array, expected an object",
        ],
    );
}

#[test]
fn an_operation_that_is_unknown_is_named_as_it_is_written() {
    let patch = "patches:\n- target: {group: '', version: v1, kind: A}\n  operations: [{op: mergeShallow, path: /a, value: {}}]";
    check("Trait", patch, &["KW-R004 7:23 unknown operation `mergeShallow`"]);
}
