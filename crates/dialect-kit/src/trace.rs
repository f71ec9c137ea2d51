//! What a rule looked at, as the engine's trace.

use kubewright_engine::{TraceNode, Tracer};
use kubewright_value::Document;

use crate::notes::{Note, Notes};

/// Hands over what was noted, with places in `document`.
pub fn tell(notes: &mut Notes, tracer: &mut Tracer, document: &Document) {
    for note in notes.take() {
        tracer.say(|| node(note, document));
    }
}

fn node(note: Note, document: &Document) -> TraceNode {
    TraceNode {
        what: note.what,
        found: note.found,
        wanted: note.wanted,
        verdict: note.verdict,
        location: (!note.at.is_empty()).then(|| document.locate(&note.at)),
        children: note.children.into_iter().map(|child| node(child, document)).collect(),
    }
}
