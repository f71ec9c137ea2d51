//! Arguments of the commands that run, test and check rules.

use std::path::PathBuf;

use clap::Args;
use kubewright_report::Severity;

use super::listed::{case_formats, diagnostic_formats, listed, listed_texts, object_formats, page_names};
use super::{
    CaseSelector, ComponentNames, ObjectArguments, ProjectArguments, RuleArguments, RuleOptions,
    SuppressionArguments, Threshold, TraceChoice, TraitValues, parse_severity, parse_threshold,
};
use crate::output::{
    ChosenFormat, NamedFormat, Output, ReportContent, case_output, diagnostic_output, object_output,
    output_help,
};

/// Runs rules on manifests and shows outcomes and changes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright apply rules/ -r manifests/ --diff
  helm template shop ./chart | kubewright apply rules/ -r - -o github
  kubewright apply rules/ -r manifests/ -o table -o sarif=kubewright.sarif
  kubewright apply policies/ -r pod.yaml --set request.operation=UPDATE --audit-warn
  kubewright apply                                        what kubewright.yaml says
  kubewright apply rules/ -r manifests/ --write-baseline kubewright-baseline.yaml
  kubewright apply rules/ -r manifests/ --since main --fail-on high --skip-rule 'best-practices/*'

Exit codes: 0 no problems, 1 a rule fails or ends in an error, 2 bad input")]
pub(crate) struct ApplyArguments {
    #[command(flatten)]
    pub(crate) rules: RuleArguments,

    #[command(flatten)]
    pub(crate) objects: ObjectArguments,

    /// Show what changed in each object
    #[arg(long)]
    pub(crate) diff: bool,

    #[arg(
        short,
        long = "output",
        value_name = "FORMAT[=FILE]",
        value_parser = listed(object_formats, object_output),
        hide_possible_values = true,
        help = output_help(ReportContent::Objects)
    )]
    pub(crate) outputs: Vec<Output>,

    /// The same as `-o policyreport`
    #[arg(short, long)]
    pub(crate) policy_report: bool,

    /// Show and count a failure as a warning if the rule does not deny the object
    #[arg(long)]
    pub(crate) audit_warn: bool,

    /// The exit code if there are warnings and nothing worse
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    pub(crate) warn_exit_code: u8,

    /// Also exit with that code if no object passes any rule
    #[arg(long)]
    pub(crate) warn_no_pass: bool,

    /// Exit with 1 only for failures of rules of at least this severity, and for errors; `never` for errors alone [default: every
    /// failure]
    #[arg(long, value_name = "LEVEL", value_parser = parse_threshold)]
    pub(crate) fail_on: Option<Threshold>,

    #[command(flatten)]
    pub(crate) suppressions: SuppressionArguments,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,

    /// Run again whenever a file changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// Write every resulting object to this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) output_objects: Option<PathBuf>,

    /// List every object and every outcome, also what passed and what was skipped
    #[arg(short, long, conflicts_with = "summary")]
    pub(crate) verbose: bool,

    /// Show one row for each rule instead of one for each object
    #[arg(long)]
    pub(crate) summary: bool,

    /// Print problems only
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Show the messages of rules in the table as their rule language words them
    #[arg(long)]
    pub(crate) verbatim: bool,
}

/// Runs the cases of test files.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright test
  kubewright test rules/
  kubewright test policies/ --file-name kyverno-test.yaml
  kubewright test rules/ --coverage -o json
  kubewright test rules/ --min 80 -o table -o lcov=coverage.info
  kubewright test --schema > kubewright-test.schema.json
  kubewright test --new policies/limits.yaml -r manifests/web.yaml

Exit codes: 0 every case holds, 1 a case fails, 2 bad input")]
pub(crate) struct TestArguments {
    /// Test files, folders that contain kubewright-test.yaml or kyverno-test.yaml files, or globs [default: those of the
    /// project]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Write a test of what these rules do now to PATH, or to kubewright-test.yaml beside the rule; `-` is standard output
    #[arg(long, value_name = "RULES", requires = "resources")]
    pub(crate) new: Vec<String>,

    /// The manifests that a new test is about; may be repeated
    #[arg(short, long, alias = "resource", value_name = "RESOURCES", requires = "new")]
    pub(crate) resources: Vec<String>,

    /// Look for test files of this name instead
    #[arg(short, long, value_name = "NAME")]
    pub(crate) file_name: Option<String>,

    /// Only matching cases: policy=NAME, rule=NAME, resource=NAME, with `*` and `?`
    #[arg(short = 't', long = "test-case-selector", value_name = "KEY=NAME[,…]")]
    pub(crate) selector: Option<CaseSelector>,

    /// Only cases of rules of at least this severity: info, low, medium, high or critical; a rule that names none is medium
    #[arg(long, value_name = "LEVEL", value_parser = parse_severity)]
    pub(crate) severity: Option<Severity>,

    /// Only cases of rules of this category, with `*` and `?` as wildcards; may be repeated
    #[arg(long = "category", value_name = "NAME")]
    pub(crate) categories: Vec<String>,

    /// Severities that the project gives to rules.
    #[arg(skip)]
    pub(crate) severities: Vec<(String, Severity)>,

    #[arg(
        short,
        long = "output",
        alias = "output-format",
        value_name = "FORMAT[=FILE]",
        value_parser = listed(case_formats, case_output),
        hide_possible_values = true,
        help = output_help(ReportContent::Cases)
    )]
    pub(crate) outputs: Vec<Output>,

    /// List the rules, and the branches of rules, that no case exercised; `-o lcov`, `-o cobertura` and `-o html` write them
    #[arg(long)]
    pub(crate) coverage: bool,

    /// Exit with 1 if less than this percentage of rules and branches is exercised
    #[arg(long, value_name = "PERCENT", value_parser = parse_percent)]
    pub(crate) min: Option<f64>,

    /// Print the JSON schema of test files
    #[arg(long)]
    pub(crate) schema: bool,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,

    /// Run again whenever a file changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// Print problems only
    #[arg(short, long, alias = "fail-only")]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) options: RuleOptions,
}

impl TestArguments {
    /// Returns whether some cases are left out.
    pub(crate) fn selects_cases(&self) -> bool {
        self.selector.is_some() || self.severity.is_some() || !self.categories.is_empty()
    }
}

/// Checks rules and patterns without running them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright lint rules/
  kubewright lint rules/ --deny-warnings -o github

Exit codes: 0 no errors, 1 errors (or warnings with --deny-warnings), 2 unreadable input")]
pub(crate) struct LintArguments {
    #[command(flatten)]
    pub(crate) rules: RuleArguments,

    #[arg(
        short,
        long = "output",
        value_name = "FORMAT[=FILE]",
        value_parser = listed(diagnostic_formats, diagnostic_output),
        hide_possible_values = true,
        help = output_help(ReportContent::Diagnostics)
    )]
    pub(crate) outputs: Vec<Output>,

    /// The namespace of rules without one
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// Also report trait operations that are not idempotent
    #[arg(long)]
    pub(crate) check_idempotent: bool,

    /// Only problems of rules of at least this severity: info, low, medium, high or critical; a rule that names none is medium
    #[arg(long, value_name = "LEVEL", value_parser = parse_severity)]
    pub(crate) severity: Option<Severity>,

    /// Exit with 1 if there are warnings
    #[arg(long)]
    pub(crate) deny_warnings: bool,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,

    /// Run again whenever a file changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// Print problems only
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Shows the page of a diagnostic code, or of a built-in pattern.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright explain
  kubewright explain KW-M023
  kubewright explain orphan-service
  kubewright explain orphan-service --source")]
pub(crate) struct ExplainArguments {
    /// A code such as KW-Y001, or a pattern; lists all if omitted
    #[arg(value_name = "NAME", value_parser = listed_texts(page_names), hide_possible_values = true)]
    pub(crate) name: Option<String>,

    /// Print the YAML of a built-in pattern instead of its page
    #[arg(long, requires = "name")]
    pub(crate) source: bool,
}

/// Shows why each rule did what it did.
#[derive(Debug, Args)]
#[command(after_help = "\
For traits, the manifests are rendered with all of them in order, as `kubewright render` does; the trace shows what each
patch matched and changed, and then the writer of each field. `kubewright render --trace` does the same for a stack file.

For patterns, the trace shows every candidate leader: the relationships that were checked, the object and field they
hold through, the points, and the phase that discarded it. Near misses of selectors are listed.

Examples:
  kubewright trace rules/ -r manifests/web.yaml
  kubewright trace rules/ -r manifests/ --rule add-labels -o json
  kubewright trace traits/ -r manifests/ --set parameters.level=debug
  kubewright trace patterns/ -r manifests/ --object Service/shop/web
  kubewright trace orphan-service -r manifests/          a built-in pattern, by its name

Exit codes: 0 no problems, 1 a rule fails or ends in an error, 2 bad input")]
pub(crate) struct TraceArguments {
    #[command(flatten)]
    pub(crate) rules: RuleArguments,

    #[command(flatten)]
    pub(crate) objects: ObjectArguments,

    /// tree or json, into FILE when one is named
    #[arg(short, long, default_value = "tree", value_name = "FORMAT[=FILE]", value_parser = trace_output)]
    pub(crate) output: TraceOutput,

    /// Only this object: `Kind/namespace/name` or `Kind/name`, for rules also with `*` and `?`; may be repeated
    #[arg(long = "object", value_name = "OBJECT")]
    pub(crate) named: Vec<String>,

    #[command(flatten)]
    pub(crate) choice: TraceChoice,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,

    #[command(flatten, next_help_heading = "Options for traits")]
    pub(crate) values: TraitValues,

    #[command(flatten, next_help_heading = "Options for traits")]
    pub(crate) names: ComponentNames,
}

impl TraceArguments {
    /// Takes `--project NAME` for `--project-name NAME`, which it meant before, unless it names a file. Returns whether it
    /// did.
    pub(crate) fn take_former_project(&mut self) -> bool {
        let is_file = |path: &PathBuf| {
            path.exists()
                || path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
        };
        if self.names.project.is_some() || self.project.project_file.as_ref().is_none_or(is_file) {
            return false;
        }
        let name = self.project.project_file.take();
        self.names.project = name.map(|name| name.to_string_lossy().into_owned());
        true
    }
}

/// Formats of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TraceFormat {
    /// For people.
    Tree,
    /// One document with stable keys.
    Json,
}

/// The `-o` of a command that shows traces.
pub(crate) type TraceOutput = ChosenFormat<TraceFormat>;

impl NamedFormat for TraceFormat {
    fn all() -> &'static [Self] {
        &[Self::Tree, Self::Json]
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Json => "json",
        }
    }
}

/// Reads `-o` of a command that shows traces; `table` is another name of `tree`.
pub(crate) fn trace_output(text: &str) -> Result<TraceOutput, String> {
    let text = match text.strip_prefix("table") {
        Some(rest) if rest.is_empty() || rest.starts_with('=') => format!("tree{rest}"),
        _ => text.to_owned(),
    };
    TraceOutput::parse(&text, TraceFormat::all().iter())
}

/// Reads a percentage.
fn parse_percent(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        _ => Err("a percentage is a number from 0 to 100".to_owned()),
    }
}

impl TestArguments {
    /// Switches coverage on where another argument needs it.
    pub(crate) fn imply_coverage(&mut self) {
        self.coverage |=
            self.min.is_some() || self.outputs.iter().any(|output| output.format.is_about_coverage());
    }
}
