use kubewright_value::json;

use super::*;
use crate::{ClosedWorld, ImageLookup, ServiceCall};

/// What a policy in the namespace `a` is told; every query has an answer in the world.
struct Everything;

impl World for Everything {
    fn get(&self, _: &Query) -> QueryAnswer {
        QueryAnswer::Found("seen".into())
    }
}

#[track_caller]
fn sees(query: &Query) {
    let home = Text::new("a");
    assert_eq!(
        WorldView::new(&Everything, Some(&home)).get(query),
        QueryAnswer::Found("seen".into()),
        "{query}"
    );
}

#[track_caller]
fn is_refused(query: &Query, want: &str) {
    let home = Text::new("a");
    let answer = WorldView::new(&Everything, Some(&home)).get(query);
    assert!(matches!(&answer, QueryAnswer::Refused(why) if why.contains(want)), "{query}: {answer:?}");
    let everywhere = WorldView::new(&Everything, None).get(query);
    assert_eq!(everywhere, QueryAnswer::Found("seen".into()), "{query}, asked by a policy of the cluster");
}

fn object(group: &str, kind: &str, namespace: &str, name: &str) -> Query {
    Query::Object(ObjectName {
        group: group.into(),
        kind: kind.into(),
        namespace: namespace.into(),
        name: name.into(),
    })
}

fn get(url: &str) -> Query {
    Query::Api(ApiCall::resource("GET", url, Text::default()))
}

fn review(spec: &str) -> Query {
    let url = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    Query::Api(ApiCall::resource("POST", url, format!(r#"{{"spec":{spec}}}"#).into()))
}

#[test]
fn a_policy_sees_the_objects_of_its_own_namespace() {
    sees(&object("", "ConfigMap", "a", "x"));
    sees(&object("example.com", "Widget", "a", "x"));
    sees(&object("", "Namespace", "", "a"));
    sees(&get("/api/v1/namespaces/a/configmaps/x"));
    sees(&get("/apis/example.com/v1/namespaces/a/widgets?labelSelector=x=y"));
    sees(&Query::Image(ImageLookup::of("nginx")));
}

#[test]
fn it_sees_no_other_namespace_and_nothing_that_is_in_none() {
    is_refused(&object("", "ConfigMap", "b", "x"), "namespace b is different from the policy namespace a");
    is_refused(&object("", "Secret", "b", "x"), "namespace b is different");
    is_refused(&object("", "Node", "", "x"), "Node `x` is in no namespace");
    // A name in a namespace does not make it an object of the namespace.
    is_refused(&object("", "Node", "a", "x"), "Node `x` is in no namespace");
    is_refused(&object("", "Namespace", "", "b"), "Namespace `b` is in no namespace");
    is_refused(&object("other.example.com", "Namespace", "", "a"), "is in no namespace");
    is_refused(&object("example.com", "Widget", "", "x"), "is in no namespace");
    is_refused(&get("/api/v1/namespaces/b/configmaps/x"), "refers to namespace b");
    is_refused(&get("/api/v1/configmaps"), "does not contain a namespace segment");
    is_refused(&get("/api/v1/nodes/x"), "does not contain a namespace segment");
    is_refused(&get("/api/v1/namespaces/a/nodes"), "nodes are in no namespace");
    is_refused(&get("/api/v1/namespaces/a/../b/pods"), "the part `..`, which is not a name");
    is_refused(&get("/version"), "does not contain a namespace segment");
}

#[test]
fn it_calls_no_service_and_reads_nothing_that_the_cluster_shares() {
    let call = ApiCall::service("GET", "http://x.b.svc", Text::default(), ServiceCall::default());
    is_refused(&Query::Api(call.clone()), "`GET http://x.b.svc` calls a service");
    is_refused(&Query::Http(call), "`GET http://x.b.svc` calls a service");
    is_refused(
        &Query::Shared("entry".into()),
        "the global context entry `entry` belongs to the whole cluster",
    );
}

#[test]
fn it_asks_who_may_do_what_in_its_own_namespace() {
    sees(&review(r#"{"user":"u","resourceAttributes":{"namespace":"a","verb":"get"}}"#));
    let refused = "does not contain a namespace segment";
    is_refused(&review(r#"{"user":"u","resourceAttributes":{"namespace":"b","verb":"get"}}"#), refused);
    is_refused(&review(r#"{"user":"u","resourceAttributes":{"verb":"get"}}"#), refused);
    is_refused(&review(r#"{"user":"u","nonResourceAttributes":{"path":"/"}}"#), refused);
    let both = r#"{"resourceAttributes":{"namespace":"a"},"nonResourceAttributes":{"path":"/"}}"#;
    is_refused(&review(both), refused);
}

#[test]
fn the_namespace_of_the_request_is_no_lookup_of_the_rule() {
    let namespace = json::parse(r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"b"}}"#);
    let world = ClosedWorld::new(namespace);
    let home = Text::new("a");
    let view = WorldView::new(&world, Some(&home));
    assert!(matches!(view.namespace_of_request("b"), QueryAnswer::Found(_)));
}
