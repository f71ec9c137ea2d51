use super::PageWorkspace;
use kubewright_files as files;
use kubewright_ui::{PageText, TextRole};

const RULE: &str = "apiVersion: api.kubemod.io/v1beta1\nkind: ModRule\nmetadata: {name: a}\n";
const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\n";

fn text(role: TextRole, parts: &[&str]) -> PageText {
    PageText { name: format!("{}.yaml", role.name()), role, text: parts.join("---\n") }
}

fn places(space: &PageWorkspace, paths: &[String]) -> Vec<String> {
    space.enter(|| {
        let documents = files::read_documents(&files::find_files(paths).inputs, &mut Vec::new());
        documents
            .iter()
            .filter(|document| !document.value.is_null())
            .map(|document| {
                format!("{} {}", document.value.str_at(&["kind"]), document.locate_key(&["kind".into()]))
            })
            .collect()
    })
}

#[test]
fn documents_are_sorted_and_keep_their_lines() {
    let space = PageWorkspace::new(&[text(TextRole::Rules, &[POD, RULE, POD])]);
    assert_eq!(places(&space, &space.rules), ["ModRule rules.yaml:6:1"]);
    assert_eq!(places(&space, &space.objects), ["Pod rules.yaml:2:1", "Pod rules.yaml:10:1"]);
    assert_eq!(space.languages, ["modrule"]);
}

#[test]
fn rules_among_objects_count_where_there_are_no_others() {
    let space = PageWorkspace::new(&[text(TextRole::Objects, &[RULE, POD])]);
    assert_eq!((space.rules.len(), space.objects.len()), (1, 1));
    let space = PageWorkspace::new(&[text(TextRole::Rules, &[RULE]), text(TextRole::Objects, &[RULE, POD])]);
    assert_eq!(places(&space, &space.rules), ["ModRule rules.yaml:2:1"]);
    assert_eq!(places(&space, &space.objects), ["ModRule objects.yaml:2:1", "Pod objects.yaml:6:1"]);
}

#[test]
fn a_misspelt_rule_stays_among_the_rules() {
    let space = PageWorkspace::new(&[text(
        TextRole::Rules,
        &["apiVersion: kyverno.io/v1\nkind: ClusterPolciy\n", "text"],
    )]);
    assert_eq!((space.rules.len(), space.objects.len()), (1, 0));
}

#[test]
fn a_diagnostic_about_whole_files_names_the_texts() {
    let space = PageWorkspace::new(&[text(TextRole::Rules, &["a: 1\n"]), text(TextRole::Objects, &[POD])]);
    let [path] = space.rules.as_slice() else { panic!("{:?}", space.rules) };
    let message = format!("no rules found in `{path}`");
    let mut diagnostic = files::about_path(&files::NOTHING_FOUND, path, message);
    space.restore_names(&mut diagnostic);
    assert_eq!(diagnostic.message, "no rules found in `rules.yaml`");
    assert_eq!(diagnostic.location.to_string(), "rules.yaml:1:1");
    assert!(diagnostic.help.contains("ClusterPolicy"), "{}", diagnostic.help);
}
