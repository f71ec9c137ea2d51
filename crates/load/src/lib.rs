//! Load by schedule, and what it costs the server.
//!
//! Requests leave when the clock says so, whether or not the ones before them were answered, and the time of each is
//! counted from the moment at which it should have left: a server that stalls cannot hide the requests that it kept
//! from being sent.

mod allow_all;
mod client;
mod flood;
mod latencies;
mod limits;
mod open_loop;
mod policies;
mod process;
mod processors;
mod reviews;
mod usage;

pub use allow_all::{allow_review, serve_allow_all, serve_answers};
pub use client::{LoadAnswer, LoadClient, LoadError, LoadTarget};
pub use flood::Flood;
pub use latencies::Latencies;
pub use limits::BenchLimits;
pub use open_loop::{LoadRun, LoadSample, RequestOutcome, at_rate, by_as_many_as};
pub use policies::generated_policies;
pub use process::ServerProcess;
pub use processors::SeparateProcessors;
pub use reviews::{Reviews, harmful_pod};
pub use usage::ProcessUsage;
