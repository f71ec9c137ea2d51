//! Limits of a workload as a multiple of another one.

/// What a workload may take.
struct RatioLimit {
    workload: &'static str,
    base: &'static str,
    /// How many times `base` it may take at most.
    most: f64,
}

const RATIO_LIMITS: [RatioLimit; 1] =
    [RatioLimit { workload: "14 policies in CEL on a Pod", base: "parse a 3 KB Pod in JSON", most: 1.6 }];

/// Prints the ratios of `counts` beside their limits, and returns whether none exceeds its limit.
pub(crate) fn are_ratios_kept(counts: &[(String, u64)]) -> bool {
    println!("\n| workload | times | instructions | limit | |\n|---|---|---:|---:|---|");
    let mut is_kept = true;
    for RatioLimit { workload, base, most } in &RATIO_LIMITS {
        let ratio = ratio_of(counts, workload, base);
        let is_one_kept = ratio.is_some_and(|ratio| ratio <= *most);
        is_kept &= is_one_kept;
        println!(
            "| {workload} | {base} | {:.2} | {most:.2} | {} |",
            ratio.unwrap_or_default(),
            if is_one_kept { "kept" } else { "**missed**" }
        );
    }
    is_kept
}

/// Returns how many times the instructions of `base` those of `workload` are.
fn ratio_of(counts: &[(String, u64)], workload: &str, base: &str) -> Option<f64> {
    let count = |name: &str| counts.iter().find(|(known, _)| known == name).map(|(_, count)| *count as f64);
    Some(count(workload)? / count(base).filter(|base| *base > 0.0)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_above_its_ratio_is_missed() {
        let counts = |cel: u64| {
            [("parse a 3 KB Pod in JSON", 100), ("14 policies in CEL on a Pod", cel)]
                .map(|(name, count)| (name.to_owned(), count))
        };
        assert!(are_ratios_kept(&counts(160)));
        assert!(!are_ratios_kept(&counts(161)));
        assert!(!are_ratios_kept(&[]), "what was not counted is not kept");
    }
}
