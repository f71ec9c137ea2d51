//! Records of verified images, in annotations of the object.
//!
//! The validating phase trusts only the record of its own policy and rule. At admission the mutating phase replaces that
//! record, or takes it away, so that the requester cannot forge it. Outside of admission an object is
//! taken as it was stored.

use kubewright_engine::EvalError;
use kubewright_value::{Budget, Map, Text, Value, bounded};

use super::RecordKey;

/// The record that is trusted: by policy, rule and image.
const SCOPED_ANNOTATION: &str = "kyverno.io/verify-images-scoped";

/// The older record, by image alone, which is written for others and not trusted.
const PLAIN_ANNOTATION: &str = "kyverno.io/verify-images";

/// What a record says about an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordStatus {
    Pass,
    Fail,
    Skip,
}

impl RecordStatus {
    const ALL: [(&'static str, Self); 3] = [("pass", Self::Pass), ("fail", Self::Fail), ("skip", Self::Skip)];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, status)| *status == self).map_or("", |(name, _)| name)
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, status)| *status)
    }
}

/// The results of one rule for one object.
#[derive(Debug, Default)]
pub(super) struct ImageRecords(Vec<(Text, RecordStatus)>);

impl ImageRecords {
    /// Adds a result. Of several for one image the worst counts.
    pub(super) fn add(&mut self, image: &str, status: RecordStatus) {
        match self.0.iter_mut().find(|(known, _)| known == image) {
            Some((_, known)) if *known == RecordStatus::Fail => {}
            Some((_, known)) => *known = status,
            None => self.0.push((image.into(), status)),
        }
    }

    /// Writes the results into `object`, in place of what it says about this rule.
    pub(super) fn write(
        &self,
        object: &mut Value,
        (key, is_admission): (RecordKey<'_>, bool),
        budget: &mut Budget,
    ) -> Result<(), EvalError> {
        if self.0.is_empty() {
            // Of a stored object the record is what admission wrote.
            return if is_admission { forget(object, key, budget) } else { Ok(()) };
        }
        let own: Map = self.0.iter().map(|(image, status)| (image.clone(), status.name().into())).collect();
        let mut scoped = scoped_record(object, budget)?;
        replace_rule(&mut scoped, key, Some(own.clone()));
        let mut plain = annotation_json(object, PLAIN_ANNOTATION, budget)?;
        for (image, status) in own.iter() {
            plain.insert(image.clone(), status.clone());
        }
        let plain = bounded::to_json(&plain.into(), budget)?;
        let scoped = bounded::to_json(&scoped.into(), budget)?;
        if let Some(annotations) = annotations_mut(object) {
            annotations.insert(PLAIN_ANNOTATION.into(), plain.into());
            annotations.insert(SCOPED_ANNOTATION.into(), scoped.into());
        }
        Ok(())
    }
}

/// Takes away what `object` says about the rule.
pub(crate) fn forget(object: &mut Value, key: RecordKey<'_>, budget: &mut Budget) -> Result<(), EvalError> {
    if object.at(&["metadata", "annotations", SCOPED_ANNOTATION]).is_none() {
        return Ok(());
    }
    let mut scoped = scoped_record(object, budget)?;
    if rule_record(&scoped, key).is_none() {
        return Ok(());
    }
    replace_rule(&mut scoped, key, None);
    let text = bounded::to_json(&scoped.into(), budget)?;
    if let Some(annotations) = annotations_mut(object) {
        annotations.insert(SCOPED_ANNOTATION.into(), text.into());
    }
    Ok(())
}

/// Returns what `object` says about `image` of the rule.
pub(super) fn status_in(
    object: &Value,
    key: RecordKey<'_>,
    image: &str,
    budget: &mut Budget,
) -> Result<Option<RecordStatus>, EvalError> {
    let scoped = scoped_record(object, budget)?;
    let status = rule_record(&scoped, key).and_then(|record| record.get(image)?.as_str());
    Ok(status.and_then(RecordStatus::named))
}

fn rule_record<'r>(scoped: &'r Map, key: RecordKey<'_>) -> Option<&'r Map> {
    scoped.get("policies")?.get(key.policy)?.get(key.rule)?.as_object()
}

fn replace_rule(scoped: &mut Map, key: RecordKey<'_>, own: Option<Map>) {
    let is_object = |value: Option<&Value>| value.is_some_and(|value| value.as_object().is_some());
    if !is_object(scoped.get("policies")) {
        scoped.insert("policies".into(), Map::new().into());
    }
    scoped.insert("version".into(), 1_i64.into());
    let Some(policies) = scoped.get_mut("policies").and_then(Value::as_object_mut) else { return };
    if !is_object(policies.get(key.policy)) {
        policies.insert(key.policy.into(), Map::new().into());
    }
    let Some(rules) = policies.get_mut(key.policy).and_then(Value::as_object_mut) else { return };
    match own {
        Some(own) => {
            rules.insert(key.rule.into(), own.into());
        }
        None => {
            rules.remove(key.rule);
        }
    }
}

/// A record of another version, or one that cannot be read, says nothing.
fn scoped_record(object: &Value, budget: &mut Budget) -> Result<Map, EvalError> {
    let record = annotation_json(object, SCOPED_ANNOTATION, budget)?;
    let is_known = record.get("version").and_then(Value::as_i64) == Some(1);
    Ok(if is_known { record } else { Map::new() })
}

fn annotation_json(object: &Value, name: &str, budget: &mut Budget) -> Result<Map, EvalError> {
    let Some(text) = object.at(&["metadata", "annotations", name]).and_then(Value::as_str) else {
        return Ok(Map::new());
    };
    let read = bounded::parse_bounded_json(text, budget)?;
    Ok(read.ok().and_then(|value| value.as_object().cloned()).unwrap_or_default())
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map> {
    let mut map = object.as_object_mut()?;
    for key in ["metadata", "annotations"] {
        if map.get(key).is_none_or(Value::is_null) {
            map.insert(key.into(), Map::new().into());
        }
        map = map.get_mut(key)?.as_object_mut()?;
    }
    Some(map)
}
