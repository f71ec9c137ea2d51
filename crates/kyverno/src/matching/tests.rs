use kubewright_engine::{ClosedWorld, DecisionCache, OpenWorld, Tracer, World, WorldView};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Budget, Source, yaml};

use super::*;
use crate::source::{FailureAction, PolicySource, RuleSource};

/// Reads a policy with one rule that has `fields`, written in flow style: `match: {...}, exclude: {...}`.
fn policy(head: &str, fields: &str) -> PolicySource {
    let text = format!(
        "{{apiVersion: kyverno.io/v1, {head}, spec: {{rules: [{{name: r, {fields}, validate: {{message: m, deny: {{}}}}}}]}}}}"
    );
    let reading = yaml::read(&Source::new("p.yaml", text));
    let document = reading.documents.first().expect("a document");
    let (policy, problems) = source::read_policy_document(document);
    policy.unwrap_or_else(|| panic!("{problems:?}"))
}

fn matcher(fields: &str) -> MatchExclude {
    let policy = policy("kind: ClusterPolicy, metadata: {name: p}", fields);
    let rule: &RuleSource = policy.rules.first().unwrap_or_else(|| panic!("{:?}", policy.broken));
    MatchExclude::compile(&rule.matching, rule.exclude.as_ref(), policy.namespace.as_ref())
}

fn request(object: &str) -> AdmissionRequest {
    AdmissionRequest::for_object(yaml::parse(object).expect("YAML"), Operation::Create, "default")
}

#[track_caller]
fn ask(
    matcher: &MatchExclude,
    request: &AdmissionRequest,
    world: &dyn World,
) -> Result<Option<Text>, EvalError> {
    let (mut budget, mut tracer, memory) = (Budget::default(), Tracer::off(), DecisionCache::default());
    let mut evaluation =
        Evaluation::new(request, WorldView::new(world, None), &mut budget, &mut tracer, &memory);
    let quiet = matcher.matches(&request.object, request.operation, &mut evaluation, &mut TraceNotes::off());
    let mut notes = TraceNotes::on();
    let noted = matcher.matches(&request.object, request.operation, &mut evaluation, &mut notes);
    assert_eq!(quiet.as_ref().ok(), noted.as_ref().ok());
    assert!(notes.take().iter().all(|note| !note.what.is_empty()));
    if quiet.as_ref().is_ok_and(Option::is_none) {
        assert!(matcher.scope().admits(request), "the scope is too narrow: {:?}", matcher.scope());
    }
    quiet
}

fn world() -> ClosedWorld {
    ClosedWorld::new([yaml::parse(
        "{apiVersion: v1, kind: Namespace, metadata: {name: prod, labels: {env: prod, team: a}}}",
    )
    .expect("YAML")])
}

/// Each case is a `match` (and perhaps `exclude`) and an object; `!` in front when the rule does not match it.
#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (fields, object) in cases {
        let (want, fields) = fields.strip_prefix('!').map_or((true, *fields), |fields| (false, fields));
        let found = ask(&matcher(fields), &request(object), &world()).expect("an answer");
        assert_eq!(found.is_none(), want, "{fields} {object}: {found:?}");
    }
}

const POD: &str = "{apiVersion: v1, kind: Pod, metadata: {name: web-1, labels: {app: web, tier: front}, annotations: {a/b: c}}}";
const DEPLOYMENT: &str = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: prod}}";
const NAMESPACE: &str = "{apiVersion: v1, kind: Namespace, metadata: {name: prod, labels: {env: prod}}}";

#[test]
fn kinds_have_groups_and_versions_with_wildcards() {
    let kinds = |kinds: &str| format!("match: {{any: [{{resources: {{kinds: ['{kinds}']}}}}]}}");
    for (wanted, object, want) in [
        ("Pod", POD, true),
        ("Pod", DEPLOYMENT, false),
        ("*", POD, true),
        ("P*", POD, true),
        ("?od", POD, true),
        ("v1/Pod", POD, true),
        ("v2/Pod", POD, false),
        ("*/Pod", POD, true),
        ("*/*", POD, true),
        ("apps/v1/Deployment", DEPLOYMENT, true),
        ("apps/*/Deployment", DEPLOYMENT, true),
        ("*/*/Deployment", DEPLOYMENT, true),
        ("*/v1/*", DEPLOYMENT, true),
        ("*/v2/*", DEPLOYMENT, false),
        ("Deployment.apps", DEPLOYMENT, true),
        ("Deployment.v1.apps", DEPLOYMENT, true),
        ("Deployment.v2.apps", DEPLOYMENT, false),
        ("Deployment.batch", DEPLOYMENT, false),
        ("Deployment.*.apps", DEPLOYMENT, true),
        ("*.apps", DEPLOYMENT, true),
        ("*.apps", POD, false),
        ("apps/Deployment", DEPLOYMENT, true),
        ("Pod.v1.", POD, true),
        ("Deployment.v1.", DEPLOYMENT, false),
        ("a*/v1/*", DEPLOYMENT, true),
        ("batch/v1/Deployment", DEPLOYMENT, false),
        ("v1/Deployment", DEPLOYMENT, true),
        ("v10/Deployment", "{apiVersion: x/v10, kind: Deployment, metadata: {name: a}}", true),
        ("Pod/status", POD, false),
        ("a/b/c/d/e", POD, false),
    ] {
        let found = ask(&matcher(&kinds(wanted)), &request(object), &world()).expect("an answer");
        assert_eq!(found.is_none(), want, "{wanted} {object}");
    }
}

#[test]
fn parts_of_objects_are_meant_only_when_they_are_named() {
    let of = |kind: &str, subresource: &str| {
        let mut request = request(&format!("{{apiVersion: v1, kind: {kind}, metadata: {{name: a}}}}"));
        request.subresource = subresource.into();
        request
    };
    for (wanted, kind, subresource, want) in [
        ("Pod", "Pod", "status", false),
        ("Pod/status", "Pod", "status", true),
        ("Pod.status", "Pod", "status", true),
        ("v1/Pod.status", "Pod", "status", true),
        ("v1/Pod/status", "Pod", "status", true),
        ("*/status", "Pod", "status", true),
        ("*/scale", "Pod", "status", false),
        ("*/*", "Pod", "status", true),
        ("Pod/*", "Pod", "status", true),
        ("Pod", "Pod", "ephemeralcontainers", true),
        ("v1/Pod", "Pod", "resize", true),
        ("Node", "Node", "resize", false),
        ("Pod/exec", "PodExecOptions", "exec", true),
        ("Pod", "PodExecOptions", "exec", false),
        ("ServiceAccount/token", "TokenRequest", "token", true),
    ] {
        let fields = format!("match: {{any: [{{resources: {{kinds: ['{wanted}']}}}}]}}");
        let found = ask(&matcher(&fields), &of(kind, subresource), &world()).expect("an answer");
        assert_eq!(found.is_none(), want, "{wanted} {kind}/{subresource}");
    }
}

#[test]
fn everything_in_an_entry_must_hold_and_anything_in_a_list() {
    check(&[
        ("match: {any: [{resources: {kinds: [Pod], names: [x, 'web-*']}}]}", POD),
        ("!match: {any: [{resources: {kinds: [Pod], names: [x]}}]}", POD),
        ("match: {any: [{resources: {kinds: [Pod], name: 'w*'}}]}", POD),
        ("match: {any: [{resources: {kinds: [Pod], namespaces: ['def*']}}]}", POD),
        ("!match: {any: [{resources: {kinds: [Pod], namespaces: [prod]}}]}", POD),
        ("match: {any: [{resources: {kinds: [Pod], annotations: {'a/*': '?'}}}]}", POD),
        ("!match: {any: [{resources: {kinds: [Pod], annotations: {'a/*': d}}}]}", POD),
        ("match: {any: [{resources: {kinds: [Service]}}, {resources: {kinds: [Pod]}}]}", POD),
        ("!match: {all: [{resources: {kinds: [Pod]}}, {resources: {kinds: [Pod], names: [x]}}]}", POD),
        ("match: {all: [{resources: {kinds: [Pod]}}, {resources: {kinds: ['*'], names: ['web*']}}]}", POD),
        ("match: {resources: {kinds: [Pod]}}", POD),
        ("!match: {resources: {kinds: [Service]}}", POD),
        ("!match: {any: [{resources: {kinds: [Pod], operations: [DELETE]}}]}", POD),
        ("match: {any: [{resources: {kinds: [Pod], operations: [CREATE]}}]}", POD),
        (
            "match: {any: [{resources: {kinds: [Pod], names: ['gen-']}}]}",
            "{apiVersion: v1, kind: Pod, metadata: {generateName: gen-}}",
        ),
    ]);
}

#[test]
fn selectors_have_wildcards_in_labels_and_plain_expressions() {
    let selector =
        |selector: &str| format!("match: {{any: [{{resources: {{kinds: [Pod], selector: {selector}}}}}]}}");
    for (wanted, want) in [
        ("{matchLabels: {app: web}}", true),
        ("{matchLabels: {app: 'w*'}}", true),
        ("{matchLabels: {'a*': 'w??'}}", true),
        ("{matchLabels: {'*': front}}", true),
        ("{matchLabels: {app: web, tier: back}}", false),
        ("{matchLabels: {'x*': '*'}}", false),
        ("{matchExpressions: [{key: app, operator: In, values: [web, db]}]}", true),
        ("{matchExpressions: [{key: app, operator: NotIn, values: [web]}]}", false),
        ("{matchExpressions: [{key: none, operator: NotIn, values: [web]}]}", true),
        ("{matchExpressions: [{key: app, operator: Exists}]}", true),
        ("{matchExpressions: [{key: app, operator: DoesNotExist}]}", false),
        ("{matchExpressions: [{key: app, operator: In}]}", false),
        ("{}", true),
    ] {
        let found = ask(&matcher(&selector(wanted)), &request(POD), &world()).expect("an answer");
        assert_eq!(found.is_none(), want, "{wanted}");
    }
}

#[test]
fn labels_of_the_namespace_come_from_the_world() {
    let wanted = "match: {any: [{resources: {kinds: ['*'], namespaceSelector: {matchLabels: {env: 'p*'}}}}]}";
    check(&[
        (wanted, DEPLOYMENT),
        (&format!("!{wanted}"), POD),
        (&format!("!{wanted}"), NAMESPACE),
        (
            "match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchExpressions: [{key: env, operator: DoesNotExist}]}}}]}",
            POD,
        ),
        ("match: {any: [{resources: {kinds: ['*'], namespaces: [prod]}}]}", NAMESPACE),
    ]);
    let asked = ask(&matcher(wanted), &request(DEPLOYMENT), &OpenWorld::default()).expect_err("not known");
    assert!(matches!(asked.kind, kubewright_engine::EvalErrorKind::Query(_)));
    let cheap = wanted.replace("'*'", "Service");
    assert!(
        ask(&matcher(&cheap), &request(DEPLOYMENT), &OpenWorld::default())
            .expect("no need to know")
            .is_some()
    );
}

#[test]
fn exclusion_is_looked_at_once_the_rule_matches() {
    let any = "match: {any: [{resources: {kinds: [Pod]}}]}";
    check(&[
        (&format!("!{any}, exclude: {{any: [{{resources: {{names: ['web*']}}}}]}}"), POD),
        (&format!("{any}, exclude: {{any: [{{resources: {{names: [x]}}}}]}}"), POD),
        (
            &format!(
                "{any}, exclude: {{all: [{{resources: {{names: ['web*']}}}}, {{resources: {{namespaces: [x]}}}}]}}"
            ),
            POD,
        ),
        (
            &format!(
                "!{any}, exclude: {{all: [{{resources: {{names: ['web*']}}}}, {{resources: {{namespaces: [default]}}}}]}}"
            ),
            POD,
        ),
        (&format!("!{any}, exclude: {{resources: {{names: ['web*']}}}}"), POD),
        (&format!("{any}, exclude: {{any: [{{clusterRoles: [admin]}}]}}"), POD),
        (&format!("{any}, exclude: {{any: [{{resources: {{kinds: [Pod]}}, clusterRoles: [admin]}}]}}"), POD),
    ]);
    let reason = ask(
        &matcher(&format!("{any}, exclude: {{any: [{{resources: {{names: ['web*']}}}}]}}")),
        &request(POD),
        &world(),
    );
    assert_eq!(reason.expect("an answer").as_deref(), Some("excluded by `exclude.any[0]`"));
}

#[test]
fn users_matter_only_when_they_are_known() {
    let wanted = |user: &str| format!("match: {{any: [{{resources: {{kinds: [Pod]}}, {user}}}]}}");
    let mut asked = request(POD);
    asked.user = yaml::parse("{username: 'system:serviceaccount:ns:bot', groups: [dev, ops]}").expect("YAML");
    asked.roles = vec!["ns:editor".into()];
    for (user, want) in [
        ("roles: [ns:editor]", true),
        ("roles: ['ns:*']", false),
        ("clusterRoles: [admin]", false),
        ("roles: [ns:editor], clusterRoles: [admin]", false),
        ("subjects: [{kind: ServiceAccount, namespace: ns, name: 'b*'}]", true),
        ("subjects: [{kind: User, name: '*:bot'}]", true),
        ("subjects: [{kind: Group, name: 'op?'}]", true),
        ("subjects: [{kind: Group, name: x}]", false),
    ] {
        let found = ask(&matcher(&wanted(user)), &asked, &world()).expect("an answer");
        assert_eq!(found.is_none(), want, "{user}");
        assert!(
            ask(&matcher(&wanted(user)), &request(POD), &world()).expect("an answer").is_none(),
            "{user}"
        );
    }
    check(&[("!match: {any: [{clusterRoles: [admin]}]}", POD)]);
}

#[test]
fn a_policy_is_about_its_own_namespace() {
    let policy = policy(
        "kind: Policy, metadata: {name: p, namespace: prod}",
        "match: {any: [{resources: {kinds: ['*']}}]}",
    );
    let rule = policy.rules.first().expect("a rule");
    let matcher = MatchExclude::compile(&rule.matching, None, policy.namespace.as_ref());
    for (object, want) in [(DEPLOYMENT, true), (POD, false), (NAMESPACE, false)] {
        let found = ask(&matcher, &request(object), &world()).expect("an answer");
        assert_eq!(found.is_none(), want, "{object}");
    }
}

#[test]
fn exception_for_users_does_not_apply_while_the_user_is_unknown() {
    let policy = policy(
        "kind: ClusterPolicy, metadata: {name: p}",
        "match: {any: [{resources: {kinds: [Pod]}, clusterRoles: [admin]}]}",
    );
    let matcher = MatchExclude::of_exception(&policy.rules.first().expect("a rule").matching);
    let mut asked = request(POD);
    assert!(ask(&matcher, &asked, &world()).expect("an answer").is_some());
    asked.cluster_roles = vec!["admin".into()];
    assert!(ask(&matcher, &asked, &world()).expect("an answer").is_none());
}

#[test]
fn the_scope_is_as_narrow_as_names_without_wildcards_allow() {
    let scope = |fields: &str| {
        let scope = matcher(fields).scope();
        format!("{:?} {:?} {:?}", scope.kinds, scope.namespaces, scope.operations)
    };
    for (fields, want) in [
        (
            "match: {any: [{resources: {kinds: [Pod, apps/v1/Deployment]}}]}",
            r#"Named(["Deployment", "Pod"]) Any {Create, Update, Delete, Connect}"#,
        ),
        (
            "match: {any: [{resources: {kinds: [Pod], operations: [CREATE]}}, {resources: {kinds: [Service], operations: [UPDATE]}}]}",
            r#"Named(["Pod", "Service"]) Any {Create, Update}"#,
        ),
        (
            "match: {all: [{resources: {kinds: [Pod], operations: [CREATE]}}, {resources: {kinds: ['*'], operations: [CREATE, DELETE]}}]}",
            r#"Named(["Pod"]) Any {Create}"#,
        ),
        (
            "match: {any: [{resources: {kinds: [Pod], namespaces: [a, b]}}]}",
            r#"Named(["Pod"]) Named(["a", "b"]) {Create, Update, Delete, Connect}"#,
        ),
        (
            "match: {any: [{resources: {kinds: [Pod], namespaces: ['a*']}}]}",
            r#"Named(["Pod"]) Any {Create, Update, Delete, Connect}"#,
        ),
        (
            "match: {any: [{resources: {kinds: [Namespace], namespaces: [a]}}]}",
            r#"Named(["Namespace"]) Any {Create, Update, Delete, Connect}"#,
        ),
        ("match: {any: [{resources: {kinds: [Pod/exec]}}]}", "Any Any {Create, Update, Delete, Connect}"),
        ("match: {any: [{resources: {kinds: ['D*']}}]}", "Any Any {Create, Update, Delete, Connect}"),
    ] {
        assert_eq!(scope(fields), want, "{fields}");
    }
}

#[test]
fn notes_say_what_each_entry_asked_for() {
    let matcher = matcher(
        "match: {any: [{resources: {kinds: [Pod], names: [x], namespaces: [z]}}, {resources: {kinds: [Pod]}}, {resources: {kinds: [Node]}}]}",
    );
    let (request, world) = (request(POD), world());
    let (mut budget, mut tracer, memory) = (Budget::default(), Tracer::off(), DecisionCache::default());
    let mut evaluation =
        Evaluation::new(&request, WorldView::new(&world, None), &mut budget, &mut tracer, &memory);
    let mut notes = TraceNotes::on();
    matcher.matches(&request.object, Operation::Create, &mut evaluation, &mut notes).expect("an answer");
    fn lines(notes: &[TraceNote], depth: usize, out: &mut String) {
        for note in notes {
            let place = match note.at.last() {
                Some(Step::Key(key)) => key.to_string(),
                Some(Step::Index(index)) => index.to_string(),
                None => String::new(),
            };
            *out += &format!(
                "{}{} [{}] {} @{place}\n",
                " ".repeat(depth),
                note.what,
                note.found,
                note.verdict.name()
            );
            lines(&note.children, depth + 1, out);
        }
    }
    let mut found = String::new();
    lines(&notes.take(), 0, &mut found);
    let want = "match [] yes @match
 any[0] [] no @0
  kinds Pod [v1/Pod] yes @kinds
  names x [web-1] no @names
  namespaces z [] not looked at @namespaces
 any[1] [] yes @1
  kinds Pod [v1/Pod] yes @kinds
 any[2] [] not looked at @2
";
    assert_eq!(found, want);
}

#[test]
fn the_first_override_for_the_namespace_counts() {
    let document = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {validationFailureActionOverrides: [
        {action: Enforce, namespaces: ['x-*']},
        {action: Audit, namespaces: [prod], namespaceSelector: {matchLabels: {team: b}}},
        {action: Enforce, namespaceSelector: {matchLabels: {env: prod}}}], rules: []}}";
    let reading = yaml::read(&Source::new("p.yaml", document));
    let (policy, _) = source::read_policy_document(reading.documents.first().expect("a document"));
    let overrides = Overrides::compile(&policy.expect("a policy").settings.failure_action_overrides);
    let of = |namespace: &str| {
        let request =
            request(&format!("{{apiVersion: v1, kind: Pod, metadata: {{name: a, namespace: {namespace}}}}}"));
        let world = world();
        let (mut budget, mut tracer, memory) = (Budget::default(), Tracer::off(), DecisionCache::default());
        let mut evaluation =
            Evaluation::new(&request, WorldView::new(&world, None), &mut budget, &mut tracer, &memory);
        overrides.action(&mut evaluation).expect("an answer")
    };
    assert_eq!(of("x-1"), Some(FailureAction::Enforce));
    assert_eq!(of("prod"), Some(FailureAction::Enforce));
    assert_eq!(of("other"), None);
}
