//! Replicas that lack something: time of the processor, memory, a clock that can be trusted, or room for their log.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::api_server::signal;
use crate::installation::LogPlace;
use crate::stage::Stage;
use crate::table::Row;

/// The memory of a Pod that is smaller than any that we recommend.
const MEMORY_LIMIT: u64 = 128 << 20;

/// Where Debian has the library that changes the clock of a process.
const CLOCK_LIBRARIES: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
];

/// How long requests may fail after a replica that was stopped goes on.
const AWAKE: Duration = Duration::from_secs(6);

/// A replica does not run for a while, with its connections open. Requests that are sent there fail after the time limit of
/// the webhook; when it goes on, all are answered.
pub(crate) fn one_is_stopped(stage: &mut Stage<'_>) -> Row {
    let stopped = stage.seconds(3, 60);
    let victim = stage.installation.busiest();
    let (run, (fault, back)) = stage.load.during(|start| {
        sleep(Duration::from_secs(1));
        let fault = start.elapsed();
        signal("STOP", victim);
        sleep(stopped);
        signal("CONT", victim);
        let back = start.elapsed();
        sleep(AWAKE + Duration::from_secs(2));
        (fault, back)
    });
    let mut row = Row::of(&run).recovered(&run, fault);
    let late = run.wrong().filter(|(sample, _)| sample.due > back + AWAKE).count();
    row.notes.push(format!("it did not run for {stopped:?}"));
    row.expect(late == 0, format!("{late} requests failed later than {AWAKE:?} after it ran again"));
    row
}

/// A replica runs for 10 ms of every second. It may be late; it may not give a wrong answer, and is well afterwards.
pub(crate) fn one_is_starved(stage: &mut Stage<'_>) -> Row {
    let time = stage.seconds(4, 60);
    let victim = stage.installation.busiest();
    let (run, (fault, back)) = stage.load.during(|start| {
        sleep(Duration::from_secs(1));
        let fault = start.elapsed();
        let starving = Starving::begin(victim);
        sleep(time);
        drop(starving);
        let back = start.elapsed();
        sleep(AWAKE + Duration::from_secs(2));
        (fault, back)
    });
    let mut row = Row::of(&run).recovered(&run, fault);
    let late = run.wrong().filter(|(sample, _)| sample.due > back + AWAKE).count();
    row.notes.push(format!("1 % of the processor for {time:?}"));
    row.expect(late == 0, format!("{late} requests failed later than {AWAKE:?} after it"));
    row
}

/// All replicas have 128 MiB each.
pub(crate) fn memory_is_short(stage: &mut Stage<'_>) -> Row {
    let mut row = Row::default();
    let Some(group) = MemoryGroup::make(MEMORY_LIMIT) else {
        row.notes.push("skipped: this machine does not let us limit memory".to_owned());
        return row;
    };
    let ids = stage.installation.ids();
    ids.iter().for_each(|id| group.add(*id));
    let time = stage.seconds(3, 60);
    let (run, ()) = stage.load.during(|_| sleep(time));
    row = Row::of(&run);
    let alive = stage.installation.ids().iter().filter(|id| ids.contains(id)).count();
    row.notes.push(format!("the replica with the most used {} MiB", group.peak() >> 20));
    row.expect(alive == ids.len(), "a replica ended");
    row.expect(row.right == row.requests, "a request went wrong");
    stage.installation.kill_all();
    stage.recover();
    row
}

/// The clock of a replica goes a day forward and two days back, as after the suspension of a machine or a wrong time server.
pub(crate) fn the_clock_jumps(stage: &mut Stage<'_>) -> Row {
    let mut row = Row::default();
    let Some(library) = CLOCK_LIBRARIES.iter().find(|path| Path::new(path).is_file()) else {
        row.notes.push("skipped: libfaketime is not installed".to_owned());
        return row;
    };
    let clock = stage.cluster.folder().join("clock");
    set_clock(&clock, "+0");
    let own = [
        ("LD_PRELOAD", (*library).to_owned()),
        ("FAKETIME_TIMESTAMP_FILE", clock.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        // Only the time of day jumps.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    stage.installation.environment = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    stage.installation.kill_all();
    stage.recover();
    stage.installation.environment.clear();
    let time = stage.seconds(2, 40);
    let (run, fault) = stage.load.during(|start| {
        let fault = start.elapsed();
        for offset in ["+86400", "-86400", "+0"] {
            set_clock(&clock, offset);
            sleep(time);
        }
        fault
    });
    row = Row::of(&run).recovered(&run, fault);
    row.expect(stage.installation.ready() == 3, "a replica is not ready");
    row.expect(row.right == row.requests, "a request went wrong");
    stage.installation.kill_all();
    stage.recover();
    row
}

/// The disk to which the logs go is full.
pub(crate) fn the_disk_is_full(stage: &mut Stage<'_>) -> Row {
    stage.installation.kill_all();
    stage.installation.log_place = LogPlace::FullDisk;
    stage.recover();
    stage.installation.log_place = LogPlace::File;
    let ids = stage.installation.ids();
    let time = stage.seconds(3, 30);
    let (run, ()) = stage.load.during(|_| sleep(time));
    let mut row = Row::of(&run);
    row.expect(stage.installation.ids() == ids, "a replica ended");
    row.expect(row.right == row.requests, "a request went wrong");
    stage.installation.kill_all();
    stage.recover();
    row
}

/// In one step, so that nobody reads half of it.
fn set_clock(path: &Path, offset: &str) {
    let next = path.with_extension("next");
    fs::write(&next, offset).and_then(|()| fs::rename(&next, path)).expect("a file");
}

/// A shell that stops and continues a process.
struct Starving {
    shell: Child,
    victim: u32,
}

impl Starving {
    fn begin(victim: u32) -> Self {
        let script = r#"while kill -STOP "$1"; do sleep 0.99; kill -CONT "$1"; sleep 0.01; done"#;
        let mut command = Command::new("sh");
        command.args(["-c", script, "starving", &victim.to_string()]).stderr(Stdio::null());
        Self { shell: command.spawn().expect("a shell"), victim }
    }
}

impl Drop for Starving {
    fn drop(&mut self) {
        let _ = (self.shell.kill(), self.shell.wait());
        signal("CONT", self.victim);
    }
}

/// A control group with a limit of memory for each process that is added: each gets one of its own below it.
struct MemoryGroup {
    folder: PathBuf,
    limit: u64,
}

impl MemoryGroup {
    fn make(limit: u64) -> Option<Self> {
        let folder = PathBuf::from(format!("/sys/fs/cgroup/memory/kubewright-faults-{}", std::process::id()));
        fs::create_dir(&folder).ok()?;
        Some(Self { folder, limit })
    }

    fn add(&self, id: u32) {
        let own = self.folder.join(id.to_string());
        fs::create_dir(&own).expect("a control group");
        fs::write(own.join("memory.limit_in_bytes"), self.limit.to_string()).expect("a limit");
        fs::write(own.join("cgroup.procs"), id.to_string()).expect("a process");
    }

    /// What the largest of them has used.
    fn peak(&self) -> u64 {
        let peaks = self.groups().into_iter().filter_map(|own| {
            fs::read_to_string(own.join("memory.max_usage_in_bytes")).ok()?.trim().parse().ok()
        });
        peaks.max().unwrap_or_default()
    }

    fn groups(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        for own in self.groups() {
            let _ = fs::remove_dir(own);
        }
        let _ = fs::remove_dir(&self.folder);
    }
}
