//! What a door said about an object.

use kubewright_value::Value;

/// What a door said about an object.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdict {
    /// Whether it may pass.
    pub(crate) is_allowed: bool,
    /// As it became.
    pub(crate) object: Value,
    /// Why it may not, by the rules that refuse it; or all that a door says as one text.
    pub(crate) reasons: Vec<String>,
}

/// What a door lets see.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen {
    /// What becomes of the object.
    pub(crate) patch: bool,
    /// The reasons of all rules, and not only of those that refuse first.
    pub(crate) all_reasons: bool,
}

impl Verdict {
    /// Returns what is different in `other`, which has one text for all reasons.
    pub(crate) fn difference(&self, other: &Verdict, seen: Seen) -> Option<String> {
        if self.is_allowed != other.is_allowed {
            let word = |verdict: &Verdict| if verdict.is_allowed { "allowed" } else { "denied" };
            return Some(format!(
                "{} here, {} there: {:?} {:?}",
                word(self),
                word(other),
                self.reasons,
                other.reasons
            ));
        }
        if !self.is_allowed {
            let said = plain(&other.reasons.join("\n"));
            if !seen.all_reasons {
                return said.is_empty().then(|| format!("no reason for {:?}", self.reasons));
            }
            let missing = self.reasons.iter().find(|reason| !said.contains(&plain(reason)))?;
            return Some(format!("`{missing}` is not in {:?}", other.reasons));
        }
        (seen.patch && self.object != other.object).then(|| {
            let changes = kubewright_patch::diff_values(&self.object, &other.object);
            format!("another object: {changes:?}")
        })
    }

    /// Returns whether both say yes, or both no.
    pub(crate) fn is_like(&self, other: &Verdict) -> bool {
        self.is_allowed == other.is_allowed
    }
}

/// A message without what depends on how it is written down: spaces, line breaks, quotes.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !"'\"\\".contains(*c)).collect()
}
