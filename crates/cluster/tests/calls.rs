//! Calls to a real API server.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use kubewright_cluster::{CallLimits, Client, Config, Discovery, Error, GroupVersionResource, PatchType};
use kubewright_controlplane::TestCluster;
use kubewright_value::{Value, json};

fn client(cluster: &TestCluster) -> Client {
    Client::new(Config::of_files(&[cluster.kubeconfig()], None).unwrap()).unwrap()
}

fn object(text: &str) -> Value {
    json::parse(text).unwrap()
}

/// Runs `test` with a namespace of its own.
fn with_namespace<F: Future<Output = ()>>(
    name: &'static str,
    test: impl FnOnce(&'static TestCluster, Client) -> F,
) {
    let Some(cluster) = TestCluster::shared() else { return };
    cluster.kubectl(&["create", "namespace", name], "").expect_success();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(test(cluster, client(cluster)));
}

fn config_map(name: &str, value: &str) -> Value {
    object(&format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"key":"{value}"}}}}"#
    ))
}

#[test]
fn an_object_lives_through_all_calls() {
    with_namespace("calls", async |_, client| {
        let maps = GroupVersionResource::new("", "v1", "configmaps");
        let (all, one) = (maps.within("calls"), maps.named("calls", "one"));
        let key = |value: &Value| value.at(&["data", "key"]).and_then(Value::as_str).map(str::to_owned);

        assert!(client.get(&one).await.unwrap_err().is_not_found());
        let created = client.create(&all, &config_map("one", "1")).await.unwrap();
        let error = client.create(&all, &config_map("one", "1")).await.unwrap_err();
        assert!(error.is_conflict() && error.is_already_there(), "{error}");
        assert_eq!(error.to_string(), r#"configmaps "one" already exists"#);

        let merge = object(r#"{"data":{"key":"2"}}"#);
        assert_eq!(key(&client.patch(&one, PatchType::Merge, &merge).await.unwrap()).as_deref(), Some("2"));
        let error = client.replace(&one, &created).await.unwrap_err();
        assert!(error.is_conflict() && !error.is_already_there(), "{error}");
        let steps = object(r#"[{"op":"replace","path":"/data/key","value":"3"}]"#);
        assert_eq!(key(&client.patch(&one, PatchType::Json, &steps).await.unwrap()).as_deref(), Some("3"));
        let apply = PatchType::Apply { manager: "test", force: true };
        assert_eq!(
            key(&client.patch(&one, apply, &config_map("one", "4")).await.unwrap()).as_deref(),
            Some("4")
        );
        let error = client.create(&all, &config_map("No Name", "1")).await.unwrap_err();
        assert!(error.is_invalid(), "{error}");

        client.delete(&one).await.unwrap();
        assert!(client.get(&one).await.unwrap_err().is_not_found());
    });
}

#[test]
fn a_list_is_read_page_by_page_and_its_items_say_what_they_are() {
    with_namespace("pages", async |_, client| {
        let maps = GroupVersionResource::new("", "v1", "configmaps");
        for number in 0..12 {
            client
                .create(&maps.within("pages"), &config_map(&format!("map-{number:02}"), &"x".repeat(5000)))
                .await
                .unwrap();
        }
        // Twelve do not fit into one answer, and neither do five.
        let small = client.limited(CallLimits { size: 20_000, ..CallLimits::default() });
        let mut selected = maps.within("pages");
        selected.query.push(("fieldSelector".into(), "metadata.name!=kube-root-ca.crt".into()));
        let list = small.list(&selected).await.unwrap();
        assert_eq!(list.items.len(), 12);
        assert!(list.items.iter().all(|item| item.get("kind").and_then(Value::as_str) == Some("ConfigMap")));
        assert!(list.items.iter().all(|item| item.get("apiVersion").and_then(Value::as_str) == Some("v1")));
        assert_eq!(list.items, client.list(&selected).await.unwrap().items);
    });
}

#[test]
fn an_answer_that_is_too_large_is_an_error_and_the_client_goes_on() {
    with_namespace("large", async |_, client| {
        let maps = GroupVersionResource::new("", "v1", "configmaps");
        client.create(&maps.within("large"), &config_map("one", &"x".repeat(50_000))).await.unwrap();
        let small = client.limited(CallLimits { size: 10_000, ..CallLimits::default() });
        let error = small.get(&maps.named("large", "one")).await.unwrap_err();
        assert_eq!(error, Error::TooLarge(10_000));
        assert_eq!(small.list(&maps.within("large")).await.unwrap_err(), Error::TooLarge(10_000));
        client.get(&maps.named("large", "one")).await.unwrap();
    });
}

#[test]
fn nothing_is_sent_that_could_be_read_in_two_ways() {
    with_namespace("parts", async |_, client| {
        let maps = GroupVersionResource::new("", "v1", "configmaps");
        for name in ["..", "a/b", "a?b=c", "a%2fb", "a b", "ü"] {
            let error = client.get(&maps.named("parts", name)).await.unwrap_err();
            assert!(matches!(&error, Error::Config(text) if text.contains(name)), "{error}");
        }
    });
}

#[test]
fn discovery_knows_kinds_scopes_parts_and_verbs() {
    with_namespace("found", async |cluster, client| {
        let discovery = Discovery::new(client);
        let all = discovery.resources().await.unwrap();
        let pods = all.of_kind("", "Pod").unwrap();
        assert_eq!((pods.resource.as_str(), pods.version.as_str(), pods.is_namespaced), ("pods", "v1", true));
        assert!(pods.can("watch") && !pods.can("impersonate"));
        let part = |name: &str| pods.subresources.iter().find(|part| part.name == name).unwrap();
        assert_eq!(
            (part("exec").kind.as_str(), part("binding").kind.as_str()),
            ("PodExecOptions", "Binding")
        );
        assert_eq!((part("eviction").group.as_str(), part("eviction").kind.as_str()), ("policy", "Eviction"));
        assert!(!all.of_resource("", "nodes").unwrap().is_namespaced);
        assert_eq!(all.of_kind("apps", "Deployment").unwrap().resource, "deployments");

        assert_eq!(discovery.of_kind("found.example.com", "Thing").await.unwrap(), None);
        cluster.kubectl(&["apply", "-f", "-"], THINGS).expect_success();
        let mut found = None;
        while found.is_none() {
            found = discovery.of_kind("found.example.com", "Thing").await.unwrap();
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        assert_eq!(found.unwrap().resource, "things");
    });
}

const THINGS: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.found.example.com}
spec:
  group: found.example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
";
