//! What was found.

/// How good it is, from the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    /// As it should be.
    Well,
    /// It works, and could be better.
    Warn,
    /// The one who asks may not see it.
    Unseen,
    /// It does not work, or will not when it matters.
    Bad,
}

impl Grade {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Unseen => "unseen",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) grade: Grade,
    /// What was looked at, in a word or two that stay the same.
    pub(super) what: &'static str,
    /// How it is, and why that matters.
    pub(super) why: String,
    /// The remedy; empty where none is needed.
    pub(super) mend: String,
}

/// All that was looked at, in order.
#[derive(Debug, Default)]
pub(super) struct Findings(pub(super) Vec<Finding>);

impl Findings {
    pub(super) fn ok(&mut self, what: &'static str, why: impl Into<String>) {
        self.add(Grade::Well, what, why.into(), "");
    }

    pub(super) fn warn(&mut self, what: &'static str, why: impl Into<String>, mend: &str) {
        self.add(Grade::Warn, what, why.into(), mend);
    }

    pub(super) fn bad(&mut self, what: &'static str, why: impl Into<String>, mend: &str) {
        self.add(Grade::Bad, what, why.into(), mend);
    }

    /// Says that `what` could not be looked at.
    pub(super) fn unseen(&mut self, what: &'static str, error: &str) {
        let mend = "look again as somebody who may read it";
        self.add(Grade::Unseen, what, format!("could not be looked at: {error}"), mend);
    }

    pub(super) fn worst(&self) -> Grade {
        self.0.iter().map(|finding| finding.grade).max().unwrap_or(Grade::Well)
    }

    fn add(&mut self, grade: Grade, what: &'static str, why: String, mend: &str) {
        self.0.push(Finding { grade, what, why, mend: mend.to_owned() });
    }
}
