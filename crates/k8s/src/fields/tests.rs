use super::*;

/// Checks which step of `path` is unknown, and that the fields known there hold the one that is given.
#[track_caller]
fn finds(kind: &str, path: &str, want: Option<(usize, Option<&str>)>) {
    let steps: Vec<&str> = path.split('.').collect();
    let found = unknown_field_of_kind(kind, &steps);
    assert_eq!(found.as_ref().map(|unknown| unknown.at), want.map(|(at, _)| at), "{kind} {path}");
    if let (Some(unknown), Some((_, Some(field)))) = (found, want) {
        assert!(unknown.known.contains(&field), "{kind} {path}: {:?}", unknown.known);
    }
}

#[test]
fn a_field_that_does_not_exist_is_found_with_the_one_that_was_meant() {
    finds("Pod", "spec.contianers", Some((1, Some("containers"))));
    finds("Pod", "sepc.containers", Some((0, Some("spec"))));
    finds("Pod", "spec.containers.*.imagePullPolice", Some((3, Some("imagePullPolicy"))));
    finds("Pod", "spec.containers.0.securityContext.runAsNonroot", Some((4, Some("runAsNonRoot"))));
    finds("Pod", "spec.template.spec", Some((1, None)));
    finds("Deployment", "spec.replcias", Some((1, Some("replicas"))));
    finds("Deployment", "spec.containers", Some((1, None)));
    finds("CronJob", "spec.jobTemplate.spec.template.spec.hostNetwrok", Some((5, Some("hostNetwork"))));
    finds("Ingress", "spec.rules.*.hosts", Some((3, Some("host"))));
    finds("Pod", "metadata.label", Some((1, Some("labels"))));
}

#[test]
fn a_list_has_no_fields() {
    finds("Pod", "spec.containers.image", Some((2, None)));
    finds("Pod", "spec.containers.*.args.first", Some((4, None)));
}

#[test]
fn fields_that_exist_are_none_of_our_business() {
    finds("Pod", "spec.containers.*.resources.limits.memory", None);
    finds("Pod", "spec.ephemeralContainers.*.image", None);
    finds("Pod", "metadata.labels.whatever", None);
    finds("Pod", "metadata.annotations.a.b", None);
    finds("Service", "spec.ports.*.nodePort", None);
    finds("HorizontalPodAutoscaler", "spec.targetCPUUtilizationPercentage", None);
    finds("Deployment", "spec.template.spec.containers.*.ports.*.hostPort", None);
    finds("ClusterRole", "rules.*.verbs.*", None);
    finds("ControllerRevision", "data.anything.at.all", None);
    finds("Secret", "stringData.key", None);
    finds("Pod", "spec.*", None);
}

#[test]
fn unknown_kinds_have_any_field() {
    finds("Widget", "spec.contianers", None);
    finds("Container", "imag", None);
    assert!(is_known_kind("StatefulSet") && !is_known_kind("PodSpec") && !is_known_kind("Widget"));
}

#[test]
fn every_type_in_the_table_is_described() {
    for (kind, fields) in SCHEMA_TYPES.iter() {
        assert!(!fields.is_empty(), "{kind}");
        for field in fields {
            if let FieldValue::Object(name) = field.value {
                assert!(fields_of(name).is_some(), "{kind}.{} is of the unknown type `{name}`", field.name);
            }
        }
    }
}

#[test]
fn fields_have_types_and_say_what_every_object_has() {
    let field = |name: &str, field: &str| {
        let fields = fields_of(name).expect("a type");
        *fields.iter().find(|known| known.name == field).expect("a field")
    };
    let containers = field("PodSpec", "containers");
    assert!(containers.is_required);
    assert_eq!(containers.value, FieldValue::Object("Container"));
    assert_eq!(containers.collections().collect::<Vec<_>>(), [Collection::List]);
    let labels = field("ObjectMeta", "labels");
    assert_eq!(labels.value, FieldValue::Scalar(ScalarType::Word));
    assert_eq!(labels.collections().collect::<Vec<_>>(), [Collection::Map]);
    assert_eq!(field("ServicePort", "targetPort").value, FieldValue::Scalar(ScalarType::IntOrString));
}
