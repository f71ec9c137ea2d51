//! What can be said on the command line. Nothing is done here.

mod checked;
#[cfg(feature = "serve")]
mod cluster;
mod detect;
mod function;
mod graph;
mod install;
mod render;
mod selector;
#[cfg(feature = "serve")]
mod serve;
mod shared;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use kubewright_dialects::compatible_programs;
use kubewright_engine::nearest_word;
use kubewright_gotemplate::FunctionSet;

use crate::fixtures::Setting;
use crate::output::{
    ColorChoice, Output, ReportContent, case_output, diagnostic_output, object_output, output_help,
};
pub(crate) use checked::languages;
#[cfg(feature = "serve")]
pub(crate) use cluster::{ClusterArguments, Doctor, DoctorFormat, Rescue};
pub(crate) use detect::{Compat, Detect};
pub(crate) use function::Function;
pub(crate) use graph::Graph;
pub(crate) use install::Install;
pub(crate) use render::{Names, Render, RenderFormat, RenderPlane, TraitValues};
pub(crate) use selector::CaseSelector;
#[cfg(feature = "serve")]
pub(crate) use serve::Serve;
pub(crate) use shared::{FlagForm, SHARED_FLAGS, SharedFlags};

const EXAMPLES: &str = "\
Examples:
  kubewright demo                              see it work; needs no file
  kubewright demo --save demo                  put the demo's rules and manifests into a folder
  kubewright apply demo/rules -r demo/manifests --diff

Exit codes:
  0  nothing wrong
  1  a rule refuses an object, cannot answer or cannot be converted, or a test fails
  2  bad input or bad usage; everything that could be read was still done";

/// Reads Kubernetes rule languages, runs them on manifests, and says why.
#[derive(Debug, Parser)]
#[command(name = "kubewright", version, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When to use colours: auto, always or never; NO_COLOR is honoured
    #[arg(
        long,
        global = true,
        value_enum,
        default_value = "auto",
        value_name = "WHEN",
        hide_possible_values = true,
        // After all others, whatever number of commands there is.
        display_order = 900
    )]
    pub(crate) color: ColorChoice,

    /// Let test files, stacks and worlds name files outside of their project
    #[arg(long, global = true, display_order = 901)]
    pub(crate) allow_outside: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run rules on manifests and show what they say and change
    Apply(Apply),
    /// Run the cases of kubewright-test.yaml and kyverno-test.yaml files
    Test(Test),
    /// Check rules and patterns without running them
    Lint(Lint),
    /// Show the page of a diagnostic code or of a pattern
    Explain(Explain),
    /// Show why each rule or trait did what it did
    Trace(Box<Trace>),
    /// Write ValidatingAdmissionPolicies that say what ClusterPolicies say
    Generate(Generate),
    /// Write ValidatingPolicies that say what ClusterPolicies say
    Convert(Convert),
    /// Apply traits to manifests
    Render(Render),
    /// Apply traits as a KRM function of kustomize or kpt
    Fn(Function),
    /// Find patterns and smells in a set of objects
    Detect(Box<Detect>),
    /// Draw objects and what links them
    Graph(Graph),
    /// Print the manifests that put the webhook into a cluster
    Install(Install),
    /// Look at the webhook in a cluster and say what is wrong with it
    #[cfg(feature = "serve")]
    Doctor(Doctor),
    /// Remove the webhook configurations: open the door
    #[cfg(feature = "serve")]
    Rescue(Rescue),
    /// Try an expression on an object
    Eval(Eval),
    /// Answer a cluster's API server: the admission webhook
    #[cfg(feature = "serve")]
    Serve(Box<Serve>),
    /// Sign manifests, for rules that check signatures
    Sign(Sign),
    /// See it work on built-in examples; needs no file
    Demo(Demo),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page, or write all of them into a folder
    Man(Man),
}

/// Which rules, and what they are told.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct RuleArguments {
    /// Rule files, folders or patterns; `-` is standard input
    #[arg(required = true, value_name = "RULES")]
    pub(crate) rules: Vec<String>,

    /// Exceptions from rules, such as a PolicyException: a file, folder or pattern; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH")]
    pub(crate) exceptions: Vec<String>,

    /// Where else exceptions may stand; said by the manifests.
    #[arg(skip)]
    pub(crate) further_exceptions: Vec<String>,

    #[command(flatten)]
    pub(crate) options: RuleOptions,
}

/// What compiling rules depends on.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct RuleOptions {
    /// The namespace whose rules are about the whole cluster [default: that of the rule language]
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) cluster_rules_namespace: Option<String>,

    /// Allow a template function that is off by default; may be repeated
    #[arg(long = "allow-function", value_name = "NAME", value_parser = allowed_function)]
    pub(crate) allowed_functions: Vec<String>,

    /// Follow this program where it and the documentation of its rule language disagree; may be repeated
    #[arg(long = "compat", value_name = "PROGRAM", value_parser = PossibleValuesParser::new(compatible_programs()))]
    pub(crate) compatible_with: Vec<String>,

    /// Said by `lint` alone.
    #[arg(skip)]
    pub(crate) checks_idempotence: bool,
}

/// The objects, and what is about to happen to them.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct ObjectArguments {
    /// Manifests: files, folders or patterns; `-` is standard input
    #[arg(short, long, alias = "resource", required_unless_present = "payloads", num_args = 1..,
          value_name = "RESOURCES")]
    pub(crate) resources: Vec<String>,

    /// Documents that are no Kubernetes objects, for policies about JSON, HTTP or Envoy: files, folders or patterns; may be repeated
    #[arg(id = "payloads", long = "json", visible_aliases = ["http-payload", "envoy-payload"], value_name = "PATH")]
    pub(crate) payloads: Vec<String>,

    /// What is about to happen to the objects
    #[arg(long, default_value = "CREATE", value_name = "OPERATION", ignore_case = true,
          value_parser = PossibleValuesParser::new(["CREATE", "UPDATE", "DELETE", "CONNECT"]))]
    pub(crate) operation: String,

    /// How objects are before an UPDATE, found by kind, namespace and name: files, folders or patterns; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) old: Vec<String>,

    /// Who asks
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,

    /// A group of the one who asks; may be repeated
    #[arg(long = "group", value_name = "NAME")]
    pub(crate) groups: Vec<String>,

    /// Who asks, with roles: a UserInfo file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) userinfo: Option<String>,

    /// Values of variables by policy, rule and object: a Values file
    #[arg(short = 'f', long, alias = "values-file", value_name = "FILE")]
    pub(crate) values: Option<String>,

    /// A variable and its value; may be repeated. `request.operation` also selects the operation
    #[arg(short, long, value_name = "NAME=VALUE[,…]")]
    pub(crate) set: Vec<Setting>,

    /// Objects and answers that rules may look up: files, folders or patterns; may be repeated
    #[arg(long, value_name = "PATH",
          aliases = ["parameter-resource", "target-resource", "target-resources", "context-file"])]
    pub(crate) world: Vec<String>,

    /// Also take the exceptions among the manifests
    #[arg(long, alias = "exceptions-with-resources")]
    pub(crate) exceptions_within_resources: bool,

    /// Also take the exceptions among the rules
    #[arg(long)]
    pub(crate) exceptions_within_policies: bool,

    /// The namespace of objects and rules that name none [default: `default` for objects]
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// Judge as a scan of stored objects would: rules that are only for admission are left out
    #[arg(long)]
    pub(crate) background: bool,

    /// Only this rule: its full id, `policy/rule` or `rule`; or all rules of a policy; may be repeated
    #[arg(long = "rule", value_name = "NAME")]
    pub(crate) only: Vec<String>,
}

/// Runs rules on manifests and shows what they say and change.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright apply rules/ -r manifests/ --diff
  helm template shop ./chart | kubewright apply rules/ -r - -o github
  kubewright apply rules/ -r manifests/ -o table -o sarif=kubewright.sarif
  kubewright apply policies/ -r pod.yaml --set request.operation=UPDATE --audit-warn

Exit codes: 0 nothing wrong, 1 a rule fails or cannot answer, 2 bad input")]
pub(crate) struct Apply {
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
        value_parser = object_output,
        help = output_help(ReportContent::Objects)
    )]
    pub(crate) outputs: Vec<Output>,

    /// The same as `-o policyreport`
    #[arg(short, long)]
    pub(crate) policy_report: bool,

    /// Show and count a failure as a warning where the rule does not refuse the object for it
    #[arg(long)]
    pub(crate) audit_warn: bool,

    /// The exit code when there are warnings and nothing worse
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    pub(crate) warn_exit_code: u8,

    /// Exit with that code as well when no object passes any rule
    #[arg(long)]
    pub(crate) warn_no_pass: bool,

    /// Write every resulting object into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) output_objects: Option<PathBuf>,

    /// Print only what is wrong
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Runs the cases of test files.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright test rules/
  kubewright test policies/ --file-name kyverno-test.yaml
  kubewright test rules/ --coverage -o json
  kubewright test --schema > kubewright-test.schema.json

Exit codes: 0 every case holds, 1 a case fails, 2 bad input")]
pub(crate) struct Test {
    /// Test files, folders that hold kubewright-test.yaml or kyverno-test.yaml files, or patterns
    #[arg(required_unless_present = "schema", value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Look for test files of this name instead
    #[arg(short, long, value_name = "NAME")]
    pub(crate) file_name: Option<String>,

    /// Only cases that fit: policy=NAME, rule=NAME, resource=NAME, with `*` and `?`
    #[arg(short = 't', long = "test-case-selector", value_name = "KEY=NAME[,…]")]
    pub(crate) selector: Option<CaseSelector>,

    #[arg(
        short,
        long = "output",
        alias = "output-format",
        value_name = "FORMAT[=FILE]",
        value_parser = case_output,
        help = output_help(ReportContent::Cases)
    )]
    pub(crate) outputs: Vec<Output>,

    /// List the rules, and the branches of rules, that no case exercised
    #[arg(long)]
    pub(crate) coverage: bool,

    /// Print the JSON schema of test files
    #[arg(long)]
    pub(crate) schema: bool,

    /// Print only what is wrong
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
pub(crate) struct Lint {
    #[command(flatten)]
    pub(crate) rules: RuleArguments,

    #[arg(
        short,
        long = "output",
        value_name = "FORMAT[=FILE]",
        value_parser = diagnostic_output,
        help = output_help(ReportContent::Diagnostics)
    )]
    pub(crate) outputs: Vec<Output>,

    /// The namespace of rules that name none
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// Tell which operations of traits do more each time that they are rendered over their own output
    #[arg(long)]
    pub(crate) check_idempotent: bool,

    /// Exit with 1 when there are warnings
    #[arg(long)]
    pub(crate) deny_warnings: bool,

    /// Print only what is wrong
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Shows the page of a diagnostic code, or of a pattern that ships.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright explain
  kubewright explain KW-M023
  kubewright explain orphan-service")]
pub(crate) struct Explain {
    /// A code such as KW-Y001, or a pattern; without it all are listed
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// Shows why each rule did what it did.
#[derive(Debug, Args)]
#[command(after_help = "\
For traits, the manifests are rendered with all of them in order, as `kubewright render` does; what each patch looked at
and did is shown, and then who wrote which field. `kubewright render --trace` does the same with a stack file.

For patterns, every object that could lead is shown: which relationships were looked at, with whom and through which
field they hold, the points, and the phase that discarded it. What nearly fits a selector is named.

Examples:
  kubewright trace rules/ -r manifests/web.yaml
  kubewright trace rules/ -r manifests/ --rule add-labels -o json
  kubewright trace traits/ -r manifests/ --set parameters.level=debug
  kubewright trace patterns/ -r manifests/ --object Service/shop/web
  kubewright trace orphan-service -r manifests/          a pattern that ships, by its name

Exit codes: 0 nothing wrong, 1 a rule fails or cannot answer, 2 bad input")]
pub(crate) struct Trace {
    #[command(flatten)]
    pub(crate) rules: RuleArguments,

    #[command(flatten)]
    pub(crate) objects: ObjectArguments,

    /// How to show the trace
    #[arg(short, long, value_enum, default_value = "tree", value_name = "FORMAT")]
    pub(crate) output: TraceFormat,

    /// Only this object, whether or not it leads: `Kind/namespace/name` or `Kind/name`; may be repeated
    #[arg(long = "object", value_name = "OBJECT", help_heading = "Options for patterns")]
    pub(crate) named: Vec<String>,

    #[command(flatten, next_help_heading = "Options for traits")]
    pub(crate) values: TraitValues,

    #[command(flatten, next_help_heading = "Options for traits")]
    pub(crate) names: Names,
}

/// How a trace can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// For people.
    #[value(alias = "table")]
    Tree,
    /// One document with stable keys.
    Json,
}

/// Writes policies that somebody else evaluates.
#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// What to write
    #[command(subcommand)]
    pub(crate) what: Generated,
}

/// What can be generated.
#[derive(Debug, Subcommand)]
pub(crate) enum Generated {
    /// Write a ValidatingAdmissionPolicy and its binding for every rule that the API server can judge itself
    Vap(GenerateVap),
}

/// Writes ValidatingAdmissionPolicies.
#[derive(Debug, Args)]
#[command(after_help = "\
A rule in CEL is written where the controller in the cluster would write it, whether or not the rule says `generate`.
A rule with patterns or conditions is written where CEL can say exactly the same. Each is compared with its source on
the tests of the policy, which are kyverno-test.yaml files in its folder and below, and left out when it differs.

Examples:
  kubewright generate vap policies/ --output-dir vap/
  kubewright generate vap policies/require-labels.yaml --autogen | kubectl apply --dry-run=server -f -
  kubewright generate vap policies/ --summary

Exit codes: 0 everything is written, 1 a rule cannot be expressed or differs, 2 bad input")]
pub(crate) struct GenerateVap {
    #[command(flatten)]
    pub(crate) conversions: Conversions,

    /// Write rules in CEL about Pods also for the controllers that make Pods, which the cluster would leave out
    #[arg(long)]
    pub(crate) autogen: bool,

    /// Exceptions to leave out of what is written: a PolicyException file, folder or pattern; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH")]
    pub(crate) exceptions: Vec<String>,
}

/// Writes policies in another form.
#[derive(Debug, Args)]
#[command(after_help = "\
Each policy is compared with its source on the tests of the source, which are kyverno-test.yaml files in its folder
and below, and left out when it differs.

Examples:
  kubewright convert policies/ --to validatingpolicy --output-dir converted/
  kubewright convert policies/require-labels.yaml --to validatingpolicy
  kubewright convert policies/ --to validatingpolicy --summary -o json

Exit codes: 0 everything is written, 1 a rule cannot be expressed or differs, 2 bad input")]
pub(crate) struct Convert {
    #[command(flatten)]
    pub(crate) conversions: Conversions,

    /// What to write
    #[arg(long, value_enum, value_name = "KIND", ignore_case = true)]
    pub(crate) to: ConvertTarget,
}

/// What policies can become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConvertTarget {
    /// ValidatingPolicy, and NamespacedValidatingPolicy for a Policy.
    #[value(alias = "vpol")]
    Validatingpolicy,
}

/// Which policies become something else, and where it goes.
#[derive(Debug, Args, Clone)]
pub(crate) struct Conversions {
    /// Policy files, folders or patterns; `-` is standard input
    #[arg(required = true, value_name = "POLICIES")]
    pub(crate) policies: Vec<String>,

    /// Write one file for each policy into this folder, instead of a stream
    #[arg(long, value_name = "DIR")]
    pub(crate) output_dir: Option<PathBuf>,

    /// How to show what is printed
    #[arg(short, long, value_enum, default_value = "yaml", value_name = "FORMAT")]
    pub(crate) output: ConversionFormat,

    /// Print how many policies and rules convert, and why the others do not, instead of the policies
    #[arg(long)]
    pub(crate) summary: bool,

    /// Leave out what no test compares with its source
    #[arg(long)]
    pub(crate) require_tests: bool,
}

/// How conversions can be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConversionFormat {
    /// The policies as a stream; with `--summary` a table.
    Yaml,
    /// One document with stable keys: policies, what was left out, numbers.
    Json,
}

/// Tries an expression on an object.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  echo '{\"items\": [1, 2]}' | kubewright eval jsonpath '$.items[*]' -f - --keys
  echo '{\"kind\": \"Pod\"}' | kubewright eval gotemplate '{{ .Target.kind | lower }}' -f -
  echo '{\"image\": \"nginx\"}' | kubewright eval jmespath 'image_normalize(image)' -f -
  echo '{\"n\": [1, 2]}' | kubewright eval cel 'object.n.all(x, x > 0)' -f - --cost
  echo '{\"image\": \"nginx\"}' | kubewright eval cel 'image(object.image).registry()' -f - --policy
  kubewright eval jmespath --list-functions")]
pub(crate) struct Eval {
    /// The language of the expression
    #[arg(value_enum)]
    pub(crate) language: Language,

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

    /// Give a variable of a CEL expression the value of a file; may be repeated
    #[arg(long = "var", value_name = "NAME=FILE")]
    pub(crate) variables: Vec<String>,

    /// Say what evaluating a CEL expression costs, as the API server counts
    #[arg(long)]
    pub(crate) cost: bool,

    /// Let a CEL expression call the functions of policies too, such as `image` and `json.unmarshal`
    #[arg(long)]
    pub(crate) policy: bool,

    /// List the functions that a JMESPath or CEL expression can call
    #[arg(long, conflicts_with_all = ["expression", "file"])]
    pub(crate) list_functions: bool,
}

/// The languages of expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Selects parts of an object.
    Jsonpath,
    /// Makes text from an object.
    Gotemplate,
    /// Makes values from an object, with the functions of policies.
    Jmespath,
    /// Makes values from an object, which is called `object`.
    Cel,
}

/// Signs manifests, for rules that check signatures.
#[derive(Debug, Args)]
#[command(after_help = "\
A signature is of the whole object. It stands in annotations, with the text that was signed, in the form
that `validate.manifests` rules and `kubectl sigstore` check. Signing a second time with another
key adds a signature. Comments of the file are not kept.

Examples:
  openssl ecparam -name prime256v1 -genkey -noout -out key.pem
  openssl ec -in key.pem -pubout -out key.pub
  kubewright sign service.yaml --key key.pem -o service.signed.yaml
  kustomize build | kubewright sign - --key key.pem | kubectl apply -f -

Exit codes: 0 everything is signed, 2 bad input, and nothing is written")]
pub(crate) struct Sign {
    /// A file with one or several objects; `-` is standard input
    #[arg(value_name = "MANIFEST")]
    pub(crate) manifest: String,

    /// An ECDSA P-256 private key in PEM
    #[arg(short, long, value_name = "FILE")]
    pub(crate) key: String,

    /// Where to write the signed manifest [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// What the annotations start with
    #[arg(long, value_name = "DOMAIN", default_value = kubewright_kyverno::signing::DEFAULT_DOMAIN)]
    pub(crate) annotation_domain: String,

    /// Take away the signatures that are there
    #[arg(long)]
    pub(crate) replace: bool,
}

/// Shows the built-in examples at work.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright demo
  kubewright demo --save demo")]
pub(crate) struct Demo {
    /// Write the examples into this folder instead
    #[arg(long, value_name = "DIR")]
    pub(crate) save: Option<PathBuf>,
}

/// Prints a completion script.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(kubewright completions bash)
  kubewright completions fish > ~/.config/fish/completions/kubewright.fish")]
pub(crate) struct Completions {
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
pub(crate) struct Man {
    /// Write the pages of all commands into this folder
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
        return Err("it needs what no rule is given, and cannot be allowed".to_owned());
    }
    Err(match nearest_word(name, refusable) {
        Some(near) => format!("there is no such function; did you mean `{near}`?"),
        None => "there is no such function".to_owned(),
    })
}
