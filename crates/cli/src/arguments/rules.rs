//! Arguments that name rules, and the objects that they run on.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueHint};
use kubewright_dialects::compatible_programs;
use kubewright_engine::nearest_word;
use kubewright_gotemplate::FunctionSet;

use super::{InputArguments, RuleSelection};
use crate::fixtures::VariableSetting;

/// The rules, and how they are compiled.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct RuleArguments {
    /// Rule files, folders or globs; `-` is standard input [default: those of the project]
    #[arg(value_name = "RULES")]
    pub(crate) rules: Vec<String>,

    /// Exceptions from rules, such as a PolicyException: a file, folder or glob; may be repeated
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
    /// Manifests: a file, folder, glob, chart, kustomization or `cluster:`; `-` is standard input; may be repeated
    /// [default: those of the project]
    #[arg(short, long, alias = "resource", value_name = "RESOURCES")]
    pub(crate) resources: Vec<String>,

    /// Documents that are not Kubernetes objects, for policies about JSON, HTTP or Envoy: files, folders or globs; may be repeated
    #[arg(id = "payloads", long = "json", visible_aliases = ["http-payload", "envoy-payload"], value_name = "PATH")]
    pub(crate) payloads: Vec<String>,

    /// The operation of the admission request
    #[arg(long, default_value = "CREATE", value_name = "OPERATION", ignore_case = true,
          value_parser = PossibleValuesParser::new(["CREATE", "UPDATE", "DELETE", "CONNECT"]))]
    pub(crate) operation: String,

    /// Old versions of the objects for an UPDATE, matched by kind, namespace and name: files, folders or globs; may be repeated
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

    /// Objects and responses that rules may look up: files, folders, globs or `cluster:`; may be repeated
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

/// Checks the name of a template function that is to be allowed.
pub(super) fn allowed_function(name: &str) -> Result<String, String> {
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
