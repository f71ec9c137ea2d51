//! The extension of Zed: starts `kubewright lsp`. Untested, see extension.toml.

use zed_extension_api::{self as zed, Command, LanguageServerId, Result, Worktree};

struct KubewrightExtension;

impl zed::Extension for KubewrightExtension {
    fn new() -> Self {
        Self
    }

    fn language_server_command(&mut self, _id: &LanguageServerId, worktree: &Worktree) -> Result<Command> {
        let command = worktree
            .which("kubewright")
            .ok_or_else(|| "the program `kubewright` is not on the path".to_owned())?;
        Ok(Command { command, args: vec!["lsp".to_owned()], env: worktree.shell_env() })
    }
}

zed::register_extension!(KubewrightExtension);
