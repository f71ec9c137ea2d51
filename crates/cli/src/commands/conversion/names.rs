//! Detects converted rules that would have the same name: the last one applied would replace the others.

use std::collections::HashMap;

use kubewright_convert::UnconvertedRule;
use kubewright_k8s::ObjectName;
use kubewright_value::Text;

use super::ConvertedDocument;

/// Drops converted documents whose name is taken. A policy that is given twice keeps its name.
pub(super) fn give_up_taken(converted: &mut [ConvertedDocument]) {
    let mut taken: HashMap<ObjectName, (Text, usize, Vec<Text>)> = HashMap::new();
    for (place, one) in converted.iter_mut().enumerate() {
        let policy = one.conversion.policy.clone();
        let written = std::mem::take(&mut one.conversion.written);
        let texts = std::mem::take(&mut one.texts);
        for (written, text) in written.into_iter().zip(texts) {
            let origin = (policy.clone(), place, written.rules.clone());
            let names: Vec<ObjectName> = written.documents.iter().map(ObjectName::of).collect();
            let other = names.iter().find_map(|name| {
                let other = taken.get(name).filter(|other| other.0 != policy || other.1 == place)?;
                Some((name.name.clone(), other.clone()))
            });
            let Some((name, (policy, _, rules))) = other else {
                taken.extend(names.into_iter().map(|name| (name, origin.clone())));
                one.conversion.written.push(written);
                one.texts.push(text);
                continue;
            };
            let rule = rules.first().map(Text::as_str).unwrap_or_default();
            let why = format!("its name would be `{name}`, which rule `{rule}` of `{policy}` already has");
            let location = one.document.locate(&["metadata".into(), "name".into()]);
            let refused = |rule| UnconvertedRule { rule, why: why.clone(), location: location.clone() };
            one.conversion.refused.extend(written.rules.into_iter().map(refused));
        }
    }
}
