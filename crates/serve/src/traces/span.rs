//! Spans, and how OTLP writes them as JSON.

use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use kubewright_engine::RuleId;
use kubewright_k8s::{GroupVersionKind, Operation};
use kubewright_value::{Text, json};

/// The span of the one who asks, as the header `traceparent` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TraceParent {
    trace: String,
    span: String,
}

impl TraceParent {
    /// Reads a header as the W3C writes it: `00-<trace>-<span>-<flags>`.
    pub(crate) fn read(header: &str) -> Option<Self> {
        let mut parts = header.split('-');
        let (version, trace, span) = (parts.next()?, parts.next()?, parts.next()?);
        let is_id = |text: &str, length: usize| {
            text.len() == length
                && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
                && text.bytes().any(|byte| byte != b'0')
        };
        (version.len() == 2 && is_id(trace, 32) && is_id(span, 16))
            .then(|| Self { trace: trace.to_owned(), span: span.to_owned() })
    }
}

/// A review that is over.
#[derive(Debug)]
pub(crate) struct ReviewSpan {
    pub(crate) parent: Option<TraceParent>,
    pub(crate) begun: SystemTime,
    pub(crate) ended: SystemTime,
    pub(crate) webhook: Text,
    pub(crate) uid: Text,
    pub(crate) kind: GroupVersionKind,
    pub(crate) operation: Operation,
    pub(crate) is_allowed: bool,
    pub(crate) rules: Vec<RuleSpan>,
}

/// What a rule said.
#[derive(Debug)]
pub(crate) struct RuleSpan {
    pub(crate) rule: Arc<RuleId>,
    pub(crate) result: &'static str,
}

/// Reviews that are sent together.
#[derive(Debug, Default)]
pub(super) struct SpanBatch {
    spans: String,
    count: usize,
}

impl SpanBatch {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn add(&mut self, review: &ReviewSpan) {
        self.count += 1;
        let (trace, parent) = match &review.parent {
            Some(TraceParent { trace, span }) => (trace.clone(), span.as_str()),
            None => (format!("{:016x}{:016x}", random_span_id(), random_span_id()), ""),
        };
        let own = format!("{:016x}", random_span_id());
        let times = (review.begun, review.ended);
        let GroupVersionKind { group, version, kind } = &review.kind;
        let attributes = [
            ("kubewright.webhook", review.webhook.as_str()),
            ("kubewright.uid", &review.uid),
            ("k8s.group", group),
            ("k8s.version", version),
            ("k8s.kind", kind),
            ("k8s.operation", review.operation.name()),
            ("kubewright.allowed", if review.is_allowed { "true" } else { "false" }),
        ];
        self.span((&trace, &own, parent), ("review", 2), times, &attributes);
        for RuleSpan { rule, result } in &review.rules {
            let attributes = [
                ("kubewright.dialect", rule.dialect),
                ("kubewright.policy", &rule.policy),
                ("kubewright.rule", &rule.rule),
                ("kubewright.result", result),
            ];
            let id = format!("{:016x}", random_span_id());
            self.span((&trace, &id, &own), ("rule", 1), times, &attributes);
        }
    }

    /// Returns the body of the request that sends them.
    pub(super) fn written(self) -> String {
        format!(
            "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{{\"key\":\"service.name\",\"value\":\
             {{\"stringValue\":\"kubewright\"}}}}]}},\"scopeSpans\":[{{\"scope\":{{\"name\":\"kubewright\",\"version\":\"{}\"}},\
             \"spans\":[{}]}}]}}]}}",
            env!("CARGO_PKG_VERSION"),
            self.spans
        )
    }

    fn span(
        &mut self,
        (trace, own, parent): (&str, &str, &str),
        (name, kind): (&str, u8),
        (begun, ended): (SystemTime, SystemTime),
        attributes: &[(&str, &str)],
    ) {
        if !self.spans.is_empty() {
            self.spans.push(',');
        }
        let attributes: Vec<String> = attributes
            .iter()
            .map(|(key, value)| {
                format!("{{\"key\":\"{key}\",\"value\":{{\"stringValue\":{}}}}}", json::quote(value))
            })
            .collect();
        self.spans.push_str(&format!(
            "{{\"traceId\":\"{trace}\",\"spanId\":\"{own}\",\"parentSpanId\":\"{parent}\",\"name\":\"{name}\",\
             \"kind\":{kind},\"startTimeUnixNano\":\"{}\",\"endTimeUnixNano\":\"{}\",\"attributes\":[{}]}}",
            unix_nanoseconds(begun),
            unix_nanoseconds(ended),
            attributes.join(",")
        ));
    }
}

fn unix_nanoseconds(time: SystemTime) -> u128 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// Returns a number that no other span has, here or elsewhere.
fn random_span_id() -> u64 {
    static SPAN_COUNT: AtomicU64 = AtomicU64::new(0);
    // The keys of the hasher are random.
    let mut hasher = std::collections::hash_map::RandomState::new().build_hasher();
    hasher.write_u64(SPAN_COUNT.fetch_add(1, Ordering::Relaxed));
    hasher.finish().max(1)
}
