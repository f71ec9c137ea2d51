use kubewright_value::{Document, Source, Value, json, yaml};

use super::super::source::Metadata;
use super::{
    ComponentIdentity, configurations_of_document, derive_variables, documents,
    endpoint_resources_of_document, metadata_variable, planes_of_documents,
};

fn document(text: &str) -> Document {
    let source = Source::new("case.yaml", text);
    let read = yaml::read(&source).documents.into_iter().next();
    // A document that is null is none.
    read.unwrap_or_else(|| Document::made(Value::Null, source))
}

fn resource(kind: &str, spec: &str) -> Document {
    document(&format!(
        "{{apiVersion: openchoreo.dev/v1alpha1, kind: {kind}, metadata: {{name: one}}, spec: {spec}}}"
    ))
}

fn value(text: &str) -> Value {
    document(text).value
}

#[track_caller]
fn check(found: &Value, want: &str) {
    assert_eq!(json::to_string(found), json::to_string(&value(want)));
}

mod gateways {
    use super::*;

    /// Merges the gateway of an environment over that of a data plane.
    #[track_caller]
    fn check_gateway(environment: &str, data_plane: &str, want: &str) {
        let environment = resource("Environment", &format!("{{gateway: {environment}}}"));
        let data_plane = resource("DataPlane", &format!("{{gateway: {data_plane}}}"));
        let (_, merged) = planes_of_documents(&data_plane, &environment, None).expect("both are read");
        check(merged.get("gateway").unwrap_or(&Value::Null), want);
    }

    #[test]
    fn an_endpoint_of_the_environment_replaces_that_of_the_plane_whole() {
        check_gateway(
            "{ingress: {external: {name: env}}}",
            "{ingress: {external: {name: plane, http: {port: 80}}, internal: {name: inner}}}",
            "{ingress: {external: {name: env}, internal: {name: inner}}}",
        );
    }

    #[test]
    fn ingress_and_egress_are_merged_apart() {
        check_gateway(
            "{egress: {internal: {name: out}}}",
            "{ingress: {external: {name: in}}}",
            "{ingress: {external: {name: in}}, egress: {internal: {name: out}}}",
        );
    }

    #[test]
    fn no_gateway_is_no_key() {
        check_gateway("{}", "{ingress: {}}", "null");
    }

    #[test]
    fn empty_text_and_port_zero_are_absent() {
        check_gateway(
            "{}",
            "{ingress: {external: {name: '', http: {port: 0, host: h}}}}",
            "{ingress: {external: {http: {host: h}}}}",
        );
    }
}

mod names {
    use super::*;

    fn named(name: &str, uid: Option<&str>) -> Metadata {
        Metadata { name: name.into(), uid: uid.map(Into::into), ..Metadata::default() }
    }

    fn computed(component: &Metadata) -> Value {
        let (environment, data_plane) = (named("dev", None), named("plane", None));
        let named = ComponentIdentity {
            component,
            project: None,
            environment: &environment,
            data_plane: &data_plane,
        };
        metadata_variable(&named)
    }

    #[test]
    fn a_name_has_component_and_environment_and_the_namespace_both_and_the_project() {
        let found = computed(&named("shop", None));
        check(found.get("name").expect("a name"), "shop-dev-e9e1a2f6");
        let namespace = found.get("namespace").and_then(Value::as_str).expect("a namespace");
        assert!(namespace.starts_with("dp-default-default-dev-"), "{namespace}");
    }

    #[test]
    fn a_uid_that_is_there_is_kept() {
        let found = computed(&named("shop", Some("u-1")));
        check(found.at(&["podSelectors", "openchoreo.dev/component-uid"]).expect("a label"), "u-1");
    }

    #[test]
    fn a_uid_that_is_missing_is_made_and_differs_between_components() {
        let uid = |name: &str| computed(&named(name, None)).get("componentUID").cloned();
        assert_eq!(uid("a"), uid("a"));
        assert_ne!(uid("a"), uid("b"));
        assert_eq!(uid("a").and_then(|uid| uid.as_str().map(str::len)), Some(36));
    }

    #[test]
    fn computed_metadata_lack_nothing() {
        assert_eq!(super::super::missing_metadata(&computed(&named("shop", None))), [""; 0]);
    }

    #[test]
    fn selectors_that_select_everything_are_missing() {
        let mut given = computed(&named("shop", None));
        given.as_object_mut().expect("an object").insert("podSelectors".into(), value("{}"));
        assert_eq!(super::super::missing_metadata(&given), ["podSelectors"]);
    }
}

mod settings {
    use super::*;

    const SECRET: &str = "{data: [{secretKey: password, remoteRef: {key: db}}]}";

    /// Returns the messages about a variable that takes `key` of the secret `name`.
    #[track_caller]
    fn messages(name: &str, key: &str) -> Vec<String> {
        let variable = format!("{{key: A, valueFrom: {{secretKeyRef: {{name: {name}, key: {key}}}}}}}");
        let workload = resource("Workload", &format!("{{container: {{image: i, env: [{variable}]}}}}"));
        let (found, diagnostics) =
            configurations_of_document(Some(&workload), &[resource("SecretReference", SECRET)]);
        let count = found.at(&["secrets", "envs"]).and_then(Value::as_array).map_or(0, <[Value]>::len);
        assert_eq!(count + diagnostics.len(), 1);
        diagnostics.into_iter().map(|one| format!("{}; {}", one.message, one.help)).collect()
    }

    #[test]
    fn existing_secret_gives_no_diagnostic() {
        assert_eq!(messages("one", "password"), [""; 0]);
    }

    #[test]
    fn missing_secret_suggests_the_nearest_name() {
        assert_eq!(messages("ones", "password"), ["there is no SecretReference `ones`; did you mean `one`?"]);
    }

    #[test]
    fn missing_secret_key_lists_the_existing_keys() {
        assert_eq!(
            messages("one", "pass"),
            ["the SecretReference `one` has no key `pass`; it has `password`"]
        );
    }
}

mod ports {
    use super::*;

    /// Returns the names of the ports for endpoints, each with a port of its own.
    #[track_caller]
    fn check_names(endpoints: &[&str], want: &[&str]) {
        let endpoint = |(at, name): (usize, &&str)| format!("'{name}': {{type: HTTP, port: {}}}", 80 + at);
        let endpoints: Vec<String> = endpoints.iter().enumerate().map(endpoint).collect();
        let workload = value(&format!("{{endpoints: {{{}}}}}", endpoints.join(", ")));
        let found = derive_variables(&workload, &Value::Null, &Value::Null, &Value::Null);
        let ports = found.get("servicePorts").and_then(Value::as_array).expect("ports");
        let names: Vec<&str> = ports.iter().filter_map(|port| port.get("name")?.as_str()).collect();
        assert_eq!(names, want);
    }

    #[test]
    fn names_that_become_equal_are_numbered() {
        check_names(&["a_b", "a-b", "A-b"], &["a-b", "a-b-2", "a-b-3"]);
    }

    #[test]
    fn a_number_takes_the_place_of_the_last_letters() {
        check_names(&["abcdefghijklmnopq", "abcdefghijklmnop"], &["abcdefghijklmno", "abcdefghijklm-2"]);
    }

    #[test]
    fn a_name_without_letters_is_that_of_the_port() {
        check_names(&["é"], &["port-80"]);
    }
}

mod sections {
    use super::*;

    const SCHEMA: &str =
        "{parameters: {openAPIV3Schema: {type: object, properties: {size: {type: integer, default: 1}}}}}";

    /// Gives `parameters` to a trait with `spec`, and returns the variables and the codes of the diagnostics.
    fn given(spec: &str, parameters: &str) -> (Value, Vec<&'static str>) {
        let (found, _, diagnostics) = documents::parameters_of_document(
            &resource("Trait", spec),
            &document(parameters),
            &document("null"),
        );
        (found, diagnostics.into_iter().map(|one| one.code.id).collect())
    }

    #[test]
    fn missing_parameter_has_its_default() {
        assert_eq!(given(SCHEMA, "null"), (value("{size: 1}"), vec![]));
    }

    #[test]
    fn parameter_that_violates_its_schema_is_an_error() {
        assert_eq!(given(SCHEMA, "{size: x}"), (value("{size: x}"), vec!["KW-R036"]));
        assert_eq!(given(SCHEMA, "[]").1, ["KW-R036"]);
    }

    #[test]
    fn undeclared_parameter_is_kept_with_a_warning() {
        assert_eq!(given(SCHEMA, "{sise: 2}"), (value("{sise: 2, size: 1}"), vec!["KW-R039"]));
    }

    #[test]
    fn without_a_schema_values_are_left_out_with_a_warning() {
        assert_eq!(given("{}", "{size: 2}"), (value("{}"), vec!["KW-R055"]));
        assert_eq!(given("{}", "{}"), (value("{}"), vec![]));
    }
}

mod descriptions {
    use super::*;

    /// Reads `content`, the description of an endpoint of the type `kind`.
    #[track_caller]
    fn check_offers(kind: &str, content: &str, want: &str) {
        let content = json::to_string(&Value::from(content));
        let endpoint = format!("{{type: {kind}, port: 80, schema: {{content: {content}}}}}");
        let workload = resource("Workload", &format!("{{endpoints: {{e: {endpoint}}}}}"));
        let (found, diagnostics) = endpoint_resources_of_document(&workload);
        match diagnostics.first() {
            Some(one) => assert_eq!(one.message.split_once(": ").expect("a reason").1, want),
            None => check(found.get("e").unwrap_or(&Value::Null), want),
        }
    }

    #[test]
    fn openapi_lists_methods_by_path() {
        check_offers(
            "HTTP",
            "openapi: 3.0.0\npaths:\n  /b: {post: {}, get: {}, parameters: []}\n  /a: {get: {}}\n",
            "[{kind: HTTP, method: GET, path: /a}, {kind: HTTP, method: GET, path: /b}, {kind: HTTP, method: POST, path: /b}]",
        );
    }

    #[test]
    fn openapi_in_json_is_read() {
        check_offers(
            "REST",
            r#"{"swagger": "2.0", "paths": {"/a": {"get": {}}}}"#,
            "[{kind: HTTP, method: GET, path: /a}]",
        );
    }

    #[test]
    fn a_path_may_refer_to_another_and_not_to_itself() {
        check_offers(
            "HTTP",
            "openapi: 3.1.0\npaths: {/a: {$ref: '#/components/pathItems/x'}, /l: {$ref: '#/paths/~1l'}}\ncomponents: {pathItems: {x: {put: {}}}}",
            "[{kind: HTTP, method: PUT, path: /a}]",
        );
    }

    #[test]
    fn no_paths_are_no_operations() {
        check_offers("HTTP", "openapi: 3.0.0", "null");
    }

    #[test]
    fn description_that_is_not_openapi_is_an_error() {
        check_offers(
            "HTTP",
            "a: b",
            "it is not an OpenAPI document: neither `openapi` nor `swagger` is there",
        );
    }

    #[test]
    fn methods_are_listed_with_package_and_service() {
        check_offers(
            "gRPC",
            "syntax = \"proto3\"; package a.b;\nservice S { rpc Two (M) returns (stream M); rpc One (stream .x.M) returns (M) {} }\nmessage M { string s = 1; }",
            "[{kind: gRPC, service: a.b.S, method: One}, {kind: gRPC, service: a.b.S, method: Two}]",
        );
    }

    #[test]
    fn comments_options_and_texts_do_not_confuse() {
        check_offers(
            "gRPC",
            "// service X {\n/* rpc { */ import public \"a}.proto\";\noption (o) = { a: \"}\" };\nservice S { option d = true; rpc R (stream) returns (M) { option (g) = { get: '/a' }; }; }",
            "[{kind: gRPC, service: S, method: R}]",
        );
    }

    #[test]
    fn invalid_protobuf_is_reported_with_its_line() {
        check_offers(
            "gRPC",
            "not a proto",
            "found `not` in line 1, expected a definition, such as `service` or `message`",
        );
        check_offers("gRPC", "service S {\n rpc R M;", "found `M` in line 2, expected `(`");
        check_offers("gRPC", "service S {", "the text ends too early");
        check_offers("gRPC", "/* a", "the comment in line 1 has no end");
        check_offers("gRPC", "import \"a\n\";", "the text in line 1 has no end");
    }

    #[test]
    fn unknown_description_type_is_reported_or_ignored() {
        check_offers("GraphQL", "type Query", "descriptions of GraphQL are not read here");
        check_offers("TCP", "anything", "null");
    }

    #[test]
    fn every_prefix_of_a_description_is_read_or_reported() {
        let text = "syntax = \"proto3\"; /* é */ package a;\nservice S { rpc R (stream M) returns (M) { option (g) = { get: 'x\\'' }; } } // end";
        for (end, _) in text.char_indices() {
            let content = json::to_string(&Value::from(text.get(..end).expect("a boundary")));
            for kind in ["gRPC", "HTTP"] {
                let endpoint = format!("{{type: {kind}, port: 80, schema: {{content: {content}}}}}");
                let workload = resource("Workload", &format!("{{endpoints: {{e: {endpoint}}}}}"));
                let (found, diagnostics) = endpoint_resources_of_document(&workload);
                assert!(diagnostics.len() <= 1 && found.as_object().is_some_and(|map| map.len() <= 1));
            }
        }
    }
}
