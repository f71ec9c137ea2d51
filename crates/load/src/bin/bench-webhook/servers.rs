//! The two servers: built as this program was, started on free ports.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_controlplane::LoopbackPort;
use kubewright_load::{LoadTarget, ServerProcess};

/// How long a server may take to write its certificate.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Where the programs are.
pub(crate) struct BenchPrograms {
    folder: PathBuf,
    pub(crate) profile: String,
}

/// A server that runs.
pub(crate) struct RunningServer {
    pub(crate) server: ServerProcess,
    pub(crate) target: LoadTarget,
    /// From its start until it said whom to trust, which it does when it listens.
    pub(crate) started_in: Duration,
    _port: LoopbackPort,
}

/// A folder that is removed at the end.
pub(crate) struct Scratch(PathBuf);

impl BenchPrograms {
    /// Builds both beside this program, with its profile.
    pub(crate) fn build() -> Result<Self, String> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let folder = this.parent().unwrap_or(Path::new(".")).to_owned();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let profile = if name == "debug" { "dev".to_owned() } else { name };
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--quiet", "--locked", "--profile", &profile]);
        command.args([
            "-p",
            "kubewright",
            "-p",
            "kubewright-load",
            "--bin",
            "kubewright",
            "--bin",
            "allow-all",
        ]);
        command.arg("--target-dir").arg(folder.parent().unwrap_or(&folder));
        let status = command.current_dir(env!("CARGO_MANIFEST_DIR")).status();
        if !status.is_ok_and(|status| status.success()) {
            return Err("the programs cannot be built".to_owned());
        }
        Ok(Self { folder, profile })
    }

    /// Starts the server that does nothing.
    pub(crate) fn allow_all(&self, scratch: &Scratch) -> Result<RunningServer, String> {
        let port = reserve_port()?;
        let mut command = Command::new(self.folder.join("allow-all"));
        command.args(["--address", &port.address().to_string()]);
        start_server_process(command, port, &scratch.file("allow-all.crt"))
    }

    /// Starts ours with the rules in `policies`, which is a file or a folder.
    pub(crate) fn serve(
        &self,
        scratch: &Scratch,
        name: &str,
        policies: &Path,
    ) -> Result<RunningServer, String> {
        let port = reserve_port()?;
        let mut command = Command::new(self.folder.join("kubewright"));
        command.args(["serve", "--offline", "--address", &port.address().to_string()]);
        command.args(["--health-address", "127.0.0.1:0"]);
        command.arg("-p").arg(policies);
        let log =
            fs::File::create(scratch.file(&format!("{name}.log"))).map_err(|error| error.to_string())?;
        command.stderr(log.try_clone().map_err(|error| error.to_string())?).stdout(log);
        start_server_process(command, port, &scratch.file(&format!("{name}.crt")))
    }
}

impl Scratch {
    pub(crate) fn new() -> Result<Self, String> {
        let folder = std::env::temp_dir().join(format!("kubewright-load-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self(folder))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn start_server_process(
    mut command: Command,
    port: LoopbackPort,
    authorities: &Path,
) -> Result<RunningServer, String> {
    command.arg("--write-ca").arg(authorities).stdin(Stdio::null());
    let started = Instant::now();
    let words = format!("{command:?}");
    let mut server = ServerProcess::start(&mut command).map_err(|error| format!("{words}: {error}"))?;
    loop {
        let written = fs::read_to_string(authorities).unwrap_or_default();
        if written.contains("END CERTIFICATE") && std::net::TcpStream::connect(port.address()).is_ok() {
            let target = LoadTarget { address: port.address(), authorities: written, token: None };
            return Ok(RunningServer { server, target, started_in: started.elapsed(), _port: port });
        }
        if let Ok(Some(code)) = server.ended() {
            return Err(format!("{words} ended with {code:?}"));
        }
        if started.elapsed() > START_TIMEOUT {
            return Err(format!("{words} does not listen after {} s", START_TIMEOUT.as_secs()));
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn reserve_port() -> Result<LoopbackPort, String> {
    LoopbackPort::reserve().map_err(|error| error.to_string())
}
