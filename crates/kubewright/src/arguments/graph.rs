//! What can be said to `graph`.

use clap::{Args, ValueEnum};
use kubewright_draw::FollowDirection;

use crate::commands::Drawing;
use crate::output::Chosen;

/// Draws objects and what links them.
#[derive(Debug, Args)]
#[command(after_help = "\
The copies of one controller are drawn as one box with their number, what is named and not there with a dashed rim.
What says little (images, cluster nodes, Namespaces, ReplicaSets without replicas, …) is left out, and the picture
says so; --all-edges draws it.

Examples:
  kubewright graph -r manifests/ > graph.svg
  kubectl get all,ingress,cm,secret,pvc -A -o yaml | kubewright graph -r - -o html=cluster.html
  kubewright graph -r dump/ --focus Service/shop/web --depth 3 -o svg=web.svg
  kubewright graph -r dump/ --pattern orphan-service -o svg=orphans.svg
  kubewright graph -r dump/ --pattern orphan-service --focus Service/shop/web    why did it not match?
  kubewright graph -r dump/ --findings -o html=findings.html

Exit codes: 0 drawn, or nothing found to draw; 2 bad input")]
pub(crate) struct Graph {
    /// Objects: files, folders or patterns; a List stands for its items; `-` is standard input
    #[arg(short, long, alias = "resource", required = true, num_args = 1.., value_name = "RESOURCES")]
    pub(crate) resources: Vec<String>,

    /// svg, html, dot, mermaid or json, into FILE when one is named; may be repeated [default: svg]
    #[arg(short, long = "output", value_name = "FORMAT[=FILE]")]
    pub(crate) outputs: Vec<Chosen<Drawing>>,

    /// Only what is near this object
    #[arg(long, value_name = "KIND/[NAMESPACE/]NAME")]
    pub(crate) focus: Option<String>,

    /// How many lines away from the focus
    #[arg(long, default_value_t = 2, value_name = "N", requires = "focus")]
    pub(crate) depth: usize,

    /// Which way lines are followed from the focus: to who refers to it (in), to what it refers to (out), or both
    #[arg(long, value_enum, default_value = "both", value_name = "WAY", hide_possible_values = true)]
    pub(crate) direction: Direction,

    /// Only relationships of this type, such as EXPOSES, and what they join; may be repeated
    #[arg(long = "edge", value_name = "TYPE", num_args = 1..)]
    pub(crate) edges: Vec<String>,

    /// Only objects in this namespace, and faded what they are linked to; with patterns, only leaders in it. May be repeated
    #[arg(short, long = "namespace", value_name = "NAMESPACE", num_args = 1..)]
    pub(crate) namespaces: Vec<String>,

    /// Only objects of this kind; may be repeated
    #[arg(long = "kind", value_name = "KIND", num_args = 1..)]
    pub(crate) kinds: Vec<String>,

    /// Leave out nothing for saying little
    #[arg(long)]
    pub(crate) all_edges: bool,

    /// Draw every copy of a controller as a box of its own
    #[arg(long)]
    pub(crate) each: bool,

    /// Boxes at most; above that more and more objects share one
    #[arg(long, default_value_t = 1_500, value_name = "N")]
    pub(crate) max_boxes: usize,

    /// The heading
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// What refers to what by fields of kinds of your own: a file, folder or pattern; may be repeated
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) references: Vec<String>,

    /// Draw what this pattern finds: its name, or a file. With --focus, why that object did or did not match
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["findings", "edges", "kinds"], help_heading = "Patterns")]
    pub(crate) pattern: Option<String>,

    /// Where patterns are: files, folders or patterns of names [default: those that ship]
    #[arg(long, value_name = "PATH", num_args = 1.., help_heading = "Patterns")]
    pub(crate) patterns: Vec<String>,

    /// Only the finding with this number, from 1; may be repeated
    #[arg(long = "finding", value_name = "N", requires = "pattern", help_heading = "Patterns")]
    pub(crate) chosen: Vec<usize>,

    /// Where the pattern finds nothing, draw what came nearest
    #[arg(long, requires = "pattern", help_heading = "Patterns")]
    pub(crate) near: bool,

    /// Draw all objects, with what all patterns find as badges
    #[arg(long, help_heading = "Patterns")]
    pub(crate) findings: bool,
}

/// Which way lines are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    /// To who refers to it.
    In,
    /// To what it refers to.
    Out,
    /// Either.
    Both,
}

impl From<Direction> for FollowDirection {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::In => Self::In,
            Direction::Out => Self::Out,
            Direction::Both => Self::Both,
        }
    }
}
