//! Replicas of `kubewright serve` behind one address, with the rights that `kubewright install` gives them and no more.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;

use kubewright_controlplane::{Balancer, TestCluster};
use kubewright_load::ServerProcess;

/// What is installed besides the Deployment, whose pods would not run.
const NOT_INSTALLED: [&str; 3] = ["kind: Deployment", "kind: PodDisruptionBudget", "kind: NetworkPolicy"];

/// The memory of a Pod that is smaller than any that we recommend.
pub(crate) const MEMORY_LIMIT: u64 = 128 << 20;

pub(crate) const NAMESPACE: &str = "kubewright-system";

/// The replicas.
pub(crate) struct Installation<'c> {
    cluster: &'c TestCluster,
    balancer: Balancer,
    /// That of the replicas that are started next.
    pub(crate) kubeconfig: PathBuf,
    replicas: Vec<Replica>,
    started: usize,
    /// Flags of the replicas that are started next.
    pub(crate) flags: Vec<String>,
    /// Variables of the replicas that are started next.
    pub(crate) environment: Vec<(String, String)>,
    /// The control group of the replicas that are started next, each in one of its own below it.
    pub(crate) group: Option<PathBuf>,
    /// Where the replicas that are started next write.
    pub(crate) log_place: LogPlace,
    /// Where the replicas that are started next run.
    pub(crate) place: ReplicaPlace,
}

/// Where a replica runs.
#[derive(Debug, Clone)]
pub(crate) struct ReplicaPlace {
    /// Where it is asked for reviews.
    pub(crate) address: IpAddr,
    /// Where it is asked for its health.
    pub(crate) health: IpAddr,
    /// A command that runs the one behind it there.
    pub(crate) enter: Vec<String>,
}

impl Default for ReplicaPlace {
    fn default() -> Self {
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        Self { address: loopback, health: loopback, enter: Vec::new() }
    }
}

/// Where a replica writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogPlace {
    File,
    /// Every write fails because there is no room.
    FullDisk,
}

/// One process.
pub(crate) struct Replica {
    pub(crate) server: ServerProcess,
    health: SocketAddr,
    address: SocketAddr,
    log: PathBuf,
}

impl<'c> Installation<'c> {
    /// Installs everything but the replicas.
    pub(crate) fn prepare(cluster: &'c TestCluster) -> Self {
        let printed =
            Command::new(env!("CARGO_BIN_EXE_kubewright")).arg("install").output().expect("manifests");
        let printed = String::from_utf8(printed.stdout).expect("text");
        let is_kept = |document: &&str| !NOT_INSTALLED.iter().any(|kind| document.contains(kind));
        let manifests: Vec<&str> = printed.split("\n---\n").filter(is_kept).collect();
        cluster.kubectl(&["apply", "-f", "-"], &manifests.join("\n---\n")).expect_success();
        cluster.await_definitions().expect("established definitions");
        let balancer = Balancer::start().expect("an address");
        let kubeconfig = cluster.kubeconfig_of(NAMESPACE, "kubewright");
        Self {
            cluster,
            balancer,
            kubeconfig,
            replicas: Vec::new(),
            started: 0,
            flags: Vec::new(),
            environment: Vec::new(),
            group: None,
            log_place: LogPlace::File,
            place: ReplicaPlace::default(),
        }
    }

    /// Starts replicas until there are `count`.
    pub(crate) fn fill_up(&mut self, count: usize) {
        self.replicas.retain_mut(|replica| matches!(replica.server.ended(), Ok(None)));
        while self.replicas.len() < count {
            self.start();
        }
    }

    /// Starts one more.
    pub(crate) fn start(&mut self) {
        let port = || self.cluster.reserve_address().port();
        let address = SocketAddr::new(self.place.address, port());
        let health = SocketAddr::new(self.place.health, port());
        let log = self.cluster.folder().join(format!("replica-{}.log", self.started));
        let file = match self.log_place {
            LogPlace::File => File::create(&log).expect("a log"),
            LogPlace::FullDisk => File::options().write(true).open("/dev/full").expect("a full disk"),
        };
        let mut command = self.program();
        command
            .args(["serve", "--namespace", NAMESPACE, "--drain", "1s", "--kubeconfig"])
            .arg(&self.kubeconfig);
        command.args(["--url", &format!("https://{}", self.balancer.address())]);
        command.args(["--address", &address.to_string(), "--health-address", &health.to_string()]);
        command
            .args(&self.flags)
            .envs(self.environment.clone())
            .env("HOSTNAME", format!("replica-{}", self.started));
        command.stdout(file.try_clone().expect("a log")).stderr(file);
        let server = ServerProcess::start(&mut command).expect("a replica");
        self.balancer.add(address, health);
        self.replicas.push(Replica { server, health, address, log });
        self.started += 1;
    }

    /// The binary, which enters its control group before it uses any memory.
    fn program(&self) -> Command {
        let binary = env!("CARGO_BIN_EXE_kubewright");
        if let Some((program, arguments)) = self.place.enter.split_first() {
            let mut command = Command::new(program);
            command.args(arguments).arg(binary);
            return command;
        }
        let Some(group) = &self.group else { return Command::new(binary) };
        let script = r#"mkdir "$1/$$" && echo "$2" > "$1/$$/memory.limit_in_bytes" && echo $$ > "$1/$$/cgroup.procs" && shift 2 && exec "$@""#;
        let mut command = Command::new("sh");
        command.args(["-c", script, "group"]).arg(group).arg(MEMORY_LIMIT.to_string()).arg(binary);
        command
    }

    /// How many are ready.
    pub(crate) fn ready(&self) -> usize {
        self.balancer.ready()
    }

    /// All that were started and not taken out.
    pub(crate) fn replicas(&mut self) -> &mut Vec<Replica> {
        &mut self.replicas
    }

    /// Takes out the replica that has worked most, which is the one that the API server is connected to.
    pub(crate) fn take_busiest(&mut self) -> Replica {
        let work = |replica: &Replica| replica.server.usage().cpu;
        let busiest = (0..self.replicas.len()).max_by_key(|place| self.replicas.get(*place).map(work));
        self.replicas.remove(busiest.unwrap_or_default())
    }

    /// How many reviews each process has answered.
    pub(crate) fn reviews(&self) -> Vec<(u32, f64)> {
        let count =
            |replica: &Replica| (replica.server.id(), replica.metric("kubewright_admission_requests_total"));
        self.replicas.iter().map(count).collect()
    }

    /// The processes that run.
    pub(crate) fn ids(&mut self) -> Vec<u32> {
        let running =
            |replica: &mut Replica| matches!(replica.server.ended(), Ok(None)).then(|| replica.server.id());
        self.replicas.iter_mut().filter_map(running).collect()
    }

    /// Cuts the connections of the API server.
    pub(crate) fn cut(&self) {
        self.balancer.cut();
    }

    /// Takes out the one that has run longest.
    pub(crate) fn take_oldest(&mut self) -> Replica {
        self.replicas.remove(0)
    }

    /// Takes `replica` out of the Service.
    pub(crate) fn forget(&self, replica: &Replica) {
        self.balancer.remove(replica.address);
    }

    /// Kills all without a warning.
    pub(crate) fn kill_all(&mut self) {
        for mut replica in self.replicas.drain(..) {
            replica.server.kill();
            self.balancer.remove(replica.address);
        }
    }

    /// Returns all that the replicas have written.
    pub(crate) fn logs(&self) -> String {
        self.replicas.iter().filter_map(|replica| std::fs::read_to_string(&replica.log).ok()).collect()
    }

    /// Prints the ends of the logs.
    pub(crate) fn show_logs(&self) {
        for replica in &self.replicas {
            let log = std::fs::read_to_string(&replica.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let end = lines.get(lines.len().saturating_sub(6)..).unwrap_or_default();
            eprintln!("--- the end of {}\n{}", replica.log.display(), end.join("\n"));
        }
    }
}

impl Replica {
    /// Returns the value of a metric, all its labels together.
    pub(crate) fn metric(&self, name: &str) -> f64 {
        metric(self.health, name)
    }
}

/// Returns the value of a metric of the server whose health is answered at `health`, all its labels together; 0 if there
/// is none.
pub(crate) fn metric(health: SocketAddr, name: &str) -> f64 {
    use std::io::{Read, Write};
    let mut text = String::new();
    if let Ok(mut stream) = std::net::TcpStream::connect(health) {
        let _ = stream.set_read_timeout(Some(std::time::Duration::from_secs(2)));
        let asked = stream.write_all(b"GET /metrics HTTP/1.0\r\nhost: localhost\r\n\r\n");
        if asked.is_ok() {
            let _ = stream.read_to_string(&mut text);
        }
    }
    let values = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
    values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).fold(0.0, |sum, value| sum + value)
}
