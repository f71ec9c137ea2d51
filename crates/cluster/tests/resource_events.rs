//! The events of watched resources and the items of lists, where a server answers in unusual ways.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod scripted;

use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kubewright_cluster::{
    CallLimits, Client, Config, GroupVersionResource, ListEnd, ResourceEvent, ResourceWatch, WatchPolicy,
    watch_resource,
};
use kubewright_k8s::ApiPath;
use kubewright_value::Value;
use tokio::sync::mpsc;

use self::scripted::{Answer, ScriptedServer, list, object, page, watch_lines};

fn things() -> ApiPath {
    GroupVersionResource::new("", "v1", "things").all()
}

/// Impatient, so that tests are quick.
fn watch_of_things() -> ResourceWatch {
    let policy = WatchPolicy {
        idle: Duration::from_millis(500),
        initial_idle: Duration::from_millis(200),
        first_wait: Duration::from_millis(2),
        longest_wait: Duration::from_millis(20),
        ..WatchPolicy::default()
    };
    ResourceWatch { policy, page_size: 2, ..ResourceWatch::new(things()) }
}

fn client(server: &ScriptedServer) -> Client {
    Client::new(Config::at(&server.address)).unwrap()
}

/// Reads events as words: `[` and `]` around a list, `a@1` in it, `+a@2`, `-a@3`, and `!` for a failure.
async fn words(receiver: &mut mpsc::Receiver<ResourceEvent>, count: usize) -> String {
    let mut words = Vec::new();
    while words.len() < count {
        let event = tokio::time::timeout(Duration::from_secs(10), receiver.recv()).await;
        let event = event.unwrap_or_else(|_| panic!("only {words:?} came")).unwrap();
        words.push(match event {
            ResourceEvent::InitialListStarted => "[".to_owned(),
            ResourceEvent::InitialObject(object) => word(&object),
            ResourceEvent::InitialListEnded => "]".to_owned(),
            ResourceEvent::Applied(object) => format!("+{}", word(&object)),
            ResourceEvent::Deleted(object) => format!("-{}", word(&object)),
            ResourceEvent::Failed(_) => "!".to_owned(),
        });
    }
    words.join(" ")
}

fn word(object: &Value) -> String {
    assert_eq!((object.str_at(&["kind"]), object.str_at(&["apiVersion"])), ("Thing", "v1"));
    format!("{}@{}", object.str_at(&["metadata", "name"]), object.str_at(&["metadata", "resourceVersion"]))
}

/// Watches a server that gives `answers`, and expects the events `want` and the requests `asked`.
#[track_caller]
fn check(answers: Vec<Answer>, want: &str, asked: &[&str]) {
    let server = ScriptedServer::start(answers);
    run(async {
        let (sender, mut receiver) = mpsc::channel(4);
        let task = tokio::spawn(watch_resource(client(&server), watch_of_things(), sender));
        assert_eq!(words(&mut receiver, want.split_whitespace().count()).await, want);
        drop(receiver);
        tokio::time::timeout(Duration::from_secs(5), task).await.unwrap().unwrap();
    });
    let requests = server.requests();
    assert_eq!(requests.get(..asked.len()).unwrap(), asked, "{requests:?}");
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}

#[test]
fn initial_events_and_changes_come_over_one_connection() {
    check(vec![Answer::silence("+a@1 +b@2 >@5 +c@6 -a@7")], "[ a@1 b@2 ] +c@6 -a@7", &["initial"]);
}

#[test]
fn a_deletion_between_initial_events_is_told() {
    check(vec![Answer::silence("+a@1 +b@2 -a@4 +b@5 >@5")], "[ a@1 b@2 -a@4 b@5 ]", &["initial"]);
}

#[test]
fn a_watch_goes_on_from_the_bookmark_that_ended_the_list() {
    check(
        vec![Answer::watch("+a@1 >@5"), Answer::watch("~@9"), Answer::silence("+b@10")],
        "[ a@1 ] +b@10",
        &["initial", "watch 5", "watch 9"],
    );
}

#[test]
fn a_server_that_refuses_initial_events_is_asked_for_pages() {
    for code in [400, 422, 403] {
        check(
            vec![
                Answer::status(code),
                Answer::Whole(200, page("a@1 b@2", 5, "next")),
                Answer::Whole(200, list("c@3", 5)),
                Answer::silence("+d@6"),
            ],
            "[ a@1 b@2 c@3 ] +d@6",
            &["initial", "list limit=2", "list limit=2 continue=next", "watch 5"],
        );
    }
}

#[test]
fn a_refusal_is_remembered_for_all_watches_of_the_client() {
    let server = ScriptedServer::start(vec![
        Answer::status(422),
        Answer::Whole(200, list("a@1", 5)),
        Answer::silence("+b@6"),
        Answer::Whole(200, list("a@1", 5)),
        Answer::silence("+b@6"),
    ]);
    run(async {
        let client = client(&server);
        for _ in 0..2 {
            let (sender, mut receiver) = mpsc::channel(4);
            let watching = tokio::spawn(watch_resource(client.clone(), watch_of_things(), sender));
            assert_eq!(words(&mut receiver, 4).await, "[ a@1 ] +b@6");
            watching.abort();
        }
    });
    assert_eq!(server.requests(), ["initial", "list limit=2", "watch 5", "list limit=2", "watch 5"]);
}

#[test]
fn a_server_that_ignores_the_parameter_is_asked_for_pages() {
    // It sends what it knows, and then a bookmark that ends nothing, or nothing at all.
    for ignored in ["+a@1 ~@5", "+a@1", ""] {
        let want = if ignored.is_empty() { "[ [ a@1 ] +b@6" } else { "[ a@1 [ a@1 ] +b@6" };
        check(
            vec![Answer::silence(ignored), Answer::Whole(200, list("a@1", 5)), Answer::silence("+b@6")],
            want,
            &["initial", "list limit=2", "watch 5"],
        );
    }
}

#[test]
fn initial_events_that_break_off_twice_lead_to_pages() {
    check(
        vec![
            Answer::cut("+a@1"),
            Answer::watch("+a@1"),
            Answer::Whole(200, list("a@1 b@2", 5)),
            Answer::silence("+c@6"),
        ],
        "[ a@1 ! [ a@1 [ a@1 b@2 ] +c@6",
        &["initial", "initial", "list limit=2", "watch 5"],
    );
}

#[test]
fn initial_events_that_break_off_once_are_asked_for_again() {
    check(
        vec![Answer::cut("+a@1"), Answer::silence("+a@1 +b@2 >@5 +c@6")],
        "[ a@1 ! [ a@1 b@2 ] +c@6",
        &["initial", "initial"],
    );
}

#[test]
fn a_server_that_is_away_is_no_reason_for_pages() {
    check(
        vec![Answer::status(503), Answer::status(503), Answer::status(503), Answer::silence("+a@1 >@5")],
        "! ! ! [ a@1 ]",
        &["initial", "initial", "initial", "initial"],
    );
}

#[test]
fn a_version_that_is_forgotten_begins_a_new_list() {
    check(
        vec![
            Answer::watch("+a@1 +b@2 >@5 +c@6 !410"),
            Answer::watch("+b@2 >@20"),
            Answer::status(410),
            Answer::silence("+d@30 >@40"),
        ],
        "[ a@1 b@2 ] +c@6 ! [ b@2 ] ! [ d@30 ]",
        &["initial", "initial", "watch 20", "initial"],
    );
}

#[test]
fn pages_that_expire_lead_to_one_whole_list() {
    check(
        vec![
            Answer::status(422),
            Answer::Whole(200, page("a@1 b@2", 5, "next")),
            Answer::status(410),
            Answer::Whole(200, list("a@1 c@7 d@8", 9)),
            Answer::silence("+e@10"),
        ],
        "[ a@1 b@2 [ a@1 c@7 d@8 ] +e@10",
        &["initial", "list limit=2", "list limit=2 continue=next", "list", "watch 9"],
    );
}

#[test]
fn a_page_that_breaks_off_begins_the_list_again() {
    let whole = list("a@1 b@2", 5);
    let cut = whole.get(..whole.len() - 1).unwrap().to_owned();
    check(
        vec![
            Answer::status(422),
            Answer::Whole(200, cut),
            Answer::Whole(200, whole),
            Answer::silence("+c@6"),
        ],
        "[ a@1 b@2 ! [ a@1 b@2 ] +c@6",
        &["initial", "list limit=2", "list limit=2", "watch 5"],
    );
}

#[test]
fn an_object_above_the_bound_is_an_error_and_not_held() {
    let server = ScriptedServer::start(vec![
        Answer::status(422),
        Answer::Endless(r#"{"kind":"ThingList","items":[{"x":""#),
    ]);
    run(async {
        let (sender, mut receiver) = mpsc::channel(4);
        let watch = ResourceWatch { max_object_bytes: 100_000, ..watch_of_things() };
        tokio::spawn(watch_resource(client(&server), watch, sender));
        assert_eq!(words(&mut receiver, 1).await, "[");
        let event = receiver.recv().await.unwrap();
        assert!(
            matches!(&event, ResourceEvent::Failed(error) if error.to_string().contains("100000 bytes")),
            "{event:?}"
        );
    });
}

#[test]
fn characters_that_are_cut_between_packets_arrive_whole() {
    let body = list("ä€😀@1", 5).into_bytes();
    let server = ScriptedServer::start(vec![Answer::Pieces(body.chunks(1).map(<[u8]>::to_vec).collect())]);
    let (end, items) = visit(&server, 500, false);
    assert_eq!((end.version.as_str(), items), ("5", vec!["ä€😀@1".to_owned()]));
}

#[test]
fn a_slow_receiver_slows_down_the_server_and_loses_nothing() {
    const OBJECTS: usize = 600;
    let lines: Vec<String> = (0..OBJECTS)
        .map(|number| {
            let padding = "x".repeat(100_000);
            format!(r#"{{"type":"ADDED","object":{{"kind":"Thing","apiVersion":"v1","metadata":{{"name":"t{number}","resourceVersion":"1"}},"x":"{padding}"}}}}"#)
        })
        .chain(watch_lines(">@5"))
        .collect();
    let server = ScriptedServer::start(vec![Answer::Silence(lines)]);
    run(async {
        let (sender, mut receiver) = mpsc::channel(1);
        let watch = ResourceWatch {
            trim: |object| {
                object.as_object_mut().unwrap().remove("x");
            },
            ..watch_of_things()
        };
        tokio::spawn(watch_resource(client(&server), watch, sender));
        tokio::time::sleep(Duration::from_millis(1500)).await;
        // Two sockets buffer some of 60 MB.
        let sent = server.sent.load(Ordering::SeqCst);
        assert!(sent < 30_000_000, "{sent} bytes were read for a receiver that takes none");
        let mut seen = 0;
        loop {
            match receiver.recv().await.unwrap() {
                ResourceEvent::InitialObject(object) => {
                    assert_eq!(object.get("x"), None);
                    seen += 1;
                }
                ResourceEvent::InitialListEnded => break,
                ResourceEvent::InitialListStarted => assert_eq!(seen, 0),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(seen, OBJECTS);
    });
}

#[test]
fn a_resource_that_is_missing_is_one_without_objects() {
    let server = ScriptedServer::start(vec![Answer::status(404)]);
    run(async {
        let (sender, mut receiver) = mpsc::channel(4);
        tokio::spawn(watch_resource(client(&server), watch_of_things(), sender));
        let mut events = String::new();
        while !events.contains(']') {
            events.push_str(&words(&mut receiver, 1).await);
        }
        assert!(events.starts_with('!') && events.ends_with("[]"), "{events}");
    });
}

#[test]
fn metadata_is_cut_out_where_a_server_sends_whole_objects() {
    let whole = r#"{"kind":"ThingList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"x":1},"status":2}]}"#;
    let server = ScriptedServer::start(vec![Answer::Whole(200, whole.to_owned())]);
    let (_, items) = visit(&server, 500, true);
    assert_eq!(items, ["a@1"]);
    assert!(server.accepts().first().unwrap().contains("as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"));
}

/// Visits the things of `server`, each of which must hold nothing beside its metadata.
fn visit(server: &ScriptedServer, page_size: u32, is_metadata_only: bool) -> (ListEnd, Vec<String>) {
    let mut items = Vec::new();
    let end = run(client(server).visit_list(&things(), page_size, is_metadata_only, |item| {
        assert_eq!(item.as_object().unwrap().len(), 3, "{item:?}");
        items.push(word(&item));
        ControlFlow::Continue(())
    }));
    (end.unwrap(), items)
}

#[test]
fn a_visit_goes_on_where_pages_expire_and_says_so() {
    let expired = r#"{"kind":"Status","code":410,"reason":"Expired","message":"too old","metadata":{"continue":"rest"}}"#;
    let server = ScriptedServer::start(vec![
        Answer::Whole(200, page("a@1 b@2", 5, "next")),
        Answer::Whole(410, expired.to_owned()),
        Answer::Whole(200, list("c@8", 9)),
    ]);
    let (end, items) = visit(&server, 2, false);
    assert_eq!(items, ["a@1", "b@2", "c@8"]);
    assert!(!end.is_consistent && end.version == "9");
    assert_eq!(
        server.requests(),
        ["list limit=2", "list limit=2 continue=next", "list limit=2 continue=rest"]
    );
}

#[test]
fn a_visit_that_is_left_says_how_much_remains() {
    let server = ScriptedServer::start(vec![Answer::Whole(200, page("a@1 b@2", 5, "next"))]);
    let end = run(client(&server).visit_list(&things(), 2, false, |_| ControlFlow::Break(()))).unwrap();
    assert_eq!((end.remaining, end.version.as_str()), (Some(40), "5"));
    assert_eq!(run(client(&server).count_objects(&things())).unwrap(), Some(42));
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn what_is_no_list_is_an_error() {
    for (body, want) in [
        (object("a@1"), "a `Thing` is not a list"),
        (r#"{"items":[{"metadata":{}}],"kind":"ThingList"}"#.to_owned(), "a `` is not a list"),
        (r#"{"kind":"ThingList","items":[1]}"#.to_owned(), "an item of the list is not an object"),
        (r#"{"kind":"ThingList","items":"x"}"#.to_owned(), "stands where"),
        ("[]".to_owned(), "stands where"),
        (String::new(), "breaks off"),
    ] {
        let server = ScriptedServer::start(vec![Answer::Whole(200, body.clone())]);
        let client = client(&server).limited(CallLimits { size: 10_000, ..CallLimits::default() });
        let error = run(client.list(&things())).unwrap_err();
        assert!(error.to_string().contains(want), "{body}: {error}");
    }
}

#[test]
fn a_list_may_name_its_kind_after_items_that_name_theirs() {
    // Custom resources come like this.
    let body = format!(
        r#"{{"apiVersion":"v1","items":[{}],"kind":"Things","metadata":{{"resourceVersion":"5"}}}}"#,
        object("a@1")
    );
    let server = ScriptedServer::start(vec![Answer::Whole(200, body)]);
    assert_eq!(visit(&server, 0, false).1, ["a@1"]);
    assert_eq!(server.requests(), ["list"]);
}
