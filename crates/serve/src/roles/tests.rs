use kubewright_value::yaml;

use super::*;

fn parsed(text: &str) -> Value {
    yaml::parse(text).expect("YAML")
}

fn binding(home: &str, role: &str, subject: &str) -> Value {
    let (kind, name) = role.split_once(' ').expect("two words");
    parsed(&format!(
        "{{metadata: {{name: b, namespace: '{home}'}}, roleRef: {{kind: {kind}, name: {name}}}, subjects: [{subject}]}}"
    ))
}

/// Compares the roles and cluster roles of a user in namespace `shop`.
#[track_caller]
fn has(index: &SubjectRoles, user: &str, want: &str) {
    let (roles, cluster_roles) = index.roles(&parsed(user), "shop");
    assert_eq!(format!("{} | {}", roles.join(" "), cluster_roles.join(" ")), want);
}

#[test]
fn roles_are_found_by_user_group_and_account() {
    let in_namespaces = [
        binding("shop", "Role editor", "{kind: User, name: ann}"),
        binding("shop", "ClusterRole view", "{kind: Group, name: system:authenticated}"),
        binding("other", "ClusterRole admin", "{kind: User, name: ann}"),
        binding("other", "Role editor", "{kind: ServiceAccount, name: robot, namespace: shop}"),
        binding("shop", "Role own", "{kind: ServiceAccount, name: robot}"),
    ];
    let of_cluster = [binding("", "ClusterRole cluster-admin", "{kind: Group, name: system:masters}")];
    let index = SubjectRoles::of(&in_namespaces, &of_cluster);
    has(&index, "{username: ann, groups: ['system:authenticated']}", "shop:editor | view");
    has(&index, "{username: system:serviceaccount:shop:robot}", "other:editor shop:own | ");
    has(
        &index,
        "{username: root, groups: ['system:masters', 'system:authenticated']}",
        " | cluster-admin view",
    );
    has(&index, "{username: unknown}", " | ");
    has(&index, "{}", " | ");
}
