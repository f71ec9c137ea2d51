//! Finds manifests: files, folders, charts, kustomizations, standard input and the objects of a cluster.

use kubewright_files::{self as files, FoundFiles};

use crate::arguments::InputArguments;
use crate::failure::CommandFailure;

/// What the objects of a cluster are called among paths; a namespace may follow.
pub(crate) const CLUSTER_PREFIX: &str = "cluster:";

/// Finds the manifests that `paths` name. `cluster:` without a namespace reads `namespace`, or all of them.
///
/// # Errors
/// When there is no cluster to read.
pub(crate) fn find_inputs(
    paths: &[String],
    arguments: &InputArguments,
    namespace: Option<&str>,
) -> Result<FoundFiles, CommandFailure> {
    let (live, written): (Vec<String>, Vec<String>) =
        paths.iter().cloned().partition(|path| path.starts_with(CLUSTER_PREFIX));
    let mut found = files::find_rendered(&written, &arguments.render_options());
    for path in &live {
        let wanted = path.strip_prefix(CLUSTER_PREFIX).filter(|name| !name.is_empty()).or(namespace);
        let (input, problems) = read_cluster(arguments, wanted)?;
        found.inputs.push(input);
        found.problems.extend(problems);
    }
    Ok(found)
}

#[cfg(feature = "serve")]
use crate::live_objects::read_cluster;

#[cfg(not(feature = "serve"))]
fn read_cluster(
    _arguments: &InputArguments,
    _namespace: Option<&str>,
) -> Result<(files::Input, Vec<kubewright_engine::Diagnostic>), CommandFailure> {
    Err(CommandFailure::usage("this build of kubewright cannot talk to a cluster"))
}
