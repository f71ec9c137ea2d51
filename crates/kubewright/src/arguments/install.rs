//! What can be said to `install`.

use clap::Args;
use kubewright_dialects::Options;
use kubewright_engine::nearest;

/// Prints the manifests that put the webhook into a cluster.
#[derive(Debug, Args)]
#[command(after_help = "\
Webhook configurations are not among the manifests: the running server makes them, repairs them, and they go when its
ClusterRole goes. The Helm chart `charts/kubewright` has the same objects.

Examples:
  kubewright install --image registry.example.com/kubewright:0.1.0 | kubectl apply -f -
  kubewright install --crds | kubectl apply -f -
  kubewright install --can-read deployments.apps,services --exceptions-from platform > kubewright.yaml
  kubewright install | kubectl delete -f -

Exit codes: 0 printed, 2 bad usage")]
pub(crate) struct Install {
    /// The namespace of the server
    #[arg(short, long, default_value = "kubewright-system", value_name = "NAMESPACE", value_parser = label)]
    pub(crate) namespace: String,

    /// The name of everything that is made
    #[arg(long, default_value = "kubewright", value_name = "NAME", value_parser = label)]
    pub(crate) name: String,

    /// How many servers answer
    #[arg(long, default_value_t = 3, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) replicas: u16,

    /// The image, with a tag or digest [default: `kubewright` of this version]
    #[arg(long, value_name = "IMAGE", value_parser = image)]
    pub(crate) image: Option<String>,

    /// The rule languages that are read [default: all]
    #[arg(long, value_name = "NAME[,…]", value_delimiter = ',', value_parser = language)]
    pub(crate) dialects: Vec<String>,

    /// The namespaces from which exceptions count; `*` is any [default: none]
    #[arg(long, value_name = "NAMESPACE[,…]", value_delimiter = ',', value_parser = namespace)]
    pub(crate) exceptions_from: Vec<String>,

    /// The resources that patch rules are asked about: `+widgets.example.com` and `-pods` change the list, names without a
    /// sign are the whole list [default: that of the language]
    #[arg(
        long,
        value_name = "RESOURCE[,…]",
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = target
    )]
    pub(crate) targets: Vec<String>,

    /// The resources that rules may look up, such as deployments.apps; the server may then read them [default: none]
    #[arg(long, value_name = "RESOURCE[,…]", value_delimiter = ',', value_parser = readable)]
    pub(crate) can_read: Vec<String>,

    /// A host of services that rules may call; may be repeated [default: none]
    #[arg(long = "allow-host", value_name = "HOST")]
    pub(crate) allowed_hosts: Vec<String>,

    /// Take certificates from cert-manager, which must be installed, in place of the server's own
    #[arg(long)]
    pub(crate) cert_manager: bool,

    /// Print the CustomResourceDefinitions alone
    #[arg(long, conflicts_with = "no_crds")]
    pub(crate) crds: bool,

    /// Leave the CustomResourceDefinitions out
    #[arg(long)]
    pub(crate) no_crds: bool,
}

/// Returns the names of the rule languages that live in a cluster.
pub(crate) fn languages() -> Vec<&'static str> {
    let dialects = kubewright_dialects::all(&Options::default());
    dialects.iter().filter(|dialect| dialect.in_cluster().is_some()).map(|dialect| dialect.name()).collect()
}

/// Checks the name of a rule language that lives in a cluster.
pub(crate) fn language(name: &str) -> Result<String, String> {
    let known = languages();
    if known.contains(&name) {
        return Ok(name.to_owned());
    }
    let near = nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`? "));
    Err(format!("{}there are {}", near.unwrap_or_default(), known.join(", ")))
}

/// Checks a name that becomes part of a host name.
fn label(name: &str) -> Result<String, String> {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    // The longest name that is made of it has ten characters more.
    let fits = (1..=53).contains(&name.len()) && name.chars().all(is_inner);
    if fits && name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.ends_with('-') {
        return Ok(name.to_owned());
    }
    Err("a name has at most 53 lower case letters, digits and `-`, and starts with a letter".to_owned())
}

fn namespace(name: &str) -> Result<String, String> {
    if name == "*" { Ok(name.to_owned()) } else { label(name) }
}

fn image(name: &str) -> Result<String, String> {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
    if !name.is_empty() && name.chars().all(is_fine) {
        return Ok(name.to_owned());
    }
    Err("an image is written `registry/name:tag` or `registry/name@sha256:…`".to_owned())
}

/// Checks a resource such as `pods` or `deployments.apps`.
fn resource(name: &str) -> Result<String, String> {
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    };
    if name.split('.').all(is_part) {
        return Ok(name.to_owned());
    }
    Err("a resource is written in plural and lower case, with its group: `pods`, `deployments.apps`"
        .to_owned())
}

/// Checks a resource with a sign before it, which may be left out.
fn target(name: &str) -> Result<String, String> {
    resource(name.strip_prefix(['+', '-']).unwrap_or(name)).map(|_| name.to_owned())
}

fn readable(name: &str) -> Result<String, String> {
    match name {
        "secrets" => Err("the server reads no Secret but its own".to_owned()),
        _ => resource(name),
    }
}
