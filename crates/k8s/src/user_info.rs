//! The user of a request.

use kubewright_value::{Text, Value};

use crate::AdmissionRequest;

/// The user of a request, with the roles that are bound to it.
#[derive(Debug, Clone, Default)]
pub struct UserInfo {
    /// `username`, `groups`, `uid` and `extra`, as in the AdmissionRequest.
    pub user: Option<Value>,
    /// The roles that are bound to the user, each `namespace:name`.
    pub roles: Vec<Text>,
    /// The cluster roles that are bound to the user.
    pub cluster_roles: Vec<Text>,
}

impl UserInfo {
    /// Returns this user with another name and other groups, where they are given.
    #[must_use]
    pub fn renamed(mut self, name: Option<&str>, groups: &[String]) -> Self {
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
}

impl AdmissionRequest {
    /// Lets `user` send the request.
    pub fn set_user(&mut self, user: &UserInfo) {
        self.roles.clone_from(&user.roles);
        self.cluster_roles.clone_from(&user.cluster_roles);
        if let Some(identity) = &user.user {
            self.user = identity.clone();
        }
    }
}
