//! Answers to what rules ask besides objects: calls, entries that the cluster shares, images.

use std::collections::HashMap;

use kubewright_engine::{Answer, ApiCall, Query};
use kubewright_jmespath::{JmesPathExpression, JmesPathFunctions, JmesPathLanguage};
use kubewright_value::{Budget, Location, Map, Text, Value};

use crate::fields::Reader;

/// The fields of an answer to a call.
const API_CALL_FIELDS: &[&str] = &["url", "urlPath", "method", "response"];
/// The fields of an entry that the cluster shares.
const SHARED_FIELDS: &[&str] = &["name", "data", "resources", "resourceFiles", "fieldPath", "projections"];
const IMAGE_FIELDS: &[&str] = &[
    "image",
    "resolvedImage",
    "registry",
    "repository",
    "tag",
    "digest",
    "imageIndex",
    "manifest",
    "config",
];

/// Answers by what was asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answers {
    /// By address.
    calls: HashMap<Text, Vec<CallAnswer>>,
    shared: HashMap<Text, Value>,
    images: HashMap<Text, Value>,
}

/// What is answered to calls of one method, or of all of them.
#[derive(Debug, Clone)]
struct CallAnswer {
    method: Option<Text>,
    status: i64,
    body: Value,
}

/// An entry that the cluster shares, as it is written.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    name: Text,
    /// Where it stands.
    pub(crate) location: Location,
    root: Option<Value>,
    /// Files of objects that are the root.
    pub(crate) files: Vec<String>,
    field_path: Option<String>,
    projections: Vec<(Text, String)>,
}

impl Answers {
    /// Returns what was answered before, if it was.
    pub(super) fn get(&self, query: &Query) -> Option<Answer> {
        match query {
            Query::Api(call) => {
                let answer = self.call(call)?;
                let is_success = (200..300).contains(&answer.status);
                Some(if is_success { Answer::Found(answer.body.clone()) } else { Answer::Absent })
            }
            Query::Http(call) => {
                let answer = self.call(call)?;
                let response =
                    Map::from([("statusCode", answer.status.into()), ("body", answer.body.clone())]);
                Some(Answer::Found(response.into()))
            }
            // Whoever lists entries lists all of them.
            Query::Shared(_) if self.shared.is_empty() => None,
            Query::Shared(name) => Some(self.shared.get(name).cloned().map_or(Answer::Absent, Answer::Found)),
            Query::Image(image) => self.images.get(&image.reference).cloned().map(Answer::Found),
            Query::Object(_) => None,
        }
    }

    fn call(&self, call: &ApiCall) -> Option<&CallAnswer> {
        let known = self.calls.get(&call.url)?;
        let exact = known.iter().find(|answer| answer.method.as_ref() == Some(&call.method));
        exact.or_else(|| known.iter().find(|answer| answer.method.is_none()))
    }

    /// Reads `apiCallResponses`.
    pub(crate) fn read_calls(&mut self, reader: &mut Reader<'_>) {
        for (url, answer) in reader.each("apiCallResponses", call) {
            let known = self.calls.entry(url.as_str().into()).or_default();
            if known.iter().any(|other| other.method == answer.method) {
                let method = answer.method.as_deref().unwrap_or("any method");
                reader.wrong("apiCallResponses", format!("there are two answers to {method} `{url}`"));
            }
            known.push(answer);
        }
    }

    /// Reads `images` of a context.
    pub(crate) fn read_images(&mut self, reader: &mut Reader<'_>) {
        for (reference, image) in reader.each("images", image) {
            self.images.insert(reference.into(), image);
        }
    }

    /// Adds an entry that the cluster shares; `objects` are those of its files.
    ///
    /// # Errors
    /// When one of its expressions has no result.
    pub(crate) fn share(&mut self, entry: Shared, objects: Vec<Value>) -> Result<(), String> {
        let mut root = entry.root.unwrap_or_else(|| Value::array(objects));
        if let Some(path) = &entry.field_path {
            root = find(path, &root)?;
        }
        if !entry.projections.is_empty() {
            let mut all = Map::new();
            for (name, path) in &entry.projections {
                let value = find(path, &root)?;
                self.shared.insert(format!("{}.{name}", entry.name).into(), value.clone());
                all.insert(name.clone(), value);
            }
            root = all.into();
        }
        self.shared.insert(entry.name, root);
        Ok(())
    }
}

/// Reads `globalContextEntries`.
pub(crate) fn read_shared(reader: &mut Reader<'_>) -> Vec<Shared> {
    reader.each("globalContextEntries", |reader| {
        reader.check_fields(SHARED_FIELDS);
        let sources = ["data", "resources", "resourceFiles"];
        if sources.iter().filter(|field| reader.value(field).is_some()).count() != 1 {
            reader.missing("name", "an entry needs one of `data`, `resources` and `resourceFiles`");
        }
        Shared {
            name: reader.required_text("name", "a global context entry").into(),
            location: reader.location(),
            root: reader.value("data").or_else(|| reader.value("resources")).cloned(),
            files: reader.texts("resourceFiles"),
            field_path: reader.text("fieldPath"),
            projections: reader.each("projections", |reader| {
                reader.check_fields(&["name", "path"]);
                let name = reader.required_text("name", "a projection").into();
                (name, reader.required_text("path", "a projection"))
            }),
        }
    })
}

fn call(reader: &mut Reader<'_>) -> (String, CallAnswer) {
    reader.check_fields(API_CALL_FIELDS);
    let url = reader.text("url").or_else(|| reader.text("urlPath"));
    if url.is_none() {
        reader.missing("url", "an answer needs `url` or `urlPath`");
    }
    let method = reader.text("method").map(|method| method.trim().to_uppercase());
    if method.as_ref().is_some_and(|method| !["", "GET", "POST"].contains(&method.as_str())) {
        reader.wrong("method", "`method` is GET or POST".to_owned());
    }
    if reader.value("response").is_none() {
        reader.missing("response", "an answer needs `response`");
    }
    let answer = reader.field("response", |reader| {
        reader.check_fields(&["statusCode", "body"]);
        let status = reader.value("statusCode").map_or(Some(200), Value::as_i64);
        if !status.is_some_and(|status| (100..600).contains(&status)) {
            reader.wrong("statusCode", "`statusCode` is a number between 100 and 599".to_owned());
        }
        if reader.value("body").is_none() {
            reader.missing("body", "a response needs `body`");
        }
        (status.unwrap_or_default(), reader.value("body").cloned().unwrap_or_default())
    });
    let method = method.filter(|method| !method.is_empty()).map(Text::from);
    let (status, body) = answer.unwrap_or_default();
    (url.unwrap_or_default().trim().to_owned(), CallAnswer { method, status, body })
}

/// Returns the reference of an image, and what a registry would say about it.
fn image(reader: &mut Reader<'_>) -> (String, Value) {
    reader.check_fields(IMAGE_FIELDS);
    let mut said = Map::new();
    let words = [
        ("image", "image"),
        ("resolvedImage", "resolvedImage"),
        ("registry", "registry"),
        ("repository", "repository"),
        ("tag", "tag"),
        ("digest", "digest"),
        ("manifest", "manifest"),
        ("manifestList", "imageIndex"),
        ("configData", "config"),
    ];
    for (word, field) in words {
        if let Some(value) = reader.value(field) {
            said.insert(word.into(), value.clone());
        }
    }
    if let Some(identifier) = reader.value("digest").or_else(|| reader.value("tag")) {
        said.insert("identifier".into(), identifier.clone());
    }
    (reader.required_text("image", "an image"), said.into())
}

fn find(path: &str, root: &Value) -> Result<Value, String> {
    let expression =
        JmesPathExpression::parse_as(path, &JmesPathFunctions::kubernetes(), JmesPathLanguage::Forgiving)
            .map_err(|error| format!("`{path}` is no expression: {error}"))?;
    expression.evaluate(root, &mut Budget::default()).map_err(|error| format!("`{path}`: {error}"))
}
