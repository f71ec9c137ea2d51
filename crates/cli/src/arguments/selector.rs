//! The selector of test cases: `policy=…,rule=…,resource=…`.

use std::str::FromStr;

use kubewright_golib::glob;
use kubewright_value::Budget;

/// Criteria that a case must match to be run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CaseSelector {
    /// Keys with the accepted names.
    wanted: Vec<(CaseSelectorKey, String)>,
}

/// Criteria of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CaseSelectorKey {
    Policy,
    Rule,
    Resource,
}

impl CaseSelector {
    /// Returns whether a case with this policy, rule and resource is selected. A criterion that the case does not name is
    /// not compared; a resource matches by its name or by `namespace/name`.
    pub(crate) fn fits(&self, policy: &str, rule: &str, resource: (&str, &str)) -> bool {
        self.wanted.iter().all(|(key, wanted)| match key {
            CaseSelectorKey::Policy => policy.is_empty() || is_case_called(wanted, policy),
            CaseSelectorKey::Rule => rule.is_empty() || is_case_called(wanted, rule),
            CaseSelectorKey::Resource => {
                let (namespace, name) = resource;
                name.is_empty()
                    || is_case_called(wanted, name)
                    || is_case_called(wanted, &format!("{namespace}/{name}"))
            }
        })
    }
}

impl FromStr for CaseSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |part: &str| {
            let (key, name) = part.split_once('=').ok_or_else(|| format!("`{part}` is not `key=name`"))?;
            let key = match key.trim() {
                "policy" => CaseSelectorKey::Policy,
                "rule" => CaseSelectorKey::Rule,
                "resource" => CaseSelectorKey::Resource,
                other => return Err(format!("unknown key `{other}`, expected policy, rule or resource")),
            };
            Ok((key, name.trim().to_owned()))
        };
        text.split(',')
            .filter(|part| !part.is_empty())
            .map(one)
            .collect::<Result<_, _>>()
            .map(|wanted| Self { wanted })
    }
}

fn is_case_called(wanted: &str, name: &str) -> bool {
    glob::matches_wildcard(wanted, name, &mut Budget::default()).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::CaseSelector;

    #[track_caller]
    fn check(selector: &str, want: bool) {
        let selector: CaseSelector = selector.parse().expect("a selector");
        assert_eq!(selector.fits("disallow-latest", "require-tag", ("shop", "web")), want);
    }

    #[test]
    fn everything_that_is_named_must_fit() {
        check("policy=*,rule=*,resource=*", true);
        check("policy=disallow-*", true);
        check("policy=disallow-*,rule=other", false);
        check("resource=shop/web", true);
        check("resource=web, policy=disallow-latest", true);
        check("resource=api", false);
    }

    #[test]
    fn a_key_that_means_nothing_is_refused() {
        assert!("kind=Pod".parse::<CaseSelector>().is_err());
        assert!("policy".parse::<CaseSelector>().is_err());
    }
}
