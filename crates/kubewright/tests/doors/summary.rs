//! How many cases went through which door, which did not, and what was different.

use std::collections::BTreeMap;
use std::io::Write as _;

use kubewright_value::Value;

use crate::cases::{Case, kind};
use crate::verdict::{Seen, Verdict};

/// Where a verdict comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Door {
    /// `kubewright apply`.
    Command,
    /// The webhook, asked directly.
    Webhook,
    /// The API server, which asks the webhook.
    ApiServer,
}

/// What was seen.
#[derive(Default)]
pub(crate) struct Summary {
    went: BTreeMap<Door, usize>,
    denied: BTreeMap<Door, usize>,
    changed: usize,
    left_out: BTreeMap<(Door, String), usize>,
    differences: Vec<String>,
    as_written: [usize; 2],
    stored: usize,
}

impl Summary {
    /// Counts objects that a door has judged.
    pub(crate) fn went(&mut self, door: Door, count: usize) {
        *self.went.entry(door).or_default() += count;
    }

    /// Counts a case, or one of its objects, that a door was not asked about or could not be.
    pub(crate) fn left_out(&mut self, door: Door, case: &Case, reason: &str) {
        let reason: String = reason.lines().next().unwrap_or_default().chars().take(110).collect();
        if std::env::var_os("KUBEWRIGHT_DOORS_VERBOSE").is_some() {
            say(&format!("{door:?} {}: {}: {reason}\n", case.suite, case.name));
        }
        *self.left_out.entry((door, reason)).or_default() += 1;
    }

    /// Compares what the command line said with what another door did.
    pub(crate) fn compare(&mut self, door: Door, case: &Case, object: &Value, want: &Verdict, got: &Verdict) {
        self.went(door, 1);
        *self.denied.entry(door).or_default() += usize::from(!got.is_allowed);
        self.changed += usize::from(door == Door::Webhook && &want.object != object);
        // What the API server stores is compared by itself, and what is deleted cannot be changed.
        let patch = door == Door::Webhook && case.operation != "DELETE";
        let seen = Seen { patch, all_reasons: !case.is_about_images() };
        if let Some(difference) = want.difference(got, seen) {
            self.differ(door, case, object, &difference);
        }
    }

    /// Compares what the API server made of an object with rules, and of what the command line made of it without.
    pub(crate) fn compare_stored(
        &mut self,
        case: &Case,
        object: &Value,
        with: &Value,
        without: &Result<Value, String>,
    ) {
        match without {
            Ok(without) if without == with => self.stored += 1,
            Ok(without) => {
                let changes = kubewright_patch::diff_values(with, without);
                self.differ(Door::ApiServer, case, object, &format!("stored otherwise: {changes:?}"));
            }
            Err(reason) => self.differ(Door::ApiServer, case, object, reason),
        }
    }

    /// Notes whether the verdict is also the one about the object as its author wrote it.
    pub(crate) fn note_as_written(&mut self, is_like: bool) {
        let [like, unlike] = &mut self.as_written;
        *(if is_like { like } else { unlike }) += 1;
    }

    /// Returns how many objects a door has judged.
    pub(crate) fn count(&self, door: Door) -> usize {
        self.went.get(&door).copied().unwrap_or_default()
    }

    /// Returns what was different.
    pub(crate) fn differences(&self) -> &[String] {
        &self.differences
    }

    /// Prints it where it is seen although the test passes.
    pub(crate) fn print(&self) {
        let mut text = String::from("\nThe same verdict at every door:\n");
        for door in [Door::Command, Door::Webhook, Door::ApiServer] {
            let (went, denied) = (self.count(door), self.denied.get(&door).copied().unwrap_or_default());
            let denied =
                if door == Door::Command { String::new() } else { format!(", {denied} of them denied") };
            text.push_str(&format!("  {door:?}: {went} objects{denied}\n"));
        }
        let [like, unlike] = self.as_written;
        text.push_str(&format!(
            "  {} were changed by rules; {} were stored as the command line left them\n  {like} verdicts of the API server are those about the object as written, {unlike} depend on what the API server filled in or dropped\n",
            self.changed, self.stored
        ));
        for ((door, reason), count) in &self.left_out {
            text.push_str(&format!("  not through {door:?}: {count} × {reason}\n"));
        }
        text.push_str(&format!("  different: {}\n", self.differences.len()));
        say(&text);
    }

    fn differ(&mut self, door: Door, case: &Case, object: &Value, difference: &str) {
        let name = object.str_at(&["metadata", "name"]);
        let place = format!("{door:?} {}: {}: {} {name}", case.suite, case.name, kind(object));
        self.differences.push(format!("{place}: {difference}"));
    }
}

/// Writes to standard error itself: what `eprintln!` writes is not shown for a test that passes.
fn say(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}
