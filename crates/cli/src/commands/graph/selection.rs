//! Which part of a graph is drawn, and how: from the command line, or from a request of the page.

use kubewright_draw::{DrawOptions, FollowDirection};

use kubewright_patterns::Pattern;
use kubewright_report::suppression::matches_name;

use super::is_file;
use crate::arguments::GraphArguments;

/// Which part of a graph is drawn, and how.
#[derive(Debug, Clone)]
pub(crate) struct GraphSelection {
    /// Only objects near this one, `KIND/[NAMESPACE/]NAME`.
    pub(crate) focus: Option<String>,
    /// The maximum number of edges from the focus.
    pub(crate) depth: usize,
    /// The direction of edges that are followed from the focus.
    pub(crate) direction: FollowDirection,
    /// Only objects in these namespaces; all if empty.
    pub(crate) namespaces: Vec<String>,
    /// Only objects of these kinds; all if empty.
    pub(crate) kinds: Vec<String>,
    /// Only edges of these types; all if empty.
    pub(crate) edges: Vec<String>,
    /// Whether edges that say little are drawn, too.
    pub(crate) all_edges: bool,
    /// Whether each replica of a controller is a box.
    pub(crate) each: bool,
    /// Above this many boxes, each application is one.
    pub(crate) apps_above: usize,
    /// The applications that are drawn in full nevertheless.
    pub(crate) open: Vec<String>,
    /// The maximum number of boxes.
    pub(crate) max_boxes: usize,
    /// The pattern whose findings are drawn.
    pub(crate) pattern: Option<String>,
    /// The numbers of its findings that are drawn, from 1; the first ones if empty.
    pub(crate) chosen: Vec<usize>,
    /// Whether the nearest miss is drawn where nothing is found.
    pub(crate) near: bool,
    /// Where the objects come from, for diagnostics.
    pub(crate) sources: String,
}

impl GraphSelection {
    /// Returns whether findings of `pattern` are drawn: those of a file are, and the one that is named.
    pub(super) fn is_about(&self, pattern: &Pattern) -> bool {
        self.pattern.as_ref().is_none_or(|name| is_file(name) || matches_name(name, &pattern.name))
    }

    /// Returns how the picture is drawn.
    pub(crate) fn draw_options(&self) -> DrawOptions {
        let is_whole = self.pattern.is_none() && self.kinds.is_empty() && self.edges.is_empty();
        DrawOptions {
            glyphs: self.max_boxes,
            merges: !self.each,
            folds: is_whole && !self.all_edges,
            applications_above: if is_whole { self.apps_above } else { usize::MAX },
            ..DrawOptions::default()
        }
    }
}

impl From<&GraphArguments> for GraphSelection {
    fn from(arguments: &GraphArguments) -> Self {
        Self {
            focus: arguments.focus.clone(),
            depth: arguments.depth,
            direction: arguments.direction.into(),
            namespaces: arguments.namespaces.clone(),
            kinds: arguments.kinds.clone(),
            edges: arguments.edges.clone(),
            all_edges: arguments.all_edges,
            each: arguments.each,
            apps_above: arguments.apps_above,
            open: Vec::new(),
            max_boxes: arguments.max_boxes,
            pattern: arguments.pattern.clone(),
            chosen: arguments.chosen.clone(),
            near: arguments.near,
            sources: arguments.resources.join(" "),
        }
    }
}
