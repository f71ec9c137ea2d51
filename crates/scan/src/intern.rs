//! Equal values, stored once and counted.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

/// Values by number; equal values have one number. A value is dropped when nothing refers to it any more.
#[derive(Debug)]
pub(crate) struct InternTable<T> {
    slots: Vec<Option<InternSlot<T>>>,
    numbers: HashMap<Arc<T>, u32>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct InternSlot<T> {
    value: Arc<T>,
    references: u32,
}

impl<T> Default for InternTable<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), numbers: HashMap::new(), free: Vec::new() }
    }
}

impl<T: Eq + Hash> InternTable<T> {
    /// Returns the number of `value`, which has one reference more now, and whether the value is new.
    pub(crate) fn acquire(&mut self, value: T) -> (u32, bool) {
        if let Some(number) = self.numbers.get(&value).copied() {
            if let Some(Some(slot)) = self.slots.get_mut(number as usize) {
                slot.references += 1;
            }
            return (number, false);
        }
        let value = Arc::new(value);
        let slot = Some(InternSlot { value: Arc::clone(&value), references: 1 });
        let number = match self.free.pop() {
            Some(number) => {
                if let Some(place) = self.slots.get_mut(number as usize) {
                    *place = slot;
                }
                number
            }
            None => {
                self.slots.push(slot);
                // There are fewer values than objects in a cluster.
                u32::try_from(self.slots.len() - 1).unwrap_or(u32::MAX)
            }
        };
        self.numbers.insert(value, number);
        (number, true)
    }

    /// Takes one reference from the value called `number`, and returns the value if that was the last one.
    pub(crate) fn release(&mut self, number: u32) -> Option<Arc<T>> {
        let place = self.slots.get_mut(number as usize)?;
        let slot = place.as_mut()?;
        slot.references -= 1;
        if slot.references > 0 {
            return None;
        }
        let value = place.take()?.value;
        self.numbers.remove(&value);
        self.free.push(number);
        Some(value)
    }

    /// Returns the value called `number`.
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        Some(&self.slots.get(number as usize)?.as_ref()?.value)
    }

    /// Returns the number of `value`, if it is stored.
    pub(crate) fn number_of(&self, value: &T) -> Option<u32> {
        self.numbers.get(value).copied()
    }

    /// Returns all values with their numbers and how many references each has.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T, u32)> {
        self.slots.iter().zip(0_u32..).filter_map(|(slot, number)| {
            let slot = slot.as_ref()?;
            Some((number, slot.value.as_ref(), slot.references))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_number_until_the_last_reference_is_gone() {
        let mut table = InternTable::default();
        let (one, is_new) = table.acquire("one");
        assert!(is_new);
        assert_eq!(table.acquire("one"), (one, false));
        assert!(table.release(one).is_none());
        assert_eq!(table.release(one).as_deref(), Some(&"one"));
        assert_eq!(table.get(one), None);
        // The number is used again.
        assert_eq!(table.acquire("two"), (one, true));
        assert_eq!(table.iter().count(), 1);
    }
}
