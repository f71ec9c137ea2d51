//! A real registry of images on loopback, built like the programs of a cluster.
//!
//! Images are pushed as any client does it; what they contain does not matter to those who verify them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::ClusterError;
use crate::binaries::programs;
use crate::port::LoopbackPort;
use crate::skip::{announce_skip, is_off, is_required};

const START_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";

/// A running registry without TLS. It is killed, and what it stores is removed, when this is dropped.
pub struct TestRegistry {
    port: LoopbackPort,
    program: PathBuf,
    folder: PathBuf,
    child: Option<Child>,
}

impl TestRegistry {
    /// Starts one; with the address of a token service in `realm` it wants to know who asks. Returns nothing, and says so,
    /// where it cannot be built.
    #[must_use]
    pub fn start(realm: Option<&str>) -> Option<Self> {
        let found = match is_off() {
            true => Err(ClusterError::Unavailable("no cluster is wanted".to_owned())),
            false => Self::try_start(realm),
        };
        match found {
            Ok(registry) => Some(registry),
            Err(ClusterError::Unavailable(why)) if !is_required() => {
                announce_skip(&why);
                None
            }
            #[expect(clippy::panic, reason = "a test without its registry has failed")]
            Err(error) => panic!("{error}"),
        }
    }

    fn try_start(realm: Option<&str>) -> Result<Self, ClusterError> {
        let program = programs(&["registry"])?.join("registry");
        let port = LoopbackPort::reserve()?;
        let name = format!("kubewright-registry-{}-{}", std::process::id(), port.number);
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).map_err(ClusterError::at("make", &folder))?;
        let auth = realm.map_or_else(String::new, |realm| {
            format!("auth: {{silly: {{realm: '{realm}', service: test}}}}\n")
        });
        let config = format!(
            "version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\n\
             storage: {{filesystem: {{rootdirectory: '{}'}}}}\nhttp: {{addr: '127.0.0.1:{}', secret: test}}\n{auth}",
            folder.join("content").display(),
            port.number
        );
        let file = folder.join("config.yml");
        fs::write(&file, config).map_err(ClusterError::at("write", &file))?;
        let mut registry = Self { port, program, folder, child: None };
        registry.try_restart()?;
        Ok(registry)
    }

    /// Returns `host:port`.
    #[must_use]
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port.number)
    }

    /// Ends it; what it stores stays.
    pub fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = (child.kill(), child.wait());
        }
    }

    /// Starts it again after [`Self::stop`], with what it stored.
    ///
    /// # Panics
    /// When it does not start.
    pub fn restart(&mut self) {
        #[expect(clippy::panic, reason = "a test without its registry has failed")]
        self.try_restart().unwrap_or_else(|error| panic!("{error}"));
    }

    fn try_restart(&mut self) -> Result<(), ClusterError> {
        let child = Command::new(&self.program)
            .arg("serve")
            .arg(self.folder.join("config.yml"))
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(ClusterError::at("start", &self.program))?;
        self.child = Some(child);
        let end = Instant::now() + START_TIMEOUT;
        while !self.port.is_open() {
            if Instant::now() > end {
                return Err(ClusterError::failed("the registry does not start"));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Pushes an image whose configuration names `user` under the tag `one`, and an index with it as `all`; returns both
    /// digests.
    #[must_use]
    pub fn push(&self, repository: &str, user: &str) -> (String, String) {
        let config = format!(
            r#"{{"architecture":"amd64","os":"linux","config":{{"User":"{user}"}},"rootfs":{{"type":"layers","diff_ids":[]}}}}"#
        );
        let config_digest = self.push_blob(repository, &config);
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST_TYPE}","config":{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"{config_digest}","size":{}}},"layers":[]}}"#,
            config.len()
        );
        let digest = self.push_manifest(repository, "one", MANIFEST_TYPE, &manifest);
        let index = format!(
            r#"{{"schemaVersion":2,"mediaType":"{INDEX_TYPE}","manifests":[{{"mediaType":"{MANIFEST_TYPE}","digest":"{digest}","size":{},"platform":{{"os":"linux","architecture":"amd64"}}}}]}}"#,
            manifest.len()
        );
        (digest, self.push_manifest(repository, "all", INDEX_TYPE, &index))
    }

    fn push_blob(&self, repository: &str, content: &str) -> String {
        let digest = digest_of(content);
        let (status, location) =
            self.send("POST", &format!("/v2/{repository}/blobs/uploads/"), "text/plain", "");
        assert_eq!(status, 202, "an upload begins");
        let path = location.split_once("://").map_or(location.as_str(), |(_, rest)| rest);
        let path = path.find('/').and_then(|at| path.get(at..)).unwrap_or_default();
        let target = format!("{path}{}digest={digest}", if path.contains('?') { '&' } else { '?' });
        assert_eq!(self.send("PUT", &target, "application/octet-stream", content).0, 201, "a blob is stored");
        digest
    }

    fn push_manifest(&self, repository: &str, tag: &str, media_type: &str, content: &str) -> String {
        let target = format!("/v2/{repository}/manifests/{tag}");
        assert_eq!(self.send("PUT", &target, media_type, content).0, 201, "a manifest is stored");
        digest_of(content)
    }

    /// Sends a request and returns the status and the header `location`.
    fn send(&self, method: &str, target: &str, media_type: &str, body: &str) -> (u16, String) {
        let host = self.host();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer x\r\ncontent-type: {media_type}\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut answer = String::new();
        if let Ok(mut stream) = TcpStream::connect(&host) {
            let _ = stream.write_all(request.as_bytes());
            let _ = stream.read_to_string(&mut answer);
        }
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        let header =
            answer.lines().find_map(|line| line.split_once(": ").filter(|(name, _)| is_location(name)));
        (status, header.map(|(_, value)| value.trim().to_owned()).unwrap_or_default())
    }
}

impl Drop for TestRegistry {
    fn drop(&mut self) {
        self.stop();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn is_location(header: &str) -> bool {
    header.eq_ignore_ascii_case("location")
}

fn digest_of(content: &str) -> String {
    let hash = Sha256::digest(content);
    format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
}
