//! Findings of `doctor`.

/// Grades of findings, from the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum DoctorGrade {
    /// No problem.
    Well,
    /// Works, but should be improved.
    Warn,
    /// The user may not read it.
    Unseen,
    /// Does not work, or will fail in an outage.
    Bad,
}

impl DoctorGrade {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Well => "ok",
            Self::Unseen => "unseen",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DoctorFinding {
    pub(super) grade: DoctorGrade,
    /// The stable name of the check.
    pub(super) what: &'static str,
    /// The state, and why it matters.
    pub(super) why: String,
    /// The remedy; empty if none is needed.
    pub(super) mend: String,
}

/// The results of all checks, in order.
#[derive(Debug, Default)]
pub(super) struct DoctorFindings(pub(super) Vec<DoctorFinding>);

impl DoctorFindings {
    pub(super) fn ok(&mut self, what: &'static str, why: impl Into<String>) {
        self.add(DoctorGrade::Well, what, why.into(), "");
    }

    pub(super) fn warn(&mut self, what: &'static str, why: impl Into<String>, mend: &str) {
        self.add(DoctorGrade::Warn, what, why.into(), mend);
    }

    pub(super) fn bad(&mut self, what: &'static str, why: impl Into<String>, mend: &str) {
        self.add(DoctorGrade::Bad, what, why.into(), mend);
    }

    /// Adds that `what` could not be checked.
    pub(super) fn unseen(&mut self, what: &'static str, error: &str) {
        let mend = "run it again as a user who may read it";
        self.add(DoctorGrade::Unseen, what, format!("could not be read: {error}"), mend);
    }

    pub(super) fn worst(&self) -> DoctorGrade {
        self.0.iter().map(|finding| finding.grade).max().unwrap_or(DoctorGrade::Well)
    }

    fn add(&mut self, grade: DoctorGrade, what: &'static str, why: String, mend: &str) {
        self.0.push(DoctorFinding { grade, what, why, mend: mend.to_owned() });
    }
}
