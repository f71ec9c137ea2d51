//! How fast texts are read, against the libraries one would otherwise use.
//!
//! `cargo bench -p kubewright-bench --bench reading` prints Markdown tables. Times are CPU times of this
//! thread; the subjects take turns, and the median counts. The last row of a table is the yardstick.

use kubewright_bench::clock::{BenchSubject, medians, print_table};
use kubewright_bench::texts;
use kubewright_value::{Source, json, yaml};
use serde::Deserialize as _;

fn main() {
    measure_stream();
    small_yaml();
    json_body("AdmissionReview as JSON", &texts::review_json());
    json_body("Deployment as JSON", &texts::deployment_json());
}

fn measure_stream() {
    let text = texts::document_stream(20_000_000);
    let bytes = text.len();
    let source = Source::new("bench", text.clone());
    let chunks = yaml::split(&text);
    let subjects = [
        BenchSubject::new("ours, with positions", || {
            yaml::split(&text).iter().map(|chunk| yaml::read_chunk(&source, chunk).documents.len()).sum()
        }),
        BenchSubject::new("ours, with positions, all kept", || yaml::read(&source).documents.len()),
        BenchSubject::new("ours, with positions, full parser only", || {
            chunks.iter().map(|chunk| yaml::read_chunk_fully(&source, chunk).documents.len()).sum()
        }),
        BenchSubject::new("split only", || yaml::split(&text).len()),
        BenchSubject::new("serde_yaml_ng into serde_json::Value", || {
            serde_yaml_ng::Deserializer::from_str(&text)
                .map(|document| usize::from(serde_json::Value::deserialize(document).is_ok()))
                .sum()
        }),
    ];
    print_table(
        &format!("{} MB of YAML, {} documents", bytes / 1_000_000, chunks.len()),
        bytes,
        &subjects,
        &medians(&subjects, 5),
    );
}

fn small_yaml() {
    for text in ["hello", "8080", "name: web\nport: 8080\n"] {
        let subjects = [
            BenchSubject::new("ours", || usize::from(yaml::parse(text).is_ok())),
            BenchSubject::new("serde_yaml_ng into serde_json::Value", || {
                usize::from(serde_yaml_ng::from_str::<serde_json::Value>(text).is_ok())
            }),
        ];
        print_table(&format!("`{}`", text.escape_debug()), text.len(), &subjects, &medians(&subjects, 7));
    }
}

fn json_body(title: &str, text: &str) {
    let subjects = [
        BenchSubject::new("ours", || usize::from(json::parse(text).is_ok())),
        BenchSubject::new("serde_json into Value", || {
            usize::from(serde_json::from_str::<serde_json::Value>(text).is_ok())
        }),
    ];
    let title = format!("{title}, {} bytes", text.len());
    print_table(&title, text.len(), &subjects, &medians(&subjects, 11));
}
