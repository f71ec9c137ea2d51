//! Mutations as policies write them.

use kubewright_cel_rules::MutationLanguage;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};
use kubewright_value::Text;

/// One of the `mutations`.
#[derive(Debug, Clone)]
pub(crate) struct MutationSource {
    pub(crate) language: MutationLanguage,
    pub(crate) expression: Located<Text>,
}

/// Reads `mutations`; one that cannot be read is reported and left out.
pub(crate) fn read_mutations<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Vec<MutationSource> {
    let items = reader.objects(spec, "mutations").unwrap_or_default();
    items.iter().filter_map(|item| read_mutation(reader, item)).collect()
}

fn read_mutation<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<MutationSource> {
    reader.only(item, &["patchType", "applyConfiguration", "jsonPatch"]);
    let words = [
        ("ApplyConfiguration", MutationLanguage::ApplyConfiguration),
        ("JSONPatch", MutationLanguage::JsonPatch),
    ];
    let written = reader.filled(item, "patchType")?;
    let language = reader.one_of(&written, "patchType", &words)?;
    let key = match language {
        MutationLanguage::ApplyConfiguration => "applyConfiguration",
        MutationLanguage::JsonPatch => "jsonPatch",
    };
    let Some(patch) = reader.object(item, key) else {
        reader.missing(item, key);
        return None;
    };
    reader.only(&patch, &["expression"]);
    Some(MutationSource { language, expression: reader.filled(&patch, "expression")? })
}

/// Reads `reinvocationPolicy`; returns whether it is `IfNeeded`.
pub(crate) fn read_reinvocation<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> bool {
    let text = reader.string(spec, "reinvocationPolicy").filter(|text| !text.value.is_empty());
    let words = [("Never", false), ("IfNeeded", true)];
    text.and_then(|text| reader.one_of(&text, "reinvocationPolicy", &words)).unwrap_or(false)
}
