//! Service accounts from user names.

use std::any::Any;

use kubewright_value::{Map, Text, Value};

use super::{CelLibrary, MacroSet, text_argument};
use crate::environment::FieldTypes;
use crate::function::{CelFunctions, CelOverload};
use crate::val::{CelKind, Opaque, Val};

/// The library of users.
pub const USERS: CelLibrary = CelLibrary {
    name: "users",
    functions: add_user_functions,
    macros: MacroSet::NONE,
    types: &[SERVICE_ACCOUNT_TYPE_NAME],
};

pub(super) const SERVICE_ACCOUNT_TYPE_NAME: &str = "user.ServiceAccount";
pub(super) const SERVICE_ACCOUNT_FIELDS: FieldTypes =
    &[("Name", CelKind::String), ("Namespace", CelKind::String)];

const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// A service account. Both fields are empty for another user.
#[derive(Debug, Default, PartialEq)]
struct ServiceAccountVal {
    namespace: Text,
    name: Text,
}

impl Opaque for ServiceAccountVal {
    fn type_name(&self) -> &'static str {
        SERVICE_ACCOUNT_TYPE_NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn is_zero(&self) -> bool {
        self.name.is_empty() && self.namespace.is_empty()
    }

    /// Returns the JSON form, without empty fields.
    fn to_json(&self) -> Option<Value> {
        let fields = [("name", &self.name), ("namespace", &self.namespace)];
        let set = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let map: Map =
            set.map(|(name, value)| (Text::new_static(name), Value::from(value.clone()))).collect();
        Some(Value::object(map))
    }

    fn field(&self, name: &str) -> Option<Val<'static>> {
        match name {
            "Name" => Some(Val::text(self.name.clone())),
            "Namespace" => Some(Val::text(self.namespace.clone())),
            _ => None,
        }
    }
}

fn add_user_functions(functions: &mut CelFunctions) {
    for name in ["parseServiceAccount", "user.parseServiceAccount"] {
        functions.add(
            CelOverload::function(
                name,
                &[CelKind::String],
                CelKind::Opaque(SERVICE_ACCOUNT_TYPE_NAME),
                |arguments, _| Ok(Val::opaque(parse_service_account(text_argument(arguments, 0)?))),
            )
            .help(
                "`Namespace` and `Name` of a service account, by the name of the user; empty if it is none",
            ),
        );
    }
}

fn parse_service_account(user: &str) -> ServiceAccountVal {
    let parts = user.strip_prefix(SERVICE_ACCOUNT_PREFIX).and_then(|rest| rest.split_once(':'));
    parts.map_or_else(ServiceAccountVal::default, |(namespace, name)| ServiceAccountVal {
        namespace: namespace.into(),
        name: name.into(),
    })
}
