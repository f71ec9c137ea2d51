use kubewright_value::{json, yaml};

use super::*;

const DESIRED: &str = "
metadata: {name: ours, labels: {a: b}, ownerReferences: [{kind: ClusterRole, name: ours, uid: '1'}]}
webhooks: [{name: x.y.z, clientConfig: {url: u, caBundle: new}, failurePolicy: Fail}]
";

#[track_caller]
fn check(actual: &str, desired: &str, want: &str) {
    let parse = |text: &str| yaml::parse(text).unwrap();
    let repaired = repaired_configuration(&parse(actual), &parse(desired), false);
    let want = if want.is_empty() { None } else { Some(json::to_string(&parse(want))) };
    assert_eq!(repaired.map(|value| json::to_string(&value)), want);
}

#[test]
fn what_is_as_it_should_be_is_left_alone_with_what_others_added_to_its_metadata() {
    check(DESIRED, DESIRED, "");
    let actual =
        DESIRED.replace("a: b", "a: b, c: d").replace("name: ours, labels", "name: ours, uid: u, labels");
    check(&actual, DESIRED, "");
    check("metadata: {name: ours}", "metadata: {name: ours}\nwebhooks: []", "");
}

#[test]
fn every_change_of_a_webhook_is_taken_back() {
    for change in [
        DESIRED.replace("Fail", "Ignore"),
        DESIRED.replace(
            "failurePolicy: Fail",
            "failurePolicy: Fail, matchConditions: [{name: off, expression: 'false'}]",
        ),
        DESIRED.replace("caBundle: new", "caBundle: old"),
        DESIRED.replace("failurePolicy: Fail}", "failurePolicy: Fail}, {name: another}"),
    ] {
        check(&change, DESIRED, DESIRED);
    }
}

#[test]
fn labels_and_the_owner_are_put_back_and_the_version_stays() {
    let actual = DESIRED
        .replace("{a: b}", "{c: d}")
        .replace("uid: '1'", "uid: '0'")
        .replace("{name: ours, labels", "{name: ours, resourceVersion: '7', labels");
    let want = DESIRED
        .replace("{a: b}", "{c: d, a: b}")
        .replace("{name: ours, labels", "{name: ours, resourceVersion: '7', labels");
    check(&actual, DESIRED, &want);
}

#[test]
fn repaired_configuration_keeps_an_injected_ca_bundle() {
    let silent = DESIRED.replace(", caBundle: new", "");
    check(DESIRED, &silent, "");
    check(&DESIRED.replace("Fail", "Ignore"), &silent, DESIRED);
}

/// Whether a bundle of the authorities `actual` is as good as one of `desired`.
#[track_caller]
fn check_bundles(actual: &str, desired: &str, more_authorities: bool, is_equal: bool) {
    let bundle = |names: &str| {
        let pem = |name| {
            format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(name))
        };
        STANDARD.encode(names.split_whitespace().map(pem).collect::<String>())
    };
    let with = |names: &str| {
        yaml::parse(&DESIRED.replace("caBundle: new", &format!("caBundle: {}", bundle(names)))).unwrap()
    };
    assert_eq!(repaired_configuration(&with(actual), &with(desired), more_authorities).is_none(), is_equal);
}

#[test]
fn a_replica_that_knows_of_an_authority_earlier_is_not_put_right() {
    check_bundles("new old", "old", true, true);
    check_bundles("new old", "old", false, false);
    check_bundles("old", "new old", true, false);
    check_bundles("old new", "new old", true, true);
    check_bundles("other", "new", true, false);
}
