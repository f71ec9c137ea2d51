//! The examples that ship: folders of rules with their tests, packed into the binary.
//!
//! What the files of an example are for is what its test says.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;
use kubewright_files as files;
use kubewright_gotemplate::{FunctionHelp, FunctionSet};
use kubewright_patterns::shipped::shipped_patterns;
use kubewright_ui::{PageContent, PageRequest, TextRole};
use kubewright_value::{Map, Value, json, yaml};

use crate::commands::explain::page_first_sentence;
use crate::output::yaml_text;

static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/examples.deflate"));

/// The packed files by their paths.
static FILES: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let mut text = String::new();
    // It was packed with the program, so it can be read.
    let _ = DeflateDecoder::new(PACKED).read_to_string(&mut text);
    let (mut files, mut rest) = (BTreeMap::new(), text.as_str());
    while let Some((head, after)) = rest.split_once('\n') {
        let Some((name, length)) = head.rsplit_once(' ') else { break };
        let Some((content, after)) = length.parse().ok().and_then(|length| after.split_at_checked(length))
        else {
            break;
        };
        files.insert(name.to_owned(), content.to_owned());
        rest = after;
    }
    files
});

/// All examples, sorted by their ids.
static EXAMPLES: LazyLock<Vec<ShippedExample>> = LazyLock::new(|| {
    let mut examples: Vec<ShippedExample> = FILES.keys().filter_map(|path| example_at(path)).collect();
    examples.sort_by(|one, other| one.id.cmp(&other.id));
    examples
});

/// An example.
#[derive(Debug)]
struct ShippedExample {
    /// The folder below `examples/`: `LANGUAGE/NAME`.
    id: String,
    /// What its first comment or its page says.
    description: String,
    files: Vec<(String, TextRole, String)>,
    operation: String,
}

/// The fields of test files that name files, and what these are for.
const TEST_FIELDS: [(&str, TextRole); 15] = [
    ("rules", TextRole::Rules),
    ("policies", TextRole::Rules),
    ("resources", TextRole::Objects),
    ("jsonPayloads", TextRole::Objects),
    ("exceptions", TextRole::Exceptions),
    ("world", TextRole::World),
    ("context", TextRole::World),
    ("clusterResources", TextRole::World),
    ("apiCallResponses", TextRole::World),
    ("globalContextEntries", TextRole::World),
    ("paramResources", TextRole::World),
    ("targetResources", TextRole::World),
    ("variables", TextRole::Parameters),
    ("values", TextRole::Parameters),
    ("userinfo", TextRole::User),
];

/// Returns the example whose test is at `path`.
fn example_at(path: &str) -> Option<ShippedExample> {
    let file = Path::new(path);
    if !files::TEST_FILES.iter().any(|name| file.file_name().is_some_and(|own| own == *name)) {
        return None;
    }
    let folder = file.parent()?.to_str()?;
    let test = files::parse_documents(path, FILES.get(path)?).into_iter().next()?.value;
    match folder.strip_prefix("patterns/") {
        Some(name) => pattern_example(name, &test),
        None => rule_example(folder.strip_prefix("rules/")?, folder, &test),
    }
}

fn rule_example(id: &str, folder: &str, test: &Value) -> Option<ShippedExample> {
    let mut texts: Vec<(String, TextRole, String)> = Vec::new();
    for (field, role) in TEST_FIELDS {
        let names = match test.get(field) {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(list) => list.as_array().into_iter().flatten().filter_map(Value::as_str).collect(),
            None => Vec::new(),
        };
        for name in names {
            let path = files::relative_path(Path::new(folder), name);
            let below =
                FILES.range(path.clone()..).take_while(|(known, _)| Path::new(known).starts_with(&path));
            texts.extend(below.map(|(known, text)| (short_name(folder, known), role, text.clone())));
        }
    }
    texts.extend(case_parameters(test));
    let first = texts.iter().find(|(_, role, _)| *role == TextRole::Rules)?;
    let description = match leading_comment(&first.2) {
        comment if comment.is_empty() => written_description(&first.2),
        comment => comment,
    };
    if !texts.iter().any(|(_, role, _)| *role == TextRole::Objects) {
        texts.push(("objects.yaml".to_owned(), TextRole::Objects, case_objects(test)?));
    }
    let operation = common_operation(test);
    let (language, name) = id.split_once('/').unwrap_or((id, id));
    let id = format!("{language}/{}", name.replace('/', "-"));
    Some(ShippedExample { id, description, files: texts, operation })
}

/// Returns the operation that all cases have.
fn common_operation(test: &Value) -> String {
    let cases = ["results", "cases"].iter().find_map(|field| test.get(field)?.as_array());
    let of_case = |case: &Value| case.str_at(&["operation"]).to_owned();
    let own = test.str_at(&["operation"]);
    let mut operations: Vec<String> = cases.into_iter().flatten().map(of_case).collect();
    operations.dedup();
    match operations.as_slice() {
        [one] if !one.is_empty() => one.clone(),
        _ => own.to_owned(),
    }
}

/// Returns the parameters of the first case about a trait as a file.
fn case_parameters(test: &Value) -> Option<(String, TextRole, String)> {
    let case = test.get("cases")?.as_array()?.iter().find(|case| case.get("trait").is_some())?;
    let given = ["parameters", "environmentConfigs"].into_iter();
    let mut given: Map = given.filter_map(|name| Some((name.into(), case.get(name)?.clone()))).collect();
    let mut context = case.get("context").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(metadata) = case.get("metadata") {
        context.insert("metadata".into(), metadata.clone());
    }
    if !context.is_empty() {
        given.insert("context".into(), context.into());
    }
    (!given.is_empty())
        .then(|| ("parameters.yaml".to_owned(), TextRole::Parameters, yaml::write(&given.into())))
}

/// Returns the name of a file in its example. Files of other folders are called by their whole path.
fn short_name(folder: &str, path: &str) -> String {
    let own = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    own.unwrap_or(path).to_owned()
}

fn pattern_example(name: &str, test: &Value) -> Option<ShippedExample> {
    let pattern = shipped_patterns().iter().find(|pattern| pattern.name == name)?;
    let files = vec![
        ("pattern.yaml".to_owned(), TextRole::Rules, pattern.source().to_owned()),
        ("objects.yaml".to_owned(), TextRole::Objects, case_objects(test)?),
    ];
    let description = page_first_sentence(pattern);
    Some(ShippedExample { id: format!("pattern/{name}"), description, files, operation: String::new() })
}

/// Returns the objects of the first case that finds something, as a stream.
fn case_objects(test: &Value) -> Option<String> {
    let cases = test.get("cases")?.as_array()?;
    let finds =
        |case: &&Value| case.get("findings").and_then(Value::as_array).is_some_and(|found| !found.is_empty());
    let case = cases.iter().find(finds).or(cases.first())?;
    let objects = case.get("objects")?.as_array()?;
    Some(objects.iter().map(yaml_text).collect::<Vec<_>>().join("---\n"))
}

/// Returns the first sentence of the description that a pattern or a policy has of itself.
fn written_description(text: &str) -> String {
    let document = files::parse_documents("example", text).into_iter().next();
    let value = document.map(|document| document.value).unwrap_or_default();
    let paths: [&[&str]; 3] = [&["spec", "description"], &["metadata", "displayName"], &["metadata", "name"]];
    let found = paths.iter().map(|path| value.str_at(path)).find(|text| !text.is_empty()).unwrap_or_default();
    found.split_once(". ").map_or(found, |(first, _)| first).trim_end_matches('.').to_owned()
}

/// Returns the first sentence of the comment that a text starts with.
fn leading_comment(text: &str) -> String {
    let lines = text.lines().take_while(|line| line.starts_with('#'));
    let comment: Vec<&str> = lines.map(|line| line.trim_start_matches('#').trim()).collect();
    let comment = comment.join(" ");
    comment.split_once(". ").map_or(comment.as_str(), |(first, _)| first).trim_end_matches('.').to_owned()
}

impl ShippedExample {
    fn language(&self) -> &str {
        self.id.split_once('/').map(|(language, _)| language).unwrap_or_default()
    }

    /// Returns its name in words.
    fn title(&self) -> String {
        let name = self.id.split_once('/').map(|(_, name)| name).unwrap_or_default();
        let words = name.replace(['-', '/'], " ");
        let mut letters = words.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
    }

    fn head(&self) -> Map {
        Map::from([
            ("id", Value::from(self.id.as_str())),
            ("language", self.language().into()),
            ("title", self.title().into()),
            ("description", self.description.as_str().into()),
        ])
    }

    /// Returns the kinds that its files name, which a person may search for.
    fn words(&self) -> String {
        let mut words: Vec<&str> = Vec::new();
        for line in self.files.iter().flat_map(|(_, _, text)| text.lines()) {
            let kind = line.trim_start().strip_prefix("kind:").map(str::trim);
            if let Some(kind) =
                kind.filter(|kind| kind.chars().all(char::is_alphanumeric) && !words.contains(kind))
            {
                words.push(kind);
            }
        }
        words.join(" ")
    }
}

/// Answers `/examples`.
pub(super) fn answer_examples() -> Value {
    let value = |example: &ShippedExample| {
        let mut value = example.head();
        value.insert("words".into(), example.words().into());
        Value::from(value)
    };
    Map::from([("examples", Value::array(EXAMPLES.iter().map(value).collect()))]).into()
}

/// Answers `/examples/{language}/{name}`.
///
/// # Errors
/// When there is no such example.
pub(super) fn answer_example(request: &PageRequest) -> Result<Value, PageContent> {
    let id = request.parameters.join("/");
    let Some(example) = EXAMPLES.iter().find(|example| example.id == id) else {
        return Err(PageContent::error(404, &format!("there is no example `{id}`"), None));
    };
    let file = |(name, role, text): &(String, TextRole, String)| {
        Value::from(Map::from([
            ("name", Value::from(name.as_str())),
            ("role", role.name().into()),
            ("text", text.as_str().into()),
        ]))
    };
    let mut value = example.head();
    value.insert("files".into(), Value::array(example.files.iter().map(file).collect()));
    let mut request = Map::new();
    if !example.operation.is_empty() {
        request.insert("operation".into(), example.operation.as_str().into());
    }
    value.insert("request".into(), request.into());
    Ok(value.into())
}

/// Returns a packed file that is no example; empty where there is none.
pub(super) fn packed_text(name: &str) -> &'static str {
    FILES.get(name).map(String::as_str).unwrap_or_default()
}

/// An example of a function, and what it results in.
#[derive(Debug)]
pub(super) struct FunctionExample {
    pub(super) name: String,
    pub(super) example: String,
    pub(super) result: String,
}

/// Returns the examples of the functions of `language`.
pub(super) fn function_examples(language: &str) -> Vec<FunctionExample> {
    if language == "gotemplate" {
        return FunctionSet::rules().names().into_iter().filter_map(template_example).collect();
    }
    let lines = packed_text("functions.jsonl").lines().filter_map(|line| json::parse(line).ok());
    let own = lines.filter(|line| line.str_at(&["language"]) == language);
    own.map(|line| FunctionExample {
        name: line.str_at(&["name"]).to_owned(),
        example: line.str_at(&["example"]).to_owned(),
        result: line.str_at(&["result"]).to_owned(),
    })
    .collect()
}

fn template_example(name: &str) -> Option<FunctionExample> {
    let FunctionHelp { example, result, .. } = FunctionSet::help(name)?;
    let is_shown = !example.is_empty();
    is_shown.then(|| FunctionExample {
        name: name.to_owned(),
        example: example.clone(),
        result: result.clone(),
    })
}

#[cfg(test)]
mod tests;
