//! The loop of the server: messages in, answers and diagnostics out, one at a time.
//!
//! Everything that has arrived is taken before the next request is answered, so that a request can be cancelled while
//! it waits and several edits are analysed once. Diagnostics are sent when nothing waits: of the edited file at once, of the
//! other open files one by one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use kubewright_value::Source;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use lsp_types::{Diagnostic, PublishDiagnosticsParams};
use serde_json::{Value as Json, json};

use crate::encoding::ColumnUnit;
use crate::host::EditorHost;
use crate::protocol::{document_address, document_name, document_uri, read_range, uri_path};
use crate::workspace::EditorWorkspace;

/// How long the server waits for the next edit before it looks at files that depend on the edited one.
const QUIET_TIME: Duration = Duration::from_millis(120);

/// Where an editor says that it can tell of changed files.
const WATCHING: &str = "/capabilities/workspace/didChangeWatchedFiles/dynamicRegistration";

/// The maximum number of messages that wait.
const MAX_QUEUED_MESSAGES: usize = 1_000;

/// The maximum number of test files that run without being asked for.
const MAX_RUN_TEST_FILES: usize = 100;

/// A connection that failed.
pub type EditorServerError = Box<dyn std::error::Error + Send + Sync>;

/// Serves an editor over standard input and output until it says goodbye.
///
/// # Errors
/// When the connection fails or the editor does not keep to the protocol.
pub fn serve_editor(host: Box<dyn EditorHost>) -> Result<(), EditorServerError> {
    let (connection, threads) = Connection::stdio();
    let (id, params) = connection.initialize_start()?;
    let mut server = EditorServer::new(host, &params);
    connection.initialize_finish(id, server.capabilities())?;
    server.run(&connection)?;
    drop(connection);
    threads.join()?;
    Ok(())
}

/// The state of one session.
pub(crate) struct EditorServer {
    pub(crate) workspace: EditorWorkspace,
    /// Messages that arrived and wait.
    waiting: VecDeque<Message>,
    /// Open files whose diagnostics may have changed; the edited one first.
    stale: VecDeque<String>,
    /// The diagnostics that the editor knows, by file.
    sent: BTreeMap<String, (Option<i32>, Vec<Diagnostic>)>,
    /// Whether diagnostics are sent, and not asked for.
    is_pushing: bool,
    /// Whether tests run after a file is stored.
    has_saved: bool,
    /// Whether the editor can tell of files that are not open.
    can_watch: bool,
}

impl EditorServer {
    /// Opens the folder that the editor names.
    fn new(host: Box<dyn EditorHost>, params: &Json) -> Self {
        let mut workspace = EditorWorkspace::new(host);
        let units = params.pointer("/capabilities/general/positionEncodings").and_then(Json::as_array);
        if units.is_some_and(|units| units.iter().any(|unit| unit == "utf-8")) {
            workspace.unit = ColumnUnit::Bytes;
        }
        workspace.open_project(&root_folder(params));
        let has = |path: &str| params.pointer(path).is_some();
        let is_pushing = has("/capabilities/textDocument/publishDiagnostics")
            || !has("/capabilities/textDocument/diagnostic");
        Self {
            workspace,
            waiting: VecDeque::new(),
            stale: VecDeque::new(),
            sent: BTreeMap::new(),
            is_pushing,
            has_saved: true,
            can_watch: params.pointer(WATCHING).and_then(Json::as_bool).unwrap_or(false),
        }
    }

    /// Returns what the server can do.
    fn capabilities(&self) -> Json {
        let mut capabilities = json!({
            "positionEncoding": self.workspace.unit.name(),
            "textDocumentSync": { "openClose": true, "change": 2, "save": { "includeText": false } },
            "hoverProvider": true,
            "completionProvider": { "triggerCharacters": [".", "{", " ", ":"] },
            "codeActionProvider": { "codeActionKinds": ["quickfix", "refactor"] },
            "definitionProvider": true,
            "referencesProvider": true,
            "renameProvider": { "prepareProvider": true },
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "foldingRangeProvider": true,
            "codeLensProvider": { "resolveProvider": false },
            "semanticTokensProvider": {
                "legend": { "tokenTypes": crate::tokens::TOKEN_TYPES, "tokenModifiers": [] },
                "full": true,
            },
            "executeCommandProvider": { "commands": crate::lens::COMMANDS },
        });
        if !self.is_pushing
            && let Some(fields) = capabilities.as_object_mut()
        {
            let pull = json!({ "interFileDependencies": true, "workspaceDiagnostics": false });
            fields.insert("diagnosticProvider".to_owned(), pull);
        }
        let about = json!({ "name": "kubewright", "version": env!("CARGO_PKG_VERSION") });
        json!({ "capabilities": capabilities, "serverInfo": about })
    }

    /// Answers until the editor says goodbye.
    fn run(&mut self, connection: &Connection) -> Result<(), EditorServerError> {
        if self.can_watch {
            connection.sender.send(watch_request().into())?;
        }
        let incoming = queued(connection);
        let mut is_ending = false;
        loop {
            while let Ok(message) = incoming.try_recv() {
                self.take(message, connection)?;
            }
            let Some(message) = self.next_message(connection, &incoming)? else { return Ok(()) };
            match message {
                Message::Request(request) if request.method == "shutdown" => {
                    is_ending = true;
                    connection.sender.send(Response::new_ok(request.id, ()).into())?;
                }
                Message::Request(request) => {
                    let response = self.answer(request);
                    connection.sender.send(response.into())?;
                }
                Message::Notification(notification) if notification.method == "exit" => {
                    return if is_ending { Ok(()) } else { Err("it ended without `shutdown`".into()) };
                }
                Message::Notification(notification) => self.note(&notification),
                Message::Response(_) => {}
            }
        }
    }

    /// Returns the next message; while there is none, diagnostics are sent.
    fn next_message(
        &mut self,
        connection: &Connection,
        incoming: &Receiver<Message>,
    ) -> Result<Option<Message>, EditorServerError> {
        let mut quiet_time = QUIET_TIME;
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Ok(Some(message));
            }
            // The edited file is first, and does not wait.
            let edited = self.stale.pop_front();
            if let Some(name) = edited {
                self.publish(&name, connection)?;
            }
            let received = match (self.stale.is_empty(), self.is_pushing) {
                // After a pause the others follow each other, unless the user goes on typing.
                (false, true) => match incoming.recv_timeout(quiet_time) {
                    Ok(message) => Some(message),
                    Err(RecvTimeoutError::Timeout) => {
                        quiet_time = Duration::ZERO;
                        continue;
                    }
                    Err(_) => None,
                },
                _ if self.has_saved => match incoming.recv_timeout(QUIET_TIME) {
                    Ok(message) => Some(message),
                    Err(RecvTimeoutError::Timeout) => {
                        self.run_tests();
                        continue;
                    }
                    Err(_) => None,
                },
                _ => incoming.recv().ok(),
            };
            let Some(message) = received else { return Ok(None) };
            self.take(message, connection)?;
        }
    }

    /// Runs the tests of a project after something was stored, unless there are very many.
    fn run_tests(&mut self) {
        self.has_saved = false;
        let count = self.workspace.project.tests.len();
        if (1..=MAX_RUN_TEST_FILES).contains(&count) {
            let ran = catch_unwind(AssertUnwindSafe(|| self.workspace.host.run_tests()));
            self.workspace.tested = ran.unwrap_or_default();
        }
    }

    /// Puts a message into the queue, and a cancelled request out of it.
    fn take(&mut self, message: Message, connection: &Connection) -> Result<(), EditorServerError> {
        let cancelled = match &message {
            Message::Notification(notification) if notification.method == "$/cancelRequest" => {
                notification.params.get("id").and_then(request_id)
            }
            _ => {
                self.waiting.push_back(message);
                return Ok(());
            }
        };
        let Some(id) = cancelled else { return Ok(()) };
        let before = self.waiting.len();
        self.waiting.retain(|waiting| !matches!(waiting, Message::Request(request) if request.id == id));
        if self.waiting.len() < before {
            let code = ErrorCode::RequestCanceled as i32;
            let response = Response::new_err(id, code, "the request was cancelled".to_owned());
            connection.sender.send(response.into())?;
        }
        Ok(())
    }

    /// Answers a request. Whatever goes wrong is the error of this request alone.
    fn answer(&mut self, request: Request) -> Response {
        let Request { id, method, params } = request;
        let answered = catch_unwind(AssertUnwindSafe(|| self.result(&method, &params)));
        match answered {
            Ok(Some(result)) => Response::new_ok(id, result),
            Ok(None) => {
                let message = format!("unknown method `{method}`");
                Response::new_err(id, ErrorCode::MethodNotFound as i32, message)
            }
            Err(_) => {
                let message = format!("`{method}` could not be answered");
                Response::new_err(id, ErrorCode::InternalError as i32, message)
            }
        }
    }

    /// Returns the result of a request; nothing for a method that the server does not have.
    fn result(&mut self, method: &str, params: &Json) -> Option<Json> {
        let name = document_uri(params).map(|uri| document_name(&self.workspace.root, uri));
        let name = name.unwrap_or_default();
        let workspace = &mut self.workspace;
        if !name.is_empty() && !workspace.is_answered(&name) {
            return Some(if method == "textDocument/diagnostic" {
                full_report(Vec::new())
            } else {
                Json::Null
            });
        }
        Some(match method {
            "textDocument/hover" => to_json(workspace.hover(&name, params)),
            "textDocument/completion" => to_json(workspace.complete(&name, params)),
            "textDocument/codeAction" => to_json(workspace.code_actions(&name, params)),
            "textDocument/definition" => to_json(workspace.definitions(&name, params)),
            "textDocument/references" => to_json(workspace.references(&name, params)),
            "textDocument/prepareRename" => to_json(workspace.prepare_rename(&name, params)),
            "textDocument/rename" => to_json(workspace.rename(&name, params)),
            "textDocument/documentSymbol" => to_json(workspace.document_symbols(&name)),
            "workspace/symbol" => to_json(workspace.workspace_symbols(params)),
            "textDocument/foldingRange" => to_json(workspace.folding_ranges(&name)),
            "textDocument/codeLens" => to_json(workspace.code_lenses(&name)),
            "textDocument/semanticTokens/full" => to_json(workspace.semantic_tokens(&name)),
            "textDocument/diagnostic" => full_report(workspace.file_diagnostics(&name)),
            "workspace/executeCommand" => self.execute(params),
            _ => return None,
        })
    }

    /// Runs a command of a code lens and returns its text.
    fn execute(&mut self, params: &Json) -> Json {
        let result = self.workspace.execute(params);
        self.mark_all_stale();
        result
    }

    /// Takes note of an edit, or of a file that was stored.
    fn note(&mut self, notification: &Notification) {
        let noted = catch_unwind(AssertUnwindSafe(|| self.apply(&notification.method, &notification.params)));
        if noted.is_err() {
            self.mark_all_stale();
        }
    }

    fn apply(&mut self, method: &str, params: &Json) {
        let name = document_uri(params).map(|uri| document_name(&self.workspace.root, uri));
        let version = || params.pointer("/textDocument/version").and_then(Json::as_i64);
        let version = version().and_then(|version| i32::try_from(version).ok()).unwrap_or_default();
        match (method, name) {
            ("textDocument/didOpen", Some(name)) => {
                let text = params.pointer("/textDocument/text").and_then(Json::as_str).unwrap_or_default();
                self.workspace.put(Source::new(name.as_str(), text), Some(version));
                self.mark_stale(&name);
            }
            ("textDocument/didChange", Some(name)) => {
                self.change(&name, params, version);
                self.mark_stale(&name);
            }
            ("textDocument/didClose", Some(name)) => {
                self.workspace.close(&name);
                self.sent.remove(&name);
                self.mark_stale(&name);
            }
            ("textDocument/didSave", Some(name)) => {
                self.has_saved = true;
                if crate::project::is_project_name(&name) {
                    self.reopen_project();
                }
            }
            ("workspace/didChangeWatchedFiles" | "workspace/didChangeConfiguration", _) => {
                self.reopen_project();
            }
            _ => {}
        }
    }

    fn reopen_project(&mut self) {
        let root = self.workspace.root.clone();
        self.workspace.open_project(&root);
        self.mark_all_stale();
    }

    /// Makes the changes of an edit, one after the other.
    fn change(&mut self, name: &str, params: &Json, version: i32) {
        let known = self.workspace.files.get(name).map(|file| file.source.text.clone());
        let mut text = known.unwrap_or_default();
        let changes = params.get("contentChanges").and_then(Json::as_array);
        for change in changes.into_iter().flatten() {
            let new = change.get("text").and_then(Json::as_str).unwrap_or_default();
            match change.get("range").and_then(read_range) {
                Some(range) => {
                    let source = Source::new("", text.as_str());
                    let unit = self.workspace.unit;
                    let (start, end) = (unit.offset(&source, range.start), unit.offset(&source, range.end));
                    text.replace_range(start..end.max(start), new);
                }
                None => new.clone_into(&mut text),
            }
        }
        self.workspace.put(Source::new(name, text), Some(version));
    }

    /// Marks an edited file and all others that are open, which may depend on it.
    fn mark_stale(&mut self, edited: &str) {
        self.mark_all_stale();
        self.stale.retain(|name| name != edited);
        self.stale.push_front(edited.to_owned());
    }

    fn mark_all_stale(&mut self) {
        if self.is_pushing {
            let known: BTreeSet<String> = self.stale.iter().cloned().collect();
            self.stale.extend(self.workspace.open_files().into_iter().filter(|name| !known.contains(name)));
        }
    }

    /// Sends the diagnostics of a file, unless the editor knows them.
    fn publish(&mut self, name: &str, connection: &Connection) -> Result<(), EditorServerError> {
        if !self.is_pushing {
            return Ok(());
        }
        let found = catch_unwind(AssertUnwindSafe(|| self.workspace.file_diagnostics(name)));
        let diagnostics = found.unwrap_or_default();
        let version = self.workspace.files.get(name).and_then(|file| file.version);
        let is_empty = diagnostics.is_empty();
        let known = self.sent.insert(name.to_owned(), (version, diagnostics.clone()));
        let is_known = match known {
            Some((earlier, shown)) => earlier == version && diagnostics == shown,
            // A file that is not ours, or has no mistakes, needs no message at first.
            None => is_empty && version.is_some() && !self.workspace.is_answered(name),
        };
        let Some(uri) = document_address(&self.workspace.root, name).filter(|_| !is_known) else {
            return Ok(());
        };
        let params = PublishDiagnosticsParams { uri, diagnostics, version };
        let notification = Notification::new("textDocument/publishDiagnostics".to_owned(), params);
        connection.sender.send(notification.into())?;
        Ok(())
    }
}

/// Returns the messages of a connection, which by itself holds only one: a request is to be seen before it is cancelled.
fn queued(connection: &Connection) -> Receiver<Message> {
    let (sender, receiver) = mpsc::sync_channel(MAX_QUEUED_MESSAGES);
    let arriving = connection.receiver.clone();
    std::thread::spawn(move || {
        while let Ok(message) = arriving.recv() {
            if sender.send(message).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Returns the request that asks the editor to tell when files change that are not open.
fn watch_request() -> Request {
    let registration = json!({
        "id": "kubewright-files",
        "method": "workspace/didChangeWatchedFiles",
        "registerOptions": { "watchers": [{ "globPattern": "**/*.{yaml,yml,json}" }] },
    });
    let params = json!({ "registrations": [registration] });
    Request::new(RequestId::from(1), "client/registerCapability".to_owned(), params)
}

fn full_report(items: Vec<Diagnostic>) -> Json {
    json!({ "kind": "full", "items": to_json(items) })
}

/// Returns a result as JSON; what cannot be written is no result.
fn to_json(result: impl serde::Serialize) -> Json {
    serde_json::to_value(result).unwrap_or_default()
}

fn request_id(id: &Json) -> Option<RequestId> {
    match id {
        Json::Number(number) => Some(RequestId::from(i32::try_from(number.as_i64()?).ok()?)),
        Json::String(text) => Some(RequestId::from(text.clone())),
        _ => None,
    }
}

/// Returns the folder that the editor opened, or the working directory.
fn root_folder(params: &Json) -> PathBuf {
    let folder = params.pointer("/workspaceFolders/0/uri").or_else(|| params.get("rootUri"));
    let folder = folder.and_then(Json::as_str).and_then(uri_path).filter(|path| path.is_dir());
    folder.or_else(|| std::env::current_dir().ok()).unwrap_or_else(|| Path::new(".").to_owned())
}
