//! Reads `imageExtractors`: where objects of a kind name their images.

use kubewright_engine::Diagnostic;
use kubewright_value::Text;

use super::super::super::diagnostics as code;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};

/// Where objects of one kind name images.
#[derive(Debug, Clone)]
pub(crate) struct ImageExtractor {
    /// The keys to the images, or to the values that hold them; `*` is every element.
    pub(crate) keys: Vec<Text>,
    /// The field with the image in what the keys lead to; empty when they lead to the image itself.
    pub(crate) value: Text,
    /// An expression that makes the image of the text.
    pub(crate) jmes_path: Option<Located<Text>>,
}

/// Reads the extractors of `rule`.
pub(super) fn read_extractors<'d>(
    reader: &mut DocumentReader<'d>,
    rule: &DocumentFields<'d>,
    mutates: bool,
) -> Vec<(Text, Vec<ImageExtractor>)> {
    let Some(kinds) = reader.object(rule, "imageExtractors") else { return Vec::new() };
    let names: Vec<Text> = kinds.values().into_iter().map(|(name, _)| name).collect();
    let mut extractors = Vec::with_capacity(names.len());
    for kind in names {
        let items = reader.objects(&kinds, &kind).unwrap_or_default();
        let read = items.iter().filter_map(|item| read_extractor(reader, item, mutates)).collect();
        extractors.push((kind, read));
    }
    extractors
}

fn read_extractor<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    mutates: bool,
) -> Option<ImageExtractor> {
    reader.only(item, &["path", "value", "name", "key", "jmesPath"]);
    let text = |reader: &mut DocumentReader<'d>, key: &str| {
        reader.string(item, key).map(|text| text.value).unwrap_or_default()
    };
    let (value, key) = (text(reader, "value"), text(reader, "key"));
    reader.string(item, "name");
    let jmes_path = reader.string(item, "jmesPath").filter(|text| !text.value.is_empty());
    let path = reader.required_string(item, "path")?;
    let keys: Vec<Text> =
        path.value.split('/').filter(|key| !key.is_empty()).map(|key| unescape_pointer(key).into()).collect();
    let problem = if keys.is_empty() {
        Some((&path, "the path names no field"))
    } else if keys.last().is_some_and(|key| key == "*") && value.is_empty() && !key.is_empty() {
        Some((&path, "`key` needs `value`: the elements are images already"))
    } else {
        jmes_path.as_ref().filter(|_| mutates).map(|path| {
            (path, "`jmesPath` cannot be used with `mutateDigest`: the image in the object is another text")
        })
    };
    if let Some((place, message)) = problem {
        let location = reader.place(&place.path);
        let help = "write a path such as `/spec/steps/*/image`, and `mutateDigest: false` beside `jmesPath`";
        reader.report(Diagnostic::new(&code::IMAGE_EXTRACTOR, message, location).help(help));
        return None;
    }
    Some(ImageExtractor { keys, value, jmes_path })
}

fn unescape_pointer(key: &str) -> String {
    key.replace("~1", "/").replace("~0", "~")
}
