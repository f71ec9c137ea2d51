//! `/explain` and `/schema`: pages and schemas that are part of the binary.

use kubewright_ui::{PageContent, PageRequest};
use kubewright_value::{Map, Value, json};

use super::markdown::markdown_html;
use super::shipped::packed_text;
use crate::commands::explain::explain_page;

/// The schemas by the kinds of documents that they describe.
const SCHEMAS: [(&str, &str); 3] = [
    ("test", crate::commands::test::SCHEMA),
    ("traitstack", crate::commands::render::SCHEMA),
    ("project", include_str!("../../../schemas/kubewright.schema.json")),
];

/// Answers `/openapi.json`.
///
/// # Errors
/// Never: it is JSON.
pub(super) fn answer_openapi() -> Result<Value, PageContent> {
    schema_value(packed_text("schemas/page-api.openapi.json"))
}

/// Answers `/explain/{code}`.
///
/// # Errors
/// When there is no such page.
pub(super) fn answer_explain(request: &PageRequest) -> Result<Value, PageContent> {
    let code = request.parameters.first().map(String::as_str).unwrap_or_default();
    let page = explain_page(code).map_err(|failure| PageContent::error(404, &failure.to_string(), None))?;
    let title = page.lines().next().unwrap_or_default().trim_start_matches('#').trim();
    Ok(Map::from([
        ("code", Value::from(code)),
        ("title", title.into()),
        ("markdown", page.into()),
        ("html", markdown_html(page).into()),
    ])
    .into())
}

/// Answers `/schema/{kind}`.
///
/// # Errors
/// When there is no such schema.
pub(super) fn answer_schema(request: &PageRequest) -> Result<Value, PageContent> {
    let kind = request.parameters.first().map(|kind| kind.to_lowercase()).unwrap_or_default();
    if kind == "trace" {
        return schema_value(packed_text("schemas/trace.schema.json"));
    }
    let Some((_, text)) = SCHEMAS.iter().find(|(name, _)| *name == kind) else {
        let names: Vec<String> = SCHEMAS.iter().map(|(name, _)| format!("`{name}`")).collect();
        let message = format!("there is no schema `{kind}`; there are {} and `trace`", names.join(", "));
        return Err(PageContent::error(404, &message, None));
    };
    schema_value(text)
}

fn schema_value(text: &str) -> Result<Value, PageContent> {
    json::parse(text).map_err(|error| PageContent::error(500, &error.to_string(), None))
}
