//! `trace`: why each rule did what it did.

mod chosen;
mod digest;
mod patterns;
mod traits;

#[cfg(feature = "serve")]
pub(super) use chosen::is_telling;
pub(super) use chosen::{ChosenTraces, is_called};
#[cfg(feature = "serve")]
pub(super) use patterns::near_misses_of;
pub(super) use patterns::{are_patterns, trace_patterns};

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::sync::Arc;

use kubewright_engine::{Diagnostic, Rule, RuleStatus, TraceNode, TraceVerdict};
use kubewright_files as files;
use kubewright_k8s::AdmissionRequest;
use kubewright_report::trace::{out_of_scope_trace, outcome_trace};
use kubewright_report::{ObjectRow, OutcomeRow};
use kubewright_value::{Document, Location, Value, json};

use super::render;
use crate::arguments::{ObjectArguments, RuleArguments, TraceArguments, TraceFormat, TraceOutput};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{
    ColorChoice, Columns, Paint, ReportWriter, keep_inputs, shorten_visible, standard_output, trace_tree,
    visible,
};
use crate::review::Reviewer;
use crate::rule_inputs::{RuleInputs, no_objects, print_diagnostics};
use crate::rules::{out_of_scope_help, out_of_scope_reason, out_of_scope_subject};
use digest::{MAX_WHOLE_TRACES, TraceDigest};

/// The maximum number of characters shown of a line of a rule.
const MAX_LINE_CHARACTERS: usize = 100;

/// The maximum number of characters shown of the reason why a rule did not apply.
const MAX_REASON_CHARACTERS: usize = 160;

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(crate) fn run_trace(
    arguments: &TraceArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    if traits::are_traits(&arguments.rules.rules) {
        return render::run_render(&traits::rendering(arguments)?, color);
    }
    if are_patterns(&arguments.rules.rules) {
        let given = (&arguments.rules, &arguments.objects);
        return trace_patterns(given, &arguments.named, (color, &arguments.output));
    }
    let chosen = ChosenTraces::new(&arguments.choice, &arguments.named);
    let traced = trace_rules(&arguments.rules, &arguments.objects, &chosen, (color, &arguments.output))?;
    Ok(match (traced.is_incomplete, traced.has_violations) {
        (true, _) => ExitStatus::BadInput,
        (false, true) => ExitStatus::Violations,
        (false, false) => ExitStatus::Clean,
    })
}

/// What a run of traces met.
pub(super) struct TracedRules {
    /// Whether something was left out because of an error.
    pub(super) is_incomplete: bool,
    /// Whether a shown rule fails or ends in an error.
    pub(super) has_violations: bool,
}

/// Writes the chosen traces of rules.
///
/// # Errors
/// When the arguments are invalid, a named object is not there, or output cannot be written.
pub(super) fn trace_rules(
    rules: &RuleArguments,
    given: &ObjectArguments,
    chosen: &ChosenTraces,
    (color, output): (ColorChoice, &TraceOutput),
) -> Result<TracedRules, CommandFailure> {
    let mut inputs = RuleInputs::open(rules, given)?;
    let reviewer = inputs.reviewer(Columns { all_outcomes: true, trace: true, ..Columns::default() });
    let mut writer = RuleTraceWriter::open(output, color)?.choosing(chosen.clone());
    let (mut objects, mut has_violations, mut seen) = (0, false, Vec::new());
    let problems = files::stream_objects(
        &inputs.manifests,
        inputs.wanted(),
        |document| match chosen.has_document(document, reviewer.namespace) {
            true => Ok((reviewer.review(document), out_of_scope_rules(&reviewer, document))),
            false => Err(document_address(document, reviewer.namespace)),
        },
        |traced, _| {
            let (report, outside) = match traced {
                Ok(traced) => traced,
                Err(address) => {
                    seen.push(address);
                    return Ok(());
                }
            };
            objects += 1;
            let mut shown = report.outcomes.iter().filter(|row| chosen.has_status(row));
            has_violations |= shown.any(|row| matches!(row.status, RuleStatus::Fail | RuleStatus::Error));
            writer.object(&report, &outside)
        },
    )?;
    writer.finish()?;
    inputs.diagnostics.extend(problems);
    let has_errors = inputs.diagnostics.iter().any(Diagnostic::is_error);
    if objects == 0 && !chosen.objects.is_empty() && !has_errors {
        return Err(chosen.not_there(&seen));
    }
    if objects == 0 && !has_errors {
        inputs.diagnostics.push(no_objects(&given.resources));
    }
    let is_incomplete = print_diagnostics(&inputs.diagnostics, color.paint_errors());
    Ok(TracedRules { is_incomplete, has_violations })
}

/// A rule whose scope excludes an object, and why.
pub(super) struct OutOfScopeRule {
    rule: String,
    reason: String,
    /// The place in the object of what excludes it.
    place: Location,
    // Autogen rules of the same source are reported once.
    is_told: bool,
}

impl OutOfScopeRule {
    /// Returns the id of the rule.
    #[cfg(feature = "serve")]
    pub(super) fn rule(&self) -> &str {
        &self.rule
    }

    /// Returns why the object is out of its scope.
    #[cfg(feature = "serve")]
    pub(super) fn reason(&self) -> &str {
        &self.reason
    }
}

/// Returns the rules whose scope excludes the object.
pub(super) fn out_of_scope_rules(reviewer: &Reviewer<'_>, document: &Document) -> Vec<OutOfScopeRule> {
    out_of_scope_rules_of(reviewer.engine.rules(), &reviewer.request(document), document)
}

/// Returns those of `rules` whose scope excludes the object of `request`, which was read from `document`.
pub(super) fn out_of_scope_rules_of(
    rules: &[Arc<Rule>],
    request: &AdmissionRequest,
    document: &Document,
) -> Vec<OutOfScopeRule> {
    let (inside, outside): (Vec<&Arc<Rule>>, Vec<&Arc<Rule>>) =
        rules.iter().partition(|rule| rule.scope.admits(request));
    let spot = |rule: &Arc<Rule>| (rule.location.source.name.clone(), rule.location.position);
    let mut told: HashSet<_> = inside.into_iter().map(spot).collect();
    let tell = |rule: &Arc<Rule>| OutOfScopeRule {
        rule: rule.id.to_string(),
        reason: match out_of_scope_help(rule, request).as_str() {
            "" => out_of_scope_reason(rule, request),
            help => format!("{}; {help}", out_of_scope_reason(rule, request)),
        },
        place: document.locate(&out_of_scope_subject(rule, request)),
        is_told: !told.insert(spot(rule)),
    };
    outside.into_iter().map(tell).collect()
}

/// Writes traces in the chosen format.
pub(super) struct RuleTraceWriter {
    out: ReportWriter,
    paint: Paint,
    format: TraceFormat,
    chosen: ChosenTraces,
    is_first: bool,
    digest: TraceDigest,
    // The first traces, until there are too many of them to show all: the rule, whether it says that something is
    // wrong, and the text.
    pending: Vec<(String, bool, String)>,
    is_digest: bool,
}

impl RuleTraceWriter {
    /// Returns a writer of all traces to standard output, or to the file of `output`, which has no colours.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn open(output: &TraceOutput, color: ColorChoice) -> Result<Self, CommandFailure> {
        keep_inputs(std::slice::from_ref(output))?;
        let paint = if output.file.is_some() { Paint::OFF } else { color.paint_output() };
        Ok(Self { out: output.writer()?, format: *output.format, ..Self::new(paint) })
    }

    /// Returns a writer of all traces to standard output, as trees.
    pub(super) fn new(paint: Paint) -> Self {
        Self {
            out: standard_output(),
            paint,
            format: TraceFormat::Tree,
            chosen: ChosenTraces { is_all: true, ..ChosenTraces::default() },
            is_first: true,
            digest: TraceDigest::default(),
            pending: Vec::new(),
            is_digest: false,
        }
    }

    /// Returns a writer of chosen traces.
    pub(super) fn choosing(self, chosen: ChosenTraces) -> Self {
        Self { chosen, ..self }
    }

    /// Writes what the rules did to one object.
    pub(super) fn object(&mut self, report: &ObjectRow, outside: &[OutOfScopeRule]) -> io::Result<()> {
        for row in &report.outcomes {
            if !self.chosen.has_status(row) {
                continue;
            }
            match self.format {
                TraceFormat::Json => self.item(&outcome_trace(row, report))?,
                TraceFormat::Tree => {
                    let rule = row.rule.to_string();
                    self.digest.count(&rule, row.status);
                    let is_telling = !self.chosen.statuses.is_empty() || chosen::is_telling(row);
                    // What cannot be shown need not be rendered.
                    if !self.is_digest || is_telling {
                        let text = self.tree(row, report);
                        self.write_or_keep((rule, is_telling, text))?;
                    }
                }
            }
        }
        let is_asked = self.chosen.statuses.is_empty() || self.chosen.statuses.contains(&RuleStatus::Skip);
        for outside in outside.iter().filter(|_| is_asked) {
            match self.format {
                TraceFormat::Tree if outside.is_told => {}
                TraceFormat::Tree => {
                    let object = (report.subject.as_str(), outside.place.to_string());
                    self.digest.outside(&outside.rule, &outside.reason, object);
                }
                TraceFormat::Json => {
                    self.item(&out_of_scope_trace(&outside.rule, &outside.reason, report))?;
                }
            }
        }
        Ok(())
    }

    /// Writes a trace, unless there are so many that only some are shown.
    fn write_or_keep(&mut self, trace: (String, bool, String)) -> io::Result<()> {
        if self.chosen.is_all {
            return self.write_tree(&trace.2);
        }
        if !self.is_digest && self.pending.len() < MAX_WHOLE_TRACES {
            self.pending.push(trace);
            return Ok(());
        }
        self.is_digest = true;
        let mut kept = std::mem::take(&mut self.pending);
        kept.push(trace);
        for (rule, is_telling, text) in kept {
            if is_telling && self.digest.show(&rule) {
                self.write_tree(&text)?;
            }
        }
        Ok(())
    }

    fn write_tree(&mut self, text: &str) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out)?;
        }
        self.out.write_all(text.as_bytes())
    }

    /// Returns what a rule did to an object, as a tree.
    fn tree(&self, row: &OutcomeRow, report: &ObjectRow) -> String {
        let paint = self.paint;
        let rule = paint.bold(&visible(&row.rule.to_string()));
        let end = match row.status {
            RuleStatus::Skip => paint.dim(&skip_reason(row)),
            RuleStatus::Pass if row.is_patched() => paint.yellow(&row.text()),
            RuleStatus::Pass if row.is_writing() => paint.yellow(&visible(&row.written.join(", "))),
            RuleStatus::Pass => paint.green("pass"),
            RuleStatus::Warn => paint.yellow("warn"),
            RuleStatus::Fail if !row.is_refusal => paint.red("fail, audited only: the object is not refused"),
            RuleStatus::Fail | RuleStatus::Error => paint.red(row.status.name()),
        };
        let mut text = format!("{rule}  on {}     {end}\n", visible(&report.subject));
        let children = row.trace.as_ref().map(|trace| trace.children.as_slice()).unwrap_or_default();
        text.push_str(&trace_tree(children, 1, paint));
        let is_told = matches!(row.status, RuleStatus::Pass) || row.message.is_empty();
        if !is_told && (children.is_empty() || row.status != RuleStatus::Skip) {
            text.push_str(&self.message(row));
        }
        text.push_str(&self.places(row, report));
        text
    }

    /// Returns the cause in plain words, and the message behind it where it is another.
    fn message(&self, row: &OutcomeRow) -> String {
        let reason = row.reason.as_deref().cloned().unwrap_or_default();
        let is_message = reason.text.is_empty() || reason.text == row.message.as_str();
        let shown = if is_message { row.message.as_str() } else { &reason.text };
        let mut text = format!("  → {}\n", visible(shown));
        if !reason.help.is_empty() {
            text.push_str(&format!("      = help: {}\n", visible(&reason.help)));
        }
        // The words that a rule language adds to its author's are in `-o json`.
        if is_message || row.status != RuleStatus::Error {
            return text;
        }
        text.push_str(&self.paint.dim(&format!("    message: {}", visible(&row.message))));
        text.push('\n');
        text
    }

    /// Returns the position of the failed field, or of the object, and of the check in the rule.
    fn places(&self, row: &OutcomeRow, report: &ObjectRow) -> String {
        let paint = self.paint;
        let mut text = String::new();
        if row.status == RuleStatus::Skip && !has_place(children_of(row)) {
            let places = row.rule_location.as_ref().map(|place| place.to_string());
            let object = format!("{}:{}", report.location.file, report.location.position);
            let places: Vec<String> =
                places.into_iter().chain([object]).map(|place| paint.cyan(&visible(&place))).collect();
            text.push_str(&format!("      {}\n", places.join("   ")));
        }
        if !matches!(row.status, RuleStatus::Fail | RuleStatus::Warn | RuleStatus::Error) {
            return text;
        }
        let place = format!("{}:{}", report.location.file, row.position);
        let line = format!("      {}  {}", paint.cyan(&visible(&place)), visible(&row.part()));
        text.push_str(line.trim_end());
        text.push('\n');
        let children = row.trace.as_ref().map(|trace| trace.children.as_slice()).unwrap_or_default();
        if let Some(location) = row.rule_location.as_ref().filter(|place| !is_shown(place, children)) {
            let rule = row.trace.as_ref().and_then(|trace| trace.location.as_ref());
            let is_whole = rule.is_some_and(|rule| rule.position == location.position);
            let line = location.source.line(location.position.line).filter(|_| !is_whole).unwrap_or_default();
            let place = paint.cyan(&visible(&location.to_string()));
            let line = format!("      {place}  {}", shorten_visible(line.trim(), MAX_LINE_CHARACTERS));
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn item(&mut self, item: &Value) -> io::Result<()> {
        let start =
            if std::mem::take(&mut self.is_first) { "{\"version\": 1, \"traces\": [\n" } else { ",\n" };
        write!(self.out, "{start}{}", json::to_shown_pretty(item))
    }

    /// Writes what comes after the last object.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        for (_, _, text) in std::mem::take(&mut self.pending) {
            self.write_tree(&text)?;
        }
        self.write_digest()?;
        if self.format == TraceFormat::Json {
            writeln!(self.out, "{}]}}", if self.is_first { "{\"version\": 1, \"traces\": [" } else { "\n" })?;
        }
        self.out.flush()
    }

    /// Writes what is not shown in full: objects out of scope, and counts where there are many traces.
    fn write_digest(&mut self) -> io::Result<()> {
        let outsiders = self.digest.outsiders();
        let is_long = self.is_digest && outsiders.len() > MAX_WHOLE_TRACES;
        if self.is_digest {
            let start = if self.is_first { "" } else { "\n" };
            writeln!(self.out, "{start}{}", self.paint.bold("all traces"))?;
            for line in self.digest.counts() {
                writeln!(self.out, "  {line}")?;
            }
        }
        for (head, reason) in outsiders.iter().filter(|_| !is_long) {
            writeln!(self.out, "{head}     {}", self.paint.dim(reason))?;
        }
        if self.is_digest {
            let rest = "only what failed or nearly matched is shown, at most 5 of each rule: --object KIND/NS/NAME, \
                        --rule, --status and --all show more";
            writeln!(self.out, "{}", self.paint.dim(rest))?;
        }
        Ok(())
    }
}

/// Returns what a rule did to an object, as a tree without colours.
#[cfg(feature = "lsp")]
pub(super) fn trace_text(row: &OutcomeRow, report: &ObjectRow) -> String {
    RuleTraceWriter::new(Paint::OFF).tree(row, report)
}

/// Returns `Kind/namespace/name` of a document.
fn document_address(document: &Document, namespace: &str) -> String {
    let at = |path: &[&str]| document.value.str_at(path).to_owned();
    let own = at(&["metadata", "namespace"]);
    let namespace = if own.is_empty() { namespace.to_owned() } else { own };
    format!("{}/{namespace}/{}", at(&["kind"]), at(&["metadata", "name"]))
}

/// Returns why a rule did not apply, as far as its message says so.
fn skip_reason(row: &OutcomeRow) -> String {
    if !row.exceptions.is_empty() {
        return format!("did not apply: exception {}", visible(&row.exceptions.join(", ")));
    }
    match row.message.as_str() {
        // The words of the original for any reason; the tree says which.
        "" | "skip" | CONDITIONS_NOT_MET => match unmet_step(children_of(row)) {
            Some(step) => format!("did not apply: {} is {}", visible(&step.what), visible(&step.found)),
            None => "did not apply".to_owned(),
        },
        message if message.starts_with(ANCHOR_MISMATCH) => {
            "did not apply: a conditional anchor of its pattern does not hold".to_owned()
        }
        message => format!("did not apply: {}", shorten_visible(message, MAX_REASON_CHARACTERS)),
    }
}

/// The message of a ValidatingAdmissionPolicy whose conditions do not hold.
const CONDITIONS_NOT_MET: &str = "match conditions aren't met";

/// How the message of a pattern begins whose conditional anchors do not hold.
const ANCHOR_MISMATCH: &str = "conditional anchor mismatch";

/// Returns the first step that is false, such as a match condition.
fn unmet_step(steps: &[TraceNode]) -> Option<&TraceNode> {
    steps.iter().find(|step| step.verdict == TraceVerdict::No && step.found == "false")
}

/// Returns the steps of the trace of `row`.
fn children_of(row: &OutcomeRow) -> &[TraceNode] {
    row.trace.as_ref().map(|trace| trace.children.as_slice()).unwrap_or_default()
}

/// Returns whether the tree shows a place: that of something that is not as wanted.
fn has_place(nodes: &[TraceNode]) -> bool {
    nodes.iter().any(|node| {
        let is_wrong = matches!(node.verdict, TraceVerdict::No | TraceVerdict::Error);
        (is_wrong && node.location.is_some()) || has_place(&node.children)
    })
}

/// Returns whether a failed node is at `place`, so that the tree has shown it.
fn is_shown(place: &Location, nodes: &[TraceNode]) -> bool {
    nodes.iter().any(|node| {
        let is_at_place = node.location.as_ref().is_some_and(|location| location.position == place.position);
        let is_wrong = matches!(node.verdict, TraceVerdict::No | TraceVerdict::Error);
        (is_at_place && is_wrong && node.children.is_empty()) || is_shown(place, &node.children)
    })
}
