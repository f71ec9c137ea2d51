//! Objects of many files, worked on by all cores and handed over in the order of the input.
//!
//! A text is split into parts before it is read, so that one large file keeps all cores busy,
//! and no more objects exist at a time than are being worked on.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use kubewright_engine::Diagnostic;
use kubewright_value::{Deadline, Document, Source};

use crate::objects::{each_object, each_object_of_item};
use crate::read::{SourcePart, open_input, read_part};
use crate::{Input, ObjectFilter, memory, not_objects, origins, texts, workers};

/// The number of parts in a batch.
const OBJECTS_PER_BATCH: usize = 32;
/// The maximum number of results that are handed over at once.
const MAX_QUEUED_RESULTS: usize = 256;
/// The maximum number of finished batches that wait.
const MAX_QUEUED_BATCHES: usize = 64;

/// The progress of the work.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Objects that are done.
    pub objects: usize,
    /// The part of the input that is done, from 0 to 1.
    pub share: f64,
}

/// Runs `work` on every object of `inputs` and hands its results to `take`, in the order of the input.
///
/// Returns what is wrong with the inputs.
///
/// # Errors
/// When `take` fails; then the work stops.
pub fn stream_objects<T: Send>(
    inputs: &[Input],
    wanted: ObjectFilter,
    work: impl Fn(&Document) -> T + Sync,
    take: impl FnMut(T, Progress) -> io::Result<()>,
) -> io::Result<Vec<Diagnostic>> {
    stream_parts(inputs, (wanted, None), work, take)
}

/// Runs `work` on every object of `inputs` that may be of `kind`, as [`stream_objects`] does for all. Documents whose text
/// cannot name the kind are not read.
///
/// # Errors
/// When `take` fails; then the work stops.
pub fn stream_objects_of_kind<T: Send>(
    inputs: &[Input],
    kind: &str,
    work: impl Fn(&Document) -> T + Sync,
    take: impl FnMut(T, Progress) -> io::Result<()>,
) -> io::Result<Vec<Diagnostic>> {
    stream_parts(inputs, (ObjectFilter::Objects, Some(kind)), work, take)
}

fn stream_parts<T: Send>(
    inputs: &[Input],
    wanted: (ObjectFilter, Option<&str>),
    work: impl Fn(&Document) -> T + Sync,
    mut take: impl FnMut(T, Progress) -> io::Result<()>,
) -> io::Result<Vec<Diagnostic>> {
    let queue = Mutex::new(BatchQueue::new(inputs, wanted.1));
    let workers = workers::worker_count();
    let (memory, deadline) = (memory::current_memory(), Deadline::of_this_thread());
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(MAX_QUEUED_BATCHES);
        for _ in 0..workers {
            let (queue, work, sender, memory) = (&queue, &work, sender.clone(), memory.clone());
            let builder = thread::Builder::new().stack_size(workers::STACK_BYTES);
            builder.spawn_scoped(scope, move || {
                let run = || memory::with_memory(memory, || run_worker(queue, wanted, work, &sender));
                Deadline::limit(deadline, run);
            })?;
        }
        drop(sender);
        deliver_in_order(&receiver, &mut take)
    })
}

/// The results of one batch, or of a part of it.
struct BatchResult<T> {
    number: usize,
    results: Vec<T>,
    problems: Vec<Diagnostic>,
    share: f64,
    is_last: bool,
}

/// Works on one batch after the other, until there is none or the receiver is gone.
fn run_worker<T>(
    queue: &Mutex<BatchQueue<'_>>,
    (wanted, kind): (ObjectFilter, Option<&str>),
    work: &impl Fn(&Document) -> T,
    sender: &SyncSender<BatchResult<T>>,
) {
    loop {
        let batch = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let Some(mut batch) = batch else { return };
        let mut results = Vec::new();
        let mut is_wanted = true;
        let (number, share) = (batch.number, batch.share);
        let mut misread = Vec::new();
        let source = &batch.source;
        for part in batch.parts.iter().filter(|part| kind.is_none_or(|kind| may_name(source, part, kind))) {
            for document in read_part(&batch.source, part, &mut batch.problems) {
                let open = match part {
                    SourcePart::Item(..) => each_object_of_item,
                    _ => each_object,
                };
                open(document, wanted, &mut batch.problems, &mut |object| {
                    if wanted == ObjectFilter::Objects {
                        texts::report_misread_texts(&object, &mut misread);
                    }
                    if is_wanted {
                        results.push(work(&object));
                    }
                    // A list may hold very many objects.
                    if results.len() >= MAX_QUEUED_RESULTS {
                        let results = std::mem::take(&mut results);
                        let done =
                            BatchResult { number, results, problems: Vec::new(), share, is_last: false };
                        is_wanted &= sender.send(done).is_ok();
                    }
                });
            }
        }
        batch.problems.append(&mut misread);
        let done = BatchResult { number, results, problems: batch.problems, share, is_last: true };
        if !is_wanted || sender.send(done).is_err() {
            return;
        }
    }
}

/// Returns whether a part of a stream may have the text `word` in it. A piece of YAML without it and without the characters
/// by which it could be written otherwise does not.
fn may_name(source: &Source, part: &SourcePart, word: &str) -> bool {
    let SourcePart::Yaml(chunk) = part else { return true };
    source.text.as_bytes().get(chunk.range.clone()).is_none_or(|text| may_have(text, word))
}

/// Returns whether a value in `text`, which is YAML or JSON, may be `word`.
fn may_have(text: &[u8], word: &str) -> bool {
    memchr::memmem::find(text, word.as_bytes()).is_some() || memchr::memchr2(b'\\', b'!', text).is_some()
}

fn deliver_in_order<T>(
    receiver: &Receiver<BatchResult<T>>,
    take: &mut impl FnMut(T, Progress) -> io::Result<()>,
) -> io::Result<Vec<Diagnostic>> {
    let mut problems = Vec::new();
    let mut early: BTreeMap<usize, Vec<BatchResult<T>>> = BTreeMap::new();
    let (mut expected, mut objects) = (0, 0);
    for done in receiver {
        early.entry(done.number).or_default().push(done);
        while let Some(ready) = early.remove(&expected) {
            let is_complete = ready.iter().any(|done| done.is_last);
            for done in ready {
                problems.extend(done.problems);
                for result in done.results {
                    objects += 1;
                    take(result, Progress { objects, share: done.share })?;
                }
            }
            if !is_complete {
                break;
            }
            expected += 1;
        }
    }
    Ok(not_objects::merged(problems))
}

/// A few parts of one text.
struct ObjectBatch {
    number: usize,
    source: Arc<Source>,
    parts: Vec<SourcePart>,
    problems: Vec<Diagnostic>,
    share: f64,
}

/// The remaining input.
struct BatchQueue<'a> {
    inputs: &'a [Input],
    /// Files whose text cannot name it are not split.
    kind: Option<&'a str>,
    opened: usize,
    number: usize,
    current: Option<(Arc<Source>, std::vec::IntoIter<SourcePart>, usize)>,
    problems: Vec<Diagnostic>,
}

impl<'a> BatchQueue<'a> {
    fn new(inputs: &'a [Input], kind: Option<&'a str>) -> Self {
        Self { inputs, kind, opened: 0, number: 0, current: None, problems: Vec::new() }
    }

    /// Returns the next batch; opens files as it comes to them.
    fn next(&mut self) -> Option<ObjectBatch> {
        loop {
            if let Some((source, rest, all)) = &mut self.current {
                let parts: Vec<SourcePart> = rest.take(OBJECTS_PER_BATCH).collect();
                let (source, left, all) = (Arc::clone(source), rest.len(), *all);
                if left == 0 {
                    self.current = None;
                }
                if !parts.is_empty() {
                    return Some(self.batch(source, parts, left, all));
                }
            }
            let Some(input) = self.inputs.get(self.opened) else {
                // A problem of the last file still has to be reported.
                let has_problems = !self.problems.is_empty();
                return has_problems.then(|| self.batch(Source::new("", ""), Vec::new(), 0, 1));
            };
            self.opened += 1;
            let kind = self.kind;
            match open_input(input, |text| kind.is_none_or(|kind| may_have(text, kind))) {
                Ok((source, parts)) => {
                    let source = match input {
                        Input::File(_) => origins::with_existing_origins(source),
                        _ => source,
                    };
                    let count = parts.len();
                    self.current = Some((source, parts.into_iter(), count));
                }
                Err(problem) => self.problems.push(*problem),
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "a share is shown to a person")]
    fn batch(&mut self, source: Arc<Source>, parts: Vec<SourcePart>, left: usize, all: usize) -> ObjectBatch {
        let number = self.number;
        self.number += 1;
        let files_done = self.opened as f64 - left as f64 / all.max(1) as f64;
        let share = files_done / self.inputs.len().max(1) as f64;
        ObjectBatch { number, source, parts, problems: std::mem::take(&mut self.problems), share }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the names of the Namespaces in `text`, and how many objects were looked at.
    fn namespaces(text: &str) -> (Vec<String>, usize) {
        let inputs = [Input::Text(Source::new("objects.yaml", text))];
        let looked_at = std::sync::atomic::AtomicUsize::new(0);
        let mut names = Vec::new();
        let name = |document: &Document| {
            looked_at.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let is_namespace = document.value.str_at(&["kind"]) == "Namespace";
            is_namespace.then(|| document.value.str_at(&["metadata", "name"]).to_owned())
        };
        stream_objects_of_kind(&inputs, "Namespace", name, |name, _| {
            names.extend(name);
            Ok(())
        })
        .unwrap();
        (names, looked_at.into_inner())
    }

    #[test]
    fn what_cannot_be_of_the_kind_is_not_read() {
        let text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: b, namespace: a}\n";
        assert_eq!(namespaces(text), (vec!["a".to_owned()], 1));
    }

    #[test]
    fn a_kind_that_is_written_otherwise_is_found() {
        for kind in [
            r#""Name\x73pace""#,
            r#""Names\
  pace""#,
            "!!binary TmFtZXNwYWNl",
            "'Namespace'",
        ] {
            let text = format!("---\napiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\n");
            assert_eq!(namespaces(&text), (vec!["a".to_owned()], 1), "{kind}");
        }
        let list =
            "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Namespace, metadata: {name: a}}]\n";
        assert_eq!(namespaces(list), (vec!["a".to_owned()], 1));
    }
}
