//! What the page asks for, and what it is answered.

use std::time::Instant;

use bytes::Bytes;
use kubewright_value::json;

use crate::events::PageEvents;

/// Answers the requests below [`API_PREFIX`](crate::API_PREFIX). It is called on a thread that may block.
pub trait PageApi: Send + Sync {
    /// Returns what can be asked for. A request for anything else is answered with 404 or 405.
    fn routes(&self) -> &[PageRoute];

    /// Answers one request, which fits one of [`routes`](Self::routes). It should end by [`PageRequest::deadline`]: after
    /// that the client has been told that it took too long.
    fn answer(&self, request: &PageRequest) -> PageAnswer;
}

/// A method and a path that are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRoute {
    /// The method.
    pub method: PageMethod,
    /// The path below [`API_PREFIX`](crate::API_PREFIX), with parameters in braces: `/explain/{code}`.
    pub path: &'static str,
}

/// The methods of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageMethod {
    /// GET, and HEAD, whose answer is the same without the body.
    Get,
    /// POST, with a JSON body.
    Post,
}

/// One request.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// The route that fits.
    pub route: PageRoute,
    /// What the path has in place of the parameters of the route, in order, decoded.
    pub parameters: Vec<String>,
    /// The query, decoded, in order.
    pub query: Vec<(String, String)>,
    /// The body of a POST request.
    pub body: Bytes,
    /// When the client is told that it took too long.
    pub deadline: Instant,
}

impl PageRequest {
    /// Returns the first value of `name` in the query; empty where there is none.
    #[must_use]
    pub fn query_value(&self, name: &str) -> &str {
        self.query
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
            .unwrap_or_default()
    }

    /// Returns all values of `name` in the query.
    pub fn query_values<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        self.query.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The answer to one request.
#[derive(Debug)]
pub enum PageAnswer {
    /// An answer that is known as a whole.
    Content(PageContent),
    /// Server-sent events, for as long as the client listens: see [`page_events`](crate::page_events).
    Events(PageEvents),
}

impl From<PageContent> for PageAnswer {
    fn from(content: PageContent) -> Self {
        Self::Content(content)
    }
}

/// An answer that is known as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageContent {
    /// The HTTP status.
    pub status: u16,
    /// The type of the body.
    pub content_type: &'static str,
    /// The body.
    pub body: Bytes,
    /// The name of the file that the browser should save, for downloads.
    pub download: Option<&'static str>,
}

impl PageContent {
    /// Returns an answer with a JSON text.
    #[must_use]
    pub fn json(text: impl Into<String>) -> Self {
        let body = Bytes::from(text.into());
        Self { status: 200, content_type: "application/json", body, download: None }
    }

    /// Returns an answer that is not JSON.
    #[must_use]
    pub fn text(content_type: &'static str, text: impl Into<String>) -> Self {
        Self { content_type, ..Self::json(text) }
    }

    /// Returns this answer as a file to save.
    #[must_use]
    pub fn saved_as(self, name: &'static str) -> Self {
        Self { download: Some(name), ..self }
    }

    /// Returns an error; `code` may be that of a diagnostic.
    #[must_use]
    pub fn error(status: u16, message: &str, code: Option<&str>) -> Self {
        let code = code.map_or_else(|| "null".to_owned(), json::quote);
        let text = format!("{{\"error\": {{\"message\": {}, \"code\": {code}}}}}\n", json::quote(message));
        Self { status, ..Self::json(text) }
    }
}
