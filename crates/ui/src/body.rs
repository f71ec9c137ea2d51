//! The body of a request: texts with their roles, and options.

use kubewright_value::{Value, json};

use crate::PageContent;

/// The maximum number of files of a request.
const MAX_FILES: usize = 500;

/// The maximum number of values in a body.
const MAX_BODY_NODES: usize = 100_000;

/// The body of a request.
#[derive(Debug, Default)]
pub struct PageBody {
    /// The texts.
    pub files: Vec<PageText>,
    /// All of the body, for the options of one route.
    pub value: Value,
}

/// A text of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageText {
    /// What answers call it.
    pub name: String,
    /// What it is for.
    pub role: TextRole,
    /// The text itself.
    pub text: String,
}

/// What a text is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextRole {
    /// Rules, traits and patterns.
    Rules,
    /// Objects that are judged.
    Objects,
    /// Exceptions from rules.
    Exceptions,
    /// What rules look up.
    World,
    /// Objects before an update.
    Old,
    /// Parameters of traits, or values of variables.
    Parameters,
    /// Who makes the request.
    User,
    /// A test file.
    Test,
}

/// The roles by their names.
pub const TEXT_ROLES: [(&str, TextRole); 8] = [
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
    #[must_use]
    pub fn name(self) -> &'static str {
        TEXT_ROLES.iter().find(|(_, role)| *role == self).map(|(name, _)| *name).unwrap_or_default()
    }
}

impl PageBody {
    /// Reads a body.
    ///
    /// # Errors
    /// When it is not what the API describes.
    pub fn read(bytes: &[u8]) -> Result<Self, PageContent> {
        Self::of_value(read_object(bytes)?)
    }

    /// Returns the body that a JSON object is.
    ///
    /// # Errors
    /// When it is not what the API describes.
    pub fn of_value(value: Value) -> Result<Self, PageContent> {
        let files = match value.get("files") {
            None | Some(Value::Null) => Vec::new(),
            Some(list) => read_files(list)?,
        };
        Ok(Self { files, value })
    }

    /// Returns the text at `path`; empty where there is none.
    #[must_use]
    pub fn text_at(&self, path: &[&str]) -> &str {
        self.value.str_at(path)
    }

    /// Returns the texts with `role`.
    pub fn with_role(&self, role: TextRole) -> impl Iterator<Item = &PageText> {
        self.files.iter().filter(move |file| file.role == role)
    }
}

/// Reads a body that is a JSON object.
///
/// # Errors
/// When it is not.
pub fn read_object(bytes: &[u8]) -> Result<Value, PageContent> {
    let text = std::str::from_utf8(bytes).map_err(|_| bad_request("the body is not UTF-8"))?;
    let value = json::parse_within(text, MAX_BODY_NODES)
        .map_err(|error| bad_request(&format!("the body is not JSON: {error}")))?;
    match value.as_object() {
        Some(_) => Ok(value),
        None => Err(bad_request("the body is not a JSON object")),
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
#[must_use]
pub fn bad_request(message: &str) -> PageContent {
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
