//! Patterns for measurements: those that ship, and a few of relations alone, repeated to any number.

use kubewright_patterns::shipped::shipped_patterns;
use kubewright_patterns::{Pattern, compile_pattern_document};
use kubewright_value::{Source, yaml};

const RELATIONAL: [&str; 6] = [
    include_str!("../inputs/patterns/sidecar.yaml"),
    include_str!("../inputs/patterns/no-budget.yaml"),
    include_str!("../inputs/patterns/unused-config.yaml"),
    include_str!("../inputs/patterns/not-isolated.yaml"),
    include_str!("../inputs/patterns/secret-in-env.yaml"),
    include_str!("../inputs/patterns/exposed.yaml"),
];

/// Returns the relational patterns of the measurements, the sidecar first.
///
/// # Errors
/// When one cannot be compiled.
pub fn relational() -> Result<Vec<Pattern>, String> {
    RELATIONAL.iter().map(|text| compile_bench_pattern(text)).collect()
}

/// Returns `count` patterns: those that ship and the relational ones, as often as it takes.
///
/// # Errors
/// When none can be compiled.
pub fn repeat_patterns(count: usize) -> Result<Vec<Pattern>, String> {
    let texts = shipped_patterns().iter().map(|shipped| shipped.source()).chain(RELATIONAL);
    let known: Vec<Pattern> = texts.filter_map(|text| compile_bench_pattern(text).ok()).collect();
    if known.is_empty() {
        return Err("no pattern can be compiled".to_owned());
    }
    Ok(known.iter().cycle().take(count).cloned().collect())
}

fn compile_bench_pattern(text: &str) -> Result<Pattern, String> {
    let reading = yaml::read(&Source::new("pattern.yaml", text));
    let document = reading.documents.first().ok_or("no document")?;
    let (pattern, problems) = compile_pattern_document(document);
    pattern.ok_or_else(|| format!("{problems:?}"))
}
