//! What the page was started with.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubewright_files::{self as files, Input, TEST_FILES};
use kubewright_patterns::shipped::shipped_patterns;
use kubewright_ui::{MAX_PAGE_REQUEST_BYTES, TextRole};
use kubewright_value::{Map, Value, yaml};

use super::cluster::{self, ClusterPage};
use super::project_files::read_shared;
use crate::arguments::UiArguments;
use crate::failure::CommandFailure;
use crate::project::ProjectFile;

/// What the page was started with.
#[derive(Default)]
pub(super) struct PageState {
    /// The cluster that is shown.
    pub(super) cluster: Option<Arc<ClusterPage>>,
    /// Whether only GET is answered.
    pub(super) is_read_only: bool,
    /// The folder.
    pub(super) project: Option<PageProject>,
    /// The file, in the form in which the page shares.
    pub(super) shared: Option<Value>,
    /// The file or folder, whose objects can be drawn.
    pub(super) input: Option<PathBuf>,
    /// Whether files of the project may be written.
    pub(super) may_save: bool,
}

/// A folder that was opened.
#[derive(Debug, Default)]
pub(super) struct PageProject {
    pub(super) name: String,
    folder: PathBuf,
    /// What the project file says.
    pub(super) settings: Value,
    /// Where tests are looked for.
    pub(super) tests: Vec<String>,
    /// Paths by what they are for.
    paths: Vec<(TextRole, Vec<String>)>,
}

impl PageState {
    /// Reads what `arguments` name.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn open(arguments: &UiArguments) -> Result<Self, CommandFailure> {
        let cluster = cluster::open_cluster(arguments)?.map(Arc::new);
        let input = arguments.input.clone();
        let state = Self { cluster, input, may_save: arguments.save, ..Self::default() };
        let Some(path) = &arguments.input else { return Ok(state) };
        if path.is_dir() {
            return Ok(Self { project: Some(PageProject::open(path)?), ..state });
        }
        if arguments.save {
            return Err(CommandFailure::usage("`--save` is for the folder of a project"));
        }
        let shared = read_shared(path)
            .map_err(|why| CommandFailure::usage(format!("cannot open `{}`: {why}", path.display())))?;
        Ok(Self { shared: Some(shared), ..state })
    }
}

impl PageProject {
    fn open(folder: &Path) -> Result<Self, CommandFailure> {
        files::set_project(&folder.to_string_lossy());
        let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let name = real.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let own = || vec![folder.to_string_lossy().into_owned()];
        let Some(project) = ProjectFile::in_folder(folder)? else {
            let paths = vec![(TextRole::Rules, own())];
            return Ok(Self { name, folder: folder.to_owned(), tests: own(), paths, ..Self::default() });
        };
        let settings = std::fs::read_to_string(&project.path).unwrap_or_default();
        let settings = yaml::read(&kubewright_value::Source::new("kubewright.yaml", settings));
        let settings =
            settings.documents.into_iter().next().map(|document| document.value).unwrap_or_default();
        let tests = Some(project.test_paths()).filter(|paths| !paths.is_empty()).unwrap_or_else(own);
        let paths = vec![
            (TextRole::Rules, project.rules),
            (TextRole::Exceptions, project.exceptions),
            (TextRole::World, project.world),
            (TextRole::Objects, project.resources),
        ];
        Ok(Self { name, folder: folder.to_owned(), settings, tests, paths })
    }

    /// Returns the files of the project, each once, by what they are for.
    pub(super) fn files(&self) -> Vec<(PathBuf, TextRole)> {
        let mut found: Vec<(PathBuf, TextRole)> = Vec::new();
        let mut add = |inputs: Vec<Input>, role| {
            for input in inputs {
                if let Input::File(path) = input
                    && !found.iter().any(|(known, _)| *known == path)
                {
                    found.push((path, role));
                }
            }
        };
        for (role, paths) in &self.paths {
            add(files::find_files(paths).inputs, *role);
        }
        for name in TEST_FILES {
            add(files::find_tests(&self.tests, Some(name)).inputs, TextRole::Test);
        }
        found
    }

    /// Returns the name of a file in the project.
    pub(super) fn shown_name(&self, path: &Path) -> String {
        let own = path.strip_prefix(&self.folder).unwrap_or(path);
        own.to_string_lossy().into_owned()
    }
}

/// Returns what the page can do.
pub(super) fn about_value(state: &PageState) -> Value {
    let cluster = state.cluster.as_ref().map(|page| page.about());
    let (has_project, is_pure) = (state.project.is_some(), !state.is_read_only);
    let features = [
        ("try", is_pure),
        ("graph", true),
        ("graphOfInput", state.input.is_some() || cluster.is_some()),
        ("reports", cluster.is_some()),
        ("impact", cluster.is_some() && is_pure),
        ("project", has_project),
        ("tests", has_project),
        ("save", has_project && state.may_save),
        ("shared", state.shared.is_some()),
    ];
    let features: Map = features.into_iter().map(|(name, is_there)| (name.into(), is_there.into())).collect();
    let project = state.project.as_ref().map(|project| {
        let folder = project.folder.to_string_lossy().into_owned();
        Value::from(Map::from([("name", Value::from(project.name.as_str())), ("folder", folder.into())]))
    });
    let patterns = shipped_patterns().iter().map(|pattern| Value::from(pattern.name)).collect();
    Map::from([
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("mode", if cluster.is_some() { "cluster" } else { "files" }.into()),
        ("readOnly", state.is_read_only.into()),
        ("features", features.into()),
        ("project", project.into()),
        ("cluster", cluster.into()),
        ("patterns", Value::array(patterns)),
        ("limits", Map::from([("bodyBytes", Value::from(MAX_PAGE_REQUEST_BYTES))]).into()),
    ])
    .into()
}
