//! The objects of a generated cluster: as many times one application as are asked for.
//!
//! Some applications break a rule, so that there are reports; which ones depends on their number only.

use kubewright_value::{Source, Value, json, yaml};

const APPLICATION: &str = include_str!("../../../inputs/scan/application.yaml");

/// Applications in one namespace.
const NAMESPACE_APPLICATIONS: usize = 20;

/// One application of so many breaks each of the rules of [`Violation`].
const VIOLATION_PERIOD: usize = 50;

/// What is wrong with an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Violation {
    PrivilegedContainers,
    PublicLoadBalancer,
    NoTeam,
    LatestImage,
}

/// The objects of one application, to be filled in.
pub(crate) struct ApplicationTemplate {
    objects: Vec<ObjectTemplate>,
}

struct ObjectTemplate {
    collection: String,
    text: String,
    is_workload: bool,
    /// The place of its owner among the objects.
    owner: Option<usize>,
}

/// One object of an application.
pub(crate) struct GeneratedObject {
    /// The path to post it to.
    pub(crate) collection: String,
    /// Its JSON, in which `$owner` stands for a uid.
    text: String,
    /// The place of its owner among the objects of the application, always before its own.
    pub(crate) owner: Option<usize>,
}

impl GeneratedObject {
    /// The JSON to be posted.
    pub(crate) fn with_owner(&self, uid: &str) -> String {
        if self.owner.is_some() { self.text.replacen("$owner", uid, 1) } else { self.text.clone() }
    }

    /// The JSON as an API server would store it.
    pub(crate) fn stored(&self, uid: &str, owner: &str) -> String {
        let fields = format!(
            r#""metadata":{{"uid":"{uid}","resourceVersion":"1000","generation":1,"creationTimestamp":"2026-01-05T08:00:00Z","#
        );
        self.with_owner(owner).replacen(r#""metadata":{"#, &fields, 1)
    }
}

impl ApplicationTemplate {
    pub(crate) fn read() -> Result<Self, String> {
        let stream = yaml::read(&Source::new("application.yaml", APPLICATION));
        let mut values = stream.documents.into_iter().map(|document| document.value);
        let pod_spec = values.next().ok_or("no Pod spec")?;
        let pod_spec = json::to_string(&pod_spec);
        let job_spec = pod_spec.replacen('{', r#"{"restartPolicy":"Never","#, 1);
        let values: Vec<Value> = values.collect();
        let template = |value: &Value| {
            let text = json::to_string(value);
            ObjectTemplate {
                collection: collection(value),
                is_workload: text.contains(r#""$pod-spec""#) || text.contains(r#""$job-spec""#),
                text: text.replace(r#""$pod-spec""#, &pod_spec).replace(r#""$job-spec""#, &job_spec),
                owner: owner_place(value, &values),
            }
        };
        Ok(Self { objects: values.iter().map(template).collect() })
    }

    /// How many objects an application has.
    pub(crate) fn size(&self) -> usize {
        self.objects.len()
    }

    /// The objects of application `number`.
    pub(crate) fn application(&self, number: usize) -> Vec<GeneratedObject> {
        let (name, namespace) = (application_name(number), namespace_of(number));
        let node = format!("node-{:03}", number % 100);
        let tier = if number % VIOLATION_PERIOD == 19 { "gold" } else { "standard" };
        let words = [
            ("app", name.as_str()),
            ("namespace", namespace.as_str()),
            ("node", node.as_str()),
            ("tier", tier),
        ];
        let violation = violation_of(number);
        let fill = |object: &ObjectTemplate| GeneratedObject {
            collection: fill_in(&object.collection, &words),
            text: break_rule(fill_in(&object.text, &words), violation, object.is_workload),
            owner: object.owner,
        };
        self.objects.iter().map(fill).collect()
    }
}

/// How many applications are needed for so many objects.
pub(crate) fn application_count(objects: usize, template: &ApplicationTemplate) -> usize {
    objects.div_ceil(template.size().max(1)).max(VIOLATION_PERIOD)
}

/// How many namespaces so many applications are in.
pub(crate) fn namespace_count(applications: usize) -> usize {
    applications.div_ceil(NAMESPACE_APPLICATIONS)
}

pub(crate) fn application_name(number: usize) -> String {
    format!("app-{number:05}")
}

pub(crate) fn namespace_of(application: usize) -> String {
    namespace_name(application / NAMESPACE_APPLICATIONS)
}

pub(crate) fn namespace_name(number: usize) -> String {
    format!("team-{number:04}")
}

/// The Namespace object with what the policies ask of it.
pub(crate) fn namespace_manifest(name: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}","labels":{{"shop.example/team":"team-shop","shop.example/cost-centre":"4711","shop.example/stage":"production"}}}}}}"#
    )
}

/// The applications whose Deployment has the label that the policy `gold-tier` selects.
pub(crate) fn gold_applications(applications: usize) -> impl Iterator<Item = usize> {
    (19..applications).step_by(VIOLATION_PERIOD)
}

/// The applications that break no rule and are not of the gold tier.
pub(crate) fn compliant_applications(applications: usize) -> impl Iterator<Item = usize> + Clone {
    (0..applications).filter(|number| violation_of(*number).is_none() && number % VIOLATION_PERIOD != 19)
}

/// The applications whose Service is a load balancer that everybody can reach.
pub(crate) fn exposed_applications(applications: usize) -> impl Iterator<Item = usize> {
    (11..applications).step_by(VIOLATION_PERIOD)
}

fn violation_of(application: usize) -> Option<Violation> {
    match application % VIOLATION_PERIOD {
        7 => Some(Violation::PrivilegedContainers),
        11 => Some(Violation::PublicLoadBalancer),
        23 => Some(Violation::NoTeam),
        31 => Some(Violation::LatestImage),
        _ => None,
    }
}

fn break_rule(text: String, violation: Option<Violation>, is_workload: bool) -> String {
    match violation {
        Some(Violation::PrivilegedContainers) if is_workload => text.replace(
            r#""allowPrivilegeEscalation":false"#,
            r#""allowPrivilegeEscalation":true,"privileged":true"#,
        ),
        Some(Violation::PublicLoadBalancer) => {
            text.replace(r#""type":"ClusterIP""#, r#""type":"LoadBalancer""#)
        }
        Some(Violation::NoTeam) => text.replace(r#""shop.example/team":"team-shop","#, ""),
        Some(Violation::LatestImage) => text.replace(":3.14.1\"", ":latest\""),
        _ => text,
    }
}

/// Replaces `$name` by its text; other words behind a `$` stay.
fn fill_in(template: &str, words: &[(&str, &str)]) -> String {
    let mut parts = template.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let word = words.iter().find_map(|(name, word)| Some((*word, part.strip_prefix(name)?)));
        match word {
            Some((word, rest)) => {
                text.push_str(word);
                text.push_str(rest);
            }
            None => {
                text.push('$');
                text.push_str(part);
            }
        }
    }
    text
}

/// The path of the collection that an object is created in. All generated kinds have regular plurals.
fn collection(object: &Value) -> String {
    let version = object.str_at(&["apiVersion"]);
    let root = if version.contains('/') { "apis" } else { "api" };
    let kind = object.str_at(&["kind"]).to_lowercase();
    let plural = match kind.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if kind.ends_with('s') => format!("{kind}es"),
        None => format!("{kind}s"),
    };
    format!("/{root}/{version}/namespaces/$namespace/{plural}")
}

fn owner_place(object: &Value, objects: &[Value]) -> Option<usize> {
    let owner = object.at(&["metadata", "ownerReferences"])?.item(0)?;
    objects.iter().position(|other| {
        other.str_at(&["kind"]) == owner.str_at(&["kind"])
            && other.str_at(&["metadata", "name"]) == owner.str_at(&["name"])
    })
}
