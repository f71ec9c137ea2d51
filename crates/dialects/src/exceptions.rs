//! Which exceptions from rules count: those from namespaces that the operator names, until they end.

use kubewright_engine::ClusterSupport;
use kubewright_value::Document;

/// Exceptions that count.
#[derive(Debug, Clone, Default)]
pub struct AdmittedExceptions {
    /// The exceptions.
    pub documents: Vec<Document>,
    /// When the first of them ends, in nanoseconds since 1970; then it is time to look again.
    pub until: Option<i128>,
}

/// Returns those of `documents` that count at `now`, in nanoseconds since 1970. Without a namespace none do; `*` is any.
#[must_use]
pub fn admitted_exceptions(
    documents: &[Document],
    namespaces: &[String],
    languages: &[&dyn ClusterSupport],
    now: i128,
) -> AdmittedExceptions {
    let mut admitted = AdmittedExceptions::default();
    for document in documents {
        let home = document.value.str_at(&["metadata", "namespace"]);
        if !namespaces.iter().any(|namespace| namespace == "*" || namespace == home) {
            continue;
        }
        let end = languages.iter().filter_map(|language| language.exception_expiry(document)).min();
        if end.is_some_and(|end| end <= now) {
            continue;
        }
        admitted.until = [admitted.until, end].into_iter().flatten().min();
        admitted.documents.push(document.clone());
    }
    admitted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DialectOptions, all_dialects};
    use kubewright_value::{Source, yaml};

    const SECOND: i128 = 1_000_000_000;

    fn admits(namespaces: &[&str], now: i128) -> (Vec<String>, Option<i128>) {
        let text = "metadata: {name: a, namespace: one}\nspec: {expiresAt: '1970-01-01T00:00:05Z'}\n---\n\
                    metadata: {name: b, namespace: two}\n---\nmetadata: {name: c, namespace: one}\n";
        let documents = yaml::read(&Source::new("e.yaml", text)).documents;
        let dialects = all_dialects(&DialectOptions::default());
        let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
        let languages: Vec<&dyn ClusterSupport> =
            dialects.iter().filter_map(|dialect| dialect.cluster_support()).collect();
        let admitted = admitted_exceptions(&documents, &namespaces, &languages, now);
        let name = |document: &Document| {
            document.value.at(&["metadata", "name"]).map(kubewright_value::Value::to_string)
        };
        (admitted.documents.iter().filter_map(name).collect(), admitted.until)
    }

    #[test]
    fn exceptions_count_only_from_namespaces_that_are_named() {
        assert_eq!(admits(&[], 0).0, Vec::<String>::new());
        assert_eq!(admits(&["one"], 0), (vec!["\"a\"".to_owned(), "\"c\"".to_owned()], Some(5 * SECOND)));
        assert_eq!(admits(&["*"], 0).0.len(), 3);
    }

    #[test]
    fn an_exception_that_has_ended_counts_no_more() {
        assert_eq!(admits(&["one"], 5 * SECOND), (vec!["\"c\"".to_owned()], None));
    }
}
