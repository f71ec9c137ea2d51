//! Bodies of requests of the page: one that is read has files that can be shown, and says the same when it is written and
//! read again; any other is refused as a mistake of the client.

use kubewright_ui::PageBody;
use kubewright_value::{Map, Value, json};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "page_body",
    run: fuzz_page_body,
    seeds: &[
        r#"{"files": [{"name": "rules.yaml", "role": "rules", "text": "kind: ClusterPolicy\n"}, {"name": "objects.yaml", "role": "objects", "text": "kind: Pod\n---\nkind: Service\n"}], "request": {"operation": "UPDATE", "namespace": "shop"}}"#,
        r#"{"files": [{"name": "a", "role": "world", "text": ""}, {"name": "\u00e9", "role": "test", "text": "\ud83d\ude00"}], "options": {"focus": "Pod/shop/web", "depth": 2}}"#,
        r#"{"language": "cel", "expression": "object.kind", "input": "kind: Pod"}"#,
        r#"{"files": null}"#,
    ],
    dictionaries: &[FuzzDictionary::Json],
    words: &[
        "\"files\":",
        "\"name\":",
        "\"role\":",
        "\"text\":",
        "\"rules\"",
        "\"exceptions\"",
        "\"old\"",
        "\"parameters\"",
        "\"user\"",
        "\"request\":{",
        "\\u0000",
        "\\u2028",
        "[",
        "{}",
        "null",
    ],
};

fn fuzz_page_body(data: &[u8]) {
    let body = match PageBody::read(data) {
        Ok(body) => body,
        Err(refusal) => {
            assert_eq!(refusal.status, 400);
            assert!(json::parse(&String::from_utf8_lossy(&refusal.body)).is_ok(), "{:?}", refusal.body);
            return;
        }
    };
    assert!(body.value.as_object().is_some());
    for file in &body.files {
        assert!(!file.name.is_empty() && !file.name.chars().any(char::is_control), "{:?}", file.name);
    }
    let files = body.files.iter().map(|file| {
        let fields = [("name", file.name.as_str()), ("role", file.role.name()), ("text", file.text.as_str())];
        Value::from(fields.map(|(name, text)| (name.into(), text.into())).into_iter().collect::<Map>())
    });
    let written = Value::from(Map::from([("files", Value::array(files.collect()))]));
    let read = PageBody::read(json::to_string(&written).as_bytes());
    assert_eq!(read.map(|again| again.files).ok(), Some(body.files), "{written}");
}
