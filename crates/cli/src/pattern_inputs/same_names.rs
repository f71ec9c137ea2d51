//! Objects of one version, kind and name, of which a graph keeps the greatest.
//!
//! That can only be said of whole objects. So where trimmed ones have the same name, the input is read again for these.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::io;

use kubewright_files::{self as files, Input, ObjectFilter};
use kubewright_graph::NamedObject;
use kubewright_k8s::{GroupVersionKind, is_cluster_scoped};
use kubewright_report::FilePosition;
use kubewright_value::Value;

/// The names of objects, by hashes.
#[derive(Debug, Default)]
pub(super) struct SameNames {
    random: RandomState,
}

impl SameNames {
    /// Returns the hash of what names an object.
    pub(super) fn hash(&self, object: &Value) -> u64 {
        self.random.hash_one(object_key(object))
    }

    /// Leaves only the greatest of those of `objects` that have one name, of equal ones the first by its place. `hashes` are
    /// those of all objects in turn, as they were read from `inputs`, from which these are read again.
    pub(super) fn leave_out_others(
        &self,
        hashes: Vec<u64>,
        objects: &mut Vec<(NamedObject, FilePosition)>,
        inputs: &[Input],
    ) -> io::Result<()> {
        let repeated = repeated_hashes(hashes);
        if repeated.is_empty() {
            return Ok(());
        }
        let mut whole: Vec<(usize, Value, FilePosition)> = Vec::new();
        let mut number = 0;
        files::stream_objects(
            inputs,
            ObjectFilter::Objects,
            |document| {
                let is_wanted = repeated.contains(&self.hash(&document.value));
                is_wanted.then(|| (document.value.clone(), FilePosition::of(document)))
            },
            |object, _| {
                whole.extend(object.map(|(object, place)| (number, object, place)));
                number += 1;
                Ok(())
            },
        )?;
        let others = lesser_objects(&whole);
        let mut number = 0..;
        objects.retain(|_| number.next().is_none_or(|number| !others.contains(&number)));
        Ok(())
    }
}

/// Returns those of `hashes` that are there more than once.
fn repeated_hashes(mut hashes: Vec<u64>) -> HashSet<u64> {
    hashes.sort_unstable();
    let pairs = hashes.windows(2).filter_map(|pair| match pair {
        [one, other] if one == other => Some(*one),
        _ => None,
    });
    pairs.collect()
}

/// Returns which of `objects`, each with its number, are not the greatest of their name.
fn lesser_objects(objects: &[(usize, Value, FilePosition)]) -> HashSet<usize> {
    let mut greatest: HashMap<[&str; 4], &(usize, Value, FilePosition)> = HashMap::new();
    for object in objects {
        let known = greatest.entry(object_key(&object.1)).or_insert(object);
        let order = object.1.cmp(&known.1).then_with(|| known.2.cmp(&object.2));
        if order.is_gt() {
            *known = object;
        }
    }
    let kept: HashSet<usize> = greatest.values().map(|(number, ..)| *number).collect();
    objects.iter().map(|(number, ..)| *number).filter(|number| !kept.contains(number)).collect()
}

/// Returns version, kind, namespace and name, as the graph reads them.
fn object_key(object: &Value) -> [&str; 4] {
    let text = |path: &[&str]| object.str_at(path);
    let metadata = |field: &str| object.str_at(&["metadata", field]);
    let namespace = match is_cluster_scoped(&GroupVersionKind::of(object)) {
        true => "",
        false => metadata("namespace"),
    };
    let name = Some(metadata("name")).filter(|name| !name.is_empty());
    [text(&["apiVersion"]), text(&["kind"]), namespace, name.unwrap_or_else(|| metadata("generateName"))]
}

#[cfg(test)]
mod tests {
    use kubewright_value::{Source, yaml};

    use super::*;

    /// Returns the numbers of the objects in `text` that are left out.
    fn left_out(text: &str) -> Vec<usize> {
        let documents = yaml::read(&Source::new("objects.yaml", text)).documents;
        let objects: Vec<_> = (0..)
            .zip(&documents)
            .map(|(number, document)| (number, document.value.clone(), FilePosition::of(document)))
            .collect();
        let mut numbers: Vec<usize> = lesser_objects(&objects).into_iter().collect();
        numbers.sort_unstable();
        numbers
    }

    fn pod(name: &str, namespace: &str, image: &str) -> String {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec: {{image: {image}}}\n"
        )
    }

    #[test]
    fn the_greatest_of_one_name_is_kept_and_of_equal_ones_the_first() {
        assert_eq!(left_out(&[pod("a", "x", "one"), pod("a", "x", "two")].concat()), [0]);
        assert_eq!(left_out(&[pod("a", "x", "two"), pod("a", "x", "one")].concat()), [1]);
        assert_eq!(left_out(&[pod("a", "x", "one"), pod("a", "x", "one")].concat()), [1]);
        assert!(left_out(&[pod("a", "x", "one"), pod("a", "y", "two")].concat()).is_empty());
    }

    #[test]
    fn objects_without_a_namespace_are_the_same_in_any() {
        let node = |namespace: &str| {
            format!("---\napiVersion: v1\nkind: Node\nmetadata: {{name: a, namespace: {namespace}}}\n")
        };
        assert_eq!(left_out(&[node("one"), node("two")].concat()), [0]);
    }
}
