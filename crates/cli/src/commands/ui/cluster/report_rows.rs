//! The rows of reports: ours, and those of any other program that writes PolicyReports or OpenReports.

use kubewright_report::Severity;
use kubewright_value::{Map, Text, Value};

/// How many objects of one result have a row.
const MAX_SUBJECTS: usize = 50;

/// The verdicts of reports, in the order of the columns.
pub(super) const REPORT_RESULTS: [&str; 5] = ["pass", "fail", "warn", "error", "skip"];

/// A field of a row by its name.
pub(super) type RowField = (&'static str, fn(&PageRow) -> &str);

/// One result about one object.
#[derive(Clone, Default)]
pub(super) struct PageRow {
    pub(super) source: Text,
    pub(super) policy: Text,
    pub(super) rule: Text,
    pub(super) result: Text,
    pub(super) severity: Text,
    pub(super) category: Text,
    pub(super) message: Text,
    pub(super) timestamp: Text,
    pub(super) api_version: Text,
    pub(super) kind: Text,
    pub(super) namespace: Text,
    pub(super) name: Text,
    pub(super) uid: Text,
    pub(super) owner: Text,
    /// The kind, namespace and name of the report.
    pub(super) report: Text,
    pub(super) properties: Map,
}

/// How many results of each verdict a report counts, also those without a row.
#[derive(Debug, Clone, Default)]
pub(super) struct ReportCounts {
    pub(super) namespace: Text,
    pub(super) source: Text,
    /// In the order of [`REPORT_RESULTS`].
    pub(super) counts: [u64; 5],
}

impl PageRow {
    /// Returns a text that is the same for the same row.
    pub(super) fn id(&self) -> String {
        let object = format!("{}/{}/{}/{}", self.api_version, self.kind, self.namespace, self.name);
        let path = self.properties.str_at(&["path"]);
        format!("{}|{}|{}|{object}|{path}", self.source, self.policy, self.rule)
    }

    /// Returns the rule language, as far as the report says it.
    pub(super) fn dialect(&self) -> &str {
        self.properties.str_at(&["dialect"])
    }

    /// Returns the row as JSON.
    pub(super) fn value(&self) -> Value {
        let object = Map::from([
            ("apiVersion", Value::from(self.api_version.clone())),
            ("kind", self.kind.clone().into()),
            ("namespace", self.namespace.clone().into()),
            ("name", self.name.clone().into()),
            ("uid", self.uid.clone().into()),
        ]);
        Map::from([
            ("id", Value::from(self.id())),
            ("source", self.source.clone().into()),
            ("policy", self.policy.clone().into()),
            ("rule", self.rule.clone().into()),
            ("result", self.result.clone().into()),
            ("severity", self.severity.clone().into()),
            ("category", self.category.clone().into()),
            ("message", self.message.clone().into()),
            ("timestamp", self.timestamp.clone().into()),
            ("object", object.into()),
            ("owner", self.owner.clone().into()),
            ("dialect", self.dialect().into()),
            ("report", self.report.clone().into()),
            ("properties", self.properties.clone().into()),
        ])
        .into()
    }

    /// Returns what rows are sorted by: the worst first.
    pub(super) fn order(&self) -> impl Ord + use<> {
        let rank = ["fail", "error", "warn", "skip", "pass"].iter().position(|one| self.result == *one);
        let severity = Severity::named(&self.severity);
        let name = (self.namespace.clone(), self.kind.clone(), self.name.clone());
        (rank.unwrap_or(9), std::cmp::Reverse(severity), name, self.policy.clone(), self.rule.clone())
    }
}

/// Returns the rows of `report`.
pub(super) fn report_rows(report: &Value) -> Vec<PageRow> {
    let results = report.get("results").and_then(Value::as_array).unwrap_or_default();
    results.iter().flat_map(|result| result_rows(report, result)).collect()
}

/// Returns what `report` counts.
pub(super) fn report_counts(report: &Value) -> ReportCounts {
    let count = |name: &str| {
        let number = report.at(&["summary", name]).and_then(Value::as_i64).unwrap_or_default();
        u64::try_from(number).unwrap_or_default()
    };
    let first = report.get("results").and_then(|results| results.item(0));
    let source = match report.str_at(&["source"]) {
        "" => first.map(|result| result.str_at(&["source"])).unwrap_or_default(),
        source => source,
    };
    let namespace = report.str_at(&["metadata", "namespace"]);
    ReportCounts { namespace: namespace.into(), source: source.into(), counts: REPORT_RESULTS.map(count) }
}

fn result_rows(report: &Value, result: &Value) -> Vec<PageRow> {
    let text = |key: &str| Text::new(result.str_at(&[key]));
    let result_name = match result.str_at(&["result"]) {
        "" => text("status"),
        name => name.into(),
    };
    let source = match result.str_at(&["source"]) {
        "" => report.str_at(&["source"]),
        source => source,
    };
    let properties = result.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let row = PageRow {
        source: source.into(),
        policy: text("policy"),
        rule: text("rule"),
        result: result_name,
        severity: text("severity"),
        category: text("category"),
        message: match result.str_at(&["message"]) {
            "" => text("description"),
            message => message.into(),
        },
        timestamp: timestamp_text(result),
        report: report_name(report),
        properties,
        ..PageRow::default()
    };
    // OpenReports call them subjects.
    let listed = ["resources", "subjects"].iter().find_map(|key| {
        let list = result.get(key).and_then(Value::as_array)?;
        (!list.is_empty()).then_some(list)
    });
    let scope = report.get("scope").filter(|scope| scope.as_object().is_some());
    let subjects: Vec<&Value> = match (listed, scope) {
        (Some(listed), _) => listed.iter().take(MAX_SUBJECTS).collect(),
        (None, Some(scope)) => vec![scope],
        (None, None) => vec![&Value::Null],
    };
    subjects.into_iter().map(|subject| about(row.clone(), subject, report)).collect()
}

fn about(row: PageRow, subject: &Value, report: &Value) -> PageRow {
    let text = |key: &str| Text::new(subject.str_at(&[key]));
    let namespace = match subject.str_at(&["namespace"]) {
        "" => report.str_at(&["metadata", "namespace"]),
        namespace => namespace,
    };
    PageRow {
        api_version: text("apiVersion"),
        kind: text("kind"),
        namespace: namespace.into(),
        name: text("name"),
        uid: text("uid"),
        owner: owner_of(&row.properties, report),
        ..row
    }
}

/// The labels and properties that name who owns an object, the first one wins.
const OWNER_KEYS: [&str; 3] = ["team", "owner", "app.kubernetes.io/part-of"];

fn owner_of(properties: &Map, report: &Value) -> Text {
    let labels = report.at(&["metadata", "labels"]);
    let named = |key: &&str| {
        let own = properties.str_at(&[key]);
        match own {
            "" => labels.map(|labels| labels.str_at(&[key])).unwrap_or_default().to_owned(),
            own => own.to_owned(),
        }
    };
    OWNER_KEYS.iter().map(named).find(|owner| !owner.is_empty()).unwrap_or_default().into()
}

/// Returns who owns what is in a namespace, as its labels say.
pub(super) fn namespace_owner(namespace: &Value) -> Text {
    let labels = namespace.at(&["metadata", "labels"]);
    let named = |key: &&str| labels.map(|labels| labels.str_at(&[key])).unwrap_or_default().to_owned();
    OWNER_KEYS.iter().map(named).find(|owner| !owner.is_empty()).unwrap_or_default().into()
}

fn report_name(report: &Value) -> Text {
    let [kind, namespace, name] = [
        report.str_at(&["kind"]),
        report.str_at(&["metadata", "namespace"]),
        report.str_at(&["metadata", "name"]),
    ];
    let parts = [kind, namespace, name].into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("/").into()
}

/// Returns since when a row is so, in seconds since 1970 as text; empty where it is not said.
fn timestamp_text(result: &Value) -> Text {
    let seconds = result.at(&["timestamp", "seconds"]).and_then(Value::as_i64);
    seconds.map(|seconds| seconds.to_string()).unwrap_or_default().into()
}
