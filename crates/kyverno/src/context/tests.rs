use kubewright_engine::{ClosedWorld, DecisionCache, OpenWorld, Query as Asked, Tracer, World};
use kubewright_value::json;

use super::super::source::{ContextEntry, ContextSource, Service};
use super::super::template::{VariableProblem, VariableTemplate};
use super::*;
use crate::template::tests::functions;
use kubewright_dialect_kit::fields::Located;
use kubewright_k8s::PodTemplatePath;

fn parsed(text: &str) -> Value {
    json::parse(text).unwrap_or_else(|error| panic!("{text}: {}", error.message))
}

fn placed<T>(value: T) -> Located<T> {
    Located { value, path: Vec::new() }
}

/// Returns the entry that is written as it is in a policy, but in JSON.
pub(in super::super) fn entry(value: &Value) -> ContextEntry {
    let text =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(|text| placed(Text::new(text)));
    let any = |value: &Value, key: &str| value.get(key).cloned().map(placed);
    let name = text(value, "name").expect("a name");
    let from = if let Some(variable) = value.get("variable") {
        ContextSource::Variable {
            value: any(variable, "value"),
            jmes_path: text(variable, "jmesPath"),
            default: any(variable, "default"),
        }
    } else if let Some(map) = value.get("configMap") {
        ContextSource::ConfigMap {
            name: text(map, "name").expect("a name"),
            namespace: text(map, "namespace"),
        }
    } else if let Some(call) = value.get("apiCall") {
        ContextSource::ApiCall {
            url_path: text(call, "urlPath"),
            service: call.get("service").and_then(|service| {
                Some(Service { url: text(service, "url")?, headers: Vec::new(), ca_bundle: Text::default() })
            }),
            method: text(call, "method").map(|method| method.value).unwrap_or_default(),
            data: call
                .get("data")
                .and_then(Value::as_array)
                .unwrap_or_default()
                .iter()
                .map(|item| (text(item, "key").expect("a key").value, any(item, "value").expect("a value")))
                .collect(),
            jmes_path: text(call, "jmesPath"),
            default: any(call, "default"),
        }
    } else if let Some(image) = value.get("imageRegistry") {
        ContextSource::ImageRegistry {
            credentials: Default::default(),
            reference: text(image, "reference").expect("a reference"),
            jmes_path: text(image, "jmesPath"),
        }
    } else {
        let shared = value.get("globalReference").expect("a source");
        ContextSource::GlobalReference {
            name: text(shared, "name").expect("a name"),
            jmes_path: text(shared, "jmesPath"),
        }
    };
    ContextEntry { name, path: Vec::new(), from }
}

/// Returns the compiled entries of a list in JSON; they live as long as the test.
pub(in super::super) fn entries(list: &Value) -> &'static [CompiledContextEntry] {
    let compile = |value| {
        let (entry, problems) = CompiledContextEntry::compile(&entry(value), &functions());
        assert!(
            problems.is_empty(),
            "{:?}",
            problems.iter().map(|p: &VariableProblem| &p.message).collect::<Vec<_>>()
        );
        entry
    };
    list.as_array().expect("a list").iter().map(compile).collect::<Vec<_>>().leak()
}

/// A world that gives values to every rule.
struct Giving<W>(W, Vec<(Text, Value)>);

impl<W: World> World for Giving<W> {
    fn get(&self, query: &Asked) -> kubewright_engine::QueryAnswer {
        self.0.get(query)
    }

    fn overrides(&self, _rule: &RuleId, _request: &AdmissionRequest) -> Vec<(Text, Value)> {
        self.1.clone()
    }
}

/// The input of a test.
struct Setting {
    request: AdmissionRequest,
    world: Box<dyn World>,
    home: Option<Text>,
}

fn widget() -> Setting {
    let object = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x0","namespace":"ns1"},"spec":{"a":{"k":1},"l":["p","q"]}}"#;
    let objects = [
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm","namespace":"ns1"},"data":{"k":"*"}}"#,
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"cm","namespace":"ns2"}}"#,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod","namespace":"ns1"}}"#,
    ];
    let mut world = ClosedWorld::new(objects.map(parsed));
    world.answer(Asked::Shared("g".into()), parsed(r#"{"p":["*"]}"#));
    world.answer(
        Asked::Image(kubewright_engine::ImageLookup::of("nginx")),
        parsed(r#"{"registry":"index.docker.io"}"#),
    );
    Setting {
        request: AdmissionRequest::for_object(parsed(object), Operation::Create, "default"),
        world: Box::new(world),
        home: None,
    }
}

impl Setting {
    fn giving(self, values: &[(&str, &str)]) -> Self {
        let values = values.iter().map(|(path, value)| (Text::new(path), parsed(value))).collect();
        Self { world: Box::new(Giving(ClosedWorld::default(), values)), ..self }
    }

    fn run<T>(&self, test: impl FnOnce(&mut VariableContext<'_>) -> T) -> T {
        let (mut budget, mut tracer, memory) = (Budget::default(), Tracer::off(), DecisionCache::default());
        let view = WorldView::new(&*self.world, self.home.as_ref());
        let mut evaluation = Evaluation::new(&self.request, view, &mut budget, &mut tracer, &memory);
        let rule = RuleId { dialect: "kyverno", policy: "p".into(), rule: "r".into() };
        test(&mut VariableContext::new(&mut evaluation, &self.request.object, &rule))
    }

    /// Resolves `text` where `declared` are the context entries, and shows whose the value is.
    fn finds(&self, declared: &str, text: &str) -> String {
        let entries = entries(&parsed(declared));
        self.run(|context| {
            context.declare(entries);
            shown(text, context)
        })
    }
}

fn shown(text: &str, context: &mut VariableContext<'_>) -> String {
    let (template, _) = VariableTemplate::parse(&Value::from(text), &functions());
    match template.resolve(context) {
        Ok(Tainted::Trusted(value)) => value.to_string(),
        Ok(mixed) => format!("foreign {}", mixed.plain()),
        Err(Unresolved::Missing(error)) => format!("missing: {}", error.message),
        Err(Unresolved::Error(error)) => format!("error: {}", error.message),
    }
}

#[track_caller]
fn check(declared: &str, text: &str, want: &str) {
    assert_eq!(widget().finds(declared, text), want, "{declared} {text}");
}

#[test]
fn entries_are_made_from_the_rule() {
    check(
        r#"[{"name":"v","variable":{"value":"{{ request.object.spec.a }}"}}]"#,
        "{{ v }}",
        r#"foreign {"k":1}"#,
    );
    check(r#"[{"name":"v","variable":{"value":"*"}}]"#, "{{ v }}", r#""*""#);
    check(r#"[{"name":"v","variable":{"value":{"a":{"b":2}},"jmesPath":"a.b"}}]"#, "{{ v }}", "2");
    check(
        r#"[{"name":"v","variable":{"value":{"a":1},"jmesPath":"zz","default":"dd"}}]"#,
        "{{ v }}",
        r#""dd""#,
    );
    check(
        r#"[{"name":"v","variable":{"jmesPath":"request.object.spec.zz","default":"dd"}}]"#,
        "{{ v }}",
        r#""dd""#,
    );
    check(r#"[{"name":"v","variable":{"jmesPath":"request.object.spec.a.k"}}]"#, "{{ v }}", "foreign 1");
    check(
        r#"[{"name":"v","variable":{"jmesPath":"request.object.spec.{{ 'a' }}"}}]"#,
        "{{ v }}",
        r#"foreign {"k":1}"#,
    );
}

#[test]
fn an_entry_sees_what_was_declared_before_it() {
    let missing = r#"missing: failed to resolve w at path : failed to substitute variables in context entry w {{ v }}-w: failed to resolve v at path : JMESPath query failed: Unknown key "v" in path"#;
    check(
        r#"[{"name":"w","variable":{"value":"{{ v }}-w"}},{"name":"v","variable":{"value":"vv"}}]"#,
        "{{ w }}",
        missing,
    );
    check(
        r#"[{"name":"v","variable":{"value":"1"}},{"name":"v","variable":{"value":"{{ v }}2"}}]"#,
        "{{ v }}",
        r#""12""#,
    );
    check(
        r#"[{"name":"bad","variable":{"jmesPath":"nope"}},{"name":"v","variable":{"value":"ok"}}]"#,
        "{{ v }}",
        r#""ok""#,
    );
}

#[test]
fn what_cannot_be_made_says_why() {
    check(
        r#"[{"name":"v","variable":{"jmesPath":"request.object.spec.missing"}}]"#,
        "{{ v }}",
        r#"missing: failed to resolve v at path : failed to apply jmespath request.object.spec.missing to variable <nil>: JMESPath query failed: Unknown key "missing" in path"#,
    );
    check(
        r#"[{"name":"v","variable":{"value":{"a":1},"jmesPath":"zz"}}]"#,
        "{{ v }}",
        r#"missing: failed to resolve v at path : failed to apply jmespath zz to variable <nil>: Unknown key "zz" in path"#,
    );
    check(
        r#"[{"name":"v","variable":{"jmesPath":"`null`"}}]"#,
        "{{ v }}",
        "error: failed to resolve v at path : failed to add context entry for variable v since it evaluated to nil",
    );
    check(
        r#"[{"name":"v.a","variable":{"value":"x"}}]"#,
        "{{ v.a }}",
        r#"missing: failed to resolve v.a at path : JMESPath query failed: Unknown key "v" in path"#,
    );
}

#[test]
fn config_maps_calls_images_and_shared_entries_are_looked_up() {
    check(r#"[{"name":"c","configMap":{"name":"cm","namespace":"ns1"}}]"#, "{{ c.data.k }}", r#""*""#);
    check(
        r#"[{"name":"c","configMap":{"name":"cm","namespace":"{{ request.namespace }}"}}]"#,
        "{{ c.metadata.name }}",
        r#""cm""#,
    );
    check(
        r#"[{"name":"c","configMap":{"name":"nope"}}]"#,
        "{{ c.data.k }}",
        r#"error: failed to resolve c.data.k at path : failed to retrieve config map for context entry c: failed to get configmap default/nope : configmaps "nope" not found"#,
    );
    check(
        r#"[{"name":"n","apiCall":{"urlPath":"/api/v1/namespaces/{{ request.namespace }}/pods","jmesPath":"items[].metadata.name | length(@)"}}]"#,
        "{{ n }}",
        "foreign 1",
    );
    check(
        r#"[{"name":"n","apiCall":{"urlPath":"/api/v1/namespaces/x/pods/y","jmesPath":"a","default":{"a":7}}}]"#,
        "{{ n.a }}",
        "7",
    );
    check(r#"[{"name":"g","globalReference":{"name":"g.p","jmesPath":"[0]"}}]"#, "{{ g }}", r#""*""#);
    check(
        r#"[{"name":"i","imageRegistry":{"reference":"nginx","jmesPath":"registry"}}]"#,
        "{{ i }}",
        r#"foreign "index.docker.io""#,
    );
}

#[test]
fn parts_of_an_entry_that_are_the_authors_stay_so() {
    let declared = r#"[{"name":"v","variable":{"value":{"a":"*","b":"{{ request.name || request.namespace }}","l":["*","{{ request.namespace }}"]}}}]"#;
    check(declared, "{{ v.a }}", r#""*""#);
    check(declared, "{{ v.b }}", r#"foreign "ns1""#);
    check(declared, "{{ v.l[0] }}", r#"foreign "*""#);
    let list = widget().run(|context| {
        context.declare(entries(&parsed(declared)));
        let query = VariableQuery::parse("v.l", &functions()).0;
        context.find(&query).unwrap().items().unwrap().iter().map(|item| item.is_foreign).collect::<Vec<_>>()
    });
    assert_eq!(list, [false, true]);
}

#[test]
fn unanswered_query_error_names_the_query_and_its_mock() {
    let setting = Setting { world: Box::new(OpenWorld::default()), ..widget() };
    let declared = parsed(
        r#"[{"name":"c","configMap":{"name":"cm","namespace":"ns1"}},{"name":"v","variable":{"jmesPath":"c.data","default":"d"}}]"#,
    );
    let entries = entries(&declared);
    let (template, _) = VariableTemplate::parse(&Value::from("{{ v }}"), &functions());
    let error = setting.run(|context| {
        context.declare(entries);
        EvalError::from(template.resolve(context).unwrap_err())
    });
    assert!(matches!(error.kind, kubewright_engine::EvalErrorKind::Query(_)));
    assert!(
        error.message.contains(
            "needs ConfigMap `ns1/cm`, which is not known here: give `c` a value in the values file"
        ),
        "{}",
        error.message
    );
}

#[test]
fn a_namespaced_policy_stays_in_its_namespace() {
    let setting = Setting { home: Some("ns1".into()), ..widget() };
    #[track_caller]
    fn refuses(setting: &Setting, declared: &str, want: &str) {
        let found = setting.finds(declared, "{{ c }}");
        assert!(found.contains(want), "{found}");
    }
    assert_eq!(setting.finds(r#"[{"name":"c","configMap":{"name":"cm"}}]"#, "{{ c.data.k }}"), r#""*""#);
    refuses(
        &setting,
        r#"[{"name":"c","configMap":{"name":"cm","namespace":"ns2"}}]"#,
        "configMap namespace ns2 is different from the policy namespace ns1",
    );
    let call = |path: &str| format!(r#"[{{"name":"c","apiCall":{{"urlPath":"{path}"}}}}]"#);
    assert!(setting.finds(&call("/api/v1/namespaces/ns1/pods"), "{{ c.kind }}").contains("List"));
    refuses(
        &setting,
        &call("/api/v1/namespaces/ns2/pods"),
        "refers to namespace ns2, which is different from the policy namespace ns1",
    );
    refuses(&setting, &call("/api/v1/namespaces/ns1/../ns2/pods"), "the part `..`, which is not a name");
    refuses(
        &setting,
        &call("/api/v1/namespaces/ns1/%2e%2e/ns2/pods"),
        "the part `%2e%2e`, which is not a name",
    );
    refuses(&setting, &call("/api/v1/namespaces/ns1"), "does not contain a namespace segment");
    refuses(&setting, &call("/api/v1/namespaces/ns1/status"), "does not contain a namespace segment");
    refuses(&setting, &call("/api/v1/namespaces/ns1/nodes"), "nodes are in no namespace");
    refuses(&setting, &call("/api/v1/namespaces/ns1/services/x/proxy"), "connects to something");
    refuses(&setting, &call("/version"), "does not contain a namespace segment");
    refuses(
        &setting,
        &call("/api/v1/pods?x=/namespaces/ns1/"),
        "path /api/v1/pods does not contain a namespace segment",
    );
    refuses(
        &setting,
        r#"[{"name":"c","apiCall":{"service":{"url":"http://x"}}}]"#,
        "`GET http://x` calls a service, and a policy of namespace ns1 reads that namespace alone",
    );
    let with_default =
        r#"[{"name":"c","apiCall":{"urlPath":"/api/v1/namespaces/ns2/pods","default":{"a":7}}}]"#;
    refuses(&setting, with_default, "refers to namespace ns2");
    refuses(
        &setting,
        r#"[{"name":"c","globalReference":{"name":"g"}}]"#,
        "globalReference is not allowed in namespaced policies",
    );
}

#[test]
fn the_caller_can_give_what_would_be_looked_up() {
    let setting = widget().giving(&[("c.data.k", r#""given*""#), ("v", "1"), ("request.object.spec.x", "2")]);
    let declared = r#"[{"name":"c","configMap":{"name":"cm"}},{"name":"v","variable":{"value":"own"}}]"#;
    assert_eq!(setting.finds(declared, "{{ c.data.k }}"), r#""given*""#);
    assert_eq!(setting.finds(declared, "{{ v }}"), r#""own""#);
    assert_eq!(setting.finds("[]", "{{ v }}"), "1");
    assert_eq!(setting.finds("[]", "{{ request.object.spec.x }}"), "foreign 2");
}

#[test]
fn entries_together_are_limited() {
    let declared = r#"[{"name":"a","variable":{"value":"0123456789012345678901234567890123456789"}},
        {"name":"b","variable":{"jmesPath":"join('', [a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a])"}},
        {"name":"c","variable":{"jmesPath":"join('', [b,b,b,b,b,b,b,b,b,b,b,b,b,b,b,b])"}},
        {"name":"d","variable":{"jmesPath":"join('', [c,c,c,c,c,c,c,c,c,c,c,c,c,c,c,c])"}},
        {"name":"e","variable":{"jmesPath":"join('', [d,d,d,d,d,d,d,d,d,d,d,d,d,d,d,d])"}}]"#;
    assert!(widget().finds(declared, "{{ d }}").len() > 100_000);
    let found = widget().finds(declared, "{{ e }}");
    assert!(found.ends_with("exceeds limit of 2097152 bytes"), "{found}");
}

#[test]
fn elements_of_loops_are_seen_by_what_is_declared_in_the_loop() {
    let rule = entries(&parsed(r#"[{"name":"r","variable":{"value":"rule"}}]"#));
    let inner = entries(&parsed(
        r#"[{"name":"e","variable":{"value":"{{ r }}-{{ element }}-{{ elementIndex0 }}"}}]"#,
    ));
    let found = widget().run(|context| {
        context.declare(rule);
        let mut found = Vec::new();
        for (i, item) in ["p", "q"].iter().enumerate() {
            context.checkpoint();
            context.enter_sourced(&Sourced::foreign(Value::from(*item)), i, 0);
            context.declare(inner);
            found.push(shown("{{ e }}", context));
            context.checkpoint();
            context.enter_sourced(&Sourced::own(Value::from("*")), 7, 1);
            found.push(shown("{{ element0 }}{{ element1 }}{{ element }}{{ elementIndex1 }}", context));
            context.restore();
            context.restore();
        }
        found.push(shown("{{ element }}", context));
        found
    });
    assert_eq!(
        found,
        [
            r#"foreign "rule-p-0""#,
            r#"foreign "p**7""#,
            r#"foreign "rule-q-1""#,
            r#"foreign "q**7""#,
            r#"missing: failed to resolve element at path : JMESPath query failed: Unknown key "element" in path"#,
        ]
    );
}

#[test]
fn an_admission_request_has_all_its_fields() {
    let mut setting = widget();
    let keys = |setting: &Setting| setting.finds("[]", "{{ keys(request) }}");
    assert_eq!(keys(&setting), r#"foreign ["object","namespace","operation"]"#);
    setting.request.user = parsed(r#"{"username":"system:serviceaccount:ns:sa"}"#);
    assert_eq!(keys(&setting), r#"foreign ["object","namespace","operation","userInfo"]"#);
    assert_eq!(
        setting.finds("[]", "{{ serviceAccountNamespace }}/{{ serviceAccountName }}"),
        r#"foreign "ns/sa""#
    );
    setting.request.uid = "u".into();
    assert_eq!(
        setting.finds("[]", "{{ request.kind.kind }} {{ request.name }} {{ request.resource.resource }}"),
        r#"foreign "Widget x0 widgets""#
    );
    assert_eq!(setting.finds("[]", "{{ request.oldObject }}"), "foreign null");
    setting.request.operation = Operation::Delete;
    assert_eq!(setting.finds("[]", "{{ request.object.metadata.name }}"), r#"foreign "x0""#);
}

#[test]
fn images_are_those_of_pods_and_controllers() {
    let pod = r#"{"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"nginx"},{"name":"b","image":"ghcr.io/o/r:1"}],"initContainers":[{"name":"i"}]}}"#;
    let of = |object: &str, text: &str| {
        let request = AdmissionRequest::for_object(parsed(object), Operation::Create, "default");
        Setting { request, ..widget() }.finds("[]", text)
    };
    assert_eq!(of(pod, "{{ images.containers.a.registry }}"), r#"foreign "docker.io""#);
    assert_eq!(
        of(pod, "{{ images.containers.*.[path, tag] }}"),
        r#"foreign [["nginx","latest"],["o/r","1"]]"#
    );
    assert_eq!(of(pod, "{{ images.containers.b.jsonPointer }}"), r#"foreign "/spec/containers/1/image""#);
    assert_eq!(of(pod, "{{ keys(images) }}"), r#"foreign ["containers"]"#);
    let job = r#"{"kind":"CronJob","metadata":{"name":"p"},"spec":{"jobTemplate":{"spec":{"template":{"spec":{"containers":[{"name":"a","image":"x/y@sha256:0123456789012345678901234567890123456789012345678901234567890123"}]}}}}}}"#;
    assert_eq!(of(job, "{{ images.containers.a.referenceWithTag }}"), r#"foreign "docker.io/x/y:""#);
    let bad = r#"{"kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"a","image":"a b"}]}}"#;
    assert!(
        of(bad, "{{ images.containers.a.registry }}")
            .contains("invalid image 'a b' (bad image: docker.io/a b")
    );
}

#[test]
fn an_image_cannot_be_hidden_by_the_form_it_is_written_in() {
    let of = |containers: &str| {
        let object =
            format!(r#"{{"kind":"Pod","metadata":{{"name":"p"}},"spec":{{"containers":{containers}}}}}"#);
        let request = AdmissionRequest::for_object(parsed(&object), Operation::Create, "default");
        Setting { request, ..widget() }.finds("[]", "{{ images.containers.*.path }}")
    };
    for containers in [
        r#"{"a":[{"name":"a","image":"evil"}]}"#,
        r#"[[{"name":"a","image":"evil"}]]"#,
        r#"["evil"]"#,
        r#"[{"name":"a","image":["evil"]}]"#,
        r#"[{"name":"a","image":{}}]"#,
        r#""evil""#,
        "7",
    ] {
        let found = of(containers);
        assert!(
            found.starts_with("error:") && found.contains("invalid image config"),
            "{containers}: {found}"
        );
    }
    let twice = r#"[{"name":"a","image":"evil"},{"name":"a","image":"good"}]"#;
    assert_eq!(of(twice), r#"foreign ["evil","good"]"#);
    let third = r#"[{"name":"/spec/containers/2","image":"evil"},{"name":"a","image":"b"},{"name":"a","image":"good"}]"#;
    assert!(of(third).contains("invalid key"));
}

#[test]
fn entries_follow_a_rule_to_its_controllers() {
    let object =
        r#"{"kind":"Deployment","metadata":{"name":"d"},"spec":{"x":"out","template":{"spec":{"x":"in"}}}}"#;
    let request = AdmissionRequest::for_object(parsed(object), Operation::Create, "default");
    let declared = entries(&parsed(r#"[{"name":"v","variable":{"jmesPath":"request.object.spec.x"}}]"#));
    let rebased: Vec<CompiledContextEntry> =
        declared.iter().map(|entry| entry.rebased(PodTemplatePath::Template)).collect();
    let found = Setting { request, ..widget() }.run(|context| {
        context.declare(rebased.leak());
        shown("{{ v }}", context)
    });
    assert_eq!(found, r#"foreign "in""#);
}

#[test]
fn chains_and_crowds_of_entries_end_in_a_result_or_a_limit() {
    let chain: Vec<String> = (0..2000)
        .map(|i| match i {
            0 => r#"{"name":"v0","variable":{"value":"x"}}"#.to_owned(),
            i => format!(r#"{{"name":"v{i}","variable":{{"value":"{{{{ v{} }}}}"}}}}"#, i - 1),
        })
        .collect();
    let declared = format!("[{}]", chain.join(","));
    assert_eq!(widget().finds(&declared, "{{ v20 }}"), r#""x""#);
    assert!(widget().finds(&declared, "{{ v1999 }}").contains("nested deeper than 256 levels"));
}

#[test]
fn what_an_object_says_cannot_change_an_expression() {
    let hostile = [
        r#"' || request.object || '"#,
        r#"\' || request.object || \'"#,
        r#"\"#,
        r#"`1` || "#,
        r#"" || request || ""#,
        "{{ request.object }}",
        "]",
        "a.b[0]",
        "\u{0}\n\u{2028}",
    ];
    for text in hostile {
        let mut setting = widget();
        let object = setting.request.object.as_object_mut().unwrap();
        object.insert("x".into(), Value::from(text));
        let quoted = json::quote(text);
        let found = |template: &str| setting.finds("[]", template);
        assert_eq!(
            found("{{ to_string('<{{ request.object.x }}>') }}"),
            format!("foreign {}", json::quote(&format!("<{text}>")))
        );
        assert_eq!(found("{{ `[\"{{ request.object.x }}\"]` }}"), format!("foreign [{quoted}]"));
        // A text that is JSON is that, which is data as well.
        let value = json::parse(text).unwrap_or_else(|_| Value::from(text));
        assert_eq!(found("{{ `{{ request.object.x }}` }}"), format!("foreign {value}"));
        for template in
            ["{{ request.object.{{ request.object.x }} }}", "{{ request.object.\"{{ request.object.x }}\" }}"]
        {
            let missing = found(template);
            assert!(
                missing.starts_with("missing: ") && missing.contains("Unknown key"),
                "{template} {missing}"
            );
        }
        assert!(found("{{ request.object.spec.l[{{ request.object.x }}] }}").contains("incorrect query"));
    }
}
