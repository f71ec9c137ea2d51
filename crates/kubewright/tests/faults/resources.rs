//! Replicas that lack something: time of the processor, memory, a clock that can be trusted, or room for their log.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::api_server::{change_a_rule, signal};
use crate::installation::LogPlace;
use crate::stage::Stage;
use crate::table::Row;
use kubewright_load::LoadRun;

/// Where Debian has the library that changes the clock of a process.
const CLOCK_LIBRARIES: [&str; 2] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
];

/// How long requests may fail after a replica that was stopped goes on.
const AWAKE: Duration = Duration::from_secs(6);

/// A request that took so long had to wait for a replica that did not run.
const DELAYED: Duration = Duration::from_millis(700);

/// A replica does not run for a while, with its connections open. Requests that are sent there fail after the time limit of
/// the webhook; when it goes on, all are answered.
pub(crate) fn one_is_stopped(stage: &mut Stage<'_>) -> Row {
    let stopped = stage.seconds(3, 60);
    let victim = stage.connected();
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
    row.notes.push(format!("it did not run for {stopped:?}; the slowest answer took {:.1?}", slowest(&run)));
    row.expect(slowest(&run) > DELAYED, "no request had to wait, so nothing was tested");
    row.expect(late == 0, format!("{late} requests failed later than {AWAKE:?} after it ran again"));
    row
}

/// A replica runs for 10 ms of every second. It may be late; it may not give a wrong answer, and is well afterwards.
pub(crate) fn one_is_starved(stage: &mut Stage<'_>) -> Row {
    let time = stage.seconds(4, 60);
    let victim = stage.connected();
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
    row.notes
        .push(format!("1 % of the processor for {time:?}; the slowest answer took {:.1?}", slowest(&run)));
    row.expect(slowest(&run) > DELAYED, "no request had to wait, so nothing was tested");
    row.expect(late == 0, format!("{late} requests failed later than {AWAKE:?} after it"));
    row
}

/// All replicas have 128 MiB each.
pub(crate) fn memory_is_short(stage: &mut Stage<'_>) -> Row {
    let mut row = Row::default();
    let Some(group) = MemoryGroup::make() else {
        row.notes.push("skipped: this machine does not let us limit memory".to_owned());
        return row;
    };
    stage.installation.kill_all();
    stage.installation.group = Some(group.folder.clone());
    stage.recover();
    stage.installation.group = None;
    let ids = stage.installation.ids();
    let time = stage.seconds(3, 60);
    let (run, ()) = stage.load.during(|_| sleep(time));
    row = Row::of(&run);
    let peaks = group.peaks();
    row.notes.push(format!(
        "the replicas used at most {:?} MiB",
        peaks.iter().map(|peak| peak >> 20).collect::<Vec<_>>()
    ));
    row.expect(
        peaks.len() == 3 && peaks.iter().all(|peak| *peak > 4 << 20),
        "the limit was not that of the replicas",
    );
    row.expect(stage.installation.ids() == ids, "a replica ended");
    row.expect(row.right == row.requests, "a request went wrong");
    stage.installation.kill_all();
    drop(group);
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
    let environment: Vec<_> = own.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    stage.installation.environment.clone_from(&environment);
    stage.installation.kill_all();
    stage.recover();
    stage.installation.environment.clear();
    let time = stage.seconds(2, 40);
    let (run, (fault, days)) = stage.load.during(|start| {
        let fault = start.elapsed();
        let mut days = Vec::new();
        for offset in ["+86400", "-86400", "+0"] {
            set_clock(&clock, offset);
            days.push(day(&environment));
            // Something to write about.
            change_a_rule(stage, "clock");
            sleep(time);
        }
        (fault, days)
    });
    row = Row::of(&run).recovered(&run, fault);
    let logs = stage.installation.logs();
    let is_written = |day: &&String| logs.contains(&format!("\"time\":\"{day}"));
    let seen = days.iter().filter(is_written).count();
    row.notes.push(format!("the logs have lines of {seen} of the days {days:?}"));
    row.expect(seen == 3, "the clock of the replicas did not jump, so nothing was tested");
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

pub(crate) fn slowest(run: &LoadRun) -> Duration {
    run.samples.iter().map(|sample| sample.latency).max().unwrap_or_default()
}

/// The day that a program with `environment` sees.
fn day(environment: &[(String, String)]) -> String {
    let output = Command::new("date").args(["-u", "+%F"]).envs(environment.iter().cloned()).output();
    String::from_utf8(output.expect("a date").stdout).expect("text").trim().to_owned()
}

/// In one step, so that no reader sees half of it.
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

/// A control group below which each replica makes one of its own.
struct MemoryGroup {
    folder: PathBuf,
}

impl MemoryGroup {
    fn make() -> Option<Self> {
        let folder = PathBuf::from(format!("/sys/fs/cgroup/memory/kubewright-faults-{}", std::process::id()));
        fs::create_dir(&folder).ok().map(|()| Self { folder })
    }

    /// What each replica has used.
    fn peaks(&self) -> Vec<u64> {
        let peak = |own: PathBuf| {
            fs::read_to_string(own.join("memory.max_usage_in_bytes")).ok()?.trim().parse().ok()
        };
        self.groups().into_iter().filter_map(peak).collect()
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
