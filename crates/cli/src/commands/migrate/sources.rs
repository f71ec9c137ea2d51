//! The policies that are migrated: those of files, or those of the cluster with the exceptions from them.

use kubewright_dialects::DialectOptions;
use kubewright_engine::{Diagnostic, WatchedResource};
use kubewright_files as files;
use kubewright_value::{Document, Value};

use super::super::scan::{ScanCluster, ScanDocuments};
use crate::arguments::{MigrateArguments, RuleOptions, ScanRuleArguments};
use crate::rules;

/// The policies, and what compiling them needs.
pub(super) struct MigrationSources {
    /// Everything that was read, policies or not.
    pub(super) documents: Vec<Document>,
    /// The options of the dialects, with the exceptions.
    pub(super) options: DialectOptions,
    /// The entries that the whole cluster shares.
    pub(super) shared: Vec<(WatchedResource, Value)>,
    /// What could not be read.
    pub(super) problems: Vec<Diagnostic>,
}

impl MigrationSources {
    /// Reads what `arguments` name: files, or `cluster` where there are none.
    pub(super) fn read(arguments: &MigrateArguments, cluster: Option<&ScanCluster>) -> Self {
        let options = rules::dialect_options(&RuleOptions::default(), None);
        match cluster.filter(|_| arguments.policies.is_empty()) {
            Some(cluster) => Self::read_cluster(cluster, options),
            None => Self::read_files(&arguments.policies, options),
        }
    }

    fn read_files(paths: &[String], options: DialectOptions) -> Self {
        let found = files::find_files(paths);
        let mut problems = found.problems;
        let documents = files::read_documents(&found.inputs, &mut problems);
        let documents = files::objects_of(documents, &mut Vec::new());
        Self { documents, options, shared: Vec::new(), problems }
    }

    fn read_cluster(cluster: &ScanCluster, mut options: DialectOptions) -> Self {
        let arguments =
            ScanRuleArguments { exceptions_from: vec!["*".to_owned()], ..ScanRuleArguments::default() };
        let mut found = ScanDocuments::default();
        found.read_cluster(cluster, &arguments, &options);
        let ScanDocuments { rules, exceptions, shared, diagnostics } = found;
        options.exceptions = exceptions;
        Self { documents: rules, options, shared, problems: diagnostics }
    }
}
