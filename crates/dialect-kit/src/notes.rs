//! Notes of an evaluation, for traces and coverage. They are collected only on request, and up to a limit.

use kubewright_engine::{TraceVerdict, Tracer};
use kubewright_value::{Document, Location, Step, bounded};

/// Collects [`TraceNote`]s when a trace was requested.
#[derive(Debug, Default)]
pub struct TraceNotes {
    // The notes of each open group, outermost first; `None` when no trace was requested.
    open: Option<Vec<Vec<TraceNote>>>,
    kept: usize,
    left_out: usize,
}

/// How many notes are kept of one rule.
const MAX_NOTES: usize = 10_000;

/// How long a text of a note may be.
const MAX_NOTE_TEXT_BYTES: usize = 4096;

/// One thing that was looked at.
#[derive(Debug, Clone, Default)]
pub struct TraceNote {
    /// The name of the step in the rule's terms: `any[0]`, `kinds Pod`, `{{ request.operation }} Equals CREATE`, `(image): "*:latest"`.
    pub what: String,
    /// The value found; may be empty.
    pub found: String,
    /// The value it was compared with; may be empty.
    pub wanted: String,
    /// Whether it holds.
    pub verdict: TraceVerdict,
    /// The place in the value that was compiled, which its caller completes.
    pub at: Vec<Step>,
    /// The path in the object of what was looked at; empty where no part of the object was.
    pub subject: Vec<Step>,
    /// What to do about it; may be empty.
    pub help: String,
    /// The place, if it is in another document than the rule.
    pub elsewhere: Option<Location>,
    /// The steps below this one.
    pub children: Vec<TraceNote>,
}

impl TraceNotes {
    /// Returns notes that are thrown away.
    #[must_use]
    pub fn off() -> Self {
        Self::default()
    }

    /// Returns notes that are kept if `tracer` wants them.
    #[must_use]
    #[inline]
    pub fn of(tracer: &Tracer) -> Self {
        if tracer.is_on() { Self::on() } else { Self::off() }
    }

    /// Returns notes that are kept.
    #[must_use]
    pub fn on() -> Self {
        Self { open: Some(vec![Vec::new()]), ..Self::default() }
    }

    /// Returns whether notes are collected.
    #[must_use]
    #[inline]
    pub fn is_on(&self) -> bool {
        self.open.is_some()
    }

    /// Adds a note; `note` runs only when notes are collected.
    pub fn say(&mut self, note: impl FnOnce() -> TraceNote) {
        let Some(group) = self.open.as_mut().and_then(|open| open.last_mut()) else { return };
        if self.kept >= MAX_NOTES {
            self.left_out += 1;
            return;
        }
        self.kept += 1;
        group.push(note().shortened());
    }

    /// Opens a group: notes up to [`TraceNotes::close`] become children of one note.
    #[inline]
    pub fn open(&mut self) {
        if let Some(open) = &mut self.open {
            open.push(Vec::new());
        }
    }

    /// Closes the group with the note that it belongs to.
    pub fn close(&mut self, note: impl FnOnce() -> TraceNote) {
        let Some(open) = &mut self.open else { return };
        let children = if open.len() > 1 { open.pop().unwrap_or_default() } else { Vec::new() };
        // A group with kept notes is kept too.
        if self.kept >= MAX_NOTES && children.is_empty() {
            self.left_out += 1;
            return;
        }
        self.kept += 1;
        if let Some(group) = open.last_mut() {
            group.push(TraceNote { children, ..note().shortened() });
        }
    }

    /// Returns the notes since the last call.
    pub fn take(&mut self) -> Vec<TraceNote> {
        let said = self.open.as_mut().and_then(|open| open.first_mut()).map(std::mem::take);
        let mut said = said.unwrap_or_default();
        if self.left_out > 0 {
            said.push(TraceNote::left_out(std::mem::take(&mut self.left_out)));
        }
        said
    }

    /// Prefixes `path` to the place of every note since `mark`, a number of notes of the open group.
    #[inline]
    pub fn rebase(&mut self, mark: usize, path: &[Step]) {
        let Some(group) = self.open.as_mut().and_then(|open| open.last_mut()) else { return };
        group.iter_mut().skip(mark).for_each(|note| note.below(path));
    }

    /// Prefixes `path` to the part of the object that the notes of the open group are about.
    pub fn rebase_subjects(&mut self, path: &[Step]) {
        let Some(group) = self.open.as_mut().and_then(|open| open.last_mut()) else { return };
        group.iter_mut().for_each(|note| note.subject_below(path));
    }

    /// Prefixes `path` to the part of the object that the notes since `mark` are about.
    pub fn rebase_subjects_since(&mut self, mark: usize, path: &[Step]) {
        let Some(group) = self.open.as_mut().and_then(|open| open.last_mut()) else { return };
        group.iter_mut().skip(mark).for_each(|note| note.subject_below(path));
    }

    /// Places every note since `mark` in `document`, in place of that of the rule; a note without a path is placed at
    /// `otherwise`.
    pub fn place_elsewhere(&mut self, mark: usize, document: &Document, otherwise: &Location) {
        let Some(group) = self.open.as_mut().and_then(|open| open.last_mut()) else { return };
        group.iter_mut().skip(mark).for_each(|note| note.elsewhere_in(document, otherwise));
    }

    /// Returns how many notes the open group has.
    #[inline]
    pub fn mark(&self) -> usize {
        self.open.as_ref().and_then(|open| open.last()).map_or(0, Vec::len)
    }
}

impl TraceNote {
    /// Returns the note of a step at `at`.
    #[must_use]
    pub fn new(what: String, verdict: TraceVerdict, at: Vec<Step>) -> Self {
        Self { what, verdict, at, ..Self::default() }
    }

    /// Returns that so many more things were looked at.
    fn left_out(count: usize) -> Self {
        Self { what: format!("… {count} more"), ..Self::default() }
    }

    fn shortened(mut self) -> Self {
        for text in [&mut self.what, &mut self.found, &mut self.wanted, &mut self.help] {
            if let Some(short) = bounded::shortened_text(text, MAX_NOTE_TEXT_BYTES) {
                *text = short;
            }
        }
        self
    }

    fn subject_below(&mut self, path: &[Step]) {
        if !self.subject.is_empty() {
            self.subject = path.iter().chain(&self.subject).cloned().collect();
        }
        self.children.iter_mut().for_each(|child| child.subject_below(path));
    }

    fn elsewhere_in(&mut self, document: &Document, otherwise: &Location) {
        let place = if self.at.is_empty() { otherwise.clone() } else { document.locate(&self.at) };
        self.elsewhere.get_or_insert(place);
        self.children.iter_mut().for_each(|child| child.elsewhere_in(document, otherwise));
    }

    fn below(&mut self, path: &[Step]) {
        self.at = path.iter().chain(&self.at).cloned().collect();
        self.children.iter_mut().for_each(|child| child.below(path));
    }
}
