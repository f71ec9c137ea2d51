//! The label that says how long an object lives: `cleanup.kyverno.io/ttl`.
//!
//! The value is a length of time since the object was created (`1h30m`, `2d`, `3weeks`), a day (`2030-01-31`) or a moment
//! (`2030-01-31T120000Z`, because labels have no colons). A text that is none of these deletes nothing.

use kubewright_cel::Timestamp;
use kubewright_engine::DeletionPropagation;
use kubewright_value::Value;
use kubewright_value::duration::Duration;

/// The label.
pub const TTL_LABEL: &str = "cleanup.kyverno.io/ttl";

/// The annotation that says what becomes of the dependents of an object that is deleted because of its label.
pub const PROPAGATION_ANNOTATION: &str = "cleanup.kyverno.io/propagation-policy";

const SECOND: i128 = 1_000_000_000;

/// Units of lengths of time, in nanoseconds. The plural of a word counts too.
const UNITS: [(&str, i128); 16] = [
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("sec", SECOND),
    ("m", 60 * SECOND),
    ("min", 60 * SECOND),
    ("h", 3_600 * SECOND),
    ("hr", 3_600 * SECOND),
    ("hour", 3_600 * SECOND),
    ("d", 86_400 * SECOND),
    ("day", 86_400 * SECOND),
    ("w", 7 * 86_400 * SECOND),
    ("wk", 7 * 86_400 * SECOND),
    ("week", 7 * 86_400 * SECOND),
    ("weeks", 7 * 86_400 * SECOND),
];

/// Returns when `object` is to be deleted, in nanoseconds since 1970; nothing for an object without the label.
///
/// # Errors
/// When the label cannot be read, or counts from a creation time that is not known. Such an object stays.
pub fn deletion_time(object: &Value) -> Option<Result<i128, String>> {
    let text = object.at(&["metadata", "labels", TTL_LABEL]).and_then(Value::as_str)?;
    let Some(length) = parse_length(text) else {
        let wrong =
            || format!("`{text}` is neither a length of time such as `2d` nor a day such as `2030-01-31`");
        return Some(parse_moment(text).ok_or_else(wrong));
    };
    let created = object.str_at(&["metadata", "creationTimestamp"]);
    let created = Timestamp::parse(created).map(Timestamp::nanoseconds);
    let end = created.and_then(|created| created.checked_add(length));
    Some(end.ok_or_else(|| format!("`{text}` counts from the creation of the object, which is not known")))
}

/// Returns what becomes of the dependents of `object`; nothing for the default of its kind.
#[must_use]
pub fn deletion_propagation(object: &Value) -> Option<DeletionPropagation> {
    let text = object.at(&["metadata", "annotations", PROPAGATION_ANNOTATION]).and_then(Value::as_str)?;
    DeletionPropagation::ALL.into_iter().find(|(name, _)| *name == text).map(|(_, meaning)| meaning)
}

fn parse_length(text: &str) -> Option<i128> {
    match Duration::parse(text) {
        Ok(duration) => Some(i128::from(duration.nanoseconds())).filter(|length| *length >= 0),
        Err(_) => parse_pieces(text),
    }
}

/// Reads `1w2d` and the like: whole numbers, each with a unit, and nothing else.
fn parse_pieces(text: &str) -> Option<i128> {
    let mut rest = text;
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i128 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = rest.get(..letters)?;
        let is_unit = |name: &str| unit == name || (name.len() > 2 && unit.strip_suffix('s') == Some(name));
        let (_, length) = UNITS.iter().find(|(name, _)| is_unit(name))?;
        total = total.checked_add(number.checked_mul(*length)?)?;
        rest = rest.get(letters..)?;
    }
    (!text.is_empty()).then_some(total)
}

fn parse_moment(text: &str) -> Option<i128> {
    let written = match text.split_once('T') {
        None => format!("{text}T00:00:00Z"),
        Some((day, clock)) => {
            let clock = clock.strip_suffix('Z').filter(|clock| clock.len() == 6)?;
            let part = |range: std::ops::Range<usize>| clock.get(range);
            format!("{day}T{}:{}:{}Z", part(0..2)?, part(2..4)?, part(4..6)?)
        }
    };
    Timestamp::parse(&written).map(Timestamp::nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_value::yaml;

    /// 2026-01-01T00:00:00Z.
    const CREATED: i128 = 1_767_225_600 * SECOND;

    fn time(ttl: &str) -> Option<Result<i128, String>> {
        let text = format!(
            "metadata: {{creationTimestamp: '2026-01-01T00:00:00Z', labels: {{cleanup.kyverno.io/ttl: '{ttl}'}}}}"
        );
        deletion_time(&yaml::parse(&text).expect("YAML"))
    }

    #[track_caller]
    fn lives(ttl: &str, seconds: i128) {
        assert_eq!(time(ttl), Some(Ok(CREATED + seconds * SECOND)), "{ttl}");
    }

    #[test]
    fn a_length_counts_from_the_creation() {
        lives("1h30m", 5_400);
        lives("90s", 90);
        lives("2d", 172_800);
        lives("1w2d", 777_600);
        lives("3weeks", 1_814_400);
        lives("2days", 172_800);
        lives("10min", 600);
        lives("1hr", 3_600);
    }

    #[test]
    fn a_day_or_a_moment_is_what_it_says() {
        lives("2026-01-02", 86_400);
        lives("2026-01-01T010203Z", 3_723);
        assert_eq!(time("2025-12-31"), Some(Ok(CREATED - 86_400 * SECOND)), "already past");
    }

    #[test]
    fn a_label_that_cannot_be_read_deletes_nothing() {
        for ttl in ["soon", "", "-1h", "2026-13-01", "2026-01-01T01:02:03Z", "5", "1d later", "2fortnights"] {
            assert!(matches!(time(ttl), Some(Err(_))), "{ttl}: {:?}", time(ttl));
        }
        let unlabelled = yaml::parse("metadata: {name: a}").expect("YAML");
        assert_eq!(deletion_time(&unlabelled), None);
        let without_creation = yaml::parse("metadata: {labels: {cleanup.kyverno.io/ttl: 1h}}").expect("YAML");
        assert!(matches!(deletion_time(&without_creation), Some(Err(_))));
    }

    #[test]
    fn the_annotation_says_what_becomes_of_dependents() {
        let object = |policy: &str| {
            let text =
                format!("metadata: {{annotations: {{cleanup.kyverno.io/propagation-policy: {policy}}}}}");
            deletion_propagation(&yaml::parse(&text).expect("YAML"))
        };
        assert_eq!(object("Orphan"), Some(DeletionPropagation::Orphan));
        assert_eq!(object("Whatever"), None);
    }
}
