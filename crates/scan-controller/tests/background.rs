//! What rules do in the background, against a real API server: the life of what they make, what goes wrong, and how much
//! is written.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "background/existing.rs"]
mod existing;
#[path = "background/faults.rs"]
mod faults;
#[path = "background/handed.rs"]
mod handed;
#[path = "background/kinds.rs"]
mod kinds;
#[path = "background/life.rs"]
mod life;
#[path = "background/objects.rs"]
mod objects;
#[path = "background/rows.rs"]
mod rows;
#[path = "background/schedules.rs"]
mod schedules;
#[path = "scanning/stage.rs"]
#[expect(dead_code, reason = "parts of it are for the tests of reports")]
mod stage;
