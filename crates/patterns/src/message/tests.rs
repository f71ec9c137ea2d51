use kubewright_value::yaml;

use super::*;

struct Objects(Vec<Option<Value>>);

impl PlaceholderValues for Objects {
    fn object(&self, role: usize) -> Option<&Value> {
        self.0.get(role).and_then(Option::as_ref)
    }
    fn frames(
        &self,
        _: usize,
        anchors: &[ArrayAnchor],
        budget: &mut Budget,
    ) -> Result<Vec<ElementFrame>, Exhausted> {
        ElementFrame::all(anchors, self.object(0).expect("an object"), budget)
    }

    fn count(&self, role: usize) -> usize {
        role + 2
    }
    fn score(&self) -> String {
        "0.5".to_owned()
    }
    fn pattern(&self, field: &str) -> Text {
        format!("<{field}>").into()
    }
}

/// Renders `text` for the role `a`, with nothing in the role `b`.
#[track_caller]
fn check(text: &str, want: &str, empty: usize) {
    let object = "{apiVersion: v1, kind: Pod, metadata: {name: x, labels: {app: '{{a.name}}', k.io/l: L}, uid: u}, spec: {replicas: 3, flag: true, list: [1, 2], items: [{k: p}, {k: q}]}}";
    let objects = Objects(vec![Some(yaml::parse(object).expect("YAML")), None]);
    let (template, errors) = MessageTemplate::parse(text, &["a".into(), "b".into()]);
    assert_eq!(errors, []);
    let (rendered, nothing) = template.render(&objects, &mut Budget::default()).expect("enough budget");
    assert_eq!((rendered.as_str(), nothing.len()), (want, empty));
}

#[test]
fn placeholders_take_fields_of_objects() {
    check("{{a.name}} {{ a.kind }} {{a.apiVersion}} {{a.uid}} {{a.metadata.name}}", "x Pod v1 u x", 0);
    check("{{a.fullName}}, {{ b.fullName }}", "x, ", 1);
    check("{{a.labels['k.io/l']}} {{a.spec.replicas}} {{a.spec.flag}}", "L 3 true", 0);
    check("{{a.spec.list}} | {{a.spec.items[*].k}} | {{a.spec.items[0]}}", "1, 2 | p, q | {\"k\":\"p\"}", 0);
    check("plain }} text", "plain }} text", 0);
}

#[test]
fn what_is_put_in_is_not_read_again() {
    check("{{a.labels.app}}", "{{a.name}}", 0);
}

#[test]
fn what_is_not_there_is_empty_and_noticed_except_the_namespace_of_what_is_in_none() {
    check("[{{a.namespace}}]", "[]", 0);
    check("[{{a.spec.other}}]", "[]", 1);
    check("[{{b.name}}{{b.namespace}}]", "[]", 2);
}

#[test]
fn score_count_and_the_pattern_itself() {
    check("{{score}} {{count(b)}} {{pattern.name}} {{pattern.severity}}", "0.5 3 <name> <severity>", 0);
}

#[test]
fn placeholders_that_name_nothing_are_mistakes() {
    for text in [
        "{{c.name}}",
        "{{a}}",
        "{{}}",
        "{{a.name",
        "{{pattern.x}}",
        "{{count(c)}}",
        "{{a..x}}",
        "{{score.x}}",
    ] {
        let (_, errors) = MessageTemplate::parse(text, &["a".into()]);
        assert_eq!(errors.len(), 1, "{text}");
    }
}
