//! Which fields of objects are read, so that the others need not be.

use crate::Text;

/// The fields of a value that something reads. Those of a list are the fields of its items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldSet {
    /// All of them.
    All,
    /// These, each with what is read below it. A value that is no object is read whole.
    Named(Vec<(Text, FieldSet)>),
}

/// No field.
impl Default for FieldSet {
    fn default() -> Self {
        Self::Named(Vec::new())
    }
}

impl FieldSet {
    /// Returns whether all fields are read.
    #[must_use]
    pub fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Adds everything at the end of `path`.
    pub fn add(&mut self, path: &[impl AsRef<str>]) {
        self.change_at(path, &mut |end| *end = Self::All);
    }

    /// Runs `change` on what is read at the end of `path`, and adds the keys that are not there.
    pub fn change_at(&mut self, path: &[impl AsRef<str>], change: &mut dyn FnMut(&mut Self)) {
        match path.split_first() {
            None => change(self),
            Some((key, rest)) => self.change_below(key.as_ref(), |below| below.change_at(rest, change)),
        }
    }

    /// Runs `change` on what is read below `key`, and adds `key` if it is not there.
    pub fn change_below(&mut self, key: &str, change: impl FnOnce(&mut Self)) {
        let Self::Named(fields) = self else { return };
        match fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, below)) => change(below),
            None => {
                let mut below = Self::default();
                change(&mut below);
                fields.push((key.into(), below));
            }
        }
    }

    /// Returns what is read below `key`; nothing where it is not read.
    #[must_use]
    #[inline]
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::All => Some(self),
            Self::Named(fields) => fields.iter().find(|(name, _)| name == key).map(|(_, below)| below),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_added_below_all_fields_is_there_already() {
        let mut fields = FieldSet::default();
        fields.add(&["spec", "containers", "image"]);
        fields.add(&["spec", "hostPID"]);
        fields.add(&["metadata"]);
        fields.add(&["metadata", "labels"]);
        let named = |name: &str, below| (Text::new(name), below);
        let container = FieldSet::Named(vec![named("image", FieldSet::All)]);
        let spec = FieldSet::Named(vec![named("containers", container), named("hostPID", FieldSet::All)]);
        assert_eq!(fields, FieldSet::Named(vec![named("spec", spec), named("metadata", FieldSet::All)]));
        assert_eq!(fields.get("metadata").and_then(|metadata| metadata.get("name")), Some(&FieldSet::All));
        assert_eq!(fields.get("status"), None);
        fields.add(&[] as &[&str]);
        assert!(fields.is_all());
    }
}
