//! The suites that need another installation: other flags of the programs, as Kyverno's own tests install it otherwise for
//! them.

use std::fs;
use std::path::Path;

use kubewright_value::{Value, yaml};

use super::suites::{ChainsawSuite, is_below};

/// How the programs are started for some suites.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProgramInstallation {
    /// The folder of the suites.
    suite: String,
    /// The flags that are left out, without values.
    without: Vec<String>,
    /// Further flags of `serve`, in place of usual ones of the same name.
    serve: Vec<String>,
    /// Further flags of `scan`, in the same way.
    scan: Vec<String>,
    /// The account of the controller; empty for the usual one.
    account: String,
}

/// The programs that run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InstalledProgram {
    Serve,
    Scan,
}

impl ProgramInstallation {
    /// Returns the account of the controller, where it is not the usual one.
    pub(crate) fn account(&self) -> Option<&str> {
        Some(self.account.as_str()).filter(|account| !account.is_empty())
    }

    /// Returns `usual` with the changes for a program.
    pub(crate) fn flags(&self, program: InstalledProgram, usual: &[&str]) -> Vec<String> {
        let further = match program {
            InstalledProgram::Serve => &self.serve,
            InstalledProgram::Scan => &self.scan,
        };
        let is_changed = |flag: &&&str| {
            let name = flag_name(flag);
            self.without.iter().any(|other| other == name)
                || further.iter().any(|other| flag_name(other) == name)
        };
        let kept = usual.iter().filter(|flag| !is_changed(flag)).map(ToString::to_string);
        kept.chain(further.iter().cloned()).collect()
    }
}

fn flag_name(flag: &str) -> &str {
    flag.split('=').next().unwrap_or(flag)
}

/// Reads the installations of a committed list.
pub(crate) fn read_installations(path: &Path) -> Result<Vec<ProgramInstallation>, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let list = yaml::parse(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    let texts = |item: &Value, key: &str| -> Vec<String> {
        let list = item.get(key).and_then(Value::as_array).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let read = |item: &Value| ProgramInstallation {
        suite: item.str_at(&["suite"]).to_owned(),
        without: texts(item, "without"),
        serve: texts(item, "serve"),
        scan: texts(item, "scan"),
        account: item.str_at(&["account"]).to_owned(),
    };
    let installations: Vec<ProgramInstallation> =
        list.as_array().unwrap_or_default().iter().map(read).collect();
    match installations.iter().any(|one| one.suite.is_empty()) {
        true => Err(format!("{}: an entry needs `suite`", path.display())),
        false => Ok(installations),
    }
}

/// Returns the installation that `suite` needs: the usual one, unless one is listed.
pub(crate) fn installation_for(
    installations: &[ProgramInstallation],
    suite: &ChainsawSuite,
) -> ProgramInstallation {
    let listed = installations.iter().find(|one| is_below(&suite.name, &one.suite));
    listed.cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{InstalledProgram, ProgramInstallation};

    #[test]
    fn flags_of_an_installation_take_the_place_of_usual_ones() {
        let installation = ProgramInstallation {
            without: vec!["--exceptions-from".into()],
            scan: vec!["--reports=openreports".into()],
            ..ProgramInstallation::default()
        };
        let usual = ["--reports=wgpolicy", "--exceptions-from=*", "--admission-rules"];
        let scan = installation.flags(InstalledProgram::Scan, &usual);
        assert_eq!(scan, ["--admission-rules", "--reports=openreports"]);
        let serve = installation.flags(InstalledProgram::Serve, &usual);
        assert_eq!(serve, ["--reports=wgpolicy", "--admission-rules"]);
    }
}
