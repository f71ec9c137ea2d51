//! The page about a cluster, asked over HTTP: read-only in the scan controller, and with `kubewright ui --cluster`.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "page/laptop.rs"]
mod laptop;
#[expect(dead_code, reason = "other tests use the rest of it")]
#[path = "scanning/stage.rs"]
mod stage;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use kubewright_value::{Value, json};
use laptop::LaptopPage;
use stage::{POLICY, Stage};

const SECOND: Duration = Duration::from_secs(1);

/// A value that must be in no answer, as it is and in base64.
const PASSWORD: &str = "hunter2-of-the-shop";
const ENCODED_PASSWORD: &str = "aHVudGVyMi1vZi10aGUtc2hvcA==";

#[test]
fn the_controller_serves_the_page_read_only() {
    let Some(stage) = Stage::start() else { return };
    prepare(&stage);
    let address = stage.cluster.reserve_address().to_string();
    let scan = stage.serve("page", &["--ui", &address, "--report-results", "pass,fail,warn,error,skip"]);
    let page = Page(address);
    stage.within("there are reports", 60 * SECOND, || stage.reports().len() == 3 && scan.is_ready());

    check_reports(&page);
    check_why(&page);
    check_graph(&page);
    check_secrets(&page);
    check_refusals(&page);
    check_events(&page, &stage);
    let blocked = page.json("/api/v1/blocked");
    assert_eq!(blocked.get("rows").and_then(Value::as_array).map(<[Value]>::len), Some(0), "{blocked}");
    let about = page.json("/api/v1/about");
    assert_eq!(about.str_at(&["mode"]), "cluster");
    assert_eq!(about.at(&["features", "try"]).and_then(Value::as_bool), Some(false));
    scan.terminate();
}

#[test]
fn a_laptop_tries_rules_against_the_cluster() {
    let Some(stage) = Stage::start() else { return };
    prepare(&stage);
    stage.apply(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: teams, namespace: shop}, data: {wanted: web}}",
    );
    let laptop = LaptopPage::start(&stage.cluster.kubeconfig());
    let page = Page(laptop.address.clone());
    let rule = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: team-of-map}\nspec:\n  \
        validationFailureAction: Enforce\n  rules:\n  - name: team\n    match: {any: [{resources: {kinds: [Service]}}]}\n    \
        context: [{name: teams, configMap: {name: teams, namespace: shop}}]\n    \
        validate: {message: 'wanted {{ teams.data.wanted }}', deny: {conditions: {any: [{key: \
        '{{ request.object.metadata.labels.team || '''' }}', operator: NotEquals, value: '{{ teams.data.wanted }}'}]}}}\n";
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: new, namespace: shop}\nspec: {ports: [{port: 80}]}\n";
    let files = |files: &[(&str, &str)]| {
        let file = |(role, text): &(&str, &str)| {
            format!(r#"{{"name": "{role}.yaml", "role": "{role}", "text": {}}}"#, json::quote(text))
        };
        format!(r#"{{"files": [{}]}}"#, files.iter().map(file).collect::<Vec<_>>().join(", "))
    };
    let tried = page.post("/api/v1/try", &files(&[("rules", rule), ("objects", service)]));
    assert!(tried.to_string().contains("wanted web"), "the ConfigMap of the cluster is read: {tried}");
    let impact = page.post("/api/v1/impact", &files(&[("rules", rule)]));
    let said = impact.to_string();
    assert!(said.contains("web-0") && said.contains("refused"), "{impact}");
    assert!(page.json("/api/v1/blocked").get("rows").is_some());
    let why = page.json("/api/v1/why?apiVersion=v1&kind=Service&namespace=shop&name=web-0");
    let differs = why.get("differs").and_then(Value::as_array).expect("a list");
    assert_eq!(differs.len(), 1, "no scanner wrote a report: {why}");
    check_secrets(&page);
}

/// Three Services, two without a team, one that selects nothing, a Secret, and a rule.
fn prepare(stage: &Stage) {
    stage.apply(POLICY);
    stage.services(0..2, "{}");
    stage.services(2..3, "{team: web}");
    stage.apply(&format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: database, namespace: shop}}, stringData: {{password: {PASSWORD}}}}}"
    ));
    stage.apply(
        "{apiVersion: v1, kind: Service, metadata: {name: lost, namespace: default}, \
         spec: {selector: {app: nothing}, ports: [{port: 80}]}}",
    );
    stage.kubectl(&["label", "namespace", "shop", "team=sales"]);
}

#[track_caller]
fn check_reports(page: &Page) {
    let all = page.json("/api/v1/reports");
    assert_eq!(all.at(&["total"]).and_then(Value::as_i64), Some(3), "{all}");
    let failed = page.json("/api/v1/reports?result=fail&namespace=shop");
    assert_eq!(rows(&failed, &["object", "name"]), ["web-0", "web-1"]);
    assert_eq!(rows(&failed, &["owner"]), ["sales", "sales"]);
    assert_eq!(rows(&failed, &["policy"]), ["require-team", "require-team"]);
    let namespaces = all.at(&["summary", "namespaces"]).and_then(Value::as_array).expect("namespaces");
    let counts: Vec<String> = namespaces
        .iter()
        .map(|one| format!("{} {:?}", one.str_at(&["namespace"]), one.at(&["fail"]).and_then(Value::as_i64)))
        .collect();
    assert_eq!(counts, ["shop Some(2)"]);
    assert_eq!(rows(&page.json("/api/v1/reports?text=WEB-1&result=fail"), &["object", "name"]), ["web-1"]);
    assert_eq!(
        rows(&page.json("/api/v1/reports?limit=1&offset=1&result=fail"), &["object", "name"]),
        ["web-1"]
    );
    let (head, csv) = page.get("/api/v1/reports.csv?result=fail");
    assert!(head.contains("text/csv") && head.to_lowercase().contains("attachment"), "{head}");
    assert_eq!(csv.lines().count(), 3, "{csv}");
}

#[track_caller]
fn check_why(page: &Page) {
    let path = "/api/v1/why?apiVersion=v1&kind=Service&namespace=shop&name=web-0&policy=require-team";
    let why = page.json(path);
    let traces = why.get("traces").and_then(Value::as_array).expect("traces");
    assert_eq!(traces.first().map(|trace| trace.str_at(&["status"])), Some("fail"), "{why}");
    let files = why.get("files").and_then(Value::as_array).expect("files");
    let named = |name: &str| files.iter().any(|file| file.str_at(&["name"]) == name);
    assert!(named("object.yaml"), "{why}");
    let place = traces.first().map(|trace| trace.str_at(&["ruleFile"])).unwrap_or_default();
    assert!(named(place), "`{place}` is among the files: {why}");
    assert_eq!(why.get("differs").and_then(Value::as_array).map(<[Value]>::len), Some(0), "{why}");
}

#[track_caller]
fn check_graph(page: &Page) {
    let graph = page.json("/api/v1/graph?namespace=shop&findings=true");
    let ids = graph.get("nodes").and_then(Value::as_array).expect("nodes");
    assert!(ids.iter().any(|node| node.str_at(&["id"]) == "Service/shop/web-0"), "{graph}");
    assert!(graph.str_at(&["svg"]).starts_with("<svg"));
    let whole = page.json("/api/v1/graph");
    let findings = whole.get("findings").and_then(Value::as_array).expect("findings");
    let is_lost = |finding: &Value| {
        let nodes = finding.get("nodes").and_then(Value::as_array).unwrap_or_default();
        nodes.iter().any(|node| node.as_str() == Some("Service/default/lost"))
    };
    assert!(findings.iter().any(is_lost), "{whole}");
}

#[track_caller]
fn check_secrets(page: &Page) {
    let secret = "apiVersion=v1&kind=Secret&namespace=shop&name=database";
    for path in [
        &format!("/api/v1/objects?{secret}"),
        &format!("/api/v1/why?{secret}"),
        "/api/v1/graph",
        "/api/v1/graph?allEdges=true&each=true&standalone=true",
        "/api/v1/reports",
        "/api/v1/reports.json",
    ] {
        let (head, body) = page.get(path);
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}\n{body}");
        assert!(!body.contains(PASSWORD) && !body.contains(ENCODED_PASSWORD), "{path}: {body}");
    }
    assert!(page.get(&format!("/api/v1/objects?{secret}")).1.contains("(secret)"));
}

#[track_caller]
fn check_refusals(page: &Page) {
    for path in ["/api/v1/try", "/api/v1/impact", "/api/v1/reports", "/api/v1/graph"] {
        let head = page.send(&format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\
             connection: close\r\n\r\n{{}}",
            page.0
        ));
        let status = head.split(' ').nth(1).unwrap_or_default();
        assert!(matches!(status, "404" | "405"), "{path}: {head}");
    }
    for host in ["evil.example", "evil.example:8090", "127.0.0.1.evil.example"] {
        let head =
            page.send(&format!("GET /api/v1/reports HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"));
        assert!(!head.starts_with("HTTP/1.1 200"), "{host}: {head}");
        assert!(!head.contains("require-team"), "{host}: {head}");
    }
    // The port of `kubectl port-forward` is another one.
    let head = page.send("GET /api/v1/about HTTP/1.1\r\nhost: localhost:12345\r\nconnection: close\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
}

/// Reads events until one says that reports changed because of a new Service.
#[track_caller]
fn check_events(page: &Page, stage: &Stage) {
    let stream = page.connect();
    stream.set_read_timeout(Some(30 * SECOND)).expect("a timeout");
    let mut sender = stream.try_clone().expect("a clone");
    write!(sender, "GET /api/v1/scan HTTP/1.1\r\nhost: {}\r\n\r\n", page.0).expect("a request");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let progress = event_data(&mut lines, "progress");
    assert_eq!(progress.str_at(&["phase"]), "watching", "{progress}");
    assert!(progress.get("judged").and_then(Value::as_i64).is_some_and(|judged| judged >= 3), "{progress}");
    let before = event_data(&mut lines, "reports").str_at(&["version"]).to_owned();
    stage.services(7..8, "{}");
    let changed = (0..30).any(|_| event_data(&mut lines, "reports").str_at(&["version"]) != before);
    assert!(changed, "the version of reports stays {before}");
}

/// Returns the data of the next event with this name.
#[track_caller]
fn event_data(lines: &mut impl Iterator<Item = String>, event: &str) -> Value {
    lines.find(|line| line.trim() == format!("event: {event}")).expect("an event");
    let line = lines.find(|line| line.starts_with("data:")).expect("data");
    json::parse(line.trim_start_matches("data:").trim()).expect("JSON")
}

/// Returns the texts at `keys` of all rows.
fn rows(answer: &Value, keys: &[&str]) -> Vec<String> {
    let rows = answer.get("rows").and_then(Value::as_array).expect("rows");
    rows.iter().map(|row| row.str_at(keys).to_owned()).collect()
}

/// A page by its address.
struct Page(String);

impl Page {
    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.0).expect("a connection")
    }

    fn send(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.set_read_timeout(Some(60 * SECOND)).expect("a timeout");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Returns the head and the body of an answer.
    fn get(&self, path: &str) -> (String, String) {
        let host = &self.0;
        split(&self.send(&format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n")))
    }

    #[track_caller]
    fn json(&self, path: &str) -> Value {
        read_json(path, &self.get(path))
    }

    #[track_caller]
    fn post(&self, path: &str, body: &str) -> Value {
        let (host, length) = (&self.0, body.len());
        let answer = self.send(&format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        ));
        read_json(path, &split(&answer))
    }
}

fn split(answer: &str) -> (String, String) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    (head.to_owned(), body.to_owned())
}

#[track_caller]
fn read_json(path: &str, (head, body): &(String, String)) -> Value {
    assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}\n{body}");
    json::parse(body).unwrap_or_else(|error| panic!("{path}: {error}: {head}\n{body}"))
}
