//! Flags that `install` and `serve` share: `install` writes them into the Deployment, as values of the Helm chart.
//!
//! A new one is a field and a row here, and its use in `commands/serve.rs`; `make chart` then writes the chart's
//! arguments, values and schema, and the row in docs/operations.md.

use clap::Args;
use kubewright_value::Value;

use super::checked::{check_host, check_language, check_languages, check_namespace_or_any, check_target};

/// Permissions and scope of the server.
#[derive(Debug, Args, Default, Clone)]
pub(crate) struct SharedFlags {
    /// The rule languages to serve; may be repeated [default: all whose rules are stored in a cluster]
    #[arg(long, alias = "dialect", value_name = "NAME[,…]", value_delimiter = ',', value_parser = check_language)]
    pub(crate) dialects: Vec<String>,

    /// The namespaces whose exceptions are honoured, `*` for any; may be repeated [default: none]
    #[arg(long, value_name = "NAMESPACE[,…]", value_delimiter = ',', value_parser = check_namespace_or_any)]
    pub(crate) exceptions_from: Vec<String>,

    /// The resources that patch rules apply to: `+widgets.example.com` and `-pods` change the list, names without a sign
    /// replace it; may be repeated [default: that of the language]
    #[arg(
        long,
        value_name = "RESOURCE[,…]",
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_parser = check_target
    )]
    pub(crate) targets: Vec<String>,

    /// A host of services that rules may call; may be repeated [default: none]
    #[arg(long = "allow-host", value_name = "HOST", value_delimiter = ',', value_parser = check_host)]
    pub(crate) allowed_hosts: Vec<String>,

    /// Write a ValidatingAdmissionPolicy for every rule that asks for one (`generate: true`), which the API server then
    /// enforces itself; `install` grants the server the permissions for it
    #[arg(long)]
    pub(crate) generate_vap: bool,

    /// A registry, or its token service, that rules may query about images; `http://host` without TLS; may be repeated
    /// [default: none]
    #[arg(long = "allow-registry", value_name = "HOST", value_delimiter = ',', value_parser = check_host)]
    pub(crate) allowed_registries: Vec<String>,
}

/// One shared flag, and its value in the Helm chart.
pub(crate) struct SharedFlag {
    /// The flag without its dashes.
    pub(crate) name: &'static str,
    /// The placeholder that the page shows after the flag.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test writes it into the chart and the page"))]
    pub(crate) example: &'static str,
    /// The value of the chart.
    pub(crate) chart_value: &'static str,
    /// One line for values.yaml and the page.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test writes it into the chart and the page"))]
    pub(crate) purpose: &'static str,
    pub(crate) form: FlagForm,
    /// Returns what was given on the command line, as the chart's value.
    pub(crate) given: fn(&SharedFlags) -> Value,
}

/// How a flag is written in the Deployment, with the JSON Schema of an item.
pub(crate) enum FlagForm {
    /// Once, with commas: `--targets=a,b`.
    Joined(
        #[cfg_attr(not(test), expect(dead_code, reason = "a test writes it into the chart and the page"))]
        fn() -> String,
    ),
    /// Once for each item: `--allow-host=a --allow-host=b`.
    Repeated(
        #[cfg_attr(not(test), expect(dead_code, reason = "a test writes it into the chart and the page"))]
        fn() -> String,
    ),
    /// Present or absent: `--generate-vap`.
    Switch,
}

pub(crate) const SHARED_FLAGS: [SharedFlag; 6] = [
    SharedFlag {
        name: "dialects",
        example: " DIALECT,…",
        chart_value: "dialects",
        purpose: "the rule languages that are read; definitions and rights of others are left out",
        form: FlagForm::Joined(language_schema),
        given: |flags| string_array(&flags.dialects),
    },
    SharedFlag {
        name: "exceptions-from",
        example: " NAMESPACE,…",
        chart_value: "exceptionsFrom",
        purpose: "the namespaces from which exceptions count, `*` for any; none unless given",
        form: FlagForm::Joined(|| pattern_schema(r"^(\\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$")),
        given: |flags| string_array(&flags.exceptions_from),
    },
    SharedFlag {
        name: "targets",
        example: " +RESOURCE,-RESOURCE",
        chart_value: "targets",
        purpose: "resources that patch rules are asked about: `+widgets.example.com` and `-pods` change the list of the \
                  language, names without a sign replace it",
        form: FlagForm::Joined(|| pattern_schema(r"^[+-]?[a-z0-9-]+(\\.[a-z0-9-]+)*$")),
        given: |flags| string_array(&flags.targets),
    },
    SharedFlag {
        name: "allow-host",
        example: " HOST",
        chart_value: "allowHosts",
        purpose: "hosts of services that rules may call; none unless given",
        form: FlagForm::Repeated(non_empty_schema),
        given: |flags| string_array(&flags.allowed_hosts),
    },
    SharedFlag {
        name: "generate-vap",
        example: "",
        chart_value: "generateVap",
        purpose: "writes a ValidatingAdmissionPolicy or MutatingAdmissionPolicy for every policy that asks for one, which the \
                  API server then enforces itself; the server gets the rights for it",
        form: FlagForm::Switch,
        given: |flags| flags.generate_vap.into(),
    },
    SharedFlag {
        name: "allow-registry",
        example: " HOST",
        chart_value: "allowRegistries",
        purpose: "registries, and their token services (`auth.docker.io` for `docker.io`), that rules may ask about \
                  images; none unless given",
        form: FlagForm::Repeated(non_empty_schema),
        given: |flags| string_array(&flags.allowed_registries),
    },
];

fn string_array(texts: &[String]) -> Value {
    Value::array(texts.iter().map(|text| text.as_str().into()).collect())
}

fn language_schema() -> String {
    let names: Vec<String> = check_languages().iter().map(|name| format!("\"{name}\"")).collect();
    format!("{{\"enum\":[{}]}}", names.join(","))
}

fn pattern_schema(pattern: &str) -> String {
    format!("{{\"type\":\"string\",\"pattern\":\"{pattern}\"}}")
}

fn non_empty_schema() -> String {
    r#"{"type":"string","minLength":1}"#.to_owned()
}
