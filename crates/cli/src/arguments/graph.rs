//! Arguments of `graph`.

use clap::{Args, ValueEnum};
use kubewright_draw::FollowDirection;

use super::listed::{edge_names, kind_names, listed, listed_texts, pattern_names};
use super::{InputArguments, ProjectArguments};
use crate::commands::Drawing;
use crate::output::{ChosenFormat, NamedFormat as _};

/// Draws objects and the edges between them.
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
pub(crate) struct GraphArguments {
    /// Objects: a file, folder, glob, chart, kustomization or `cluster:`; a List is replaced by its items; `-` is standard
    /// input; may be repeated [default: those of the project]
    #[arg(short, long, alias = "resource", value_name = "RESOURCES")]
    pub(crate) resources: Vec<String>,

    /// svg, html, dot, mermaid, tree or json, to FILE if given; may be repeated [default: svg, on a terminal tree]
    #[arg(short, long = "output", value_name = "FORMAT[=FILE]", value_parser = listed(drawing_names, parse_drawing), hide_possible_values = true)]
    pub(crate) outputs: Vec<ChosenFormat<Drawing>>,

    #[command(flatten)]
    pub(crate) project: ProjectArguments,

    /// Run again whenever a file changes, until Ctrl-C
    #[arg(long)]
    pub(crate) watch: bool,

    /// Only objects near this one
    #[arg(long, value_name = "KIND/[NAMESPACE/]NAME")]
    pub(crate) focus: Option<String>,

    /// The maximum number of edges from the focus
    #[arg(long, default_value_t = 2, value_name = "N", requires = "focus")]
    pub(crate) depth: usize,

    /// The direction of edges that are followed from the focus: those that refer to it (in), those it refers to (out), or both
    #[arg(long, value_enum, default_value = "both", value_name = "WAY", hide_possible_values = true)]
    pub(crate) direction: Direction,

    /// Only edges of this type, such as EXPOSES, and the objects they connect; may be repeated
    #[arg(long = "edge", value_name = "TYPE", num_args = 1.., value_parser = listed_texts(edge_names), hide_possible_values = true)]
    pub(crate) edges: Vec<String>,

    /// Only objects in this namespace, with their neighbours faded; with patterns, only leaders in it. May be repeated
    #[arg(short, long = "namespace", value_name = "NAMESPACE", num_args = 1..)]
    pub(crate) namespaces: Vec<String>,

    /// Only objects of this kind; may be repeated
    #[arg(long = "kind", value_name = "KIND", num_args = 1.., value_parser = listed_texts(kind_names), hide_possible_values = true)]
    pub(crate) kinds: Vec<String>,

    /// Also draw edges that say little
    #[arg(long)]
    pub(crate) all_edges: bool,

    /// Draw each replica of a controller as a separate box
    #[arg(long)]
    pub(crate) each: bool,

    /// Above this many boxes, draw one for each application, as the label `app.kubernetes.io/name` and owners say
    #[arg(long, default_value_t = 150, value_name = "N")]
    pub(crate) apps_above: usize,

    /// The maximum number of boxes; above it, more and more objects share one
    #[arg(long, default_value_t = 1_500, value_name = "N")]
    pub(crate) max_boxes: usize,

    /// The heading
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,

    /// References of custom kinds: a file, folder or glob; may be repeated
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) references: Vec<String>,

    #[command(flatten)]
    pub(crate) inputs: InputArguments,

    /// Draw the findings of this pattern, given by name or file. With --focus, why that object did or did not match
    #[arg(long, value_name = "PATTERN", value_parser = listed_texts(pattern_names), hide_possible_values = true, conflicts_with_all = ["findings", "edges", "kinds"], help_heading = "Patterns")]
    pub(crate) pattern: Option<String>,

    /// The patterns: files, folders or globs [default: the built-in ones]
    #[arg(long, value_name = "PATH", num_args = 1.., help_heading = "Patterns")]
    pub(crate) patterns: Vec<String>,

    /// Only the finding with this number, from 1; may be repeated
    #[arg(long = "finding", value_name = "N", requires = "pattern", help_heading = "Patterns")]
    pub(crate) chosen: Vec<usize>,

    /// If the pattern finds nothing, draw the nearest miss
    #[arg(long, requires = "pattern", help_heading = "Patterns")]
    pub(crate) near: bool,

    /// Draw all objects, with the findings of all patterns as badges
    #[arg(long, help_heading = "Patterns")]
    pub(crate) findings: bool,
}

/// The direction in which edges are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Direction {
    /// To the objects that refer to it.
    In,
    /// To the objects that it refers to.
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

fn drawing_names() -> Vec<&'static str> {
    Drawing::all().iter().map(Drawing::name).collect()
}

fn parse_drawing(text: &str) -> Result<ChosenFormat<Drawing>, String> {
    text.parse()
}
