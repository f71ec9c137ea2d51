//! Names of users.

use std::any::Any;

use kubewright_value::{Map, Text, Value};

use super::{Library, Macros, text};
use crate::environment::Fields;
use crate::function::{Functions, Overload};
use crate::val::{Kind, Opaque, Val};

/// The library of users.
pub const USERS: Library = Library { name: "users", functions: add, macros: Macros::NONE, types: &[NAME] };

pub(super) const NAME: &str = "user.ServiceAccount";
pub(super) const FIELDS: Fields = &[("Name", Kind::String), ("Namespace", Kind::String)];

const PREFIX: &str = "system:serviceaccount:";

/// A service account; both are empty for what is none.
#[derive(Debug, Default, PartialEq)]
struct ServiceAccount {
    namespace: Text,
    name: Text,
}

impl Opaque for ServiceAccount {
    fn type_name(&self) -> &'static str {
        NAME
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

    /// What is empty is left out.
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

fn add(functions: &mut Functions) {
    for name in ["parseServiceAccount", "user.parseServiceAccount"] {
        functions.add(
            Overload::function(name, &[Kind::String], Kind::Opaque(NAME), |arguments, _| {
                Ok(Val::opaque(parsed(text(arguments, 0)?)))
            })
            .help(
                "`Namespace` and `Name` of a service account, by the name of the user; empty if it is none",
            ),
        );
    }
}

fn parsed(user: &str) -> ServiceAccount {
    let parts = user.strip_prefix(PREFIX).and_then(|rest| rest.split_once(':'));
    parts.map_or_else(ServiceAccount::default, |(namespace, name)| ServiceAccount {
        namespace: namespace.into(),
        name: name.into(),
    })
}
