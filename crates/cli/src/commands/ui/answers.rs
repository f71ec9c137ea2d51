//! The routes of the page and what answers each.

use std::sync::Arc;

use kubewright_ui::{
    PageAnswer, PageApi, PageBody, PageContent, PageMethod, PageRequest, PageRoute, read_object,
};
use kubewright_value::{Value, json};

use super::about::{self, PageState};
use super::cluster::ClusterPage;
use super::compiled::CompiledCache;
use super::deadline::answer_in_time;
use super::{attempt, checks, expressions, graph, project_files, reference, shipped, start};

/// Answers one request.
type Handler = Box<dyn Fn(&PageRequest) -> PageAnswer + Send + Sync>;

/// Answers the page.
pub(in crate::commands) struct PageAnswers {
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
        let kept = Arc::new(CompiledCache::default());
        let (own, compiled) = (Arc::clone(&state), Arc::clone(&kept));
        let opening = start::KeptStart::new();
        answers.get("/start", move |_| start::answer_start(&own, &compiled, &opening));
        let (own, compiled) = (Arc::clone(&state), kept);
        answers.post("/try", move |body, _| {
            let live = own.cluster.as_ref().map(|page| page.live_world()).transpose()?;
            attempt::answer_try(&compiled, body, live)
        });
        answers.post("/lint", checks::answer_lint);
        answers.post("/convert", checks::answer_convert);
        answers.post("/fix", checks::answer_fix);
        answers.post("/test-file", checks::answer_test_file);
        answers.post("/eval", expressions::answer_eval);
        graph::add_graph_routes(&mut answers, state.input.as_deref());
        if let Some(page) = &state.cluster {
            page.add_to(&mut answers);
            page.add_impact(&mut answers);
        }
        answers
    }

    /// Returns the answers of a page that shows `page` and changes nothing: all are asked for with GET.
    pub(in crate::commands) fn read_only(page: &Arc<ClusterPage>) -> Self {
        let state = PageState { cluster: Some(Arc::clone(page)), is_read_only: true, ..PageState::default() };
        let mut answers = Self { routes: Vec::new(), handlers: Vec::new() };
        let state = Arc::new(state);
        let own = Arc::clone(&state);
        answers.get("/start", move |_| Ok(start::read_only_start(&own)));
        answers.get("/about", move |_| Ok(about::about_value(&state)));
        answers.get("/explain/{code}", reference::answer_explain);
        page.add_to(&mut answers);
        answers
    }

    /// Adds the routes whose answers depend on what the page was started with.
    fn add_state_routes(&mut self, state: &Arc<PageState>) {
        let own = Arc::clone(state);
        self.get("/about", move |_| Ok(about::about_value(&own)));
        let own = Arc::clone(state);
        self.get("/project", move |_| project_files::answer_project(&own));
        let own = Arc::clone(state);
        self.post_value("/project/save", move |body| project_files::answer_save(&own, body));
        let own = Arc::clone(state);
        self.get("/shared", move |_| project_files::answer_shared(&own));
        let own = Arc::clone(state);
        self.post("/test", move |body, request| project_files::answer_test(&own, body, request));
    }

    /// Adds a route that is asked for with GET and answered with JSON.
    pub(super) fn get(
        &mut self,
        path: &'static str,
        answer: impl Fn(&PageRequest) -> Result<Value, PageContent> + Send + Sync + 'static,
    ) {
        self.add(PageRoute { method: PageMethod::Get, path }, move |request| json_answer(answer(request)));
    }

    /// Adds a route that takes a body and is answered with JSON.
    pub(super) fn post(
        &mut self,
        path: &'static str,
        answer: impl Fn(&PageBody, &PageRequest) -> Result<Value, PageContent> + Send + Sync + 'static,
    ) {
        self.add(PageRoute { method: PageMethod::Post, path }, move |request| {
            json_answer(PageBody::read(&request.body).and_then(|body| answer(&body, request)))
        });
    }

    /// Adds a route that takes a body without the usual files and is answered with JSON.
    fn post_value(
        &mut self,
        path: &'static str,
        answer: impl Fn(&Value) -> Result<Value, PageContent> + Send + Sync + 'static,
    ) {
        self.add(PageRoute { method: PageMethod::Post, path }, move |request| {
            json_answer(read_object(&request.body).and_then(|body| answer(&body)))
        });
    }

    /// Adds a route that is asked for with GET and answered with a file.
    pub(super) fn download(
        &mut self,
        path: &'static str,
        answer: impl Fn(&PageRequest) -> Result<PageContent, PageContent> + Send + Sync + 'static,
    ) {
        self.add(PageRoute { method: PageMethod::Get, path }, move |request| match answer(request) {
            Ok(content) | Err(content) => content.into(),
        });
    }

    /// Adds a route that is asked for with GET and answered with events.
    pub(super) fn events(
        &mut self,
        path: &'static str,
        answer: impl Fn(&PageRequest) -> PageAnswer + Send + Sync + 'static,
    ) {
        self.add(PageRoute { method: PageMethod::Get, path }, answer);
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
            Some(handler) => answer_in_time(request.deadline, || handler(request)),
            None => PageContent::error(404, "there is nothing here", None).into(),
        }
    }
}
