//! One change of one field.

use std::fmt;

use kubewright_value::text::{PathStyle, path_text};
use kubewright_value::{Map, Step, Value, json};

/// A change of an object.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldChange {
    /// Sets a field, with the objects that lead to it; an index behind the last item of a list appends.
    Set {
        /// The way to the field.
        path: Vec<Step>,
        /// Its new value.
        value: Value,
    },
    /// Removes a field or an item.
    Remove {
        /// The way to it.
        path: Vec<Step>,
    },
}

impl FieldChange {
    /// Returns a change that sets the field at `path`.
    #[must_use]
    pub fn set(path: impl IntoIterator<Item = Step>, value: impl Into<Value>) -> Self {
        Self::Set { path: path.into_iter().collect(), value: value.into() }
    }

    /// Returns the way to what is changed.
    #[must_use]
    pub fn path(&self) -> &[Step] {
        match self {
            Self::Set { path, .. } | Self::Remove { path } => path,
        }
    }

    /// Returns this change below `prefix`.
    #[must_use]
    pub fn below(&self, prefix: &[Step]) -> Self {
        let path = [prefix, self.path()].concat();
        match self {
            Self::Set { value, .. } => Self::Set { path, value: value.clone() },
            Self::Remove { .. } => Self::Remove { path },
        }
    }

    /// Makes the change; returns nothing where it does not fit the object, which then may have changed in part.
    #[must_use]
    pub fn apply(&self, object: &mut Value) -> Option<()> {
        let (last, parents) = self.path().split_last()?;
        let mut value = object;
        for step in parents {
            if value.is_null() && matches!(self, Self::Set { .. }) {
                *value = Map::new().into();
            }
            value = match step {
                Step::Key(key) => value.as_object_mut()?.get_or_insert(key)?,
                Step::Index(index) => value.as_array_mut()?.get_mut(*index)?,
            };
        }
        match (self, last) {
            (Self::Set { value: new, .. }, Step::Key(key)) => {
                if value.is_null() {
                    *value = Map::new().into();
                }
                value.as_object_mut()?.insert(key.clone(), new.clone());
            }
            (Self::Set { value: new, .. }, Step::Index(index)) => {
                let items = value.as_array_mut()?;
                if *index == items.len() {
                    items.push(new.clone());
                } else {
                    *items.get_mut(*index)? = new.clone();
                }
            }
            (Self::Remove { .. }, Step::Key(key)) => {
                value.as_object_mut()?.remove(key)?;
            }
            (Self::Remove { .. }, Step::Index(index)) => {
                let items = value.as_array_mut()?;
                (*index < items.len()).then(|| items.remove(*index))?;
            }
        }
        Some(())
    }
}

/// As `set spec.hostNetwork to false` or `remove spec.hostNetwork`.
impl fmt::Display for FieldChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = path_text(self.path(), PathStyle::Quoted);
        match self {
            Self::Set { value, .. } => write!(f, "set {path} to {}", json::to_string(value)),
            Self::Remove { .. } => write!(f, "remove {path}"),
        }
    }
}
