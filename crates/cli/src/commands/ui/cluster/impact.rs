//! `/impact`: what rules of the user would newly refuse, warn of and change in the cluster.

use kubewright_ui::{PageBody, PageContent};
use kubewright_value::{Value, json};

use super::super::commands::{CommandRun, parse_command};
use super::super::graph::refused;
use super::super::workspace::PageWorkspace;
use super::ClusterPage;
use crate::arguments::CliCommand;
use crate::commands::impact::run_impact;
use crate::output::ColorChoice;

impl ClusterPage {
    /// Answers a request with rules.
    pub(super) fn answer_impact(&self, body: &PageBody) -> Result<Value, PageContent> {
        let space = PageWorkspace::new(&body.files);
        if space.rules.is_empty() {
            return Err(PageContent::error(400, "there are no rules among the files", None));
        }
        let namespaces = body.value.get("namespaces").and_then(Value::as_array).unwrap_or_default();
        let mut named: Vec<&str> = namespaces.iter().filter_map(Value::as_str).collect();
        if named.is_empty() {
            named.push(&self.settings.namespace);
        }
        let mut words = vec!["impact".to_owned(), "--output=json".to_owned()];
        words.extend(named.iter().map(|namespace| format!("--resources=cluster:{namespace}")));
        words.extend(space.exceptions.iter().map(|path| format!("--exceptions={path}")));
        words.extend(self.settings.words.iter().cloned());
        words.extend(space.rules.iter().cloned());
        let CliCommand::Impact(arguments) = parse_command(&words)? else {
            return Err(PageContent::error(500, "not the arguments of `impact`", None));
        };
        let (run, _) = CommandRun::of(&space, || run_impact(&arguments, ColorChoice::Never));
        if let Some(failure) = run.failure {
            return Err(refused(&failure));
        }
        let mut answer = json::parse(&run.output)
            .map_err(|error| PageContent::error(500, &format!("`impact` wrote no JSON: {error}"), None))?;
        if let Some(map) = answer.as_object_mut() {
            let diagnostics = super::super::traced::diagnostic_values(&run.diagnostics);
            map.insert("diagnostics".into(), Value::array(diagnostics));
        }
        Ok(answer)
    }
}
