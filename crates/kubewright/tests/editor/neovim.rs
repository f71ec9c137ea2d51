//! The server in a headless Neovim: open a file, see a diagnostic, apply an action. Skipped where there is no Neovim.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{FILES, POLICY};

#[test]
fn neovim_shows_diagnostics_and_applies_an_action() {
    let has_neovim = Command::new("nvim").arg("--version").stdout(Stdio::null()).status().is_ok();
    if !has_neovim {
        println!("SKIPPED: there is no Neovim, so the editor was not tested with the server");
        return;
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lsp").join("neovim");
    let _ = fs::remove_dir_all(&root);
    for (name, text) in FILES {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let broken = POLICY.replace("name: labels", "name: broken").replace("    exclude:", "");
    let broken = broken.replace("      any:\n      - resources:", "      anny:\n      - resources:");
    fs::write(root.join("rules/broken.yaml"), broken).expect("a file");
    let editors = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../editors/nvim");
    let output = Command::new("nvim")
        .args(["--headless", "-u", "NONE", "--noplugin"])
        .args(["--cmd", &format!("let g:kubewright_path = '{}'", env!("CARGO_BIN_EXE_kubewright"))])
        .args(["--cmd", "filetype on"])
        .args(["-c", &format!("luafile {}", editors.join("plugin/kubewright.lua").display())])
        .args(["-c", &format!("luafile {}", editors.join("test/smoke.lua").display())])
        .env("KW_MANIFEST", root.join("manifests/pod.yaml"))
        .env("KW_RULE", root.join("rules/broken.yaml"))
        .env("XDG_STATE_HOME", &root)
        .env("XDG_CACHE_HOME", &root)
        .stdin(Stdio::null())
        .output()
        .expect("Neovim");
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for wanted in [
        "outcome: line ",
        "trace: kyverno/labels/team  on Pod",
        "mistake: unknown field `anny`",
        "action: replace `anny` by `any`",
        "ok",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}
