//! The command that says why no rule said anything about an object.

use kubewright_report::{ObjectRow, shell_word};

use crate::arguments::ApplyArguments;
use crate::output::{Output, print_stderr};

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
        let command = why_command(object, arguments);
        print_stderr(format_args!("hint: `{command}` says why no rule did anything"));
    }
}

/// Returns the `why` of this object that evaluates what this `apply` did.
fn why_command(object: &str, arguments: &ApplyArguments) -> String {
    let ApplyArguments { rules, objects, .. } = arguments;
    let mut command = vec!["kubewright why".to_owned(), shell_word(object)];
    command.extend(rules.rules.iter().map(|path| shell_word(path)));
    let settings: Vec<String> = objects.set.iter().map(ToString::to_string).collect();
    let lists: [(&str, &[String]); 10] = [
        ("-r", &objects.resources),
        ("-e", &rules.exceptions),
        ("--world", &objects.world),
        ("--json", &objects.payloads),
        ("--old", &objects.old),
        ("--group", &objects.groups),
        ("--set", &settings),
        ("--rule", &objects.only),
        ("--allow-registry", &objects.allow_registry),
        ("--allow-function", &rules.options.allowed_functions),
    ];
    for (flag, values) in lists {
        command.extend(values.iter().map(|value| format!("{flag} {}", shell_word(value))));
    }
    let operation = Some(&objects.operation).filter(|operation| !operation.eq_ignore_ascii_case("CREATE"));
    let single = [
        ("--operation", operation),
        ("--user", objects.user.as_ref()),
        ("--userinfo", objects.userinfo.as_ref()),
        ("-f", objects.values.as_ref()),
        ("-n", objects.namespace.as_ref()),
    ];
    for (flag, value) in single {
        command.extend(value.map(|value| format!("{flag} {}", shell_word(value))));
    }
    let switches = [
        ("--background", objects.background),
        ("--exceptions-within-resources", objects.exceptions_within_resources),
        ("--exceptions-within-policies", objects.exceptions_within_policies),
    ];
    command.extend(switches.iter().filter(|(_, is_on)| *is_on).map(|(flag, _)| (*flag).to_owned()));
    command.join(" ")
}
