//! Reads an AdmissionReview into a request of the engine.

use std::sync::Arc;

use kubewright_k8s::{AdmissionRequest, GroupVersionKind, Operation, kind_of_resource};
use kubewright_value::json::{JsonError, MemberReader};
use kubewright_value::{FieldSet, Map, Text, Value, json};
use thiserror::Error;

/// How many values an AdmissionReview may consist of.
const MAX_REVIEW_NODES: usize = 1_000_000;

/// How long a `uid` may be; the API server's have 36 bytes.
const MAX_UID_BYTES: usize = 128;

/// How long what an API has names for may be: groups, versions, kinds, resources, namespaces. The API server takes none
/// that is longer. Names of objects and users may be, and are shortened where they are shown.
const MAX_API_NAME_BYTES: usize = 253;

/// Members of a request that the engine does not ask about.
const UNASKED_MEMBERS: [&str; 4] = ["requestKind", "requestResource", "requestSubResource", "options"];

/// What the API server asks.
#[derive(Debug, Clone)]
pub struct AdmissionReview {
    /// What the engine asks about.
    pub request: AdmissionRequest,
    /// The `request` as it was sent.
    pub raw: Value,
    /// Whether there is an object that could be changed.
    pub has_object: bool,
}

/// Why bytes are no review that is answered here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct BadReview(pub String);

impl AdmissionReview {
    /// Reads an AdmissionReview of `admission.k8s.io/v1`. What it has besides is ignored.
    ///
    /// # Errors
    /// When it is none, or lacks what cannot be done without.
    pub fn read(bytes: &[u8]) -> Result<Self, BadReview> {
        Self::read_fields(bytes, |_| None)
    }

    /// Reads an AdmissionReview as [`read`](Self::read) does, and of its objects only the fields that `fields_of` returns for
    /// their kind, if it returns any. `raw` then lacks what the engine does not ask about.
    ///
    /// # Errors
    /// As [`read`](Self::read): also what is not kept must be JSON.
    pub fn read_fields(
        bytes: &[u8],
        fields_of: impl Fn(&Text) -> Option<Arc<FieldSet>>,
    ) -> Result<Self, BadReview> {
        let wrong = |message: &str| BadReview(message.to_owned());
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("the body is not UTF-8"))?;
        let mut reader = ReviewReader {
            fields_of,
            fields: None,
            is_kind_repeated: false,
            top: Map::new(),
            request: Map::new(),
        };
        json::parse_members(text, MAX_REVIEW_NODES, |member, key| reader.member(member, key))
            .map_err(|error| BadReview(format!("the body is not JSON: {error}")))?;
        if reader.is_kind_repeated {
            return Self::read(bytes);
        }
        let ReviewReader { top, request, .. } = reader;
        if top.str_at(&["kind"]) != "AdmissionReview" {
            return Err(wrong("the body is not an AdmissionReview"));
        }
        match top.get("apiVersion").and_then(Value::as_str) {
            Some("admission.k8s.io/v1") => {}
            Some("admission.k8s.io/v1beta1") => {
                return Err(wrong(
                    "`admission.k8s.io/v1beta1` is not answered; register the webhook with admissionReviewVersions: [v1]",
                ));
            }
            _ => return Err(wrong("the AdmissionReview is not of `admission.k8s.io/v1`")),
        }
        Self::of(Value::object(request))
    }

    pub(crate) fn of(raw: Value) -> Result<Self, BadReview> {
        let text = |key: &str| raw.str_at(&[key]);
        let lacks = |what: &str| Err(BadReview(format!("the AdmissionReview has no `request.{what}`")));
        let uid = text("uid");
        if uid.is_empty() {
            return lacks("uid");
        }
        check_lengths(&raw)?;
        let Some(operation) = Operation::named(text("operation")) else { return lacks("operation") };
        let taken = |key: &str| raw.get(key).filter(|value| value.as_object().is_some()).cloned();
        let (object, old_object) = (taken("object"), taken("oldObject").unwrap_or_default());
        let has_object = object.is_some();
        // What is deleted is judged as it was.
        let object = match operation {
            Operation::Delete => old_object.clone(),
            _ => object.unwrap_or_default(),
        };
        let kind = match raw.get("kind").filter(|kind| kind.as_object().is_some()) {
            Some(kind) => {
                let part = |key: &str| kind.str_at(&[key]).into();
                GroupVersionKind { group: part("group"), version: part("version"), kind: part("kind") }
            }
            None => GroupVersionKind::of(&object),
        };
        if kind.kind.is_empty() {
            return lacks("kind");
        }
        if [&kind.group, &kind.version, &kind.kind].iter().any(|name| name.len() > MAX_API_NAME_BYTES) {
            return Err(BadReview("`kind` of the object is longer than an API takes".to_owned()));
        }
        // A part may be of a type of its own, and is a part of what the resource is.
        let resource = |key: &str| raw.str_at(&["resource", key]);
        let is_part = !text("subResource").is_empty();
        let whole = is_part
            .then(|| kind_of_resource(resource("resource")))
            .flatten()
            .filter(|whole| kind.kind != *whole)
            .map(|whole| GroupVersionKind {
                group: resource("group").into(),
                version: resource("version").into(),
                kind: whole.into(),
            });
        let named = |key| object.str_at(&["metadata", key]);
        let names = [text("name"), named("name"), named("generateName")];
        let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        // The API server says of a Namespace that it is in itself.
        let is_namespace = kind.group.is_empty() && kind.kind == "Namespace";
        let request = AdmissionRequest {
            uid: uid.into(),
            operation,
            subresource: text("subResource").into(),
            whole: whole.unwrap_or_default(),
            name: name.into(),
            namespace: if is_namespace { Text::default() } else { Text::new(text("namespace")) },
            user: taken("userInfo").unwrap_or_else(|| Value::object(Map::new())),
            roles: Vec::new(),
            cluster_roles: Vec::new(),
            is_dry_run: raw.get("dryRun").and_then(Value::as_bool).unwrap_or_default(),
            kind,
            object,
            old_object,
            is_old_object_assumed: false,
        };
        Ok(Self { request, raw, has_object })
    }
}

/// An AdmissionReview while it is read.
struct ReviewReader<F> {
    fields_of: F,
    /// What is read of objects. It is known once their kind is, which the API server sends before them.
    fields: Option<Arc<FieldSet>>,
    /// Whether that was changed, after which objects may have been read as those of another kind.
    is_kind_repeated: bool,
    top: Map,
    request: Map,
}

impl<F: Fn(&Text) -> Option<Arc<FieldSet>>> ReviewReader<F> {
    /// Reads a member of the review.
    fn member(&mut self, member: &mut MemberReader<'_, '_>, key: &str) -> Result<(), Box<JsonError>> {
        match key {
            "request" => {
                // Of two requests the last one counts.
                self.request = Map::new();
                member.members(|member, key| self.request_member(member, key)).map(drop)
            }
            "kind" | "apiVersion" => {
                self.top.insert(key.into(), member.value(&FieldSet::All)?);
                Ok(())
            }
            _ => member.skip(),
        }
    }

    fn request_member(&mut self, member: &mut MemberReader<'_, '_>, key: &str) -> Result<(), Box<JsonError>> {
        let value = match (key, &self.fields) {
            ("object" | "oldObject", Some(fields)) => member.value(fields)?,
            (key, Some(_)) if UNASKED_MEMBERS.contains(&key) => return member.skip(),
            _ => member.value(&FieldSet::All)?,
        };
        if key == "kind"
            && let Some(Value::String(kind)) = value.get("kind")
        {
            self.is_kind_repeated |= self.fields.is_some();
            self.fields = (self.fields_of)(kind);
        }
        self.request.insert(key.into(), value);
        Ok(())
    }
}

/// Refuses names that no API server sends: they would be kept in counters and repeated in answers.
fn check_lengths(request: &Value) -> Result<(), BadReview> {
    const NAMES: [(&str, &[&str]); 6] = [
        ("kind", &["group", "version", "kind"]),
        ("resource", &["group", "version", "resource"]),
        ("subResource", &[]),
        ("namespace", &[]),
        ("operation", &[]),
        ("uid", &[]),
    ];
    for (name, parts) in NAMES {
        let Some(value) = request.get(name) else { continue };
        let most = if name == "uid" { MAX_UID_BYTES } else { MAX_API_NAME_BYTES };
        let own = parts.is_empty().then_some((name, value));
        let below = parts.iter().filter_map(|part| Some((*part, value.get(part)?)));
        for (part, text) in own.into_iter().chain(below) {
            let length = text.as_str().map_or(0, str::len);
            if length > most {
                let path = if parts.is_empty() { name.to_owned() } else { format!("{name}.{part}") };
                return Err(BadReview(format!(
                    "`request.{path}` has {length} bytes, at most {most} are taken"
                )));
            }
        }
    }
    Ok(())
}
