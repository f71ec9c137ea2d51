//! `ui`: the page, served on loopback.
//!
//! The server is the crate `kubewright-ui`; what the page asks for is answered here, by the commands themselves
//! ([`commands::CommandRun`]) or by the parts that they are made of, on texts in memory. No answer reads or writes a file.

mod about;
mod answers;
mod attempt;
mod checks;
mod cluster;
mod commands;
mod compiled;
mod deadline;
mod expressions;
mod graph;
mod judged;
mod kept;
mod large;
mod markdown;
mod project_files;
mod reference;
mod sets;
mod shipped;
mod start;
mod traced;
mod workspace;

use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use kubewright_ui::{PageSettings, run_page};

use crate::arguments::UiArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::standard_output;
pub(super) use answers::PageAnswers;
pub(super) use cluster::{ClusterPage, ClusterPageSettings};

/// How long an answer about a cluster may take: all its objects may be listed for it.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(120);

/// Returns an example of a function of an expression language, and its result.
#[cfg(feature = "lsp")]
pub(super) fn function_example(language: &str, name: &str) -> Option<(String, String)> {
    let examples = shipped::function_examples(language);
    // Under a cursor is the last word of a name such as `base64.encode`.
    let is_last_word = |example: &&shipped::FunctionExample| example.name.rsplit('.').next() == Some(name);
    let own = examples.iter().find(|example| example.name == name);
    own.or_else(|| examples.iter().find(is_last_word))
        .map(|example| (example.example.clone(), example.result.clone()))
}

/// Runs the command.
///
/// # Errors
/// When the port cannot be used or the input cannot be read.
pub(crate) fn run_ui(arguments: &UiArguments) -> Result<ExitStatus, CommandFailure> {
    let answers = PageAnswers::new(about::PageState::open(arguments)?);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, arguments.port));
    let listener = TcpListener::bind(address).map_err(|error| cannot_listen(address, &error))?;
    let port = listener.local_addr()?.port();
    let url = format!("http://127.0.0.1:{port}/");
    let mut out = standard_output();
    writeln!(out, "listening on {url}")?;
    out.flush()?;
    if !arguments.no_open {
        open_browser(&url);
    }
    let answer_timeout =
        if arguments.is_live() { CLUSTER_TIMEOUT } else { PageSettings::default().answer_timeout };
    let settings = PageSettings { hosts: arguments.hosts.clone(), answer_timeout, ..PageSettings::default() };
    run_page(listener, settings, Arc::new(answers))?;
    Ok(ExitStatus::Clean)
}

fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> CommandFailure {
    let why = kubewright_files::io_error_text(error);
    CommandFailure::usage(format!("cannot listen on {address}: {why}")).help("`--port 0` uses any free port")
}

/// Opens `url` in the user's browser. Where there is none, the printed address is enough.
fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut child) = command.spawn() {
        // The browser may stay open for as long as this process.
        std::thread::spawn(move || child.wait());
    }
}
