//! A client of the language server: the real binary over standard input and output.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use kubewright_value::{Map, Value, json};

/// A running server in a folder of its own.
pub(crate) struct EditorClient {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    /// The folder of the project.
    pub(crate) root: PathBuf,
    next_id: i64,
    versions: BTreeMap<String, i64>,
    /// The diagnostics that the server has sent, by file.
    pub(crate) published: BTreeMap<String, Value>,
    /// The versions that they are of.
    published_versions: BTreeMap<String, i64>,
    /// What the server said that it can do.
    pub(crate) capabilities: Value,
    /// Answers that were not waited for yet.
    answers: BTreeMap<i64, Value>,
}

/// Which capabilities the client announces.
#[derive(Clone, Copy, Default)]
pub(crate) struct ClientOptions {
    /// Whether columns are bytes.
    pub(crate) is_utf8: bool,
    /// Whether diagnostics are asked for.
    pub(crate) is_pulling: bool,
}

impl EditorClient {
    /// Starts a server in a new folder with `files`.
    pub(crate) fn start(name: &str, files: &[(&str, &str)], options: ClientOptions) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lsp").join(name);
        let _ = fs::remove_dir_all(&root);
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        // The search for a project ends here.
        fs::create_dir_all(root.join(".git")).expect("a folder");
        let root = fs::canonicalize(root).expect("the folder");
        let mut child = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server");
        let input = child.stdin.take().expect("standard input");
        let output = BufReader::new(child.stdout.take().expect("standard output"));
        let mut client = Self {
            child,
            input,
            output,
            root,
            next_id: 1,
            versions: BTreeMap::new(),
            published: BTreeMap::new(),
            published_versions: BTreeMap::new(),
            capabilities: Value::Null,
            answers: BTreeMap::new(),
        };
        client.initialize(options);
        client
    }

    fn initialize(&mut self, options: ClientOptions) {
        let diagnostics = if options.is_pulling { "diagnostic" } else { "publishDiagnostics" };
        let encodings = if options.is_utf8 { "[\"utf-8\", \"utf-16\"]" } else { "[\"utf-16\"]" };
        let params = format!(
            r#"{{"processId": null, "rootUri": "{}", "capabilities": {{"general": {{"positionEncodings": {encodings}}}, "textDocument": {{"{diagnostics}": {{}}}}}}}}"#,
            self.uri("")
        );
        let result = self.request("initialize", &params);
        self.capabilities = result.get("capabilities").cloned().unwrap_or_default();
        self.notify("initialized", "{}");
    }

    /// Returns the address of a file.
    pub(crate) fn uri(&self, name: &str) -> String {
        let root = self.root.display();
        if name.is_empty() { format!("file://{root}") } else { format!("file://{root}/{name}") }
    }

    /// Opens a file with a text.
    pub(crate) fn open(&mut self, name: &str, text: &str) {
        self.versions.insert(name.to_owned(), 1);
        let document = Map::from([
            ("uri", Value::from(self.uri(name))),
            ("languageId", "yaml".into()),
            ("version", 1_i64.into()),
            ("text", text.into()),
        ]);
        let params: Value = Map::from([("textDocument", document.into())]).into();
        self.notify("textDocument/didOpen", &params.to_string());
    }

    /// Replaces the text between two places, each a line and a column, and returns the version of the text.
    pub(crate) fn edit(&mut self, name: &str, range: [u32; 4], text: &str) -> i64 {
        let version = self.versions.entry(name.to_owned()).or_default();
        *version += 1;
        let version = *version;
        let [line, column, end_line, end_column] = range;
        let change = format!(
            r#"{{"range": {{"start": {{"line": {line}, "character": {column}}}, "end": {{"line": {end_line}, "character": {end_column}}}}}, "text": {}}}"#,
            json::quote(text)
        );
        let params = format!(
            r#"{{"textDocument": {{"uri": "{}", "version": {version}}}, "contentChanges": [{change}]}}"#,
            self.uri(name)
        );
        self.notify("textDocument/didChange", &params);
        version
    }

    /// Sends a request about a place of a file, and returns its result.
    pub(crate) fn ask(&mut self, method: &str, name: &str, line: u32, column: u32) -> Value {
        self.ask_with(method, name, [line, column], "")
    }

    /// Sends a request about a place of a file with further `fields`, and returns its result.
    pub(crate) fn ask_with(&mut self, method: &str, name: &str, place: [u32; 2], fields: &str) -> Value {
        let [line, column] = place;
        let place = format!(r#"{{"line": {line}, "character": {column}}}"#);
        let params = format!(
            r#"{{"textDocument": {{"uri": "{}"}}, "position": {place}, "range": {{"start": {place}, "end": {place}}}, "context": {{"diagnostics": [], "includeDeclaration": true}}{fields}}}"#,
            self.uri(name)
        );
        self.request(method, &params)
    }

    /// Returns the diagnostics that the server has for a file, each as `line:column-column severity code message`.
    pub(crate) fn pull(&mut self, name: &str) -> Vec<String> {
        let result = self.ask("textDocument/diagnostic", name, 0, 0);
        shown(result.get("items").expect("items"))
    }

    /// Waits for diagnostics of a file that fit.
    pub(crate) fn wait_for(&mut self, name: &str, fits: impl Fn(&[String]) -> bool) -> Vec<String> {
        let uri = self.uri(name);
        loop {
            if let Some(known) = self.published.get(&uri).map(shown).filter(|known| fits(known)) {
                return known;
            }
            let message = self.read();
            self.note(&message);
        }
    }

    /// Waits for the diagnostics of a version of a file.
    pub(crate) fn wait_for_version(&mut self, name: &str, version: i64) {
        let uri = self.uri(name);
        while self.published_versions.get(&uri) != Some(&version) {
            let message = self.read();
            self.note(&message);
        }
    }

    /// Sends a request and returns its result.
    pub(crate) fn request(&mut self, method: &str, params: &str) -> Value {
        let answer = self.request_raw(method, params);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer.get("result").cloned().unwrap_or_default()
    }

    /// Sends a request and returns the whole answer.
    pub(crate) fn request_raw(&mut self, method: &str, params: &str) -> Value {
        let id = self.send(method, params);
        self.answer_to(id)
    }

    /// Sends a request without waiting for its answer.
    pub(crate) fn send(&mut self, method: &str, params: &str) -> i64 {
        let id = self.next_id;
        self.next_id += 1;
        self.write(&format!(r#"{{"jsonrpc": "2.0", "id": {id}, "method": "{method}", "params": {params}}}"#));
        id
    }

    /// Waits for the answer to a request.
    pub(crate) fn answer_to(&mut self, id: i64) -> Value {
        loop {
            if let Some(answer) = self.answers.remove(&id) {
                return answer;
            }
            let message = self.read();
            self.note(&message);
        }
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: &str) {
        self.write(&format!(r#"{{"jsonrpc": "2.0", "method": "{method}", "params": {params}}}"#));
    }

    /// Says goodbye; the server must end with success.
    pub(crate) fn stop(mut self) {
        self.request("shutdown", "null");
        self.notify("exit", "null");
        assert!(self.child.wait().expect("the server").success());
    }

    fn note(&mut self, message: &Value) {
        if let Some(id) =
            message.get("id").and_then(Value::as_i64).filter(|_| message.get("method").is_none())
        {
            self.answers.insert(id, message.clone());
        }
        if message.str_at(&["method"]) == "textDocument/publishDiagnostics" {
            let uri = message.str_at(&["params", "uri"]).to_owned();
            let found = message.at(&["params", "diagnostics"]).cloned().unwrap_or_default();
            let version = message.at(&["params", "version"]).and_then(Value::as_i64);
            self.published_versions.extend(version.map(|version| (uri.clone(), version)));
            self.published.insert(uri, found);
        }
    }

    fn write(&mut self, body: &str) {
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("written");
        self.input.flush().expect("written");
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).expect("a line") > 0, "the server has gone");
            match line.trim() {
                "" => break,
                line => {
                    if let Some(text) = line.strip_prefix("Content-Length: ") {
                        length = text.parse().expect("a length");
                    }
                }
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).expect("a message");
        json::parse(&String::from_utf8(body).expect("text")).expect("JSON")
    }
}

/// Writes diagnostics, each in a line.
pub(crate) fn shown(diagnostics: &Value) -> Vec<String> {
    let number = |value: &Value, path: &[&str]| value.at(path).map_or_else(String::new, ToString::to_string);
    let items = diagnostics.as_array().expect("a list").iter();
    items
        .map(|one| {
            format!(
                "{}:{}-{} {} {} {}",
                number(one, &["range", "start", "line"]),
                number(one, &["range", "start", "character"]),
                number(one, &["range", "end", "character"]),
                number(one, &["severity"]),
                one.str_at(&["code"]),
                one.str_at(&["message"]).lines().next().unwrap_or_default()
            )
        })
        .collect()
}
