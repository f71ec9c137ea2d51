//! The rights of an installation are what its programs use, on a real control plane: no request of theirs is refused, and
//! none of their rights could be taken away without refusing one. The audit log of the API server has the requests.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "rights/audit.rs"]
mod audit;
#[path = "rights/programs.rs"]
mod programs;
#[path = "rights/roles.rs"]
mod roles;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use programs::InstalledPrograms;
use roles::{ApiRequest, Right};

const WEBHOOK: &str = "kubewright";
const SCANNER: &str = "kubewright-scan";

/// The rights without which no request would be refused.
fn unneeded<'r>(rights: &'r BTreeSet<Right>, requests: &BTreeSet<ApiRequest>) -> Vec<&'r Right> {
    let is_needed = |right: &&Right| {
        requests.iter().any(|request| {
            right.allows(request) && !rights.iter().any(|other| other != *right && other.allows(request))
        })
    };
    rights.iter().filter(|right| !is_needed(right)).collect()
}

/// Rights to read one object once more after a conflict with another replica, which seldom happens. Who may list them
/// may read them anyway.
const AFTER_CONFLICTS: [&str; 5] = [
    "get secrets/kubewright-tls in kubewright-system",
    "get mutatingadmissionpolicies.admissionregistration.k8s.io",
    "get mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    "get validatingadmissionpolicies.admissionregistration.k8s.io",
    "get validatingadmissionpolicybindings.admissionregistration.k8s.io",
];

/// Kinds that the scanner asks for because any object may have a label that says when to delete it, and has no rights for.
const UNSCANNED: [&str; 14] = [
    "certificatesigningrequests",
    "controllerrevisions",
    "csistoragecapacities",
    "deviceclasses",
    "flowschemas",
    "ipaddresses",
    "leases",
    "prioritylevelconfigurations",
    "resourceclaims",
    "resourceclaimtemplates",
    "resourceslices",
    "secrets",
    "servicecidrs",
    "volumeattributesclasses",
];

/// What rules of this test want to write without having the right, and the namespace that an installation has already.
const UNGRANTED: [&str; 4] =
    ["create limitranges", "create namespaces", "create resourcequotas", "update services"];

fn is_expected_refusal(request: &ApiRequest) -> bool {
    let is_read = ["list", "watch"].contains(&request.verb.as_str());
    let is_event = request.group == "events.k8s.io";
    (is_read && (is_event || UNSCANNED.contains(&request.resource.as_str())))
        || UNGRANTED.contains(&format!("{} {}", request.verb, request.resource).as_str())
}

#[test]
fn every_right_is_used_and_none_is_missing() {
    let Some(programs) = InstalledPrograms::start() else { return };
    programs.act();
    let mut wrong = Vec::new();
    for account in [WEBHOOK, SCANNER] {
        let (rights, audited) = (programs.rights(account), programs.audit.read(account));
        println!("{account}: {} rights, {} different requests", rights.len(), audited.allowed.len());
        let unneeded = unneeded(&rights, &audited.allowed).into_iter().map(ToString::to_string);
        let unneeded = unneeded.filter(|right| !AFTER_CONFLICTS.contains(&right.as_str()));
        wrong.extend(unneeded.map(|right| format!("{account} does not need: {right}")));
        let refused = audited.refused.iter().filter(|request| !is_expected_refusal(request));
        wrong.extend(refused.map(|request| format!("{account} was refused: {request}")));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the rows of the rights of one account: what may be done to which resources.
fn rights_table(rights: &BTreeSet<Right>) -> String {
    let mut verbs: BTreeMap<(&str, &str, &str, &str), Vec<&str>> = BTreeMap::new();
    for right in rights {
        verbs
            .entry((&right.group, &right.namespace, &right.resource, &right.name))
            .or_default()
            .push(&right.verb);
    }
    let mut names: BTreeMap<(String, &str, &str), BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for ((group, namespace, resource, name), verbs) in verbs {
        names
            .entry((verbs.join(", "), group, namespace))
            .or_default()
            .entry(resource)
            .or_default()
            .push(name);
    }
    let mut table = "| group | resources | verbs | in |\n|---|---|---|---|\n".to_owned();
    for ((verbs, group, namespace), resources) in names {
        let group = if group.is_empty() { "core" } else { group };
        let place = if namespace.is_empty() { "all namespaces" } else { namespace };
        let shown: Vec<String> =
            resources.into_iter().map(|(resource, names)| named(resource, &names)).collect();
        table.push_str(&format!("| {group} | {} | {verbs} | {place} |\n", shown.join(", ")));
    }
    table
}

fn named(resource: &str, names: &[&str]) -> String {
    match names {
        [""] => format!("`{resource}`"),
        names => format!("`{resource}` called `{}`", names.join("`, `")),
    }
}

fn manifests() -> String {
    let install = Command::new(env!("CARGO_BIN_EXE_kubewright")).arg("install").output().expect("it starts");
    String::from_utf8(install.stdout).expect("text")
}

/// What a stolen token of the scanner is good for, without further flags.
#[test]
fn the_scanner_reads_no_secret_and_writes_what_it_found() {
    let rights = roles::granted_rights(&manifests(), SCANNER);
    assert!(rights.iter().all(|right| right.resource != "secrets"), "{rights:#?}");
    let is_write = |right: &&Right| !["get", "list", "watch"].contains(&right.verb.as_str());
    let is_status = |right: &&Right| right.resource.ends_with("/status") && right.verb == "patch";
    let written: BTreeSet<&str> = rights
        .iter()
        .filter(|right| is_write(right) && !is_status(right))
        .map(|right| right.resource.as_str())
        .collect();
    let wanted = [
        "clusterpolicyreports",
        "clusterreports",
        "configmaps",
        "events",
        "k8spatterns",
        "leases",
        "policyreports",
        "reports",
        "smells",
        "subjectaccessreviews",
    ];
    assert_eq!(written.into_iter().collect::<Vec<_>>(), wanted);
}

/// The page with the rights of each account follows from the manifests. `UPDATE_DOCS=1` writes it.
#[test]
fn the_page_lists_every_right() {
    let manifests = manifests();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rights.md");
    let page = fs::read_to_string(path).expect("the page");
    let parts: Vec<&str> = page.split("<!-- rights -->\n").collect();
    let [head, _, between, _, end] = parts.as_slice() else { panic!("two tables between marks") };
    let table = |account: &str| rights_table(&roles::granted_rights(&manifests, account));
    let wanted = [head, table(WEBHOOK).as_str(), between, &table(SCANNER), end].join("<!-- rights -->\n");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, wanted).expect("the page is written");
    } else {
        assert_eq!(page, wanted, "UPDATE_DOCS=1 writes it");
    }
}

#[test]
fn a_right_is_needed_only_if_a_request_would_be_refused_without_it() {
    let request = |verb: &str, name: &str| ApiRequest {
        verb: verb.to_owned(),
        group: String::new(),
        resource: "secrets".to_owned(),
        namespace: "a".to_owned(),
        name: name.to_owned(),
    };
    let roles = "{kind: Role, metadata: {name: r, namespace: a}, rules: [{apiGroups: [''], resources: [secrets], verbs: [get, \
                 list]}, {apiGroups: [''], resources: [secrets], resourceNames: [x], verbs: [get]}]}\n---\n{kind: RoleBinding, \
                 metadata: {name: b, namespace: a}, roleRef: {kind: Role, name: r}, subjects: [{name: me}]}";
    let rights = roles::granted_rights(roles, "me");
    let told = |requests: &[ApiRequest]| -> Vec<String> {
        unneeded(&rights, &requests.iter().cloned().collect()).iter().map(ToString::to_string).collect()
    };
    // The second rule grants nothing that the first does not.
    assert_eq!(told(&[request("get", "y"), request("list", "")]), ["get secrets/x in a"]);
    assert_eq!(told(&[request("get", "y")]), ["get secrets/x in a", "list secrets in a"]);
    assert_eq!(roles::granted_rights(roles, "another").len(), 0);
}
