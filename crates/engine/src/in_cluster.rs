//! What a rule language says about itself where its rules live in a cluster: data and pure functions, so that the
//! server names no language.

use std::time::Duration;

use kubewright_value::{Deadline, Document, Text, Value};

use crate::{ApiCall, Outcome};
use kubewright_k8s::{AdmissionRequest, ApiPath, Operations};

mod admission_policy;
mod report;

pub use admission_policy::{AdmissionPolicy, AdmissionPolicyState, GENERATED_LABEL};
pub use report::{RuleFailure, RuleReport};

/// A rule language in a cluster.
pub trait InCluster: Send + Sync {
    /// Returns the CustomResourceDefinitions of its documents, each a YAML document.
    fn definitions(&self) -> Vec<&'static str>;

    /// Returns what is watched for it.
    fn watched(&self) -> &'static [Watched];

    /// Returns when `document`, one of its rules, is asked: one webhook for a document.
    fn webhook(&self, document: &Document) -> Webhook;

    /// Returns when `document` is asked while the API server itself enforces its rule `rule`.
    fn webhook_without(&self, document: &Document, _rule: &str) -> Webhook {
        self.webhook(document)
    }

    /// Returns what the API server can enforce in place of a rule of `document`, which asks for that, or why it cannot;
    /// nothing where documents of this kind never ask.
    fn admission_policy(&self, _document: &Document) -> Option<Result<AdmissionPolicy, String>> {
        None
    }

    /// Returns what the rules of `document` look at besides the request.
    fn needs(&self, document: &Document) -> Needs;

    /// Returns what the server must be allowed for it besides reading what is watched.
    fn rights(&self) -> &'static [Right] {
        &[]
    }

    /// Returns whether what the rules of `document` say depends on when they were compiled: they look at the clock, or
    /// throw dice. They are compiled anew from time to time.
    fn goes_stale(&self, _document: &Document) -> bool {
        false
    }

    /// Returns what the one who asks is told about what rules of this language said.
    fn reply(&self, request: &AdmissionRequest, outcomes: &[&Outcome]) -> Reply;

    /// Returns whether it wants to hear of pods that are bound to nodes.
    fn hears_bindings(&self) -> bool {
        false
    }

    /// Returns what is to be merged into `pod`, which `binding` binds to a node.
    fn bind(&self, _binding: &Value, _pod: &Value) -> Option<Value> {
        None
    }

    /// Answers somebody who sends rules and an object to see what would happen, where the language has such requests.
    /// The error is one line for the one who asks; work that is not done at `deadline` is given up.
    fn dry_run(&self, _request: &Value, _deadline: Option<Deadline>) -> Option<Result<Value, String>> {
        None
    }

    /// Returns the status of a rule object, as its definition has it.
    fn status(&self, report: &RuleReport) -> Value {
        report.status()
    }

    /// Returns when `document`, one of its exceptions, ends, in nanoseconds since 1970.
    fn expires(&self, _document: &Document) -> Option<i128> {
        None
    }

    /// Returns where that comes from which `document` lets the whole cluster share.
    ///
    /// # Errors
    /// When it does not say so.
    fn shared(&self, _document: &Document) -> Result<Shared, String> {
        Err("nothing is shared in this language".to_owned())
    }

    /// Returns the parts of `root`, which `document` lets the whole cluster share, by their names.
    ///
    /// # Errors
    /// When one cannot be made.
    fn projected(&self, _document: &Document, _root: &Value) -> Result<Vec<(Text, Value)>, String> {
        Ok(Vec::new())
    }

    /// Returns the webhook configurations, by their names, of the program that the language comes from. Where one is
    /// there, that program is installed too.
    fn originals(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the label, its key and its value, by which a namespace keeps out of all rules.
    fn ignore_label(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Returns the namespaces that an installation gives the [`ignore_label`](Self::ignore_label) where they do not
    /// have it.
    fn ignored_namespaces(&self) -> &'static [IgnoredNamespace] {
        &[]
    }
}

/// A namespace that no rule is about unless its label says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IgnoredNamespace {
    /// Its name.
    pub name: &'static str,
    /// Whether an installation makes it, because rules live in it. Others are labelled if they are there.
    pub is_created: bool,
}

/// A kind of objects that is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Watched {
    /// The API group.
    pub group: &'static str,
    /// The version in which it is read.
    pub version: &'static str,
    /// The resource: plural, lower case.
    pub resource: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// What the objects are.
    pub role: WatchRole,
}

/// What watched objects are to a language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WatchRole {
    /// Rules.
    Rule,
    /// Exceptions from rules; watched only where the operator allows exceptions.
    Exception,
    /// What the whole cluster shares, by name; see [`Query::Shared`](crate::Query::Shared).
    Shared,
}

/// Where that comes from which the whole cluster shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shared {
    /// All objects at an address.
    Objects(ApiPath),
    /// The answer to a call, which is made anew after a while.
    Call(ApiCall, Duration),
}

/// Whether rules run where objects are changed or where they are judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Door {
    /// Before: a patch may be answered.
    Mutate,
    /// After all changes.
    Validate,
}

/// When the API server asks about an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Webhook {
    /// Where.
    pub door: Door,
    /// Whether a request is refused when nobody answers.
    pub fails: bool,
    /// A name, where the rule cannot share a webhook with others: it has conditions of its own.
    pub own: Option<Text>,
    /// How long the API server waits, in seconds.
    pub timeout: u8,
    /// CEL conditions by name, which the API server looks at before it asks.
    pub conditions: Vec<(Text, Text)>,
    /// The labels of namespaces; null for any.
    pub namespaces: Value,
    /// The labels of objects; null for any.
    pub objects: Value,
    /// About what.
    pub targets: Vec<Target>,
}

/// Which objects, by kind or by resource; `*` stands for any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The API group, with wildcards; empty for the core group.
    pub group: Text,
    /// The version, with wildcards.
    pub version: Text,
    /// What they are called.
    pub name: TargetName,
    /// A part of them, such as `exec`; empty for the objects themselves, `*` for all parts.
    pub subresource: Text,
    /// What is about to happen to them.
    pub operations: Operations,
}

/// What objects are called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TargetName {
    /// A kind, with wildcards, which discovery turns into resources.
    Kind(Text),
    /// A resource: plural, lower case; no wildcards but `*`.
    Resource(Text),
}

/// What rules look at besides the request, so that it is watched before it is asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Nodes.
    pub nodes: bool,
    /// The roles of those who ask.
    pub bindings: bool,
    /// ConfigMaps, each a namespace and a name.
    pub config_maps: Vec<(Text, Text)>,
}

/// What the server must be allowed so that rules of a language work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Right {
    /// The API group.
    pub group: &'static str,
    /// The resources: plural, lower case.
    pub resources: &'static [&'static str],
    /// What is done to them.
    pub verbs: &'static [&'static str],
    /// What for, in words for the one who grants it.
    pub why: &'static str,
}

/// What the one who asks is told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// Why the request is refused, or what was done to it; may be empty.
    pub message: String,
    /// The machine-readable reason of a refusal; empty for the usual one.
    pub reason: String,
    /// The HTTP status of a refusal; 0 for the usual one, 403.
    pub code: u16,
    /// Warnings, which kubectl prints.
    pub warnings: Vec<String>,
    /// What goes to the audit log of the API server.
    pub annotations: Vec<(Text, Text)>,
}

impl Needs {
    /// Adds what `other` needs.
    pub fn add(&mut self, other: Self) {
        self.nodes |= other.nodes;
        self.bindings |= other.bindings;
        self.config_maps.extend(other.config_maps);
        self.config_maps.sort();
        self.config_maps.dedup();
    }
}
