//! Arguments of commands for editors and other programs: `lsp`, `mcp` and `schema`.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// Runs the language server over standard input and output.
#[cfg(feature = "lsp")]
#[derive(Debug, Args)]
#[command(after_help = "\
An editor starts it and speaks the Language Server Protocol with it. It answers for documents that a rule language
claims and for the files that kubewright.yaml lists, so it works beside a YAML server. Nothing is fetched or written.
How editors are set up: docs/editors.md

Examples:
  kubewright lsp

Exit codes: 0 the editor said goodbye, 2 the connection failed")]
pub(crate) struct LspArguments {
    /// Accepted because editors pass it; standard input and output are always used
    #[arg(long, hide = true)]
    pub(crate) stdio: bool,
}

/// Runs the server of the Model Context Protocol over standard input and output.
#[derive(Debug, Args)]
#[command(after_help = "\
A program that speaks the Model Context Protocol starts it and calls its tools: lint, apply, trace, explain, convert and
graph. The tools work on texts that the caller sends. With --root they may also read the files below a folder.
No tool writes a file or uses a network. How programs are set up: docs/mcp.md

Examples:
  kubewright mcp
  kubewright mcp --root .

Exit codes: 0 the caller closed the connection, 2 bad usage")]
pub(crate) struct McpArguments {
    /// A folder whose files the tools may read
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) root: Option<PathBuf>,
}

/// Prints the JSON schema of a kind of document.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubewright schema                            list the kinds
  kubewright schema ClusterPolicy
  kubewright schema Test > kubewright-test.schema.json

Exit codes: 0 printed, 2 there is no such kind")]
pub(crate) struct SchemaArguments {
    /// The kind; without one, all kinds are listed
    #[arg(value_name = "KIND")]
    pub(crate) kind: Option<String>,
}
