//! Who asks: the file of `--userinfo`.

use kubewright_engine::Diagnostic;
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Document, Text, Value};

use crate::fields::Reader;

const FIELDS: &[&str] =
    &["apiVersion", "kind", "metadata", "roles", "clusterRoles", "userInfo", "synchronize"];
const USER_FIELDS: &[&str] = &["username", "uid", "groups", "extra"];

/// Who asks.
#[derive(Debug, Clone, Default)]
pub(crate) struct UserInfo {
    /// Each `namespace:name`.
    roles: Vec<Text>,
    cluster_roles: Vec<Text>,
    /// `username`, `groups`, `uid`, `extra`.
    user: Option<Value>,
}

impl UserInfo {
    /// Reads a `UserInfo` document; the older form without `apiVersion` and `kind` is read too.
    ///
    /// # Errors
    /// With everything that is wrong with it.
    pub(crate) fn read(document: &Document) -> Result<Self, Vec<Diagnostic>> {
        let mut reader = Reader::ignoring_case(document);
        reader.check_fields(FIELDS);
        let texts = |list: Vec<String>| list.into_iter().map(Text::from).collect();
        let info = Self {
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

    /// Returns this one with another name and other groups, where they are given.
    pub(crate) fn called(mut self, name: Option<&str>, groups: &[String]) -> Self {
        let mut user = self.user.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        if let Some(name) = name {
            user.insert("username".into(), name.into());
        }
        if !groups.is_empty() {
            user.insert("groups".into(), groups.iter().map(String::as_str).collect::<Vec<_>>().into());
        }
        self.user = Some(user.into());
        self
    }

    /// Lets `request` be asked by this one.
    pub(crate) fn place(&self, request: &mut AdmissionRequest) {
        request.roles.clone_from(&self.roles);
        request.cluster_roles.clone_from(&self.cluster_roles);
        if let Some(user) = &self.user {
            request.user = user.clone();
        }
    }
}
