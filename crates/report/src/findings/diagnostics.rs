//! Which diagnostics about patterns are shown to a person.

use kubewright_engine::Diagnostic;
use kubewright_patterns as patterns;

use crate::text::plural;

/// How many diagnostics about kinds that no object has are shown.
const MAX_MISSING_KIND_DIAGNOSTICS: usize = 3;

/// Returns the diagnostics to show to a person. Of those about kinds that no object has there are only the first few,
/// because few sets of objects have all kinds that a folder of patterns asks for.
#[must_use]
pub fn shown_diagnostics(diagnostics: &[Diagnostic]) -> Vec<Diagnostic> {
    let is_missing_kind = |diagnostic: &Diagnostic| patterns::is_missing_kind(diagnostic.code);
    let count = diagnostics.iter().filter(|diagnostic| is_missing_kind(diagnostic)).count();
    let is_long = count > MAX_MISSING_KIND_DIAGNOSTICS;
    let most = if is_long { MAX_MISSING_KIND_DIAGNOSTICS - 1 } else { count };
    let (mut shown, mut seen) = (diagnostics.to_vec(), 0);
    shown.retain(|diagnostic| {
        seen += usize::from(is_missing_kind(diagnostic));
        !is_missing_kind(diagnostic) || seen <= most
    });
    if is_long && let Some(last) = shown.iter_mut().rfind(|diagnostic| is_missing_kind(diagnostic)) {
        let more = plural(count + 1 - MAX_MISSING_KIND_DIAGNOSTICS, "more mention");
        last.help = format!("{}; there are {more} of kinds that no object has", last.help);
    }
    shown
}
