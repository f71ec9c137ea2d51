//! What a `generate` rule makes, as an expression of a GeneratingPolicy.

use kubewright_jmespath::JmesPathFunctions;
use kubewright_value::{Map, Step, Text, Value};

use super::text::string_literal;
use super::values::{ValueTranslator, rule_scope};
use crate::resources::{self, KindLookup};
use crate::{ConversionResult, refuse_conversion};
use kubewright_dialect_kit::fields::{Located, child_path};
use kubewright_kyverno::source::{DownstreamContent, DownstreamSource, GenerateSource, RuleSource};

/// Returns the expressions that make the objects of `generate`.
///
/// # Errors
/// When CEL cannot make the same objects.
pub(crate) fn translate_generate(
    rule: &RuleSource,
    generate: &GenerateSource,
    functions: &JmesPathFunctions,
) -> ConversionResult<Vec<String>> {
    let scope = rule_scope(rule)?;
    let writer = GenerateTranslator { values: ValueTranslator { scope: &scope, functions } };
    generate.downstreams.iter().map(|one| writer.downstream(one)).collect()
}

struct GenerateTranslator<'s> {
    values: ValueTranslator<'s>,
}

impl GenerateTranslator<'_> {
    fn downstream(&self, one: &DownstreamSource) -> ConversionResult<String> {
        if let Some(each) = &one.each {
            return refuse_conversion("`foreach`: an object for each element of a list", &each.list.path);
        }
        let namespace = self.field(one.namespace.as_ref(), &one.path)?;
        let objects = match &one.content {
            DownstreamContent::Nothing => format!("[{}]", self.object(one, &Map::new(), &one.path)?),
            DownstreamContent::Data(data) => match data.value.as_object() {
                Some(map) => format!("[{}]", self.object(one, map, &data.path)?),
                None => return refuse_conversion("`data` is not a map", &data.path),
            },
            DownstreamContent::Clone { name, namespace: from, path } => {
                let copy = self.copy(one, name.as_ref(), from.as_ref(), path)?;
                let from = self.field(from.as_ref(), path)?;
                // A source is not copied onto itself.
                return Ok(format!("{namespace} == {from} || generator.Apply({namespace}, [{copy}])"));
            }
            DownstreamContent::CloneList { path, .. } => {
                return refuse_conversion(
                    "`cloneList`: sources in the namespace of the copies are left out",
                    path,
                );
            }
        };
        Ok(format!("generator.Apply({namespace}, {objects})"))
    }

    /// Returns the text of a field; empty where it is not written.
    fn field(&self, written: Option<&Located<Text>>, at: &[Step]) -> ConversionResult<String> {
        match written {
            Some(text) => self.values.text(&text.value, &text.path),
            None => self.values.text("", at),
        }
    }

    /// Returns an object with the content of `data`. The kind in the data wins, the version of the block does.
    fn object(&self, one: &DownstreamSource, data: &Map, at: &[Step]) -> ConversionResult<String> {
        let kind = match data.get("kind") {
            Some(Value::String(kind)) if !kind.is_empty() => self.values.text(kind, at)?,
            Some(_) => return refuse_conversion("a kind that is not a text", at),
            None => self.field(one.kind.as_ref(), at)?,
        };
        let mut entries = vec![
            format!("\"apiVersion\": dyn({})", self.field(one.api_version.as_ref(), at)?),
            format!("\"kind\": dyn({kind})"),
            format!("\"metadata\": dyn({})", self.metadata(one, data.get("metadata"), at)?),
        ];
        for (key, value) in data.iter() {
            if ["apiVersion", "kind", "metadata"].contains(&key.as_str()) {
                continue;
            }
            let path = child_path(at, key.as_str());
            if key.contains("{{") || key.contains("$(") {
                return refuse_conversion("a key has variables in it", &path);
            }
            entries.push(format!("{}: dyn({})", string_literal(key), self.values.value(value, &path)?));
        }
        Ok(format!("{{{}}}", entries.join(", ")))
    }

    fn metadata(
        &self,
        one: &DownstreamSource,
        written: Option<&Value>,
        at: &[Step],
    ) -> ConversionResult<String> {
        let path = child_path(at, "metadata");
        let mut entries = vec![format!("\"name\": dyn({})", self.field(one.name.as_ref(), at)?)];
        let written = match written {
            None => return Ok(format!("{{{}}}", entries.join(", "))),
            Some(Value::Object(written)) => written,
            Some(_) => return refuse_conversion("`metadata` is not a map", &path),
        };
        for (key, value) in written.iter().filter(|(key, _)| !["name", "namespace"].contains(&key.as_str())) {
            let path = child_path(&path, key.as_str());
            entries.push(format!("{}: dyn({})", string_literal(key), self.values.value(value, &path)?));
        }
        Ok(format!("{{{}}}", entries.join(", ")))
    }

    /// Returns the source of a copy, which must have another name or namespace than the copy.
    fn copy(
        &self,
        one: &DownstreamSource,
        name: Option<&Located<Text>>,
        namespace: Option<&Located<Text>>,
        at: &[Step],
    ) -> ConversionResult<String> {
        if located_text(name) != located_text(one.name.as_ref()) {
            return refuse_conversion("`clone` under another name", at);
        }
        let (version, kind) = (located_text(one.api_version.as_ref()), located_text(one.kind.as_ref()));
        let selector = format!("{version}/{kind}");
        let resource = match resources::find_resources(&selector) {
            KindLookup::Known(found) => found.first().map(|resource| resource.name.clone()),
            KindLookup::Guessed(resource) => Some(resource.name),
            KindLookup::Wild => None,
        };
        let Some(resource) = resource else {
            return refuse_conversion("`clone` of a kind that is not known", at);
        };
        let [name, namespace] = [self.field(name, at)?, self.field(namespace, at)?];
        Ok(format!(
            "resource.Get({}, {}, {namespace}, {name})",
            string_literal(version),
            string_literal(&resource)
        ))
    }
}

fn located_text(written: Option<&Located<Text>>) -> &str {
    written.map(|text| text.value.as_str()).unwrap_or_default()
}
