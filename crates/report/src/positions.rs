//! Where the objects of a graph were read: a few bytes for each, because there may be a million.

use std::collections::HashMap;

use kubewright_graph::Id;
use kubewright_value::{Position, Text};

use crate::FilePosition;

/// The positions of objects, by their nodes.
#[derive(Debug, Clone, Default)]
pub struct ObjectPositions {
    files: Vec<Text>,
    /// By [`Id::index`]: the place of the file in `files`, if it was read, and the position there.
    places: Vec<(u32, Position)>,
    count: usize,
}

/// The file of an object that was not read.
const NO_FILE: u32 = u32::MAX;

impl ObjectPositions {
    /// Returns how many objects have a position.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns whether no object has a position.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns where the object of `id` was read.
    #[must_use]
    pub fn get(&self, id: Id) -> Option<FilePosition> {
        let (file, position) = self.places.get(id.index())?;
        let file = self.files.get(usize::try_from(*file).ok()?)?.clone();
        Some(FilePosition { file, position: *position })
    }
}

impl<'p> FromIterator<(Id, &'p FilePosition)> for ObjectPositions {
    fn from_iter<I: IntoIterator<Item = (Id, &'p FilePosition)>>(positions: I) -> Self {
        let mut all = Self::default();
        let mut files: HashMap<Text, u32> = HashMap::new();
        for (id, place) in positions {
            let next = u32::try_from(files.len()).unwrap_or(NO_FILE);
            let file = *files.entry(place.file.clone()).or_insert_with(|| {
                all.files.push(place.file.clone());
                next
            });
            if all.places.len() <= id.index() {
                all.places.resize(id.index() + 1, (NO_FILE, Position::START));
            }
            if let Some(known) = all.places.get_mut(id.index()) {
                *known = (file, place.position);
                all.count += 1;
            }
        }
        all
    }
}
