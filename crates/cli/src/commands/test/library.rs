//! A cache of what several tests have in common: files, and the regular expressions of rules.

use std::collections::{HashMap, VecDeque};
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use kubewright_dialects::SharedRegexes;
use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input, RealFolders};
use kubewright_value::{Document, Source};

/// The maximum number of cached files. Tests that share files are near each other, so older ones can be dropped.
const MAX_UNUSED_FILES: usize = 128;

/// How many bytes the texts have whose documents are kept for other files that are written alike. In public libraries every
/// fifth byte is in such a file: each sort of policy is tested with the same objects.
const MAX_KEPT_TEXT_BYTES: usize = 8 << 20;

/// The recently read files, and the expressions of their rules.
#[derive(Default)]
pub(in crate::commands) struct FileCache {
    shelf: Mutex<CachedFiles>,
    texts: Mutex<ReadTexts>,
    folders: RealFolders,
    pub(super) regexes: SharedRegexes,
}

#[derive(Default)]
struct CachedFiles {
    books: HashMap<String, Weak<OnceLock<CachedFile>>>,
    kept: VecDeque<SharedFile>,
}

/// Texts that were read without a problem, with their documents.
#[derive(Default)]
struct ReadTexts {
    documents: HashMap<FileText, Vec<Document>>,
    bytes: usize,
}

/// A file by its text and how it is read, whatever it is called.
struct FileText {
    source: Arc<Source>,
    /// Of its text, which is looked through once however often the table of texts grows.
    hash: u64,
}

impl FileText {
    fn new(source: &Arc<Source>) -> Self {
        Self { hash: text_hash(&source.text), source: Arc::clone(source) }
    }

    fn is_json(&self) -> bool {
        self.source.name.ends_with(".json")
    }
}

impl PartialEq for FileText {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.is_json() == other.is_json() && self.source.text == other.source.text
    }
}

impl Eq for FileText {}

impl Hash for FileText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.hash.hash(state);
    }
}

/// Returns a number that texts that differ mostly do not share, eight bytes at a time.
fn text_hash(text: &str) -> u64 {
    // The fractional part of the golden ratio, as multiplicative hashes use it.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let hash = words.iter().fold(text.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, u64::from(*byte)))
}

/// A file that is read once and shared between tests.
pub(super) type SharedFile = Arc<OnceLock<CachedFile>>;

/// A file that was read.
#[derive(Default)]
pub(super) struct CachedFile {
    /// Its documents; lists are replaced by their items.
    pub(super) documents: Vec<Document>,
    problems: Vec<Diagnostic>,
    /// Its objects and what is wrong with the other documents; nothing where all documents are objects.
    objects: OnceLock<Option<(Vec<Document>, Vec<Diagnostic>)>>,
}

impl FileCache {
    /// Returns the files that `paths` name, which are relative to `folder`.
    pub(super) fn read_files(
        &self,
        folder: &Path,
        paths: &[String],
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<SharedFile> {
        if paths.is_empty() {
            return Vec::new();
        }
        let found = files::find_files(&files::resolve_paths_among(&self.folders, folder, paths, problems));
        problems.extend(found.problems);
        let loans: Vec<SharedFile> = found.inputs.iter().map(|input| self.loan(input)).collect();
        loans
            .iter()
            .for_each(|loan| problems.extend(loan.get().into_iter().flat_map(|book| book.problems.clone())));
        loans
    }

    fn loan(&self, input: &Input) -> SharedFile {
        let loan = self.shelf.lock().unwrap_or_else(PoisonError::into_inner).take(&input.name());
        loan.get_or_init(|| match files::read_source(input) {
            Ok(source) => self.read(source),
            Err(problem) => CachedFile { problems: vec![*problem], ..CachedFile::default() },
        });
        loan
    }

    /// Reads `source`, or takes the documents of another one with the same text.
    fn read(&self, source: Arc<Source>) -> CachedFile {
        let key = FileText::new(&source);
        let texts = || self.texts.lock().unwrap_or_else(PoisonError::into_inner);
        let from_here = |document: &Document| Document { source: Arc::clone(&source), ..document.clone() };
        if let Some(documents) = texts().documents.get(&key) {
            return CachedFile {
                documents: documents.iter().map(from_here).collect(),
                ..CachedFile::default()
            };
        }
        let mut problems = Vec::new();
        let read = files::read_documents(&[Input::Text(source)], &mut problems);
        let documents: Vec<Document> = read.into_iter().flat_map(files::list_items).collect();
        if problems.is_empty() {
            texts().keep(key, &documents);
        }
        CachedFile { documents, problems, objects: OnceLock::new() }
    }
}

impl ReadTexts {
    fn keep(&mut self, text: FileText, documents: &[Document]) {
        let bytes = self.bytes + text.source.text.len();
        // Another worker may have read the same text meanwhile.
        if bytes <= MAX_KEPT_TEXT_BYTES && !self.documents.contains_key(&text) {
            self.bytes = bytes;
            self.documents.insert(text, documents.to_vec());
        }
    }
}

impl CachedFiles {
    /// Returns the file called `name`, which may not have been read yet.
    fn take(&mut self, name: &str) -> SharedFile {
        if let Some(loan) = self.books.get(name).and_then(Weak::upgrade) {
            return loan;
        }
        let loan = SharedFile::default();
        self.books.insert(name.to_owned(), Arc::downgrade(&loan));
        self.kept.push_back(Arc::clone(&loan));
        if self.kept.len() > MAX_UNUSED_FILES {
            self.kept.pop_front();
        }
        loan
    }
}

impl CachedFile {
    /// Returns the Kubernetes objects of the file.
    pub(super) fn objects(&self, problems: &mut Vec<Diagnostic>) -> &[Document] {
        let taken = self.objects.get_or_init(|| {
            let mut wrong = Vec::new();
            let has_others = !self.documents.iter().all(files::is_object);
            has_others.then(|| (files::objects_of(self.documents.clone(), &mut wrong), wrong))
        });
        let Some((objects, wrong)) = taken else { return &self.documents };
        problems.extend(wrong.iter().cloned());
        objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_files_are_read_once_and_keep_their_names() {
        let folder = std::env::temp_dir().join(format!("kubewright-equal-files-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let text = "kind: Pod\nmetadata: {name: web, labels: {a: b}}\n";
        for (name, text) in
            [("a.yaml", text), ("b.yaml", text), ("c.yaml", "kind: Pod\n"), ("d.yaml", "kind: [")]
        {
            std::fs::write(folder.join(name), text).unwrap();
        }
        std::fs::copy(folder.join("d.yaml"), folder.join("e.yaml")).unwrap();
        let cache = FileCache::default();
        let mut problems = Vec::new();
        let paths = ["a.yaml", "b.yaml", "c.yaml", "d.yaml", "e.yaml"].map(str::to_owned);
        let files = cache.read_files(&folder, &paths, &mut problems);
        std::fs::remove_dir_all(&folder).unwrap();
        let documents = |file: &SharedFile| file.get().map(|file| file.documents.clone()).unwrap_or_default();
        let [a, b, c, d, e] =
            [0, 1, 2, 3, 4].map(|place| files.get(place).map(documents).unwrap_or_default());
        let ([a], [b], [c], [], []) = (a.as_slice(), b.as_slice(), c.as_slice(), d.as_slice(), e.as_slice())
        else {
            panic!("{a:?} {b:?} {c:?} {d:?} {e:?}");
        };
        assert!(a.value.is_same(&b.value), "read once");
        assert_ne!(a.value, c.value);
        let place = |document: &Document| document.locate(&["metadata".into(), "name".into()]).to_string();
        assert!(place(a).contains("a.yaml:2"), "{}", place(a));
        assert!(place(b).contains("b.yaml:2"), "{}", place(b));
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(said.iter().any(|text| text.contains("d.yaml")), "{said:?}");
        assert!(said.iter().any(|text| text.contains("e.yaml")), "{said:?}");
    }
}
