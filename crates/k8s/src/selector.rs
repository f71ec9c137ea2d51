//! Label selectors, as the API server understands them.

use std::fmt;

use kubewright_value::{Map, Text, Value};

/// Conditions on labels, all of which must hold: `matchLabels` and `matchExpressions`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector {
    /// The conditions; a selector without any selects everything.
    pub requirements: Vec<LabelRequirement>,
}

/// A condition on one label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LabelRequirement {
    /// The key of the label.
    pub key: Text,
    /// How the label is compared.
    pub operator: LabelOperator,
    /// What it is compared with; empty for `Exists` and `DoesNotExist`.
    pub values: Vec<Text>,
}

/// How a label is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LabelOperator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

impl LabelOperator {
    /// All operators, in the order in which they are listed to a user.
    pub const ALL: [Self; 4] = [Self::In, Self::NotIn, Self::Exists, Self::DoesNotExist];

    /// Returns the name of the operator in the API.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
        }
    }

    /// Returns the operator called `name`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.name() == name)
    }

    /// Returns whether the operator compares with values, and so needs some.
    #[must_use]
    pub fn takes_values(self) -> bool {
        matches!(self, Self::In | Self::NotIn)
    }

    /// Returns whether the condition holds for a label; `is_listed` is whether its value is one of the values, and
    /// nothing for a label that is absent.
    #[must_use]
    pub fn holds(self, is_listed: Option<bool>) -> bool {
        match self {
            Self::In => is_listed == Some(true),
            Self::NotIn => is_listed != Some(true),
            Self::Exists => is_listed.is_some(),
            Self::DoesNotExist => is_listed.is_none(),
        }
    }
}

impl LabelRequirement {
    /// Returns the condition that `key` has the value `value`.
    #[must_use]
    pub fn equals(key: Text, value: Text) -> Self {
        Self { key, operator: LabelOperator::In, values: vec![value] }
    }

    /// Reads an item of `matchExpressions`; nothing if it is broken.
    #[must_use]
    pub fn read(item: &Value) -> Option<Self> {
        let operator = LabelOperator::named(item.get("operator")?.as_str()?)?;
        let key = Text::new(item.get("key")?.as_str()?);
        Some(Self { key, operator, values: read_values(item) })
    }

    /// Returns whether the API server takes it: with values where the operator needs some, and without elsewhere.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.operator.takes_values() != self.values.is_empty()
    }

    /// Returns whether the condition holds for `label`, which is nothing if it is absent.
    #[must_use]
    pub fn holds(&self, label: Option<&str>) -> bool {
        self.operator.holds(label.map(|label| self.values.iter().any(|value| value == label)))
    }
}

/// Reads the `values` of a condition; what is not a text is left out.
#[must_use]
pub fn read_values(item: &Value) -> Vec<Text> {
    let values = item.get("values").and_then(Value::as_array).unwrap_or_default();
    values.iter().filter_map(Value::as_str).map(Text::new).collect()
}

impl LabelSelector {
    /// Reads a map of labels, as a Service selects; nothing if a value is not a text.
    #[must_use]
    pub fn of_labels(labels: &Map) -> Option<Self> {
        let equals = |(key, value): (&Text, &Value)| {
            Some(LabelRequirement::equals(key.clone(), Text::new(value.as_str()?)))
        };
        Some(Self { requirements: labels.iter().map(equals).collect::<Option<_>>()? })
    }

    /// Reads `{matchLabels, matchExpressions}`; nothing if a part of it is broken, and then nothing is selected.
    #[must_use]
    pub fn read(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        let labels = map.get("matchLabels").and_then(Value::as_object);
        let mut selector = labels.map_or_else(|| Some(Self::default()), Self::of_labels)?;
        for item in map.get("matchExpressions").and_then(Value::as_array).unwrap_or_default() {
            selector.requirements.push(LabelRequirement::read(item)?);
        }
        Some(selector)
    }

    /// Reads a selector of either form, as fields called `selector` have it in custom resources.
    #[must_use]
    pub fn read_either(value: &Value) -> Option<Self> {
        let map = value.as_object()?;
        if is_structured(map) { Self::read(value) } else { Self::of_labels(map) }
    }

    /// Reads a selector of either form and leaves out the parts that are broken.
    #[must_use]
    pub fn read_leniently(selector: &Map) -> Self {
        let is_structured = is_structured(selector);
        let labels = match is_structured {
            true => selector.get("matchLabels").and_then(Value::as_object),
            false => Some(selector),
        };
        let equal = labels.into_iter().flat_map(Map::iter).filter_map(|(key, value)| {
            Some(LabelRequirement::equals(key.clone(), Text::new(value.as_str()?)))
        });
        let mut requirements: Vec<LabelRequirement> = equal.collect();
        if is_structured {
            let items = selector.get("matchExpressions").and_then(Value::as_array).unwrap_or_default();
            requirements.extend(items.iter().filter_map(LabelRequirement::read));
        }
        Self { requirements }
    }

    /// Returns whether all conditions hold for the labels that `label` finds by their keys.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.requirements.iter().all(|requirement| requirement.holds(label(&requirement.key)))
    }
}

/// Whether a selector has the form `{matchLabels, matchExpressions}`, and is not a map of labels.
fn is_structured(selector: &Map) -> bool {
    selector.contains_key("matchLabels") || selector.contains_key("matchExpressions")
}

/// As selectors are written on a command line.
impl fmt::Display for LabelRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match (self.operator, self.values.as_slice()) {
            (LabelOperator::In, [value]) => write!(f, "{key}={value}"),
            (LabelOperator::NotIn, [value]) => write!(f, "{key}!={value}"),
            (LabelOperator::In, values) => write!(f, "{key} in ({})", values.join(", ")),
            (LabelOperator::NotIn, values) => write!(f, "{key} notin ({})", values.join(", ")),
            (LabelOperator::Exists, _) => write!(f, "{key}"),
            (LabelOperator::DoesNotExist, _) => write!(f, "!{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::*;

    #[track_caller]
    fn check_selector(selector: &str, labels: &str, want: Option<bool>) {
        let labels = json::parse(labels).expect("JSON");
        let selector = LabelSelector::read_either(&json::parse(selector).expect("JSON"));
        let matches =
            |selector: LabelSelector| selector.matches(|key| labels.get(key).and_then(Value::as_str));
        assert_eq!(selector.map(matches), want);
    }

    #[test]
    fn label_selector_of_either_form_selects_labels() {
        check_selector("{}", "{}", Some(true));
        check_selector(r#"{"app":"web"}"#, r#"{"app":"web","x":"y"}"#, Some(true));
        check_selector(r#"{"app":"web"}"#, r#"{"app":"db"}"#, Some(false));
        check_selector(r#"{"matchLabels":{"app":"web"}}"#, r#"{"app":"web"}"#, Some(true));
        check_selector(r#"{"matchLabels":{"app":1}}"#, r#"{"app":"1"}"#, None);
    }

    #[test]
    fn label_operators_take_an_absent_label_for_not_in() {
        for (operator, values, labels, want) in [
            ("In", r#"["a","b"]"#, r#"{"k":"b"}"#, Some(true)),
            ("In", r#"["a"]"#, "{}", Some(false)),
            ("NotIn", r#"["a"]"#, "{}", Some(true)),
            ("NotIn", r#"["a"]"#, r#"{"k":"a"}"#, Some(false)),
            ("Exists", "[]", r#"{"k":""}"#, Some(true)),
            ("DoesNotExist", "[]", r#"{"k":""}"#, Some(false)),
            ("Like", "[]", "{}", None),
        ] {
            let item = format!(r#"{{"key":"k","operator":"{operator}","values":{values}}}"#);
            check_selector(&format!(r#"{{"matchExpressions":[{item}]}}"#), labels, want);
        }
    }

    #[test]
    fn label_requirement_prints_as_on_a_command_line() {
        for (item, want) in [
            (r#"{"key":"k","operator":"In","values":["a"]}"#, "k=a"),
            (r#"{"key":"k","operator":"NotIn","values":["a","b"]}"#, "k notin (a, b)"),
            (r#"{"key":"k","operator":"DoesNotExist"}"#, "!k"),
        ] {
            let requirement =
                LabelRequirement::read(&json::parse(item).expect("JSON")).expect("a requirement");
            assert_eq!(requirement.to_string(), want);
            assert!(requirement.is_valid());
        }
    }
}
