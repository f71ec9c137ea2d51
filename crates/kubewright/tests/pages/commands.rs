//! Runs the commands of the pages and compares what they print.
//!
//! Each page has a folder of its own, with the files that the page shows, and with the examples and patterns of the
//! repository. A line `…` of a page stands for any lines. `UPDATE_DOCS=1` writes what was printed into the pages, except
//! where they have `…`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use kubewright_controlplane::TestCluster;

use super::page::{PagePart, ShownCommand, page_parts};
use super::{pages, repository};

const BINARY: &str = env!("CARGO_BIN_EXE_kubewright");
const NAMESPACE: &str = "kubewright-system";
/// What commands may name besides the files of their page.
const SHARED: [&str; 4] = ["examples", "patterns", "packaging", "conformance"];

#[test]
fn commands_of_the_pages_print_what_the_pages_show() {
    check_pages(false);
}

#[test]
fn commands_of_the_pages_in_a_cluster_print_what_the_pages_show() {
    check_pages(true);
}

/// Checks the pages that need a cluster, or the others.
fn check_pages(in_cluster: bool) {
    let mut wrong = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(repository(&page)).expect("a page");
        let parts = page_parts(&text);
        let needs = |part: &PagePart| matches!(part, PagePart::Console { needs_cluster: true, .. });
        if in_cluster == parts.iter().any(needs) {
            check_page(&page, &parts, in_cluster, &mut wrong);
        }
    }
    assert!(wrong.is_empty(), "UPDATE_DOCS=1 writes what is printed:\n\n{}", wrong.join("\n"));
}

fn check_page(page: &str, parts: &[PagePart], in_cluster: bool, wrong: &mut Vec<String>) {
    if !parts.iter().any(|part| matches!(part, PagePart::Console { .. })) {
        return;
    }
    let Some(desk) = PageFolder::new(page, in_cluster) else { return };
    let mut blocks = Vec::new();
    for part in parts {
        match part {
            PagePart::File { name, text } => desk.write(name, text),
            PagePart::Folder { path } => desk.copy(path),
            PagePart::Console { first, end, commands, .. } => {
                let printed: Vec<Vec<String>> =
                    commands.iter().map(|shown| desk.run(&shown.command)).collect();
                for (shown, printed) in commands.iter().zip(&printed) {
                    if !fits(&masked(&shown.output), &masked(printed)) {
                        let lines = [&shown.output, printed].map(|lines| lines.join("\n"));
                        wrong.push(format!(
                            "{page}: $ {}\nshown:\n{}\nprinted:\n{}\n",
                            shown.command, lines[0], lines[1]
                        ));
                    }
                }
                blocks.push((*first..*end, updated(commands, printed)));
            }
        }
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        write_blocks(page, blocks);
        wrong.clear();
    }
}

/// The lines of a block with what was printed.
fn updated(commands: &[ShownCommand], printed: Vec<Vec<String>>) -> Vec<String> {
    let lines = commands.iter().zip(printed).flat_map(|(shown, printed)| {
        let keeps =
            fits(&masked(&shown.output), &masked(&printed)) || shown.output.iter().any(|line| line == "…");
        let output = if keeps { shown.output.clone() } else { printed };
        std::iter::once(format!("$ {}", shown.command)).chain(output)
    });
    lines.collect()
}

fn write_blocks(page: &str, blocks: Vec<(std::ops::Range<usize>, Vec<String>)>) {
    let path = repository(page);
    let text = fs::read_to_string(&path).expect("a page");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (range, block) in blocks.into_iter().rev() {
        lines.splice(range, block);
    }
    fs::write(path, lines.join("\n") + "\n").expect("a page");
}

/// Returns whether what was printed is what is shown, where `…` stands for any lines.
fn fits(shown: &[String], printed: &[String]) -> bool {
    match (shown.split_first(), printed.split_first()) {
        (None, printed) => printed.is_none(),
        (Some((first, rest)), printed_first) if first == "…" => {
            fits(rest, printed) || printed_first.is_some_and(|(_, others)| fits(shown, others))
        }
        (Some((first, rest)), Some((line, others))) => first == line && fits(rest, others),
        (Some(_), None) => false,
    }
}

/// Replaces times at the ends of lines, which come after five spaces.
fn masked(lines: &[String]) -> Vec<String> {
    let mask = |line: &String| match line.rsplit_once("     ") {
        Some((start, time)) if time.ends_with(" ms") || time.ends_with(" s") => {
            format!("{}     TIME", start.trim_end())
        }
        _ => line.trim_end().to_owned(),
    };
    lines.iter().map(mask).collect()
}

/// Where the commands of one page run.
struct PageFolder {
    folder: PathBuf,
    path: String,
    cluster: Option<(TestCluster, Child)>,
}

impl PageFolder {
    /// Makes the folder, and a cluster with the webhook if the page needs one; nothing where there is no cluster.
    fn new(page: &str, in_cluster: bool) -> Option<Self> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages").join(page.replace('/', "-"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join(".bin")).expect("a folder");
        for name in SHARED {
            std::os::unix::fs::symlink(repository(name), folder.join(name)).expect("a link");
        }
        std::os::unix::fs::symlink(BINARY, folder.join(".bin/kubewright")).expect("a link");
        let cluster = match in_cluster {
            true => Some(served_cluster(&folder)?),
            false => None,
        };
        let path = format!("{}:{}", folder.join(".bin").display(), std::env::var("PATH").unwrap_or_default());
        Some(Self { folder, path, cluster })
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    /// Copies the files of a folder of the repository.
    fn copy(&self, path: &str) {
        let from = format!("{}/.", repository(path).display());
        let copied = Command::new("cp").arg("-r").arg(from).arg(&self.folder).status();
        assert!(copied.is_ok_and(|status| status.success()), "{path} cannot be copied");
    }

    /// Runs a command as a reader would and returns all that it prints, in its order.
    fn run(&self, command: &str) -> Vec<String> {
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("exec 2>&1; {command}")]).current_dir(&self.folder).stdin(Stdio::null());
        shell.env_clear().env("PATH", &self.path).env("HOME", &self.folder).env("LC_ALL", "C.UTF-8");
        if let Some((cluster, _)) = &self.cluster {
            shell.env("KUBECONFIG", cluster.kubeconfig());
        }
        let output = shell.output().expect("a shell");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }
}

impl Drop for PageFolder {
    fn drop(&mut self) {
        if let Some((_, server)) = &mut self.cluster {
            let _ = (server.kill(), server.wait());
        }
    }
}

/// Starts a control plane and a webhook for it, as the page tells a reader to do.
fn served_cluster(folder: &Path) -> Option<(TestCluster, Child)> {
    let cluster = TestCluster::start()?;
    std::os::unix::fs::symlink(cluster.kubectl_program(), folder.join(".bin/kubectl")).expect("a link");
    let output = Command::new(BINARY).arg("install").output().expect("the binary starts");
    let manifests = String::from_utf8(output.stdout).expect("text");
    cluster.wait_until("the manifests are taken", || {
        cluster.kubectl(&["apply", "--server-side", "-f", "-"], &manifests).is_success()
    });
    let address = cluster.reserve_address().to_string();
    let server = Command::new(BINARY)
        .args(["serve", "--namespace", NAMESPACE, "--drain=0s", "--health-address=127.0.0.1:0"])
        .args(["--address", &address, "--url", &format!("https://{address}"), "--kubeconfig"])
        .arg(cluster.kubeconfig_of(NAMESPACE, "kubewright"))
        .stderr(File::create(cluster.folder().join("serve.log")).expect("a log"))
        .spawn();
    Some((cluster, server.expect("the server starts")))
}

#[test]
fn an_ellipsis_stands_for_any_lines() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    assert!(fits(&lines("a\n…\nd"), &lines("a\nb\nc\nd")) && fits(&lines("…"), &[]));
    assert!(!fits(&lines("a\n…\nd"), &lines("a\nb")) && !fits(&lines("a"), &lines("a\nb")));
}
