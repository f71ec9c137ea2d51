//! What is kept of each object: about 200 bytes, and not the object.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use kubewright_report::cluster_report::ReportScope;
use kubewright_value::Text;

use super::{Scanner, SinceTimes};
use crate::{KindKey, ObjectKey};

/// The objects of one kind.
#[derive(Debug, Default)]
pub(super) struct TrackedKind {
    objects: BTreeMap<NameKey, TrackedObject>,
    /// The `apiVersion`s in which objects were seen.
    versions: Vec<Text>,
}

/// An object of a known kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NameKey {
    pub(super) namespace: Text,
    pub(super) name: Text,
}

/// What is kept of an object.
#[derive(Debug)]
pub(super) struct TrackedObject {
    pub(super) uid: ObjectUid,
    pub(super) fingerprint: u64,
    /// The number of its outcomes.
    pub(super) outcomes: u32,
    /// The number of what was looked up for them.
    pub(super) inputs: u32,
    /// Since when its rows are so.
    pub(super) since: SinceTimes,
    /// When it must be judged again because of the time, in seconds since 1970; 0 for never.
    pub(super) due: u32,
    /// The list in which it was seen last.
    pub(super) seen: u32,
    /// The number of its `apiVersion`.
    pub(super) version: u16,
    /// Whether its rules have changed since it was judged.
    pub(super) is_stale: bool,
}

/// A uid, in 16 bytes if it has the usual form.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ObjectUid {
    Usual([u8; 16]),
    Other(Box<str>),
}

/// The positions of the hyphens in a uid of the usual form.
const HYPHENS: [usize; 4] = [8, 13, 18, 23];

impl ObjectUid {
    pub(super) fn new(text: &str) -> Self {
        usual_uid(text).map_or_else(|| Self::Other(text.into()), Self::Usual)
    }

    pub(super) fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Other(text) => Cow::Borrowed(text),
            Self::Usual(bytes) => {
                let mut text = String::with_capacity(36);
                for byte in bytes {
                    if HYPHENS.contains(&text.len()) {
                        text.push('-');
                    }
                    // Writing to a string cannot fail.
                    let _ = write!(text, "{byte:02x}");
                }
                Cow::Owned(text)
            }
        }
    }
}

/// Returns the number that a uid of the usual form is: 32 digits in lower case, with hyphens in the usual places.
fn usual_uid(text: &str) -> Option<[u8; 16]> {
    let (mut bytes, mut digits) = ([0_u8; 16], 0);
    for (place, letter) in text.bytes().enumerate() {
        let digit = match letter {
            b'-' if HYPHENS.contains(&place) => continue,
            _ if HYPHENS.contains(&place) => return None,
            b'0'..=b'9' => letter - b'0',
            b'a'..=b'f' => letter - b'a' + 10,
            _ => return None,
        };
        let byte = bytes.get_mut(digits / 2)?;
        *byte = *byte << 4 | digit;
        digits += 1;
    }
    (digits == 32).then_some(bytes)
}

impl NameKey {
    pub(super) fn of(key: &ObjectKey) -> Self {
        Self { namespace: key.namespace.clone(), name: key.name.clone() }
    }

    pub(super) fn object_key(&self, kind: &KindKey) -> ObjectKey {
        ObjectKey {
            group: kind.group.clone(),
            kind: kind.kind.clone(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
    }
}

impl TrackedKind {
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&NameKey, &TrackedObject)> {
        self.objects.iter()
    }

    /// Returns the namespaces of the objects, without looking at every object.
    pub(super) fn namespaces(&self) -> impl Iterator<Item = &Text> {
        let first = self.objects.keys().next().map(|key| &key.namespace);
        std::iter::successors(first, |namespace| {
            // The least text after all that begin with the name and have nothing more.
            let next = NameKey { namespace: format!("{namespace}\0").into(), name: Text::default() };
            self.objects.range(next..).next().map(|(key, _)| &key.namespace)
        })
    }

    /// Returns the objects in `namespace`.
    pub(super) fn within(&self, namespace: &Text) -> impl Iterator<Item = (&NameKey, &TrackedObject)> {
        let first = NameKey { namespace: namespace.clone(), name: Text::default() };
        self.objects.range(first..).take_while(move |(key, _)| key.namespace == *namespace)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&NameKey, &mut TrackedObject)> {
        self.objects.iter_mut()
    }

    /// Returns the object of a report about `object`.
    pub(super) fn scope(&self, kind: &KindKey, key: &NameKey, object: &TrackedObject) -> ReportScope {
        ReportScope {
            api_version: self.versions.get(usize::from(object.version)).cloned().unwrap_or_default(),
            kind: kind.kind.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
            uid: object.uid.text().into(),
        }
    }
}

impl Scanner {
    /// Returns what is kept of an object.
    pub(super) fn tracked(&self, key: &ObjectKey) -> Option<&TrackedObject> {
        self.kinds.get(&KindKey::of(key))?.objects.get(&NameKey::of(key))
    }

    pub(super) fn tracked_mut(&mut self, key: &ObjectKey) -> Option<&mut TrackedObject> {
        self.kinds.get_mut(&KindKey::of(key))?.objects.get_mut(&NameKey::of(key))
    }

    /// Takes out what is kept of an object, with the object of its report.
    pub(super) fn take_tracked(&mut self, key: &ObjectKey) -> Option<(TrackedObject, ReportScope)> {
        let kind = KindKey::of(key);
        let objects = self.kinds.get_mut(&kind)?;
        let name = NameKey::of(key);
        let object = objects.objects.remove(&name)?;
        let scope = objects.scope(&kind, &name, &object);
        Some((object, scope))
    }

    pub(super) fn put_tracked(&mut self, key: &ObjectKey, object: TrackedObject) {
        let name = NameKey { namespace: self.shared_namespace(&key.namespace), name: key.name.clone() };
        self.kinds.entry(KindKey::of(key)).or_default().objects.insert(name, object);
    }

    /// Returns `namespace` as the text that all objects in it share.
    fn shared_namespace(&mut self, namespace: &Text) -> Text {
        if !namespace.is_heap_allocated() {
            return namespace.clone();
        }
        if !self.namespaces.contains(namespace) {
            self.namespaces.insert(namespace.clone());
        }
        self.namespaces.get(namespace).unwrap_or(namespace).clone()
    }

    /// Returns the number of an `apiVersion` of the kind of `key`.
    pub(super) fn version_number(&mut self, key: &ObjectKey, api_version: &Text) -> u16 {
        let versions = &mut self.kinds.entry(KindKey::of(key)).or_default().versions;
        let place = versions.iter().position(|known| known == api_version).unwrap_or_else(|| {
            versions.push(api_version.clone());
            versions.len() - 1
        });
        u16::try_from(place).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uid_is_written_as_it_was() {
        for uid in ["0b1ff0a2-6a6b-4a0e-9f0e-0123456789ab", "", "abc", "0B1FF0A2-6A6B-4A0E-9F0E-0123456789AB"]
        {
            assert_eq!(ObjectUid::new(uid).text(), uid);
        }
    }
}
