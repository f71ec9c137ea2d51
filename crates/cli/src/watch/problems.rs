//! What is wrong in one run of a watched command, so that the next run can say what changed.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};

use kubewright_report::{Annotation, ObjectRow, Renderer, Report};

/// The problems of one run. Lines are left out, so that a problem that moves stays the same.
pub(super) type ProblemSet = BTreeSet<String>;

/// The problems so far; nothing where no command is watched.
static PROBLEMS: Mutex<Option<ProblemSet>> = Mutex::new(None);

/// Begins a run.
pub(super) fn start() {
    *PROBLEMS.lock().unwrap_or_else(PoisonError::into_inner) = Some(ProblemSet::new());
}

/// Returns the problems of the run.
pub(super) fn take() -> ProblemSet {
    PROBLEMS.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
}

/// Returns `renderer`, with everything wrong that it renders recorded while a command is watched.
pub(crate) fn recorded(renderer: Box<dyn Renderer>) -> Box<dyn Renderer> {
    let is_watched = PROBLEMS.lock().unwrap_or_else(PoisonError::into_inner).is_some();
    if is_watched { Box::new(RecordingRenderer { renderer }) } else { renderer }
}

struct RecordingRenderer {
    renderer: Box<dyn Renderer>,
}

impl Renderer for RecordingRenderer {
    fn object(&mut self, row: &ObjectRow, prepared: &str) -> io::Result<()> {
        row.annotations().for_each(|annotation| record(&annotation));
        self.renderer.object(row, prepared)
    }

    fn finish(&mut self, report: &Report<'_>) -> io::Result<()> {
        report.annotations().iter().for_each(record);
        self.renderer.finish(report)
    }
}

fn record(annotation: &Annotation<'_>) {
    let problem = format!("{}\n{}\n{}", annotation.title, annotation.file, annotation.text);
    if let Some(problems) = PROBLEMS.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        problems.insert(problem);
    }
}
