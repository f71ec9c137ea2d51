//! What is measured.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use kubewright_load::harmful_pod;

/// Measures `kubewright serve` beside a webhook that does nothing.
#[derive(Parser)]
pub(crate) struct BenchArguments {
    /// The policies that judge
    #[arg(long, default_value_os_t = in_repository("examples/kyverno/pod-security"))]
    pub(crate) policies: PathBuf,
    /// The Pod that is judged, in JSON
    #[arg(long, default_value_os_t = in_repository("bench/inputs/pod.json"))]
    pod: PathBuf,
    /// Requests a second, by schedule; each is a measurement
    #[arg(long, value_delimiter = ',', default_values_t = [500.0, 2000.0, 5000.0])]
    pub(crate) rates: Vec<f64>,
    /// How many requests are under way where as many are sent as are answered
    #[arg(long, default_value_t = 64)]
    pub(crate) under_way: usize,
    /// Connections to each server
    #[arg(long, default_value_t = 4)]
    pub(crate) connections: usize,
    /// How long one measurement takes
    #[arg(long, default_value_t = 5)]
    pub(crate) seconds: u64,
    /// How often each is made, in turn
    #[arg(long, default_value_t = 5)]
    pub(crate) rounds: usize,
    /// Requests a second of the spike
    #[arg(long, default_value_t = 20_000.0)]
    pub(crate) spike: f64,
    /// What is measured
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [BenchPart::Load, BenchPart::Spike, BenchPart::Memory])]
    pub(crate) parts: Vec<BenchPart>,
    /// Minutes at 1,000 requests a second before the end, to see whether memory grows
    #[arg(long, default_value_t = 0)]
    pub(crate) soak: u64,
}

/// A part of the measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum BenchPart {
    /// Rates and saturation, beside the server that does nothing.
    Load,
    /// Far too much for a few seconds.
    Spike,
    /// Many policies, and the long run.
    Memory,
}

/// The same Pod twice.
pub(crate) struct Pods {
    pub(crate) allowed: String,
    /// With a container that may do what several of the policies forbid.
    pub(crate) denied: String,
}

impl BenchArguments {
    pub(crate) fn pods(&self) -> Result<Pods, String> {
        let path = self.pod.display();
        let allowed = fs::read_to_string(&self.pod).map_err(|error| format!("{path}: {error}"))?;
        let allowed = allowed.trim().to_owned();
        let denied = harmful_pod(&allowed).ok_or_else(|| format!("{path} has nothing to make worse"))?;
        Ok(Pods { allowed, denied })
    }
}

fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
