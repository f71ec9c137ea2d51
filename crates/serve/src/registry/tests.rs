use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use kubewright_controlplane::TestRegistry;

use super::*;

fn parsed(text: &str) -> Result<(String, String, String), String> {
    let reference = ImageReference::parse(text)?;
    let identifier = reference.identifier().to_owned();
    Ok((reference.registry, reference.repository, identifier))
}

#[test]
fn names_of_images_are_read_as_everybody_reads_them() {
    let hex = "a".repeat(64);
    for (text, registry, repository, identifier) in [
        ("nginx", "index.docker.io", "library/nginx", "latest".to_owned()),
        ("docker.io/a/b:1", "index.docker.io", "a/b", "1".to_owned()),
        ("ghcr.io/a/b:v1.2_x", "ghcr.io", "a/b", "v1.2_x".to_owned()),
        ("localhost:5000/a", "localhost:5000", "a", "latest".to_owned()),
        (&format!("r.io/a:1@sha256:{hex}"), "r.io", "a", format!("sha256:{hex}")),
    ] {
        let want = (registry.to_owned(), repository.to_owned(), identifier);
        assert_eq!(parsed(text), Ok(want), "{text}");
    }
    for text in [
        "",
        "A",
        "r.io/../x",
        "r.io/a/../b",
        "r.io/a b",
        "r.io/a:x/y",
        "r.io/a@sha256:zz",
        "r.io/a?x=1",
        "0x7f.1/a",
        "r.io/a:..",
        "user@r.io/a",
        "r.io//a",
        "r.io/a#x",
        "127.1:5000/a",
    ] {
        assert!(parsed(text).is_err(), "{text}");
    }
}

#[test]
fn only_registries_that_are_allowed_are_asked_and_without_tls_only_where_both_say_so() {
    let base = |hosts: &[&str], image: &str, is_insecure: bool| {
        let hosts: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
        let url = Registries::new(&hosts).base(&ImageReference::parse(image).expect("an image"), is_insecure);
        url.map(|url| format!("{}{}", if url.is_tls { "https://" } else { "http://" }, url.authority()))
    };
    assert_eq!(base(&["r.io"], "r.io/a", false), Ok("https://r.io".to_owned()));
    assert_eq!(base(&["docker.io"], "nginx", false), Ok("https://index.docker.io".to_owned()));
    assert_eq!(base(&["r.io"], "r.io/a", true), Ok("https://r.io".to_owned()), "not allowed without TLS");
    assert_eq!(base(&["http://r.io"], "r.io/a", true), Ok("http://r.io".to_owned()));
    assert!(base(&["http://r.io"], "r.io/a", false).is_err_and(|why| why.contains("allowInsecureRegistry")));
    assert!(base(&[], "r.io/a", false).is_err_and(|why| why.contains("--allow-registry r.io")));
    assert!(base(&["r.io"], "x.r.io/a", false).is_err());
    assert!(base(&["r.io:5000"], "r.io/a", false).is_err());
}

#[test]
fn pull_secrets_are_for_the_registry_that_they_name() {
    let config = r#"{"auths":{"r.io":{"username":"ada","password":"pw"},"https://index.docker.io/v1/":{"auth":"YTpi"}}}"#;
    let encoded = base64::engine::general_purpose::STANDARD.encode(config);
    let secret = json::parse(&format!(r#"{{"data":{{".dockerconfigjson":"{encoded}"}}}}"#)).expect("JSON");
    let mut credentials = Credentials::default();
    credentials.add(&secret).expect("a pull secret");
    let login = |host: &str| credentials.of(host).map(|value| value.to_str().expect("text").to_owned());
    assert_eq!(login("r.io").as_deref(), Some("Basic YWRhOnB3"));
    assert_eq!(login("index.docker.io").as_deref(), Some("Basic YTpi"));
    assert_eq!(login("evil.r.io"), None);
    assert_eq!(login("r.io:5000"), None);
    assert!(!format!("{credentials:?}").contains("YWRh"));
    let broken = json::parse(r#"{"data":{".dockerconfigjson":"c2VjcmV0"}}"#).expect("JSON");
    assert_eq!(Credentials::default().add(&broken), Err("what it holds is not JSON".to_owned()));
}

fn digest_of(content: &str) -> String {
    let hash = Sha256::digest(content);
    format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}

fn ask(
    hosts: &[String],
    reference: &str,
    is_insecure: bool,
    credentials: &Credentials,
) -> Result<Option<Value>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
    let image = ImageLookup { is_insecure, ..ImageLookup::of(reference) };
    runtime.block_on(Registries::new(hosts).describe(&image, credentials))
}

#[test]
fn a_real_registry_says_what_was_pushed() {
    let Some(registry) = TestRegistry::start(None) else { return };
    let (digest, index) = registry.push("team/app", "1000");
    let hosts = [format!("http://{}", registry.host())];
    let anonymous = Credentials::default();
    let text = |value: &Value, path: &[&str]| value.str_at(path).to_owned();
    for (identifier, resolved) in [("one", &digest), ("all", &index)] {
        let reference = format!("{}/team/app:{identifier}", registry.host());
        let said = ask(&hosts, &reference, true, &anonymous).expect("an answer").expect("an image");
        assert_eq!(text(&said, &["configData", "config", "User"]), "1000");
        assert_eq!(text(&said, &["resolvedImage"]), format!("{}/team/app@{resolved}", registry.host()));
        assert_eq!(text(&said, &["registry"]), registry.host());
        assert_eq!(text(&said, &["repository"]), "team/app");
        assert_eq!(text(&said, &["identifier"]), identifier);
        assert_eq!(said.get("manifestList").is_some_and(Value::is_null), identifier == "one");
    }
    let by_digest = format!("{}/team/app@{digest}", registry.host());
    assert!(ask(&hosts, &by_digest, true, &anonymous).expect("an answer").is_some());
    let missing = format!("{}/team/app:none", registry.host());
    assert_eq!(ask(&hosts, &missing, true, &anonymous), Ok(None));
    let refused = ask(&hosts, &format!("{}/team/app:one", registry.host()), false, &anonymous);
    assert!(refused.is_err_and(|why| why.contains("allowInsecureRegistry")));
    let unlisted = ask(&[], &format!("{}/team/app:one", registry.host()), true, &anonymous);
    assert!(unlisted.is_err_and(|why| why.contains("--allow-registry")));
}

/// A token service that remembers the first lines and logins of its requests.
fn token_service() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap_or_default() > 2 {
                if line.starts_with("GET") || line.to_lowercase().starts_with("authorization") {
                    kept.lock().expect("a list").push(line.trim().to_owned());
                }
                line.clear();
            }
            let body = r#"{"token":"t0ken"}"#;
            let mut stream = stream;
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    (host, seen)
}

#[test]
fn a_registry_that_wants_a_token_gets_one_from_an_allowed_service_alone() {
    let (service, seen) = token_service();
    let Some(registry) = TestRegistry::start(Some(&format!("http://{service}/token"))) else { return };
    let _ = registry.push("team/app", "7");
    let config = format!(r#"{{"auths":{{"{}":{{"username":"ada","password":"pw"}}}}}}"#, registry.host());
    let encoded = base64::engine::general_purpose::STANDARD.encode(config);
    let secret = json::parse(&format!(r#"{{"data":{{".dockerconfigjson":"{encoded}"}}}}"#)).expect("JSON");
    let mut credentials = Credentials::default();
    credentials.add(&secret).expect("a pull secret");
    let reference = format!("{}/team/app:one", registry.host());
    let own = format!("http://{}", registry.host());
    let refused = ask(std::slice::from_ref(&own), &reference, true, &credentials).expect_err("not allowed");
    assert!(refused.contains("token service") && !refused.contains("pw"), "{refused}");
    assert!(seen.lock().expect("a list").is_empty(), "credentials went to a service that is not allowed");
    let said = ask(&[own, format!("http://{service}")], &reference, true, &credentials).expect("an answer");
    assert!(said.is_some());
    let seen = seen.lock().expect("a list").join("\n");
    assert!(seen.contains("/token?service=test&scope=repository%3Ateam%2Fapp%3Apull"), "{seen}");
    assert!(seen.to_lowercase().contains("authorization: basic ywrhonb3"), "{seen}");
}

/// Answers every request with `answer`.
fn liar(answer: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let host = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
            let mut line = String::new();
            while reader.read_line(&mut line).unwrap_or_default() > 2 {
                line.clear();
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    host
}

#[test]
fn a_registry_that_lies_is_an_error() {
    let answer = |status: &str, headers: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let large = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_MANIFEST_BYTES));
    let wanted = format!("@sha256:{}", "0".repeat(64));
    for (said, reference, want) in [
        (answer("200 OK", "", "{}"), wanted.as_str(), "is not the one that was asked for"),
        (answer("200 OK", "", "{}"), ":1", "a digest is"),
        (answer("200 OK", "", "nothing"), ":1", "is not JSON"),
        (answer("200 OK", "", &large), ":1", "larger than"),
        (answer("500 No", "", ""), ":1", "HTTP 500"),
        (answer("302 Found", "location: http://example.com/x\r\n", ""), ":1", "without TLS"),
        (answer("302 Found", "location: https://127.0.0.1:1/x\r\n", ""), ":1", "is not called for an image"),
        (answer("302 Found", "location: https://10.0.0.1/x\r\n", ""), ":1", "is not called for an image"),
        (
            answer("302 Found", "location: https://169.254.169.254/x\r\n", ""),
            ":1",
            "is not called for an image",
        ),
        (answer("302 Found", "location: /again\r\n", ""), ":1", "redirects more than"),
        (
            answer("401 No", "www-authenticate: Bearer realm=\"https://evil.example/t\"\r\n", ""),
            ":1",
            "may not be asked",
        ),
        (answer("401 No", "www-authenticate: Negotiate\r\n", ""), ":1", "not known"),
        (answer("401 No", "www-authenticate: Basic realm=\"x\"\r\n", ""), ":1", "name and password"),
    ] {
        let host = liar(said);
        let hosts = [format!("http://{host}")];
        let found = ask(&hosts, &format!("{host}/a{reference}"), true, &Credentials::default());
        assert!(found.as_ref().is_err_and(|why| why.contains(want)), "{want}: {found:?}");
    }
}

#[test]
fn a_real_registry_keeps_the_signatures_of_an_image() {
    let Some(registry) = TestRegistry::start(None) else { return };
    let (digest, _) = registry.push("team/app", "1000");
    let hosts = [format!("http://{}", registry.host())];
    let repository = format!("{}/team/app", registry.host());
    let tag = format!("{}.sig", digest.replace(':', "-"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a thread");
    let registries = Registries::new(&hosts);
    let layer = |content: &str| crate::StoredLayer {
        media_type: "text/plain".to_owned(),
        annotations: Map::from([("a", Value::from("b"))]).into(),
        content: content.as_bytes().to_vec(),
    };
    for content in ["first", "second", "second"] {
        runtime.block_on(registries.store(&repository, &tag, &[layer(content)])).expect("stored");
    }
    let ask = |part: ImagePart, digest: &str| {
        let image =
            ImageLookup { is_insecure: true, part, ..ImageLookup::of(format!("{repository}@{digest}")) };
        runtime.block_on(registries.describe(&image, &Credentials::default()))
    };
    let said = ask(ImagePart::Signatures, &digest).expect("an answer").expect("signatures");
    let layers = said.get("artifacts").and_then(|all| all.item(0)?.get("layers")?.as_array());
    let contents: Vec<&str> = layers.expect("layers").iter().map(|one| one.str_at(&["content"])).collect();
    assert_eq!(contents, ["Zmlyc3Q=", "c2Vjb25k"], "each of them once");
    assert_eq!(layers.and_then(|all| all.first()?.at(&["annotations", "a"])?.as_str()), Some("b"));
    assert_eq!(ask(ImagePart::Attestations, &digest), Ok(None));
    let other = digest_of("other");
    assert_eq!(ask(ImagePart::Signatures, &other), Ok(None));
}
