//! Constraints on versions: `>= 1.2, < 2 || ~3.1`.
//!
//! A part that is left out or written `x` is open. Versions with a prerelease only
//! fit constraints that name one.

use std::sync::LazyLock;

use kubewright_golib::regex::{MatchGroups, Regex, RegexError, compile_regex_within};
use kubewright_value::StepCounter;

use super::{SprigVersion, order_prerelease};

/// Alternatives, each a list of constraints that must all hold.
pub(super) struct VersionConstraints {
    alternatives: Vec<Vec<VersionConstraint>>,
}

struct VersionConstraint {
    operator: String,
    version: SprigVersion,
    is_open: bool,
    minor_is_open: bool,
    patch_is_open: bool,
}

const VERSION: &str = r"v?([0-9|xX*]+)(\.[0-9|xX*]+)?(\.[0-9|xX*]+)?(-([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?(\+([0-9A-Za-z\-]+(\.[0-9A-Za-z\-]+)*))?";
const OPERATORS: &str = r"=||!=|>|<|>=|=>|<=|=<|~|~>|\^";

struct ConstraintPatterns {
    one: Regex,
    find: Regex,
    valid: Regex,
    range: Regex,
}

static PATTERNS: LazyLock<Result<ConstraintPatterns, RegexError>> = LazyLock::new(|| {
    let compile = |pattern: String| compile_regex_within(&pattern, MAX_REGEX_BYTES);
    Ok(ConstraintPatterns {
        one: compile(format!(r"^\s*({OPERATORS})\s*({VERSION})\s*$"))?,
        find: compile(format!(r"({OPERATORS})\s*({VERSION})"))?,
        valid: compile(format!(r"^(\s*({OPERATORS})\s*({VERSION})\s*\,?)+$"))?,
        range: compile(format!(r"\s*({VERSION})\s+-\s+({VERSION})\s*"))?,
    })
});

/// The maximum size of the automata of a pattern above.
const MAX_REGEX_BYTES: usize = 256 << 10;

impl VersionConstraints {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let patterns = PATTERNS.as_ref().map_err(ToString::to_string)?;
        let text = without_ranges(patterns, text);
        let alternatives =
            text.split("||").map(|part| parse_all_constraints(patterns, part)).collect::<Result<_, _>>()?;
        Ok(Self { alternatives })
    }

    pub(super) fn allows(&self, version: &SprigVersion) -> bool {
        self.alternatives.iter().any(|all| all.iter().all(|one| one.allows(version)))
    }
}

/// Rewrites `1.2 - 3.4` to `>= 1.2, <= 3.4`.
fn without_ranges(patterns: &ConstraintPatterns, text: &str) -> String {
    let mut out = text.to_owned();
    for found in all_matches(&patterns.range, text) {
        let part = |group: usize| found.get(group).unwrap_or_default();
        out = out.replacen(part(0), &format!(">= {}, <= {}", part(1), part(11)), 1);
    }
    out
}

fn parse_all_constraints(
    patterns: &ConstraintPatterns,
    text: &str,
) -> Result<Vec<VersionConstraint>, String> {
    let Ok(is_valid) = patterns.valid.is_match(text, &mut StepCounter::default());
    if !is_valid {
        return Err(format!("improper constraint: {text}"));
    }
    let found = all_matches(&patterns.find, text);
    found.iter().map(|found| VersionConstraint::parse(patterns, found.whole())).collect()
}

fn all_matches<'t>(regex: &Regex, text: &'t str) -> Vec<MatchGroups<'t>> {
    let mut matches = regex.matches(text);
    let next = || {
        let Ok(found) = matches.next(&mut StepCounter::default());
        found
    };
    std::iter::from_fn(next).collect()
}

impl VersionConstraint {
    fn parse(patterns: &ConstraintPatterns, text: &str) -> Result<Self, String> {
        let Ok(found) = patterns.one.groups(text, &mut StepCounter::default());
        let found = found.ok_or_else(|| format!("improper constraint: {text}"))?;
        let part = |group: usize| found.get(group).unwrap_or_default();
        let is_open = |part: &str| matches!(part.trim_start_matches('.'), "" | "x" | "X" | "*");
        let (major, minor, patch, prerelease) = (part(3), part(4), part(5), part(6));
        let mut constraint = Self {
            operator: part(1).to_owned(),
            version: SprigVersion::parse("0.0.0")?,
            is_open: true,
            minor_is_open: false,
            patch_is_open: false,
        };
        let version = if is_open(major) {
            "0.0.0".to_owned()
        } else if is_open(minor) {
            constraint.minor_is_open = true;
            format!("{major}.0.0{prerelease}")
        } else if is_open(patch) {
            constraint.patch_is_open = true;
            format!("{major}{minor}.0{prerelease}")
        } else {
            constraint.is_open = false;
            part(2).to_owned()
        };
        constraint.version =
            SprigVersion::parse(&version).map_err(|_| "constraint Parser Error".to_owned())?;
        Ok(constraint)
    }

    fn allows(&self, version: &SprigVersion) -> bool {
        let own = &self.version;
        let is_unwanted_prerelease = !version.prerelease.is_empty() && own.prerelease.is_empty();
        if self.operator == "!=" {
            return if self.is_open {
                !is_unwanted_prerelease && self.differs(version)
            } else {
                version.order(own).is_ne()
            };
        }
        if is_unwanted_prerelease {
            return false;
        }
        match self.operator.as_str() {
            ">" => self.is_below(version),
            "<" => version.order(own).is_lt(),
            ">=" | "=>" => version.order(own).is_ge(),
            "<=" | "=<" if !self.is_open => version.order(own).is_le(),
            "<=" | "=<" => {
                let is_above = version.major > own.major
                    || (version.major == own.major && version.minor > own.minor && !self.minor_is_open);
                !is_above
            }
            "~" | "~>" => self.tilde(version),
            "^" => self.caret(version),
            _ if self.is_open => self.tilde(version),
            _ => version.order(own).is_eq(),
        }
    }

    fn differs(&self, version: &SprigVersion) -> bool {
        let own = &self.version;
        if own.major != version.major {
            return true;
        }
        if self.minor_is_open {
            return false;
        }
        if own.minor != version.minor {
            return true;
        }
        if self.patch_is_open {
            let has_prerelease = !version.prerelease.is_empty() || !own.prerelease.is_empty();
            return has_prerelease && order_prerelease(&version.prerelease, &own.prerelease).is_ne();
        }
        if own.patch != version.patch {
            return true;
        }
        version.order(own).is_ne()
    }

    fn is_below(&self, version: &SprigVersion) -> bool {
        let own = &self.version;
        if !self.is_open || (version.major == own.major && !self.minor_is_open && !self.patch_is_open) {
            return version.order(own).is_gt();
        }
        if version.major != own.major {
            return version.major > own.major;
        }
        !self.minor_is_open && version.minor > own.minor
    }

    fn tilde(&self, version: &SprigVersion) -> bool {
        let own = &self.version;
        if version.order(own).is_lt() {
            return false;
        }
        let is_zero = (own.major, own.minor, own.patch) == (0, 0, 0);
        if is_zero && !self.minor_is_open && !self.patch_is_open {
            return true;
        }
        version.major == own.major && (version.minor == own.minor || self.minor_is_open)
    }

    fn caret(&self, version: &SprigVersion) -> bool {
        let own = &self.version;
        if version.order(own).is_lt() {
            return false;
        }
        if own.major > 0 || self.minor_is_open {
            return version.major == own.major;
        }
        if version.major > 0 {
            return false;
        }
        if own.minor > 0 || self.patch_is_open {
            return version.minor == own.minor;
        }
        version.patch == own.patch
    }
}
