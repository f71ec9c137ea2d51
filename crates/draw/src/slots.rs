//! A list that is read and written by position without a branch at every place.
//!
//! The layout works on positions it made itself. One outside the list would be a mistake
//! here; it reads as the default, so that a mistake spoils a picture and not a program.

#[derive(Debug, Clone, Default)]
pub(super) struct IndexedList<T>(pub(super) Vec<T>);

impl<T: Clone + Default> IndexedList<T> {
    pub(super) fn new(length: usize) -> Self {
        Self(vec![T::default(); length])
    }
}

impl<T> IndexedList<T> {
    pub(super) fn set(&mut self, place: usize, value: T) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = value;
        }
    }

    pub(super) fn change(&mut self, place: usize, change: impl FnOnce(&mut T)) {
        if let Some(slot) = self.0.get_mut(place) {
            change(slot);
        }
    }
}

impl<T: Copy + Default> IndexedList<T> {
    pub(super) fn at(&self, place: usize) -> T {
        self.0.get(place).copied().unwrap_or_default()
    }
}

impl<T> IndexedList<Vec<T>> {
    pub(super) fn of(&self, place: usize) -> &[T] {
        self.0.get(place).map_or(&[], Vec::as_slice)
    }
}
