//! Arguments of `scan`.

mod controller;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum, value_parser};
use kubewright_report::cluster_report::{MANAGED_BY, StatusFilter};
use kubewright_scan::Shard;
use kubewright_scan_controller::report_managers;
use kubewright_value::quantity::Quantity;

use controller::ScanServeArguments;

use super::checked::{check_host, check_namespace, check_namespace_or_any, check_target};
use super::detect::{Threshold, parse_threshold};
use super::serve::at_least_one;
use super::{ClusterArguments, RuleOptions};
use crate::output::{Output, ReportContent, output_help, scan_output};

/// Judges every object of a cluster, once or all the time.
#[derive(Debug, Args)]
#[command(after_help = "\
The rules are those of the cluster, and those that --rules names: policies of every rule language, exceptions,
ValidatingAdmissionPolicies with their bindings, and patterns. Rules that run at admission only are left out. Only kinds
that a rule or a pattern reads are listed; Secrets, Events, Leases and EndpointSlices only where a rule names them.
Nothing is changed in the cluster without --write-reports.

With --shard only objects of some namespaces are judged, so that several processes share the work. Kubernetes runs them as
an Indexed Job: `--shard auto/3` takes the index from JOB_COMPLETION_INDEX. `LC_ALL=C sort` of the `-o jsonl` outputs of all
shards is the output of a scan without --shard.

Examples:
  kubewright scan
  kubewright scan --rules policies/ --no-cluster-rules -n shop -o table -o sarif=scan.sarif
  kubewright scan --kinds deployments.apps,Service --fail-on high
  kubewright scan --write-reports --shard auto/3
  kubewright scan --serve

Exit codes: 0 no problems, 1 a rule fails or ends in an error, or a pattern is found (see --fail-on), 2 something could
not be read, or there is no cluster. With --serve: 0 stopped when it was asked to, 2 it could not begin")]
pub(crate) struct ScanArguments {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,

    #[command(flatten)]
    pub(crate) rules: ScanRuleArguments,

    /// Only objects in this namespace, and only findings about them; may be repeated
    #[arg(short, long = "namespace", value_name = "NAMESPACE", value_delimiter = ',', value_parser = check_namespace)]
    pub(crate) namespaces: Vec<String>,

    /// Only objects of these kinds, and only findings about them: `Deployment`, `deployments` or `deployments.apps`
    #[arg(long, value_name = "KIND[,…]", value_delimiter = ',')]
    pub(crate) kinds: Vec<String>,

    /// Only the namespaces of shard I of N, counted from 0; `auto/N` takes I from JOB_COMPLETION_INDEX
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    pub(crate) shard: Option<Shard>,

    #[arg(
        short,
        long = "output",
        value_name = "FORMAT[=FILE]",
        value_parser = scan_output,
        help = output_help(ReportContent::Scan)
    )]
    pub(crate) outputs: Vec<Output>,

    /// Exit with 1 only for results of at least this severity; `never` for none. A rule without a severity always counts
    /// [default: every failure of a rule, and findings above INFO]
    #[arg(long, value_name = "LEVEL", value_parser = parse_threshold)]
    pub(crate) fail_on: Option<Threshold>,

    /// Show and count a failure as a warning if the rule does not deny the object
    #[arg(long)]
    pub(crate) audit_warn: bool,

    /// Also show objects without any problem, and every finding, in the table
    #[arg(long)]
    pub(crate) all: bool,

    /// Also show suppressed findings
    #[arg(long)]
    pub(crate) show_suppressed: bool,

    /// Show every failure: of a rule with more than 10, the table shows 5 and counts the others
    #[arg(short, long)]
    pub(crate) verbose: bool,

    /// Print problems only
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) reports: ReportArguments,

    #[command(flatten, next_help_heading = "Options for the controller")]
    pub(crate) controller: ScanServeArguments,
}

/// The rules of a scan, and what they may look up.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct ScanRuleArguments {
    /// Further rules and patterns: a file, a folder, a glob, or the name of a built-in pattern; may be repeated
    #[arg(long, alias = "policies", value_name = "PATH")]
    pub(crate) rules: Vec<String>,

    /// Use no rules, patterns and exceptions of the cluster
    #[arg(long)]
    pub(crate) no_cluster_rules: bool,

    /// Also judge objects by rules that run at admission only (`background: false`), as if they were created now
    #[arg(long)]
    pub(crate) admission_rules: bool,

    /// Also look for all built-in patterns; `kubewright detect --list` shows them
    #[arg(long)]
    pub(crate) built_in_patterns: bool,

    /// Further exceptions from rules, such as a PolicyException: a file, folder or glob; may be repeated
    #[arg(short, long, alias = "exception", value_name = "PATH")]
    pub(crate) exceptions: Vec<String>,

    /// The namespaces whose exceptions are honoured, `*` for any; may be repeated [default: none]
    #[arg(long, alias = "exception-namespaces", value_name = "NAMESPACE[,…]", value_delimiter = ',',
          value_parser = check_namespace_or_any)]
    pub(crate) exceptions_from: Vec<String>,

    /// The resources that patch rules apply to, as `kubewright serve` takes them; may be repeated
    #[arg(long, value_name = "RESOURCE[,…]", value_delimiter = ',', allow_hyphen_values = true,
          value_parser = check_target)]
    pub(crate) targets: Vec<String>,

    /// A host of services that rules may call; may be repeated [default: none]
    #[arg(long = "allow-host", value_name = "HOST", value_delimiter = ',', value_parser = check_host)]
    pub(crate) allowed_hosts: Vec<String>,

    /// A registry, or its token service, that rules may query about images; may be repeated [default: none]
    #[arg(long = "allow-registry", value_name = "HOST", value_delimiter = ',', value_parser = check_host)]
    pub(crate) allowed_registries: Vec<String>,

    #[command(flatten)]
    pub(crate) options: RuleOptions,
}

/// The reports that a scan writes to the cluster.
#[derive(Debug, Args, Clone)]
pub(crate) struct ReportArguments {
    /// Write the results to the cluster as reports, and delete reports of objects without results
    #[arg(long)]
    pub(crate) write_reports: bool,

    /// The kind of reports: `openreports`, `wgpolicy` or `off` [default: OpenReports where the cluster has them, else
    /// PolicyReports]
    #[arg(long, value_enum, value_name = "KIND", hide_possible_values = true)]
    pub(crate) reports: Option<ReportKind>,

    /// Whose reports have the rows of a Pod that a controller made: `roots` its root owner's, `all` its own
    #[arg(long, value_enum, value_name = "WHAT", default_value = "roots", hide_possible_values = true)]
    pub(crate) report_on: ReportSubjects,

    /// The results that have a row: pass, fail, warn, error, skip
    #[arg(long, value_name = "RESULT[,…]", default_value = "fail,warn,error,skip", value_parser = parse_statuses)]
    pub(crate) report_results: StatusFilter,

    /// The label `app.kubernetes.io/managed-by` of reports, for programs that read only those of another program. Not beside
    /// that program, which deletes reports that it does not know
    #[arg(long, value_name = "NAME", default_value = MANAGED_BY, value_parser = PossibleValuesParser::new(report_managers()))]
    pub(crate) reports_managed_by: String,

    /// The maximum number of reports; beyond it those of the most severe results are written
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = at_least_one)]
    pub(crate) max_reports: usize,

    /// The maximum size of all reports together
    #[arg(long, value_name = "QUANTITY", default_value = "64Mi", value_parser = parse_byte_count)]
    pub(crate) max_report_bytes: usize,

    /// The maximum number of writes of reports in a second
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = value_parser!(u32).range(1..=1000))]
    pub(crate) writes_per_second: u32,
}

/// Kinds of reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportKind {
    /// Report and ClusterReport of `openreports.io/v1alpha1`.
    Openreports,
    /// PolicyReport and ClusterPolicyReport of `wgpolicyk8s.io/v1alpha2`.
    Wgpolicy,
    /// None.
    Off,
}

/// The objects that have reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReportSubjects {
    /// Root owners.
    Roots,
    /// Every object.
    All,
}

/// The variable that Kubernetes sets in the Pods of an Indexed Job.
const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

fn parse_shard(text: &str) -> Result<Shard, String> {
    parse_shard_in(text, std::env::var(INDEX_VARIABLE).ok().as_deref())
}

fn parse_shard_in(text: &str, own_index: Option<&str>) -> Result<Shard, String> {
    let (index, count) = text.split_once('/').ok_or("it is written `I/N`, such as `0/3`, or `auto/3`")?;
    let count = count.parse::<u32>().ok().filter(|count| *count > 0);
    let count = count.ok_or("the number of shards is at least 1")?;
    let index = match index {
        "auto" => own_index.ok_or_else(|| {
            format!("{INDEX_VARIABLE} is not set: `auto` is for the Pods of an Indexed Job")
        })?,
        index => index,
    };
    let index = index.parse::<u32>().map_err(|_| format!("`{index}` is not a number"))?;
    Shard::new(index, count)
        .ok_or_else(|| format!("shards are counted from 0, so the last of {count} is {}", count - 1))
}

/// Reads a number of bytes, such as `64Mi`.
fn parse_byte_count(text: &str) -> Result<usize, String> {
    let quantity = Quantity::parse(text).map_err(|error| error.to_string())?;
    let bytes = quantity.as_i64().and_then(|bytes| usize::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes > 0).ok_or_else(|| "expected a size such as `64Mi`".to_owned())
}

fn parse_statuses(text: &str) -> Result<StatusFilter, String> {
    StatusFilter::parse(text)
        .map_err(|word| format!("there is no result `{word}`; use pass, fail, warn, error and skip"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(index: u32, count: u32) -> Shard {
        Shard::new(index, count).unwrap_or_default()
    }

    #[test]
    fn shards_are_counted_from_zero() {
        assert_eq!(parse_shard_in("2/3", None), Ok(shard(2, 3)));
        assert!(parse_shard_in("3/3", None).is_err_and(|why| why.contains("the last of 3 is 2")));
        assert!(parse_shard_in("0/0", None).is_err());
        assert!(parse_shard_in("3", None).is_err());
    }

    #[test]
    fn auto_takes_the_index_of_the_job() {
        assert_eq!(parse_shard_in("auto/3", Some("1")), Ok(shard(1, 3)));
        assert!(parse_shard_in("auto/3", None).is_err_and(|why| why.contains("JOB_COMPLETION_INDEX")));
        assert!(parse_shard_in("auto/3", Some("7")).is_err());
    }
}
