//! Options of an edge besides its type.

use kubewright_graph::{Edge, Graph, Id, Strength};
use kubewright_value::Text;

use super::criteria::Criteria;
use super::pattern::EdgeDirection;

/// The options of a typed relationship.
#[derive(Debug, Clone, Default)]
pub(crate) struct EdgeOptions {
    pub(crate) direction: EdgeDirection,
    /// Which strengths count; all where empty.
    pub(crate) strengths: Vec<Strength>,
    /// Which fields count; all where empty.
    pub(crate) via: Vec<FieldGlob>,
    /// Whether volumes of one name do not count as the same.
    pub(crate) ignores_names: bool,
    /// Whether also what is owned through others counts.
    pub(crate) is_transitive: bool,
    /// Comparisons that must hold between the two objects as well.
    pub(crate) criteria: Option<Box<Criteria>>,
}

/// A text with `*` for any number of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldGlob(Vec<Text>);

impl EdgeOptions {
    /// Returns whether any edge of the type will do, whichever way it leads.
    pub(crate) fn is_plain(&self) -> bool {
        !self.tests_edges() && !self.is_transitive && self.criteria.is_none()
    }

    /// Returns whether not every edge of the type counts.
    pub(crate) fn tests_edges(&self) -> bool {
        !self.strengths.is_empty() || !self.via.is_empty() || self.ignores_names
    }

    /// Returns whether `edge` counts.
    pub(crate) fn counts(&self, edge: &Edge<'_>, graph: &Graph) -> bool {
        (self.strengths.is_empty() || self.strengths.contains(&edge.strength))
            && (self.via.is_empty() || self.via.iter().any(|glob| glob.fits(edge.via)))
            && !(self.ignores_names && (is_volume_name(edge.to, graph) || is_volume_name(edge.from, graph)))
    }

    /// Returns whether it asks the same as `other`, as far as that shows; criteria never do.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.direction == other.direction
            && self.strengths == other.strengths
            && self.via == other.via
            && self.ignores_names == other.ignores_names
            && self.is_transitive == other.is_transitive
            && self.criteria.is_none()
            && other.criteria.is_none()
    }
}

/// Returns whether a node is the identity of all volumes of one name.
fn is_volume_name(id: Id, graph: &Graph) -> bool {
    graph
        .node(id)
        .is_some_and(|node| node.kind == "Volume" && node.object.is_none() && node.name.starts_with("name:"))
}

impl FieldGlob {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.split('*').map(Text::from).collect())
    }

    /// Returns whether `text` is of this form.
    pub(crate) fn fits(&self, text: &str) -> bool {
        let [first, middle @ .., last] = self.0.as_slice() else {
            return self.0.first().is_some_and(|whole| text == *whole);
        };
        let Some(rest) = text.strip_prefix(first.as_str()) else { return false };
        let Some(mut rest) = rest.strip_suffix(last.as_str()) else { return false };
        // The first place for each part leaves the most room for the others.
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else { return false };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(glob: &str, text: &str, want: bool) {
        assert_eq!(FieldGlob::new(glob).fits(text), want, "{glob} {text}");
    }

    #[test]
    fn a_star_is_any_number_of_characters_and_everything_else_is_itself() {
        check("a.b", "a.b", true);
        check("a.b", "axb", false);
        check("*.env[*].valueFrom.*", "spec.containers[0].env[1].valueFrom.secretKeyRef", true);
        check("*.env[*].valueFrom.*", "spec.containers[0].envFrom[0].secretRef", false);
        check("*", "", true);
        check("a*a", "a", false);
        check("a*a", "aa", true);
        check("*b*b*", "ab", false);
        check("*b*b*", "abab", true);
        check("**", "x", true);
        check("", "x", false);
        check("spec.volumes[*]", "spec.volumes[3]", true);
        check("spec.volumes[*]", "spec.volumes[3].secret", false);
    }
}
