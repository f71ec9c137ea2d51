//! The inputs of commands about patterns: the patterns, and the graph of the objects.
//!
//! Objects are read by all cores. Of a file only the positions of its objects are stored, not the text.

mod same_names;

use std::path::Path;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_files::{self as files, FoundFiles, Input, ObjectFilter};
use kubewright_graph::{Graph, Id, NamedObject, References};
use kubewright_patterns::{self as patterns, ObjectTrimmer, Pattern, SharedObjects};
use kubewright_report::suppression::matches_name;
use kubewright_report::text::{listed_paths, plural};
use kubewright_report::{FilePosition, FindingContext, ObjectPositions, shipped_source};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Value};

use crate::arguments::InputArguments;
use crate::codes::{self, NOTHING_FOUND, TOO_MUCH_SELECTED};
use crate::failure::CommandFailure;
use crate::manifest_inputs::find_inputs;
use crate::progress::{ProgressBar, show_phase};
use crate::rule_inputs::no_objects;
use kubewright_value::CompactSort as _;
use same_names::SameNames;

/// Where patterns and objects come from.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PatternSources<'a> {
    /// Files with patterns, and with references that they rely on, or names of patterns that ship; without any, all
    /// patterns that ship are taken.
    pub(crate) patterns: &'a [String],
    /// Files with references alone.
    pub(crate) references: &'a [String],
    /// Files with objects.
    pub(crate) resources: &'a [String],
    /// How charts, pipes and clusters are read.
    pub(crate) inputs: Option<&'a InputArguments>,
    /// Whether a warning about a pattern is an error.
    pub(crate) is_strict: bool,
    /// Whether nothing is looked for, so that no pattern is needed.
    pub(crate) is_without_patterns: bool,
    /// Whether the graph is only for finding the patterns, so that it need not have what they do not read.
    pub(crate) is_only_searched: bool,
}

/// Compiled patterns, and the graph of the objects.
pub(crate) struct PatternInputs {
    /// In the order of the files.
    pub(crate) patterns: Vec<Pattern>,
    /// All objects.
    pub(crate) graph: Graph,
    /// Where objects were read.
    positions: ObjectPositions,
    /// What could not be read or compiled.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// How many objects there are.
    pub(crate) objects: usize,
}

impl PatternInputs {
    /// Reads patterns (those that ship where there are no `paths`) and objects, and builds the graph.
    ///
    /// # Errors
    /// When standard input is named twice.
    pub(crate) fn open(
        paths: &[String],
        resources: &[String],
        inputs: &InputArguments,
    ) -> Result<Self, CommandFailure> {
        let inputs = Some(inputs);
        Self::read(PatternSources { patterns: paths, resources, inputs, ..PatternSources::default() })
    }

    /// Reads patterns and objects, and builds the graph.
    ///
    /// # Errors
    /// When standard input is named twice.
    pub(crate) fn read(sources: PatternSources<'_>) -> Result<Self, CommandFailure> {
        let PatternSources { patterns: paths, references, resources, is_strict, is_without_patterns, .. } =
            sources;
        let all = paths.iter().chain(references).chain(resources);
        if all.filter(|path| *path == "-").count() > 1 {
            return Err(CommandFailure::usage(
                "`-` is given more than once; standard input can be read only once",
            ));
        }
        let mut diagnostics = Vec::new();
        let mut written = read_list_items(references, &mut diagnostics);
        written.extend(match paths {
            [] if is_without_patterns => Vec::new(),
            [] => shipped(),
            paths => {
                let (names, files): (Vec<String>, Vec<String>) =
                    paths.iter().cloned().partition(|path| is_name_of_shipped(path));
                let mut written = shipped();
                written.retain(|document| {
                    let own = document.value.at(&["metadata", "name"]).and_then(Value::as_str);
                    names.iter().any(|name| own == Some(name.as_str()))
                });
                if !files.is_empty() {
                    written.extend(read_list_items(&files, &mut diagnostics));
                }
                written
            }
        });
        let (known, mut wrong) = patterns::read_references(&written);
        let patterns = compile_patterns(&written, &known, &mut wrong);
        wrong.iter_mut().for_each(|wrong| wrong.is_raised |= is_strict);
        diagnostics.extend(wrong);
        let is_any = written.iter().any(patterns::is_pattern_document);
        if !is_any && !paths.is_empty() && !diagnostics.iter().any(Diagnostic::is_error) {
            diagnostics.push(no_patterns(paths));
        }
        let inputs = sources.inputs.cloned().unwrap_or_default();
        let found = find_inputs(resources, &inputs, None)?;
        // Standard input cannot be read again, which objects of one name make necessary.
        let is_standard = found.inputs.iter().any(|input| matches!(input, Input::Standard));
        let is_trimmed = sources.is_only_searched && !is_standard;
        let trimmer = is_trimmed.then(|| ObjectTrimmer::new(&patterns, &known));
        let objects = read_objects(resources, found, trimmer.as_ref(), &mut diagnostics)?;
        let text = format!("building the graph of {}", plural(objects.len(), "object"));
        let (graph, positions) = show_phase(
            || (text.clone(), None),
            || {
                build_graph(objects, |objects| match &trimmer {
                    Some(trimmer) => trimmer.graph(objects),
                    None => Graph::new(&known).filled_and_placed(objects),
                })
            },
        );
        drop(trimmer);
        diagnostics.extend(left_out(&graph, resources));
        Ok(Self { patterns, graph, objects: positions.len(), positions, diagnostics })
    }

    /// Returns the patterns that ship, those of `written` with the references they rely on, and `objects`.
    pub(crate) fn of(written: Vec<Document>, objects: &[Document]) -> Self {
        let mut diagnostics = Vec::new();
        let all: Vec<Document> = shipped().into_iter().chain(written).collect();
        let (known, wrong) = patterns::read_references(&all);
        diagnostics.extend(wrong);
        let mut patterns = compile_patterns(&all, &known, &mut diagnostics);
        // A pattern of the user replaces the one that ships by the same name.
        let is_replaced: Vec<bool> = patterns
            .iter()
            .enumerate()
            .map(|(at, one)| patterns.iter().skip(at + 1).any(|other| other.name == one.name))
            .collect();
        let mut is_replaced = is_replaced.into_iter();
        patterns.retain(|_| !is_replaced.next().unwrap_or_default());
        let objects = objects.iter().map(|object| (object.value.clone().into(), FilePosition::of(object)));
        let build = |objects| Graph::new(&known).filled_and_placed(objects);
        let (graph, positions) = build_graph(objects.collect(), build);
        Self { patterns, graph, objects: positions.len(), positions, diagnostics }
    }

    /// Leaves only the patterns called by one of `names`, in which `*` and `?` are wildcards; all of them when there
    /// are no names.
    ///
    /// # Errors
    /// When a name fits no pattern.
    pub(crate) fn only(&mut self, names: &[String]) -> Result<(), CommandFailure> {
        self.known(names)?;
        self.patterns.retain(|pattern| names.is_empty() || is_pattern_called(pattern, names));
        Ok(())
    }

    /// Leaves out the patterns called by one of `names`.
    ///
    /// # Errors
    /// When a name fits no pattern.
    pub(crate) fn without(&mut self, names: &[String]) -> Result<(), CommandFailure> {
        self.known(names)?;
        self.patterns.retain(|pattern| !is_pattern_called(pattern, names));
        Ok(())
    }

    /// Returns the objects, for findings.
    pub(crate) fn context(&self) -> FindingContext<'_> {
        FindingContext { graph: &self.graph, positions: &self.positions, objects: self.objects }
    }

    /// Returns where all objects were read.
    pub(crate) fn places(&self) -> &ObjectPositions {
        &self.positions
    }

    /// Returns where an object was read.
    pub(crate) fn position(&self, id: Id) -> Option<FilePosition> {
        self.positions.get(id)
    }

    /// Refuses a name that no pattern has.
    ///
    /// # Errors
    /// When there is one.
    pub(crate) fn known(&self, names: &[String]) -> Result<(), CommandFailure> {
        let is_strange =
            |name: &&String| !self.patterns.iter().any(|pattern| matches_name(name, &pattern.name));
        let Some(name) = names.iter().find(is_strange) else { return Ok(()) };
        let names = || self.patterns.iter().map(|pattern| pattern.name.as_str());
        let near =
            nearest_word(name, names()).or_else(|| names().find(|known| known.contains(name.as_str())));
        Err(CommandFailure::usage(format!("there is no pattern `{name}`")).help(match near {
            _ if Path::new(name).is_file() => {
                format!("it is a file, which goes before `-r`: `kubewright detect {name} -r RESOURCES`")
            }
            Some(near) => did_you_mean(near),
            None => "`kubewright detect --list` shows all".to_owned(),
        }))
    }
}

/// Returns whether `path` is the name of a pattern that ships, and no file.
pub(crate) fn is_name_of_shipped(path: &str) -> bool {
    patterns::shipped::shipped_pattern(path).is_some() && !Path::new(path).exists()
}

/// Returns the patterns that ship.
pub(crate) fn shipped() -> Vec<Document> {
    let all = patterns::shipped::shipped_patterns().iter();
    all.flat_map(|shipped| files::parse_documents(&shipped_source(shipped.name), shipped.source())).collect()
}

fn is_pattern_called(pattern: &Pattern, names: &[String]) -> bool {
    names.iter().any(|name| matches_name(name, &pattern.name))
}

/// Reads the documents of `paths`; lists stand for their items.
fn read_list_items(paths: &[String], diagnostics: &mut Vec<Diagnostic>) -> Vec<Document> {
    let found = files::find_files(paths);
    diagnostics.extend(found.problems);
    let documents = files::read_documents(&found.inputs, diagnostics);
    files::wanted_objects(documents, ObjectFilter::Payloads, &mut Vec::new())
}

/// Compiles the patterns among `documents`.
pub(crate) fn compile_patterns(
    documents: &[Document],
    references: &References,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Pattern> {
    let mut compiled = Vec::new();
    for document in documents.iter().filter(|document| patterns::is_pattern_document(document)) {
        let (pattern, wrong) = patterns::compile_pattern_with(document, references.own_types());
        compiled.extend(pattern);
        diagnostics.extend(wrong);
    }
    compiled
}

/// Returns the diagnostic of files without any pattern.
fn no_patterns(paths: &[String]) -> Diagnostic {
    let message = format!("no patterns found in {}", listed_paths(paths));
    codes::about_path(&NOTHING_FOUND, &paths.join(" "), message)
        .help("a pattern is a document of kind Pattern")
}

/// Reads the objects of `paths`, each with its place, and trims them.
fn read_objects(
    paths: &[String],
    found: FoundFiles,
    trimmer: Option<&ObjectTrimmer<'_>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Result<Vec<(NamedObject, FilePosition)>, CommandFailure> {
    diagnostics.extend(found.problems);
    let mut objects: Vec<(NamedObject, FilePosition)> = Vec::new();
    let (names, mut hashes, mut shared) = (SameNames::default(), Vec::new(), SharedObjects::default());
    let mut bar = ProgressBar::new();
    let problems = files::stream_objects(
        &found.inputs,
        ObjectFilter::Objects,
        |document| match trimmer {
            None => (document.value.clone().into(), FilePosition::of(document), 0),
            Some(trimmer) => {
                let name = names.hash(&document.value);
                (trimmer.trimmed(&document.value), FilePosition::of(document), name)
            }
        },
        |(object, mut place, name), progress| {
            // One name for all objects of a file.
            if let Some((_, last)) = objects.last().filter(|(_, last)| last.file == place.file) {
                place.file = last.file.clone();
            }
            match trimmer {
                None => objects.push((object, place)),
                Some(_) => {
                    objects.push((shared.share(object), place));
                    hashes.push(name);
                }
            }
            bar.show(progress);
            Ok(())
        },
    )?;
    bar.clear();
    names.leave_out_others(hashes, &mut objects, &found.inputs)?;
    diagnostics.extend(problems);
    if objects.is_empty() && !paths.is_empty() && !diagnostics.iter().any(Diagnostic::is_error) {
        diagnostics.push(no_objects(paths));
    }
    Ok(objects)
}

/// Builds the graph of `objects`, and returns where each object in it was read.
fn build_graph(
    mut objects: Vec<(NamedObject, FilePosition)>,
    build: impl FnOnce(Vec<NamedObject>) -> (Graph, Vec<(Id, u32)>),
) -> (Graph, ObjectPositions) {
    // Of two that are the same the first one by name of the file counts, whichever was read first.
    objects.compact_sort_by(|(_, one), (_, other)| one.cmp(other));
    let (values, places): (Vec<NamedObject>, Vec<FilePosition>) = objects.into_iter().unzip();
    let (graph, placed) = build(values);
    let place = |(id, number): (Id, u32)| Some((id, places.get(usize::try_from(number).ok()?)?));
    let positions = placed.into_iter().filter_map(place).collect();
    (graph, positions)
}

/// Returns the diagnostic of selectors that are not followed.
fn left_out(graph: &Graph, paths: &[String]) -> Option<Diagnostic> {
    let count = graph.selectors_left_out();
    let message = format!(
        "{} would be compared with too many objects and are not followed",
        plural(count, "different selector")
    );
    let help = "select by labels that few objects have, or look at fewer objects at once";
    (count > 0).then(|| codes::about_path(&TOO_MUCH_SELECTED, &paths.join(" "), message).help(help))
}
