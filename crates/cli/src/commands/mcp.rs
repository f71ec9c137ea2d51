//! `mcp`: the Model Context Protocol over standard input and output, revision 2025-06-18.
//!
//! A message is a line of JSON. A thread reads lines, so that a request can be cancelled while it waits; requests are answered one
//! after the other. Standard output has nothing but messages.

mod call;
mod tools;

use std::collections::VecDeque;
use std::io::{self, BufRead, Read as _, Write as _};
use std::sync::mpsc::{self, Receiver};

use kubewright_value::{Map, Value, json};

use crate::arguments::McpArguments;
use crate::failure::{CommandFailure, ExitStatus};
use call::ToolCaller;

/// The revisions of the protocol that are spoken, the newest first.
const REVISIONS: [&str; 3] = ["2025-06-18", "2025-03-26", "2024-11-05"];

/// The maximum length of a message.
const MAX_MESSAGE_BYTES: u64 = 16 << 20;

/// What a program is told about the server.
const INSTRUCTIONS: &str = "Evaluates rules about Kubernetes objects (policies of several languages, traits, patterns) on manifests \
without a cluster. Send YAML texts; several documents are separated by `---`. `lint` checks rules, `apply` judges objects, `trace` says why, \
`explain` describes a diagnostic code, `convert` writes ClusterPolicies as policies in CEL, `graph` draws objects and their relationships.";

/// The errors of JSON-RPC.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

/// Runs the command.
///
/// # Errors
/// When the root folder cannot be opened.
pub(crate) fn run_mcp(arguments: &McpArguments) -> Result<ExitStatus, CommandFailure> {
    let caller = ToolCaller::new(arguments.root.as_deref())?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Some(line) = next_line(&mut input) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut queue = MessageQueue { receiver, waiting: VecDeque::new() };
    while let Some(message) = queue.next() {
        let answer = match message {
            Ok(message) => answer(&caller, &message),
            Err(answer) => Some(answer),
        };
        if let Some(answer) = answer {
            let mut out = io::stdout().lock();
            writeln!(out, "{}", json::to_string(&answer))?;
            out.flush()?;
        }
    }
    Ok(ExitStatus::Clean)
}

/// Reads a line; nothing at the end of the input. A line over the limit is read to its end and is no message.
fn next_line(input: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = Vec::new();
    let read = input.take(MAX_MESSAGE_BYTES).read_until(b'\n', &mut line).ok()?;
    if read == 0 {
        return None;
    }
    if !line.ends_with(b"\n") && line.len() as u64 >= MAX_MESSAGE_BYTES {
        let mut rest = Vec::new();
        while input.take(MAX_MESSAGE_BYTES).read_until(b'\n', &mut rest).ok()? > 0 && !rest.ends_with(b"\n") {
            rest.clear();
        }
        line.clear();
    }
    Some(line)
}

/// The messages that have arrived.
struct MessageQueue {
    receiver: Receiver<Vec<u8>>,
    waiting: VecDeque<Result<Value, Value>>,
}

impl MessageQueue {
    /// Returns the next message, or the answer to what is none; nothing once the caller has gone.
    fn next(&mut self) -> Option<Result<Value, Value>> {
        loop {
            while let Ok(line) = self.receiver.try_recv() {
                self.take(&line);
            }
            if let Some(message) = self.waiting.pop_front() {
                return Some(message);
            }
            let line = self.receiver.recv().ok()?;
            self.take(&line);
        }
    }

    /// Puts a message into the queue, and a cancelled request out of it.
    fn take(&mut self, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if text.trim().is_empty() && !line.is_empty() {
            return;
        }
        let Ok(message) = json::parse(&text) else {
            return self.waiting.push_back(Err(error(Value::Null, PARSE_ERROR, "the message is not JSON")));
        };
        if message.str_at(&["method"]) == "notifications/cancelled" {
            let cancelled = message.at(&["params", "requestId"]).cloned();
            return self.waiting.retain(|waiting| match waiting {
                Ok(waiting) => waiting.get("id").is_none() || waiting.get("id") != cancelled.as_ref(),
                Err(_) => true,
            });
        }
        self.waiting.push_back(Ok(message));
    }
}

/// Returns the answer to a message; nothing for a notification and for an answer.
fn answer(caller: &ToolCaller, message: &Value) -> Option<Value> {
    let id = message.get("id").cloned();
    let method = message.get("method").and_then(Value::as_str);
    let is_request = message.str_at(&["jsonrpc"]) == "2.0" && message.as_object().is_some();
    let Some(method) = method.filter(|_| is_request) else {
        let is_answer = is_request && (message.get("result").is_some() || message.get("error").is_some());
        let text = "a message is an object with `jsonrpc`, `method` and `id`; batches are not supported";
        return (!is_answer).then(|| error(id.unwrap_or_default(), INVALID_REQUEST, text));
    };
    // A message without an id is a notification, which has no answer.
    let id = id.filter(|id| !id.is_null())?;
    let params = message.get("params").cloned().unwrap_or_default();
    let result = match method {
        "initialize" => Ok(initialized(params.str_at(&["protocolVersion"]))),
        "ping" => Ok(Map::new().into()),
        "tools/list" => Ok(Map::from([("tools", tools::tool_list(caller.has_root()))]).into()),
        "tools/call" => caller.call(&params).map_err(|text| (INVALID_PARAMS, text)),
        _ => Err((METHOD_NOT_FOUND, format!("unknown method `{method}`"))),
    };
    Some(match result {
        Ok(result) => Map::from([("jsonrpc", "2.0".into()), ("id", id), ("result", result)]).into(),
        Err((code, text)) => error(id, code, &text),
    })
}

/// Returns what the server can do, in the revision of the client or else the newest one.
fn initialized(asked: &str) -> Value {
    let [newest, ..] = REVISIONS;
    let revision = REVISIONS.iter().find(|known| **known == asked).copied().unwrap_or(newest);
    let about = Map::from([
        ("name", Value::from("kubewright")),
        ("title", "kubewright".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
    ]);
    let tools = Map::from([("listChanged", Value::from(false))]);
    Map::from([
        ("protocolVersion", Value::from(revision)),
        ("capabilities", Map::from([("tools", tools.into())]).into()),
        ("serverInfo", about.into()),
        ("instructions", INSTRUCTIONS.into()),
    ])
    .into()
}

fn error(id: Value, code: i64, text: &str) -> Value {
    let error = Map::from([("code", Value::from(code)), ("message", text.into())]);
    Map::from([("jsonrpc", "2.0".into()), ("id", id), ("error", error.into())]).into()
}
