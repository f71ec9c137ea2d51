//! The body of a request: texts with their roles, and options.

use kubewright_ui::PageContent;
use kubewright_value::{Value, json};

/// The maximum number of files of a request.
const MAX_FILES: usize = 500;

/// The maximum number of values in a body.
const MAX_BODY_NODES: usize = 100_000;

/// The body of a request.
#[derive(Debug, Default)]
pub(super) struct PageBody {
    /// The texts.
    pub(super) files: Vec<PageText>,
    /// All of the body, for the options of one route.
    pub(super) value: Value,
}

/// A text of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PageText {
    /// What answers call it.
    pub(super) name: String,
    /// What it is for.
    pub(super) role: TextRole,
    pub(super) text: String,
}

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextRole {
    Rules,
    Objects,
    Exceptions,
    World,
    Old,
    Parameters,
    User,
    Test,
}

/// The roles by their names.
pub(super) const TEXT_ROLES: [(&str, TextRole); 8] = [
    ("rules", TextRole::Rules),
    ("objects", TextRole::Objects),
    ("exceptions", TextRole::Exceptions),
    ("world", TextRole::World),
    ("old", TextRole::Old),
    ("parameters", TextRole::Parameters),
    ("user", TextRole::User),
    ("test", TextRole::Test),
];

impl TextRole {
    /// Returns its name.
    pub(super) fn name(self) -> &'static str {
        TEXT_ROLES.iter().find(|(_, role)| *role == self).map(|(name, _)| *name).unwrap_or_default()
    }
}

impl PageBody {
    /// Reads a body.
    ///
    /// # Errors
    /// When it is not what the API describes.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, PageContent> {
        let text = std::str::from_utf8(bytes).map_err(|_| bad_request("the body is not UTF-8"))?;
        let value = json::parse_within(text, MAX_BODY_NODES)
            .map_err(|error| bad_request(&format!("the body is not JSON: {error}")))?;
        if value.as_object().is_none() {
            return Err(bad_request("the body is not a JSON object"));
        }
        let files = match value.get("files") {
            None | Some(Value::Null) => Vec::new(),
            Some(list) => read_files(list)?,
        };
        Ok(Self { files, value })
    }

    /// Returns the text at `path`; empty where there is none.
    pub(super) fn text_at(&self, path: &[&str]) -> &str {
        self.value.str_at(path)
    }

    /// Returns the texts with `role`.
    pub(super) fn with_role(&self, role: TextRole) -> impl Iterator<Item = &PageText> {
        self.files.iter().filter(move |file| file.role == role)
    }
}

fn read_files(list: &Value) -> Result<Vec<PageText>, PageContent> {
    let list = list.as_array().ok_or_else(|| bad_request("`files` is not a list"))?;
    if list.len() > MAX_FILES {
        return Err(bad_request(&format!("there are more than {MAX_FILES} files")));
    }
    list.iter().map(read_file).collect()
}

fn read_file(value: &Value) -> Result<PageText, PageContent> {
    let field = |name: &str| {
        let text = value.get(name).and_then(Value::as_str);
        text.map(str::to_owned)
            .ok_or_else(|| bad_request(&format!("a file has no `{name}`, which is a text")))
    };
    let role = field("role")?;
    let Some((_, known)) = TEXT_ROLES.iter().find(|(name, _)| *name == role) else {
        let names: Vec<String> = TEXT_ROLES.iter().map(|(name, _)| format!("`{name}`")).collect();
        return Err(bad_request(&format!("unknown role `{role}`; the roles are {}", names.join(", "))));
    };
    let name = field("name")?;
    if name.is_empty() || name.len() > 256 || name.chars().any(char::is_control) {
        return Err(bad_request("the name of a file has 1 to 256 characters that can be shown"));
    }
    Ok(PageText { name, role: *known, text: field("text")? })
}

/// Returns the answer to a request that cannot be read.
pub(super) fn bad_request(message: &str) -> PageContent {
    PageContent::error(400, message, None)
}

#[cfg(test)]
mod tests {
    use super::{PageBody, TextRole};

    #[test]
    fn files_of_a_body_are_read() {
        let body =
            PageBody::read(br#"{"files": [{"name": "a.yaml", "role": "world", "text": "x"}], "to": "vap"}"#);
        let body = body.expect("a body");
        assert_eq!((body.files.len(), body.text_at(&["to"])), (1, "vap"));
        assert_eq!(
            body.with_role(TextRole::World).map(|file| file.name.as_str()).collect::<Vec<_>>(),
            ["a.yaml"]
        );
    }

    #[track_caller]
    fn check(body: &[u8], want: &str) {
        let refusal = PageBody::read(body).expect_err("a refusal");
        assert_eq!(refusal.status, 400);
        let text = String::from_utf8(refusal.body.to_vec()).expect("text");
        assert!(text.contains(want), "{text}");
    }

    #[test]
    fn wrong_bodies_are_refused() {
        check(b"", "not JSON");
        check(b"[]", "not a JSON object");
        check(b"\xff", "not UTF-8");
        check(br#"{"files": 1}"#, "`files` is not a list");
        check(br#"{"files": [{}]}"#, "no `role`");
        check(br#"{"files": [{"role": "rule", "name": "a", "text": ""}]}"#, "unknown role `rule`");
        check(br#"{"files": [{"role": "rules", "name": "", "text": ""}]}"#, "name of a file");
        check("[".repeat(100_000).as_bytes(), "not JSON");
    }
}
