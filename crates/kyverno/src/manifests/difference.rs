//! The differences between an object and its signed manifest.
//!
//! A signature covers present and absent fields. Two kinds of differences are ignored, because the API server itself
//! makes them: images that differ only in `docker.io/` before or `:latest` behind them, and a field
//! of its own kinds that is missing and one that is empty. It adds and drops null, `{}` and `[]` there, and it drops
//! `""`; that it adds `""` is not known. Where an empty value is something, it counts on both sides: an item of a list,
//! a selector (an empty one selects everything), an entry of a map whose keys are free, such as labels, and every field
//! of a kind that the API server does not know by itself. The original is blind to all of these: it takes
//! `ingress: [{}]` for `ingress: []`, and `matchLabels: {app: web, nobody: ""}` for `matchLabels: {app: web}`.

use kubewright_value::{Budget, Exhausted, Map, Value, index_text, json};

use super::ignored::{IgnoredField, ManifestPath};
use crate::gotext;
use kubewright_value::CompactSort as _;

/// One field that differs.
#[derive(Debug, Clone)]
pub(super) struct ManifestDifference {
    /// Keys and indexes with dots between them.
    pub(super) key: String,
    /// As it was signed; nothing where it was not.
    pub(super) before: Option<Value>,
    /// As it is; nothing where it is not.
    pub(super) after: Option<Value>,
}

/// Where a missing selector selects everything too, and the API server writes it out.
const WEBHOOKS: &str = "admissionregistration.k8s.io/";

/// Built-in API groups: empty fields in their kinds may be added and removed by the API server.
const OWN_GROUPS: [&str; 23] = [
    "",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "apiregistration.k8s.io",
    "apps",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "coordination.k8s.io",
    "discovery.k8s.io",
    "events.k8s.io",
    "extensions",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "networking.k8s.io",
    "node.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "resource.k8s.io",
    "scheduling.k8s.io",
    "storage.k8s.io",
];

/// Fields of the API server's own kinds that are maps with free keys: an entry of them is something, whatever its value.
const FREE_MAPS: [&str; 24] = [
    "annotations",
    "attributes",
    "binaryData",
    "capacity",
    "data",
    "default",
    "defaultRequest",
    "definitions",
    "dependencies",
    "extra",
    "hard",
    "labels",
    "limits",
    "matchLabels",
    "nodeSelector",
    "options",
    "overhead",
    "parameters",
    "patternProperties",
    "properties",
    "requests",
    "selector",
    "stringData",
    "volumeAttributes",
];

/// The fields of a selector that are not maps of labels.
const SELECTOR_FIELDS: [&str; 2] = ["matchLabels", "matchExpressions"];

/// How many differences are written out.
const MAX_SHOWN: usize = 100;

/// Compares `object` with `signed`, and leaves out `ignored`; in the order of their paths.
pub(super) fn manifest_differences(
    signed: &Value,
    object: &Value,
    ignored: &[&IgnoredField],
    budget: &mut Budget,
) -> Result<Vec<ManifestDifference>, Exhausted> {
    let version = object.str_at(&["apiVersion"]);
    let has_selectors = !version.starts_with(WEBHOOKS);
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let mut walk = ManifestComparison {
        place: ManifestPath::default(),
        keys: Vec::new(),
        ignored,
        has_selectors,
        group,
        found: Vec::new(),
        budget,
    };
    walk.compare(Some(signed), Some(object), false)?;
    let mut found = walk.found;
    found.compact_sort_by(|one, other| one.key.cmp(&other.key));
    Ok(found)
}

/// Returns differences as Kyverno's messages list them.
pub(super) fn manifest_differences_text(
    differences: &[ManifestDifference],
    budget: &mut Budget,
) -> Result<String, Exhausted> {
    let mut text = String::from("{\"items\":[");
    for (i, difference) in differences.iter().take(MAX_SHOWN).enumerate() {
        text.push_str(if i > 0 { "," } else { "" });
        let (before, after) = (&difference.before, &difference.after);
        let written =
            |value: &Option<Value>| value.as_ref().map_or_else(|| "null".to_owned(), Value::to_string);
        let (before, after) = match (before, after) {
            (Some(one), Some(other)) if one.kind() != other.kind() => {
                (typed_value_text(one), typed_value_text(other))
            }
            _ => (written(before), written(after)),
        };
        let key = json::quote(&difference.key);
        let item = format!("{{\"key\":{key},\"values\":{{\"after\":{after},\"before\":{before}}}}}");
        budget.produce(item.len())?;
        text.push_str(&item);
    }
    text.push_str("]}");
    Ok(text)
}

fn typed_value_text(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    json::quote(&format!("(type: {}) {text}", gotext::go_type_name(value)))
}

struct ManifestComparison<'a> {
    /// Where the walk is.
    place: ManifestPath,
    /// The keys and indexes that lead there.
    keys: Vec<String>,
    ignored: &'a [&'a IgnoredField],
    /// Whether an empty selector is something.
    has_selectors: bool,
    /// The API group of the object.
    group: &'a str,
    found: Vec<ManifestDifference>,
    budget: &'a mut Budget,
}

impl ManifestComparison<'_> {
    /// Compares the values at one path. A value that `counts` matters even when it is empty.
    fn compare(
        &mut self,
        before: Option<&Value>,
        after: Option<&Value>,
        counts: bool,
    ) -> Result<(), Exhausted> {
        self.budget.step(1)?;
        match (before, after) {
            (Some(Value::Object(one)), Some(Value::Object(other))) => {
                for (key, value) in one.iter() {
                    let counts = self.counts(key);
                    self.below(key, |walk| walk.compare(Some(value), other.get(key), counts))?;
                }
                for (key, value) in other.iter().filter(|(key, _)| !one.contains_key(key)) {
                    if is_default(key, value, one, other) {
                        continue;
                    }
                    let counts = self.counts(key);
                    self.below(key, |walk| walk.compare(None, Some(value), counts))?;
                }
                Ok(())
            }
            (Some(Value::Array(one)), Some(Value::Array(other))) => {
                for i in 0..one.len().max(other.len()) {
                    self.below(&index_text(i), |walk| walk.compare(one.get(i), other.get(i), true))?;
                }
                Ok(())
            }
            (Some(one), Some(other)) if is_scalar_value(one) && is_scalar_value(other) => {
                if one != other && !is_same_image(&self.place.key, one, other) {
                    self.differ(Some(one), Some(other))?;
                }
                Ok(())
            }
            _ => {
                for (value, is_before) in [(before, true), (after, false)] {
                    if let Some(value) = value
                        && !self.all(value, is_before)?
                        && counts
                        && !self.is_pruned(value)
                        && (before.is_none() || after.is_none())
                    {
                        self.only(value, is_before)?;
                    }
                }
                Ok(())
            }
        }
    }

    /// Records everything in `value`, which one side alone has. Returns whether there was anything.
    fn all(&mut self, value: &Value, is_before: bool) -> Result<bool, Exhausted> {
        self.budget.step(1)?;
        let mut has_any = false;
        match value {
            Value::Null => {}
            // The API server drops a text that is empty, and adds none.
            Value::String(text) if text.is_empty() && is_before => {}
            Value::Object(map) => {
                for (key, value) in map.iter() {
                    has_any |= self.part(key, value, is_before, self.counts(key))?;
                }
            }
            Value::Array(items) => {
                for (i, item) in items.iter().enumerate() {
                    has_any |= self.part(&index_text(i), item, is_before, true)?;
                }
            }
            value => {
                self.only(value, is_before)?;
                has_any = true;
            }
        }
        Ok(has_any)
    }

    fn part(&mut self, key: &str, value: &Value, is_before: bool, counts: bool) -> Result<bool, Exhausted> {
        let mut has_any = false;
        self.below(key, |walk| {
            has_any = walk.all(value, is_before)?;
            if !has_any && counts && !walk.is_pruned(value) {
                walk.only(value, is_before)?;
                has_any = true;
            }
            Ok(())
        })?;
        Ok(has_any)
    }

    /// Returns whether the field `key` of the object at hand is something even when it is empty.
    fn counts(&self, key: &str) -> bool {
        let parent = self.keys.last().map_or("", String::as_str);
        let is_entry = FREE_MAPS.contains(&parent) && !SELECTOR_FIELDS.contains(&key);
        !OWN_GROUPS.contains(&self.group) || is_entry || self.is_selector(key)
    }

    /// Returns whether the API server leaves out such a value of a kind that it does not know by itself.
    fn is_pruned(&self, value: &Value) -> bool {
        value.is_null() && !OWN_GROUPS.contains(&self.group)
    }

    /// Returns whether a key names a label selector, of which an empty one selects everything. Those of nodes, and of
    /// Services, are mere maps, which Kubernetes drops when they are empty.
    fn is_selector(&self, key: &str) -> bool {
        let is_named_so = key.ends_with("Selector") && key != "nodeSelector";
        self.has_selectors && (is_named_so || (key == "selector" && !self.group.is_empty()))
    }

    fn only(&mut self, value: &Value, is_before: bool) -> Result<(), Exhausted> {
        if is_before { self.differ(Some(value), None) } else { self.differ(None, Some(value)) }
    }

    fn differ(&mut self, before: Option<&Value>, after: Option<&Value>) -> Result<(), Exhausted> {
        self.budget.step(u64::try_from(self.ignored.len()).unwrap_or(u64::MAX))?;
        if self.ignored.iter().any(|field| field.fits(&self.place)) {
            return Ok(());
        }
        self.budget.produce(self.place.key.len())?;
        let (before, after) = (before.cloned(), after.cloned());
        self.found.push(ManifestDifference { key: self.place.key.clone(), before, after });
        Ok(())
    }

    fn below(
        &mut self,
        key: &str,
        walk: impl FnOnce(&mut Self) -> Result<(), Exhausted>,
    ) -> Result<(), Exhausted> {
        self.place.push(key);
        self.keys.push(key.to_owned());
        self.budget.enter()?;
        walk(self)?;
        self.budget.leave();
        self.keys.pop();
        self.place.pop();
        Ok(())
    }
}

/// Returns whether `value` is what the API server writes for the account of a Pod that names none, or as the second
/// name of the field. Any other account would be more than was signed.
fn is_default(key: &str, value: &Value, signed: &Map, object: &Map) -> bool {
    const NAMES: [&str; 2] = ["serviceAccountName", "serviceAccount"];
    let is_unnamed = NAMES.iter().all(|name| signed.get(name).is_none());
    match key {
        "serviceAccount" => object.get("serviceAccountName") == Some(value),
        "serviceAccountName" => is_unnamed && value.as_str() == Some("default"),
        _ => false,
    }
}

fn is_scalar_value(value: &Value) -> bool {
    matches!(value, Value::Bool(_) | Value::Number(_) | Value::String(_))
}

fn is_same_image(key: &str, before: &Value, after: &Value) -> bool {
    let (Some(before), Some(after)) = (before.as_str(), after.as_str()) else { return false };
    // The first part of a name is a registry when it looks like a host, and `docker.io` is another one.
    let is_of_hub =
        before.split_once('/').is_none_or(|(host, _)| !host.contains(['.', ':']) && host != "localhost");
    let is_short = is_of_hub && after.strip_prefix("docker.io/") == Some(before);
    key.ends_with("image") && (is_short || after.strip_suffix(":latest") == Some(before))
}
