use std::io::{Read as _, Write as _};

use kubewright_engine::RuleId;
use kubewright_k8s::{GroupVersionKind, Operation};
use kubewright_value::{Value, json};
use std::time::SystemTime;

use super::*;

fn review(parent: Option<TraceParent>) -> ReviewSpan {
    let rule = RuleId { dialect: "test", policy: "p\"q".into(), rule: "r".into() };
    ReviewSpan {
        parent,
        begun: SystemTime::UNIX_EPOCH,
        ended: SystemTime::now(),
        webhook: "validate".into(),
        uid: "u".into(),
        kind: GroupVersionKind { group: "".into(), version: "v1".into(), kind: "Pod".into() },
        operation: Operation::Create,
        is_allowed: false,
        rules: vec![RuleSpan { rule: Arc::new(rule), result: "fail" }],
    }
}

#[test]
fn a_rule_is_below_its_review_and_a_review_below_who_asked() {
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let mut batch = SpanBatch::default();
    batch.add(&review(TraceParent::read(header)));
    let sent = json::parse(&batch.written()).unwrap();
    let spans =
        sent.get("resourceSpans").unwrap().item(0).unwrap().get("scopeSpans").unwrap().item(0).unwrap();
    let spans = spans.get("spans").unwrap();
    let text = |number: usize, key: &str| {
        spans.item(number).unwrap().get(key).and_then(Value::as_str).unwrap().to_owned()
    };
    assert_eq!(text(0, "parentSpanId"), "b7ad6b7169203331");
    assert_eq!(text(1, "parentSpanId"), text(0, "spanId"));
    assert_eq!(text(1, "traceId"), "0af7651916cd43dd8448eb211c80319c");
    assert!(spans.item(1).unwrap().to_string().contains("p\\\"q"));
}

#[test]
fn a_header_that_names_no_span_is_ignored() {
    for header in
        ["", "00", "00-0-0-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-g-h-i"]
    {
        assert_eq!(TraceParent::read(header), None, "{header}");
    }
}

#[test]
fn addresses_of_collectors_are_checked() {
    for wrong in ["collector", "https://collector:4318", "http://", "ftp://x"] {
        assert!(Traces::to(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn spans_are_sent_in_batches_and_dropped_without_a_collector() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let traces = Traces::to(&format!("http://{address}")).unwrap();
    traces.send(review(None));
    traces.send(review(None));
    let (mut stream, _) = listener.accept().unwrap();
    let mut head = String::new();
    let mut buffer = [0; 65_536];
    while head.matches("\"name\":\"rule\"").count() < 2 {
        let length = stream.read(&mut buffer).unwrap();
        assert!(length > 0, "{head}");
        head.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
    }
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    drop((stream, listener));
    traces.send(review(None));
    let end = Instant::now() + Duration::from_secs(20);
    while traces.dropped() == 0 {
        assert!(Instant::now() < end, "nothing was dropped");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(traces.dropped(), 1);
}
