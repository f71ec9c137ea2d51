//! The user of requests: the file of `--userinfo`.

use kubewright_engine::Diagnostic;
use kubewright_k8s::UserInfo;
use kubewright_value::{Document, Text};

use crate::fields::Reader;

const FIELDS: &[&str] =
    &["apiVersion", "kind", "metadata", "roles", "clusterRoles", "userInfo", "synchronize"];
const USER_FIELDS: &[&str] = &["username", "uid", "groups", "extra"];

/// Reads a `UserInfo` document; the older form without `apiVersion` and `kind` is read too.
///
/// # Errors
/// With everything that is wrong with it.
pub(crate) fn read_user_info(document: &Document) -> Result<UserInfo, Vec<Diagnostic>> {
    let mut reader = Reader::ignoring_case(document);
    reader.check_fields(FIELDS);
    let texts = |list: Vec<String>| list.into_iter().map(Text::from).collect();
    let info = UserInfo {
        roles: texts(reader.texts("roles")),
        cluster_roles: texts(reader.texts("clusterRoles")),
        user: reader.value("userInfo").cloned(),
    };
    reader.field("userInfo", |reader| {
        reader.check_fields(USER_FIELDS);
        reader.text("username");
        reader.texts("groups");
    });
    reader.finish(info)
}
