//! Arguments of `eval` and `sign`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::rules::allowed_function;

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
