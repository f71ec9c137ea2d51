//! What is measured.

use clap::Parser;

/// Measures `kubewright scan --serve` on a real control plane, and checks its limits.
#[derive(Debug, Parser)]
pub(crate) struct ScanBenchArguments {
    /// Objects that are written to the cluster
    #[arg(long, default_value_t = 100_000)]
    pub(crate) objects: usize,
    /// Applications that are written at a time
    #[arg(long, default_value_t = 32)]
    pub(crate) under_way: usize,
    /// Seconds of churn, in which one object of a hundred changes each minute
    #[arg(long, default_value_t = 60)]
    pub(crate) churn_seconds: u64,
    /// Objects of the cluster in which Kyverno's reports controller runs too; 0 leaves it out
    #[arg(long, default_value_t = 1_000)]
    pub(crate) kyverno_objects: usize,
    /// Objects of the simulated stores
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 40_000, 100_000, 400_000])]
    pub(crate) simulated: Vec<usize>,
    /// What is measured
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [ScanBenchPart::Simulated, ScanBenchPart::Cluster, ScanBenchPart::Kyverno, ScanBenchPart::Impact])]
    pub(crate) parts: Vec<ScanBenchPart>,
    /// Judges so many simulated objects, prints the figures as one line, and ends: a part of `simulated`
    #[arg(long, hide = true)]
    pub(crate) simulate: Option<usize>,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ScanBenchPart {
    /// Objects of a store in memory, judged by the scan itself.
    Simulated,
    /// The controller beside a real control plane.
    Cluster,
    /// The bytes of reports, beside Kyverno's of the same cluster.
    Kyverno,
    /// `kubewright impact` of the policies on 20,000 objects of a real control plane.
    Impact,
}
