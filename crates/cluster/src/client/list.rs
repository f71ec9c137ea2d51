//! Lists that are read item by item, page by page.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use hyper::Method;
use kubewright_k8s::ApiPath;
use kubewright_value::{Text, Value};

use super::chunks::BodyChunks;
use super::lines::WatchLines;
use super::{Client, JSON_CONTENT_TYPE, ObjectList};
use crate::Error;
use crate::list_splitter::{ListPart, ListSplitter};

/// How many objects one page of a list has.
const LIST_PAGE_OBJECTS: u32 = 500;

/// How often a list begins again because its pages have become old.
const MAX_LIST_RESTARTS: usize = 3;

/// Servers that know no such form send whole objects, which are cut down here.
const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const METADATA_WATCH: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";

/// What is known at the end of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListEnd {
    /// The version from which a watch goes on.
    pub version: Text,
    /// How many objects the pages have that were not read, where the visitor left early and the API server says it.
    pub remaining: Option<u64>,
    /// Whether all objects are of one moment. Where pages expire while they are read, the rest is read as it is then:
    /// no object is missing that was there all the time, but a watch from `version` may lack changes in between.
    pub is_consistent: bool,
}

/// Which list is read.
#[derive(Debug, Clone)]
pub(crate) struct ListRequest {
    pub(crate) path: ApiPath,
    /// How many objects a page has; 0 for all of them.
    pub(crate) page_size: u32,
    pub(crate) is_metadata_only: bool,
    pub(crate) has_managed_fields: bool,
}

/// The items of a list, in the order in which they arrive.
pub(crate) struct ListItems<'c> {
    client: &'c Client,
    request: ListRequest,
    page: ListPage,
}

/// One page, read while it arrives.
struct ListPage {
    chunks: Option<BodyChunks>,
    splitter: ListSplitter,
    api_version: Text,
    kind: Text,
    metadata: Value,
    has_items: bool,
    is_metadata_only: bool,
    time: PageTime,
}

/// How long is waited for the bytes of a page. What the reader of the items does in between does not count.
enum PageTime {
    Total { left: Duration, total: Duration },
    Idle(Duration),
}

impl Client {
    /// Reads all objects at `path`, page by page.
    ///
    /// # Errors
    /// When there is no such resource, or no answer, or one object is larger than the limit of this client.
    pub async fn list(&self, path: &ApiPath) -> Result<ObjectList, Error> {
        let request = ListRequest {
            path: path.clone(),
            page_size: LIST_PAGE_OBJECTS,
            is_metadata_only: false,
            has_managed_fields: true,
        };
        let mut restarts = 0;
        loop {
            let mut items = Vec::new();
            match self.read_list(&request, &mut items).await {
                Err(error) if error.is_gone() && restarts < MAX_LIST_RESTARTS => restarts += 1,
                Err(error) => return Err(error),
                Ok(version) => return Ok(ObjectList { items, version }),
            }
        }
    }

    /// Calls `visit` with every object at `path`, each with its `apiVersion` and `kind`, until it breaks. One object is
    /// held at a time, however many there are.
    ///
    /// Where `is_metadata_only`, objects have only `metadata` and are of the kind `PartialObjectMetadata`, or their own
    /// where the API server does not know that form.
    ///
    /// # Errors
    /// When there is no such resource, no answer, or one that breaks off; objects that were visited stay visited.
    pub async fn visit_list(
        &self,
        path: &ApiPath,
        page_size: u32,
        is_metadata_only: bool,
        mut visit: impl FnMut(Value) -> ControlFlow<()>,
    ) -> Result<ListEnd, Error> {
        let request =
            ListRequest { path: path.clone(), page_size, is_metadata_only, has_managed_fields: true };
        let mut items = self.list_items(request).await?;
        let mut is_consistent = true;
        loop {
            match items.next().await {
                Ok(Some(item)) => {
                    if visit(item).is_break() {
                        return Ok(items.end(is_consistent));
                    }
                }
                Ok(None) => return Ok(items.end(is_consistent)),
                Err(Error::Status(status)) if status.code == 410 && !status.continue_token.is_empty() => {
                    is_consistent = false;
                    items.go_on_from(&status.continue_token).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns how many objects are at `path`, as far as the API server says: it does not with selectors.
    ///
    /// # Errors
    /// When there is no such resource, or no answer.
    pub async fn count_objects(&self, path: &ApiPath) -> Result<Option<u64>, Error> {
        let mut seen = 0;
        let visit = |_| {
            seen += 1;
            ControlFlow::Continue(())
        };
        let request = ListRequest {
            path: path.clone(),
            page_size: 1,
            is_metadata_only: true,
            has_managed_fields: true,
        };
        let mut items = self.list_items(request).await?;
        items.visit_page(visit).await?;
        Ok(match items.page.has_more() {
            true => items.page.remaining().map(|remaining| remaining + seen),
            false => Some(seen),
        })
    }

    /// Opens a list: the first page has been accepted.
    pub(crate) async fn list_items(&self, request: ListRequest) -> Result<ListItems<'_>, Error> {
        let page = self.list_page(&request, "").await?;
        Ok(ListItems { client: self, request, page })
    }

    /// Watches `path`, whose query says from where on.
    pub(crate) async fn watch_as(
        &self,
        path: &ApiPath,
        is_metadata_only: bool,
        idle: Duration,
    ) -> Result<WatchLines, Error> {
        let accept = if is_metadata_only { METADATA_WATCH } else { JSON_CONTENT_TYPE };
        let call = self.call(Method::GET, path, accept, None)?;
        let answer = self.answer(&call, true).await?;
        Ok(WatchLines::of(answer, self.limits.size, idle, self.server()))
    }

    async fn read_list(&self, request: &ListRequest, items: &mut Vec<Value>) -> Result<Text, Error> {
        let mut list = self.list_items(request.clone()).await?;
        while let Some(item) = list.next().await? {
            items.push(item);
        }
        Ok(list.end(true).version)
    }

    async fn list_page(&self, request: &ListRequest, token: &str) -> Result<ListPage, Error> {
        let mut path = request.path.clone();
        if request.page_size > 0 {
            path.query.push(("limit".into(), request.page_size.to_string().into()));
        }
        if !token.is_empty() {
            path.query.push(("continue".into(), token.into()));
        }
        let accept = if request.is_metadata_only { METADATA_LIST } else { JSON_CONTENT_TYPE };
        let mut call = self.call(Method::GET, &path, accept, None)?;
        call.is_gzip_accepted = self.shared.is_gzip_accepted;
        let answer = self.answer(&call, false).await?;
        Ok(ListPage {
            chunks: Some(BodyChunks::of(answer, self.server())),
            splitter: match request.has_managed_fields {
                true => ListSplitter::new(self.limits.size),
                false => ListSplitter::new(self.limits.size).without_managed_fields(),
            },
            api_version: Text::default(),
            kind: Text::default(),
            metadata: Value::Null,
            has_items: false,
            is_metadata_only: request.is_metadata_only,
            // A whole list takes as long as it is long.
            time: match request.page_size {
                0 => PageTime::Idle(self.limits.time),
                _ => PageTime::Total { left: self.limits.time, total: self.limits.time },
            },
        })
    }
}

impl ListItems<'_> {
    /// Returns the next item, or `None` after the last one of the last page.
    pub(crate) async fn next(&mut self) -> Result<Option<Value>, Error> {
        loop {
            if let Some(item) = self.page.next(self.client).await? {
                return Ok(Some(item));
            }
            if !self.page.has_more() {
                return Ok(None);
            }
            let token = Text::new(self.page.metadata.str_at(&["continue"]));
            self.go_on_from(&token).await?;
        }
    }

    /// Returns what is known now.
    pub(crate) fn end(&self, is_consistent: bool) -> ListEnd {
        ListEnd {
            version: self.page.metadata.str_at(&["resourceVersion"]).into(),
            remaining: self.page.remaining(),
            is_consistent,
        }
    }

    async fn go_on_from(&mut self, token: &str) -> Result<(), Error> {
        self.page = self.client.list_page(&self.request, token).await?;
        Ok(())
    }

    async fn visit_page(&mut self, mut visit: impl FnMut(Value) -> ControlFlow<()>) -> Result<(), Error> {
        while let Some(item) = self.page.next(self.client).await? {
            if visit(item).is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl ListPage {
    /// Returns the next item of this page. At its end the connection is kept for others.
    async fn next(&mut self, client: &Client) -> Result<Option<Value>, Error> {
        loop {
            match self.splitter.next_part()? {
                Some(ListPart::Item(item)) => return self.complete(item).map(Some),
                Some(ListPart::Field(key, value)) => self.take_field(&key, value)?,
                None => {
                    let Some(chunks) = &mut self.chunks else { return Ok(None) };
                    match self.time.next(chunks).await? {
                        Some(chunk) => self.splitter.push(&chunk),
                        None => return self.finish(client).map(|()| None),
                    }
                }
            }
        }
    }

    fn has_more(&self) -> bool {
        !self.metadata.str_at(&["continue"]).is_empty()
    }

    fn remaining(&self) -> Option<u64> {
        let count = self.metadata.at(&["remainingItemCount"]).and_then(Value::as_i64);
        count.and_then(|count| u64::try_from(count).ok())
    }

    fn take_field(&mut self, key: &str, value: Value) -> Result<(), Error> {
        match key {
            "apiVersion" => self.api_version = value.as_str().unwrap_or_default().into(),
            "kind" => self.kind = value.as_str().unwrap_or_default().into(),
            "metadata" => self.metadata = value,
            "items" if !matches!(value, Value::Null) => {
                return Err(Error::Unreadable("the items of the list are not an array".to_owned()));
            }
            "items" => self.has_items = true,
            _ => {}
        }
        Ok(())
    }

    /// The items of a built-in kind say what they are only where they are watched; here they say it too.
    fn complete(&mut self, mut item: Value) -> Result<Value, Error> {
        self.has_items = true;
        let Some(map) = item.as_object_mut() else {
            return Err(Error::Unreadable("an item of the list is not an object".to_owned()));
        };
        if !map.contains_key("kind") {
            let Some(kind) = self.kind.strip_suffix("List") else {
                return Err(Error::Unreadable(format!("a `{}` is not a list", self.kind)));
            };
            map.insert_at(0, "kind".into(), kind.into());
        }
        if !map.contains_key("apiVersion") {
            map.insert_at(1, "apiVersion".into(), self.api_version.as_str().into());
        }
        if self.is_metadata_only {
            keep_only_metadata(&mut item);
        }
        Ok(item)
    }

    fn finish(&mut self, client: &Client) -> Result<(), Error> {
        if !self.splitter.is_complete() {
            return Err(Error::Unreadable("the list breaks off".to_owned()));
        }
        if !self.has_items && !self.kind.ends_with("List") {
            return Err(Error::Unreadable(format!("a `{}` is not a list", self.kind)));
        }
        if let Some(chunks) = self.chunks.take() {
            client.shared.connections.keep(chunks.into_connection());
        }
        Ok(())
    }
}

impl PageTime {
    async fn next(&mut self, chunks: &mut BodyChunks) -> Result<Option<bytes::Bytes>, Error> {
        match self {
            Self::Idle(idle) => chunks.next(*idle).await,
            Self::Total { left, total } => {
                let started = Instant::now();
                let chunk = chunks.next(*left).await;
                *left = left.saturating_sub(started.elapsed());
                chunk.map_err(|error| match error {
                    Error::TimedOut(_) => Error::TimedOut(*total),
                    other => other,
                })
            }
        }
    }
}

/// Removes everything but `apiVersion`, `kind` and `metadata`.
pub(crate) fn keep_only_metadata(object: &mut Value) {
    let is_more = |key: &str| !matches!(key, "apiVersion" | "kind" | "metadata");
    let Some(map) = object.as_object() else { return };
    let more: Vec<Text> = map.keys().filter(|key| is_more(key)).cloned().collect();
    if let (false, Some(map)) = (more.is_empty(), object.as_object_mut()) {
        for key in more {
            map.remove(&key);
        }
    }
}
