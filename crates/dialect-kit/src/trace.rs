//! Converts notes into the engine's trace.

use kubewright_engine::{TraceNode, Tracer};
use kubewright_value::Document;

use crate::notes::{TraceNote, TraceNotes};

/// Adds the collected notes to `tracer`, located in `document`.
pub fn emit_notes(notes: &mut TraceNotes, tracer: &mut Tracer, document: &Document) {
    for note in notes.take() {
        tracer.say(|| note_node(note, document));
    }
}

fn note_node(note: TraceNote, document: &Document) -> TraceNode {
    TraceNode {
        what: note.what,
        found: note.found,
        wanted: note.wanted,
        verdict: note.verdict,
        location: note.elsewhere.or_else(|| (!note.at.is_empty()).then(|| document.locate(&note.at))),
        subject: note.subject,
        subject_location: None,
        help: note.help,
        children: note.children.into_iter().map(|child| note_node(child, document)).collect(),
    }
}
