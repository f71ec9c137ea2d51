//! One operation of a patch, and its form as JSON.

use kubewright_value::{Map, Value};

use super::{PatchError, PatchErrorKind, Pointer};

/// An operation of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonPatchOperation {
    /// Sets a key, or inserts into a list.
    Add {
        /// The position.
        path: Pointer,
        /// The value.
        value: Value,
    },
    /// Removes what is there.
    Remove {
        /// The position.
        path: Pointer,
    },
    /// Sets what is there already.
    Replace {
        /// The position.
        path: Pointer,
        /// To what.
        value: Value,
    },
    /// Removes from one place and adds at another.
    Move {
        /// From where.
        from: Pointer,
        /// To where.
        path: Pointer,
    },
    /// Adds at one place what is at another.
    Copy {
        /// From where.
        from: Pointer,
        /// To where.
        path: Pointer,
    },
    /// Fails unless the value is there.
    Test {
        /// The position.
        path: Pointer,
        /// The expected value.
        value: Value,
    },
}

impl JsonPatchOperation {
    /// Reads a whole patch, which is a list of operations.
    ///
    /// # Errors
    /// When `patch` is not a list, or at the first item that is not an operation.
    pub fn list(patch: &Value) -> Result<Vec<Self>, PatchError> {
        let items = patch.as_array().ok_or_else(|| {
            malformed_operation(format!("a patch is a list of operations, this is of type {}", patch.kind()))
        })?;
        items
            .iter()
            .enumerate()
            .map(|(place, item)| Self::from_value(item).map_err(|e| PatchError { operation: place, ..e }))
            .collect()
    }

    /// Reads one operation. Members that it does not need are ignored.
    ///
    /// # Errors
    /// When `op` is unknown, a member that it needs is missing, or a path is not a pointer.
    pub fn from_value(value: &Value) -> Result<Self, PatchError> {
        let Some(members) = value.as_object() else {
            return Err(malformed_operation(format!(
                "an operation is an object, this is of type {}",
                value.kind()
            )));
        };
        let name = read_text_member(members, "op")?;
        let path = read_pointer(members, "path")?;
        match name {
            "add" => Ok(Self::Add { path, value: read_operand(members)? }),
            "remove" => Ok(Self::Remove { path }),
            "replace" => Ok(Self::Replace { path, value: read_operand(members)? }),
            "move" => Ok(Self::Move { from: read_pointer(members, "from")?, path }),
            "copy" => Ok(Self::Copy { from: read_pointer(members, "from")?, path }),
            "test" => Ok(Self::Test { path, value: read_operand(members)? }),
            other => Err(malformed_operation(format!(
                "unknown operation `{other}`, expected `add`, `remove`, `replace`, `move`, `copy` or `test`"
            ))),
        }
    }

    /// Returns the operation as JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut members = Map::with_capacity(3);
        members.insert("op".into(), self.name().into());
        if let Self::Move { from, .. } | Self::Copy { from, .. } = self {
            members.insert("from".into(), from.to_string().into());
        }
        members.insert("path".into(), self.path().to_string().into());
        if let Self::Add { value, .. } | Self::Replace { value, .. } | Self::Test { value, .. } = self {
            members.insert("value".into(), value.clone());
        }
        Value::object(members)
    }

    /// Returns the word in `op`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Remove { .. } => "remove",
            Self::Replace { .. } => "replace",
            Self::Move { .. } => "move",
            Self::Copy { .. } => "copy",
            Self::Test { .. } => "test",
        }
    }

    /// Returns where the operation takes effect.
    #[must_use]
    pub fn path(&self) -> &Pointer {
        match self {
            Self::Add { path, .. }
            | Self::Remove { path }
            | Self::Replace { path, .. }
            | Self::Move { path, .. }
            | Self::Copy { path, .. }
            | Self::Test { path, .. } => path,
        }
    }
}

fn read_pointer(members: &Map, member: &str) -> Result<Pointer, PatchError> {
    let written = read_text_member(members, member)?;
    Pointer::parse(written)
        .map_err(|error| PatchError { path: written.to_owned(), ..malformed_operation(error.to_string()) })
}

fn read_text_member<'a>(members: &'a Map, member: &str) -> Result<&'a str, PatchError> {
    let value =
        members.get(member).ok_or_else(|| malformed_operation(format!("an operation needs `{member}`")))?;
    value.as_str().ok_or_else(|| {
        malformed_operation(format!(
            "`{member}` of an operation is a string, this is of type {}",
            value.kind()
        ))
    })
}

fn read_operand(members: &Map) -> Result<Value, PatchError> {
    members
        .get("value")
        .cloned()
        .ok_or_else(|| malformed_operation("this operation needs `value`".to_owned()))
}

fn malformed_operation(message: String) -> PatchError {
    PatchError { operation: 0, path: String::new(), kind: PatchErrorKind::Syntax, message }
}
