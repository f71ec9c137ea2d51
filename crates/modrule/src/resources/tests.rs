use super::*;

#[track_caller]
fn check(changes: &[&str], has: &[&str], has_not: &[&str], count: usize) {
    let resources = webhook_resources(&changes.iter().map(|&change| change.to_owned()).collect::<Vec<_>>());
    for name in has {
        assert!(resources.contains(&WebhookResource::of(name)), "{name} is missing");
    }
    for name in has_not {
        assert!(!resources.contains(&WebhookResource::of(name)), "{name} is there");
    }
    assert_eq!(resources.len(), count);
}

#[test]
fn without_changes_it_is_the_list_of_the_original() {
    check(&[], &["namespaces", "pods", "roles"], &["endpoints"], 21);
    check(&["", " "], &["pods"], &[], 21);
}

#[test]
fn resources_are_added_and_taken_away() {
    check(&["+widgets.shop.test", "-secrets"], &["widgets.shop.test", "pods"], &["secrets"], 21);
    check(&["+pods", "+pods"], &["pods"], &[], 21);
    check(&["-*"], &[], &["pods"], 0);
    check(&["-*", "+Pods/Status"], &["pods/status"], &["pods"], 1);
}

#[test]
fn a_name_without_a_sign_is_a_list_of_its_own() {
    check(&["pods", "services"], &["pods", "services"], &["secrets"], 2);
    check(&["pods", "+services", "-pods"], &["services"], &["pods"], 1);
}
