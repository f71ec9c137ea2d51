//! kubewright: one engine for rules about Kubernetes objects, on the command line.

mod arguments;
mod codes;
mod commands;
mod failure;
mod load;
mod output;
mod progress;
mod review;
mod rules;
mod session;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let arguments = arguments::Arguments::parse();
    let paint = arguments.color.paint_errors();
    match commands::run(arguments) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(paint),
    }
}
