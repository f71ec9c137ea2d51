//! Command-line arguments. This module only declares and checks them.

#[macro_use]
mod command_list;
mod checked;
#[cfg(feature = "serve")]
mod cluster;
mod conversion;
mod detect;
mod editors;
mod evaluate;
mod fix;
mod function;
mod grammar;
mod graph;
mod inputs;
mod install;
mod judging;
mod listed;
#[cfg(feature = "serve")]
mod migrate;
mod render;
mod rule_sets;
mod rules;
mod scaffold;
#[cfg(feature = "serve")]
mod scan;
mod selection;
mod selector;
#[cfg(feature = "serve")]
mod serve;
mod shared;
#[cfg(feature = "serve")]
mod ui;
mod why;

use std::path::PathBuf;

use clap::{Args, Command, CommandFactory as _, Parser};

use crate::output::ColorChoice;
pub(crate) use checked::check_languages;
#[cfg(feature = "serve")]
pub(crate) use cluster::{ClusterArguments, DoctorArguments, DoctorFormat, RescueArguments};
pub(crate) use conversion::{
    ConversionArguments, ConversionFormat, ConvertArguments, ConvertTarget, GenerateArguments, GenerateTarget,
};
pub(crate) use detect::{CompatMode, DetectArguments, Threshold, parse_threshold};
#[cfg(feature = "lsp")]
pub(crate) use editors::LspArguments;
pub(crate) use editors::{McpArguments, SchemaArguments};
pub(crate) use evaluate::{EvalArguments, ExpressionLanguage, SignArguments};
pub(crate) use fix::FixArguments;
pub(crate) use function::FunctionArguments;
pub(crate) use grammar::{misplaced_manifests, parse_command_line};
pub(crate) use graph::GraphArguments;
pub(crate) use inputs::InputArguments;
pub(crate) use install::InstallArguments;
pub(crate) use judging::{
    ApplyArguments, ExplainArguments, LintArguments, TestArguments, TraceArguments, TraceFormat, TraceOutput,
    trace_output,
};
#[cfg(feature = "serve")]
pub(crate) use migrate::{MigrateArguments, MigrateFormat};
pub(crate) use render::{ComponentNames, RenderArguments, RenderFormat, RenderPlane, TraitValues};
pub(crate) use rule_sets::{BenchArguments, DiffArguments, ImpactArguments, ImpactFormat, TableFormat};
pub(crate) use rules::{ObjectArguments, RuleArguments, RuleOptions};
pub(crate) use scaffold::{CiSystem, InitArguments, NewArguments, ScaffoldKind};
#[cfg(feature = "serve")]
pub(crate) use scan::{ReportArguments, ReportKind, ReportSubjects, ScanArguments, ScanRuleArguments};
pub(crate) use selection::{RuleSelection, SuppressionArguments, parse_severity};
pub(crate) use selector::CaseSelector;
#[cfg(feature = "serve")]
pub(crate) use serve::ServeArguments;
pub(crate) use shared::{FlagForm, SHARED_FLAGS, SharedFlags};
#[cfg(feature = "serve")]
pub(crate) use ui::UiArguments;
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

/// The project file.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct ProjectArguments {
    /// The project file [default: `kubewright.yaml` in this folder or above it, within the repository]
    #[arg(long = "project", value_name = "FILE", display_order = 902)]
    pub(crate) project_file: Option<PathBuf>,

    /// Do not use a project file
    #[arg(long, conflicts_with = "project_file", display_order = 903)]
    pub(crate) no_project: bool,
}

/// Returns the program with all of its commands described, for whoever looks at more than the command that is called.
pub(crate) fn described_program() -> Command {
    CliCommand::describe_all(CommandLine::command())
}

commands! {
    /// Run rules on manifests and show outcomes and changes
    "apply" => Apply(Box<ApplyArguments>),
    /// Run the cases of kubewright-test.yaml and kyverno-test.yaml files
    "test" => Test(TestArguments),
    /// Check rules and patterns without running them
    "lint" => Lint(LintArguments),
    /// Change manifests so that rules pass, with comments and order kept
    "fix" => Fix(Box<FixArguments>),
    /// Show the page of a diagnostic code or of a pattern
    "explain" => Explain(ExplainArguments),
    /// Show why each rule or trait did what it did
    "trace" => Trace(Box<TraceArguments>),
    /// Show what every rule says about one object, and why
    "why" => Why(Box<WhyArguments>),
    /// Show the objects on which two sets of rules differ
    "diff" => Diff(Box<DiffArguments>),
    /// Show what rules would newly refuse, warn of and change
    "impact" => Impact(Box<ImpactArguments>),
    /// Measure what each rule costs
    "bench" => Bench(Box<BenchArguments>),
    /// Write ValidatingAdmissionPolicies that are equivalent to ClusterPolicies
    "generate" => Generate(GenerateArguments),
    /// Write policies in CEL that are equivalent to ClusterPolicies
    "convert" => Convert(ConvertArguments),
    /// Move the policies of a folder or a cluster to the kinds that succeed them, with proof
    #[cfg(feature = "serve")]
    "migrate" => Migrate(Box<MigrateArguments>),
    /// Apply traits to manifests
    "render" => Render(RenderArguments),
    /// Apply traits as a KRM function of kustomize or kpt
    "fn" => Fn(FunctionArguments),
    /// Find patterns and smells in a set of objects
    "detect" => Detect(Box<DetectArguments>),
    /// Judge every object of a cluster, once or all the time
    #[cfg(feature = "serve")]
    "scan" => Scan(Box<ScanArguments>),
    /// Draw objects and the edges between them
    "graph" => Graph(GraphArguments),
    /// Print the manifests that install the webhook in a cluster
    "install" => Install(InstallArguments),
    /// Check the webhook in a cluster and report problems
    #[cfg(feature = "serve")]
    "doctor" => Doctor(DoctorArguments),
    /// Remove the webhook configurations from a cluster
    #[cfg(feature = "serve")]
    "rescue" => Rescue(RescueArguments),
    /// Evaluate an expression on an object
    "eval" => Eval(EvalArguments),
    /// Run the admission webhook of a cluster
    #[cfg(feature = "serve")]
    "serve" => Serve(Box<ServeArguments>),
    /// Open the page: try rules on objects and see why
    #[cfg(feature = "serve")]
    "ui" => Ui(UiArguments),
    /// Run the language server for editors
    #[cfg(feature = "lsp")]
    "lsp" => Lsp(LspArguments),
    /// Run the server of the Model Context Protocol
    "mcp" => Mcp(McpArguments),
    /// Print the JSON schema of a kind of document
    "schema" => Schema(SchemaArguments),
    /// Sign manifests, for rules that check signatures
    "sign" => Sign(SignArguments),
    /// Run the built-in examples
    "demo" => Demo(DemoArguments),
    /// Write a rule with a test that passes
    "new" => New(NewArguments),
    /// Write a project file and a CI file
    "init" => Init(InitArguments),
    /// Print a completion script for a shell
    "completions" => Completions(CompletionsArguments),
    /// Print the manual page, or write all pages to a folder
    "man" => Man(ManArguments),
}

impl CliCommand {
    /// Returns whether the command takes what it was not given from the project.
    pub(crate) fn has_project(&self) -> bool {
        self.project().is_some() || matches!(self, Self::New(_))
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
            Self::Trace(arguments) => Some(&arguments.project),
            Self::Why(arguments) => Some(&arguments.project),
            Self::Diff(arguments) => Some(&arguments.project),
            Self::Impact(arguments) => Some(&arguments.project),
            Self::Bench(arguments) => Some(&arguments.project),
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
