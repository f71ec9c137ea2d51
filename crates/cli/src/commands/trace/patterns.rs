//! The trace of every candidate leader of a pattern: which phase discarded it and why, and how it scored.

use std::io::{self, Write as _};

use kubewright_engine::nearest_word;
use kubewright_files::{self as files, ObjectFilter};
use kubewright_graph::{Graph, GraphNode, Id, References, Sort};
use kubewright_patterns::{
    self as patterns, Candidacy, DetectionPhase, DetectionSettings, LeaderTrace, Level, NearMisses, Pattern,
    PatternFindings, TraceStep,
};
use kubewright_report::text::plural;
use kubewright_report::trace::patterns::{
    document_text, graph_object_path, leader_trace, left_out_trace, pattern_summary,
};
use kubewright_report::trace::{LeaderReport, candidacy_nodes};
use kubewright_report::{is_shipped, object_label};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Budget, Document, Value};

use crate::arguments::{ObjectArguments, RuleArguments, TraceFormat, TraceOutput};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, Paint, ReportWriter, keep_inputs, trace_tree, visible};
use crate::pattern_inputs::{PatternInputs, is_name_of_shipped};
use crate::rule_inputs::print_diagnostics;

/// The maximum number of near misses listed.
const MAX_NEAR_MISSES: usize = 2;

/// The maximum number of objects shown that the filter of a leader excludes.
const MAX_EXCLUDED_LEADERS: usize = 5;

/// Returns whether `paths` contain only patterns: files, or names of built-in patterns.
pub(in crate::commands) fn are_patterns(paths: &[String]) -> bool {
    // Standard input can be read only once.
    if paths.iter().any(|path| path == "-") {
        return false;
    }
    let files: Vec<String> = paths.iter().filter(|path| !is_name_of_shipped(path)).cloned().collect();
    if files.is_empty() {
        return true;
    }
    let documents = files::read_documents(&files::find_files(&files).inputs, &mut Vec::new());
    let documents = files::wanted_objects(documents, ObjectFilter::Payloads, &mut Vec::new());
    let is_one =
        |document: &Document| patterns::is_pattern_document(document) || References::is_one(document);
    let (known, others): (Vec<Document>, Vec<Document>) = documents.into_iter().partition(is_one);
    let dialects = kubewright_dialects::all_dialects(&kubewright_dialects::DialectOptions::default());
    let is_rule = |document: &Document| dialects.iter().any(|dialect| dialect.claims(document));
    let is_any = files.len() < paths.len() || known.iter().any(patterns::is_pattern_document);
    is_any && !others.iter().any(is_rule)
}

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(in crate::commands) fn trace_patterns(
    (rules, objects): (&RuleArguments, &ObjectArguments),
    names: &[String],
    (color, output): (ColorChoice, &TraceOutput),
) -> Result<ExitStatus, CommandFailure> {
    let mut inputs = PatternInputs::open(&rules.rules, &objects.resources, &objects.inputs)?;
    inputs.only(&objects.only)?;
    keep_inputs(std::slice::from_ref(output))?;
    let named =
        names.iter().map(|name| find_named_objects(name, &inputs.graph)).collect::<Result<Vec<_>, _>>()?;
    let named: Vec<Id> = named.into_iter().flatten().collect();
    let mut report = PatternTraceWriter {
        graph: &inputs.graph,
        inputs: &inputs,
        named: (!names.is_empty()).then_some(named),
        settings: DetectionSettings { traces: true, ..DetectionSettings::default() },
        out: output.writer()?,
        paint: if output.file.is_some() { Paint::OFF } else { color.paint_output() },
        format: *output.format,
        traces: Vec::new(),
        patterns: Vec::new(),
        is_first: true,
    };
    let mut findings = 0;
    let mut doubts = Vec::new();
    for pattern in &inputs.patterns {
        let mut budget = patterns::detection_budget(pattern, &inputs.graph);
        let found = match patterns::detect(pattern, &inputs.graph, &report.settings, &mut budget) {
            Ok(found) => found,
            Err(error) => {
                doubts.push(patterns::exhausted_diagnostic(pattern, error));
                continue;
            }
        };
        // As in `detect`, INFO findings are not failures.
        findings += found.findings.iter().filter(|finding| finding.severity > Level::Info).count();
        report.pattern(pattern, &found)?;
        doubts.extend(found.diagnostics);
    }
    report.finish()?;
    let mut diagnostics = inputs.diagnostics.clone();
    diagnostics.extend(doubts);
    Ok(match (print_diagnostics(&diagnostics, color.paint_errors()), findings) {
        (true, _) => ExitStatus::BadInput,
        (false, 0) => ExitStatus::Clean,
        (false, _) => ExitStatus::Violations,
    })
}

/// Returns for each relationship that a leader lacks what is near.
pub(in crate::commands) fn near_misses_of(
    pattern: &Pattern,
    trace: &LeaderTrace,
    graph: &Graph,
    budget: &mut Budget,
) -> Vec<Option<NearMisses>> {
    let near = |step: &TraceStep| match step.held {
        true => None,
        false => patterns::near_misses(pattern, &step.entry, trace.leader, graph, MAX_NEAR_MISSES, budget)
            .unwrap_or_default(),
    };
    trace.steps.iter().map(near).collect()
}

/// Returns the objects called `name`: `Kind/namespace/name`, or `Kind/name` in any namespace.
fn find_named_objects(name: &str, graph: &Graph) -> Result<Vec<Id>, CommandFailure> {
    let is_called = |node: &GraphNode| {
        let short = format!("{}/{}", node.kind, node.name);
        node.sort == Sort::Object && (graph_object_path(node) == name || short == name)
    };
    let found: Vec<Id> = graph.ids().filter(|id| graph.node(*id).is_some_and(is_called)).collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let has_namespace = name.split('/').count() > 2;
    let spelt = |node: &GraphNode| match has_namespace {
        true => graph_object_path(node),
        false => format!("{}/{}", node.kind, node.name),
    };
    let nodes = graph.ids().filter_map(|id| graph.node(id)).filter(|node| node.sort == Sort::Object);
    let names: Vec<String> = nodes.map(spelt).collect();
    let failure = CommandFailure::usage(format!("there is no object `{name}`"));
    Err(match nearest_word(name, names.iter().map(String::as_str)) {
        Some(near) => failure.help(did_you_mean(near)),
        None => failure.help("write `Kind/namespace/name`, or `Kind/name`"),
    })
}

/// Writes the traces of the leaders of each pattern.
struct PatternTraceWriter<'a> {
    graph: &'a Graph,
    inputs: &'a PatternInputs,
    /// The objects to trace; all leaders if empty.
    named: Option<Vec<Id>>,
    settings: DetectionSettings,
    out: ReportWriter,
    paint: Paint,
    format: TraceFormat,
    traces: Vec<Value>,
    patterns: Vec<Value>,
    is_first: bool,
}

impl PatternTraceWriter<'_> {
    fn pattern(&mut self, pattern: &Pattern, found: &PatternFindings) -> io::Result<()> {
        // Hints must not cost more than the search.
        let mut budget = Budget::default();
        for trace in &found.trace {
            if self.named.as_ref().is_some_and(|named| !named.contains(&trace.leader)) {
                continue;
            }
            let near = near_misses_of(pattern, trace, self.graph, &mut budget);
            let leads = LeaderReport {
                pattern,
                trace,
                found,
                near: &near,
                graph: self.graph,
                places: self.inputs.places(),
            };
            match self.format {
                TraceFormat::Json => {
                    let place = self.inputs.position(trace.leader);
                    self.traces.push(leader_trace(&leads, place.as_ref()));
                }
                TraceFormat::Tree => self.leader(&leads)?,
            }
        }
        for id in self.named.clone().unwrap_or_else(|| self.excluded(pattern, found, &mut budget)) {
            if found.trace.iter().any(|trace| trace.leader == id) {
                continue;
            }
            let all = patterns::candidacies_of(pattern, id, self.graph, &self.settings, &mut budget);
            let all = all.unwrap_or_default();
            match self.format {
                TraceFormat::Json => {
                    let place = self.inputs.position(id);
                    self.traces.push(left_out_trace(pattern, id, &all, self.graph, place.as_ref()));
                }
                TraceFormat::Tree => self.left_out(pattern, id, &all)?,
            }
        }
        self.summary(pattern, found, &mut budget)
    }

    /// Returns objects of the kinds of the leader that its filter excludes, where it leaves none over.
    fn excluded(&self, pattern: &Pattern, found: &PatternFindings, budget: &mut Budget) -> Vec<Id> {
        if found.leaders > 0 || self.format == TraceFormat::Json {
            return Vec::new();
        }
        let mut is_excluded = |id: &Id| {
            let all = patterns::candidacies_of(pattern, *id, self.graph, &self.settings, budget);
            all.unwrap_or_default().iter().any(|one| one.is_leader && !one.passes)
        };
        self.graph.ids().filter(|id| is_excluded(id)).take(MAX_EXCLUDED_LEADERS).collect()
    }

    fn leader(&mut self, leads: &LeaderReport<'_>) -> io::Result<()> {
        let is_missing = leads.trace.steps.iter().any(|step| step.rule == "mandatory" && !step.held);
        let end = match leads.trace.phase {
            DetectionPhase::Veto if is_missing => {
                self.paint.dim("no match: a required relationship is missing")
            }
            DetectionPhase::Veto => self.paint.dim("no match: a relationship decides against it"),
            DetectionPhase::Threshold => self.paint.dim("no match: too few points"),
            DetectionPhase::Matched => self.paint.yellow(&leads.trace.reason),
        };
        self.head(&leads.pattern.name, leads.trace.leader, &end)?;
        self.out.write_all(trace_tree(&leads.nodes(), 1, self.paint).as_bytes())?;
        for line in leads.ends() {
            writeln!(self.out, "  → {}", visible(&line))?;
        }
        Ok(())
    }

    fn left_out(&mut self, pattern: &Pattern, id: Id, all: &[Candidacy]) -> io::Result<()> {
        let end = match all.iter().find(|one| one.is_leader) {
            Some(_) => "the filter excludes it".to_owned(),
            None => format!("no `{}`, which leads", pattern.leader()),
        };
        let end = self.paint.dim(&end);
        self.head(&pattern.name, id, &end)?;
        let nodes = candidacy_nodes(all, self.inputs.position(id).as_ref());
        self.out.write_all(trace_tree(&nodes, 1, self.paint).as_bytes())
    }

    fn label(&self, id: Id) -> String {
        self.graph.node(id).map(object_label).unwrap_or_default()
    }

    fn head(&mut self, pattern: &str, id: Id, end: &str) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out)?;
        }
        let pattern = self.paint.bold(&visible(&format!("pattern/{pattern}")));
        writeln!(self.out, "{pattern}  on {}     {end}", visible(&self.label(id)))
    }

    /// Writes how many candidates there were, and how many the filter excluded.
    fn summary(&mut self, pattern: &Pattern, found: &PatternFindings, budget: &mut Budget) -> io::Result<()> {
        let left_out =
            patterns::count_filtered_leaders(pattern, self.graph, &self.settings, budget).unwrap_or_default();
        if self.format == TraceFormat::Json {
            self.patterns.push(pattern_summary(pattern, found, &left_out));
            return Ok(());
        }
        if self.named.is_some() {
            return Ok(());
        }
        if !std::mem::take(&mut self.is_first) {
            writeln!(self.out)?;
        }
        let name = visible(&format!("pattern/{}", pattern.name)).into_owned();
        let mut line = format!("{name}: {}", plural(found.leaders, "leader"));
        line.push_str(&format!(", {}", plural(found.findings.len(), "finding")));
        if found.truncated {
            line.push_str(", and there are more");
        }
        let told: Vec<String> = left_out.iter().map(|(kind, count)| plural(*count, kind)).collect();
        if !told.is_empty() {
            line.push_str(&format!("; the filter excludes {}", told.join(", ")));
        }
        writeln!(self.out, "{}", self.paint.dim(&line))?;
        if is_shipped(pattern) {
            let help = format!("`kubewright explain {} --source` prints the pattern", pattern.name);
            writeln!(self.out, "{}", self.paint.dim(&format!("  = help: {help}")))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.format == TraceFormat::Json {
            let (traces, patterns) = (std::mem::take(&mut self.traces), std::mem::take(&mut self.patterns));
            writeln!(self.out, "{}", document_text(traces, patterns))?;
        }
        self.out.flush()
    }
}
