//! A violation found by a check: its path and value.

use std::borrow::Cow;
use std::fmt::Write as _;

use kubewright_value::{Step, Value};

use super::check::PodSecurityCheck;
use super::pod::{Container, ContainerList};
use kubewright_k8s::PodTemplatePath;

/// A check that is not met.
pub(super) struct PodSecurityViolation<'a> {
    pub(super) check: PodSecurityCheck,
    pub(super) reason: &'static str,
    pub(super) findings: Vec<PodSecurityFinding<'a>>,
}

/// One thing that is forbidden, or missing.
pub(super) struct PodSecurityFinding<'a> {
    pub(super) place: PodSecurityField<'a>,
    pub(super) bad: ForbiddenValue<'a>,
}

/// Where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PodSecurityField<'a> {
    /// A field below `spec`.
    Pod(&'static str),
    Container {
        list: ContainerList,
        index: usize,
        name: &'a str,
        field: &'static str,
    },
    Port {
        list: ContainerList,
        index: usize,
        name: &'a str,
        port: usize,
    },
    Sysctl(usize),
    Volume(usize, &'static str),
    Annotation(&'a str),
}

/// The value found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ForbiddenValue<'a> {
    /// Nothing, and there must be something.
    Missing,
    /// The field itself is forbidden.
    Field,
    Flag(bool),
    Number(i64),
    Text(&'a str),
    Words(Vec<&'a str>),
    /// A value that Kyverno does not list.
    Unlisted(&'a str),
}

/// Where a Pod is described in an object.
#[derive(Clone, Copy)]
pub(super) struct PodSpecRoot(pub(super) PodTemplatePath);

/// Returns how many findings there are.
pub(super) fn count_findings(violations: &[PodSecurityViolation<'_>]) -> usize {
    violations.iter().map(|violation| violation.findings.len()).sum()
}

impl<'a> PodSecurityFinding<'a> {
    /// Returns that a field of a container is not as it must be.
    pub(super) fn of_container(
        container: &Container<'a>,
        field: &'static str,
        bad: ForbiddenValue<'a>,
    ) -> Self {
        let Container { list, index, name, .. } = *container;
        Self { place: PodSecurityField::Container { list, index, name, field }, bad }
    }

    pub(super) fn of_pod(field: &'static str, bad: ForbiddenValue<'a>) -> Self {
        Self { place: PodSecurityField::Pod(field), bad }
    }
}

impl PodSecurityViolation<'_> {
    /// Adds the message.
    pub(super) fn write(&self, out: &mut String, root: PodSpecRoot) {
        let _ = write!(out, "(Forbidden reason: {}, field error list: [", self.reason);
        let listed =
            self.findings.iter().filter(|finding| !matches!(finding.bad, ForbiddenValue::Unlisted(_)));
        for (i, finding) in listed.enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            finding.place.write(out, root, Indexes::Numbers);
            finding.bad.write(out);
        }
        out.push_str("])");
    }
}

impl ForbiddenValue<'_> {
    fn write(&self, out: &mut String) {
        const VALUES: &str = " is forbidden, forbidden values found:";
        let _ = match self {
            Self::Missing => write!(out, ": Required value"),
            Self::Field | Self::Text("") => write!(out, ": Forbidden"),
            Self::Flag(flag) => write!(out, "{VALUES} {flag}"),
            Self::Number(number) => write!(out, "{VALUES} {number}"),
            Self::Text(text) | Self::Unlisted(text) => write!(out, "{VALUES} {text}"),
            Self::Words(words) => write!(out, "{VALUES} [{}]", words.join(" ")),
        };
    }

    /// Returns the values that are bad, as an exclusion compares them.
    pub(super) fn values(&self) -> Vec<Cow<'_, str>> {
        match self {
            Self::Missing | Self::Field | Self::Text("") => Vec::new(),
            Self::Flag(flag) => vec![flag.to_string().into()],
            Self::Number(number) => vec![number.to_string().into()],
            Self::Text(text) | Self::Unlisted(text) => vec![(*text).into()],
            Self::Words(words) => words.iter().map(|word| (*word).into()).collect(),
        }
    }

    pub(super) fn to_value(&self) -> Value {
        match self {
            Self::Missing | Self::Field => Value::Null,
            Self::Flag(flag) => (*flag).into(),
            Self::Number(number) => (*number).into(),
            Self::Text(text) | Self::Unlisted(text) => (*text).into(),
            Self::Words(words) => words.iter().map(|word| Value::from(*word)).collect::<Vec<_>>().into(),
        }
    }
}

/// How the index of a list is written.
#[derive(Clone, Copy)]
enum Indexes {
    Numbers,
    Stars,
}

impl PodSecurityField<'_> {
    /// Returns the field in an object.
    pub(super) fn text(&self, root: PodSpecRoot) -> String {
        let mut out = String::new();
        self.write(&mut out, root, Indexes::Numbers);
        out
    }

    /// Returns whether an exclusion calls the field `name`: in a Pod, with `*` for every number.
    pub(super) fn is_called(&self, name: &str) -> bool {
        let mut out = String::new();
        match self {
            Self::Annotation(key) => {
                let _ = write!(out, "metadata.annotations[{}]", starred(key));
            }
            _ => self.write(&mut out, PodSpecRoot(PodTemplatePath::Pod), Indexes::Stars),
        }
        out == name
    }

    /// Returns whether both are the same field, whatever the index.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Container { list: a, field: x, .. }, Self::Container { list: b, field: y, .. }) => {
                a == b && x == y
            }
            (Self::Port { list: a, .. }, Self::Port { list: b, .. }) => a == b,
            (Self::Sysctl(_), Self::Sysctl(_)) => true,
            (Self::Volume(_, a), Self::Volume(_, b)) => a == b,
            _ => self == other,
        }
    }

    /// Returns the name of the container it is in.
    pub(super) fn container(&self) -> Option<&str> {
        match self {
            Self::Container { name, .. } | Self::Port { name, .. } => Some(name),
            _ => None,
        }
    }

    fn write(&self, out: &mut String, root: PodSpecRoot, indexes: Indexes) {
        let index = |i: usize| match indexes {
            Indexes::Numbers => Cow::Owned(i.to_string()),
            Indexes::Stars => Cow::Borrowed("*"),
        };
        let spec = root.spec();
        let _ = match self {
            Self::Pod(field) => write!(out, "{spec}.{field}"),
            Self::Container { list, index: i, field, .. } => {
                write!(out, "{spec}.{}[{}].{field}", list.name(), index(*i))
            }
            Self::Port { list, index: i, port, .. } => {
                write!(out, "{spec}.{}[{}].ports[{}].hostPort", list.name(), index(*i), index(*port))
            }
            Self::Sysctl(i) => write!(out, "{spec}.securityContext.sysctls[{}].name", index(*i)),
            Self::Volume(i, kind) => write!(out, "{spec}.volumes[{}].{kind}", index(*i)),
            // Kyverno has this wording for Pods too.
            Self::Annotation(key) => write!(out, "spec.template.metadata.annotations[{key}]"),
        };
    }

    /// Returns the way to it in the object.
    pub(super) fn steps(&self, root: PodSpecRoot) -> Vec<Step> {
        let PodSpecRoot(workload) = root;
        let mut steps: Vec<Step> = workload.keys().iter().map(|key| Step::from(*key)).collect();
        let fields = |steps: &mut Vec<Step>, path: &str| steps.extend(path.split('.').map(Step::from));
        match self {
            Self::Annotation(key) => {
                fields(&mut steps, "metadata.annotations");
                steps.push(Step::from(*key));
            }
            Self::Pod(field) => {
                steps.push(Step::from("spec"));
                fields(&mut steps, field);
            }
            Self::Container { list, index, field, .. } => {
                steps.extend([Step::from("spec"), Step::from(list.name()), Step::Index(*index)]);
                fields(&mut steps, field);
            }
            Self::Port { list, index, port, .. } => {
                steps.extend([Step::from("spec"), Step::from(list.name()), Step::Index(*index)]);
                steps.extend([Step::from("ports"), Step::Index(*port), Step::from("hostPort")]);
            }
            Self::Sysctl(index) => {
                fields(&mut steps, "spec.securityContext.sysctls");
                steps.extend([Step::Index(*index), Step::from("name")]);
            }
            Self::Volume(index, kind) => {
                fields(&mut steps, "spec.volumes");
                steps.extend([Step::Index(*index), Step::from(*kind)]);
            }
        }
        steps
    }
}

impl PodSpecRoot {
    fn spec(self) -> &'static str {
        self.0.spec_path()
    }
}

/// Returns `text` with a star for every number.
fn starred(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_ascii_digit() {
            true if out.ends_with('*') => {}
            true => out.push('*'),
            false => out.push(character),
        }
    }
    out
}
