//! The command that says why no rule said anything about an object.

use kubewright_report::ObjectRow;

use crate::arguments::ApplyArguments;
use crate::output::{Output, print_stderr};
use crate::why_words::object_command;

/// With more objects than this the command is a hint only if no rule did anything to any of them.
const MAX_HINTED_OBJECTS: usize = 10;

/// Remembers the first object that no rule passed, failed or changed.
#[derive(Debug, Default)]
pub(super) struct WhyHint {
    object: Option<String>,
    /// Whether that object is a Namespace, which manifests of others bring along.
    is_namespace: bool,
    objects: usize,
    has_outcomes: bool,
}

impl WhyHint {
    /// Looks at the row of an object.
    pub(super) fn see(&mut self, row: &ObjectRow) {
        self.objects += 1;
        let excused = row.counts.baselined + row.counts.ignored;
        if row.counts.all() > row.counts.skip - excused {
            self.has_outcomes = true;
        } else if self.object.is_none() || (self.is_namespace && row.kind != "Namespace") {
            self.object = Some(row.address());
            self.is_namespace = row.kind == "Namespace";
        }
    }

    /// Writes the command to standard error, if a table is on standard output.
    pub(super) fn print(&self, arguments: &ApplyArguments, outputs: &[Output], is_incomplete: bool) {
        let is_read = outputs.iter().any(|output| output.is_table() && output.file.is_none());
        let is_wanted = self.objects <= MAX_HINTED_OBJECTS || !self.has_outcomes;
        // A rule that was not chosen says nothing for that reason.
        let is_partial = arguments.objects.selection.is_partial(&[]);
        let is_shown = is_wanted && is_read && !is_partial && !arguments.quiet && !is_incomplete;
        let Some(object) = self.object.as_ref().filter(|_| is_shown) else {
            return;
        };
        let command = object_command(object, &arguments.rules, &arguments.objects);
        print_stderr(format_args!("hint: `{command}` says why no rule did anything"));
    }
}
