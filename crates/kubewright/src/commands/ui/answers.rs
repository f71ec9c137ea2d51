//! The routes of the page and what answers each.

use std::sync::Arc;

use kubewright_ui::{PageAnswer, PageApi, PageContent, PageMethod, PageRequest, PageRoute};
use kubewright_value::{Value, json};

use super::about::{self, PageState};
use super::body::PageBody;
use super::{attempt, checks, expressions, project_files, reference, shipped};

/// Answers one request.
type Handler = Box<dyn Fn(&PageRequest) -> PageAnswer + Send + Sync>;

/// Answers the page.
pub(super) struct PageAnswers {
    routes: Vec<PageRoute>,
    // INVARIANT: the handler of the route at the same position.
    handlers: Vec<Handler>,
}

impl PageAnswers {
    /// Returns the answers of a page with `state`.
    pub(super) fn new(state: PageState) -> Self {
        let state = Arc::new(state);
        let mut answers = Self { routes: Vec::new(), handlers: Vec::new() };
        answers.add_state_routes(&state);
        answers.get("/examples", |_| Ok(shipped::answer_examples()));
        answers.get("/examples/{language}/{name}", shipped::answer_example);
        answers.get("/explain/{code}", reference::answer_explain);
        answers.get("/functions/{language}", expressions::answer_functions);
        answers.get("/schema/{kind}", reference::answer_schema);
        answers.get("/openapi.json", |_| reference::answer_openapi());
        answers.post("/try", attempt::answer_try);
        answers.post("/lint", checks::answer_lint);
        answers.post("/convert", checks::answer_convert);
        answers.post("/fix", checks::answer_fix);
        answers.post("/test-file", checks::answer_test_file);
        answers.post("/eval", expressions::answer_eval);
        answers
    }

    /// Adds the routes whose answers depend on what the page was started with.
    fn add_state_routes(&mut self, state: &Arc<PageState>) {
        let own = Arc::clone(state);
        self.get("/about", move |_| Ok(about::about_value(&own)));
        let own = Arc::clone(state);
        self.get("/project", move |_| project_files::answer_project(&own));
        let own = Arc::clone(state);
        self.post("/project/save", move |body, _| project_files::answer_save(&own, body));
        let own = Arc::clone(state);
        self.get("/shared", move |_| project_files::answer_shared(&own));
        let own = Arc::clone(state);
        self.post("/test", move |body, request| project_files::answer_test(&own, body, request));
    }

    /// Adds a route that is asked for with GET and answered with JSON.
    fn get(
        &mut self,
        path: &'static str,
        answer: impl Fn(&PageRequest) -> Result<Value, PageContent> + Send + Sync + 'static,
    ) {
        self.add(PageRoute { method: PageMethod::Get, path }, move |request| json_answer(answer(request)));
    }

    /// Adds a route that takes a body and is answered with JSON.
    fn post(
        &mut self,
        path: &'static str,
        answer: impl Fn(&PageBody, &PageRequest) -> Result<Value, PageContent> + Send + Sync + 'static,
    ) {
        self.add(PageRoute { method: PageMethod::Post, path }, move |request| {
            json_answer(PageBody::read(&request.body).and_then(|body| answer(&body, request)))
        });
    }

    fn add(
        &mut self,
        route: PageRoute,
        handler: impl Fn(&PageRequest) -> PageAnswer + Send + Sync + 'static,
    ) {
        self.routes.push(route);
        self.handlers.push(Box::new(handler));
    }
}

fn json_answer(answer: Result<Value, PageContent>) -> PageAnswer {
    match answer {
        Ok(value) => PageContent::json(json::to_shown_string(&value)).into(),
        Err(refusal) => refusal.into(),
    }
}

impl PageApi for PageAnswers {
    fn routes(&self) -> &[PageRoute] {
        &self.routes
    }

    fn answer(&self, request: &PageRequest) -> PageAnswer {
        let at = self.routes.iter().position(|route| *route == request.route);
        match at.and_then(|at| self.handlers.get(at)) {
            Some(handler) => handler(request),
            None => PageContent::error(404, "there is nothing here", None).into(),
        }
    }
}
