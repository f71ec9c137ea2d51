//! Names and labels of reports, by which ours are told from those of other programs.

use kubewright_golib::naming::sha256_hex;

use super::{ReportScope, ReportSource};

/// The label that says which program wrote an object.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";
/// Its value on everything that we write.
pub const MANAGED_BY: &str = "kubewright";
/// How the names of our reports begin. A report is never named by the bare uid, because Kyverno names its own so.
pub const REPORT_NAME_PREFIX: &str = "kubewright-";
/// The name of the report with the totals.
pub const SUMMARY_REPORT_NAME: &str = "kubewright-summary";
/// The number of digits in the name of a report about an object without uid.
const NAME_DIGITS: usize = 32;

/// Returns the name of the first report about `scope`: by the uid that a cluster gave it, or by its group, kind,
/// namespace and name, as for objects of files.
#[must_use]
pub fn report_name(scope: &ReportScope, source: ReportSource) -> String {
    let prefix = match source {
        ReportSource::Rules => REPORT_NAME_PREFIX,
        ReportSource::Patterns => "kubewright-patterns-",
    };
    match is_cluster_uid(&scope.uid) {
        true => format!("{prefix}{}", scope.uid),
        false => format!("{prefix}{}", object_digits(scope)),
    }
}

/// Returns the name of a part of a report; the first part has the name itself.
pub(super) fn part_name(name: &str, part: usize) -> String {
    if part == 0 { name.to_owned() } else { format!("{name}-{}", part + 1) }
}

/// Returns whether an API server made `uid`. Other texts could make a name that is not valid or belongs to another
/// report.
pub(super) fn is_cluster_uid(uid: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_right = |(place, byte): (usize, u8)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => is_digit(byte),
    };
    uid.len() == 36 && uid.bytes().enumerate().all(is_right)
}

/// Returns a text that is the same for the same object in every run.
pub(super) fn object_identity(scope: &ReportScope) -> String {
    let group = scope.api_version.split_once('/').map_or("", |(group, _)| group);
    // No part of a name has a line break in a cluster; in a file, quotes keep the parts apart.
    format!(
        "{:?}",
        (group, scope.kind.as_str(), scope.namespace.as_str(), scope.name.as_str(), scope.uid.as_str())
    )
}

fn object_digits(scope: &ReportScope) -> String {
    sha256_hex(&object_identity(scope)).chars().take(NAME_DIGITS).collect()
}
