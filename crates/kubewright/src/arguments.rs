//! Command-line arguments. This module only declares and checks them.

mod checked;
#[cfg(feature = "serve")]
mod cluster;
mod detect;
mod fix;
mod function;
mod grammar;
mod graph;
mod inputs;
mod install;
mod listed;
#[cfg(feature = "serve")]
mod migrate;
mod render;
mod rule_sets;
mod scaffold;
#[cfg(feature = "serve")]
mod scan;
mod selection;
mod selector;
#[cfg(feature = "serve")]
mod serve;
mod shared;
mod why;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use kubewright_dialects::compatible_programs;
use kubewright_engine::nearest_word;
use kubewright_gotemplate::FunctionSet;

use crate::fixtures::VariableSetting;
use crate::output::{
    ColorChoice, Output, ReportContent, case_output, diagnostic_output, object_output, output_help,
};
pub(crate) use checked::check_languages;
#[cfg(feature = "serve")]
pub(crate) use cluster::{ClusterArguments, DoctorArguments, DoctorFormat, RescueArguments};
pub(crate) use detect::{CompatMode, DetectArguments, Threshold, parse_threshold};
pub(crate) use fix::FixArguments;
pub(crate) use function::FunctionArguments;
pub(crate) use grammar::{misplaced_manifests, parse_command_line};
pub(crate) use graph::GraphArguments;
pub(crate) use inputs::InputArguments;
pub(crate) use install::InstallArguments;
use listed::{case_formats, diagnostic_formats, listed, listed_texts, object_formats, page_names};
#[cfg(feature = "serve")]
pub(crate) use migrate::{MigrateArguments, MigrateFormat};
pub(crate) use render::{ComponentNames, RenderArguments, RenderFormat, RenderPlane, TraitValues};
pub(crate) use rule_sets::{BenchArguments, DiffArguments, ImpactArguments, ImpactFormat, TableFormat};
pub(crate) use scaffold::{CiSystem, InitArguments, NewArguments, ScaffoldKind};
#[cfg(feature = "serve")]
pub(crate) use scan::{ReportArguments, ReportKind, ReportSubjects, ScanArguments, ScanRuleArguments};
pub(crate) use selection::{RuleSelection, SuppressionArguments, parse_severity, severity_of_rule};
pub(crate) use selector::CaseSelector;
#[cfg(feature = "serve")]
pub(crate) use serve::ServeArguments;
pub(crate) use shared::{FlagForm, SHARED_FLAGS, SharedFlags};
pub(crate) use why::{TraceChoice, WhyArguments};

const EXAMPLES: &str = "\
Without a command, the repository of a kubewright.yaml is checked: lint, apply and test.

Examples:
  kubewright demo                              run the built-in examples
  kubewright demo --save demo                  write the demo's rules and manifests to a folder
  kubewright apply demo/rules -r demo/manifests --diff

Exit codes:
  0  no problems
  1  a rule fails, ends in an error or cannot be converted, or a test fails
  2  bad input or bad usage; everything that could be read was still processed";

/// Evaluates Kubernetes rule languages on manifests and explains every outcome.
#[derive(Debug, Parser)]
#[command(name = "kubewright", version, after_help = EXAMPLES)]
pub(crate) struct CommandLine {
    /// The command.
    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,

    /// When to use colours: auto, always or never; NO_COLOR is honoured
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        hide_possible_values = true,
        // Listed last, after the options of any command.
        display_order = 900
    )]
    pub(crate) color: ColorChoice,

    /// Allow test files, stacks and worlds to refer to files outside of their project
    #[arg(long, global = true, display_order = 901)]
    pub(crate) allow_outside: bool,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,
}

/// The project file. `trace` and `render` have another `--project`, so that it is written before their names.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct ProjectArguments {
    /// The project file [default: `kubewright.yaml` in this folder or above it, within the repository]
    #[arg(long = "project", value_name = "FILE", display_order = 902)]
    pub(crate) project_file: Option<PathBuf>,

    /// Do not use a project file
    #[arg(long, conflicts_with = "project_file", display_order = 903)]
    pub(crate) no_project: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run rules on manifests and show outcomes and changes
    Apply(Box<ApplyArguments>),
    /// Run the cases of kubewright-test.yaml and kyverno-test.yaml files
    Test(TestArguments),
    /// Check rules and patterns without running them
    Lint(LintArguments),
    /// Change manifests so that rules pass, with comments and order kept
    Fix(Box<FixArguments>),
    /// Show the page of a diagnostic code or of a pattern
    Explain(ExplainArguments),
    /// Show why each rule or trait did what it did
    Trace(Box<TraceArguments>),
    /// Show what every rule says about one object, and why
    Why(Box<WhyArguments>),
    /// Show the objects on which two sets of rules differ
    Diff(Box<DiffArguments>),
    /// Show what rules would newly refuse, warn of and change
    Impact(Box<ImpactArguments>),
    /// Measure what each rule costs
    Bench(Box<BenchArguments>),
    /// Write ValidatingAdmissionPolicies that are equivalent to ClusterPolicies
    Generate(GenerateArguments),
    /// Write policies in CEL that are equivalent to ClusterPolicies
    Convert(ConvertArguments),
    /// Move the policies of a folder or a cluster to the kinds that succeed them, with proof
    #[cfg(feature = "serve")]
    Migrate(Box<MigrateArguments>),
    /// Apply traits to manifests
    Render(RenderArguments),
    /// Apply traits as a KRM function of kustomize or kpt
    Fn(FunctionArguments),
    /// Find patterns and smells in a set of objects
    Detect(Box<DetectArguments>),
    /// Judge every object of a cluster, once or all the time
    #[cfg(feature = "serve")]
    Scan(Box<ScanArguments>),
    /// Draw objects and the edges between them
    Graph(GraphArguments),
    /// Print the manifests that install the webhook in a cluster
    Install(InstallArguments),
    /// Check the webhook in a cluster and report problems
    #[cfg(feature = "serve")]
    Doctor(DoctorArguments),
    /// Remove the webhook configurations from a cluster
    #[cfg(feature = "serve")]
    Rescue(RescueArguments),
    /// Evaluate an expression on an object
    Eval(EvalArguments),
    /// Run the admission webhook of a cluster
    #[cfg(feature = "serve")]
    Serve(Box<ServeArguments>),
    /// Sign manifests, for rules that check signatures
    Sign(SignArguments),
    /// Run the built-in examples
    Demo(DemoArguments),
    /// Write a rule with a test that passes
    New(NewArguments),
    /// Write a project file and a CI file
    Init(InitArguments),
    /// Print a completion script for a shell
    Completions(CompletionsArguments),
    /// Print the manual page, or write all pages to a folder
    Man(ManArguments),
}

impl CliCommand {
    /// Returns whether the command takes what it was not given from the project.
    pub(crate) fn has_project(&self) -> bool {
        self.project().is_some() || matches!(self, Self::Trace(_))
    }

    /// Returns what the command itself was told about the project.
    pub(crate) fn project(&self) -> Option<&ProjectArguments> {
        match self {
            Self::Apply(arguments) => Some(&arguments.project),
            Self::Fix(arguments) => Some(&arguments.project),
            Self::Test(arguments) => Some(&arguments.project),
            Self::Lint(arguments) => Some(&arguments.project),
            Self::Detect(arguments) => Some(&arguments.project),
            Self::Graph(arguments) => Some(&arguments.project),
            _ => None,
        }
    }

    /// Returns whether the command runs again whenever a file changes.
    pub(crate) fn is_watched(&self) -> bool {
        match self {
            Self::Apply(arguments) => arguments.watch,
            Self::Test(arguments) => arguments.watch,
            Self::Lint(arguments) => arguments.watch,
            Self::Render(arguments) => arguments.watch,
            Self::Graph(arguments) => arguments.watch,
            _ => false,
        }
    }
}

/// The rules, and how they are compiled.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct RuleArguments {
    /// Rule files, folders or patterns; `-` is standard input [default: those of the project]
    #[arg(value_name = "RULES")]
    pub(crate) rules: Vec<String>,

    /// Exceptions from rules, such as a PolicyException: a file, folder or pattern; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH")]
    pub(crate) exceptions: Vec<String>,

    /// Further exceptions, found among the manifests.
    #[arg(skip)]
    pub(crate) further_exceptions: Vec<String>,

    #[command(flatten)]
    pub(crate) options: RuleOptions,
}

/// Options for compiling rules.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct RuleOptions {
    /// The namespace whose rules apply to the whole cluster [default: that of the rule language]
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) cluster_rules_namespace: Option<String>,

    /// Allow a template function that is off by default; may be repeated
    #[arg(long = "allow-function", value_name = "NAME", value_parser = allowed_function)]
    pub(crate) allowed_functions: Vec<String>,

    /// Follow this program if it and the documentation of its rule language disagree; may be repeated
    #[arg(long = "compat", value_name = "PROGRAM", value_parser = PossibleValuesParser::new(compatible_programs()))]
    pub(crate) compatible_with: Vec<String>,

    /// Set by `lint` only.
    #[arg(skip)]
    pub(crate) checks_idempotence: bool,
}

/// The objects, and the admission request that is simulated for them.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct ObjectArguments {
    /// Manifests: a file, folder, pattern, chart, kustomization or `cluster:`; `-` is standard input; may be repeated
    /// [default: those of the project]
    #[arg(short, long, alias = "resource", value_name = "RESOURCES")]
    pub(crate) resources: Vec<String>,

    /// Documents that are not Kubernetes objects, for policies about JSON, HTTP or Envoy: files, folders or patterns; may be repeated
    #[arg(id = "payloads", long = "json", visible_aliases = ["http-payload", "envoy-payload"], value_name = "PATH")]
    pub(crate) payloads: Vec<String>,

    /// The operation of the admission request
    #[arg(long, default_value = "CREATE", value_name = "OPERATION", ignore_case = true,
          value_parser = PossibleValuesParser::new(["CREATE", "UPDATE", "DELETE", "CONNECT"]))]
    pub(crate) operation: String,

    /// Old versions of the objects for an UPDATE, matched by kind, namespace and name: files, folders or patterns; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) old: Vec<String>,

    /// The requesting user
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// A group of the requesting user; may be repeated
    #[arg(long = "group", value_name = "NAME")]
    pub(crate) groups: Vec<String>,

    /// The requesting user with roles: a UserInfo file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) userinfo: Option<String>,

    /// Values of variables by policy, rule and object: a Values file
    #[arg(short = 'f', long, alias = "values-file", value_name = "FILE")]
    pub(crate) values: Option<String>,

    /// A variable and its value; may be repeated. `request.operation` also sets the operation
    #[arg(short, long, value_name = "NAME=VALUE[,…]")]
    pub(crate) set: Vec<VariableSetting>,

    /// Objects and responses that rules may look up: files, folders, patterns or `cluster:`; may be repeated
    #[arg(long, value_name = "PATH",
          aliases = ["parameter-resource", "target-resource", "target-resources", "context-file"])]
    pub(crate) world: Vec<String>,

    /// A registry that rules may query about images and their signatures; `http://host` without TLS; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_registry: Vec<String>,

    /// Also use the exceptions among the manifests
    #[arg(long, alias = "exceptions-with-resources")]
    pub(crate) exceptions_within_resources: bool,

    /// Also use the exceptions among the rules
    #[arg(long)]
    pub(crate) exceptions_within_policies: bool,

    /// The namespace of objects and rules without one [default: `default` for objects], and the only one that `cluster:` reads
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// Evaluate like a background scan: rules that only apply at admission are skipped
    #[arg(long)]
    pub(crate) background: bool,

    /// Only this rule: its full id, `policy/rule` or `rule`; or all rules of a policy; with `*` and `?` as wildcards; may be repeated
    #[arg(long = "rule", value_name = "NAME", value_hint = ValueHint::Other)]
    pub(crate) only: Vec<String>,

    #[command(flatten)]
    pub(crate) selection: RuleSelection,

    #[command(flatten)]
    pub(crate) inputs: InputArguments,
}

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
    /// Test files, folders that contain kubewright-test.yaml or kyverno-test.yaml files, or patterns [default: those of the
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
  kubewright explain orphan-service")]
pub(crate) struct ExplainArguments {
    /// A code such as KW-Y001, or a pattern; lists all if omitted
    #[arg(value_name = "NAME", value_parser = listed_texts(page_names), hide_possible_values = true)]
    pub(crate) name: Option<String>,
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

    /// The format of the trace
    #[arg(short, long, value_enum, default_value = "tree", value_name = "FORMAT")]
    pub(crate) output: TraceFormat,

    /// Only this object: `Kind/namespace/name` or `Kind/name`, for rules also with `*` and `?`; may be repeated
    #[arg(long = "object", value_name = "OBJECT")]
    pub(crate) named: Vec<String>,

    #[command(flatten)]
    pub(crate) choice: TraceChoice,

    #[command(flatten, next_help_heading = "Options for traits")]
    pub(crate) values: TraitValues,

    #[command(flatten, next_help_heading = "Options for traits")]
    pub(crate) names: ComponentNames,
}

/// Formats of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// For people.
    #[value(alias = "table")]
    Tree,
    /// One document with stable keys.
    Json,
}

/// Writes policies that other programs evaluate.
#[derive(Debug, Args)]
pub(crate) struct GenerateArguments {
    /// What to write
    #[command(subcommand)]
    pub(crate) what: GenerateTarget,
}

/// Kinds of policies that can be generated.
#[derive(Debug, Subcommand)]
pub(crate) enum GenerateTarget {
    /// Write a ValidatingAdmissionPolicy and its binding for every rule that the API server can evaluate itself
    Vap(GenerateVapArguments),
}

/// Writes ValidatingAdmissionPolicies.
#[derive(Debug, Args)]
#[command(after_help = "\
A rule in CEL is written if the controller in the cluster would write it, whether or not the rule has `generate`.
A rule with patterns or conditions is written if CEL can express exactly the same. Each is compared with its source on
the tests of the policy, which are kyverno-test.yaml files in its folder and below, and left out if it differs.

Examples:
  kubewright generate vap policies/ --output-dir vap/
  kubewright generate vap policies/require-labels.yaml --autogen | kubectl apply --dry-run=server -f -
  kubewright generate vap policies/ --summary

Exit codes: 0 everything is written, 1 a rule cannot be expressed or differs, 2 bad input")]
pub(crate) struct GenerateVapArguments {
    #[command(flatten)]
    pub(crate) conversions: ConversionArguments,

    /// Also write rules in CEL about Pods for the controllers that create Pods, which the cluster would leave out
    #[arg(long)]
    pub(crate) autogen: bool,

    /// Exceptions that the written policies exclude: a PolicyException file, folder or pattern; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH")]
    pub(crate) exceptions: Vec<String>,
}

/// Writes policies in another form.
#[derive(Debug, Args)]
#[command(after_help = "\
Each policy is compared with its source on the tests of the source, which are kyverno-test.yaml files in its folder
and below, and left out if it differs.

Examples:
  kubewright convert policies/ --to auto --output-dir converted/
  kubewright convert policies/require-labels.yaml
  kubewright convert policies/ --to vap --autogen
  kubewright convert policies/ --summary -o json

Exit codes: 0 everything is written, 1 a rule cannot be expressed or differs, 2 bad input")]
pub(crate) struct ConvertArguments {
    #[command(flatten)]
    pub(crate) conversions: ConversionArguments,

    /// What to write; the short names vpol, mpol, gpol, dpol and ivpol are understood too
    #[arg(long, value_enum, value_name = "KIND", ignore_case = true, default_value = "validatingpolicy")]
    pub(crate) to: ConvertTarget,

    /// With `--to vap`: also write rules in CEL about Pods for the controllers that create Pods
    #[arg(long)]
    pub(crate) autogen: bool,

    /// With `--to vap`: exceptions that the written policies exclude: a PolicyException file, folder or pattern; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH")]
    pub(crate) exceptions: Vec<String>,
}

/// Kinds that policies can be converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertTarget {
    /// The successor of each rule, whatever its kind is.
    Auto,
    /// ValidatingPolicy, and NamespacedValidatingPolicy for a Policy.
    #[value(alias = "vpol")]
    Validatingpolicy,
    /// MutatingPolicy, and NamespacedMutatingPolicy for a Policy.
    #[value(alias = "mpol")]
    Mutatingpolicy,
    /// GeneratingPolicy, and NamespacedGeneratingPolicy for a Policy.
    #[value(alias = "gpol")]
    Generatingpolicy,
    /// DeletingPolicy for a ClusterCleanupPolicy, and NamespacedDeletingPolicy for a CleanupPolicy.
    #[value(alias = "dpol")]
    Deletingpolicy,
    /// ImageValidatingPolicy, and NamespacedImageValidatingPolicy for a Policy.
    #[value(alias = "ivpol")]
    Imagevalidatingpolicy,
    /// ValidatingAdmissionPolicy with its binding, as `generate vap` writes it.
    #[value(alias = "validatingadmissionpolicy")]
    Vap,
}

/// The policies to convert, and where to write the result.
#[derive(Debug, Args, Clone)]
pub(crate) struct ConversionArguments {
    /// Policy files, folders or patterns; `-` is standard input
    #[arg(required = true, value_name = "POLICIES")]
    pub(crate) policies: Vec<String>,

    /// Write one file for each policy to this folder, instead of a stream
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,

    /// The output format
    #[arg(short, long, value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) output: ConversionFormat,

    /// Print how many policies and rules can be converted, and why the others cannot, instead of the policies
    #[arg(long)]
    pub(crate) summary: bool,

    /// Leave out policies that no test compares with their source
    #[arg(long)]
    pub(crate) require_tests: bool,
}

/// Output formats of conversions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConversionFormat {
    /// The policies as a stream; with `--summary` a table.
    Yaml,
    /// One document with stable keys: policies, omissions and counts.
    Json,
}

/// Evaluates an expression on an object.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo '{\"items\": [1, 2]}' | kubewright eval jsonpath '$.items[*]' -f - --keys
  echo '{\"kind\": \"Pod\"}' | kubewright eval gotemplate '{{ .Target.kind | lower }}' -f -
  echo '{\"image\": \"nginx\"}' | kubewright eval jmespath 'image_normalize(image)' -f -
  echo '{\"n\": [1, 2]}' | kubewright eval cel 'object.n.all(x, x > 0)' -f - --cost
  echo '{\"image\": \"nginx\"}' | kubewright eval cel 'image(object.image).registry()' -f - --policy
  kubewright eval jmespath --list-functions")]
pub(crate) struct EvalArguments {
    /// The language of the expression
    #[arg(value_enum)]
    pub(crate) language: ExpressionLanguage,

    /// The expression
    #[arg(required_unless_present = "list_functions", default_value = "", hide_default_value = true)]
    pub(crate) expression: String,

    /// The object, as YAML or JSON; `-` is standard input
    #[arg(
        short,
        long,
        required_unless_present = "list_functions",
        default_value = "",
        hide_default_value = true
    )]
    pub(crate) file: String,

    /// Show what each wildcard captured
    #[arg(long)]
    pub(crate) keys: bool,

    /// Allow a template function that is off by default; may be repeated
    #[arg(long = "allow-function", value_name = "NAME", value_parser = allowed_function)]
    pub(crate) allowed_functions: Vec<String>,

    /// Set a variable of a CEL expression to the content of a file; may be repeated
    #[arg(long = "var", value_name = "NAME=FILE")]
    pub(crate) variables: Vec<String>,

    /// Print the cost of evaluating a CEL expression, as the API server counts it
    #[arg(long)]
    pub(crate) cost: bool,

    /// Also allow the functions of policies in a CEL expression, such as `image` and `json.unmarshal`
    #[arg(long)]
    pub(crate) policy: bool,

    /// List the functions of JMESPath or CEL
    #[arg(long, conflicts_with_all = ["expression", "file"])]
    pub(crate) list_functions: bool,
}

/// Expression languages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExpressionLanguage {
    /// Selects parts of an object.
    Jsonpath,
    /// Renders text from an object.
    Gotemplate,
    /// Computes values from an object, with the functions of policies.
    Jmespath,
    /// Computes values from an object, the variable `object`.
    Cel,
}

/// Signs manifests, for rules that check signatures.
#[derive(Debug, Args)]
#[command(after_help = "\
With `--image` an image is signed: the signature goes into its registry in the form of cosign, or with `-o`
into a file for `--world`.

A signature covers the whole object. It is stored in annotations, with the signed text, in the form
that `validate.manifests` rules and `kubectl sigstore` check. Signing a second time with another
key adds a signature. Comments in the file are lost.

Examples:
  openssl ecparam -name prime256v1 -genkey -noout -out key.pem
  openssl ec -in key.pem -pubout -out key.pub
  kubewright sign service.yaml --key key.pem -o service.signed.yaml
  kustomize build | kubewright sign - --key key.pem | kubectl apply -f -
  kubewright sign --image registry.example.com/app:1 --key key.pem --allow-registry registry.example.com

Exit codes: 0 everything is signed, 2 bad input, and nothing is written")]
pub(crate) struct SignArguments {
    /// A file with one or several objects; `-` is standard input
    #[arg(value_name = "MANIFEST", required_unless_present = "image")]
    pub(crate) manifest: Option<String>,

    /// An image to sign in place of a manifest
    #[arg(long, value_name = "IMAGE", conflicts_with = "manifest")]
    pub(crate) image: Option<String>,

    /// State what this JSON or YAML file says about the image, in place of signing it
    #[arg(long, value_name = "FILE", requires = "image", requires = "predicate_type")]
    pub(crate) predicate: Option<String>,

    /// The type of the statement, such as `https://slsa.dev/provenance/v1`
    #[arg(long, value_name = "TYPE", requires = "predicate")]
    pub(crate) predicate_type: Option<String>,

    /// A text that the signature of an image carries; may be repeated
    #[arg(long = "annotation", value_name = "NAME=VALUE", requires = "image")]
    pub(crate) annotations: Vec<String>,

    /// The registry that is asked about the image and stores the signature; `http://host` without TLS; may be repeated
    #[arg(long, value_name = "HOST", requires = "image")]
    pub(crate) allow_registry: Vec<String>,

    /// An ECDSA P-256 private key in PEM
    #[arg(short, long, value_name = "FILE")]
    pub(crate) key: String,

    /// Where to write the signed manifest [default: standard output], or the signature of an image [default: its registry]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// The domain of the annotations
    #[arg(long, value_name = "DOMAIN", default_value = kubewright_kyverno::signing::DEFAULT_DOMAIN)]
    pub(crate) annotation_domain: String,

    /// Remove existing signatures first
    #[arg(long)]
    pub(crate) replace: bool,
}

/// Runs the built-in examples.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright demo
  kubewright demo --save demo")]
pub(crate) struct DemoArguments {
    /// Write the examples to this folder instead
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
}

/// Prints a completion script.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(kubewright completions bash)
  kubewright completions fish > ~/.config/fish/completions/kubewright.fish")]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Prints or writes manual pages.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright man > kubewright.1
  kubewright man ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// Write the pages of all commands to this folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
}

/// Checks the name of a template function that is to be allowed.
fn allowed_function(name: &str) -> Result<String, String> {
    let allowed = FunctionSet::rules().allow(name).names();
    if allowed.contains(&name) {
        return Ok(name.to_owned());
    }
    let refusable = FunctionSet::refusable();
    if refusable.contains(&name) {
        return Err("it cannot be allowed: rules have no access to what it needs".to_owned());
    }
    Err(match nearest_word(name, refusable) {
        Some(near) => format!("there is no such function; did you mean `{near}`?"),
        None => "there is no such function".to_owned(),
    })
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
