//! The fuzz targets. Adding a target takes one file in `targets/`, its `mod` and its line here.

mod admission;
mod api_path;
mod cel_eval;
mod cel_parse;
mod cel_policy;
mod certificates;
mod goregex;
mod gotemplate;
mod graph;
mod interpolate;
mod jmespath;
mod json;
mod jsonpath;
mod kyverno;
mod list_splitter;
mod manifests;
mod modrule;
mod page_body;
mod patch;
mod pathpatch;
mod pattern_compile;
mod pattern_detect;
mod review;
mod shorthand;
mod signatures;
mod strategic;
mod structured;
mod traits;
mod yaml;
mod yaml_write;

/// A fuzz target.
pub(crate) struct FuzzTarget {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Panics when something is wrong; returns in all other cases, also for invalid inputs.
    pub(crate) run: fn(&[u8]),
    /// The inputs that mutation starts from.
    pub(crate) seeds: &'static [&'static str],
    /// Words of the language, inserted now and then.
    pub(crate) words: &'static [&'static str],
}

/// All targets.
pub(crate) const TARGETS: &[FuzzTarget] = &[
    json::TARGET,
    list_splitter::TARGET,
    yaml::TARGET,
    yaml_write::TARGET,
    jsonpath::TARGET,
    jmespath::TARGET,
    cel_parse::TARGET,
    cel_eval::TARGET,
    cel_policy::TARGET,
    gotemplate::TARGET,
    interpolate::TARGET,
    certificates::TARGET,
    goregex::TARGET,
    patch::TARGET,
    pathpatch::TARGET,
    strategic::TARGET,
    modrule::TARGET,
    kyverno::TARGET,
    admission::TARGET,
    manifests::TARGET,
    signatures::TARGET,
    shorthand::TARGET,
    structured::TARGET,
    traits::TARGET,
    pattern_compile::TARGET,
    pattern_detect::TARGET,
    graph::TARGET,
    api_path::TARGET,
    page_body::TARGET,
    review::TARGET,
];
