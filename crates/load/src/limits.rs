//! The limits of a measurement, and whether they were kept.

/// The limits that were looked at.
#[derive(Debug, Default)]
pub struct BenchLimits(Vec<BenchLimit>);

#[derive(Debug)]
struct BenchLimit {
    what: String,
    limit: String,
    seen: String,
    is_kept: bool,
}

impl BenchLimits {
    /// Adds a limit.
    pub fn add(&mut self, what: &str, limit: &str, seen: String, is_kept: bool) {
        self.0.push(BenchLimit { what: what.to_owned(), limit: limit.to_owned(), seen, is_kept });
    }

    /// Prints them as a table and returns whether all were kept.
    #[must_use]
    pub fn print(&self) -> bool {
        println!("\n## Limits\n\n| what | limit | seen | |\n|---|---|---|---|");
        for BenchLimit { what, limit, seen, is_kept } in &self.0 {
            println!("| {what} | {limit} | {seen} | {} |", if *is_kept { "reached" } else { "**missed**" });
        }
        self.0.iter().all(|limit| limit.is_kept)
    }
}
