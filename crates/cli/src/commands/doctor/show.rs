//! Output of `doctor`, as text and as JSON.

use std::io::{self, Write as _};

use kubewright_value::{Map, Value, json};

use super::finding::{DoctorFinding, DoctorFindings, DoctorGrade};
use crate::output::{Paint, standard_output, visible};

/// Writes a line for each finding, with the remedy below.
pub(super) fn write_doctor_text(findings: &DoctorFindings, is_quiet: bool, paint: Paint) -> io::Result<()> {
    let mut out = standard_output();
    let shown: Vec<&DoctorFinding> =
        findings.0.iter().filter(|one| !is_quiet || one.grade > DoctorGrade::Well).collect();
    let width = shown.iter().map(|one| one.what.len()).max().unwrap_or_default();
    for one in shown {
        let word = format!("{:6}", one.grade.word());
        let word = match one.grade {
            DoctorGrade::Well => paint.green(&word),
            DoctorGrade::Unseen => paint.dim(&word),
            DoctorGrade::Warn => paint.yellow(&word),
            DoctorGrade::Bad => paint.red(&word),
        };
        writeln!(out, "{word} {:width$}  {}", one.what, visible(&one.why))?;
        if !one.mend.is_empty() {
            writeln!(out, "       {:width$}  = {}", "", one.mend)?;
        }
    }
    let count = |grade: DoctorGrade| findings.0.iter().filter(|one| one.grade == grade).count();
    let counts = [DoctorGrade::Well, DoctorGrade::Warn, DoctorGrade::Bad, DoctorGrade::Unseen]
        .map(|grade| format!("{} {}", count(grade), grade.word()));
    writeln!(out, "\n{}", counts.join(", "))?;
    out.flush()
}

/// Writes one document: `grade`, the worst of all, and `findings`.
pub(super) fn write_doctor_json(findings: &DoctorFindings, is_quiet: bool) -> io::Result<()> {
    let object = |fields: Vec<(&str, Value)>| {
        Value::from(fields.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>())
    };
    let shown = findings.0.iter().filter(|one| !is_quiet || one.grade > DoctorGrade::Well);
    let list = shown.map(|one| {
        object(vec![
            ("grade", one.grade.word().into()),
            ("what", one.what.into()),
            ("why", one.why.as_str().into()),
            ("mend", one.mend.as_str().into()),
        ])
    });
    let list = Value::array(list.collect());
    let whole = object(vec![("grade", findings.worst().word().into()), ("findings", list)]);
    let mut out = standard_output();
    writeln!(out, "{}", json::to_shown_string(&whole))?;
    out.flush()
}
