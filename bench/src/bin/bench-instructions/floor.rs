//! The committed counts, and the comparison with them.

use kubewright_value::{Map, Value, json};

/// How much more a workload may take, in percent. Hash maps with random seeds make a difference of less than one.
const TOLERANCE_PERCENT: u64 = 3;

/// The same with another compiler than that of the floor.
const OTHER_COMPILER_PERCENT: u64 = 15;

/// The counts of all workloads, and the compiler that built them.
pub(crate) struct InstructionFloor {
    pub(crate) compiler: String,
    pub(crate) instructions: Vec<(String, u64)>,
}

impl InstructionFloor {
    /// Reads the committed file.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let value = json::parse(text).map_err(|error| error.to_string())?;
        let counts = value.get("instructions").and_then(Value::as_object).ok_or("no `instructions`")?;
        let count = |(name, count): (&_, &Value)| {
            let number = count.to_string().parse().map_err(|_| format!("`{name}` is not a count"))?;
            Ok((ToString::to_string(name), number))
        };
        let instructions = counts.iter().map(count).collect::<Result<_, String>>()?;
        Ok(Self { compiler: value.str_at(&["rustc"]).to_owned(), instructions })
    }

    /// Returns the text of the file.
    pub(crate) fn to_text(&self) -> String {
        let counts: Map = self
            .instructions
            .iter()
            .map(|(name, count)| (name.as_str().into(), Value::from(*count)))
            .collect();
        let entries =
            [("rustc", Value::from(self.compiler.as_str())), ("instructions", Value::object(counts))];
        let file = entries.into_iter().map(|(name, value)| (name.into(), value)).collect();
        format!("{}\n", json::to_pretty(&Value::object(file)))
    }

    /// Prints `counts` beside the floor, and returns whether none exceeds it.
    pub(crate) fn compare(&self, compiler: &str, counts: &[(String, u64)]) -> bool {
        let percent = match self.compiler == compiler {
            true => TOLERANCE_PERCENT,
            false => {
                println!("The floor was counted with `{}`, this is `{compiler}`.", self.compiler);
                OTHER_COMPILER_PERCENT
            }
        };
        println!("\n| workload | instructions | floor | times the floor | |\n|---|---:|---:|---:|---|");
        let mut is_kept = true;
        for (name, count) in counts {
            let known = self.instructions.iter().find(|(known, _)| known == name).map(|(_, floor)| *floor);
            let verdict = Verdict::of(*count, known, percent);
            is_kept &= !matches!(verdict, Verdict::Missed | Verdict::Unknown);
            let ratio = *count as f64 / known.unwrap_or(*count).max(1) as f64;
            println!(
                "| {name} | {count} | {} | {ratio:.3} | {} |",
                known.unwrap_or_default(),
                verdict.text()
            );
        }
        if !is_kept {
            println!(
                "\nMore than {percent} % above the floor. `make bench-instructions UPDATE=1` writes a new one."
            );
        }
        is_kept
    }
}

/// How a count compares with the floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Kept,
    /// So much less that the floor should be written again.
    Better,
    Missed,
    /// The floor does not know the workload.
    Unknown,
}

impl Verdict {
    fn of(count: u64, floor: Option<u64>, percent: u64) -> Self {
        let Some(floor) = floor else { return Self::Unknown };
        let room = floor.saturating_mul(percent) / 100;
        match count {
            count if count > floor.saturating_add(room) => Self::Missed,
            count if count < floor.saturating_sub(room) => Self::Better,
            _ => Self::Kept,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Better => "better",
            Self::Missed => "**missed**",
            Self::Unknown => "**not in the floor**",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_above_the_tolerance_is_missed() {
        assert_eq!(Verdict::of(103, Some(100), 3), Verdict::Kept);
        assert_eq!(Verdict::of(104, Some(100), 3), Verdict::Missed);
        assert_eq!(Verdict::of(96, Some(100), 3), Verdict::Better);
        assert_eq!(Verdict::of(1, None, 3), Verdict::Unknown);
    }

    #[test]
    fn what_is_written_reads_back() {
        let written = InstructionFloor {
            compiler: "rustc 1.0".to_owned(),
            instructions: vec![("json".to_owned(), 12), ("yaml".to_owned(), 7)],
        };
        let read = InstructionFloor::parse(&written.to_text()).unwrap();
        assert_eq!((read.compiler, read.instructions), (written.compiler, written.instructions));
    }
}
